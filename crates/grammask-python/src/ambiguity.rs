//! Ambiguous texts, as plain values.

use grammask::Limits;
use grammask::ambiguity::{Ambiguity, AmbiguityLimits, TreeLine, WordAlphabet, search};
use grammask::grammar::Grammar;

/// Lines of a tree: depth and label.
type LineTuple = (usize, String);
/// The rule, the text, two trees.
type AmbiguityTuple = (String, String, Vec<LineTuple>, Vec<LineTuple>);
/// The ambiguity, and the length up to which all words were compared.
pub(crate) type SearchTuple = (Option<AmbiguityTuple>, Option<usize>);

/// The shortest ambiguous text that a search finds, within the time of the limits but at most ten seconds.
pub(crate) fn search_texts(grammar: &Grammar, alphabet: WordAlphabet, limits: &Limits) -> SearchTuple {
    let mut bounds = AmbiguityLimits::default();
    bounds.time = bounds.time.min(limits.time);
    let found = search(grammar, alphabet, &bounds);
    let lines = |lines: Vec<TreeLine>| lines.into_iter().map(|line| (line.depth, line.label)).collect();
    let plain = |found: Ambiguity| {
        let [first, second] = found.trees;
        (found.rule.to_string(), found.text, lines(first), lines(second))
    };
    (found.ambiguity.map(plain), found.searched_length)
}
