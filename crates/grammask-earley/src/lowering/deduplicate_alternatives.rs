//! Pass: an alternative that stands twice in a rule stands once.

use rustc_hash::FxHashSet;

use super::productions::{Body, Productions, Symbol};

/// Rules with fewer alternatives are looked at pair by pair.
const MANY: usize = 8;

/// Drops repeated alternatives, keeping first occurrences. Cost: linear.
pub fn deduplicate_alternatives(productions: &mut Productions) {
    for rule in &mut productions.rules {
        if let Body::Alternatives(alternatives) = &mut rule.body
            && alternatives.len() > 1
        {
            if alternatives.len() < MANY && !has_repetition(alternatives) {
                continue;
            }
            let mut seen = FxHashSet::default();
            alternatives.retain(|symbols| seen.insert(symbols.clone()));
        }
    }
}

fn has_repetition(alternatives: &[Vec<Symbol>]) -> bool {
    (1..alternatives.len()).any(|index| alternatives[..index].contains(&alternatives[index]))
}
