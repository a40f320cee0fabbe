//! Line feeds of context-free grammars in an indented block.
//!
//! In an indented block the spelling of a line feed depends on whether another one follows: only then may spaces of the
//! prefix be missing. Terminals are replaced by their inverse images one by one, so line feeds in a row have to belong
//! to one terminal.

use grammask_automata::encoding::{CharacterEncoding, TermEncoder};
use grammask_automata::{Automata, TermId};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits};
use grammask_earley::lowering::{Body, Productions, Symbol, flatten};
use grammask_grammar::{Grammar, Terminal};

/// Whether a text of a symbol may begin or end with a line feed, or be empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ends {
    begins: bool,
    ends: bool,
    is_nullable: bool,
}

/// Whether a text of a terminal may contain a line feed.
pub(crate) fn has_line_feeds(grammar: &Grammar, limits: &Limits) -> Result<bool, LimitExceeded> {
    let mut terms = grammar.terms().clone();
    let block = CharacterEncoding::indented_block(" ").unwrap_or(CharacterEncoding::Utf8);
    let mut encoder = TermEncoder::new(block, limits);
    for definition in grammar.terminals() {
        let found = match &definition.terminal {
            Terminal::Literal(word) => word.contains(&b'\n'),
            // Every word with a line feed has several spellings.
            Terminal::Regular(term) | Terminal::Limited { term, .. } => {
                encoder.image(&mut terms, *term)? != *term
            }
            Terminal::Token(_) | Terminal::AnyToken | Terminal::OneOf(_) | Terminal::Embedded { .. } => false,
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Checks that line feeds in a row belong to one terminal. Embedded grammars have no line feeds.
///
/// # Errors
/// If two terminals may share them; if a limit is exceeded.
pub(crate) fn check_line_feeds(grammar: &Grammar, limits: &Limits) -> Result<(), GrammarError> {
    let fail = |diagnostic| GrammarError::new(vec![diagnostic], grammar.source().clone());
    let productions = flatten(grammar, limits)?;
    let terminals =
        ends_of_terminals(grammar, &productions, limits).map_err(|limit| fail(limit.diagnostic()))?;
    let mut rules = vec![Ends::default(); productions.rules.len()];
    loop {
        let before = rules.clone();
        for index in (0..rules.len()).rev() {
            rules[index] = ends_of(&productions.rules[index].body, |symbol| match symbol {
                Symbol::Terminal(terminal) => terminals[terminal.index()],
                Symbol::Nonterminal(nonterminal) => rules[nonterminal.index()],
            });
        }
        if rules == before {
            break;
        }
    }
    let ends = |symbol| match symbol {
        Symbol::Terminal(terminal) => terminals[terminal.index()],
        Symbol::Nonterminal(nonterminal) => rules[nonterminal.index()],
    };
    match productions.rules.iter().find(|rule| is_split(&rule.body, ends)) {
        None => Ok(()),
        Some(rule) => {
            let message = format!(
                "two terminals in the rule `{}` may share line feeds of an indented block",
                rule.name
            );
            let diagnostic = Diagnostic::error(Code::UnsupportedGrammar, message)
                .help("make them one terminal; in JSON, give white space by a pattern");
            Err(fail(diagnostic))
        }
    }
}

/// The ends of each terminal of `productions`.
fn ends_of_terminals(
    grammar: &Grammar,
    productions: &Productions,
    limits: &Limits,
) -> Result<Vec<Ends>, LimitExceeded> {
    let mut terms = grammar.terms().clone();
    let (anything, line_feed) = (terms.anything(), terms.literal(b"\n"));
    let with_end = terms.concat(&[anything, line_feed]);
    let terms_of: Vec<Option<(TermId, TermId)>> = productions
        .terminals
        .iter()
        .map(|definition| {
            let term = match &definition.terminal {
                Terminal::Literal(word) => terms.literal(word),
                Terminal::Regular(term) | Terminal::Limited { term, .. } => *term,
                Terminal::Token(_) | Terminal::AnyToken | Terminal::OneOf(_) | Terminal::Embedded { .. } => {
                    return None;
                }
            };
            Some((term, terms.intersection(&[term, with_end])))
        })
        .collect();
    let mut automata = Automata::new(terms, limits.automaton_states);
    terms_of
        .into_iter()
        .zip(&productions.terminals)
        .map(|(found, definition)| {
            let Some((term, ended)) = found else {
                let is_nullable = matches!(
                    definition.terminal,
                    Terminal::Embedded { grammar, .. } if productions.embedded[grammar.index()].empty
                );
                return Ok(Ends { is_nullable, ..Ends::default() });
            };
            let start = automata.start(term)?;
            let begins = match start {
                Some(start) => automata.step(start, b'\n')?.is_some(),
                None => false,
            };
            let is_nullable = start.is_some_and(|start| automata.is_accepting(start));
            Ok(Ends { begins, ends: automata.start(ended)?.is_some(), is_nullable })
        })
        .collect()
}

fn ends_of(body: &Body, of: impl Fn(Symbol) -> Ends) -> Ends {
    match body {
        Body::Alternatives(alternatives) => {
            let mut all = Ends::default();
            for symbols in alternatives {
                let mut is_nullable = true;
                for ends in symbols.iter().map(|&symbol| of(symbol)) {
                    all.begins |= is_nullable && ends.begins;
                    is_nullable &= ends.is_nullable;
                }
                all.is_nullable |= is_nullable;
                let mut is_nullable = true;
                for ends in symbols.iter().rev().map(|&symbol| of(symbol)) {
                    all.ends |= is_nullable && ends.ends;
                    is_nullable &= ends.is_nullable;
                }
            }
            all
        }
        Body::Repeat { symbol, min, .. } => {
            let ends = of(*symbol);
            Ends { is_nullable: ends.is_nullable || *min == 0, ..ends }
        }
        Body::Selection { parts, .. } => union(parts.iter().map(|&part| of(part))),
        Body::Scope(symbol) | Body::Value { symbol, .. } => of(*symbol),
    }
}

/// Whether two symbols of a body may share line feeds.
fn is_split(body: &Body, of: impl Fn(Symbol) -> Ends) -> bool {
    match body {
        Body::Alternatives(alternatives) => alternatives.iter().any(|symbols| {
            let mut ends = false;
            symbols.iter().map(|&symbol| of(symbol)).any(|symbol| {
                let is_split = ends && symbol.begins;
                ends = symbol.ends || (ends && symbol.is_nullable);
                is_split
            })
        }),
        Body::Repeat { symbol, max, .. } => {
            let ends = of(*symbol);
            ends.begins && ends.ends && max.is_none_or(|max| max > 1)
        }
        Body::Selection { parts, separator, .. } => {
            let (parts, separator) = (union(parts.iter().map(|&part| of(part))), of(*separator));
            parts.ends && (separator.begins || (separator.is_nullable && parts.begins))
                || separator.ends && parts.begins
        }
        Body::Scope(_) | Body::Value { .. } => false,
    }
}

fn union(all: impl Iterator<Item = Ends>) -> Ends {
    all.fold(Ends::default(), |union, ends| Ends {
        begins: union.begins || ends.begins,
        ends: union.ends || ends.ends,
        is_nullable: union.is_nullable || ends.is_nullable,
    })
}
