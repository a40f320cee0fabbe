//! The legal tokens of a set inside an embedded grammar, by the set after them.
//!
//! The engine of the embedded grammar groups its own tokens. A token that the rest of the set does not read has the set of
//! its group: the item with the state after the token, and what follows the embedded grammar where its text is complete. All
//! others are left to the caller: those below the ends of the text, before a byte that can follow, and those that other
//! items of the set read. There are few, such as the end of a block in a Markdown answer.

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{ExitsRequest, SetId, Steps, SuccessorGroups};
use grammask_vocabulary::{TokenId, TokenSet, TokenTrie, TrieNode, Vocabulary};

use super::source::ContextFreeMasks;
use crate::recognizer::{InsideEmbedded, Recognizer};

/// Maximum number of trie nodes that other items of the set read.
const MAX_OTHER_NODES: usize = 1 << 12;
/// Maximum number of tokens that are left to the caller.
const MAX_OTHER_TOKENS: usize = 1 << 12;

impl ContextFreeMasks {
    /// As [`MaskSource::successor_groups`](grammask_engine::MaskSource::successor_groups).
    pub(super) fn groups_inside_embedded(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<SuccessorGroups>, LimitExceeded> {
        let recognizer = self.recognizer();
        let Some(inside) = recognizer.inside_embedded(set)? else { return Ok(None) };
        let source = self.embedded_source(inside.state.grammar);
        let Some(others) = self.tokens_of_others(&inside, vocabulary, deadline)? else { return Ok(None) };
        let Some(own) = source.successor_groups(inside.state.set, vocabulary, deadline)? else {
            return Ok(None);
        };
        let size = vocabulary.size();
        let mut is_other = TokenSet::new(size);
        is_other.extend(others.iter().chain(&own.others).copied());
        let others: Vec<TokenId> = is_other.iter().collect();
        let sets = recognizer.sets_inside_embedded(&inside, own.groups.iter().map(|&(state, _)| state))?;
        let mut groups = Vec::with_capacity(sets.len());
        for (set, (_, tokens)) in sets.into_iter().zip(own.groups) {
            let removed: Vec<TokenId> = match tokens.is_list() {
                true => tokens.iter().filter(|&token| is_other.contains(token)).collect(),
                false => others.clone(),
            };
            let tokens = tokens.but(removed, size);
            if !tokens.is_empty() {
                groups.push((set, tokens));
            }
        }
        Ok(Some(SuccessorGroups { groups, others }))
    }

    /// The tokens that leave the embedded grammar, and those that other items of the set read; `None` if they are many.
    fn tokens_of_others(
        &self,
        inside: &InsideEmbedded,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<Vec<TokenId>>, LimitExceeded> {
        let trie = vocabulary.trie();
        let mut tokens = Vec::new();
        if !inside.next_bytes.is_empty() {
            let request = ExitsRequest { set: inside.state.set, vocabulary, next_bytes: inside.next_bytes };
            let source = self.embedded_source(inside.state.grammar);
            let Some(found) = source.compute_exits(&request, deadline)? else { return Ok(None) };
            for &exit in &found.exits[..] {
                for child in trie.children(exit) {
                    let byte = trie.byte(child);
                    if inside.next_bytes.contains(byte) {
                        tokens.extend_from_slice(trie.subtree_tokens(child));
                    }
                }
            }
        }
        if let Some(others) = inside.others
            && !add_tokens_within(self.recognizer(), others, trie, deadline, &mut tokens)?
        {
            return Ok(None);
        }
        Ok((tokens.len() <= MAX_OTHER_TOKENS).then_some(tokens))
    }
}

/// Adds the legal tokens of a set; returns whether it reads few nodes.
fn add_tokens_within(
    recognizer: &Recognizer,
    set: SetId,
    trie: &TokenTrie,
    deadline: &Deadline,
    tokens: &mut Vec<TokenId>,
) -> Result<bool, LimitExceeded> {
    deadline.check()?;
    let mut path = vec![set];
    let mut node = TrieNode(1);
    let mut visited = 0;
    while node.index() < trie.len() {
        let depth = usize::from(trie.depth(node));
        let Some(next) = recognizer.step(path[depth - 1], trie.byte(node))? else {
            node = trie.subtree_end(node);
            continue;
        };
        visited += 1;
        if visited > MAX_OTHER_NODES {
            return Ok(false);
        }
        tokens.extend_from_slice(trie.tokens(node));
        path.truncate(depth);
        path.push(next);
        node = TrieNode(node.0 + 1);
    }
    Ok(true)
}
