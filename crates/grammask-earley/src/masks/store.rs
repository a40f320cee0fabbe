//! Finished masks of one compiled grammar, by set; equal masks are stored once.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::recognizer::SetId;
use grammask_collections::append_only::AppendOnly;
use grammask_collections::slots::Slots;
use grammask_vocabulary::{LiveTokens, Mask};

/// Bytes that an entry of a set takes.
const ENTRY_BYTES: usize = size_of::<AtomicU32>();

/// See the module. Reading a known mask takes no lock.
#[derive(Debug)]
pub struct MaskStore {
    /// By set the number of its mask plus one; zero where it is not known.
    by_set: Slots<AtomicU32>,
    masks: AppendOnly<Arc<Mask>>,
    distinct: Mutex<Distinct>,
    /// Bytes of the different masks, and of what was made later of those that are not the vocabulary's.
    bytes: Arc<AtomicUsize>,
    /// Sets whose masks were inserted, and those that share masks of others.
    inserted: AtomicUsize,
    sharing: AtomicUsize,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// A mask, and its number if the store keeps it.
#[derive(Clone, Debug)]
pub struct KeptMask {
    /// The mask.
    pub mask: Arc<Mask>,
    number: Option<u32>,
}

/// The different masks.
#[derive(Debug, Default)]
struct Distinct {
    numbers: FxHashMap<Kept, u32>,
    /// Where the large sets are that masks refer to, which keep them there.
    bases: FxHashSet<usize>,
}

/// A mask by how its tokens are kept. Large sets are shared, so equal masks are mostly kept alike.
#[derive(Clone, Debug)]
struct Kept(Arc<Mask>);

impl Hash for Kept {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.form_hash());
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.0.live_tokens().has_form(other.0.live_tokens())
    }
}

impl Eq for Kept {}

impl Default for MaskStore {
    fn default() -> Self {
        Self {
            by_set: Slots::new(),
            masks: AppendOnly::new(),
            distinct: Mutex::default(),
            bytes: Arc::default(),
            inserted: AtomicUsize::new(0),
            sharing: AtomicUsize::new(0),
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

    /// A mask over `size` ids whose words count as the store's.
    #[must_use]
    pub fn new_mask(&self, tokens: LiveTokens, size: usize) -> Arc<Mask> {
        Arc::new(Mask::counted(tokens, size, self.bytes.clone()))
    }

    /// Keeps the mask of `set`, unless the store would grow over `max_bytes`; an equal mask is kept once, if both refer to the
    /// same large set.
    pub fn insert(&self, set: SetId, mask: Arc<Mask>, max_bytes: usize) -> KeptMask {
        let kept = Kept(mask);
        let mut distinct = self.distinct.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((Kept(equal), &number)) = distinct.numbers.get_key_value(&kept) {
            let equal = KeptMask { mask: equal.clone(), number: Some(number) };
            drop(distinct);
            if self.has_room(ENTRY_BYTES, max_bytes) {
                self.set(set, number);
            }
            return equal;
        }
        let mask = kept.0.clone();
        let new_base = mask.live_tokens().base().filter(|base| {
            let place = Arc::as_ptr(base).addr();
            !distinct.bases.contains(&place)
        });
        let base_bytes = new_base.map_or(0, |base| size_of_val(base.words()));
        let bytes = size_of::<Mask>() + mask.live_tokens().memory_bytes() + base_bytes;
        if !self.has_room(bytes + ENTRY_BYTES, max_bytes) {
            // What is made of a mask that is not kept goes with it.
            return KeptMask { mask: mask.not_counted_in(&self.bytes), number: None };
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        distinct.bases.extend(new_base.map(|base| Arc::as_ptr(base).addr()));
        let number = self.push(mask.clone(), &mut distinct);
        distinct.numbers.insert(kept, number);
        self.set(set, number);
        KeptMask { mask, number: Some(number) }
    }

    /// Keeps the mask of `set`, whose memory is counted elsewhere.
    pub fn insert_uncounted(&self, set: SetId, mask: Arc<Mask>, max_bytes: usize) {
        if self.has_room(ENTRY_BYTES, max_bytes) {
            let mut distinct = self.distinct.lock().unwrap_or_else(PoisonError::into_inner);
            let number = self.push(mask, &mut distinct);
            self.set(set, number);
        }
    }

    /// Keeps a mask that the store gave out before as the mask of `set` too, and returns it; nothing where it is not kept.
    /// Only one thread may call it at a time.
    pub fn share(&self, set: SetId, kept: &KeptMask, max_bytes: usize) -> Option<&Arc<Mask>> {
        let number = kept.number.filter(|_| self.has_room(ENTRY_BYTES, max_bytes))?;
        self.by_set.reach(set.index()).store(number + 1, Ordering::Release);
        self.sharing.store(self.sharing.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Some(self.masks.get(number as usize))
    }

    /// The number of a mask that is added; it is not yet looked for. Whoever holds `Distinct` is the only one who adds.
    fn push(&self, mask: Arc<Mask>, _: &mut Distinct) -> u32 {
        // There are fewer masks than sets, whose numbers have 32 bits.
        self.masks.push(mask) as u32
    }

    fn set(&self, set: SetId, number: u32) {
        self.by_set.reach(set.index()).store(number + 1, Ordering::Release);
        self.inserted.fetch_add(1, Ordering::Relaxed);
    }

    fn has_room(&self, bytes: usize, max_bytes: usize) -> bool {
        self.memory_bytes() + bytes <= max_bytes
    }

    fn sets(&self) -> usize {
        self.inserted.load(Ordering::Relaxed) + self.sharing.load(Ordering::Relaxed)
    }

    /// Bytes that the store takes, an estimate.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed) + self.sets() * ENTRY_BYTES
    }

    /// What the store holds and how often it helped.
    #[must_use]
    pub fn statistics(&self) -> StoreStatistics {
        StoreStatistics {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            sets: self.sets(),
            masks: self.distinct.lock().unwrap_or_else(PoisonError::into_inner).numbers.len(),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}

/// Adds one. What threads count at the same moment may be counted once: to be sure costs as much as the lookup.
fn count(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}
