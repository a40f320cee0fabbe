//! A regular expression of ECMA-262 as a grammar of plain text instead of JSON strings.

use std::sync::Arc;

use super::{PatternError, PatternErrorKind, full_match};
use crate::strings::string_encoding::{EncodingKind, StringEncoding};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits, Span};
use grammask_grammar::{Grammar, GrammarBuilder, Terminal};

/// The grammar of the texts that `pattern`, a regular expression of ECMA-262 with the flag `u`, matches from start to
/// end.
///
/// ```
/// use grammask_diagnostics::Limits;
/// use grammask_json_schema::pattern_grammar;
///
/// let grammar = pattern_grammar(r"(?=.*\d)[a-z\d]{2}", &Limits::default())?;
/// assert_eq!(grammar.nonterminals().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the pattern is malformed, not regular, over the work limit, or matches no text.
pub fn grammar(pattern: &str, limits: &Limits) -> Result<Grammar, GrammarError> {
    if pattern.len() > limits.grammar_bytes {
        return Err(LimitExceeded::new("grammar_bytes", limits.grammar_bytes).diagnostic().into());
    }
    let mut builder = GrammarBuilder::new(pattern);
    let mut encoding = StringEncoding::within(EncodingKind::Plain);
    let term = full_match(builder.terms(), &mut encoding, pattern, limits)
        .map_err(|error| pattern_diagnostic(error, pattern))?;
    let whole = Span::new(0, pattern.len());
    let start = builder.nonterminal("start", Span::default());
    let label = format!("#\"{}\"", pattern.escape_debug());
    let body = builder.terminal(Terminal::Regular(term), &label, whole);
    builder.define(start, body, whole);
    Ok(builder.finish(start))
}

fn pattern_diagnostic(error: PatternError, pattern: &str) -> GrammarError {
    let (code, help) = match error.kind {
        PatternErrorKind::Syntax => (Code::InvalidRegex, "the syntax is that of ECMA-262 with the flag `u`"),
        PatternErrorKind::Unsupported => (
            Code::UnsupportedRegex,
            "rewrite it without back-references and without lookaround in repetitions",
        ),
        PatternErrorKind::TooLarge => {
            (Code::LimitExceeded, "split the pattern, or lower the counts of nested repetitions")
        }
    };
    let at = error.offset.min(pattern.len());
    let diagnostic = Diagnostic::error(code, error.message).at(Span::new(at, at)).help(help);
    GrammarError::from(diagnostic).with_source(Arc::from(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;
    use grammask_automata::Automata;

    fn matches(pattern: &str, text: &str) -> bool {
        let grammar = grammar(pattern, &Limits::default()).unwrap();
        let Terminal::Regular(term) = grammar.terminals()[0].terminal else { panic!("it is regular") };
        let mut automata = Automata::new(grammar.terms().clone(), 10_000);
        let mut state = automata.start(term).unwrap();
        for byte in text.bytes() {
            state = state.and_then(|state| automata.step(state, byte).unwrap());
        }
        state.is_some_and(|state| automata.is_accepting(state))
    }

    #[test]
    fn texts_are_plain() {
        for (pattern, text, expected) in [
            (r#"\w+ "\\""#, r#"ab "\""#, true),
            (r"[^]", "\n", true),
            (".", "\n", false),
            (".", "\u{0}", true),
            ("[\\0-\\u{10ffff}]{2}", "é\u{10ffff}", true),
            ("(?!ab)[a-c]{2}", "ab", false),
            ("(?!ab)[a-c]{2}", "ac", true),
            ("^a|b$", "b", true),
            ("a", "ba", false),
            (r"\u{1f600}|/", "/", true),
            (r"\u{1f600}|/", "\\/", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text:?}");
        }
    }

    #[test]
    fn errors_have_codes() {
        for (pattern, code) in [("a(b", Code::InvalidRegex), (r"(a)\1", Code::UnsupportedRegex)] {
            assert_eq!(grammar(pattern, &Limits::default()).unwrap_err().code(), code);
        }
    }
}
