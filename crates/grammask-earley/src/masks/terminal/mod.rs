//! Summaries of terminals: which tokens and ends of words are below some trie nodes.

pub(in crate::masks) mod closed_alphabet;
pub(in crate::masks) mod counted_walk;
pub(in crate::masks) mod dense_transitions;
pub(in crate::masks) mod exclusion;
pub(in crate::masks) mod length_limits;
pub(in crate::masks) mod limited_walk;
pub(in crate::masks) mod long_repetitions;
pub(in crate::masks) mod self_loops;
pub(in crate::masks) mod similar_states;
pub(in crate::masks) mod table_walk;
pub(in crate::masks) mod walk;
