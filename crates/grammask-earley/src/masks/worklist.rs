//! The data of a fixpoint: left-corner closures and work lists. [`super::fixpoint`] has the algorithm.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;

use crate::lowering::DotId;
use crate::recognizer::{ContinuationId, Lists};
use grammask_automata::ByteSet;
use grammask_grammar::NonterminalId;
use grammask_vocabulary::{GrowingNodeSet, LiveTokens, NodeSetRef};

use super::positions::Positions;
use super::tuning::MAX_SCRATCH;
use super::values::ValueNodes;

/// The left-corner closure of a nonterminal: the nonterminals that can begin it.
#[derive(Debug)]
pub(super) struct LeftCornerClosure {
    /// The nonterminal itself first.
    pub(super) members: Box<[NonterminalId]>,
    /// For each member the productions of members that begin with it.
    pub(super) parents: Lists<LeftCorner>,
    /// The terminals with which productions of members begin, with their first bytes.
    pub(super) terminals: Box<[(LeftCorner, ByteSet)]>,
    /// Bytes with which the nonterminal can begin.
    pub(super) first_bytes: ByteSet,
    /// Whether it can begin with a value.
    pub(super) begins_with_value: bool,
}

/// Where a left-corner closure begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ClosurePlace {
    /// At the root, in a grammar with repeated values, which derive nothing there.
    Root,
    Anywhere,
}

/// The first dot of a production of a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeftCorner {
    pub(super) dot: DotId,
    /// Position in the closure.
    pub(super) member: u32,
}

/// The work list of a fixpoint: dots to be advanced, and keys with new ends. A key is completed by productions: a
/// member of a left-corner closure, or a continuation.
#[derive(Debug)]
pub(super) struct Worklist<K> {
    /// Live tokens found so far, as sets to be united.
    pub(super) live: Vec<LiveTokens>,
    /// Nodes of values that begin after the root.
    pub(super) values: Vec<Arc<ValueNodes>>,
    /// Dots, the keys that their productions complete, and the nodes at which the symbols after the dots begin.
    pub(super) dots: Vec<(DotId, K, NodeSetRef)>,
    /// The completed keys, in order.
    pub(super) completed: Vec<Completed<K>>,
    /// Unused for keys that are positions.
    positions: Positions<K>,
    /// Positions of keys with pending nodes.
    pub(super) pending: VecDeque<usize>,
}

#[derive(Debug)]
pub(super) struct Completed<K> {
    pub(super) key: K,
    /// Nodes at which it was completed.
    pub(super) nodes: GrowingNodeSet,
    /// Those of them that were not returned by [`Worklist::next_completed`].
    pub(super) pending: GrowingNodeSet,
    /// Whether they are to be returned.
    pub(super) has_followers: bool,
}

/// A key of an [`Worklist`].
pub(super) trait WorklistKey: Copy + Eq + Hash {
    /// The position of the key, if all keys are added in advance.
    fn position(self) -> Option<usize>;
}

/// A member of a left-corner closure, by position.
impl WorklistKey for usize {
    fn position(self) -> Option<usize> {
        Some(self)
    }
}

impl WorklistKey for ContinuationId {
    fn position(self) -> Option<usize> {
        None
    }
}

impl<K> Default for Worklist<K> {
    fn default() -> Self {
        let (live, values, dots, completed, positions, pending) = Default::default();
        Self { live, values, dots, completed, positions, pending }
    }
}

impl<K: WorklistKey> Worklist<K> {
    /// The symbol after `dot` begins at `nodes`.
    #[inline]
    pub(super) fn push(&mut self, dot: DotId, key: K, nodes: NodeSetRef) {
        self.dots.push((dot, key, nodes));
    }

    /// The completed keys, in order.
    pub(super) fn completed(&self) -> impl Iterator<Item = K> {
        self.completed.iter().map(|completed| completed.key)
    }

    /// An empty worklist with the buffers of this one, unless they are large.
    pub(super) fn cleared(mut self) -> Self {
        let Self { live, values, dots, completed, positions, pending } = &mut self;
        values.clear();
        if dots.capacity().max(completed.capacity()) > MAX_SCRATCH / 32 {
            return Self::default();
        }
        live.clear();
        dots.clear();
        completed.clear();
        positions.clear();
        pending.clear();
        self
    }

    pub(super) fn add_key(&mut self, key: K, has_followers: bool) {
        let (nodes, pending) = Default::default();
        self.completed.push(Completed { key, nodes, pending, has_followers });
    }

    /// The position of a key, which is added if it is new.
    pub(super) fn position(&mut self, key: K) -> usize {
        if let Some(position) = key.position() {
            return position;
        }
        let Self { completed, positions, .. } = self;
        let position = positions.position(key, completed.iter().map(|completed| completed.key));
        if position == self.completed.len() {
            self.add_key(key, true);
        }
        position
    }
}
