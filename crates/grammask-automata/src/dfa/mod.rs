//! Deterministic automata: the lazy DFA over terms, and tables.

mod determinize;
pub(crate) mod lazy;
mod liveness;
pub(crate) mod minimize;
pub(crate) mod table;
