//! Masks inside and before values that a text must not, or must, repeat.
//!
//! A mask is composed as if values had no conditions. That is a superset of the mask, and the few tokens in it that may
//! be illegal, the *suspects*, are confirmed by steps. A token is above suspicion if it
//!
//! - begins no value, except at its beginning, and
//! - leaves each open value, or one that it begins with, with a prefix that no remembered value begins with. Then the
//!   value is fresh whatever follows, and the text after it is legal unless the symbols of further values run out of
//!   values.

use std::sync::Arc;

use grammask_vocabulary::{LiveTokens, TokenId, TokenTrie, TrieNode};

use super::budget::ComposeError;
use super::compose::{MaskComputation, SymbolSummary};
use super::fixpoint::Worklist;
use crate::recognizer::{ContinuationId, OpenValue};

/// Nodes after the first bytes of values.
pub(super) type BegunValues = Arc<[TrieNode]>;

/// The union of nodes; `None` if there are none.
pub(super) fn united(values: &[BegunValues]) -> Option<BegunValues> {
    match values {
        [] => None,
        [only] => Some(only.clone()),
        _ => {
            let mut nodes: Vec<TrieNode> = values.iter().flat_map(|nodes| nodes.iter()).copied().collect();
            nodes.sort_unstable();
            nodes.dedup();
            Some(nodes.into())
        }
    }
}

/// The tokens that may be illegal.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    /// Nodes after the first bytes of values that begin after the root. The tokens there and below are suspects.
    pub(super) begun: Vec<BegunValues>,
    /// Nodes whose tokens are suspects.
    nodes: Vec<TrieNode>,
    /// Nodes such that the tokens below them are suspects.
    below: Vec<TrieNode>,
}

impl Suspects {
    /// The suspects among live tokens.
    pub(super) fn tokens(self, trie: &TokenTrie, live: &[LiveTokens]) -> Vec<TokenId> {
        let Self { begun, nodes, mut below } = self;
        let mut tokens: Vec<TokenId> = nodes.iter().flat_map(|&node| trie.tokens(node)).copied().collect();
        for &node in begun.iter().flat_map(|nodes| nodes.iter()) {
            tokens.extend_from_slice(trie.tokens(node));
            below.push(node);
        }
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
