//! Pass: every symbol that is used, and the start symbol, has a definition.

use grammask_diagnostics::{Code, Diagnostic};
use grammask_grammar::{Grammar, Node};

/// Reports each undefined symbol once, at its first use, and a missing start symbol.
#[must_use]
pub fn resolve_names(grammar: &Grammar) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let nonterminals = grammar.nonterminals();
    let mut reported = vec![false; nonterminals.len()];
    for definition in grammar.definitions() {
        reported[definition.lhs.index()] = true;
    }
    let start = &nonterminals[grammar.start().index()];
    if !std::mem::replace(&mut reported[grammar.start().index()], true) {
        diagnostics.push(
            Diagnostic::error(
                Code::MissingStart,
                format!("the start symbol `{}` is not defined", start.name),
            )
            .help(format!("define `{} ::= ...;` or name another start symbol", start.name)),
        );
    }
    for node in grammar.nodes() {
        if let Node::Nonterminal(id) = node
            && !std::mem::replace(&mut reported[id.index()], true)
        {
            let definition = &nonterminals[id.index()];
            diagnostics.push(
                Diagnostic::error(
                    Code::UndefinedSymbol,
                    format!("the symbol `{}` is not defined", definition.name),
                )
                .at(definition.span)
                .help(format!("define `{} ::= ...;`", definition.name)),
            );
        }
    }
    diagnostics
}
