//! The mask of a set by a walk through the token trie.
//!
//! Depth first over the flat preorder arrays; the sets on the path from the root are kept by depth. Every step
//! is memoised in the recogniser, so a second walk through known sets costs one table lookup per trie node.

use crate::recognizer::{Recognizer, SetId, TokenMatch};
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_vocabulary::{LiveTokens, TokenSet, TrieNode, Vocabulary};

/// All tokens that can follow the text that led to `set`, end tokens aside.
///
/// # Errors
/// When a limit is passed.
pub fn walk(
    recognizer: &Recognizer,
    vocabulary: &Vocabulary,
    set: SetId,
    deadline: &Deadline,
) -> Result<TokenSet, LimitExceeded> {
    let mut mask = TokenSet::new(vocabulary.size());
    add_texts(recognizer, vocabulary, set, deadline, &mut mask)?;
    whole_tokens(recognizer, vocabulary, set)?.iter().for_each(|tokens| tokens.add_to(&mut mask));
    Ok(mask)
}

/// The tokens that `set` reads as a whole, as sets that are to be united.
pub fn whole_tokens(
    recognizer: &Recognizer,
    vocabulary: &Vocabulary,
    set: SetId,
) -> Result<Vec<LiveTokens>, LimitExceeded> {
    // A token read as a whole leaves only items before a symbol, which the end of a token never removes.
    let matches = recognizer.token_matches(set)?.into_iter().map(|token| match token {
        TokenMatch::Only(id) => LiveTokens::new(vec![id], vocabulary.size()),
        TokenMatch::AnyWithText => LiveTokens::from_shared(vocabulary.tokens_with_text().clone()),
        TokenMatch::OneOf(tokens) => LiveTokens::from_shared(tokens),
    });
    Ok(matches.collect())
}

fn add_texts(
    recognizer: &Recognizer,
    vocabulary: &Vocabulary,
    set: SetId,
    deadline: &Deadline,
    mask: &mut TokenSet,
) -> Result<(), LimitExceeded> {
    let trie = vocabulary.trie();
    // The set at each depth of the path to the current node; the root is at depth 0.
    let mut path: Vec<SetId> = vec![set];
    let mut node = 1;
    let mut new_steps = recognizer.new_steps();
    while node < trie.len() {
        let current = TrieNode(u32::try_from(node).unwrap_or(u32::MAX));
        if new_steps != recognizer.new_steps() {
            new_steps = recognizer.new_steps();
            deadline.check()?;
        }
        let depth = usize::from(trie.depth(current));
        let Some(next) = recognizer.step(path[depth - 1], trie.byte(current))? else {
            node = trie.subtree_end(current).index();
            continue;
        };
        let tokens = trie.tokens(current);
        if !tokens.is_empty() && recognizer.end_token(next)?.is_some() {
            for &id in tokens {
                mask.insert(id);
            }
        }
        path.truncate(depth);
        path.push(next);
        node += 1;
    }
    Ok(())
}
