//! The summaries of symbols, and of automaton states of terminals, below sets of trie nodes.

use std::sync::Arc;

use grammask_automata::StateId;
use grammask_vocabulary::{LiveTokens, NodeSetRef, TerminalSummary};

use super::values::ValueNodes;

/// The live tokens and ends of a symbol below a node set.
#[derive(Clone, Debug)]
pub(super) struct SymbolSummary {
    pub(super) live: LiveTokens,
    pub(super) ends: NodeSetRef,
    /// The nodes of values, if some may begin after the root.
    pub(super) values: Option<Arc<ValueNodes>>,
}

/// Which parts of a summary are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Live tokens only: nothing can follow a word. States that differ only in where words end are then equivalent.
    Live,
    /// Also the nodes where words end.
    LiveAndEnds,
}

impl Wanted {
    /// The parts that a summary has.
    pub(crate) fn in_summary(summary: &TerminalSummary) -> Self {
        if summary.ends.is_some() { Self::LiveAndEnds } else { Self::Live }
    }

    /// Whether a summary has these parts.
    pub(crate) fn are_in(self, summary: &TerminalSummary) -> bool {
        self == Self::Live || summary.ends.is_some()
    }
}

/// A state of the same automaton with its summary below the root.
#[derive(Clone, Debug)]
pub(crate) struct BaseSummary {
    pub(crate) state: StateId,
    pub(crate) summary: Arc<TerminalSummary>,
}

/// The result of the first walk among intersections that differ only in the bounds of repetitions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FirstLimitedWalk {
    Finished,
    /// It gave up, so the others would too.
    GaveUp,
}
