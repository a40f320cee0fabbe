//! A small number for each position, kept bit by bit: which positions have a number within bounds is a few operations for each
//! 64 of them, however many they are.
//!
//! This is a bit-sliced index (O'Neil and Quass, "Improved query performance with variant indexes", SIGMOD 1997). The first
//! slice has the lowest bits of all numbers, and so on; a comparison goes through the slices from the highest one down.

/// Words that are compared side by side.
const LANES: usize = 8;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitSliced {
    /// The bits of all numbers, 64 positions a word, the lowest bits first; as many words as fill all lanes.
    slices: Vec<Box<[u64]>>,
    words: usize,
}

impl BitSliced {
    /// The numbers of the positions from 0 on.
    pub(crate) fn new(numbers: &[u16]) -> Self {
        let most = numbers.iter().copied().max().unwrap_or(0);
        let words = numbers.len().div_ceil(64).next_multiple_of(LANES);
        let mut slices =
            vec![vec![0_u64; words].into_boxed_slice(); (u16::BITS - most.leading_zeros()) as usize];
        for (position, eight) in numbers.chunks(8).enumerate() {
            for (high, slices) in slices.chunks_mut(8).enumerate() {
                let mut bytes = [0; 8];
                // The cast takes the byte of the number that these slices are of.
                bytes.iter_mut().zip(eight).for_each(|(byte, number)| *byte = (number >> (8 * high)) as u8);
                let mut rest = u64::from_le_bytes(bytes);
                for slice in slices {
                    if rest == 0 {
                        break;
                    }
                    slice[position / 8] |= lowest_bits(rest) << (position % 8 * 8);
                    rest = rest >> 1 & 0x7f7f_7f7f_7f7f_7f7f;
                }
            }
        }
        Self { slices, words }
    }

    /// Which positions have a number from `least` to `most`, 64 a word. Says nothing about what is beyond the last position.
    pub(crate) fn within(&self, least: u32, most: u32) -> Vec<u64> {
        let mut found = vec![0; self.words];
        for (index, found) in found.chunks_exact_mut(LANES).enumerate() {
            let below = match least.checked_sub(1) {
                Some(below) => self.at_most(index * LANES, below),
                None => [0; LANES],
            };
            let at_most = self.at_most(index * LANES, most);
            for ((found, at_most), below) in found.iter_mut().zip(at_most).zip(below) {
                *found = at_most & !below;
            }
        }
        found
    }

    /// Which positions of the words from `first` on have at most a number.
    #[inline]
    fn at_most(&self, first: usize, most: u32) -> [u64; LANES] {
        if most >> self.slices.len() != 0 {
            return [u64::MAX; LANES];
        }
        let (mut less, mut equal) = ([0; LANES], [u64::MAX; LANES]);
        for (bit, slice) in self.slices.iter().enumerate().rev() {
            let is_set = if most >> bit & 1 == 1 { u64::MAX } else { 0 };
            let words = &slice[first..first + LANES];
            for ((less, equal), word) in less.iter_mut().zip(&mut equal).zip(words) {
                *less |= *equal & !word & is_set;
                *equal &= !(word ^ is_set);
            }
        }
        less.iter_mut().zip(equal).for_each(|(less, equal)| *less |= equal);
        less
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.slices.iter().map(|slice| size_of_val(&slice[..])).sum()
    }
}

/// The lowest bits of eight bytes, that of the first byte first.
#[inline]
fn lowest_bits(bytes: u64) -> u64 {
    // Each bit is moved to its place in the highest byte; no two sums of shifts are the same, so nothing is carried.
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
                for &(least, most) in &bounds {
                    let found = sliced.within(least, most);
                    for (position, &number) in numbers.iter().enumerate() {
                        let is_found = found[position / 64] >> (position % 64) & 1 == 1;
                        prop_assert_eq!(is_found, (least..=most).contains(&u32::from(number)));
                    }
                }
            }
        }
    }
}
