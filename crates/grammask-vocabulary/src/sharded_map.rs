//! A hash map in shards, so that no insertion moves more than a shard.
//!
//! Resizing a single map of 60,000 entries takes milliseconds, which would delay one mask.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashMap};

/// Number of shards; a power of two.
const SHARDS: usize = 64;
/// Lowest bit of the hash that selects the shard: above the bits that select a bucket, below those stored with entries.
const SHARD_SHIFT: u32 = 40;

/// A hash map in shards. See the documentation of the module.
#[derive(Debug)]
pub(crate) struct ShardedMap<K, V> {
    shards: Box<[FxHashMap<K, V>]>,
}

impl<K, V> Default for ShardedMap<K, V> {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| FxHashMap::default()).collect() }
    }
}

impl<K: Eq + Hash, V> ShardedMap<K, V> {
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.shards[shard(key)].get(key)
    }

    pub(crate) fn get_key_value<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        self.shards[shard(key)].get_key_value(key)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.shards[shard(&key)].insert(key, value);
    }

    /// The value of a key, inserted if it is missing.
    pub(crate) fn entry_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.shards[shard(&key)].entry(key).or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(FxHashMap::len).sum()
    }

    pub(crate) fn clear(&mut self) {
        self.shards.iter_mut().for_each(FxHashMap::clear);
    }
}

fn shard<Q: Hash + ?Sized>(key: &Q) -> usize {
    (FxBuildHasher.hash_one(key) >> SHARD_SHIFT) as usize % SHARDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_inserted_entries() {
        let mut map: ShardedMap<u64, u64> = ShardedMap::default();
        for key in 0..10_000 {
            assert!(map.get(&key).is_none());
            map.insert(key, key * 3);
            *map.entry_or_default(key) += 1;
        }
        assert_eq!(map.len(), 10_000);
        assert!((0..10_000).all(|key| map.get(&key) == Some(&(key * 3 + 1))));
        // Keys are distributed evenly.
        assert!(map.shards.iter().all(|shard| shard.len() < 10_000 / SHARDS * 2));
        map.clear();
        assert_eq!((map.len(), map.get(&7)), (0, None));
    }
}
