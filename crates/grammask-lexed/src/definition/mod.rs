//! The definition of a lexed grammar: plain form, checked form, bytes, and its construction from rules.

pub(crate) mod from_rules;
pub(crate) mod grammar;
pub(crate) mod terminal_automaton;
pub(crate) mod wire_format;
