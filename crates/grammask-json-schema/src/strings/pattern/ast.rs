//! The abstract syntax tree of a pattern: an arena in which children precede their parents.

use regex_syntax::hir::ClassUnicode;

/// The id of a node of a [`PatternAst`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PatternNodeId(u32);

impl PatternNodeId {
    pub(super) fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("memory ends before four billion nodes"))
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Whether an assertion is affirmed or negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polarity {
    Positive,
    Negative,
}

/// A node of the syntax tree. Capture groups are not represented: nothing reads captures.
#[derive(Clone, Debug)]
pub(super) enum PatternNode {
    /// One character of a set.
    Class(ClassUnicode),
    /// All children in order; no child is the empty text.
    Concat(Vec<PatternNodeId>),
    /// Any of the branches.
    Alternation(Vec<PatternNodeId>),
    /// `min` to `max` times `body`.
    Repeat { body: PatternNodeId, min: u32, max: Option<u32> },
    /// `^`.
    Start,
    /// `$`.
    End,
    /// `\b`, `\B`.
    WordBoundary(Polarity),
    /// `(?=body)`, `(?!body)`.
    LookAhead(Polarity, PatternNodeId),
    /// `(?<=body)`, `(?<!body)`.
    LookBehind(Polarity, PatternNodeId),
}

/// The syntax tree of a pattern.
#[derive(Clone, Debug)]
pub(super) struct PatternAst {
    nodes: Vec<(PatternNode, usize)>,
    root: PatternNodeId,
}

impl PatternAst {
    /// `nodes` with their byte offsets in the source, children first.
    pub(super) fn new(nodes: Vec<(PatternNode, usize)>, root: PatternNodeId) -> Self {
        Self { nodes, root }
    }

    pub(super) fn root(&self) -> PatternNodeId {
        self.root
    }

    pub(super) fn node(&self, id: PatternNodeId) -> &PatternNode {
        &self.nodes[id.index()].0
    }

    /// The byte offset of the node in the source.
    pub(super) fn offset(&self, id: PatternNodeId) -> usize {
        self.nodes[id.index()].1
    }

    /// All nodes, children before parents.
    pub(super) fn ids(&self) -> impl Iterator<Item = PatternNodeId> + use<> {
        (0..self.nodes.len()).map(PatternNodeId::new)
    }
}

impl PatternNode {
    /// Calls `visit` for each child.
    pub(super) fn for_each_child(&self, mut visit: impl FnMut(PatternNodeId)) {
        match self {
            Self::Concat(parts) | Self::Alternation(parts) => parts.iter().copied().for_each(visit),
            Self::Repeat { body, .. } | Self::LookAhead(_, body) | Self::LookBehind(_, body) => visit(*body),
            Self::Class(_) | Self::Start | Self::End | Self::WordBoundary(_) => {}
        }
    }
}
