//! A growing table whose entries never move, so that readers need no lock.
//!
//! Either entries are pushed, by writers that the table's owner serialises, and a reader that was handed an index may
//! read it at once; or entries are set once each, by index and in any order.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Entries that are made room for at once: few, so that no entry has to wait for the room of thousands.
const CHUNK: usize = 1 << 6;
/// Segments of chunks, each twice as long as the one before, enough for 2^32 entries.
const SEGMENTS: usize = 27;

/// See the module.
#[derive(Debug)]
pub(crate) struct AppendOnly<T> {
    segments: [OnceLock<Box<[Chunk<T>]>>; SEGMENTS],
    len: AtomicUsize,
}

type Chunk<T> = OnceLock<Box<[OnceLock<T>]>>;

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
        // A second writer would find its entry taken; its value would be lost, but nothing is torn.
        let _ = self.chunk(index)[index % CHUNK].set(value);
        self.len.store(index + 1, Ordering::Release);
        index
    }

    /// The entry at an index, if it was set.
    pub(crate) fn find(&self, index: usize) -> Option<&T> {
        let (segment, chunk) = Self::locate(index);
        self.segments[segment].get()?[chunk].get()?[index % CHUNK].get()
    }

    /// Sets the entry at an index, in a table that is not pushed to, unless it is set; returns whether it was not.
    pub(crate) fn set(&self, index: usize, value: T) -> bool {
        let is_new = self.chunk(index)[index % CHUNK].set(value).is_ok();
        self.len.fetch_add(usize::from(is_new), Ordering::AcqRel);
        is_new
    }

    fn chunk(&self, index: usize) -> &[OnceLock<T>] {
        let (segment, chunk) = Self::locate(index);
        let chunks =
            self.segments[segment].get_or_init(|| (0..1_usize << segment).map(|_| OnceLock::new()).collect());
        chunks[chunk].get_or_init(|| (0..CHUNK).map(|_| OnceLock::new()).collect())
    }

    /// The entry at an index that `push` returned.
    pub(crate) fn get(&self, index: usize) -> &T {
        self.find(index).expect("indices come from push, which fills the entry before it returns")
    }

    /// The segment of an entry, and its chunk there: segment `s` holds the chunks from `2^s - 1` on.
    fn locate(index: usize) -> (usize, usize) {
        let position = index / CHUNK + 1;
        let segment = position.ilog2() as usize;
        (segment, position - (1 << segment))
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
