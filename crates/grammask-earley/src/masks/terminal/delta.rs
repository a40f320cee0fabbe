//! The difference between the summaries of two languages below the same trie nodes.
//!
//! Several strategies find the summary of a state from that of a similar state: one that differs in a few transitions,
//! or that excludes no names. Each finds a [`SummaryDelta`] by visiting only the trie nodes at which the two may
//! differ.

use std::ops::Range;

use grammask_vocabulary::{
    LiveTokens, NodeSet, TerminalSummary, TokenId, TokenRanges, TokenTrie, TrieNode, Vocabulary, ones,
    words_of,
};

use super::super::summary::Wanted;
use super::super::tuning::MAX_DELTA_TOKENS;
use super::walk::{DenseSummary, WalkResult};

/// Changes to the summary of a base language. Other nodes and tokens are as in the base.
#[derive(Debug, Default)]
pub(crate) struct SummaryDelta {
    /// Tokens that are not live, in any order and with repetition; some may not be live in the base either.
    removed: Vec<TokenId>,
    /// Tokens that are live, taking precedence over `removed`.
    added: TokenRanges,
    /// Node ranges without ends, any two disjoint or nested; ends in `ended` take precedence.
    cleared: Vec<Range<u32>>,
    /// Nodes where a word ends.
    ended: Vec<u32>,
    /// Visited trie nodes and tokens.
    pub(crate) work: usize,
}

impl SummaryDelta {
    /// Whether both summaries are equal.
    pub(crate) fn is_empty(&self) -> bool {
        self.removed.is_empty()
            && self.cleared.is_empty()
            && self.ended.is_empty()
            && self.added.token_count() == 0
    }

    /// No word passes through `node`.
    pub(crate) fn remove_subtree(&mut self, node: TrieNode, trie: &TokenTrie) {
        let tokens = trie.subtree_tokens(node);
        self.work += tokens.len();
        self.removed.extend_from_slice(tokens);
        self.cleared.push(node.0..trie.subtree_end(node).0);
    }

    /// A word ends at `node`, or none does.
    pub(crate) fn set_end(&mut self, node: TrieNode, is_word: bool) {
        self.cleared.push(node.0..node.0 + 1);
        self.ended.extend(is_word.then_some(node.0));
    }

    /// The tokens and ends of a walk of subtrees that are dead in the base, or removed.
    pub(crate) fn add(&mut self, walked: DenseSummary) {
        self.added = walked.tokens;
        self.ended.extend(ones(&walked.ends));
    }

    /// The summary that differs from `base` by this delta. It has ends where they are wanted and the base has them.
    pub(crate) fn apply(self, base: &TerminalSummary, wanted: Wanted, vocabulary: &Vocabulary) -> WalkResult {
        let (trie, size) = (vocabulary.trie(), vocabulary.size());
        let live = if self.removed.len() + self.added.token_count() > MAX_DELTA_TOKENS {
            let mut set = base.live.to_set(size);
            for token in self.removed {
                set.remove(token);
            }
            self.added.add_to(&mut set, trie);
            LiveTokens::from_set(set)
        } else {
            let kept = base.live.but(self.removed, size);
            match self.added.token_count() {
                0 => kept,
                _ => LiveTokens::union(&[kept, self.added.finish(vocabulary)], size, vocabulary.summaries()),
            }
        };
        let ends = base.ends.as_ref().filter(|_| wanted == Wanted::LiveAndEnds);
        let ends = ends.map(|ends| patched(ends, self.cleared, self.ended, trie));
        WalkResult { live, ends, work: self.work }
    }
}

/// The nodes of a set outside of some ranges, any two of which are disjoint or nested, together with other nodes.
fn patched(ends: &NodeSet, mut cleared: Vec<Range<u32>>, mut ended: Vec<u32>, trie: &TokenTrie) -> NodeSet {
    if ends.is_dense() {
        let mut bits = ends.to_bits(trie);
        for range in cleared {
            for (word, inside) in words_of(range.start as usize..range.end as usize) {
                bits[word] &= !inside;
            }
        }
        for node in ended {
            bits[node as usize >> 6] |= 1 << (node & 63);
        }
        return NodeSet::from_bits(bits, trie);
    }
    cleared.sort_unstable_by_key(|range| range.start);
    let mut rest = &cleared[..];
    let kept = ends.iter().map(|node| node.0).filter(|node| {
        while rest.first().is_some_and(|range| range.end <= *node) {
            rest = &rest[1..];
        }
        rest.first().is_none_or(|range| *node < range.start)
    });
    ended.extend(kept);
    NodeSet::new(ended, trie)
}
