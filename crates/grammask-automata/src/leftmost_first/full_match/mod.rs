//! The texts that a backtracking matcher matches from start to end, such as those of Python's `re.fullmatch`.
//!
//! A text matches if any path of the matcher spans it, so the order of alternatives has no effect outside of atomic
//! groups. Parts without look-around and atomic groups are plain terms, so their counted repetitions have no cost in
//! states. Look-aheads, and look-behinds at the start of the text, are set operations on the terms of the remaining
//! text, from right to left (`suffix_terms`). Other patterns are compiled (`program`) and determinised as a whole
//! (`simulation`): each look-around becomes a condition on the past or on the future of a thread.
//!
//! An atomic group takes its first match, which is the longest prefix of the remaining text among the words of
//! [`FirstMatches`]: a word that no longer word extends in this text. The item of an atomic group must be free of
//! look-around and of atomic groups.

mod program;
mod simulation;
mod suffix_terms;

use std::fmt;

use super::FirstMatchError;
use super::pattern::{OrderedNode, OrderedPattern};
use crate::{TermId, Terms};

use program::ConditionalProgram;
use suffix_terms::SuffixTerms;

/// Maximum nesting depth of a pattern. It bounds the recursion of all steps.
const MAX_DEPTH: usize = 250;

/// The reason for which the full matches of a pattern have no term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullMatchError {
    /// The pattern is nested too deeply.
    NestedTooDeeply,
    /// The pattern has too many instructions or states.
    TooLarge,
    /// The item of an atomic group has no first matches.
    AtomicGroup(FirstMatchError),
}

impl fmt::Display for FullMatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NestedTooDeeply => "the pattern is nested too deeply",
            Self::TooLarge => "the automaton of the look-around of the pattern is too large",
            Self::AtomicGroup(_) => {
                "an atomic group or possessive repetition contains what is not supported there"
            }
        })
    }
}

impl std::error::Error for FullMatchError {}

/// The UTF-8 texts that `pattern` matches from start to end.
///
/// # Errors
/// If the pattern is nested too deeply or needs too many states, or an atomic group has no first matches.
pub fn full_match(terms: &mut Terms, pattern: &OrderedPattern) -> Result<TermId, FullMatchError> {
    let Some(root) = pattern.root() else { return Ok(terms.epsilon()) };
    if depth(pattern) > MAX_DEPTH {
        return Err(FullMatchError::NestedTooDeeply);
    }
    if let Some(term) = SuffixTerms::new(terms, pattern).whole(root) {
        return Ok(term);
    }
    let program = ConditionalProgram::new(pattern, root)?;
    let automaton = simulation::determinize(&program)?;
    Ok(terms.table(automaton.utf8_table()))
}

fn depth(pattern: &OrderedPattern) -> usize {
    let mut depths: Vec<usize> = Vec::with_capacity(pattern.len());
    for node in pattern.nodes() {
        let below = match node {
            OrderedNode::Characters(_) => None,
            OrderedNode::Sequence(items) | OrderedNode::Choice(items) => {
                items.iter().map(|item| depths[item.index()]).max()
            }
            OrderedNode::Repeat { item, .. } | OrderedNode::Look { item, .. } | OrderedNode::Atomic(item) => {
                Some(depths[item.index()])
            }
        };
        depths.push(below.map_or(1, |below| below + 1));
    }
    depths.last().copied().unwrap_or(0)
}
