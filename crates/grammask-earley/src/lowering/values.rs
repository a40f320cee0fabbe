//! Analysis: scopes and their values. Which rules are inside a scope, and can the recogniser follow their values?
//!
//! A rule *has values* if it reaches a value along its symbols without entering a scope or a value. Such rules may recur
//! at their ends only: then the positions between a value and the end of its scope are a list of bounded length, which
//! the recogniser rewrites when a value is complete.

use grammask_collections::graph::{AdjacencyList, components_of};
use grammask_diagnostics::{Code, Diagnostic};
use grammask_grammar::Terminal;

use super::derivability::Derivability;
use super::productions::{Body, Productions, Symbol};

/// For each rule whether it reaches a value without entering a scope or a value. A value does.
pub(super) fn rules_with_values(productions: &Productions) -> Vec<bool> {
    let count = productions.rules.len();
    let mut has_values = vec![false; count];
    let mut pending: Vec<usize> =
        (0..count).filter(|&rule| matches!(productions.rules[rule].body, Body::Value { .. })).collect();
    if pending.is_empty() {
        return has_values;
    }
    let mut uses: Vec<(u32, u32)> = Vec::new();
    for (index, rule) in productions.rules.iter().enumerate() {
        if matches!(rule.body, Body::Scope(_) | Body::Value { .. }) {
            continue;
        }
        uses.extend(rule.body.symbols().filter_map(|symbol| match symbol {
            Symbol::Nonterminal(id) => Some((id.as_u32(), index as u32)),
            Symbol::Terminal(_) => None,
        }));
    }
    let users = AdjacencyList::from_pairs(count, &uses);
    while let Some(rule) = pending.pop() {
        if !std::mem::replace(&mut has_values[rule], true) {
            pending.extend(users.of(rule).iter().map(|&user| user as usize));
        }
    }
    has_values
}

/// Errors about values that the recogniser cannot follow.
#[must_use]
pub fn check_values(productions: &Productions, derivability: &Derivability) -> Vec<Diagnostic> {
    let has_values = rules_with_values(productions);
    if !has_values.contains(&true) {
        return Vec::new();
    }
    let error = |index: usize, reason: &str| {
        let name = productions.rules[index].name.split('.').next().unwrap_or_default();
        Diagnostic::error(
            Code::UnsupportedGrammar,
            format!("values that must differ in the rule `{name}` {reason}"),
        )
    };
    let mut errors = Vec::new();
    let has_value = |symbol: Symbol| matches!(symbol, Symbol::Nonterminal(id) if has_values[id.index()]);
    if has_values[productions.start.index()] {
        errors.push(error(productions.start.index(), "are in no scope"));
    }
    let reached = productions.reachable();
    let is_plain = |terminal: &Terminal| matches!(terminal, Terminal::Literal(_) | Terminal::Regular(_));
    let names_tokens = !productions.terminals.iter().all(|definition| is_plain(&definition.terminal));
    let mut all: Vec<(u32, u32)> = Vec::new();
    let mut inner: Vec<(usize, u32)> = Vec::new();
    for (index, rule) in productions.rules.iter().enumerate().filter(|&(index, _)| reached[index]) {
        let mut add = |symbol: Symbol, is_last: bool| {
            if let Symbol::Nonterminal(id) = symbol
                && has_values[id.index()]
            {
                all.push((index as u32, id.as_u32()));
                if !is_last {
                    inner.push((index, id.as_u32()));
                }
            }
        };
        match &rule.body {
            Body::Value { symbol, .. } => {
                if derivability.finite(*symbol).empty {
                    errors.push(error(index, "may be empty"));
                }
                if has_value(*symbol) {
                    errors.push(error(index, "contain such values without a scope"));
                }
                if names_tokens && reaches_tokens(productions, *symbol) {
                    errors.push(error(index, "contain tokens, or a grammar with a lexer"));
                }
            }
            Body::Scope(_) => {}
            Body::Repeat { symbol, max, .. } => add(*symbol, *max == Some(1)),
            Body::Selection { parts, separator, .. } => {
                parts.iter().chain([separator]).for_each(|&part| add(part, false));
            }
            Body::Alternatives(alternatives) => {
                for symbols in alternatives {
                    for (position, &symbol) in symbols.iter().enumerate() {
                        add(symbol, position + 1 == symbols.len());
                    }
                }
            }
        }
    }
    let components = components_of(&AdjacencyList::from_pairs(productions.rules.len(), &all));
    for (from, to) in inner {
        if components.of_node[from] == components.of_node[to as usize] {
            errors.push(error(from, "are in a recursion that goes on after it"));
        }
    }
    errors
}

/// Whether a symbol derives tokens by name, or terminals that count them.
fn reaches_tokens(productions: &Productions, symbol: Symbol) -> bool {
    let mut reached = vec![false; productions.rules.len()];
    let mut stack = vec![symbol];
    while let Some(symbol) = stack.pop() {
        match symbol {
            Symbol::Terminal(id) => match productions.terminals[id.index()].terminal {
                Terminal::Literal(_) | Terminal::Regular(_) => {}
                _ => return true,
            },
            Symbol::Nonterminal(id) => {
                if !std::mem::replace(&mut reached[id.index()], true) {
                    stack.extend(productions.body(id).symbols());
                }
            }
        }
    }
    false
}
