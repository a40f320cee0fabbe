//! The mask of a state by a walk along the token trie.
//!
//! Depth first over the flat preorder arrays, with a stack of the states on the path from the root. Steps are
//! memoised in the engine, so a second walk over the same states costs one lookup per trie node. It is the
//! cross-check of all other strategies, and their exact fallback when they take too much work.

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_vocabulary::{TokenSet, TrieNode, Vocabulary};

use crate::{Engine, SetId};

/// The tokens that are legal in the state `set` by their bytes, without those of token terminals and without end
/// tokens.
///
/// # Errors
/// When a limit is exceeded.
pub fn walk<E: Engine + ?Sized>(
    engine: &E,
    vocabulary: &Vocabulary,
    set: SetId,
    deadline: &Deadline,
) -> Result<TokenSet, LimitExceeded> {
    let trie = vocabulary.trie();
    let mut mask = TokenSet::new(vocabulary.size());
    // The state at each depth of the path to the current node; the root is at depth 0.
    let mut path: Vec<SetId> = vec![set];
    let mut node = TrieNode(1);
    let mut new_steps = engine.new_steps();
    while node.index() < trie.len() {
        if new_steps != engine.new_steps() {
            new_steps = engine.new_steps();
            deadline.check()?;
        }
        let depth = usize::from(trie.depth(node));
        let Some(next) = engine.step(path[depth - 1], trie.byte(node))? else {
            node = trie.subtree_end(node);
            continue;
        };
        let tokens = trie.tokens(node);
        if !tokens.is_empty() && engine.end_token(next)?.is_some() {
            mask.extend(tokens.iter().copied());
        }
        path.truncate(depth);
        path.push(next);
        node = TrieNode(node.0 + 1);
    }
    Ok(mask)
}
