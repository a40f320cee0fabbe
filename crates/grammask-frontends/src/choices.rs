//! Choices: the language of a list of texts, as one automaton.
//!
//! A hundred thousand texts are one terminal whose states are shared by equal ends, not as many alternatives of a rule.
//! Cost: sorting the texts, then linear in them.

use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits, Span};
use grammask_grammar::{Grammar, GrammarBuilder, Terminal, quote_bytes};

/// How many texts the label of the terminal names.
const NAMED: usize = 3;

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
/// If there are no texts, or too many bytes of them.
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
    let mut label: Vec<String> = texts.iter().take(NAMED).map(|text| quote_bytes(text.as_ref())).collect();
    if texts.len() > NAMED {
        label.push(format!("… {} more", texts.len() - NAMED));
    }
    let label = label.join(" | ");
    let mut builder = GrammarBuilder::new(&label);
    let term = builder.terms().literals(texts);
    let start = builder.nonterminal("start", Span::default());
    let body = builder.terminal(Terminal::Regular(term), &label, Span::default());
    builder.define(start, body, Span::default());
    Ok(builder.finish(start))
}
