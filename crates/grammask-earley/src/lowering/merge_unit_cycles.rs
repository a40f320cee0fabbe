//! Pass: the nonterminals of a cycle of unit productions become one.
//!
//! `a ::= b | "x"; b ::= a | "y";` becomes `a ::= "x" | "y"`: all nonterminals of such a cycle derive the same
//! language. A repetition that admits one copy is a unit production, too: in `a ::= b{1,2}; b ::= a{1,2} | "x";` both
//! become `r ::= r{2,2} | "x"`. Without this pass, each of n nonterminals in a cycle would have the continuations of
//! all n. Cost: linear.

use rustc_hash::FxHashMap;

use super::productions::{Body, Productions, Symbol};
use grammask_collections::graph::{AdjacencyList, components_of};
use grammask_grammar::NonterminalId;

/// Merges the nonterminals of each cycle of unit productions, and removes productions `A -> A`.
pub fn merge_unit_cycles(productions: &mut Productions) {
    let units = units(productions);
    if units.has_no_edges() {
        return;
    }
    let components = components_of(&units);
    let cycles = if components.are_singletons() { Vec::new() } else { components.members() };
    let mut targets: Vec<NonterminalId> = (0..productions.rules.len()).map(NonterminalId::new).collect();
    // Repetitions of merged nonterminals, by their bounds.
    let mut several_copies: FxHashMap<(usize, Option<u32>), NonterminalId> = FxHashMap::default();
    for members in cycles.iter().filter(|members| members.len() > 1) {
        let start = members.iter().copied().find(|&member| member == productions.start.index());
        let representative = start.unwrap_or(members[0]);
        let mut merged = Vec::new();
        for &member in members {
            targets[member] = NonterminalId::new(representative);
            let body = std::mem::replace(&mut productions.rules[member].body, Body::Alternatives(Vec::new()));
            match body {
                Body::Alternatives(mut alternatives) => merged.append(&mut alternatives),
                // A selection derives longer texts than each of its parts, so it gets a nonterminal outside the cycle.
                // Scopes and values are no unit productions, so they are in no cycle.
                selection @ (Body::Selection { .. } | Body::Scope(_) | Body::Value { .. }) => {
                    let name = format!(
                        "{}.several{}",
                        productions.rules[representative].name,
                        productions.rules.len()
                    );
                    let several = productions.add_rule(name.into(), selection);
                    merged.push(vec![Symbol::Nonterminal(several)]);
                }
                // One copy is the merged nonterminal itself. The other cases are no copy and several copies.
                Body::Repeat { symbol, min, max } => {
                    if min == 0 {
                        merged.push(Vec::new());
                    }
                    if max != Some(1) {
                        let several = Body::Repeat { symbol, min: 2, max };
                        let count = productions.rules.len();
                        let several = *several_copies.entry((representative, max)).or_insert_with(|| {
                            let name =
                                format!("{}.several{count}", productions.rules[representative].name).into();
                            productions.add_rule(name, several)
                        });
                        merged.push(vec![Symbol::Nonterminal(several)]);
                    }
                }
            }
        }
        productions.rules[representative].body = Body::Alternatives(merged);
    }
    for (index, rule) in productions.rules.iter_mut().enumerate() {
        if !cycles.is_empty() {
            rule.body.map(|symbol| match symbol {
                Symbol::Nonterminal(id) => {
                    Symbol::Nonterminal(targets.get(id.index()).copied().unwrap_or(id))
                }
                Symbol::Terminal(_) => symbol,
            });
        }
        if let Body::Alternatives(alternatives) = &mut rule.body {
            let itself = Symbol::Nonterminal(NonterminalId::new(index));
            alternatives.retain(|symbols| symbols[..] != [itself]);
        }
    }
}

/// For each nonterminal the right-hand sides of its unit productions.
fn units(productions: &Productions) -> AdjacencyList {
    let mut units = AdjacencyList::with_capacity(productions.rules.len());
    for rule in &productions.rules {
        if let Body::Repeat { symbol: Symbol::Nonterminal(id), min: 0 | 1, max } = rule.body
            && max != Some(0)
        {
            units.push(id.index());
        }
        for symbols in rule.body.alternatives() {
            if let [Symbol::Nonterminal(id)] = symbols[..] {
                units.push(id.index());
            }
        }
        units.end_node();
    }
    units
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use crate::lowering::lower;
    use grammask_diagnostics::Limits;
    use grammask_frontends::kbnf;

    #[test]
    fn a_cycle_of_repetitions_is_one_nonterminal() {
        let mut text = String::from("start ::= r0 \"!\"; r2999 ::= \"a\" | r0{1,2};\n");
        for rule in 0..2999 {
            let _ = writeln!(text, "r{rule} ::= r{}{{1,2}};", rule + 1);
        }
        let (grammar, _) = kbnf::grammar(text.as_bytes(), "start", &Limits::default()).unwrap();
        let lowered = lower(&grammar, &Limits::default()).unwrap();
        assert!(lowered.normal_form.nonterminal_count() < 6, "{}", lowered.normal_form);
    }
}
