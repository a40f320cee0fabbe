//! Tokens in grammars: the events of a text, and the matches of token terminals.

use grammask_vocabulary::{TokenId, TokenSetRef};

/// One token of a text, as token terminals read it.
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
    /// One token.
    Only(TokenId),
    /// Every ordinary token with text.
    AnyWithText,
    /// Any token of a set.
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
