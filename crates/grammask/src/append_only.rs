//! A growing table whose entries never move, so that readers need no lock.
//!
//! Either entries are pushed, by writers that the table's owner serialises, and a reader that was handed an index may
//! read it at once; or entries are set once each, by index and in any order.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Entries of the first segment; each further segment doubles.
const FIRST_SEGMENT: usize = 1 << 6;
/// Segments enough for 2^32 entries.
const SEGMENTS: usize = 27;

/// See the module.
#[derive(Debug)]
pub(crate) struct AppendOnly<T> {
    segments: [OnceLock<Box<[OnceLock<T>]>>; SEGMENTS],
    len: AtomicUsize,
}

impl<T> AppendOnly<T> {
    pub(crate) fn new() -> Self {
        Self { segments: std::array::from_fn(|_| OnceLock::new()), len: AtomicUsize::new(0) }
    }

    /// How many entries are set.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Adds an entry and returns its index. Only one thread may push at a time: the caller holds a lock.
    pub(crate) fn push(&self, value: T) -> usize {
        let index = self.len.load(Ordering::Acquire);
        let (segment, offset) = Self::locate(index);
        // A second writer would find its entry taken; its value would be lost, but nothing is torn.
        let _ = self.segment(segment)[offset].set(value);
        self.len.store(index + 1, Ordering::Release);
        index
    }

    /// The entry at an index, if it was set.
    pub(crate) fn find(&self, index: usize) -> Option<&T> {
        let (segment, offset) = Self::locate(index);
        self.segments[segment].get()?[offset].get()
    }

    /// Sets the entry at an index, in a table that is not pushed to, unless it is set; returns whether it was not.
    pub(crate) fn set(&self, index: usize, value: T) -> bool {
        let (segment, offset) = Self::locate(index);
        let is_new = self.segment(segment)[offset].set(value).is_ok();
        self.len.fetch_add(usize::from(is_new), Ordering::AcqRel);
        is_new
    }

    fn segment(&self, segment: usize) -> &[OnceLock<T>] {
        self.segments[segment]
            .get_or_init(|| (0..FIRST_SEGMENT << segment).map(|_| OnceLock::new()).collect())
    }

    /// The entry at an index that `push` returned.
    pub(crate) fn get(&self, index: usize) -> &T {
        let (segment, offset) = Self::locate(index);
        self.segments[segment]
            .get()
            .and_then(|entries| entries[offset].get())
            .expect("indices come from push, which fills the entry before it returns")
    }

    /// Segment `s` holds the indices from `FIRST_SEGMENT * (2^s - 1)` on.
    fn locate(index: usize) -> (usize, usize) {
        let position = index / FIRST_SEGMENT + 1;
        let segment = position.ilog2() as usize;
        (segment, index - FIRST_SEGMENT * ((1 << segment) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::AppendOnly;

    #[test]
    fn entries_are_set_once_in_any_order() {
        let table = AppendOnly::new();
        for index in [5, 70_000, 0, 63, 64] {
            assert!(table.find(index).is_none());
            assert!(table.set(index, index));
            assert!(!table.set(index, 1));
            assert_eq!(table.find(index), Some(&index));
        }
        assert_eq!(table.len(), 5);
        assert!(table.find(1).is_none());
    }

    #[test]
    fn keeps_every_entry() {
        let table = AppendOnly::new();
        for value in 0..10_000_usize {
            assert_eq!(table.push(value * 3), value);
        }
        assert_eq!(table.len(), 10_000);
        assert!((0..10_000).all(|index| *table.get(index) == index * 3));
    }
}
