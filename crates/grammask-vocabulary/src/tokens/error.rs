//! Errors of the constructor of a vocabulary.

use std::fmt;

use crate::Vocabulary;

/// An invalid argument of [`Vocabulary::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VocabularyError {
    /// The list of tokens is empty.
    NoTokens,
    /// The requested size is below the number of tokens.
    SizeTooSmall {
        /// The requested size.
        size: usize,
        /// Number of tokens given.
        tokens: usize,
    },
    /// More ids than [`Vocabulary::MAX_SIZE`].
    TooManyTokens {
        /// Number of ids, padding included.
        size: usize,
    },
    /// More than [`Vocabulary::MAX_TEXT_BYTES`] in all tokens.
    TooMuchText {
        /// Bytes of all tokens.
        bytes: usize,
    },
    /// A token longer than [`Vocabulary::MAX_TOKEN_BYTES`].
    TokenTooLong {
        /// The token.
        id: usize,
        /// Its length.
        bytes: usize,
    },
    /// A special token with an id outside the vocabulary.
    SpecialOutOfRange {
        /// Its name.
        name: String,
        /// Its id.
        id: u32,
        /// Size of the vocabulary.
        size: usize,
    },
    /// Two special tokens of one name.
    AmbiguousName {
        /// The name.
        name: String,
        /// One of the ids.
        first: u32,
        /// The other.
        second: u32,
    },
    /// An end token with an id outside the vocabulary.
    EosOutOfRange {
        /// Its id.
        id: u32,
        /// Size of the vocabulary.
        size: usize,
    },
}

impl VocabularyError {
    /// The stable identifier that programs match on.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoTokens => "no-tokens",
            Self::SizeTooSmall { .. } => "size-too-small",
            Self::TooManyTokens { .. } => "too-many-tokens",
            Self::TooMuchText { .. } => "too-much-text",
            Self::TokenTooLong { .. } => "token-too-long",
            Self::SpecialOutOfRange { .. } => "special-out-of-range",
            Self::AmbiguousName { .. } => "ambiguous-name",
            Self::EosOutOfRange { .. } => "eos-out-of-range",
        }
    }
}

impl fmt::Display for VocabularyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTokens => f.write_str(
                "a vocabulary needs at least one token; pass the bytes of each id, in the order of ids",
            ),
            Self::SizeTooSmall { size, tokens } => write!(
                f,
                "the size {size} has no room for {tokens} tokens; pass the width of the model's logits as the size, \
                 or no size to have none beyond the tokens"
            ),
            Self::TooManyTokens { size } => {
                write!(
                    f,
                    "{size} ids are more than the {} that a vocabulary can have; check the size",
                    Vocabulary::MAX_SIZE
                )
            }
            Self::TooMuchText { bytes } => write!(
                f,
                "all tokens together have {bytes} bytes, more than the {} that a vocabulary can have; check that each \
                 entry is one token",
                Vocabulary::MAX_TEXT_BYTES
            ),
            Self::TokenTooLong { id, bytes } => write!(
                f,
                "token {id} has {bytes} bytes, more than the {} that a token can have; check that each entry is one \
                 token, or leave this one without text",
                Vocabulary::MAX_TOKEN_BYTES
            ),
            Self::SpecialOutOfRange { name, id, size } => write!(
                f,
                "the special token {name:?} has the id {id}, and the vocabulary ends at {}; pass a size above {id}, or \
                 drop the special token",
                size - 1
            ),
            Self::AmbiguousName { name, first, second } => write!(
                f,
                "the special token name {name:?} stands for the ids {first} and {second}; give each its own name"
            ),
            Self::EosOutOfRange { id, size } => write!(
                f,
                "the end token {id} is not in the vocabulary, which ends at {}; pass a size above {id}, or the end \
                 tokens of this model's own tokenizer",
                size - 1
            ),
        }
    }
}

impl std::error::Error for VocabularyError {}
