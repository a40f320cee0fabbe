//! Finished masks of one compiled grammar, by state. Equal masks are stored once.
//!
//! A lookup takes no lock: an array by state holds the index of the mask, and masks never move. Equality is that of
//! representations, not of contents: large token sets are interned in the vocabulary's summary cache, so equal masks
//! nearly always have equal representations, and the cost of comparing these is independent of the size of the
//! vocabulary.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::SetId;
use grammask_collections::append_only_vec::AppendOnlyVec;
use grammask_collections::segmented_array::SegmentedArray;
use grammask_vocabulary::{LiveTokens, Mask, TokenSetId};

/// Memory per state, in bytes.
const ENTRY_BYTES: usize = size_of::<AtomicU32>();

/// Masks by state. See the documentation of the module.
#[derive(Debug)]
pub struct MaskCache {
    /// For each state the index of its mask plus one; zero if it is not cached.
    by_set: SegmentedArray<AtomicU32>,
    masks: AppendOnlyVec<Arc<Mask>>,
    distinct: Mutex<Distinct>,
    /// Memory of the distinct masks, in bytes, including the words that masks of this cache expand later.
    bytes: Arc<AtomicUsize>,
    /// Number of states whose mask was inserted.
    inserted: AtomicUsize,
    /// Number of states that share the mask of an equivalent state.
    shared: AtomicUsize,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// A mask, with its index if the cache holds it.
#[derive(Clone, Debug)]
pub struct CachedMask {
    /// The mask.
    pub mask: Arc<Mask>,
    number: Option<u32>,
}

/// The distinct masks.
#[derive(Debug, Default)]
struct Distinct {
    numbers: FxHashMap<ByRepresentation, u32>,
    /// The bases of the masks' token sets; the memory of each is counted once.
    bases: FxHashSet<TokenSetId>,
}

/// A mask, compared by the representation of its tokens.
#[derive(Clone, Debug)]
struct ByRepresentation(Arc<Mask>);

impl Hash for ByRepresentation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.representation_hash());
    }
}

impl PartialEq for ByRepresentation {
    fn eq(&self, other: &Self) -> bool {
        self.0.live_tokens().has_representation_of(other.0.live_tokens())
    }
}

impl Eq for ByRepresentation {}

impl Default for MaskCache {
    fn default() -> Self {
        Self {
            by_set: SegmentedArray::new(),
            masks: AppendOnlyVec::new(),
            distinct: Mutex::default(),
            bytes: Arc::default(),
            inserted: AtomicUsize::new(0),
            shared: AtomicUsize::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }
}

/// Size and hit rate of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    /// Number of lookups that found a mask.
    pub hits: u64,
    /// Number of lookups without a result.
    pub misses: u64,
    /// Number of states with a cached mask.
    pub sets: usize,
    /// Number of distinct masks.
    pub masks: usize,
    /// Memory of the masks, in bytes.
    pub bytes: usize,
}

impl MaskCache {
    /// The cached mask of a state. Cost: two loads.
    #[must_use]
    #[inline]
    pub fn find(&self, set: SetId) -> Option<&Arc<Mask>> {
        let number = self.by_set.get(set.index())?.load(Ordering::Acquire).checked_sub(1)?;
        count(&self.hits);
        Some(self.masks.get(number as usize))
    }

    /// Counts a lookup that did not find a mask.
    pub fn count_miss(&self) {
        count(&self.misses);
    }

    /// A mask over `size` ids whose expanded words count as memory of the cache.
    #[must_use]
    pub fn new_mask(&self, tokens: LiveTokens, size: usize) -> Arc<Mask> {
        Arc::new(Mask::counted(tokens, size, self.bytes.clone()))
    }

    /// Caches the mask of a state, unless the cache would exceed `max_bytes`. Masks of equal representation are
    /// stored once.
    pub fn insert(&self, set: SetId, mask: Arc<Mask>, max_bytes: usize) -> CachedMask {
        let key = ByRepresentation(mask);
        let mut distinct = self.distinct.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((ByRepresentation(equal), &number)) = distinct.numbers.get_key_value(&key) {
            let equal = CachedMask { mask: equal.clone(), number: Some(number) };
            drop(distinct);
            if self.has_room(ENTRY_BYTES, max_bytes) {
                self.set(set, number);
            }
            return equal;
        }
        let mask = key.0.clone();
        let new_base = mask.live_tokens().base().filter(|base| !distinct.bases.contains(&base.id()));
        let base_bytes = new_base.map_or(0, |base| size_of_val(base.words()));
        let bytes = size_of::<Mask>() + mask.live_tokens().memory_bytes() + base_bytes;
        if !self.has_room(bytes + ENTRY_BYTES, max_bytes) {
            // The expanded words of a mask outside the cache are not memory of the cache.
            return CachedMask { mask: mask.not_counted_in(&self.bytes), number: None };
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        distinct.bases.extend(new_base.map(|base| base.id()));
        let number = self.push(mask.clone(), &mut distinct);
        distinct.numbers.insert(key, number);
        self.set(set, number);
        CachedMask { mask, number: Some(number) }
    }

    /// Caches the mask of a state whose memory is counted elsewhere.
    pub fn insert_uncounted(&self, set: SetId, mask: Arc<Mask>, max_bytes: usize) {
        if self.has_room(ENTRY_BYTES, max_bytes) {
            let mut distinct = self.distinct.lock().unwrap_or_else(PoisonError::into_inner);
            let number = self.push(mask, &mut distinct);
            self.set(set, number);
        }
    }

    /// Caches a mask of this cache for another state, and returns it; `None` if the cache does not hold it, or is
    /// full. The caller serialises calls.
    pub fn share(&self, set: SetId, cached: &CachedMask, max_bytes: usize) -> Option<&Arc<Mask>> {
        let number = cached.number.filter(|_| self.has_room(ENTRY_BYTES, max_bytes))?;
        self.by_set.get_or_alloc(set.index()).store(number + 1, Ordering::Release);
        self.shared.store(self.shared.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Some(self.masks.get(number as usize))
    }

    /// Adds a mask, and returns its index. The lock on `Distinct` serialises writers.
    fn push(&self, mask: Arc<Mask>, _: &mut Distinct) -> u32 {
        // There are at most as many masks as states, whose ids have 32 bits.
        self.masks.push(mask) as u32
    }

    fn set(&self, set: SetId, number: u32) {
        self.by_set.get_or_alloc(set.index()).store(number + 1, Ordering::Release);
        self.inserted.fetch_add(1, Ordering::Relaxed);
    }

    fn has_room(&self, bytes: usize, max_bytes: usize) -> bool {
        self.memory_bytes() + bytes <= max_bytes
    }

    fn sets(&self) -> usize {
        self.inserted.load(Ordering::Relaxed) + self.shared.load(Ordering::Relaxed)
    }

    /// Estimated memory, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed) + self.sets() * ENTRY_BYTES
    }

    /// Size and hit rate.
    #[must_use]
    pub fn statistics(&self) -> CacheStatistics {
        CacheStatistics {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            sets: self.sets(),
            masks: self.distinct.lock().unwrap_or_else(PoisonError::into_inner).numbers.len(),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}

/// Increments a counter without an atomic read-modify-write operation, which would cost as much as the lookup.
/// Concurrent increments may be lost.
fn count(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}
