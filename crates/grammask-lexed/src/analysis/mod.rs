//! Static checks of a grammar that run before any text is read.
//!
//! | file | check |
//! |---|---|
//! | `adjacency` | which terminals follow each other, as textbook FIRST and LAST sets give it |
//! | `indentation` | whether layouts can be completed |
//! | `viable_completion` | whether every parser stack has a finite completion |
//! | `delimited_openings` | whether the lexer finds the openings of delimited terminals at once |
//! | `emptiness` | whether the language has a text at all |

pub(crate) mod adjacency;
pub(crate) mod delimited_openings;
pub(crate) mod emptiness;
pub(crate) mod indentation;
pub(crate) mod viable_completion;
