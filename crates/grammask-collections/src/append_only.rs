//! A growing table whose entries never move, so that readers need no lock.
//!
//! Entries are pushed, by writers that the table's owner serialises, and a reader that was handed an index may
//! read it at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::slots::Slots;

/// See the module.
#[derive(Debug)]
pub struct AppendOnly<T> {
    entries: Slots<OnceLock<T>>,
    len: AtomicUsize,
}

impl<T> Default for AppendOnly<T> {
    fn default() -> Self {
        Self { entries: Slots::default(), len: AtomicUsize::new(0) }
    }
}

impl<T> AppendOnly<T> {
    /// An empty table.
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

    /// Adds an entry and returns its index. Only one thread may push at a time: the caller holds a lock.
    pub fn push(&self, value: T) -> usize {
        let index = self.len.load(Ordering::Acquire);
        // A second writer would find its entry taken; its value would be lost, but nothing is torn.
        let _ = self.entries.reach(index).set(value);
        self.len.store(index + 1, Ordering::Release);
        index
    }

    /// The entry at an index that `push` returned.
    pub fn get(&self, index: usize) -> &T {
        let entry = self.entries.get(index).and_then(OnceLock::get);
        entry.expect("indices come from push, which fills the entry before it returns")
    }
}

#[cfg(test)]
mod tests {
    use super::AppendOnly;

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
