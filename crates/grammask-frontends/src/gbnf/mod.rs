//! The GBNF front end: grammars of llama.cpp, and of XGrammar, whose EBNF grew out of the same notation.
//!
//! The scanner makes tokens, with escapes decoded and character classes as sets of code points; the parser builds the
//! [`Grammar`] from them as it goes, because the notation maps onto it one to one. Only names need a second look, when
//! all rules are known. Both dialects share everything but what [`Dialect`] says.
//!
//! There is no recursion: open brackets are an explicit stack. One run reports every error it can tell apart, up to a
//! hundred: within a token the scanner repairs and goes on, and the parser goes on at the next rule. Cost: linear in
//! the text.
//!
//! The languages, and where this front end differs from their own readers, are described in `docs/gbnf.md`.

mod calls;
mod escape;
mod expressions;
mod options;
mod parse;
mod regular;
mod scan;

use std::sync::Arc;

pub use expressions::{NoBreakSpace, rust_expression};
use grammask_grammar::directives::{Directive, DirectiveMode};

use grammask_diagnostics::{Diagnostic, GrammarError, LimitExceeded, Limits};
use grammask_grammar::Grammar;

/// Whose notation a text is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// llama.cpp's: a rule ends with its line, unless a bracket is open or a bar is last; `.`, and tokens by name or id.
    LlamaCpp,
    /// XGrammar's EBNF: a rule ends where another begins at the start of a line; more escapes, options of rules,
    /// and calls such as `TagDispatch(...)`.
    XGrammar,
}

/// The grammar that `text` writes, with start symbol `start`, and the warnings about it.
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
/// All errors of the text at once, in its order.
pub fn grammar(
    text: &str,
    start: &str,
    dialect: Dialect,
    limits: &Limits,
) -> Result<(Grammar, Vec<Diagnostic>), GrammarError> {
    let (grammar, _, warnings) = read(DirectiveMode::Refused, text, start, dialect, limits)?;
    Ok((grammar, warnings))
}

/// The same for a grammar of llama.cpp's notation with a lexer: with what its [directives](super::directives) say.
///
/// # Errors
/// All errors of the text at once, in its order.
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
    parse::parse(text, start, dialect, mode, limits)
        .map_err(|diagnostics| GrammarError::new(diagnostics, Arc::from(text)))
}

#[cfg(test)]
mod tests;
