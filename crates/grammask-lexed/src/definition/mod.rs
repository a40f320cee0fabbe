//! Definitions of lexed grammars: the plain and the checked form, serialisation, and construction from rules.

mod as_rules;
mod checks;
pub(crate) mod delimited_terminals;
mod encoded_terminals;
mod encoding_format;
pub(crate) mod from_rules;
pub(crate) mod grammar;
pub(crate) mod lexical_rules;
pub(crate) mod source;
pub(crate) mod terminal_automaton;
pub(crate) mod terminal_grammars;
pub(crate) mod wire_format;
