//! Errors of patterns, with their byte offsets.

use std::fmt;

/// The kinds of pattern errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternErrorKind {
    /// The source is not a regular expression of ECMA-262.
    Syntax,
    /// The pattern is not regular, or has an assertion where none is supported.
    Unsupported,
    /// The pattern is over a limit on size or work.
    TooLarge,
}

/// An error in a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternError {
    /// The kind of error.
    pub(crate) kind: PatternErrorKind,
    /// The byte offset in the pattern.
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

    pub(super) fn long_lookbehind(offset: usize) -> Self {
        let message =
            "a lookbehind over more than one character is not supported in a repetition or a lookahead";
        Self::unsupported(offset, message)
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
