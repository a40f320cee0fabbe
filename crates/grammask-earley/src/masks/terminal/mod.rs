//! Summaries of terminals: the live tokens and the ends of words below some trie nodes.
//!
//! [`strategy`] selects how a summary is computed. The walks step an automaton along the trie: [`walk`] (sparse and
//! dense), [`table_walk`], and [`counted_walk`] for copies of a prefix code, alone ([`repetitions`]) or in an
//! intersection ([`limited_walk`], [`length_limits`]). Deltas ([`delta`]) patch the summary of a similar language:
//! [`similar_states`], [`exclusion`]. Walks skip subtrees with [`self_loops`] and [`closed_alphabet`];
//! [`dense_transitions`] caches both.

pub(super) mod closed_alphabet;
pub(super) mod counted_walk;
pub(super) mod delta;
pub(super) mod dense_transitions;
pub(super) mod exclusion;
pub(super) mod length_limits;
pub(super) mod limited_walk;
pub(super) mod repetitions;
pub(super) mod self_loops;
pub(super) mod similar_states;
pub(super) mod strategy;
pub(super) mod table_walk;
pub(super) mod walk;
