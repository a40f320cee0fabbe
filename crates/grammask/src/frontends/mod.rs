//! Front ends: each turns a text of one grammar language into the one [`Grammar`](crate::grammar::Grammar).

pub mod choices;
pub mod directives;
pub mod free_text;
pub mod gbnf;
pub mod json_schema;
pub mod kbnf;
pub mod regex;
mod suggest;
