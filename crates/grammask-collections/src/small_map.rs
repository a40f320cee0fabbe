//! A map from short lists of numbers to numbers, for decision trees.
//!
//! Most maps have one or two entries, so the first four are searched linearly and only further ones are hashed.

use rustc_hash::FxHashMap;

/// Number of entries that are searched linearly.
const MAX_LINEAR_SEARCH: usize = 4;

/// A map with lists of numbers as keys. See the [module documentation](self).
#[derive(Clone, Debug, Default)]
pub struct SmallMap {
    first: Vec<(Box<[u32]>, usize)>,
    /// The entries after the first ones.
    others: Option<Box<FxHashMap<Box<[u32]>, usize>>>,
}

impl SmallMap {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.first.len() + self.others.as_ref().map_or(0, |others| others.len())
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The value of a key.
    pub fn get(&self, key: &[u32]) -> Option<usize> {
        // Element by element: for keys of a few elements that is faster than a call of memcmp.
        let is_equal = |other: &[u32]| other.len() == key.len() && other.iter().zip(key).all(|(a, b)| a == b);
        match self.first.iter().find(|(other, _)| is_equal(other)) {
            Some(&(_, value)) => Some(value),
            None => self.others.as_ref()?.get(key).copied(),
        }
    }

    /// Sets the value of a key.
    pub fn insert(&mut self, key: Box<[u32]>, value: usize) {
        if let Some(entry) = self.first.iter_mut().find(|(other, _)| *other == key) {
            entry.1 = value;
        } else if self.first.len() < MAX_LINEAR_SEARCH {
            if self.first.is_empty() {
                self.first.reserve_exact(1);
            }
            self.first.push((key, value));
        } else {
            self.others.get_or_insert_default().insert(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SmallMap;

    #[test]
    fn finds_entries_of_both_parts() {
        let mut map = SmallMap::default();
        for key in 0..10_u32 {
            map.insert([key, key / 2].into(), key as usize);
            map.insert([0, 0].into(), 70);
        }
        assert_eq!(map.len(), 10);
        assert_eq!(map.get(&[0, 0]), Some(70));
        assert!((1..10_u32).all(|key| map.get(&[key, key / 2]) == Some(key as usize)));
        assert_eq!(map.get(&[1]), None);
    }
}
