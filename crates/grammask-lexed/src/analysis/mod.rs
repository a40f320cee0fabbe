//! Static checks that decide, before any text is read, whether a grammar can be recognised exactly.

pub(crate) mod adjacency;
pub(crate) mod emptiness;
pub(crate) mod indentation;
pub(crate) mod viable_completion;
