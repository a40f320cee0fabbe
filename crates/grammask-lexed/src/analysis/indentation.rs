//! Conditions under which masks for a grammar with indentation are exact.
//!
//! The parser receives newlines, and the indents and dedents that their columns produce. A text can be completed if
//! the parser's stack can be completed and the layout that this requires can be written. Sufficient conditions:
//! blocks are balanced in every production; a block begins after a newline and ends after a newline or another block;
//! nothing between brackets requires a newline; and the column of a newline can still be chosen freely (`\n` may be
//! repeated and spaces added), which `open_lexemes` checks.

use crate::analysis::adjacency::FirstLastSets;
use crate::definition::grammar::{Indentation, LexedGrammar, LexedProduction, LexedSymbol};
use grammask_diagnostics::{Code, Diagnostic};
use grammask_grammar::TerminalId;

/// The first violated condition.
pub(crate) fn find_fault(grammar: &LexedGrammar) -> Option<Diagnostic> {
    let Some(indentation) = &grammar.indentation else { return None };
    let sets = FirstLastSets::of(grammar);
    let message = unbalanced(grammar, indentation)
        .or_else(|| misplaced(grammar, indentation, &sets))
        .or_else(|| newline_in_brackets(grammar, indentation, &sets));
    message.map(unsupported)
}

fn unsupported(message: String) -> Diagnostic {
    Diagnostic::error(Code::UnsupportedGrammar, message)
}

/// Blocks and brackets must be balanced in every production.
fn unbalanced(grammar: &LexedGrammar, indentation: &Indentation) -> Option<String> {
    grammar.productions.iter().find_map(|production| {
        let blocks = is_balanced(production, &[indentation.indent], &[indentation.dedent]);
        let brackets = is_balanced(production, &indentation.open, &indentation.close);
        let what = match (blocks, brackets) {
            (false, _) => "blocks",
            (_, false) => "brackets",
            _ => return None,
        };
        let text = grammar.production_text(production, None);
        Some(format!("the {what} of `{text}` are not balanced, so columns cannot determine them"))
    })
}

fn is_balanced(production: &LexedProduction, open: &[TerminalId], close: &[TerminalId]) -> bool {
    let mut depth = 0_usize;
    for symbol in &production.rhs {
        let LexedSymbol::Terminal(terminal) = symbol else { continue };
        if open.contains(terminal) {
            depth += 1;
        } else if close.contains(terminal) {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            }
        }
    }
    depth == 0
}

/// An indent must follow a newline, and a dedent a newline or another dedent.
fn misplaced(grammar: &LexedGrammar, indentation: &Indentation, sets: &FirstLastSets) -> Option<String> {
    let is_wrong = |before: TerminalId, after: TerminalId| {
        let after_newline = before == indentation.newline;
        (after == indentation.indent && !after_newline)
            || (after == indentation.dedent && !after_newline && before != indentation.dedent)
    };
    let start = LexedSymbol::Nonterminal(grammar.start);
    if sets.first(start).iter().any(|first| first == indentation.indent || first == indentation.dedent) {
        return Some("a text begins with the beginning or the end of a block".to_owned());
    }
    for production in &grammar.productions {
        for (position, &left) in production.rhs.iter().enumerate() {
            for &right in &production.rhs[position + 1..] {
                for before in sets.last(left).iter() {
                    if let Some(after) = sets.first(right).iter().find(|&after| is_wrong(before, after)) {
                        let (before, after) = (grammar.terminal_name(before), grammar.terminal_name(after));
                        return Some(format!(
                            "`{after}` can follow `{before}` by the rules, but only a newline produces it"
                        ));
                    }
                }
                if !sets.is_nullable(right) {
                    break;
                }
            }
        }
    }
    None
}

/// Nothing between brackets may require a newline.
fn newline_in_brackets(
    grammar: &LexedGrammar,
    indentation: &Indentation,
    sets: &FirstLastSets,
) -> Option<String> {
    let layout = [indentation.newline, indentation.indent, indentation.dedent];
    for production in &grammar.productions {
        let mut depth = 0_usize;
        for &symbol in &production.rhs {
            if let LexedSymbol::Terminal(terminal) = symbol
                && indentation.close.contains(&terminal)
            {
                depth = depth.saturating_sub(1);
            }
            if depth > 0 && layout.iter().any(|&terminal| sets.contains(symbol, terminal)) {
                let text = grammar.production_text(production, None);
                return Some(format!(
                    "newlines are ignored between brackets, but `{text}` requires one there"
                ));
            }
            if let LexedSymbol::Terminal(terminal) = symbol
                && indentation.open.contains(&terminal)
            {
                depth += 1;
            }
        }
    }
    None
}
