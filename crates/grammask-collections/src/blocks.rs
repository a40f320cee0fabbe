//! A list that grows block by block, so that nothing that is in it moves.
//!
//! The steps of a text of 500,000 tokens are 16 MB: moving them to a larger place takes milliseconds, which one token would
//! have to wait for.

/// Entries of a block.
const BLOCK: usize = 1 << 10;
/// Room in a new list: a text of some words needs no more.
const FIRST: usize = 32;

/// See the module.
#[derive(Clone, Debug)]
pub struct Blocks<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self { full: Vec::new(), last: Vec::with_capacity(FIRST) }
    }
}

impl<T> Blocks<T> {
    /// An empty vector, with room for 32 entries.
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
        self.full.len() * BLOCK + self.last.len()
    }

    /// Appends an entry. Cost: constant, without moving entries.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.last.len() == BLOCK {
            self.full.push(std::mem::replace(&mut self.last, Vec::with_capacity(BLOCK)));
        }
        self.last.push(value);
    }

    /// The entry at an index.
    pub fn get(&self, index: usize) -> Option<&T> {
        match self.full.get(index / BLOCK) {
            Some(block) => block.get(index % BLOCK),
            None => self.last.get(index - self.full.len() * BLOCK),
        }
    }

    /// Keeps the first `len` entries.
    pub fn truncate(&mut self, len: usize) {
        if len / BLOCK < self.full.len() {
            self.full.truncate(len / BLOCK + 1);
            self.last = self.full.pop().unwrap_or_default();
        }
        self.last.truncate(len - self.full.len() * BLOCK);
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
    fn is_a_list() {
        let (mut blocks, mut list) = (Blocks::new(), Vec::new());
        let lengths =
            [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 2 * BLOCK, 2 * BLOCK - 1, 5, BLOCK, 0, 7];
        for len in lengths {
            while list.len() < len {
                blocks.push(list.len());
                list.push(list.len());
            }
            blocks.truncate(len);
            list.truncate(len);
            assert_eq!(blocks.len(), len);
            assert!(blocks.iter().eq(&list) && blocks.iter().rev().eq(list.iter().rev()));
            for index in [0, 1, len / 2, len.saturating_sub(1), len, len + 1, len + BLOCK] {
                assert_eq!(blocks.get(index), list.get(index));
            }
        }
    }
}
