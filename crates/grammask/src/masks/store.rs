//! Finished masks of one compiled grammar, by set; equal masks are stored once.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use std::hash::{BuildHasher, Hash, Hasher};

use rustc_hash::{FxBuildHasher, FxHashSet};

use crate::append_only::AppendOnly;
use crate::recognizer::SetId;
use crate::vocabulary::TokenSet;

/// Bytes that an entry of a set takes.
const ENTRY_BYTES: usize = 16;

/// See the module. Reading a known mask takes no lock.
#[derive(Debug)]
pub struct MaskStore {
    by_set: AppendOnly<Arc<TokenSet>>,
    distinct: Mutex<FxHashSet<Hashed>>,
    /// Bytes of the different masks.
    bytes: AtomicUsize,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// A mask with its hash, which costs a look at all words and so is made once.
#[derive(Clone, Debug)]
struct Hashed {
    hash: u64,
    mask: Arc<TokenSet>,
}

impl Hashed {
    fn new(mask: TokenSet) -> Self {
        Self { hash: FxBuildHasher.hash_one(&mask), mask: Arc::new(mask) }
    }
}

impl Hash for Hashed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl PartialEq for Hashed {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.mask == other.mask
    }
}

impl Eq for Hashed {}

impl Default for MaskStore {
    fn default() -> Self {
        Self {
            by_set: AppendOnly::new(),
            distinct: Mutex::default(),
            bytes: AtomicUsize::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }
}

/// What a store holds and how often it helped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStatistics {
    /// Lookups that found a mask.
    pub hits: u64,
    /// Lookups that did not.
    pub misses: u64,
    /// Sets with a known mask.
    pub sets: usize,
    /// Different masks among them.
    pub masks: usize,
    /// Bytes of the masks.
    pub bytes: usize,
}

impl MaskStore {
    /// The mask of `set`, if it is known.
    #[must_use]
    pub fn get(&self, set: SetId) -> Option<Arc<TokenSet>> {
        let mask = self.get_known(set);
        self.misses.fetch_add(u64::from(mask.is_none()), Ordering::Relaxed);
        mask
    }

    /// The mask of `set`, if it is known; a lookup that does not find it is not counted.
    #[must_use]
    pub fn get_known(&self, set: SetId) -> Option<Arc<TokenSet>> {
        let mask = self.by_set.find(set.index()).cloned();
        self.hits.fetch_add(u64::from(mask.is_some()), Ordering::Relaxed);
        mask
    }

    /// Keeps the mask of `set`, unless the store would grow over `max_bytes`; an equal mask is kept once, and then the given
    /// one comes back, for the next mask to be made in.
    pub fn insert(&self, set: SetId, mask: TokenSet, max_bytes: usize) -> (Arc<TokenSet>, Option<TokenSet>) {
        let hashed = Hashed::new(mask);
        let mut distinct = self.distinct.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(equal) = distinct.get(&hashed).map(|equal| equal.mask.clone()) {
            drop(distinct);
            self.insert_known(set, equal.clone(), max_bytes);
            return (equal, Arc::into_inner(hashed.mask));
        }
        let mask = hashed.mask.clone();
        let size = size_of_val(mask.words());
        if self.memory_bytes() + size + ENTRY_BYTES <= max_bytes {
            self.bytes.fetch_add(size, Ordering::Relaxed);
            distinct.insert(hashed);
            self.by_set.set(set.index(), mask.clone());
        }
        (mask, None)
    }

    /// Keeps a mask that the store gave out before as the mask of `set` too.
    pub fn insert_known(&self, set: SetId, mask: Arc<TokenSet>, max_bytes: usize) {
        if self.memory_bytes() + ENTRY_BYTES <= max_bytes {
            self.by_set.set(set.index(), mask);
        }
    }

    /// Bytes that the store takes, an estimate.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed) + self.by_set.len() * ENTRY_BYTES
    }

    /// What the store holds and how often it helped.
    #[must_use]
    pub fn statistics(&self) -> StoreStatistics {
        StoreStatistics {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            sets: self.by_set.len(),
            masks: self.distinct.lock().unwrap_or_else(PoisonError::into_inner).len(),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}
