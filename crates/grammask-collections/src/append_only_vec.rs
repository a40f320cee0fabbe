//! An append-only vector whose entries never move, so that readers need no lock.
//!
//! The owner serialises writers. An entry is complete before `push` returns its index, so any thread that has an index
//! can read the entry.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::segmented_array::SegmentedArray;

/// An append-only vector. See the [module documentation](self).
#[derive(Debug)]
pub struct AppendOnlyVec<T> {
    entries: SegmentedArray<OnceLock<T>>,
    len: AtomicUsize,
}

impl<T> Default for AppendOnlyVec<T> {
    fn default() -> Self {
        Self { entries: SegmentedArray::default(), len: AtomicUsize::new(0) }
    }
}

impl<T> AppendOnlyVec<T> {
    /// An empty vector.
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
        self.len.load(Ordering::Acquire)
    }

    /// Appends an entry and returns its index. Calls must be serialised by the caller.
    pub fn push(&self, value: T) -> usize {
        let index = self.len.load(Ordering::Acquire);
        // If two calls raced despite the contract, one value would be lost, without undefined behaviour.
        let _ = self.entries.get_or_alloc(index).set(value);
        self.len.store(index + 1, Ordering::Release);
        index
    }

    /// The entry at an index that `push` returned.
    ///
    /// # Panics
    /// If there is no such entry.
    pub fn get(&self, index: usize) -> &T {
        let entry = self.entries.get(index).and_then(OnceLock::get);
        entry.expect("indices come from push, which fills the entry before it returns")
    }
}

#[cfg(test)]
mod tests {
    use super::AppendOnlyVec;

    #[test]
    fn keeps_every_entry() {
        let table = AppendOnlyVec::new();
        for value in 0..10_000_usize {
            assert_eq!(table.push(value * 3), value);
        }
        assert_eq!(table.len(), 10_000);
        assert!((0..10_000).all(|index| *table.get(index) == index * 3));
    }
}
