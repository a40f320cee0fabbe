//! The lexer as a lazy automaton, and the static analysis of the terminals that an open lexeme can become.

pub(crate) mod lexer_automaton;
pub(crate) mod open_lexemes;
