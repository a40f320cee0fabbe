//! Pass: nonterminals that derive each other alone become one.
//!
//! `a ::= b | "x"; b ::= a | "y";` is `a ::= "x" | "y"`: in a cycle of unit productions every nonterminal derives
//! what any of them derives. Without this pass each of n nonterminals in a cycle would have what follows all n.
//! Cost: linear.

use super::productions::{Body, Productions, Symbol};
use crate::grammar::NonterminalId;
use crate::graph::strong_components;

/// Merges the nonterminals of every cycle of unit productions, and drops productions of a symbol to itself alone.
pub fn merge_unit_cycles(productions: &mut Productions) {
    let successors: Vec<Vec<usize>> = productions.rules.iter().map(|rule| units(&rule.body)).collect();
    let cycles = strong_components(&successors).members();
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
        rule.body.map(|symbol| match symbol {
            Symbol::Nonterminal(id) => Symbol::Nonterminal(targets[id.index()]),
            Symbol::Terminal(_) => symbol,
        });
        if let Body::Alternatives(alternatives) = &mut rule.body {
            let itself = Symbol::Nonterminal(NonterminalId::new(index));
            alternatives.retain(|symbols| symbols[..] != [itself]);
        }
    }
}

/// The nonterminals that are alternatives by themselves.
fn units(body: &Body) -> Vec<usize> {
    let unit = |symbols: &Vec<Symbol>| match symbols[..] {
        [Symbol::Nonterminal(id)] => Some(id.index()),
        _ => None,
    };
    body.alternatives().iter().filter_map(unit).collect()
}
