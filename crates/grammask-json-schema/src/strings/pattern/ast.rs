//! The syntax tree of a pattern: an arena in which parts come before what they are parts of.

use regex_syntax::hir::ClassUnicode;

/// A node of a [`Pattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NodeId(u32);

impl NodeId {
    pub(super) fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("memory ends before four billion nodes"))
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Whether something must hold, or must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    Positive,
    Negative,
}

/// A part of a pattern. Groups leave no trace: what they capture is never asked for.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// One character of a set.
    Class(ClassUnicode),
    /// All parts in order; no part is the empty text.
    Concat(Vec<NodeId>),
    /// Any of the branches.
    Alternation(Vec<NodeId>),
    /// `min` to `max` times `body`.
    Repeat { body: NodeId, min: u32, max: Option<u32> },
    /// `^`.
    Start,
    /// `$`.
    End,
    /// `\b`, `\B`.
    WordBoundary(Sense),
    /// `(?=body)`, `(?!body)`.
    LookAhead(Sense, NodeId),
    /// `(?<=body)`, `(?<!body)`.
    LookBehind(Sense, NodeId),
}

/// A parsed pattern.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    nodes: Vec<(Node, usize)>,
    root: NodeId,
}

impl Pattern {
    /// `nodes` with their offsets in the source, parts first.
    pub(super) fn new(nodes: Vec<(Node, usize)>, root: NodeId) -> Self {
        Self { nodes, root }
    }

    pub(super) fn root(&self) -> NodeId {
        self.root
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()].0
    }

    /// Where the node starts in the source.
    pub(super) fn offset(&self, id: NodeId) -> usize {
        self.nodes[id.index()].1
    }

    /// All nodes, parts before what they are parts of.
    pub(super) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::new)
    }
}

impl Node {
    /// Calls `visit` for each part.
    pub(super) fn for_each_part(&self, mut visit: impl FnMut(NodeId)) {
        match self {
            Self::Concat(parts) | Self::Alternation(parts) => parts.iter().copied().for_each(visit),
            Self::Repeat { body, .. } | Self::LookAhead(_, body) | Self::LookBehind(_, body) => visit(*body),
            Self::Class(_) | Self::Start | Self::End | Self::WordBoundary(_) => {}
        }
    }
}
