//! Why a pattern is refused, and where in it.

use std::fmt;

/// The ways in which a pattern can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternErrorKind {
    /// The text is not a regular expression of ECMA-262.
    Syntax,
    /// The pattern is not regular, or uses assertions where they are not translated.
    Unsupported,
    /// The pattern takes too much work.
    TooLarge,
}

/// A refused pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternError {
    /// In which way it is refused.
    pub(crate) kind: PatternErrorKind,
    /// Where in the pattern, in bytes.
    pub(crate) offset: usize,
    /// One sentence without a full stop.
    pub(crate) message: String,
}

impl PatternError {
    pub(super) fn syntax(offset: usize, message: impl Into<String>) -> Self {
        Self { kind: PatternErrorKind::Syntax, offset, message: message.into() }
    }

    pub(super) fn unsupported(offset: usize, message: impl Into<String>) -> Self {
        Self { kind: PatternErrorKind::Unsupported, offset, message: message.into() }
    }

    pub(super) fn too_large(offset: usize) -> Self {
        let message = "the pattern takes too much work; simplify it".to_owned();
        Self { kind: PatternErrorKind::TooLarge, offset, message }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {} of the pattern)", self.message, self.offset)
    }
}

impl std::error::Error for PatternError {}
