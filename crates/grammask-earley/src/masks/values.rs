//! Masks inside and before values that a text must not, or must, repeat.
//!
//! A mask is composed as if values had no conditions. That is a superset of the mask, and the few tokens in it that may
//! be illegal, the *suspects*, are confirmed by steps. A token is above suspicion if it
//!
//! - begins no value, except at its beginning, and
//! - leaves each open value, or one that it begins with, with a prefix that no remembered value begins with. Then the
//!   value is fresh whatever follows, and the text after it is legal unless the symbols of further values run out of
//!   values.

use grammask_vocabulary::{LiveTokens, NodeSetRef, TokenId, TokenTrie, TrieNode};

use super::budget::ComposeError;
use super::compose::{MaskComputation, SymbolSummary};
use super::fixpoint::Worklist;
use crate::recognizer::{ContinuationId, OpenValue};

/// The tokens that may be illegal.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    /// Nodes at which values may begin. All tokens below them are suspects; for the root, [`Self::nodes`] replaces them.
    pub(super) begun: Vec<NodeSetRef>,
    /// Nodes whose tokens are suspects.
    nodes: Vec<TrieNode>,
    /// Nodes such that the tokens below them are suspects.
    below: Vec<TrieNode>,
}

impl Suspects {
    /// The suspects among live tokens.
    pub(super) fn tokens(self, trie: &TokenTrie, live: &[LiveTokens]) -> Vec<TokenId> {
        let Self { begun, nodes, mut below } = self;
        for set in begun {
            below.extend(set.iter().filter(|&node| node != TrieNode::ROOT));
        }
        if nodes.is_empty() && below.is_empty() {
            return Vec::new();
        }
        let mut tokens: Vec<TokenId> = nodes.iter().flat_map(|&node| trie.tokens(node)).copied().collect();
        below.sort_unstable();
        let mut end = TrieNode::ROOT;
        for node in below {
            // Nodes below an earlier one add nothing.
            if node >= end {
                end = trie.subtree_end(node);
                tokens.extend_from_slice(&trie.subtree_tokens(node)[trie.tokens(node).len()..]);
            }
        }
        tokens.sort_unstable();
        tokens.dedup();
        tokens.retain(|&token| live.iter().any(|part| part.contains(token)));
        tokens
    }
}

impl MaskComputation<'_> {
    /// Adds the live tokens of an open value, and what follows it, to the worklist; a value that has not begun is
    /// composed with the items before it.
    pub(super) fn open_value(
        &mut self,
        value: &OpenValue,
        worklist: &mut Worklist<ContinuationId>,
        suspects: &mut Suspects,
    ) -> Result<(), ComposeError> {
        let mut inner = Worklist::default();
        let ends = if value.is_begun {
            let complete = self.set(&value.items, &value.inner, &mut inner, suspects)?;
            worklist.live.append(&mut inner.live);
            let ends = complete.finish(self.trie, self.vocabulary.summaries());
            ends.unwrap_or_else(|| self.nothing.clone())
        } else {
            for inner_value in &value.inner {
                self.open_value(inner_value, &mut inner, suspects)?;
            }
            let SymbolSummary { ends, .. } = self.symbol_at_root(value.item.dot)?;
            ends
        };
        for &node in &value.repeatable {
            suspects.nodes.push(node);
            if ends.contains(node) {
                suspects.below.push(node);
            }
        }
        if value.is_scarce {
            suspects.below.extend(ends.iter());
        }
        if value.is_begun {
            worklist.advance(self, value.item.dot, value.item.continuation, ends)?;
        }
        Ok(())
    }
}
