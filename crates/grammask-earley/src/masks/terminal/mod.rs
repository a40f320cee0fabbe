//! Summaries of terminals: the live tokens and the ends of words below some trie nodes.
//!
//! [`strategy`] selects how a summary is computed. The walks step an automaton along the trie: [`walk`] (sparse and
//! dense), [`table_walk`], and [`counted_walk`] for repetitions, [`limited_walk`] for those inside an intersection.
//! Deltas ([`delta`]) compute a summary from that of a similar language: [`similar_states`], [`exclusion`],
//! [`long_repetitions`]. Walks skip subtrees with [`self_loops`] and [`closed_alphabet`], which [`dense_transitions`]
//! memoises by state.

pub(super) mod closed_alphabet;
pub(super) mod counted_walk;
pub(super) mod delta;
pub(super) mod dense_transitions;
pub(super) mod exclusion;
pub(super) mod length_limits;
pub(super) mod limited_walk;
pub(super) mod long_repetitions;
pub(super) mod repetitions;
pub(super) mod self_loops;
pub(super) mod similar_states;
pub(super) mod strategy;
pub(super) mod table_walk;
pub(super) mod walk;
