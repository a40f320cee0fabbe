//! The summary of a terminal that differs from a known one along few paths of the trie, by going along these.
//!
//! Any name but those that an object declares is a string, once it has left the paths of the declared names. So what is known of
//! strings is copied, and both automata walk side by side over the bytes with which something excluded goes on: over all
//! others they come to the same state, and nothing below differs.

use std::ops::Range;

use crate::LimitExceeded;
use crate::automata::{Automata, ByteSet, StateId};
use crate::vocabulary::{NodeSet, TokenTrie, TrieNode, Vocabulary, words_of};

use super::terminal_walk::{Known, Walked};

/// Trie nodes that differ after which an ordinary walk is the better way.
const MOST_DIFFERENCES: usize = 1 << 12;

/// Walks the words that continue `state` below the root, where `known` says what is below it for the state that excludes
/// nothing. None where they differ much. Ends are found where they are known.
///
/// # Errors
/// When the automaton passes its limit.
pub(super) fn walk_differences(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    state: StateId,
    known: &Known,
) -> Result<Option<Walked>, LimitExceeded> {
    let trie = vocabulary.trie();
    let mut different = Vec::new();
    let mut stack = vec![(TrieNode::ROOT, state, known.state)];
    while let Some((node, state, other)) = stack.pop() {
        if different.len() > MOST_DIFFERENCES {
            return Ok(None);
        }
        let term = automata.term(state);
        let bytes = automata.terms().bytes_of_exclusions(term).unwrap_or(ByteSet::ALL);
        for byte in bytes.within(trie.child_bytes(node)).iter() {
            let (own, others) = (automata.step(state, byte)?, automata.step(other, byte)?);
            if own == others {
                continue;
            }
            // Not what is asked for: words beyond those of the known state.
            let Some(other) = others else { return Ok(None) };
            let Some(child) = trie.child(node, byte) else { continue };
            different.push((child, own));
            if let Some(own) = own
                && trie.has_children(child)
            {
                stack.push((child, own, other));
            }
        }
    }
    let mut work = different.len();
    let mut refused = Vec::new();
    // Nodes of which nothing is known any more, and those of them where words end.
    let (mut gone, mut ended) = (Vec::with_capacity(different.len()), Vec::new());
    for (node, state) in different {
        let end = match state {
            Some(state) => {
                ended.extend(automata.is_accepting(state).then_some(node.0));
                node.0 + 1
            }
            None => {
                let tokens = trie.subtree_tokens(node);
                work += tokens.len();
                refused.extend_from_slice(tokens);
                trie.subtree_end(node).0
            }
        };
        gone.push(node.0..end);
    }
    let live = known.summary.live.but(refused, vocabulary.size());
    let ends = known.summary.ends.as_ref();
    let ends = ends.map(|ends| mended(ends, gone, ended, trie));
    Ok(Some(Walked { live, ends, work }))
}

/// Nodes without those in some ranges that do not overlap, and with others.
pub(super) fn mended(
    ends: &NodeSet,
    mut gone: Vec<Range<u32>>,
    mut ended: Vec<u32>,
    trie: &TokenTrie,
) -> NodeSet {
    if ends.is_dense() {
        let mut ends = ends.to_bits(trie);
        for range in gone {
            clear(range.start as usize..range.end as usize, &mut ends);
        }
        for node in ended {
            ends[node as usize >> 6] |= 1 << (node & 63);
        }
        return NodeSet::from_bits(ends, trie);
    }
    gone.sort_unstable_by_key(|range| range.start);
    let mut rest = &gone[..];
    let kept = ends.iter().map(|node| node.0).filter(|node| {
        while rest.first().is_some_and(|range| range.end <= *node) {
            rest = &rest[1..];
        }
        rest.first().is_none_or(|range| *node < range.start)
    });
    ended.extend(kept);
    NodeSet::new(ended, trie)
}

fn clear(nodes: Range<usize>, bits: &mut [u64]) {
    for (word, inside) in words_of(nodes) {
        bits[word] &= !inside;
    }
}
