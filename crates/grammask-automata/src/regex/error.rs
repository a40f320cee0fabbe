//! Errors of patterns: kind, span, and a suggestion.

use std::fmt;

use regex_syntax::{ast, hir};

use grammask_diagnostics::{Code, Span};

/// The kind of an error of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RegexErrorKind {
    /// The pattern is not a regular expression.
    Invalid,
    /// The pattern uses a construct that is not supported or not regular.
    Unsupported,
    /// The pattern uses look-around.
    LookAround,
    /// The pattern exceeds the memory limit or the nesting limit.
    TooLarge,
}

/// An error of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexError {
    kind: RegexErrorKind,
    message: String,
    span: Span,
    help: Option<String>,
}

impl RegexError {
    pub(super) fn new(kind: RegexErrorKind, message: impl Into<String>, span: Span) -> Self {
        Self { kind, message: message.into(), span, help: None }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(super) fn from_syntax(error: &ast::Error) -> Self {
        let mut span = span_of(error.span());
        let (kind, help) = match error.kind() {
            ast::ErrorKind::UnsupportedLookAround => (
                RegexErrorKind::LookAround,
                Some("look-around is not available; say what must match, or combine whole languages"),
            ),
            ast::ErrorKind::UnsupportedBackreference => (
                RegexErrorKind::Unsupported,
                Some("a back-reference is not regular; write the alternatives out (a zero byte is \\x00)"),
            ),
            ast::ErrorKind::NestLimitExceeded(_) => {
                // The deep part can be most of the pattern, so only its start is reported.
                span.end = span.start;
                (RegexErrorKind::TooLarge, Some("nest fewer groups"))
            }
            ast::ErrorKind::RepetitionMissing => {
                (RegexErrorKind::Invalid, Some("escape the operator with a backslash to match it as text"))
            }
            ast::ErrorKind::RepetitionCountUnclosed => {
                (RegexErrorKind::Invalid, Some("write \\{ to match a brace as text"))
            }
            ast::ErrorKind::RepetitionCountDecimalEmpty => (
                RegexErrorKind::Invalid,
                Some("write {0,n} for at most n copies, or \\{ to match a brace as text"),
            ),
            ast::ErrorKind::GroupUnopened | ast::ErrorKind::GroupUnclosed => {
                (RegexErrorKind::Invalid, Some("write \\( or \\) to match a parenthesis as text"))
            }
            ast::ErrorKind::ClassUnclosed => {
                (RegexErrorKind::Invalid, Some("write \\[ to match a bracket as text"))
            }
            _ => (RegexErrorKind::Invalid, None),
        };
        Self { kind, message: error.kind().to_string(), span, help: help.map(str::to_owned) }
    }

    pub(super) fn from_translation(error: &hir::Error) -> Self {
        Self::new(RegexErrorKind::Invalid, error.kind().to_string(), span_of(error.span()))
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> RegexErrorKind {
        self.kind
    }

    /// The code of the corresponding diagnostic.
    #[must_use]
    pub fn code(&self) -> Code {
        match self.kind {
            RegexErrorKind::Invalid => Code::InvalidRegex,
            RegexErrorKind::Unsupported | RegexErrorKind::LookAround => Code::UnsupportedRegex,
            RegexErrorKind::TooLarge => Code::LimitExceeded,
        }
    }

    /// The message: one sentence without a full stop.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The span in the pattern, in bytes.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// A suggestion for a correction.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at bytes {}..{}", self.message, self.span.start, self.span.end)
    }
}

impl std::error::Error for RegexError {}

pub(super) fn span_of(span: &ast::Span) -> Span {
    Span::new(span.start.offset, span.end.offset)
}
