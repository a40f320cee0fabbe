//! Regular expressions of ECMA-262 as languages of spellings.
//!
//! A pattern is parsed (`parse`, `ast`), its parts without assertions become plain terms, and assertions are
//! translated from the right: what may stand behind a part is known as a language before the part is (`translate`).
//! Loops around `^`, `$`, `\b` and lookbehind are solved as automata over contexts (`contexts`, `matrix`).
//!
//! Refused are back-references, loops around a lookahead except in front of one character and at the end of the
//! text, as in `^((?!foo).)*$`, and lookbehind over more than one character.

mod ast;
mod classes;
mod contexts;
mod error;
mod grammar;
mod matrix;
mod parse;
mod translate;

pub(crate) use error::{PatternError, PatternErrorKind};
pub use grammar::grammar;

use crate::strings::string_encoding::Spelling;
use grammask_automata::{TermId, Terms};
use grammask_diagnostics::Limits;

/// The texts in which `source` matches somewhere.
///
/// # Errors
/// If the pattern is no pattern, is not regular, or takes too much work.
pub(crate) fn pattern(
    terms: &mut Terms,
    spelling: &mut Spelling,
    source: &str,
    limits: &Limits,
) -> Result<TermId, PatternError> {
    let pattern = parse(source, limits)?;
    translate::searched(terms, spelling, &pattern)
}

/// The texts that `source` matches as a whole.
///
/// # Errors
/// If the pattern is no pattern, is not regular, or takes too much work.
pub(crate) fn full(
    terms: &mut Terms,
    spelling: &mut Spelling,
    source: &str,
    limits: &Limits,
) -> Result<TermId, PatternError> {
    let pattern = parse(source, limits)?;
    translate::matched(terms, spelling, &pattern)
}

fn parse(source: &str, limits: &Limits) -> Result<ast::Pattern, PatternError> {
    // A syntax tree takes some hundred times the space of its text.
    if source.len() > limits.memory_bytes / 1024 {
        return Err(PatternError::too_large(0));
    }
    parse::parse(source)
}

#[cfg(test)]
mod tests;
