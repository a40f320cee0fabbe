//! Pass: nonterminals with the same productions become one.
//!
//! `a ::= "x" b; b ::= "y"; c ::= "x" d; d ::= "y";` needs only `a` and `b`. A rule's own name inside its body
//! counts as "itself", so `a ::= "x" a | "y"` and `b ::= "x" b | "y"` are the same.

use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, Hash, Hasher};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::productions::{Body, Productions, Symbol};
use grammask_grammar::NonterminalId;

/// Rounds after which merging stops although more could merge: it is an optimisation, and grammars of people
/// need one or two.
const ROUNDS: usize = 4;
/// Different rules with the same hash that a rule is compared with: there is one, unless somebody looks for more.
const MOST_ALIKE: usize = 8;

/// Merges rules with the same alternatives, in any order.
pub fn merge_identical_rules(productions: &mut Productions) {
    // Parts come first, so that rules which differ only in merged symbols merge in the same round.
    let order = productions.bottom_up();
    let mut representatives: Vec<NonterminalId> =
        (0..productions.rules.len()).map(NonterminalId::new).collect();
    for _ in 0..ROUNDS {
        if !merge_once(productions, &order, &mut representatives) {
            break;
        }
    }
    super::drop_useless::drop_unreachable(productions);
}

/// One round; `representatives` says what each rule was merged with before. Returns whether more rules merged.
fn merge_once(productions: &mut Productions, order: &[usize], representatives: &mut [NonterminalId]) -> bool {
    // By the hash of the body: the first rule with it. Most rules are not like any other, and are hashed in place.
    let mut rules: FxHashMap<u64, NonterminalId> = FxHashMap::default();
    rules.reserve(order.len());
    // The others with the same hash.
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
        let alike = others.get(&hash).map_or(&[][..], Vec::as_slice);
        let equal = std::iter::once(first).chain(alike.iter().copied()).find(|&other| is_equal(other));
        match equal {
            Some(representative) => {
                representatives[index] = representative;
                changed = true;
            }
            None if alike.len() + 1 < MOST_ALIKE => others.entry(hash).or_default().push(own),
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

/// A symbol of a rule's body, as rules are compared: no rule has the last id, so it can stand for "itself".
fn compared(symbol: Symbol, own: NonterminalId, representatives: &[NonterminalId]) -> Symbol {
    match symbol {
        Symbol::Nonterminal(id) if id == own => Symbol::Nonterminal(NonterminalId::new(u32::MAX as usize)),
        Symbol::Nonterminal(id) => Symbol::Nonterminal(representatives[id.index()]),
        Symbol::Terminal(_) => symbol,
    }
}

/// Whether two rules are the same without sorting their alternatives, as most equal ones are.
fn is_same_in_order(
    productions: &Productions,
    one: NonterminalId,
    other: NonterminalId,
    representatives: &[NonterminalId],
) -> bool {
    let same = |left: &[Symbol], right: &[Symbol]| {
        left.len() == right.len()
            && left.iter().zip(right).all(|(&left, &right)| {
                compared(left, one, representatives) == compared(right, other, representatives)
            })
    };
    match (productions.body(one), productions.body(other)) {
        (Body::Alternatives(left), Body::Alternatives(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        _ => false,
    }
}

/// What equal rules have in common.
fn key_of(body: &Body, own: NonterminalId, representatives: &[NonterminalId]) -> Body {
    let mut key = body.clone();
    key.map(|symbol| compared(symbol, own, representatives));
    if let Body::Alternatives(alternatives) = &mut key {
        alternatives.sort_unstable();
        alternatives.dedup();
    }
    key
}

/// A hash of what [`key_of`] makes, without making it. `hashes` is scratch.
fn hash_of(body: &Body, own: NonterminalId, representatives: &[NonterminalId], hashes: &mut Vec<u64>) -> u64 {
    match body {
        Body::Repeat { symbol, min, max } => {
            FxBuildHasher.hash_one((compared(*symbol, own, representatives), min, max))
        }
        Body::Selection { selection, parts, separator } => {
            hashes.clear();
            let symbols = parts.iter().chain([separator]);
            hashes.extend(symbols.map(|&part| FxBuildHasher.hash_one(compared(part, own, representatives))));
            FxBuildHasher.hash_one((selection, &hashes[..]))
        }
        Body::Alternatives(alternatives) => {
            hashes.clear();
            hashes.extend(alternatives.iter().map(|symbols| {
                let mut hasher = FxBuildHasher.build_hasher();
                for &symbol in symbols {
                    compared(symbol, own, representatives).hash(&mut hasher);
                }
                hasher.finish()
            }));
            hashes.sort_unstable();
            hashes.dedup();
            FxBuildHasher.hash_one(&hashes[..])
        }
    }
}
