//! Choices: the language of a list of texts, as one automaton.
//!
//! A hundred thousand texts are one terminal that shares states between equal suffixes, instead of as many
//! alternatives. Cost: sorting the texts, then linear in their total length.

use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits, Span};
use grammask_grammar::{Grammar, GrammarBuilder, Terminal, quote_bytes};

/// Number of texts that the terminal's label lists.
const MAX_TEXTS_IN_LABEL: usize = 3;

/// The grammar whose texts are exactly `texts`.
///
/// ```
/// use grammask_diagnostics::Limits;
/// use grammask_frontends::choices;
/// let grammar = choices::grammar(&["yes", "no"], &Limits::default())?;
/// assert_eq!(grammar.to_string(), "start ::= \"yes\" | \"no\";\n");
/// # Ok::<(), grammask_diagnostics::GrammarError>(())
/// ```
///
/// # Errors
/// If there are no texts, or their total length exceeds `Limits::grammar_bytes`.
pub fn grammar<T: AsRef<[u8]>>(texts: &[T], limits: &Limits) -> Result<Grammar, GrammarError> {
    if texts.is_empty() {
        let empty =
            Diagnostic::error(Code::EmptyLanguage, "there are no choices").help("give at least one text");
        return Err(empty.into());
    }
    let bytes: usize = texts.iter().map(|text| text.as_ref().len()).sum();
    if bytes > limits.grammar_bytes {
        return Err(LimitExceeded::new("grammar_bytes", limits.grammar_bytes).diagnostic().into());
    }
    let mut label: Vec<String> =
        texts.iter().take(MAX_TEXTS_IN_LABEL).map(|text| quote_bytes(text.as_ref())).collect();
    if texts.len() > MAX_TEXTS_IN_LABEL {
        label.push(format!("… {} more", texts.len() - MAX_TEXTS_IN_LABEL));
    }
    let label = label.join(" | ");
    let mut builder = GrammarBuilder::new(&label);
    let term = builder.terms().literals(texts);
    let start = builder.nonterminal("start", Span::default());
    let body = builder.terminal(Terminal::Regular(term), &label, Span::default());
    builder.define(start, body, Span::default());
    Ok(builder.finish(start))
}
