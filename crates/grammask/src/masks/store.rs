//! Finished masks of one compiled grammar, by set; equal masks are stored once.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use std::hash::{Hash, Hasher};

use rustc_hash::FxHashSet;

use crate::append_only::AppendOnly;
use crate::recognizer::SetId;
use crate::vocabulary::{LiveTokens, Mask, TokenSet};

/// Bytes that an entry of a set takes.
const ENTRY_BYTES: usize = 16;

/// See the module. Reading a known mask takes no lock.
#[derive(Debug)]
pub struct MaskStore {
    by_set: AppendOnly<Arc<Mask>>,
    distinct: Mutex<Distinct>,
    /// Bytes of the different masks, what was made of them later too.
    bytes: Arc<AtomicUsize>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The different masks.
#[derive(Debug, Default)]
struct Distinct {
    masks: FxHashSet<Kept>,
    /// Where the large sets are that masks refer to, which keep them there.
    bases: FxHashSet<usize>,
}

/// A mask by how its tokens are kept. Large sets are shared, so equal masks are mostly kept alike.
#[derive(Clone, Debug)]
struct Kept(Arc<Mask>);

impl Kept {
    fn base(&self) -> Option<*const TokenSet> {
        self.0.live_tokens().base().map(Arc::as_ptr)
    }
}

impl Hash for Kept {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.base().hash(state);
        self.0.live_tokens().differences().hash(state);
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.base() == other.base()
            && self.0.live_tokens().differences() == other.0.live_tokens().differences()
    }
}

impl Eq for Kept {}

impl Default for MaskStore {
    fn default() -> Self {
        Self {
            by_set: AppendOnly::new(),
            distinct: Mutex::default(),
            bytes: Arc::default(),
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
    pub fn get(&self, set: SetId) -> Option<Arc<Mask>> {
        let mask = self.get_known(set);
        self.misses.fetch_add(u64::from(mask.is_none()), Ordering::Relaxed);
        mask
    }

    /// The mask of `set`, if it is known; a lookup that does not find it is not counted.
    #[must_use]
    pub fn get_known(&self, set: SetId) -> Option<Arc<Mask>> {
        let mask = self.by_set.find(set.index()).cloned();
        self.hits.fetch_add(u64::from(mask.is_some()), Ordering::Relaxed);
        mask
    }

    /// Keeps the mask of `set`, over `size` ids, unless the store would grow over `max_bytes`; an equal mask is kept once, if
    /// both refer to the same large set.
    pub fn insert(&self, set: SetId, tokens: LiveTokens, size: usize, max_bytes: usize) -> Arc<Mask> {
        let mask = Arc::new(Mask::counted(tokens, size, self.bytes.clone()));
        let kept = Kept(mask.clone());
        let mut distinct = self.distinct.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Kept(equal)) = distinct.masks.get(&kept).cloned() {
            drop(distinct);
            self.insert_known(set, equal.clone(), max_bytes);
            return equal;
        }
        let new_base = mask.live_tokens().base().filter(|base| {
            let place = Arc::as_ptr(base).addr();
            !distinct.bases.contains(&place)
        });
        let base_bytes = new_base.map_or(0, |base| size_of_val(base.words()));
        let bytes = size_of::<Mask>() + mask.live_tokens().memory_bytes() + base_bytes;
        if self.memory_bytes() + bytes + ENTRY_BYTES > max_bytes {
            // What is made of a mask that is not kept goes with it.
            return Arc::new(Mask::new(mask.live_tokens().clone(), size));
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        distinct.bases.extend(new_base.map(|base| Arc::as_ptr(base).addr()));
        distinct.masks.insert(kept);
        self.by_set.set(set.index(), mask.clone());
        mask
    }

    /// Keeps a mask that the store gave out before as the mask of `set` too.
    pub fn insert_known(&self, set: SetId, mask: Arc<Mask>, max_bytes: usize) {
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
            masks: self.distinct.lock().unwrap_or_else(PoisonError::into_inner).masks.len(),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}
