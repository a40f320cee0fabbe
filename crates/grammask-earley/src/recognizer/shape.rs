//! Shapes: sets of items with numbers in place of continuations.
//!
//! The set after a hundred open brackets differs from that after ten only in what follows. So a set is kept as its
//! *shape*, in which continuations are numbered in the order in which the sorted items name them, and the list of
//! these continuations. Contents of continuations are kept in the same way: they are sets whose items are all fresh.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::lowering::DotId;
use grammask_collections::id_type;

use super::continuation::ContinuationId;
use super::kernel::{Item, ItemState, Kernel};
use grammask_collections::id_table::IdTable;

id_type! {
    /// A shape; equal ids are equal shapes.
    ShapeId
}

/// Continuations that are looked through one by one; more of them are found by a map.
const FEW_CONTINUATIONS: usize = 16;

/// Sets of a shape from which on it pays to write recipes.
const MANY_SETS: u32 = 3;

/// A set of items but for the continuations.
#[derive(Debug)]
pub(crate) struct Shape {
    /// The text may be complete here.
    pub(crate) ends: bool,
    /// Sorted.
    pub(crate) items: Box<[NumberedItem]>,
    /// How many different continuations the items have.
    pub(crate) count: usize,
    /// Whether no two items differ in their continuation only, so that their order does not depend on it.
    pub(crate) is_rigid: bool,
    /// How many sets have it.
    sets: u32,
}

/// An item with the number of its continuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NumberedItem {
    pub(crate) state: ItemState,
    pub(crate) dot: DotId,
    pub(crate) number: u32,
}

/// All shapes.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    list: Vec<Shape>,
    table: IdTable,
    item_count: usize,
    /// Scratch: the items of the last shape that was asked for.
    items: Vec<NumberedItem>,
    /// Scratch: the continuations of the last shape that was asked for.
    numbered: Vec<ContinuationId>,
}

impl Shape {
    /// Whether many sets have it, so that more of them can be expected.
    pub(super) fn is_shared(&self) -> bool {
        self.sets >= MANY_SETS
    }

    /// The items, with numbers for continuations.
    pub(super) fn numbered_items(&self) -> Vec<Item> {
        let item = |item: &NumberedItem| Item {
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

impl Shapes {
    pub(crate) fn get(&self, id: ShapeId) -> &Shape {
        &self.list[id.index()]
    }

    /// The shape, of a new set.
    pub(super) fn share(&mut self, id: ShapeId) -> &Shape {
        let shape = &mut self.list[id.index()];
        shape.sets += 1;
        shape
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.list.capacity() * size_of::<Shape>()
            + self.item_count * size_of::<NumberedItem>()
            + self.table.memory_bytes()
    }

    /// The shape of normalised items, and their continuations by number.
    pub(crate) fn intern(
        &mut self,
        ends: bool,
        items: impl Iterator<Item = Item>,
    ) -> (ShapeId, &[ContinuationId]) {
        self.items.clear();
        self.numbered.clear();
        let mut numbers: FxHashMap<ContinuationId, u32> = FxHashMap::default();
        let mut hasher = FxHasher::default();
        ends.hash(&mut hasher);
        for Item { state, dot, continuation } in items {
            let next = self.numbered.len();
            let number = if next < FEW_CONTINUATIONS {
                self.numbered.iter().position(|&known| known == continuation).unwrap_or(next)
            } else {
                if numbers.is_empty() {
                    numbers = self.numbered.iter().copied().zip(0..).collect();
                }
                *numbers.entry(continuation).or_insert(next as u32) as usize
            };
            if number == next {
                self.numbered.push(continuation);
            }
            // There are fewer continuations than items, which Limits bound.
            let item = NumberedItem { state, dot, number: number as u32 };
            hasher.write_u64(u64::from(state.0) << 32 | u64::from(dot.0));
            hasher.write_u32(item.number);
            self.items.push(item);
        }
        let hash = hasher.finish();
        let Self { list, table, items, .. } = &*self;
        let known = table.find(hash, |id| list[id].ends == ends && list[id].items[..] == items[..]);
        let id = known.unwrap_or_else(|| {
            let is_same =
                |pair: &[NumberedItem]| (pair[0].state, pair[0].dot) == (pair[1].state, pair[1].dot);
            self.table.insert(hash, self.list.len());
            self.item_count += self.items.len();
            self.list.push(Shape {
                ends,
                items: self.items.as_slice().into(),
                count: self.numbered.len(),
                is_rigid: !self.items.windows(2).any(is_same),
                sets: 0,
            });
            self.list.len() - 1
        });
        (ShapeId::new(id), &self.numbered)
    }
}

/// The hash of a shape with continuations.
pub(super) fn hash_of(shape: ShapeId, continuations: &[ContinuationId]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(shape.0);
    for continuation in continuations {
        hasher.write_u32(continuation.0);
    }
    hasher.finish()
}

/// The normalised items of a kernel, as a shape takes them.
pub(super) fn intern_kernel<'a>(shapes: &'a mut Shapes, kernel: &Kernel) -> (ShapeId, &'a [ContinuationId]) {
    shapes.intern(kernel.ends, kernel.items.iter().copied())
}
