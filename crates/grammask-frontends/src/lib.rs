//! Front ends: each translates the source of one grammar language into a [`Grammar`](grammask_grammar::Grammar).
#![forbid(unsafe_code)]

pub mod choices;
mod cursor;
pub mod free_text;
pub mod gbnf;
pub mod kbnf;
pub mod regex_grammar;
