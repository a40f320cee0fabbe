//! Ids of tokens.

use bytemuck::{Pod, Zeroable};

/// The id of a token: its index in the model's logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Pod, Zeroable)]
#[repr(transparent)]
pub struct TokenId(pub u32);

impl TokenId {
    /// The id as an index into tables over all ids.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
