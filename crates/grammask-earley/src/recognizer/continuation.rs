//! Continuations: what can follow when a nonterminal is done, identified by content.
//!
//! A continuation is a set of (dot, continuation) pairs, the items with which recognition goes on, and a flag
//! for "the text may be complete". An item whose rule ends is never stored: it is replaced by what its own
//! continuation holds (a tail call), so right recursion repeats its continuations; Leo's optimisation is the
//! special case of one item.
//!
//! Continuations made together may refer to each other (left recursion). They are equal to known ones if they
//! *behave* equally, so a new knot of references is compared, assuming equality of its members, with
//!
//! 1. a knot made before from the same parts, found by hash;
//! 2. the knots that its own parts refer to: in `s: s s | "a"` what follows the third `s` refers to what
//!    followed the second, and unrolls it exactly.
//!
//! Both comparisons are sound (every path round a reference consumes input, so equality may be assumed while it
//! is proved: coinduction). Missing an equality costs a state, never exactness.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lowering::DotId;
use grammask_collections::id_type;
use grammask_diagnostics::LimitExceeded;

use super::effort::Effort;
use super::kernel::{Item, ItemState};
use super::left_corner::{InnerReference, Knot};
use super::shape::{Shape, ShapeId, Shapes, hash_of};
use grammask_collections::id_table::IdTable;

id_type! {
    /// What can follow a nonterminal; equal ids are equal futures.
    ContinuationId
}

/// Where recognition goes on: the dot before a symbol, and what follows its production.
pub(crate) type Entry = (DotId, ContinuationId);

/// A set of entries under construction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) ends: bool,
    pub(crate) entries: Vec<Entry>,
}

impl Content {
    pub(crate) fn clear(&mut self) {
        self.ends = false;
        self.entries.clear();
    }

    pub(crate) fn normalize(&mut self) {
        self.entries.sort_unstable();
        self.entries.dedup();
    }

    fn write_key(&self, key: &mut Vec<u32>) {
        key.push(u32::from(self.ends));
        key.push(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        key.extend(self.entries.iter().flat_map(|&(dot, next)| [dot.0, next.0]));
    }
}

/// A finished continuation: a set of fresh items.
#[derive(Clone, Copy, Debug)]
struct Continuation {
    shape: ShapeId,
    /// Where its own continuations begin in the list of them.
    first: u32,
    /// Which knot of the grammar it belongs to, and the id of the first member of it; none without a cycle.
    knot: Option<(u32, ContinuationId)>,
}

/// What a continuation holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentView<'a> {
    pub(crate) shape: &'a Shape,
    /// The continuations of the shape, by number.
    pub(crate) continuations: &'a [ContinuationId],
}

impl<'a> ContentView<'a> {
    /// The entries, sorted.
    pub(crate) fn entries(self) -> impl ExactSizeIterator<Item = Entry> + 'a {
        self.shape.items_with(self.continuations).map(|item| (item.dot, item.continuation))
    }
}

/// What prediction makes continuations with: real ones, or, while a recipe is written, those of any set that looks alike.
pub(super) trait MakeContinuations {
    /// Adds what a continuation holds to `content`; returns how many entries that is.
    fn add_to(&mut self, content: &mut Content, other: ContinuationId) -> usize;

    /// The continuation with exactly this content (normalised).
    fn intern(&mut self, content: &Content) -> ContinuationId;

    /// The continuations of a knot: `outside[m]` is what member `m` holds besides its references to members. Adds them
    /// to `members`.
    fn intern_knot(
        &mut self,
        knot: &Arc<Knot>,
        outside: &mut [Content],
        effort: &mut Effort,
        members: &mut Vec<ContinuationId>,
    ) -> Result<(), LimitExceeded>;
}

/// All continuations.
#[derive(Debug, Default)]
pub(crate) struct Continuations {
    /// Shapes of contents and of kernels.
    pub(super) shapes: Shapes,
    list: Vec<Continuation>,
    /// The continuations of all contents' shapes.
    parts: Vec<ContinuationId>,
    /// By shape and parts.
    by_content: IdTable,
    /// Knots by what their members refer to outside; the value is the id of the first member.
    knots: FxHashMap<Box<[u32]>, ContinuationId>,
    knot_words: usize,
    /// Scratch for keys of knots.
    key: Vec<u32>,
    /// Scratch for parts of what is to be interned.
    wanted: Vec<ContinuationId>,
}

