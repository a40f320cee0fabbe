//! Masks inside and before values that a text must not, or must, repeat.
//!
//! A mask is composed as if values had no conditions, which sets share whatever their values are, and a few tokens are
//! confirmed by steps:
//!
//! - the *suspects*, which begin a value with a condition after their own beginning,
//! - the *completing* tokens, in which an inexhaustible value that began after their own beginning is complete, if such a
//!   value was ever remembered, and
//! - the *repeating* tokens, in which an open value, or one that they begin with, can become a remembered one, or is one
//!   before they go on.
//!
//! Tokens that only begin an inexhaustible value are no suspects, since they can be completed whatever is remembered.
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

use crate::recognizer::{
    CompletedValue, CompletingNode, ContinuationId, OpenValue, RepeatingNodes, SetReader,
};

/// Nodes below which the values that begin after the root decide about tokens.
#[derive(Debug)]
pub(super) struct ValueNodes {
    /// Those after the first bytes of values.
    pub(super) begun: Box<[TrieNode]>,
    /// The inexhaustible values that are complete after them.
    pub(super) complete: Box<[CompletedValue]>,
}

/// The union of nodes; `None` if there are none.
pub(super) fn united(values: &[Arc<ValueNodes>]) -> Option<Arc<ValueNodes>> {
    match values {
        [] => None,
        [only] => Some(only.clone()),
        _ => {
            let begun = sorted(values.iter().flat_map(|nodes| nodes.begun.iter().copied()));
            let complete = sorted(values.iter().flat_map(|nodes| nodes.complete.iter().copied()));
            Some(Arc::new(ValueNodes { begun, complete }))
        }
    }
}

fn sorted<T: Ord>(nodes: impl Iterator<Item = T>) -> Box<[T]> {
    let mut nodes: Vec<T> = nodes.collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.into()
}

/// The tokens that may be illegal whatever is remembered.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    /// Nodes of values that begin after the root. The tokens at and below those after their first bytes are suspects.
    pub(super) values: Vec<Arc<ValueNodes>>,
    /// The continuations that were resumed inside values, in order.
    pub(super) resumed: Vec<ContinuationId>,
}

impl Suspects {
    /// The inexhaustible values that are complete after the root, sorted.
    pub(super) fn complete(&self) -> Box<[CompletedValue]> {
        sorted(self.values.iter().flat_map(|nodes| nodes.complete.iter().copied()))
    }

    /// The suspects among live tokens.
    pub(super) fn tokens(self, trie: &TokenTrie, live: &[LiveTokens]) -> Vec<TokenId> {
        let begun = self.values.iter().flat_map(|nodes| nodes.begun.iter().copied());
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

/// How values constrain the tokens of a mask, whatever is remembered.
#[derive(Debug)]
pub(crate) struct DecidedByValues {
    /// The tokens that may be illegal.
    pub(crate) suspects: Box<[TokenId]>,
    /// The nodes at which inexhaustible values are complete that began after the root.
    completing: Arc<[CompletingNode]>,
    /// Whether the text is inside of a value, or one can begin.
    pub(super) has_open_values: bool,
    /// Whether a value can begin.
    pub(super) begins_value: bool,
}

impl DecidedByValues {
    pub(super) fn new(
        suspects: Vec<TokenId>,
        completing: Arc<[CompletingNode]>,
        values: &[OpenValue],
    ) -> Self {
        let begins_value = values.iter().any(|value| !value.is_begun);
        Self { suspects: suspects.into(), completing, has_open_values: !values.is_empty(), begins_value }
    }

    /// Estimated memory, in bytes, without the nodes, which the recogniser shares.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.suspects)
    }
}

/// The tokens, of all of the vocabulary, whose legality depends on the remembered values, sorted.
#[derive(Debug, Default)]
pub(crate) struct RepeatingTokens {
    /// Those that may be illegal because a value must not be, or begin with, a remembered one.
    pub(crate) excluded: Vec<TokenId>,
    /// Those that may be legal because a value must repeat one.
    pub(crate) repeated: Vec<TokenId>,
}

impl RepeatingTokens {
    /// The tokens at and below nodes at which fresh values repeat one, and those of values that may begin after the root.
    pub(super) fn of_nodes(
        repeating: RepeatingNodes,
        decided: &DecidedByValues,
        reader: &SetReader<'_>,
        trie: &TokenTrie,
    ) -> Self {
        let RepeatingNodes { mut nodes, prefixes } = repeating;
        let may_repeat = |node: &&CompletingNode| reader.may_repeat(node, &prefixes);
        nodes.extend(decided.completing.iter().filter(may_repeat).map(|node| node.node));
        Self { excluded: tokens_below(nodes, trie), repeated: Vec::new() }
    }

    /// The tokens of these values, of those inside them and of those that may begin after them.
    pub(super) fn new(
        values: &[OpenValue],
        decided: &DecidedByValues,
        reader: &SetReader<'_>,
        trie: &TokenTrie,
    ) -> Self {
        let mut open = RepeatingNodes::default();
        let mut stack: Vec<&OpenValue> = values.iter().collect();
        while let Some(value) = stack.pop() {
            open.prefixes.extend(value.is_begun.then_some(value.prefix));
            stack.extend(&value.inner);
        }
        let mut tokens = Self::of_nodes(open, decided, reader, trie);
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
