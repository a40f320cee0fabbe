//! Mask store streamlining: static legality of terminal sequences, and the report on its effect.

pub(crate) mod entry_counts;
pub(crate) mod legality;
