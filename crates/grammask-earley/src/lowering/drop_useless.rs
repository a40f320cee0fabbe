//! Pass: removes unproductive alternatives and `A ::= A`, and empties unreachable rules.
//!
//! Rules that derive infinite texts only are legal and stay. [`diagnose`] warns of all of them.

use grammask_collections::graph::{AdjacencyList, components_of};
use grammask_diagnostics::{Code, Diagnostic};
use grammask_grammar::{NonterminalDefinition, NonterminalId};

use super::derivability::Derivability;
use super::productions::{Body, Productions, Symbol};

/// Removes useless alternatives and rules.
pub fn drop_useless(productions: &mut Productions, derivability: &Derivability) {
    for (index, rule) in productions.rules.iter_mut().enumerate() {
        let own = Symbol::Nonterminal(NonterminalId::new(index));
        match &mut rule.body {
            Body::Alternatives(alternatives) => alternatives.retain(|symbols| {
                symbols[..] != [own] && symbols.iter().all(|&symbol| derivability.derives(symbol))
            }),
            Body::Selection { .. } => {}
            Body::Scope(symbol) | Body::Value { symbol, .. } => {
                if !derivability.derives(*symbol) {
                    rule.body = Body::Alternatives(Vec::new());
                }
            }
            Body::Repeat { symbol, min, max } => {
                if *max == Some(0) || (*min == 0 && !derivability.derives(*symbol)) {
                    rule.body = Body::Alternatives(vec![Vec::new()]);
                } else if !derivability.derives(*symbol) {
                    rule.body = Body::Alternatives(Vec::new());
                }
            }
        }
    }
    drop_unreachable(productions);
}

/// Empties the rules that are unreachable from the start symbol.
pub fn drop_unreachable(productions: &mut Productions) {
    let reached = productions.reachable();
    for (rule, _) in productions.rules.iter_mut().zip(reached).filter(|&(_, reached)| !reached) {
        rule.body = Body::Alternatives(Vec::new());
    }
}

/// Warnings about rules that are unreachable, unproductive, never end, or derive themselves, and an error if the start
/// symbol is unproductive. `definitions` are the user's nonterminals, the first rules of `productions`.
#[must_use]
pub fn diagnose(
    productions: &Productions,
    derivability: &Derivability,
    definitions: &[NonterminalDefinition],
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let start = Symbol::Nonterminal(productions.start);
    if !derivability.derives(start) {
        diagnostics.push(
            Diagnostic::error(Code::EmptyLanguage, "no text at all matches the grammar")
                .at(definitions[productions.start.index()].span)
                .help("every alternative of the start symbol needs a rule that derives nothing, or a regular expression that matches no whole text"),
        );
    }
    let reached = productions.reachable();
    let cyclic = unit_cycles(productions, derivability);
    for (index, definition) in definitions.iter().enumerate().filter(|(_, definition)| definition.defined) {
        let symbol = Symbol::Nonterminal(NonterminalId::new(index));
        let name = &definition.name;
        let warning = if !reached[index] {
            Diagnostic::warning(Code::UnusedRule, format!("the rule `{name}` is never used"))
        } else if !derivability.derives(symbol) {
            if symbol == start {
                continue;
            }
            Diagnostic::warning(Code::DeadRule, format!("the rule `{name}` derives no text"))
                .help("whatever needs it is never entered; give it an alternative that can end")
        } else if !derivability.is_finite(symbol) {
            Diagnostic::warning(Code::EndlessRule, format!("the rule `{name}` never ends"))
                .help("a text under it goes on for ever; give it an alternative without itself")
        } else if cyclic[index] {
            Diagnostic::warning(
                Code::UnitCycle,
                format!("the rule `{name}` derives itself without reading anything"),
            )
            .help("the cycle adds no text; remove it")
        } else {
            continue;
        };
        diagnostics.push(warning.at(definition.span));
    }
    diagnostics
}

/// Whether each nonterminal `A` has a derivation of `A` from `A` in at least one step.
fn unit_cycles(productions: &Productions, derivability: &Derivability) -> Vec<bool> {
    let mut successors = AdjacencyList::with_capacity(productions.rules.len());
    for rule in &productions.rules {
        if let Body::Repeat { symbol: Symbol::Nonterminal(id), min, max } = &rule.body
            && *max != Some(0)
            && (*min <= 1 || derivability.finite(Symbol::Nonterminal(*id)).empty)
        {
            successors.push(id.index());
        }
        for symbols in rule.body.alternatives() {
            let opaque = symbols.iter().filter(|&&symbol| !derivability.finite(symbol).empty).count();
            for &symbol in symbols {
                let alone = opaque == 0 || (opaque == 1 && !derivability.finite(symbol).empty);
                if let Symbol::Nonterminal(id) = symbol
                    && alone
                {
                    successors.push(id.index());
                }
            }
        }
        successors.end_node();
    }
    let components = components_of(&successors);
    let mut sizes = vec![0; components.count];
    for &component in &components.of_node {
        sizes[component] += 1;
    }
    (0..productions.rules.len())
        .map(|node| sizes[components.of_node[node]] > 1 || successors.of(node).contains(&(node as u32)))
        .collect()
}
