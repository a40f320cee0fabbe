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

use rustc_hash::FxHashMap;

use crate::LimitExceeded;
use crate::grammar::id_type;
use crate::lowering::DotId;

use super::effort::Effort;
use super::left_corner::InnerReference;

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

/// A finished continuation.
#[derive(Clone, Debug)]
pub(crate) struct Continuation {
    /// The text may be complete here.
    pub(crate) ends: bool,
    pub(crate) entries: Box<[Entry]>,
    /// Which knot of the grammar it belongs to, and the id of the first member of it; none without a cycle.
    knot: Option<(u32, ContinuationId)>,
}

/// All continuations.
#[derive(Debug, Default)]
pub(crate) struct Continuations {
    list: Vec<Continuation>,
    /// By resolved content.
    by_content: FxHashMap<Box<[u32]>, ContinuationId>,
    /// Knots by what their members refer to outside; the value is the id of the first member.
    knots: FxHashMap<Box<[u32]>, ContinuationId>,
    entry_count: usize,
    /// Scratch for keys.
    key: Vec<u32>,
}

impl Continuations {
    pub(crate) fn get(&self, id: ContinuationId) -> &Continuation {
        &self.list[id.index()]
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        // Each continuation with its keys in the tables, each entry there and in the list.
        self.list.len() * 128 + self.entry_count * 24
    }

    /// Adds all of `other` to `content`.
    pub(crate) fn add_to(&self, content: &mut Content, other: ContinuationId) {
        let other = self.get(other);
        content.ends |= other.ends;
        content.entries.extend_from_slice(&other.entries);
    }

    /// The continuation with exactly this content (normalised).
    pub(crate) fn intern(&mut self, content: &Content) -> ContinuationId {
        self.key.clear();
        content.write_key(&mut self.key);
        if let Some(&id) = self.by_content.get(&self.key[..]) {
            return id;
        }
        let id = self.push(content, None);
        self.by_content.insert(self.key.as_slice().into(), id);
        id
    }

    fn push(&mut self, content: &Content, knot: Option<(u32, ContinuationId)>) -> ContinuationId {
        let id = ContinuationId::new(self.list.len());
        self.entry_count += content.entries.len();
        self.list.push(Continuation { ends: content.ends, entries: content.entries.as_slice().into(), knot });
        id
    }

    /// The continuations of a knot: `outside[m]` is what member `m` holds besides its references to members,
    /// which are `inside[m]` (positions in the knot). `knot` numbers the knot in the grammar.
    pub(crate) fn intern_knot(
        &mut self,
        knot: u32,
        outside: &mut [Content],
        inside: &[Vec<InnerReference>],
        effort: &mut Effort,
    ) -> Result<Vec<ContinuationId>, LimitExceeded> {
        let count = outside.len();
        let members = |first: ContinuationId| (0..count).map(move |m| ContinuationId::new(first.index() + m));
        let mut key = vec![knot];
        for content in outside.iter_mut() {
            content.normalize();
            content.write_key(&mut key);
        }
        if let Some(&first) = self.knots.get(&key[..]) {
            return Ok(members(first).collect());
        }
        let size: usize = outside.iter().map(|content| content.entries.len()).sum::<usize>()
            + inside.iter().map(Vec::len).sum::<usize>();
        effort.spend(size)?;
        let mut candidates: Vec<ContinuationId> = outside
            .iter()
            .flat_map(|content| &content.entries)
            .filter_map(|&(_, next)| self.get(next).knot)
            .filter(|&(of, _)| of == knot)
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
            outside.iter().zip(inside).zip(members(first)).all(|((content, references), candidate)| {
                let candidate = continuations.get(candidate);
                let resolved = resolve(content, references, first);
                resolved.ends == candidate.ends && resolved.entries[..] == candidate.entries[..]
            })
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
            for (content, references) in outside.iter().zip(inside) {
                let resolved = resolve(content, references, first);
                let id = self.push(&resolved, Some((knot, first)));
                let mut key = Vec::with_capacity(resolved.entries.len() * 2 + 2);
                resolved.write_key(&mut key);
                self.by_content.entry(key.into()).or_insert(id);
            }
            first
        });
        self.knots.insert(key.into(), first);
        Ok(members(first).collect())
    }
}
