//! Interning: equal values get equal ids.

use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

use grammask_collections::incremental_hash_table::IncrementalHashTable;
use rustc_hash::FxBuildHasher;

/// The id of a value of type `T` in an [`Interner`].
pub(super) struct Id<T>(u32, PhantomData<fn() -> T>);

impl<T> Id<T> {
    /// The id of the value that was interned as number `index`, from 0.
    pub(super) const fn at(index: u32) -> Self {
        Self(index, PhantomData)
    }

    /// The index in the interner.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Id<T> {}

impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl<T> Hash for Id<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<T> std::fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Interned values.
#[derive(Debug)]
pub(super) struct Interner<T> {
    items: Vec<T>,
    ids: IncrementalHashTable,
}

impl<T: Eq + Hash> Interner<T> {
    pub(super) fn new() -> Self {
        Self { items: Vec::new(), ids: IncrementalHashTable::default() }
    }

    /// The id of `item`, which is added if it is absent.
    pub(super) fn intern(&mut self, item: T) -> Id<T> {
        let hash = FxBuildHasher.hash_one(&item);
        if let Some(id) = self.find_hashed(hash, &item) {
            return id;
        }
        // Limits on grammars are far below 2^32 values.
        let id = Id(u32::try_from(self.items.len()).unwrap_or(u32::MAX), PhantomData);
        self.ids.insert(hash, self.items.len());
        self.items.push(item);
        id
    }

    /// The id of `item`, if it was interned.
    pub(super) fn find(&self, item: &T) -> Option<Id<T>> {
        self.find_hashed(FxBuildHasher.hash_one(item), item)
    }

    fn find_hashed(&self, hash: u64, item: &T) -> Option<Id<T>> {
        let index = self.ids.find(hash, |index| self.items[index] == *item)?;
        Some(Id(index as u32, PhantomData))
    }

    pub(super) fn get(&self, id: Id<T>) -> &T {
        &self.items[id.index()]
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }
}
