//! The nodes of a search for a shortest completion, and those that are still to be expanded.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::completion::boundaries::Boundary;
use crate::recognizer::Run;

/// A node of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SearchNode {
    Run(Run),
    Boundary(Boundary),
}

/// A node that a search reached.
pub(crate) struct ReachedNode {
    /// The number of bytes from the first run.
    pub(crate) bytes: u32,
    pub(crate) previous: Option<SearchNode>,
}

/// A node that is still to be expanded.
#[derive(Clone, Copy)]
pub(crate) struct OpenNode {
    pub(crate) node: SearchNode,
    /// The number of bytes from the first run.
    pub(crate) bytes: u32,
    /// The number of successors that have been reached from it.
    pub(crate) expanded: usize,
}

/// The nodes that a search reached.
#[derive(Default)]
pub(crate) struct Frontier {
    pub(crate) reached: FxHashMap<SearchNode, ReachedNode>,
    /// By the estimated length of a completion through them.
    open: BTreeMap<u32, Vec<OpenNode>>,
}

impl Frontier {
    pub(crate) fn push(&mut self, estimate: u32, open: OpenNode) {
        self.open.entry(estimate).or_default().push(open);
    }

    /// A node of the least estimate.
    pub(crate) fn pop(&mut self) -> Option<(u32, OpenNode)> {
        loop {
            let mut estimated = self.open.first_entry()?;
            match estimated.get_mut().pop() {
                Some(open) => return Some((*estimated.key(), open)),
                None => estimated.remove(),
            };
        }
    }
}
