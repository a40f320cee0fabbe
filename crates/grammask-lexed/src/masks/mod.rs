//! Masks: token spanner tables, their subset construction, and the automaton that reads the stack.

pub(crate) mod follow_cache;
pub(crate) mod precompute;
pub(crate) mod spanner_subset;
pub(crate) mod spanner_table;
pub(crate) mod stack_automaton;
pub(crate) mod terminal_lists;
pub(crate) mod token_partition;
pub(crate) mod token_set_store;
