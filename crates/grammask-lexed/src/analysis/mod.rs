//! Static checks of a grammar that run before any text is read.
//!
//! | file | check |
//! |---|---|
//! | `adjacency` | which terminals follow each other, as textbook FIRST and LAST sets give it |
//! | `indentation` | whether layouts can be completed |
//! | `viable_completion` | whether every parser stack has a finite completion |
//! | `delimited_openings` | whether the lexer finds the openings of delimited terminals at once |
//! | `emptiness` | whether the language has a text at all |
//!
//! A grammar that `viable_completion` or the analysis of open lexemes cannot prove is replaced (`refinement`) by one without
//! such stacks (`adjacent_product`, `live_stacks`).

pub(crate) mod adjacency;
mod adjacent_product;
pub(crate) mod delimited_openings;
pub(crate) mod emptiness;
pub(crate) mod indentation;
mod live_stacks;
pub(crate) mod refinement;
pub(crate) mod viable_completion;