impl Continuations {
    pub(crate) fn get(&self, id: ContinuationId) -> ContentView<'_> {
        let Continuation { shape, first, .. } = self.list[id.index()];
        let shape = self.shapes.get(shape);
        ContentView { shape, continuations: &self.parts[first as usize..][..shape.count] }
    }

    pub(crate) fn shape(&self, id: ShapeId) -> &Shape {
        self.shapes.get(id)
    }

    pub(crate) fn shape_of(&self, id: ContinuationId) -> ShapeId {
        self.list[id.index()].shape
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.shapes.memory_bytes()
            + self.list.capacity() * size_of::<Continuation>()
            + self.parts.capacity() * size_of::<ContinuationId>()
            + self.by_content.memory_bytes()
            + self.knots.capacity() * (size_of::<(Box<[u32]>, ContinuationId)>() + 1)
            + self.knot_words * size_of::<u32>()
    }

    /// The continuation of this shape of fresh items with these continuations.
    pub(super) fn intern_parts(&mut self, shape: ShapeId, parts: &[ContinuationId]) -> ContinuationId {
        let hash = hash_of(shape, parts);
        let known = self.find(hash, shape, parts);
        known.unwrap_or_else(|| {
            self.by_content.insert(hash, self.list.len());
            self.push(shape, parts, None)
        })
    }

    fn find(&self, hash: u64, shape: ShapeId, parts: &[ContinuationId]) -> Option<ContinuationId> {
        let known = self.by_content.find(hash, |id| {
            let known = self.list[id];
            known.shape == shape && self.parts[known.first as usize..][..parts.len()] == *parts
        });
        known.map(ContinuationId::new)
    }

    fn push(
        &mut self,
        shape: ShapeId,
        parts: &[ContinuationId],
        knot: Option<(u32, ContinuationId)>,
    ) -> ContinuationId {
        let id = ContinuationId::new(self.list.len());
        // Parts are fewer than the bytes that Limits allow.
        let first = self.parts.len() as u32;
        self.parts.extend_from_slice(parts);
        self.list.push(Continuation { shape, first, knot });
        id
    }

    /// The shape of a normalised content; its continuations are put into `parts`.
    fn shape_of_content(&mut self, content: &Content, parts: &mut Vec<ContinuationId>) -> ShapeId {
        let item = |&(dot, continuation): &Entry| Item { state: ItemState::FRESH, dot, continuation };
        let (shape, of_shape) = self.shapes.intern(content.ends, content.entries.iter().map(item));
        parts.clear();
        parts.extend_from_slice(of_shape);
        shape
    }
}

impl MakeContinuations for Continuations {
    fn add_to(&mut self, content: &mut Content, other: ContinuationId) -> usize {
        let other = self.get(other);
        content.ends |= other.shape.ends;
        content.entries.extend(other.entries());
        other.shape.items.len()
    }

    fn intern(&mut self, content: &Content) -> ContinuationId {
        let mut parts = std::mem::take(&mut self.wanted);
        let shape = self.shape_of_content(content, &mut parts);
        let id = self.intern_parts(shape, &parts);
        self.wanted = parts;
        id
    }

    fn intern_knot(
        &mut self,
        knot: &Arc<Knot>,
        outside: &mut [Content],
        effort: &mut Effort,
        members: &mut Vec<ContinuationId>,
    ) -> Result<(), LimitExceeded> {
        let Knot { number, inside, .. } = &**knot;
        let count = outside.len();
        let members_of =
            |first: ContinuationId| (0..count).map(move |m| ContinuationId::new(first.index() + m));
        self.key.clear();
        self.key.push(*number);
        for content in outside.iter_mut() {
            content.normalize();
            content.write_key(&mut self.key);
        }
        if let Some(&first) = self.knots.get(&self.key[..]) {
            members.extend(members_of(first));
            return Ok(());
        }
        let size: usize = outside.iter().map(|content| content.entries.len()).sum::<usize>()
            + inside.iter().map(Vec::len).sum::<usize>();
        effort.spend(size)?;
        let mut candidates: Vec<ContinuationId> = outside
            .iter()
            .flat_map(|content| &content.entries)
            .filter_map(|&(_, next)| self.list[next.index()].knot)
            .filter(|(of, _)| of == number)
            .map(|(_, first)| first)
            .collect();
        candidates.sort_unstable();
        candidates.dedup();
        let resolve = |content: &Content, references: &[InnerReference], first: ContinuationId| {
            let mut resolved = content.clone();
            let inner = references
                .iter()
                .map(|reference| (reference.dot, ContinuationId::new(first.index() + reference.member)));
            resolved.entries.extend(inner);
            resolved.normalize();
            resolved
        };
        let is_equal = |continuations: &Self, first: ContinuationId| {
            outside.iter().zip(inside.iter()).zip(members_of(first)).all(
                |((content, references), candidate)| {
                    let candidate = continuations.get(candidate);
                    let resolved = resolve(content, references, first);
                    resolved.ends == candidate.shape.ends
                        && resolved.entries.iter().copied().eq(candidate.entries())
                },
            )
        };
        let mut equal = None;
        for candidate in candidates {
            effort.spend(size)?;
            if is_equal(self, candidate) {
                equal = Some(candidate);
                break;
            }
        }
        let first = equal.unwrap_or_else(|| {
            let first = ContinuationId::new(self.list.len());
            let mut parts = Vec::new();
            for (content, references) in outside.iter().zip(inside.iter()) {
                let shape = self.shape_of_content(&resolve(content, references, first), &mut parts);
                let hash = hash_of(shape, &parts);
                let is_known = self.find(hash, shape, &parts).is_some();
                let id = self.push(shape, &parts, Some((*number, first)));
                if !is_known {
                    self.by_content.insert(hash, id.index());
                }
            }
            first
        });
        self.knot_words += self.key.len();
        self.knots.insert(self.key.as_slice().into(), first);
        members.extend(members_of(first));
        Ok(())
    }
}
