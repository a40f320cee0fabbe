//! A regular expression as a grammar of the texts that it matches from start to end.

use std::sync::Arc;

use grammask_automata::leftmost_first::{FullMatchError, OrderedPattern, full_match};
use grammask_automata::regex::{DialectDifference, RegexError, RegexErrorKind, dialect_differences, term};
use grammask_automata::{TermId, Terms};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits, Span};
use grammask_grammar::{Grammar, GrammarBuilder, Terminal};

/// The grammar of the texts that `pattern` matches from start to end.
///
/// # Errors
/// If the pattern is malformed, not supported, or too large.
pub fn grammar(pattern: &str, limits: &Limits) -> Result<Grammar, GrammarError> {
    grammar_of(pattern, limits, |terms| {
        term(terms, pattern, limits).map_err(|error| pattern_error(&error, pattern))
    })
}

/// Warnings about the constructs of `pattern` that mean something else in Python's `re`.
#[must_use]
pub fn warnings(pattern: &str) -> Vec<Diagnostic> {
    let warning = |difference: DialectDifference| {
        Diagnostic::warning(Code::RegexDialect, difference.message).at(difference.span).help(difference.help)
    };
    dialect_differences(pattern).into_iter().map(warning).collect()
}

/// The grammar of the texts that a backtracking matcher matches from start to end.
///
/// # Errors
/// If the pattern is too large, or has an atomic group that is not supported.
pub fn full_match_grammar(
    pattern: &OrderedPattern,
    source: &str,
    limits: &Limits,
) -> Result<Grammar, GrammarError> {
    grammar_of(source, limits, |terms| {
        full_match(terms, pattern).map_err(|error| {
            let (code, help) = match error {
                FullMatchError::AtomicGroup(_) => {
                    (Code::UnsupportedRegex, "write it without the atomic group or possessive repetition")
                }
                _ => {
                    (Code::LimitExceeded, "simplify the pattern, or use lower counts beside its look-around")
                }
            };
            let span = Span::new(0, source.len());
            let diagnostic = Diagnostic::error(code, error.to_string()).at(span).help(help);
            GrammarError::from(diagnostic).with_source(Arc::from(source))
        })
    })
}

fn grammar_of(
    pattern: &str,
    limits: &Limits,
    term: impl FnOnce(&mut Terms) -> Result<TermId, GrammarError>,
) -> Result<Grammar, GrammarError> {
    if pattern.len() > limits.grammar_bytes {
        return Err(LimitExceeded::new("grammar_bytes", limits.grammar_bytes).diagnostic().into());
    }
    let mut builder = GrammarBuilder::new(pattern);
    let term = term(builder.terms())?;
    let start = builder.nonterminal("start", Span::default());
    let label = format!("#\"{}\"", pattern.escape_debug());
    let body = builder.terminal(Terminal::Regular(term), &label, Span::new(0, pattern.len()));
    builder.define(start, body, Span::new(0, pattern.len()));
    Ok(builder.finish(start))
}

/// The error of `pattern` as an error of a grammar whose source is the pattern.
#[must_use]
pub fn pattern_error(error: &RegexError, pattern: &str) -> GrammarError {
    let help = match error.kind() {
        RegexErrorKind::LookAround => {
            "the Rust crate `regex` has no look-around; the syntaxes \"python\" and \"ecma\" have it"
        }
        _ => error.help().unwrap_or("the syntax is that of the Rust crate `regex`"),
    };
    let diagnostic = Diagnostic::error(error.code(), error.message()).at(error.span()).help(help);
    GrammarError::from(diagnostic).with_source(Arc::from(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_points_into_the_pattern() {
        let error = grammar("a(b", &Limits::default()).unwrap_err();
        assert_eq!(error.code(), Code::InvalidRegex);
        assert!(error.to_string().contains("1 | a(b"));
    }
}
