//! The parser over terminals: LALR(1) tables or Earley's algorithm, interned stacks, and layouts.

pub(crate) mod lalr;
pub(crate) mod lr_automaton;
pub(crate) mod parse_tree;
pub(crate) mod parsing_tables;
pub(crate) mod stacks;
pub(crate) mod terminal_language;
pub(crate) mod terminal_set;
