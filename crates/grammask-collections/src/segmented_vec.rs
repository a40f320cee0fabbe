//! A vector in segments of fixed size, so that growth never moves entries.
//!
//! The states of a text of 500,000 tokens take 16 MB. A `Vec` would copy them when it grows, which adds milliseconds to
//! the latency of one token.

/// Entries per segment.
const SEGMENT: usize = 1 << 10;
/// Capacity of a new vector: enough for a short text.
const INITIAL_CAPACITY: usize = 32;

/// A vector in segments. See the [module documentation](self).
#[derive(Clone, Debug)]
pub struct SegmentedVec<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
}

impl<T> Default for SegmentedVec<T> {
    fn default() -> Self {
        Self { full: Vec::new(), last: Vec::with_capacity(INITIAL_CAPACITY) }
    }
}

impl<T> SegmentedVec<T> {
    /// An empty vector with a capacity of 32 entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.full.len() * SEGMENT + self.last.len()
    }

    /// Appends an entry. Cost: constant in the worst case, except for allocation.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.last.len() == SEGMENT {
            self.full.push(std::mem::replace(&mut self.last, Vec::with_capacity(SEGMENT)));
        }
        self.last.push(value);
    }

    /// The entry at an index.
    pub fn get(&self, index: usize) -> Option<&T> {
        match self.full.get(index / SEGMENT) {
            Some(segment) => segment.get(index % SEGMENT),
            None => self.last.get(index - self.full.len() * SEGMENT),
        }
    }

    /// Keeps the first `len` entries.
    pub fn truncate(&mut self, len: usize) {
        if len / SEGMENT < self.full.len() {
            self.full.truncate(len / SEGMENT + 1);
            self.last = self.full.pop().unwrap_or_default();
        }
        self.last.truncate(len - self.full.len() * SEGMENT);
    }

    /// The entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.full.iter().flatten().chain(&self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behaves_as_a_vector() {
        let (mut segmented, mut list) = (SegmentedVec::new(), Vec::new());
        let lengths = [
            0,
            1,
            SEGMENT - 1,
            SEGMENT,
            SEGMENT + 1,
            3 * SEGMENT,
            2 * SEGMENT,
            2 * SEGMENT - 1,
            5,
            SEGMENT,
            0,
            7,
        ];
        for len in lengths {
            while list.len() < len {
                segmented.push(list.len());
                list.push(list.len());
            }
            segmented.truncate(len);
            list.truncate(len);
            assert_eq!(segmented.len(), len);
            assert!(segmented.iter().eq(&list) && segmented.iter().rev().eq(list.iter().rev()));
            for index in [0, 1, len / 2, len.saturating_sub(1), len, len + 1, len + SEGMENT] {
                assert_eq!(segmented.get(index), list.get(index));
            }
        }
    }
}
