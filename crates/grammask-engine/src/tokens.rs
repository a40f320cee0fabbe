//! Tokens that a grammar names, and the tokens that a text consists of.

use grammask_vocabulary::{TokenId, TokenSetRef};

/// One token, as an engine reads it when a grammar names tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenEvent {
    /// Its id.
    pub id: TokenId,
    /// Whether it is an ordinary token with text, which `any!` matches.
    pub has_text: bool,
}

/// The tokens that a token terminal matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenMatch {
    /// This one.
    Only(TokenId),
    /// Every ordinary token with text.
    AnyWithText,
    /// Any of these.
    OneOf(TokenSetRef),
}

impl TokenMatch {
    /// Whether the terminal matches a token.
    #[must_use]
    pub fn matches(&self, event: TokenEvent) -> bool {
        match self {
            Self::Only(id) => *id == event.id,
            Self::AnyWithText => event.has_text,
            Self::OneOf(tokens) => tokens.contains(event.id),
        }
    }
}
