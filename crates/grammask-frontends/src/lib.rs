//! Front ends: each turns a text of one grammar language into the one [`Grammar`](grammask_grammar::Grammar).
#![forbid(unsafe_code)]

pub mod choices;
pub mod free_text;
pub mod gbnf;
pub mod kbnf;
pub mod regex_grammar;
