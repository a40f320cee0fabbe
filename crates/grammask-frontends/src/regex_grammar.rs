//! A regular expression as a grammar of the texts that it matches from start to end.

use std::sync::Arc;

use grammask_automata::regex::{RegexError, term};
use grammask_diagnostics::{Diagnostic, GrammarError, LimitExceeded, Limits, Span};
use grammask_grammar::{Grammar, GrammarBuilder, Terminal};

/// The grammar of the texts that `pattern` matches from start to end.
///
/// # Errors
/// If the pattern is malformed, not supported, or too large.
pub fn grammar(pattern: &str, limits: &Limits) -> Result<Grammar, GrammarError> {
    if pattern.len() > limits.grammar_bytes {
        return Err(LimitExceeded::new("grammar_bytes", limits.grammar_bytes).diagnostic().into());
    }
    let mut builder = GrammarBuilder::new(pattern);
    let term = term(builder.terms(), pattern, limits).map_err(|error| pattern_error(&error, pattern))?;
    let start = builder.nonterminal("start", Span::default());
    let label = format!("#\"{}\"", pattern.escape_debug());
    let body = builder.terminal(Terminal::Regular(term), &label, Span::new(0, pattern.len()));
    builder.define(start, body, Span::new(0, pattern.len()));
    Ok(builder.finish(start))
}

/// The error of `pattern` as an error of a grammar whose source is the pattern.
#[must_use]
pub fn pattern_error(error: &RegexError, pattern: &str) -> GrammarError {
    let diagnostic = Diagnostic::error(error.code(), error.message())
        .at(error.span())
        .help(error.help().unwrap_or("the syntax is that of the Rust crate `regex`"));
    GrammarError::from(diagnostic).with_source(Arc::from(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;
    use grammask_diagnostics::Code;

    #[test]
    fn an_error_points_into_the_pattern() {
        let error = grammar("a(b", &Limits::default()).unwrap_err();
        assert_eq!(error.code(), Code::InvalidRegex);
        assert!(error.to_string().contains("1 | a(b"));
    }
}
