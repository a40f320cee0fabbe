//! Sets of byte ranges: a bitset over the 65,536 pairs of first and last byte.

/// A set of byte ranges.
pub(crate) struct ByteRanges(Box<[u64]>);

impl Default for ByteRanges {
    fn default() -> Self {
        Self(vec![0; 1 << 10].into())
    }
}

impl ByteRanges {
    /// Adds a range; returns whether it is new.
    pub(crate) fn insert(&mut self, low: u8, high: u8) -> bool {
        let number = usize::from(low) << 8 | usize::from(high);
        let word = &mut self.0[number / 64];
        let is_new = *word >> (number % 64) & 1 == 0;
        *word |= 1 << (number % 64);
        is_new
    }
}
