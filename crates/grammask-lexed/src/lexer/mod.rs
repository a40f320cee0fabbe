//! The lexer as a lazy automaton, the characters that decide columns, columns themselves, and the static analysis of the terminals that an
//! open lexeme can become.

pub(crate) mod column_units;
pub(crate) mod lexer_automaton;
pub(crate) mod line_columns;
mod match_order;
pub(crate) mod open_lexemes;
mod prefix_inclusion;
