//! Regular expressions: patterns in the syntax of the Rust crate `regex`, translated to terms.
//!
//! ```
//! use grammask_automata::{Automata, Terms, regex};
//! use grammask_diagnostics::Limits;
//!
//! let mut terms = Terms::new();
//! let number = regex::term(&mut terms, r"[1-9][0-9]*", &Limits::default())?;
//! let mut automata = Automata::new(terms, 100);
//! let start = automata.start(number)?.expect("the language is not empty");
//! let one = automata.step(start, b'1')?.expect("a number can begin with 1");
//! assert!(automata.is_accepting(one));
//! assert_eq!(automata.step(start, b'0')?, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Patterns become terms, not automata, so `\w{1,30}` and `[a-z]{0,4096}` have no cost in states until they run.
//! Greedy and lazy repetition and capture groups do not affect the language and are ignored. Assertions (`^`, `$`,
//! `\b`) are exact too: they restrict the texts next to them (`assertions`). Unicode is on, as in the `regex` crate;
//! `(?-u:\xff)` matches a raw byte. Look-around and back-references are errors.

mod assertions;
mod dialect;
mod error;
mod neighbours;
mod translate;

pub use dialect::{DialectDifference, dialect_differences};
pub use error::{RegexError, RegexErrorKind};

use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Hir, Look};

use crate::{TermId, Terms};
use grammask_diagnostics::{Limits, Span};

/// Maximum nesting depth of a pattern, as in the `regex` crate. It also bounds the call stack of `regex-syntax` and
/// of the translation of assertions, which recurse on patterns.
const NEST_LIMIT: u32 = 250;

/// Estimated memory of the parser per byte of the pattern, in bytes.
const PARSER_BYTES_PER_PATTERN_BYTE: usize = 256;

/// Estimated memory of the parser per Unicode class such as `\w`, in bytes.
const PARSER_BYTES_PER_CLASS: usize = 8192;

/// The language of the byte strings that `pattern` matches as a whole.
///
/// # Errors
/// If the pattern is not a regular expression, is not supported, or needs too much memory.
pub fn term(terms: &mut Terms, pattern: &str, limits: &Limits) -> Result<TermId, RegexError> {
    let hir = parse(pattern, limits)?;
    assertions::matching(terms, &hir, limits).ok_or_else(|| too_large(pattern, limits))
}

/// The language of the nonempty UTF-8 strings in which `pattern` has no match. Assertions apply to the whole string: a
/// string without a match of `^a` does not begin with `a`. A pattern that matches the empty string matches in every
/// string, so the language is empty.
///
/// # Errors
/// If the pattern is not a regular expression, is not supported, or needs too much memory.
pub fn search_term(terms: &mut Terms, pattern: &str, limits: &Limits) -> Result<TermId, RegexError> {
    let hir = parse(pattern, limits)?;
    let containing = assertions::containing(terms, &hir, limits).ok_or_else(|| too_large(pattern, limits))?;
    Ok(terms.texts_outside(containing))
}

fn parse(pattern: &str, limits: &Limits) -> Result<Hir, RegexError> {
    let classes = pattern.as_bytes().windows(2).filter(|pair| is_class_escape(pair)).count();
    if pattern.len() * PARSER_BYTES_PER_PATTERN_BYTE + classes * PARSER_BYTES_PER_CLASS > limits.memory_bytes
    {
        return Err(too_large(pattern, limits));
    }
    let ast = ParserBuilder::new()
        .nest_limit(NEST_LIMIT)
        .build()
        .parse(pattern)
        .map_err(|error| RegexError::from_syntax(&error))?;
    let hir = TranslatorBuilder::new()
        .utf8(false)
        .build()
        .translate(pattern, &ast)
        .map_err(|error| RegexError::from_translation(&error))?;
    if hir.properties().look_set().contains_word_unicode() && can_match_inside_characters(&hir) {
        let message =
            "a Unicode word boundary is not supported in a pattern that can match parts of characters";
        return Err(RegexError::new(RegexErrorKind::Unsupported, message, Span::new(0, pattern.len()))
            .with_help("use ASCII word boundaries, for example (?-u:\\b), or no flag `-u`"));
    }
    Ok(hir)
}

/// Whether a match can begin or end inside of a character, other than an empty match of a pattern without assertions.
fn can_match_inside_characters(hir: &Hir) -> bool {
    let looks = hir.properties().look_set();
    let holds_between_bytes = [Look::WordAsciiNegate, Look::WordStartHalfAscii, Look::WordEndHalfAscii];
    !hir.properties().is_utf8() || holds_between_bytes.into_iter().any(|look| looks.contains(look))
}

/// Whether a backslash and a letter may be a class with many ranges.
fn is_class_escape(pair: &[u8]) -> bool {
    pair[0] == b'\\' && b"wWdDsSpP".contains(&pair[1])
}

fn too_large(pattern: &str, limits: &Limits) -> RegexError {
    let message =
        format!("the pattern needs more than its part of the memory limit ({} bytes)", limits.memory_bytes);
    RegexError::new(RegexErrorKind::TooLarge, message, Span::new(0, pattern.len()))
        .with_help("simplify the pattern, or repeat its assertions fewer times")
}
