//! Masks inside and before values that a text must not, or must, repeat.
//!
//! A mask is composed as if values had no conditions, which sets share whatever their values are, and a few tokens are
//! confirmed by steps:
//!
//! - the *suspects*, which begin a value with a condition after their own beginning, and
//! - the *repeating* tokens, in which an open value, or one that they begin with, can become a remembered one, or is one
//!   before they go on.
//!
//! A repeated value that has begun, or that tokens begin with, is left out of the composition: its few tokens are
//! repeating ones.
//!
//! All other tokens leave each value with a prefix that no remembered value begins with, or complete a value that is
//! not remembered. What follows is legal where no symbol of a value ahead can run out of values; elsewhere masks are
//! computed by a walk.

use std::sync::Arc;

use grammask_grammar::ValueKind;
use grammask_vocabulary::{LiveTokens, TokenId, TokenTrie, TrieNode};

use super::budget::ComposeError;
use super::compose::MaskComputation;
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

/// The tokens that may be illegal whatever is remembered.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    /// Nodes after the first bytes of values that begin after the root. The tokens there and below are suspects.
    pub(super) begun: Vec<BegunValues>,
    /// The continuations that were resumed inside values, in order.
    pub(super) resumed: Vec<ContinuationId>,
}

impl Suspects {
    /// The suspects among live tokens.
    pub(super) fn tokens(self, trie: &TokenTrie, live: &[LiveTokens]) -> Vec<TokenId> {
        let begun = self.begun.iter().flat_map(|nodes| nodes.iter()).copied();
        let mut tokens = tokens_below(begun.collect(), trie);
        tokens.sort_unstable();
        tokens.dedup();
        tokens.retain(|&token| live.iter().any(|part| part.contains(token)));
        tokens
    }
}

/// The tokens at and below some nodes.
fn tokens_below(mut nodes: Vec<TrieNode>, trie: &TokenTrie) -> Vec<TokenId> {
    nodes.sort_unstable();
    let mut end = TrieNode::ROOT;
    let mut tokens = Vec::new();
    for node in nodes {
        // Nodes below an earlier one add nothing.
        if node >= end {
            end = trie.subtree_end(node);
            tokens.extend_from_slice(trie.subtree_tokens(node));
        }
    }
    tokens
}

/// The tokens whose legality depends on the remembered values, sorted.
#[derive(Debug, Default)]
pub(crate) struct RepeatingTokens {
    /// Those that may be illegal because a value must not be, or begin with, a remembered one.
    pub(crate) excluded: Vec<TokenId>,
    /// Those that may be legal because a value must repeat one.
    pub(crate) repeated: Vec<TokenId>,
}

impl RepeatingTokens {
    /// The tokens of these values and of those inside them.
    pub(super) fn new(values: &[OpenValue], trie: &TokenTrie) -> Self {
        let mut tokens = Self::default();
        let mut stack: Vec<&OpenValue> = values.iter().collect();
        while let Some(value) = stack.pop() {
            let of_kind = match value.kind {
                ValueKind::Repeated => &mut tokens.repeated,
                _ => &mut tokens.excluded,
            };
            let mut complete = Vec::new();
            for &(node, is_complete) in &value.repeatable {
                of_kind.extend_from_slice(trie.tokens(node));
                complete.extend(is_complete.then_some(node));
            }
            of_kind.extend(tokens_below(complete, trie));
            stack.extend(&value.inner);
        }
        for of_kind in [&mut tokens.excluded, &mut tokens.repeated] {
            of_kind.sort_unstable();
            of_kind.dedup();
        }
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
        if value.kind == ValueKind::Repeated && value.is_begun {
            return Ok(());
        }
        if !value.is_begun {
            return value.inner.iter().try_for_each(|inner| self.open_value(inner, worklist, suspects));
        }
        let mut inner = Worklist::default();
        let complete = self.set(&value.items, &value.inner, &mut inner, suspects)?;
        worklist.live.append(&mut inner.live);
        suspects.resumed.extend(inner.completed());
        let ends = complete.finish(self.trie, self.vocabulary.summaries());
        worklist.advance(
            self,
            value.item.dot,
            value.item.continuation,
            ends.unwrap_or_else(|| self.nothing.clone()),
        )?;
        Ok(())
    }
}
