//! A hash map in shards, so that no insertion moves more than a shard. It knows which entries were read.
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
    shards: Box<[FxHashMap<K, Entry<V>>]>,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    /// Whether the value was read since it was inserted, or since the last [`ShardedMap::retain_read`].
    is_read: bool,
}

impl<V> Entry<V> {
    fn new(value: V) -> Self {
        Self { value, is_read: false }
    }
}

impl<K, V> Default for ShardedMap<K, V> {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| FxHashMap::default()).collect() }
    }
}

impl<K: Eq + Hash, V> ShardedMap<K, V> {
    /// The value of a key, which counts as read.
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let entry = self.shards[shard(key)].get_mut(key)?;
        entry.is_read = true;
        Some(&entry.value)
    }

    /// A key of the map that equals `key`.
    pub(crate) fn get_key<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&K>
    where
        K: Borrow<Q>,
    {
        self.shards[shard(key)].get_key_value(key).map(|(key, _)| key)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.shards[shard(&key)].insert(key, Entry::new(value));
    }

    /// The value of a key, inserted if it is missing.
    pub(crate) fn entry_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        &mut self.shards[shard(&key)].entry(key).or_insert_with(|| Entry::new(V::default())).value
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(FxHashMap::len).sum()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.shards.iter().flat_map(FxHashMap::values).map(|entry| &entry.value)
    }

    /// Removes the entries that were not read since the last call.
    pub(crate) fn retain_read(&mut self) {
        let is_read = |entry: &mut Entry<V>| std::mem::take(&mut entry.is_read);
        self.shards.iter_mut().for_each(|shard| shard.retain(|_, entry| is_read(entry)));
    }

    /// Removes the entries for which `is_kept` does not hold.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&K, &mut V) -> bool) {
        self.shards.iter_mut().for_each(|shard| shard.retain(|key, entry| is_kept(key, &mut entry.value)));
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.shards.iter().flat_map(FxHashMap::keys)
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
