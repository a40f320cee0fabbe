//! Mask store streamlining: the legality of terminal sequences in every context, and the report about it.

pub(crate) mod entry_counts;
pub(crate) mod legality;
