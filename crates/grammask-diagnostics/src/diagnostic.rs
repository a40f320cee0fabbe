//! Errors and warnings about a grammar: stable code, location, found, expected, and help.
//!
//! Every problem of an input becomes a [`Diagnostic`]; a failed operation returns all of them in a [`GrammarError`].
//! Codes are stable, so programs may match on them. Messages may change.

use std::fmt;
use std::sync::Arc;

use super::limits::LimitExceeded;
use super::span::{Position, Span};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $kind:ident;)*) => {
        /// The kind of a problem, as a stable identifier.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The identifier that programs match on, for example `undefined-symbol`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// The class of errors that the code belongs to.
            #[must_use]
            pub fn kind(self) -> ErrorKind {
                match self { $(Code::$name => ErrorKind::$kind,)* }
            }
        }
    };
}

/// The classes of errors. Each is an exception type in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The input is not a grammar.
    Syntax,
    /// The input is a grammar without a useful meaning: undefined symbols, an empty language.
    Semantic,
    /// A construct that cannot be enforced exactly.
    Unsupported,
    /// A configured limit was exceeded.
    Limit,
    /// No token of the vocabulary can continue a text that the grammar requires to continue.
    DeadEnd,
    /// A token budget within which the text cannot be finished.
    Budget,
}

codes! {
    /// The input has a token other than the expected ones.
    UnexpectedInput = "unexpected-input", Syntax;
    /// The input is not UTF-8.
    InvalidUtf8 = "invalid-utf8", Syntax;
    /// A string has no closing quote.
    UnterminatedString = "unterminated-string", Syntax;
    /// A comment is not closed.
    UnterminatedComment = "unterminated-comment", Syntax;
    /// A bracket has no matching bracket.
    UnclosedBracket = "unclosed-bracket", Syntax;
    /// An unknown escape sequence.
    InvalidEscape = "invalid-escape", Syntax;
    /// Warning: an escape sequence that is valid but probably not intended.
    SuspiciousEscape = "suspicious-escape", Syntax;
    /// Warning: a construct of a regular expression that means something else in Python's `re`.
    RegexDialect = "regex-dialect", Syntax;
    /// A regular expression has a syntax error.
    InvalidRegex = "invalid-regex", Syntax;
    /// `{m,n}` with m > n, or a bound that is too large.
    InvalidRepetition = "invalid-repetition", Syntax;
    /// `<[...]>` does not contain a token id.
    InvalidTokenReference = "invalid-token-reference", Syntax;
    /// A symbol is used but not defined.
    UndefinedSymbol = "undefined-symbol", Semantic;
    /// A rule has two definitions in a notation that permits one.
    DuplicateRule = "duplicate-rule", Semantic;
    /// The start symbol is not defined.
    MissingStart = "missing-start", Semantic;
    /// The argument of `except!` is not an alternation of nonempty strings.
    InvalidException = "invalid-exception", Semantic;
    /// A name is used where no scope binds it.
    InvalidBinding = "invalid-binding", Semantic;
    /// No text matches the grammar.
    EmptyLanguage = "empty-language", Semantic;
    /// Only the empty text matches the grammar, and the empty text cannot be generated.
    OnlyEmptyText = "only-empty-text", Semantic;
    /// The start symbol derives infinite texts only, and finite texts were requested.
    NeverEnds = "never-ends", Semantic;
    /// Texts end with an end token, and the vocabulary has none.
    MissingEndToken = "missing-end-token", Semantic;
    /// A token reference to a token that the vocabulary does not have.
    UnknownToken = "unknown-token", Semantic;
    /// A terminal cannot end within its maximum number of tokens.
    TokenMaximumTooSmall = "token-maximum-too-small", Semantic;
    /// A terminal of a lexed grammar matches the empty text.
    EmptyTerminal = "empty-terminal", Semantic;
    /// A conflict between two actions of a parser.
    GrammarConflict = "grammar-conflict", Unsupported;
    /// Two terminals of a lexed grammar follow each other in the rules, but in no text.
    InseparableTerminals = "inseparable-terminals", Unsupported;
    /// A construct of a lexed grammar that cannot be enforced exactly.
    UnsupportedGrammar = "unsupported-grammar", Unsupported;
    /// A regular expression has a construct that is not regular or not supported.
    UnsupportedRegex = "unsupported-regex", Unsupported;
    /// The input is not JSON.
    InvalidJson = "invalid-json", Syntax;
    /// A keyword of a schema has a value that its standard does not allow.
    InvalidSchema = "invalid-schema", Syntax;
    /// A reference of a schema has no target.
    UnresolvedReference = "unresolved-reference", Semantic;
    /// No value satisfies a schema.
    UnsatisfiableSchema = "unsatisfiable-schema", Semantic;
    /// A keyword of a schema that cannot be enforced exactly.
    UnsupportedSchema = "unsupported-schema", Unsupported;
    /// Warning: a keyword of a schema or an option of a rule has no effect on the language.
    IgnoredAnnotation = "ignored-annotation", Semantic;
    /// A limit of [`Limits`](crate::Limits) was exceeded.
    LimitExceeded = "limit-exceeded", Limit;
    /// No token of the vocabulary can continue an incomplete text.
    DeadEnd = "dead-end", DeadEnd;
    /// A token budget is smaller than the number of tokens that finish the text.
    BudgetTooSmall = "budget-too-small", Budget;
    /// A token budget, or a completion, for a text of which no completion is known.
    NoCompletion = "no-completion", Semantic;
    /// The data is not a saved grammar, or damaged.
    InvalidSavedGrammar = "invalid-saved-grammar", Syntax;
    /// A saved grammar was compiled for another vocabulary.
    OtherVocabulary = "other-vocabulary", Semantic;
    /// Warning: a rule is not reachable from the start symbol.
    UnusedRule = "unused-rule", Semantic;
    /// Warning: a rule derives no text, so alternatives that need it are never entered.
    DeadRule = "dead-rule", Semantic;
    /// Warning: a rule derives infinite texts only.
    EndlessRule = "endless-rule", Semantic;
    /// Warning: a rule derives itself by unit rules only.
    UnitCycle = "unit-cycle", Semantic;
}

