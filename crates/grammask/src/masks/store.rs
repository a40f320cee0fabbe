//! Finished masks of one compiled grammar, by set; equal masks are stored once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::recognizer::SetId;
use crate::vocabulary::TokenSet;

/// See the module. Reading a known mask takes a shared lock for one lookup.
#[derive(Debug, Default)]
pub struct MaskStore {
    known: RwLock<Known>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug, Default)]
struct Known {
    by_set: FxHashMap<SetId, Arc<TokenSet>>,
    distinct: FxHashSet<Arc<TokenSet>>,
}

impl Known {
    /// Bytes with one more set, and a mask of so many bytes.
    fn grows_to(&self, mask_bytes: usize) -> usize {
        let mask_size = self.distinct.iter().next().map_or(0, |mask| size_of_val(mask.words()));
        self.distinct.len() * mask_size + mask_bytes + (self.by_set.len() + 1) * 32
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
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mask = known.by_set.get(&set).cloned();
        drop(known);
        let counter = if mask.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        mask
    }

    /// The mask of `set`, if it is known; a lookup that does not find it is not counted.
    #[must_use]
    pub fn get_known(&self, set: SetId) -> Option<Arc<TokenSet>> {
        let mask = self.known.read().unwrap_or_else(PoisonError::into_inner).by_set.get(&set).cloned();
        self.hits.fetch_add(u64::from(mask.is_some()), Ordering::Relaxed);
        mask
    }

    /// Keeps the mask of `set`, unless the store would grow over `max_bytes`; an equal mask is kept once.
    pub fn insert(&self, set: SetId, mask: TokenSet, max_bytes: usize) -> Arc<TokenSet> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let mask = match known.distinct.get(&mask) {
            Some(equal) => equal.clone(),
            None => Arc::new(mask),
        };
        if known.grows_to(size_of_val(mask.words())) <= max_bytes {
            known.distinct.insert(mask.clone());
            known.by_set.insert(set, mask.clone());
        }
        mask
    }

    /// Keeps a mask that the store gave out before as the mask of `set` too.
    pub fn insert_known(&self, set: SetId, mask: Arc<TokenSet>, max_bytes: usize) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.grows_to(0) <= max_bytes {
            known.by_set.insert(set, mask);
        }
    }

    /// What the store holds and how often it helped.
    #[must_use]
    pub fn statistics(&self) -> StoreStatistics {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        StoreStatistics {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            sets: known.by_set.len(),
            masks: known.distinct.len(),
            bytes: known.distinct.iter().map(|mask| size_of_val(mask.words())).sum(),
        }
    }
}
