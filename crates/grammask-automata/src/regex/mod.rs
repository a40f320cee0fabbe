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
//! `(?-u:\b)`) are exact too: those at the ends of a pattern become part of the language, and a pattern with other
//! assertions is determinised within the memory limit. Unicode is on, as in the `regex` crate; `(?-u:\xff)` matches a
//! raw byte. Unicode word boundaries, look-around and back-references are errors.

mod assertions;
mod error;
mod translate;

pub use error::{RegexError, RegexErrorKind};

use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::Hir;
use regex_syntax::hir::translate::TranslatorBuilder;

use crate::{TermId, Terms};
use grammask_diagnostics::{Limits, Span};

/// Maximum nesting depth of a pattern, as in the `regex` crate. It also bounds the call stack of `regex-syntax` and
/// `regex-automata`, which recurse on patterns in places.
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
    if hir.properties().look_set().contains_word_unicode() {
        let span = find_unicode_word_boundary(&ast).unwrap_or(Span::new(0, pattern.len()));
        let message = "Unicode word boundaries are not supported";
        return Err(RegexError::new(RegexErrorKind::Unsupported, message, span)
            .with_help("use an ASCII word boundary, for example (?-u:\\b)"));
    }
    Ok(hir)
}

/// Whether a backslash and a letter may be a class with many ranges.
fn is_class_escape(pair: &[u8]) -> bool {
    pair[0] == b'\\' && b"wWdDsSpP".contains(&pair[1])
}

fn too_large(pattern: &str, limits: &Limits) -> RegexError {
    let message =
        format!("the pattern needs more than its part of the memory limit ({} bytes)", limits.memory_bytes);
    RegexError::new(RegexErrorKind::TooLarge, message, Span::new(0, pattern.len()))
        .with_help("simplify the pattern, or move its assertions to its ends")
}

/// The span of the first word boundary under the Unicode flag.
fn find_unicode_word_boundary(ast: &Ast) -> Option<Span> {
    // The visitor stops by returning the span as an error.
    ast::visit(ast, WordBoundarySearch { unicode: vec![true] }).err()
}

/// A visitor that tracks the Unicode flag of each open group.
struct WordBoundarySearch {
    unicode: Vec<bool>,
}

impl WordBoundarySearch {
    fn apply(&mut self, flags: &ast::Flags) {
        if let (Some(state), Some(current)) = (flags.flag_state(ast::Flag::Unicode), self.unicode.last_mut())
        {
            *current = state;
        }
    }
}

impl ast::Visitor for WordBoundarySearch {
    type Output = ();
    type Err = Span;

    fn finish(self) -> Result<(), Span> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Span> {
        match ast {
            Ast::Group(group) => {
                self.unicode.extend(self.unicode.last().copied());
                if let ast::GroupKind::NonCapturing(flags) = &group.kind {
                    self.apply(flags);
                }
            }
            Ast::Flags(set) => self.apply(&set.flags),
            _ => {}
        }
        Ok(())
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), Span> {
        match ast {
            Ast::Group(_) => {
                self.unicode.pop();
            }
            Ast::Assertion(assertion) if self.unicode.last() == Some(&true) => {
                use ast::AssertionKind::{EndLine, EndText, StartLine, StartText};
                if !matches!(assertion.kind, StartLine | EndLine | StartText | EndText) {
                    return Err(error::span_of(&assertion.span));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