/// Whether a diagnostic stops the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The operation fails.
    Error,
    /// The operation continues.
    Warning,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable identifier.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// Span in the source text, if there is one.
    pub span: Option<Span>,
    /// Location in a JSON document: a JSON pointer (RFC 6901) as a URI fragment, for example `#/properties/a`.
    pub pointer: Option<String>,
    /// One sentence without a full stop.
    pub message: String,
    /// The input at the location.
    pub found: Option<String>,
    /// The alternatives that would be valid at the location.
    pub expected: Vec<String>,
    /// A suggestion for a correction.
    pub help: Option<String>,
    /// The limit that was exceeded, if that is the error.
    pub limit: Option<LimitExceeded>,
}

impl Diagnostic {
    /// An error without a location.
    #[must_use]
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            span: None,
            pointer: None,
            message: message.into(),
            found: None,
            expected: Vec::new(),
            help: None,
            limit: None,
        }
    }

    /// A warning without a location.
    #[must_use]
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Sets the span.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Sets the JSON pointer.
    #[must_use]
    pub fn at_pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    /// Sets the input at the location.
    #[must_use]
    pub fn found(mut self, found: impl Into<String>) -> Self {
        self.found = Some(found.into());
        self
    }

    /// Sets the valid alternatives.
    #[must_use]
    pub fn expected<S: Into<String>>(mut self, expected: impl IntoIterator<Item = S>) -> Self {
        self.expected = expected.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the suggestion.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Renders the diagnostic for display, with an excerpt of `source` and carets if it has a span.
    #[must_use]
    pub fn render(&self, source: &str) -> String {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut text = format!("{severity}[{}]: {}", self.code.as_str(), self.message);
        if let Some(pointer) = &self.pointer {
            text.push_str(&format!("\n  at {pointer}"));
        }
        if let Some(span) = self.span {
            text.push('\n');
            text.push_str(&excerpt(source, span));
        }
        if let Some(found) = &self.found {
            text.push_str(&format!("\n  found: {found}"));
        }
        if !self.expected.is_empty() {
            text.push_str(&format!("\n  expected: {}", self.expected.join(", ")));
        }
        if let Some(help) = &self.help {
            text.push_str(&format!("\n  help: {help}"));
        }
        text
    }
}

/// Maximum width of an excerpt, in characters.
const EXCERPT_WIDTH: usize = 100;

