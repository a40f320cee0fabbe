//! The GBNF front end: grammars of llama.cpp, and of XGrammar, whose EBNF derives from the same notation.
//!
//! The scanner produces tokens, with escapes decoded and character classes as sets of code points. The parser builds
//! the [`Grammar`] directly, because the notation maps onto it one to one; only names are checked afterwards, when all
//! rules are defined. The dialects differ as [`Dialect`] describes, and nowhere else.
//!
//! Nothing recurses: open brackets are an explicit stack. One run reports up to a hundred independent errors: the
//! scanner recovers within a token, and the parser resumes at the next rule. Cost: linear in the length of the source.
//!
//! `docs/gbnf.md` describes the languages and the differences from their own parsers.

mod calls;
mod escape;
mod expressions;
mod options;
mod parse;
mod scan;

use std::sync::Arc;

pub use expressions::{NoBreakSpace, rust_expression};
use grammask_grammar::directives::{Directive, DirectiveMode};

use grammask_diagnostics::{Diagnostic, GrammarError, LimitExceeded, Limits, without_byte_order_mark};
use grammask_grammar::Grammar;

/// The notation of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// llama.cpp: a rule ends with its line, unless a bracket is open or a bar is last; `.`, and tokens by name or id.
    LlamaCpp,
    /// XGrammar's EBNF: a rule ends where another begins at the start of a line; more escapes, options of rules, and
    /// calls such as `TagDispatch(...)`.
    XGrammar,
}

/// The grammar with source `text` and start symbol `start`, and its warnings.
///
/// ```
/// use grammask_diagnostics::Limits;
/// use grammask_frontends::gbnf;
/// use grammask_frontends::gbnf::Dialect;
/// let text = "root ::= \"a\" root | [0-9]+ # ends with a number\n";
/// let (grammar, _) = gbnf::grammar(text, "root", Dialect::LlamaCpp, &Limits::default())?;
/// assert_eq!(grammar.to_string(), "root ::= \"a\" root | [0-9]+;\n");
/// # Ok::<(), grammask_diagnostics::GrammarError>(())
/// ```
///
/// # Errors
/// All errors of the source, in source order.
pub fn grammar(
    text: &str,
    start: &str,
    dialect: Dialect,
    limits: &Limits,
) -> Result<(Grammar, Vec<Diagnostic>), GrammarError> {
    let (grammar, _, warnings) = read(DirectiveMode::Refused, text, start, dialect, limits)?;
    Ok((grammar, warnings))
}

/// Like [`grammar`], for a grammar with a lexer in llama.cpp's notation: also returns its
/// [directives](grammask_grammar::directives).
///
/// # Errors
/// All errors of the source, in source order.
pub fn grammar_with_directives(
    text: &str,
    start: &str,
    limits: &Limits,
) -> Result<(Grammar, Vec<Directive>, Vec<Diagnostic>), GrammarError> {
    read(DirectiveMode::Read, text, start, Dialect::LlamaCpp, limits)
}

fn read(
    mode: DirectiveMode,
    text: &str,
    start: &str,
    dialect: Dialect,
    limits: &Limits,
) -> Result<(Grammar, Vec<Directive>, Vec<Diagnostic>), GrammarError> {
    if text.len() > limits.grammar_bytes {
        return Err(LimitExceeded::new("grammar_bytes", limits.grammar_bytes).diagnostic().into());
    }
    let text = without_byte_order_mark(text);
    parse::parse(text, start, dialect, mode, limits)
        .map_err(|diagnostics| GrammarError::new(diagnostics, Arc::from(text)))
}

#[cfg(test)]
mod tests;
