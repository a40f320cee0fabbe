//! The KBNF front end: reads the grammar language of the kbnf engine, with its gaps filled.
//!
//! A text goes through three stages, each with a type of its own:
//!
//! 1. the scanner makes tokens and the parser an [`Ast`] that is faithful to the text ([`parse`]);
//!    escapes are decoded on the way;
//! 2. translation checks what the tree alone can tell (undefined symbols, bad regexes, bad exceptions) and builds
//!    the [`Grammar`] ([`grammar`]);
//! 3. lowering, which knows nothing of KBNF, finds what needs the meaning: empty languages, endless rules, cycles.
//!
//! Any byte sequence gets an answer in time that is linear in its length (regexes aside, which have a budget). There
//! is no recursion: open brackets are an explicit stack, trees are arenas. One run reports every error it can tell
//! apart, up to a hundred: within a token the scanner repairs and goes on, within a definition the parser goes on at
//! the next alternative, and symbols without a definition are looked for even where the syntax is broken, unless the
//! text was not read to its end.
//!
//! The language, and where it differs from kbnf 0.4.2, is described in `docs/kbnf.md`.

pub mod ast;
mod describe;
mod escape;
mod exception;
mod parse;
mod scan;
mod translate;

use std::sync::Arc;

pub use ast::Ast;
pub use parse::Parsed;

use grammask_diagnostics::{Diagnostic, GrammarError, Limits, Severity, Span};
use grammask_grammar::Grammar;
use grammask_grammar::directives::{Directive, DirectiveMode};

/// What some editors write at the beginning of a UTF-8 file; it is no part of the text, and no place counts it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Reads `text` as far as it can be read.
///
/// Never fails: what is wrong is in [`Parsed::diagnostics`], and stands as
/// [`Expression::Error`](ast::Expression::Error) in the tree.
#[must_use]
pub fn parse(text: &[u8], limits: &Limits) -> Parsed {
    parse_in(DirectiveMode::Refused, text, limits)
}

fn parse_in(mode: DirectiveMode, text: &[u8], limits: &Limits) -> Parsed {
    if text.len() > limits.grammar_bytes {
        return Parsed::refused(text.len(), limits);
    }
    let (source, invalid) = repair(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text));
    let mut parsed = parse::parse_text(&source, &invalid, mode, limits.grammar_size);
    for diagnostic in &mut parsed.diagnostics {
        say_what_was_found(diagnostic, &source);
    }
    parsed
}

/// The grammar that `text` writes, with start symbol `start`, and the warnings about it.
///
/// ```
/// use grammask_diagnostics::Limits;
/// use grammask_frontends::kbnf;
/// let (grammar, warnings) = kbnf::grammar(b"start ::= 'a' start | \"b\";", "start", &Limits::default()).unwrap();
/// assert_eq!(grammar.to_string(), "start ::= \"a\" start | \"b\";\n");
/// assert!(warnings.is_empty());
/// ```
///
/// # Errors
/// All errors of the text at once, in its order.
pub fn grammar(
    text: &[u8],
    start: &str,
    limits: &Limits,
) -> Result<(Grammar, Vec<Diagnostic>), GrammarError> {
    let (grammar, _, warnings) = read(DirectiveMode::Refused, text, start, limits)?;
    Ok((grammar, warnings))
}

/// The same for a grammar with a lexer: with what its [directives](super::directives) say.
///
/// # Errors
/// All errors of the text at once, in its order.
pub fn grammar_with_directives(
    text: &[u8],
    start: &str,
    limits: &Limits,
) -> Result<(Grammar, Vec<Directive>, Vec<Diagnostic>), GrammarError> {
    read(DirectiveMode::Read, text, start, limits)
}

fn read(
    mode: DirectiveMode,
    text: &[u8],
    start: &str,
    limits: &Limits,
) -> Result<(Grammar, Vec<Directive>, Vec<Diagnostic>), GrammarError> {
    let Parsed { ast, mut diagnostics, directives, complete } = parse_in(mode, text, limits);
    let intact = diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error);
    let (grammar, findings) = translate::translate(&ast, start, complete, limits);
    diagnostics.extend(findings.into_iter().map(|mut diagnostic| {
        say_what_was_found(&mut diagnostic, &ast.source);
        diagnostic
    }));
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.map_or(usize::MAX, |span| span.start));
    match grammar {
        Some(grammar) if intact => Ok((grammar, directives, diagnostics)),
        _ => {
            if diagnostics.len() > scan::MOST_DIAGNOSTICS {
                diagnostics.retain(|diagnostic| diagnostic.severity == Severity::Error);
                diagnostics.truncate(scan::MOST_DIAGNOSTICS);
            }
            Err(GrammarError::new(diagnostics, ast.source))
        }
    }
}

/// Quotes the text at the place of an error that does not say better what was found.
fn say_what_was_found(diagnostic: &mut Diagnostic, source: &str) {
    if let (None, Severity::Error, Some(span)) = (&diagnostic.found, diagnostic.severity, diagnostic.span) {
        let next = source[span.start..].chars().next().map_or(0, char::len_utf8);
        diagnostic.found = Some(match &source[span.start..span.end.max(span.start + next)] {
            "" => "the end of the text".into(),
            text => format!("`{}`", describe::shorten(text)),
        });
    }
}

/// `text` with U+FFFD in place of what is not UTF-8, and the places of these characters.
fn repair(text: &[u8]) -> (Arc<str>, Vec<Span>) {
    if let Ok(text) = std::str::from_utf8(text) {
        return (Arc::from(text), Vec::new());
    }
    let mut source = String::with_capacity(text.len());
    let mut invalid: Vec<Span> = Vec::new();
    for chunk in text.utf8_chunks() {
        source.push_str(chunk.valid());
        if chunk.invalid().is_empty() {
            continue;
        }
        let start = source.len();
        source.push(char::REPLACEMENT_CHARACTER);
        match invalid.last_mut() {
            Some(last) if last.end == start => last.end = source.len(),
            _ => invalid.push(Span::new(start, source.len())),
        }
    }
    (Arc::from(source), invalid)
}
