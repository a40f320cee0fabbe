//! Ids of tokens.

/// The number by which a model knows a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(pub u32);

impl TokenId {
    /// The id as a position in tables over all ids.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
