//! Summaries of terminals: the live tokens and the ends of words below some trie nodes.
//!
//! [`strategy`] selects how a summary is computed. The walks step an automaton along the trie: [`subtree_walk`] is one
//! loop for all automata and sinks, used by [`walk`] (sparse and dense) and [`counted_walk`], which is for copies of a
//! prefix code, alone ([`repetitions`]) or in an intersection ([`limited_walk`], [`length_limits`]). [`table_walk`]
//! enumerates the common children of a table and the trie instead. Deltas ([`delta`]) patch the summary of a similar
//! language: [`similar_states`], [`exclusion`], [`large_maxima`]. Walks skip subtrees with [`self_loops`] and
//! [`closed_alphabet`]; [`dense_transitions`] caches both.

pub(super) mod closed_alphabet;
pub(super) mod counted_walk;
pub(super) mod delta;
pub(super) mod dense_transitions;
pub(super) mod exclusion;
pub(super) mod large_maxima;
pub(super) mod length_limits;
pub(super) mod limited_walk;
pub(super) mod repetitions;
#[cfg(test)]
mod samples;
pub(super) mod self_loops;
pub(super) mod similar_states;
pub(super) mod strategy;
pub(super) mod subtree_walk;
pub(super) mod table_walk;
pub(super) mod walk;
