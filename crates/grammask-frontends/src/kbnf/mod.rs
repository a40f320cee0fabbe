//! The KBNF front end: the grammar language of the kbnf engine, with its gaps filled.
//!
//! A source passes through three stages, each with its own output type:
//!
//! 1. the scanner produces tokens, and the parser an [`Ast`] that is faithful to the source ([`parse`]); escapes are
//!    decoded in this stage;
//! 2. translation checks the tree (undefined symbols, invalid regexes and exceptions) and builds the [`Grammar`]
//!    ([`grammar`]);
//! 3. lowering, which is independent of KBNF, checks the meaning: empty languages, rules without finite texts, cycles.
//!
//! Cost: linear in the length of any byte sequence, except for regexes, which have a budget. Nothing recurses: open
//! brackets are an explicit stack, trees are arenas. One run reports up to a hundred independent errors: the scanner
//! recovers within a token, the parser resumes at the next alternative of a definition, and undefined symbols are
//! reported despite syntax errors, unless the source was not read to its end.
//!
//! `docs/kbnf.md` describes the language and its differences from kbnf 0.4.2.

pub mod ast;
mod describe;
mod escape;
mod exception;
mod parse;
mod scan;
mod translate;

use std::sync::Arc;

pub use ast::Ast;
pub use parse::ParseOutput;

use grammask_diagnostics::{Diagnostic, GrammarError, Limits, Severity, Span};
use grammask_grammar::Grammar;
use grammask_grammar::directives::{Directive, DirectiveMode};

/// Parses `text` with error recovery.
///
/// Never fails: errors are in [`ParseOutput::diagnostics`], and are nodes [`Expression::Error`](ast::Expression::Error)
/// of the tree.
#[must_use]
pub fn parse(text: &[u8], limits: &Limits) -> ParseOutput {
    parse_in(DirectiveMode::Refused, text, limits)
}

fn parse_in(mode: DirectiveMode, text: &[u8], limits: &Limits) -> ParseOutput {
    if text.len() > limits.grammar_bytes {
        return ParseOutput::too_long(text.len(), limits);
    }
    let (source, invalid) = replace_invalid_utf8(text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text));
    let mut parsed = parse::parse_text(&source, &invalid, mode, limits.grammar_size);
    for diagnostic in &mut parsed.diagnostics {
        fill_in_found(diagnostic, &source);
    }
    parsed
}

/// The grammar with source `text` and start symbol `start`, and its warnings.
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
/// All errors of the source, in source order.
pub fn grammar(
    text: &[u8],
    start: &str,
    limits: &Limits,
) -> Result<(Grammar, Vec<Diagnostic>), GrammarError> {
    let (grammar, _, warnings) = read(DirectiveMode::Refused, text, start, limits)?;
    Ok((grammar, warnings))
}

/// Like [`grammar`], for a grammar with a lexer: also returns its [directives](grammask_grammar::directives).
///
/// # Errors
/// All errors of the source, in source order.
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
    let ParseOutput { ast, mut diagnostics, directives, complete } = parse_in(mode, text, limits);
    let is_well_formed = diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error);
    let (grammar, translation_diagnostics) = translate::translate(&ast, &directives, start, complete, limits);
    diagnostics.extend(translation_diagnostics.into_iter().map(|mut diagnostic| {
        fill_in_found(&mut diagnostic, &ast.source);
        diagnostic
    }));
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.map_or(usize::MAX, |span| span.start));
    match grammar {
        Some(grammar) if is_well_formed => Ok((grammar, directives, diagnostics)),
        _ => {
            if diagnostics.len() > scan::MAX_DIAGNOSTICS {
                diagnostics.retain(|diagnostic| diagnostic.severity == Severity::Error);
                diagnostics.truncate(scan::MAX_DIAGNOSTICS);
            }
            Err(GrammarError::new(diagnostics, ast.source))
        }
    }
}

/// Sets `found` to the source at the span of an error, unless the error has a more specific finding.
fn fill_in_found(diagnostic: &mut Diagnostic, source: &str) {
    if let (None, Severity::Error, Some(span)) = (&diagnostic.found, diagnostic.severity, diagnostic.span) {
        let next = source[span.start..].chars().next().map_or(0, char::len_utf8);
        diagnostic.found = Some(match &source[span.start..span.end.max(span.start + next)] {
            "" => "the end of the text".into(),
            text => format!("`{}`", describe::shorten(text)),
        });
    }
}

/// `text` with U+FFFD in place of invalid UTF-8, and the spans of these characters.
fn replace_invalid_utf8(text: &[u8]) -> (Arc<str>, Vec<Span>) {
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
