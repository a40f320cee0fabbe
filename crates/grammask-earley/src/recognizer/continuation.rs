//! Continuations: the items that resume when a nonterminal is complete, interned by content.
//!
//! A continuation is a set of (dot, continuation) pairs, the items that resume, and a flag for "the text may be
//! complete". An item at the end of its rule is never stored: it is replaced by the content of its own continuation
//! (a tail call), so right recursion yields the same continuations again. Leo's optimisation is the special case of a
//! single item.
//!
//! Continuations that are created together may refer to each other (left recursion). They are interned as a strongly
//! connected component, which equals an earlier one if both *behave* equally. A new component is compared with
//!
//! 1. an earlier component with the same outside references, found by hash;
//! 2. the components that its outside references belong to: in `s: s s | "a"` the continuation of the third `s`
//!    refers to that of the second, and is exactly one unrolling of it.
//!
//! Both comparisons assume the equality of the members while it is proved. That is sound by coinduction, since every
//! path around a cycle of references consumes input. A missed equality costs a state, never exactness.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lowering::DotId;
use grammask_collections::id_type;
use grammask_diagnostics::LimitExceeded;

use super::kernel::{Item, ItemState};
use super::left_corner::{ContinuationScc, SccEdge};
use super::set_core::{CoreId, CoreTable, SetCore, hash_of};
use super::step_budget::StepBudget;
use grammask_collections::incremental_hash_table::IncrementalHashTable;

id_type! {
    /// An interned continuation; equal ids are equal futures.
    ContinuationId
}

/// An item that resumes: the dot before a symbol, and the continuation of its production.
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
        // Most contents are joined from sorted ones, which a merge sort recognises.
        self.entries.sort();
        self.entries.dedup();
    }

    fn write_key(&self, key: &mut Vec<u32>) {
        key.push(u32::from(self.ends));
        key.push(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        key.extend(self.entries.iter().flat_map(|&(dot, next)| [dot.0, next.0]));
    }
}

/// An interned continuation: a core of fresh items.
#[derive(Clone, Copy, Debug)]
struct Continuation {
    core: CoreId,
    /// Index of its first continuation in `parts`.
    first: u32,
    /// The number of its strongly connected component in the grammar and the first member, if it belongs to a cycle.
    scc: Option<(u32, ContinuationId)>,
}

/// The content of a continuation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentView<'a> {
    pub(crate) core: &'a SetCore,
    /// The continuations of the core, by number.
    pub(crate) continuations: &'a [ContinuationId],
}

impl<'a> ContentView<'a> {
    /// The entries, sorted.
    pub(crate) fn entries(self) -> impl ExactSizeIterator<Item = Entry> + 'a {
        self.core.items_with(self.continuations).map(|item| (item.dot, item.continuation))
    }
}

/// Interns continuations during prediction: [`Continuations`] itself, or a [`Recorder`](super::trace::Recorder).
pub(super) trait InternContinuations {
    /// Adds the content of a continuation to `content`; returns the number of entries.
    fn add_to(&mut self, content: &mut Content, other: ContinuationId) -> usize;

    /// The continuation with exactly this normalised content.
    fn intern(&mut self, content: &Content) -> ContinuationId;

    /// Appends to `members` the continuations of a strongly connected component, where `outside[m]` is the content of
    /// member `m` without its references to members.
    fn intern_scc(
        &mut self,
        scc: &Arc<ContinuationScc>,
        outside: &mut [Content],
        budget: &mut StepBudget,
        members: &mut Vec<ContinuationId>,
    ) -> Result<(), LimitExceeded>;
}

/// All continuations.
#[derive(Debug, Default)]
pub(crate) struct Continuations {
    /// Cores of contents and of sets.
    pub(super) cores: CoreTable,
    list: Vec<Continuation>,
    /// The continuations of all contents, one list after the other.
    parts: Vec<ContinuationId>,
    /// Interning table, by core and continuations.
    by_content: IncrementalHashTable,
    /// First members of strongly connected components, by the outside references of all members.
    sccs: FxHashMap<Box<[u32]>, ContinuationId>,
    scc_words: usize,
    /// Scratch: a key of `sccs`.
    key: Vec<u32>,
    /// Scratch: continuations of a content that is being interned.
    parts_scratch: Vec<ContinuationId>,
}

