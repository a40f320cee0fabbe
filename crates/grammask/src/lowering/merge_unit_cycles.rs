//! Pass: nonterminals that derive each other alone become one.
//!
//! `a ::= b | "x"; b ::= a | "y";` is `a ::= "x" | "y"`: in a cycle of unit productions every nonterminal derives
//! what any of them derives. Without this pass each of n nonterminals in a cycle would have what follows all n.
//! Cost: linear.

use super::productions::{Body, Productions, Symbol};
use crate::grammar::NonterminalId;
use crate::graph::{Edges, components_of};

/// Merges the nonterminals of every cycle of unit productions, and drops productions of a symbol to itself alone.
pub fn merge_unit_cycles(productions: &mut Productions) {
    let units = units(productions);
    if units.has_none() {
        return;
    }
    let components = components_of(&units);
    let cycles = if components.are_single() { Vec::new() } else { components.members() };
    let mut targets: Vec<NonterminalId> = (0..productions.rules.len()).map(NonterminalId::new).collect();
    for members in cycles.iter().filter(|members| members.len() > 1) {
        let start = members.iter().copied().find(|&member| member == productions.start.index());
        let kept = start.unwrap_or(members[0]);
        let mut merged = Vec::new();
        for &member in members {
            targets[member] = NonterminalId::new(kept);
            // Only a body of alternatives has unit productions.
            if let Body::Alternatives(alternatives) = &mut productions.rules[member].body {
                merged.append(alternatives);
            }
        }
        productions.rules[kept].body = Body::Alternatives(merged);
    }
    for (index, rule) in productions.rules.iter_mut().enumerate() {
        if !cycles.is_empty() {
            rule.body.map(|symbol| match symbol {
                Symbol::Nonterminal(id) => Symbol::Nonterminal(targets[id.index()]),
                Symbol::Terminal(_) => symbol,
            });
        }
        if let Body::Alternatives(alternatives) = &mut rule.body {
            let itself = Symbol::Nonterminal(NonterminalId::new(index));
            alternatives.retain(|symbols| symbols[..] != [itself]);
        }
    }
}

/// For each nonterminal the nonterminals that are alternatives of it by themselves.
fn units(productions: &Productions) -> Edges {
    let mut units = Edges::with_capacity(productions.rules.len());
    for rule in &productions.rules {
        for symbols in rule.body.alternatives() {
            if let [Symbol::Nonterminal(id)] = symbols[..] {
                units.push(id.index());
            }
        }
        units.end_node();
    }
    units
}
