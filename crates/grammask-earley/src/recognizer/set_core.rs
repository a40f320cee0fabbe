//! Item-set cores: sets of items with numbers in place of continuations.
//!
//! The set after a hundred open brackets differs from that after ten only in its continuations. So a set is stored as
//! its *core*, in which continuations are numbered in order of first occurrence in the sorted items, and the list of
//! these continuations. The term is that of LALR parsing, where the core of an item set lacks the look-aheads.
//! Contents of continuations are stored in the same way: they are sets of fresh items.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::lowering::DotId;
use grammask_collections::id_type;

use super::continuation::ContinuationId;
use super::kernel::{Item, ItemState, Kernel};
use grammask_collections::incremental_hash_table::IncrementalHashTable;
use grammask_collections::reserve::reserve_one;

id_type! {
    /// An interned core.
    CoreId
}

/// Maximum number of continuations that are numbered by linear search; more of them are numbered with a hash map.
const MAX_LINEAR_SEARCH: usize = 16;

/// Minimum number of sets of a core whose steps are recorded as traces: recording takes longer than a step.
const MIN_SETS_FOR_TRACES: u32 = 3;

/// A set of items without its continuations.
#[derive(Debug)]
pub(crate) struct SetCore {
    /// Whether the text may be complete.
    pub(crate) ends: bool,
    /// The items, sorted.
    pub(crate) items: Box<[CoreItem]>,
    /// Number of distinct continuations.
    pub(crate) count: usize,
    /// Whether no two items differ only in their continuation, so that the order is independent of the continuations.
    pub(crate) has_fixed_order: bool,
    /// Whether some item is inside a value.
    pub(crate) is_in_value: bool,
    /// Number of sets with this core.
    sets: u32,
}

/// An item with the number of its continuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CoreItem {
    pub(crate) state: ItemState,
    pub(crate) dot: DotId,
    pub(crate) number: u32,
}

/// The interning table of cores.
#[derive(Debug, Default)]
pub(super) struct CoreTable {
    list: Vec<SetCore>,
    table: IncrementalHashTable,
    item_count: usize,
    /// Scratch: items of the last core that was interned.
    items: Vec<CoreItem>,
    /// Scratch: continuations of the last core that was interned.
    numbered: Vec<ContinuationId>,
}

impl SetCore {
    /// Whether enough sets have this core for its steps to be recorded as traces.
    pub(super) fn is_frequent(&self) -> bool {
        self.sets >= MIN_SETS_FOR_TRACES
    }

    /// The items, with numbers as continuations.
    pub(super) fn items_with_numbers(&self) -> Vec<Item> {
        let item = |item: &CoreItem| Item {
            state: item.state,
            dot: item.dot,
            continuation: ContinuationId(item.number),
        };
        self.items.iter().map(item).collect()
    }

    /// The items, with these continuations.
    pub(crate) fn items_with<'a>(
        &'a self,
        continuations: &'a [ContinuationId],
    ) -> impl ExactSizeIterator<Item = Item> + 'a {
        self.items.iter().map(|item| Item {
            state: item.state,
            dot: item.dot,
            continuation: continuations[item.number as usize],
        })
    }
}

impl CoreTable {
    pub(crate) fn get(&self, id: CoreId) -> &SetCore {
        &self.list[id.index()]
    }

    /// The core of a new set, which is counted.
    pub(super) fn share(&mut self, id: CoreId) -> &SetCore {
        let core = &mut self.list[id.index()];
        core.sets += 1;
        core
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.list.capacity() * size_of::<SetCore>()
            + self.item_count * size_of::<CoreItem>()
            + self.table.memory_bytes()
    }

    /// Interns the core of normalised items; returns it with the continuations, in order of number.
    pub(crate) fn intern(
        &mut self,
        ends: bool,
        items: impl Iterator<Item = Item>,
    ) -> (CoreId, &[ContinuationId]) {
        self.items.clear();
        self.numbered.clear();
        let mut numbers: FxHashMap<ContinuationId, u32> = FxHashMap::default();
        let mut hasher = FxHasher::default();
        ends.hash(&mut hasher);
        for Item { state, dot, continuation } in items {
            let next = self.numbered.len();
            let number = if next < MAX_LINEAR_SEARCH {
                self.numbered.iter().position(|&numbered| numbered == continuation).unwrap_or(next)
            } else {
                if numbers.is_empty() {
                    numbers = self.numbered.iter().copied().zip(0..).collect();
                }
                *numbers.entry(continuation).or_insert(next as u32) as usize
            };
            if number == next {
                self.numbered.push(continuation);
            }
            // There are at most as many continuations as items, which limits bound.
            let item = CoreItem { state, dot, number: number as u32 };
            hasher.write_u64(u64::from(state.0) << 32 | u64::from(dot.0));
            hasher.write_u32(item.number);
            self.items.push(item);
        }
        let hash = hasher.finish();
        let Self { list, table, items, .. } = &*self;
        let interned = table.find(hash, |id| list[id].ends == ends && list[id].items[..] == items[..]);
        let id = interned.unwrap_or_else(|| {
            let is_same = |pair: &[CoreItem]| (pair[0].state, pair[0].dot) == (pair[1].state, pair[1].dot);
            self.table.insert(hash, self.list.len());
            self.item_count += self.items.len();
            reserve_one(&mut self.list);
            self.list.push(SetCore {
                ends,
                items: self.items.as_slice().into(),
                count: self.numbered.len(),
                has_fixed_order: !self.items.windows(2).any(is_same),
                is_in_value: self.items.iter().any(|item| item.state.is_in_value()),
                sets: 0,
            });
            self.list.len() - 1
        });
        (CoreId::new(id), &self.numbered)
    }
}

/// The hash of a core with continuations.
pub(super) fn hash_of(core: CoreId, continuations: &[ContinuationId]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(core.0);
    for continuation in continuations {
        hasher.write_u32(continuation.0);
    }
    hasher.finish()
}

/// Interns the core of a normalised kernel.
pub(super) fn intern_kernel<'a>(cores: &'a mut CoreTable, kernel: &Kernel) -> (CoreId, &'a [ContinuationId]) {
    cores.intern(kernel.ends, kernel.items.iter().copied())
}
