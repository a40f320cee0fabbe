//! Pass: an alternative that stands twice in a rule stands once.

use rustc_hash::FxHashSet;

use super::productions::{Body, Productions};

/// Drops repeated alternatives, keeping first occurrences. Cost: linear.
pub fn deduplicate_alternatives(productions: &mut Productions) {
    for rule in &mut productions.rules {
        if let Body::Alternatives(alternatives) = &mut rule.body
            && alternatives.len() > 1
        {
            let mut seen = FxHashSet::default();
            alternatives.retain(|symbols| seen.insert(symbols.clone()));
        }
    }
}
