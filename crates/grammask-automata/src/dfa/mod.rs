//! Deterministic automata: the lazy DFA over terms with liveness and shortest words, and tables.

mod determinize;
pub(crate) mod lazy;
mod liveness;
pub(crate) mod minimize;
pub(crate) mod shortest_words;
pub(crate) mod table;
