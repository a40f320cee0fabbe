//! Regular languages over bytes as hash-consed terms.

use crate::grammar::id_type;

id_type! {
    /// A regular language in a [`Terms`] arena.
    TermId
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ByteSet([u64; 4]);

/// The arena.
#[derive(Clone, Debug, Default)]
pub struct Terms {}

impl Terms {
    /// An empty arena.
    #[must_use]
    pub fn new() -> Self {
        Self {}
    }
}
