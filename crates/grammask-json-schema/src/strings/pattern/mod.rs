//! Regular expressions of ECMA-262 as languages of encoded strings.
//!
//! A pattern is parsed (`parse`, `ast`). Subexpressions without assertions become plain terms. Assertions are
//! translated from right to left, each with the language of the text that may follow it (`translate`). Repetitions that
//! contain `^`, `$`, `\b`, lookbehind, or lookahead at one character are solved as automata over left contexts (`contexts`,
//! `matrix`). At a lookbehind over more than one character, texts are split (`lookbehind`).
//!
//! Unsupported: back-references; a repeated lookahead over more than one character, except before a single character at
//! the end of the text, as in `^((?!foo).)*$`; lookbehind over more than one character in a repetition or a lookahead, and
//! after a lookahead, `\b` or `$` unless the text ends there, as in `^(?!a)b*(?<!bb)$`.

mod assertion_free;
mod ast;
mod classes;
mod contexts;
mod error;
mod grammar;
mod lookbehind;
mod matrix;
mod parse;
mod piece_sequence;
mod tempered;
mod translate;

pub(crate) use error::{PatternError, PatternErrorKind};
pub use grammar::grammar;

use crate::strings::string_encoding::StringEncoding;
use grammask_automata::{TermId, Terms};
use grammask_diagnostics::Limits;

/// The texts that contain a match of `source`.
///
/// # Errors
/// If the pattern is malformed, not regular, or over the work limit.
pub(crate) fn search(
    terms: &mut Terms,
    encoding: &mut StringEncoding,
    source: &str,
    limits: &Limits,
) -> Result<TermId, PatternError> {
    let pattern = parse(source, limits)?;
    translate::search(terms, encoding, &pattern)
}

/// The texts that `source` matches from start to end.
///
/// # Errors
/// If the pattern is malformed, not regular, or over the work limit.
pub(crate) fn full_match(
    terms: &mut Terms,
    encoding: &mut StringEncoding,
    source: &str,
    limits: &Limits,
) -> Result<TermId, PatternError> {
    let pattern = parse(source, limits)?;
    translate::full_match(terms, encoding, &pattern)
}

fn parse(source: &str, limits: &Limits) -> Result<ast::PatternAst, PatternError> {
    // A syntax tree takes up to about 1,000 times the space of its source.
    if source.len() > limits.memory_bytes / 1024 {
        return Err(PatternError::too_large(0));
    }
    parse::parse(source)
}

#[cfg(test)]
mod tests;
