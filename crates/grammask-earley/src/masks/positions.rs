//! The positions of keys in a list to which keys are appended.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::tuning::MAX_LINEAR_SEARCH;

/// A table of the positions of keys, filled once the list is longer than [`MAX_LINEAR_SEARCH`].
#[derive(Debug)]
pub(super) struct Positions<K>(FxHashMap<K, usize>);

impl<K> Default for Positions<K> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<K: Copy + Eq + Hash> Positions<K> {
    /// The position of a key in `keys`. For a new key it is the length of the list, to which the caller must append the
    /// key.
    #[inline]
    pub(super) fn position(&mut self, key: K, mut keys: impl ExactSizeIterator<Item = K>) -> usize {
        let next = keys.len();
        if next < MAX_LINEAR_SEARCH {
            return keys.position(|other| other == key).unwrap_or(next);
        }
        if self.0.is_empty() {
            self.0 = keys.zip(0..).collect();
        }
        *self.0.entry(key).or_insert(next)
    }

    /// Forgets the list.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
