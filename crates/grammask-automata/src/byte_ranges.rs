//! Sets of byte ranges: a bitset over the 65,536 pairs of first and last byte.

use grammask_collections::byte_set::ByteSet;

/// A set of byte ranges.
#[derive(Default)]
pub(crate) struct ByteRanges {
    /// The ranges of one byte: most tables of words have no others.
    single: ByteSet,
    /// All others; empty before the first one.
    wider: Vec<u64>,
}

impl ByteRanges {
    /// Adds a range; returns whether it is new.
    pub(crate) fn insert(&mut self, low: u8, high: u8) -> bool {
        if low == high {
            let is_new = !self.single.contains(low);
            self.single.insert(low);
            return is_new;
        }
        if self.wider.is_empty() {
            self.wider = vec![0; 1 << 10];
        }
        let number = usize::from(low) << 8 | usize::from(high);
        let word = &mut self.wider[number / 64];
        let is_new = *word >> (number % 64) & 1 == 0;
        *word |= 1 << (number % 64);
        is_new
    }
}