/// The line in which `span` starts, cut to [`EXCERPT_WIDTH`], with carets under the span.
fn excerpt(source: &str, span: Span) -> String {
    let position = Position::of(source, span.start);
    let mut start = span.start.min(source.len());
    while !source.is_char_boundary(start) {
        start -= 1;
    }
    let line_start = source[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = source[start..].find('\n').map_or(source.len(), |newline| start + newline);
    let line: Vec<char> = source[line_start..line_end].trim_end_matches('\r').chars().collect();
    let column = position.column - 1;
    let first = column.saturating_sub(EXCERPT_WIDTH / 2);
    let shown: String = line
        .iter()
        .skip(first)
        .take(EXCERPT_WIDTH)
        .map(|&c| if c == '\t' || c.is_control() { ' ' } else { c })
        .collect();
    let mut end = span.end.min(line_end).max(start);
    while !source.is_char_boundary(end) {
        end -= 1;
    }
    let width = source[start..end].chars().count().clamp(1, EXCERPT_WIDTH);
    let number = position.line.to_string();
    let gutter = " ".repeat(number.len());
    let cut = if first > 0 { "…" } else { "" };
    let shift = " ".repeat(column - first + cut.chars().count());
    format!(
        "  {gutter}--> line {}, column {}\n  {number} | {cut}{shown}\n  {gutter} | {shift}{}",
        position.line,
        position.column,
        "^".repeat(width)
    )
}

/// All diagnostics of a failed operation on a grammar, with the source text that their spans refer to.
#[derive(Clone, Debug)]
pub struct GrammarError {
    details: Box<ErrorDetails>,
}

#[derive(Clone, Debug)]
struct ErrorDetails {
    diagnostics: Vec<Diagnostic>,
    source: Arc<str>,
}

impl GrammarError {
    /// An error with `diagnostics`, at least one of which is an error, about `source`.
    #[must_use]
    pub fn new(diagnostics: Vec<Diagnostic>, source: Arc<str>) -> Self {
        debug_assert!(diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error));
        Self { details: Box::new(ErrorDetails { diagnostics, source }) }
    }

    /// All errors and warnings, in source order.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.details.diagnostics
    }

    /// The source text that the spans refer to; empty if there is none.
    #[must_use]
    pub fn source_text(&self) -> &str {
        &self.details.source
    }

    /// The first error.
    #[must_use]
    pub fn first(&self) -> &Diagnostic {
        self.details
            .diagnostics
            .iter()
            .find(|diagnostic| diagnostic.severity == Severity::Error)
            .unwrap_or(&self.details.diagnostics[0])
    }

    /// The code of the first error.
    #[must_use]
    pub fn code(&self) -> Code {
        self.first().code
    }

    /// The class of the first error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.code().kind()
    }

    /// Line and column of the first error, if it has a span.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.first().span.map(|span| Position::of(&self.details.source, span.start))
    }

    /// Replaces the source text, for errors that are made without access to it.
    #[must_use]
    pub fn with_source(mut self, source: Arc<str>) -> Self {
        self.details.source = source;
        self
    }
}

impl From<Diagnostic> for GrammarError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::new(vec![diagnostic], Arc::from(""))
    }
}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.details.diagnostics.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            f.write_str(&diagnostic.render(&self.details.source))?;
        }
        Ok(())
    }
}

impl std::error::Error for GrammarError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_a_caret_excerpt() {
        let source = "start ::= A;\nB ::= 你 oops;\n";
        let at = source.find("oops").unwrap();
        let diagnostic = Diagnostic::error(Code::UndefinedSymbol, "the symbol `oops` is not defined")
            .at(Span::new(at, at + 4))
            .found("`oops`")
            .help("define it");
        assert_eq!(
            diagnostic.render(source),
            "error[undefined-symbol]: the symbol `oops` is not defined\n   --> line 2, column 9\n  2 | B ::= 你 oops;\n    \
             |         ^^^^\n  found: `oops`\n  help: define it"
        );
    }

    #[test]
    fn renders_any_span_without_panicking() {
        let source = "é\n你好\t\r\n";
        for start in 0..=source.len() + 2 {
            for end in start..=source.len() + 2 {
                let _ =
                    Diagnostic::error(Code::UnexpectedInput, "x").at(Span::new(start, end)).render(source);
            }
        }
    }

    #[test]
    fn codes_are_distinct() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
