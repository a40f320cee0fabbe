//! A growing table whose entries never move, so that readers need no lock.
//!
//! Entries are pushed, by writers that the table's owner serialises, and a reader that was handed an index may
//! read it at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::slots::Slots;

/// See the module.
#[derive(Debug)]
pub(crate) struct AppendOnly<T> {
    entries: Slots<OnceLock<T>>,
    len: AtomicUsize,
}

impl<T> AppendOnly<T> {
    pub(crate) fn new() -> Self {
        Self { entries: Slots::new(), len: AtomicUsize::new(0) }
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Adds an entry and returns its index. Only one thread may push at a time: the caller holds a lock.
    pub(crate) fn push(&self, value: T) -> usize {
        let index = self.len.load(Ordering::Acquire);
        // A second writer would find its entry taken; its value would be lost, but nothing is torn.
        let _ = self.entries.reach(index).set(value);
        self.len.store(index + 1, Ordering::Release);
        index
    }

    /// The entry at an index that `push` returned.
    pub(crate) fn get(&self, index: usize) -> &T {
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
