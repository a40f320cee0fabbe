//! A bit-sliced index: an array of small numbers that is filtered by bounds with a few operations per 64 positions.
//!
//! O'Neil and Quass, "Improved query performance with variant indexes", SIGMOD 1997. Slice `i` holds bit `i` of each
//! number; a comparison proceeds from the highest slice to the lowest.

use crate::column::{Column, ImageReader, ImageWriter};

/// Number of words per step of a comparison, for vector instructions.
const LANES: usize = 8;

/// A bit-sliced index. See the documentation of the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitSliced {
    /// The slices, lowest bit first, each of `words` 64-bit words.
    slices: Column<u64>,
    /// A multiple of [`LANES`].
    words: usize,
}

impl BitSliced {
    /// The index over an array of numbers.
    pub(crate) fn new(numbers: &[u16]) -> Self {
        let max = numbers.iter().copied().max().unwrap_or(0);
        let words = Self::words_for(numbers.len());
        let count = (u16::BITS - max.leading_zeros()) as usize;
        let mut slices = vec![0_u64; count * words];
        for (position, eight) in numbers.chunks(8).enumerate() {
            for (high, slices) in slices.chunks_mut(8 * words.max(1)).enumerate() {
                let mut bytes = [0; 8];
                // The cast selects the byte of the number whose bits these slices hold.
                bytes.iter_mut().zip(eight).for_each(|(byte, number)| *byte = (number >> (8 * high)) as u8);
                let mut bits = u64::from_le_bytes(bytes);
                for slice in slices.chunks_exact_mut(words) {
                    if bits == 0 {
                        break;
                    }
                    slice[position / 8] |= lowest_bits(bits) << (position % 8 * 8);
                    bits = bits >> 1 & 0x7f7f_7f7f_7f7f_7f7f;
                }
            }
        }
        Self { slices: slices.into(), words }
    }

    /// Adds the arrays to an image.
    pub(super) fn write(&self, image: &mut ImageWriter) {
        image.column(&Column::from(vec![self.words as u64]));
        image.column(&self.slices);
    }

    /// The index in an image; `None` if its arrays do not fit.
    pub(super) fn read(image: &mut ImageReader<'_>) -> Option<Self> {
        let words: Column<u64> = image.column()?;
        let words = usize::try_from(*words.first()?).ok()?;
        let slices: Column<u64> = image.column()?;
        let count = slices.len().checked_div(words).unwrap_or(0);
        let is_whole =
            words.is_multiple_of(LANES) && slices.len() == count * words && count <= u16::BITS as usize;
        is_whole.then_some(Self { slices, words })
    }

    /// The number of words of each slice for a number of `numbers`.
    pub(super) fn words_for(numbers: usize) -> usize {
        numbers.div_ceil(64).next_multiple_of(LANES)
    }

    /// The number of words of each slice.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// The slices, lowest bit first.
    fn slices(&self) -> std::slice::ChunksExact<'_, u64> {
        self.slices.chunks_exact(self.words.max(1))
    }

    /// The positions whose number is between `min` and `max`, inclusive, as a bitset. Bits beyond the last position
    /// are unspecified.
    pub(crate) fn within(&self, min: u32, max: u32) -> Vec<u64> {
        let mut matching = vec![0; self.words];
        for (index, matching) in matching.chunks_exact_mut(LANES).enumerate() {
            let below = match min.checked_sub(1) {
                Some(below) => self.at_most(index * LANES, below),
                None => [0; LANES],
            };
            let at_most = self.at_most(index * LANES, max);
            for ((matching, at_most), below) in matching.iter_mut().zip(at_most).zip(below) {
                *matching = at_most & !below;
            }
        }
        matching
    }

    /// The positions of [`LANES`] words, from the word `first` on, whose number is at most `max`.
    #[inline]
    fn at_most(&self, first: usize, max: u32) -> [u64; LANES] {
        if max >> self.slices().len() != 0 {
            return [u64::MAX; LANES];
        }
        let (mut less, mut equal) = ([0; LANES], [u64::MAX; LANES]);
        for (bit, slice) in self.slices().enumerate().rev() {
            let is_set = if max >> bit & 1 == 1 { u64::MAX } else { 0 };
            let words = &slice[first..first + LANES];
            for ((less, equal), word) in less.iter_mut().zip(&mut equal).zip(words) {
                *less |= *equal & !word & is_set;
                *equal &= !(word ^ is_set);
            }
        }
        less.iter_mut().zip(equal).for_each(|(less, equal)| *less |= equal);
        less
    }

    /// Memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&self.slices[..])
    }
}

/// The lowest bits of eight bytes, in the order of the bytes.
#[inline]
fn lowest_bits(bytes: u64) -> u64 {
    // The product moves each bit to its position in the highest byte. No two shifted bits coincide, so there is no
    // carry.
    (bytes & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn equals_a_filter(
            numbers in prop::collection::vec(prop_oneof![0..20_u16, any::<u16>()], 0..700),
            few in prop::collection::vec(0..9_u16, 0..200),
            bounds in prop::collection::vec((0..30_u32, prop_oneof![0..30_u32, any::<u32>()]), 1..8),
        ) {
            for numbers in [numbers, few] {
                let sliced = BitSliced::new(&numbers);
                for &(min, max) in &bounds {
                    let matching = sliced.within(min, max);
                    for (position, &number) in numbers.iter().enumerate() {
                        let is_within = matching[position / 64] >> (position % 64) & 1 == 1;
                        prop_assert_eq!(is_within, (min..=max).contains(&u32::from(number)));
                    }
                }
            }
        }
    }
}
