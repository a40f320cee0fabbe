//! Definitions of lexed grammars: the plain and the checked form, serialisation, and construction from rules.

pub(crate) mod from_rules;
pub(crate) mod grammar;
pub(crate) mod terminal_automaton;
pub(crate) mod wire_format;
