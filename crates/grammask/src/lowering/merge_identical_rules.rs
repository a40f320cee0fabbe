//! Pass: nonterminals with the same productions become one.
//!
//! `a ::= "x" b; b ::= "y"; c ::= "x" d; d ::= "y";` needs only `a` and `b`. A rule's own name inside its body
//! counts as "itself", so `a ::= "x" a | "y"` and `b ::= "x" b | "y"` are the same.

use rustc_hash::FxHashMap;

use super::productions::{Body, Productions, Symbol};
use crate::grammar::NonterminalId;

/// Rounds after which merging stops although more could merge: it is an optimisation, and grammars of people
/// need one or two.
const ROUNDS: usize = 4;

/// Merges rules with the same alternatives, in any order.
pub fn merge_identical_rules(productions: &mut Productions) {
    for _ in 0..ROUNDS {
        if !merge_once(productions) {
            break;
        }
    }
    super::drop_useless::drop_unreachable(productions);
}

/// Merges bottom up, so that rules which differ only in merged symbols merge in the same round.
fn merge_once(productions: &mut Productions) -> bool {
    let mut representatives: Vec<Symbol> =
        (0..productions.rules.len()).map(|index| Symbol::Nonterminal(NonterminalId::new(index))).collect();
    let mut rules: FxHashMap<Body, Symbol> = FxHashMap::default();
    let mut changed = false;
    for index in productions.bottom_up() {
        let own = Symbol::Nonterminal(NonterminalId::new(index));
        let mut key = productions.rules[index].body.clone();
        if matches!(&key, Body::Alternatives(alternatives) if alternatives.is_empty()) {
            continue;
        }
        key.map(|symbol| match symbol {
            // No rule has the last id, so it can stand for "itself".
            Symbol::Nonterminal(_) if symbol == own => Symbol::Nonterminal(NonterminalId(u32::MAX)),
            Symbol::Nonterminal(id) => representatives[id.index()],
            Symbol::Terminal(_) => symbol,
        });
        if let Body::Alternatives(alternatives) = &mut key {
            alternatives.sort_unstable();
            alternatives.dedup();
        }
        let representative = *rules.entry(key).or_insert(own);
        if representative != own {
            representatives[index] = representative;
            changed = true;
        }
    }
    if changed {
        for rule in &mut productions.rules {
            rule.body.map(|symbol| match symbol {
                Symbol::Nonterminal(id) => representatives[id.index()],
                Symbol::Terminal(_) => symbol,
            });
        }
        if let Symbol::Nonterminal(start) = representatives[productions.start.index()] {
            productions.start = start;
        }
    }
    changed
}
