//! Pass: removes repeated alternatives of a rule.

use rustc_hash::FxHashSet;

use super::productions::{Body, Productions, Symbol};

/// Minimum number of alternatives that are hashed; fewer are compared pairwise.
const MIN_HASHED: usize = 8;

/// Removes repeated alternatives and keeps the first occurrences. Cost: linear.
pub fn deduplicate_alternatives(productions: &mut Productions) {
    for rule in &mut productions.rules {
        if let Body::Alternatives(alternatives) = &mut rule.body
            && alternatives.len() > 1
        {
            if alternatives.len() < MIN_HASHED && !has_repetition(alternatives) {
                continue;
            }
            let mut distinct = FxHashSet::default();
            alternatives.retain(|symbols| distinct.insert(symbols.clone()));
        }
    }
}

fn has_repetition(alternatives: &[Vec<Symbol>]) -> bool {
    (1..alternatives.len()).any(|index| alternatives[..index].contains(&alternatives[index]))
}
