//! Pass: nonterminals with the same productions become one.
//!
//! `a ::= "x" b; b ::= "y"; c ::= "x" d; d ::= "y";` becomes `a ::= "x" b; b ::= "y";`. References of rules to
//! themselves are equal, so `a ::= "x" a | "y"` and `b ::= "x" b | "y"` are merged.

use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, Hash, Hasher};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::productions::{Body, Productions, Symbol};
use grammask_grammar::NonterminalId;

/// Maximum number of rounds. Merging is an optimisation, and one or two rounds suffice in practice.
const MAX_ROUNDS: usize = 4;
/// Maximum number of different rules of the same hash with which a rule is compared. More than one exist only in
/// adversarial grammars.
const MAX_COLLISIONS: usize = 8;

/// Merges rules with the same alternatives, in any order.
pub fn merge_identical_rules(productions: &mut Productions) {
    // Rules precede their users, so that rules which differ only in merged symbols are merged in the same round.
    let order = productions.bottom_up();
    let mut representatives: Vec<NonterminalId> =
        (0..productions.rules.len()).map(NonterminalId::new).collect();
    let mut rounds = 0;
    while rounds < MAX_ROUNDS && merge_once(productions, &order, &mut representatives) {
        rounds += 1;
    }
    if rounds > 0 {
        super::drop_useless::drop_unreachable(productions);
    }
}

/// One round. `representatives` holds the rule with which each rule was merged. Returns whether more rules were merged.
fn merge_once(productions: &mut Productions, order: &[usize], representatives: &mut [NonterminalId]) -> bool {
    // The first rule with each hash of a body. Most rules have no equal, so bodies are hashed without being copied.
    let mut rules: FxHashMap<u64, NonterminalId> = FxHashMap::default();
    rules.reserve(order.len());
    // Other rules with the same hash.
    let mut others: FxHashMap<u64, Vec<NonterminalId>> = FxHashMap::default();
    let mut hashes: Vec<u64> = Vec::new();
    let mut changed = false;
    for &index in order {
        let own = NonterminalId::new(index);
        if representatives[index] != own {
            continue;
        }
        let body = productions.body(own);
        if matches!(body, Body::Alternatives(alternatives) if alternatives.is_empty()) {
            continue;
        }
        let hash = hash_of(body, own, representatives, &mut hashes);
        let first = match rules.entry(hash) {
            Entry::Vacant(entry) => {
                entry.insert(own);
                continue;
            }
            Entry::Occupied(entry) => *entry.get(),
        };
        let is_equal = |other: NonterminalId| {
            let key = |id: NonterminalId| key_of(productions.body(id), id, representatives);
            is_same_in_order(productions, own, other, representatives) || key(other) == key(own)
        };
        let collisions = others.get(&hash).map_or(&[][..], Vec::as_slice);
        let equal = std::iter::once(first).chain(collisions.iter().copied()).find(|&other| is_equal(other));
        match equal {
            Some(representative) => {
                representatives[index] = representative;
                changed = true;
            }
            None if collisions.len() + 1 < MAX_COLLISIONS => others.entry(hash).or_default().push(own),
            None => {}
        }
    }
    if changed {
        for rule in &mut productions.rules {
            rule.body.map(|symbol| match symbol {
                Symbol::Nonterminal(id) => Symbol::Nonterminal(representatives[id.index()]),
                Symbol::Terminal(_) => symbol,
            });
        }
        productions.start = representatives[productions.start.index()];
    }
    changed
}

/// The canonical form of a symbol in a rule's body, for comparisons. The last id, which no rule has, denotes the rule
/// itself.
fn canonical(symbol: Symbol, own: NonterminalId, representatives: &[NonterminalId]) -> Symbol {
    match symbol {
        Symbol::Nonterminal(id) if id == own => Symbol::Nonterminal(NonterminalId::new(u32::MAX as usize)),
        Symbol::Nonterminal(id) => Symbol::Nonterminal(representatives[id.index()]),
        Symbol::Terminal(_) => symbol,
    }
}

/// Whether two rules have the same alternatives in the same order, as most equal rules have.
fn is_same_in_order(
    productions: &Productions,
    one: NonterminalId,
    other: NonterminalId,
    representatives: &[NonterminalId],
) -> bool {
    let same = |left: &[Symbol], right: &[Symbol]| {
        left.len() == right.len()
            && left.iter().zip(right).all(|(&left, &right)| {
                canonical(left, one, representatives) == canonical(right, other, representatives)
            })
    };
    match (productions.body(one), productions.body(other)) {
        (Body::Alternatives(left), Body::Alternatives(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        _ => false,
    }
}

/// The canonical form of a body, which equal rules have in common.
fn key_of(body: &Body, own: NonterminalId, representatives: &[NonterminalId]) -> Body {
    let mut key = body.clone();
    key.map(|symbol| canonical(symbol, own, representatives));
    if let Body::Alternatives(alternatives) = &mut key {
        alternatives.sort_unstable();
        alternatives.dedup();
    }
    key
}

/// A hash of the result of [`key_of`], without computing it. `hashes` is scratch space.
fn hash_of(body: &Body, own: NonterminalId, representatives: &[NonterminalId], hashes: &mut Vec<u64>) -> u64 {
    match body {
        Body::Repeat { symbol, min, max } => {
            FxBuildHasher.hash_one((canonical(*symbol, own, representatives), min, max))
        }
        Body::Scope(symbol) => FxBuildHasher.hash_one((canonical(*symbol, own, representatives), "scope")),
        Body::Value { symbol, condition } => {
            FxBuildHasher.hash_one((canonical(*symbol, own, representatives), condition))
        }
        Body::Selection { selection, parts, separator } => {
            hashes.clear();
            let symbols = parts.iter().chain([separator]);
            hashes.extend(symbols.map(|&part| FxBuildHasher.hash_one(canonical(part, own, representatives))));
            FxBuildHasher.hash_one((selection, &hashes[..]))
        }
        Body::Alternatives(alternatives) => {
            hashes.clear();
            hashes.extend(alternatives.iter().map(|symbols| {
                let mut hasher = FxBuildHasher.build_hasher();
                for &symbol in symbols {
                    canonical(symbol, own, representatives).hash(&mut hasher);
                }
                hasher.finish()
            }));
            hashes.sort_unstable();
            hashes.dedup();
            FxBuildHasher.hash_one(&hashes[..])
        }
    }
}