impl Continuations {
    pub(crate) fn get(&self, id: ContinuationId) -> ContentView<'_> {
        let Continuation { core, first, .. } = self.list[id.index()];
        let core = self.cores.get(core);
        ContentView { core, continuations: &self.parts[first as usize..][..core.count] }
    }

    pub(crate) fn core(&self, id: CoreId) -> &SetCore {
        self.cores.get(id)
    }

    pub(crate) fn core_of(&self, id: ContinuationId) -> CoreId {
        self.list[id.index()].core
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.cores.memory_bytes()
            + self.list.capacity() * size_of::<Continuation>()
            + self.parts.capacity() * size_of::<ContinuationId>()
            + self.by_content.memory_bytes()
            + self.sccs.capacity() * (size_of::<(Box<[u32]>, ContinuationId)>() + 1)
            + self.scc_words * size_of::<u32>()
    }

    /// Interns the continuation with a core of fresh items and these continuations.
    pub(super) fn intern_parts(&mut self, core: CoreId, parts: &[ContinuationId]) -> ContinuationId {
        let hash = hash_of(core, parts);
        let interned = self.find(hash, core, parts);
        interned.unwrap_or_else(|| {
            self.by_content.insert(hash, self.list.len());
            self.push(core, parts, None)
        })
    }

    /// A continuation with the content of another, which stays different from all others.
    pub(super) fn duplicate(&mut self, id: ContinuationId) -> ContinuationId {
        let Continuation { core, first, .. } = self.list[id.index()];
        let copy = ContinuationId::new(self.list.len());
        self.list.push(Continuation { core, first, scc: None });
        copy
    }

    fn find(&self, hash: u64, core: CoreId, parts: &[ContinuationId]) -> Option<ContinuationId> {
        let interned = self.by_content.find(hash, |id| {
            let other = self.list[id];
            other.core == core && self.parts[other.first as usize..][..parts.len()] == *parts
        });
        interned.map(ContinuationId::new)
    }

    fn push(
        &mut self,
        core: CoreId,
        parts: &[ContinuationId],
        scc: Option<(u32, ContinuationId)>,
    ) -> ContinuationId {
        let id = ContinuationId::new(self.list.len());
        // The list takes less than the memory limit, so its indices fit.
        let first = self.parts.len() as u32;
        self.parts.extend_from_slice(parts);
        self.list.push(Continuation { core, first, scc });
        id
    }

    /// Interns the core of a normalised content; its continuations are written to `parts`.
    fn core_of_content(&mut self, content: &Content, parts: &mut Vec<ContinuationId>) -> CoreId {
        let item = |&(dot, continuation): &Entry| Item { state: ItemState::FRESH, dot, continuation };
        let (core, of_core) = self.cores.intern(content.ends, content.entries.iter().map(item));
        parts.clear();
        parts.extend_from_slice(of_core);
        core
    }
}

impl InternContinuations for Continuations {
    fn add_to(&mut self, content: &mut Content, other: ContinuationId) -> usize {
        let other = self.get(other);
        content.ends |= other.core.ends;
        content.entries.extend(other.entries());
        other.core.items.len()
    }

    fn intern(&mut self, content: &Content) -> ContinuationId {
        let mut parts = std::mem::take(&mut self.parts_scratch);
        let core = self.core_of_content(content, &mut parts);
        let id = self.intern_parts(core, &parts);
        self.parts_scratch = parts;
        id
    }

    fn intern_scc(
        &mut self,
        scc: &Arc<ContinuationScc>,
        outside: &mut [Content],
        budget: &mut StepBudget,
        members: &mut Vec<ContinuationId>,
    ) -> Result<(), LimitExceeded> {
        let ContinuationScc { number, inside, .. } = &**scc;
        let count = outside.len();
        let members_of =
            |first: ContinuationId| (0..count).map(move |m| ContinuationId::new(first.index() + m));
        self.key.clear();
        self.key.push(*number);
        for content in outside.iter_mut() {
            content.normalize();
            content.write_key(&mut self.key);
        }
        if let Some(&first) = self.sccs.get(&self.key[..]) {
            members.extend(members_of(first));
            return Ok(());
        }
        let size: usize = outside.iter().map(|content| content.entries.len()).sum::<usize>()
            + inside.iter().map(Vec::len).sum::<usize>();
        budget.spend(size)?;
        let mut candidates: Vec<ContinuationId> = outside
            .iter()
            .flat_map(|content| &content.entries)
            .filter_map(|&(_, next)| self.list[next.index()].scc)
            .filter(|(of, _)| of == number)
            .map(|(_, first)| first)
            .collect();
        candidates.sort_unstable();
        candidates.dedup();
        let resolve = |content: &Content, references: &[SccEdge], first: ContinuationId| {
            let mut resolved = content.clone();
            resolved.entries.extend(inner_entries(references, first));
            resolved.normalize();
            resolved
        };
        let is_equal = |continuations: &Self, first: ContinuationId| {
            outside.iter().zip(inside.iter()).zip(members_of(first)).all(
                |((content, references), candidate)| {
                    let candidate = continuations.get(candidate);
                    content.ends == candidate.core.ends
                        && is_union(candidate.entries(), &content.entries, inner_entries(references, first))
                },
            )
        };
        let mut equal = None;
        for candidate in candidates {
            budget.spend(size)?;
            if is_equal(self, candidate) {
                equal = Some(candidate);
                break;
            }
        }
        let first = equal.unwrap_or_else(|| {
            let first = ContinuationId::new(self.list.len());
            let mut parts = Vec::new();
            for (content, references) in outside.iter().zip(inside.iter()) {
                let core = self.core_of_content(&resolve(content, references, first), &mut parts);
                let hash = hash_of(core, &parts);
                let is_interned = self.find(hash, core, &parts).is_some();
                let id = self.push(core, &parts, Some((*number, first)));
                if !is_interned {
                    self.by_content.insert(hash, id.index());
                }
            }
            first
        });
        self.scc_words += self.key.len();
        self.sccs.insert(self.key.as_slice().into(), first);
        members.extend(members_of(first));
        Ok(())
    }
}

/// The entries of references between the members of a strongly connected component whose first member is `first`.
fn inner_entries(references: &[SccEdge], first: ContinuationId) -> impl Iterator<Item = Entry> {
    let entry =
        move |reference: &SccEdge| (reference.dot, ContinuationId::new(first.index() + reference.member));
    references.iter().map(entry)
}

/// Whether sorted entries without repetition are the union of two such lists. Usually the first ones show that they are not.
fn is_union(
    entries: impl Iterator<Item = Entry>,
    left: &[Entry],
    right: impl Iterator<Item = Entry>,
) -> bool {
    let (mut left, mut right) = (left.iter().copied().peekable(), right.peekable());
    for entry in entries {
        let is_left = left.next_if_eq(&entry).is_some();
        let is_right = right.next_if_eq(&entry).is_some();
        if !is_left && !is_right {
            return false;
        }
    }
    left.next().is_none() && right.next().is_none()
}
