//! An array that grows in segments and whose entries never move, so that readers need no lock.
//!
//! Entries exist as default values as soon as their chunk is allocated, and change by interior mutability only.

use std::sync::OnceLock;

/// Entries per allocation. Small, so that no access pays for the initialisation of thousands of entries.
const CHUNK: usize = 1 << 6;
/// Number of segments. Each has twice as many chunks as the one before; together they have 2^33 entries.
const SEGMENTS: usize = 27;

/// An array in segments. See the [module documentation](self).
#[derive(Debug)]
pub struct SegmentedArray<T> {
    segments: [OnceLock<Box<[Chunk<T>]>>; SEGMENTS],
}

type Chunk<T> = OnceLock<Box<[T]>>;

impl<T> Default for SegmentedArray<T> {
    fn default() -> Self {
        Self { segments: std::array::from_fn(|_| OnceLock::new()) }
    }
}

impl<T: Default> SegmentedArray<T> {
    /// An empty array.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The entry at an index, if its chunk is allocated.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        let (segment, chunk) = Self::locate(index);
        Some(&self.segments[segment].get()?[chunk].get()?[index % CHUNK])
    }

    /// The entry at an index; allocates its chunk if necessary.
    #[inline]
    pub fn get_or_alloc(&self, index: usize) -> &T {
        self.get(index).unwrap_or_else(|| self.allocate(index))
    }

    #[cold]
    fn allocate(&self, index: usize) -> &T {
        let (segment, chunk) = Self::locate(index);
        let chunks =
            self.segments[segment].get_or_init(|| (0..1_usize << segment).map(|_| OnceLock::new()).collect());
        &chunks[chunk].get_or_init(|| (0..CHUNK).map(|_| T::default()).collect())[index % CHUNK]
    }

    /// The segment of an entry, and its chunk within the segment. Segment `s` has the `2^s` chunks from `2^s - 1` on.
    fn locate(index: usize) -> (usize, usize) {
        let position = index / CHUNK + 1;
        let segment = position.ilog2() as usize;
        (segment, position - (1 << segment))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn entries_do_not_move() {
        let array: SegmentedArray<AtomicU32> = SegmentedArray::new();
        let first = array.get_or_alloc(5);
        for index in [70_000, 0, 63, 64] {
            assert!(index < CHUNK || array.get(index).is_none());
            array.get_or_alloc(index).store(index as u32, Ordering::Relaxed);
            assert_eq!(array.get(index).unwrap().load(Ordering::Relaxed), index as u32);
        }
        assert!(std::ptr::eq(first, array.get_or_alloc(5)));
        assert_eq!(array.get(1).unwrap().load(Ordering::Relaxed), 0);
        assert!(array.get(1 << 20).is_none());
    }
}
