//! The mask of a set by stepping along the token trie, depth first: the cross-check for spanner tables.

use super::recognizer::{LexedRecognizer, RunsId};
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_vocabulary::{TokenSet, TrieNode, Vocabulary};

/// Nodes of the trie between two looks at the clock.
const NODES_PER_LOOK: usize = 1 << 10;

/// The tokens whose bytes can be read one after the other from `set`.
///
/// # Errors
/// When a limit is passed.
pub fn walk(
    recognizer: &LexedRecognizer,
    vocabulary: &Vocabulary,
    set: RunsId,
    deadline: &Deadline,
) -> Result<TokenSet, LimitExceeded> {
    let trie = vocabulary.trie();
    let mut mask = TokenSet::new(vocabulary.size());
    // The sets after each prefix of the current node's text.
    let mut path = vec![set];
    let mut node = TrieNode(1);
    let mut looks = 0;
    while node.index() < trie.len() {
        looks += 1;
        if looks % NODES_PER_LOOK == 0 {
            deadline.check()?;
        }
        let depth = usize::from(trie.depth(node));
        path.truncate(depth);
        match recognizer.step(path[depth - 1], trie.byte(node))? {
            Some(next) => {
                mask.extend(trie.tokens(node).iter().copied());
                path.push(next);
                node = TrieNode(node.0 + 1);
            }
            None => node = trie.subtree_end(node),
        }
    }
    Ok(mask)
}
