//! Interned finite sets of small values.

use std::hash::Hash;
use std::marker::PhantomData;

use rustc_hash::FxHashMap;

/// The id of a set in a [`SetInterner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct InternedSet<T>(u32, PhantomData<T>);

impl<T> InternedSet<T> {
    /// The empty set.
    pub(super) const EMPTY: Self = Self(0, PhantomData);
}

/// Sets as sorted slices; equal sets have equal ids.
#[derive(Debug)]
pub(super) struct SetInterner<T> {
    sets: Vec<Box<[T]>>,
    ids: FxHashMap<Box<[T]>, InternedSet<T>>,
}

impl<T: Copy + Ord + Hash> SetInterner<T> {
    pub(super) fn new() -> Self {
        let mut interner = Self { sets: Vec::new(), ids: FxHashMap::default() };
        let empty = interner.intern(Vec::new());
        debug_assert!(empty == InternedSet::EMPTY);
        interner
    }

    pub(super) fn intern(&mut self, mut elements: Vec<T>) -> InternedSet<T> {
        elements.sort_unstable();
        elements.dedup();
        if let Some(&id) = self.ids.get(&*elements) {
            return id;
        }
        let set: Box<[T]> = elements.into();
        let number = u32::try_from(self.sets.len()).expect("memory ends before four billion sets");
        let id = InternedSet(number, PhantomData);
        self.sets.push(set.clone());
        self.ids.insert(set, id);
        id
    }

    pub(super) fn get(&self, set: InternedSet<T>) -> &[T] {
        &self.sets[set.0 as usize]
    }

    /// The set with one more element.
    pub(super) fn with(&mut self, set: InternedSet<T>, element: T) -> InternedSet<T> {
        let elements = self.get(set).iter().copied().chain([element]).collect();
        self.intern(elements)
    }
}
