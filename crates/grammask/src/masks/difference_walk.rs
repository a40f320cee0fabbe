//! The summary of a terminal that differs from a known one along few paths of the trie, by going along these.
//!
//! Any name but those that an object declares is a string, once it has left the paths of the declared names. So what is known of
//! strings is copied, both automata walk side by side, and where both are in the same state nothing below differs. Where both
//! are not left by what is below, all tokens there are live in both.

use crate::LimitExceeded;
use crate::automata::{Automata, StateId};
use crate::vocabulary::{LiveTokens, NodeSet, TrieNode, Vocabulary, WhichNodes, words_of};

use super::rows::Rows;
use super::terminal_walk::{Known, Walked};

/// Trie nodes that differ after which an ordinary walk is the better way.
const MOST_DIFFERENCES: usize = 1 << 14;

/// States that are met after which it is too.
const MOST_STATES: usize = 256;

/// Walks the words that continue `state` below the root, where `known` says what is below it for another state with the same
/// words and more. None where they differ much.
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
    let columns = trie.columns();
    let mut rows = Rows::default();
    let first = (rows.of_state(automata, state), rows.of_state(automata, known.state));
    let mut live = known.summary.live.to_set(vocabulary.size());
    let mut ends = known.summary.ends.to_bits(trie);
    // The cells that led to each node of the path to the current one.
    let mut path = vec![first; trie.max_depth() + 1];
    let mut current = 1;
    let mut work = 0;
    while current < trie.len() {
        work += 1;
        if work > MOST_DIFFERENCES || rows.len() > MOST_STATES {
            return Ok(None);
        }
        let depth = usize::from(columns.depths[current]);
        let (before, other_before) = path[depth - 1];
        let byte = columns.bytes[current];
        let cell = rows.next(automata, before, byte)?;
        let other = rows.next(automata, other_before, byte)?;
        let below = columns.subtree_ends[current] as usize;
        if cell == other {
            current = below;
            continue;
        }
        if cell == Rows::DEAD {
            for &token in trie.subtree_tokens(TrieNode(current as u32)) {
                live.remove(token);
            }
            clear(current..below, &mut ends);
            current = below;
            continue;
        }
        // Not what is asked for: words beyond those of the known state.
        if other == Rows::DEAD {
            return Ok(None);
        }
        let is_word = cell & 1 == 1;
        if below - current >= Rows::WORTH_SKIPPING {
            let (groups, next) = (columns.groups_below[current], columns.bytes[current + 1]);
            let own = rows.loops(automata, cell, next, groups)?.and_then(|loops| loops.kept(groups));
            if let Some(kept) = own
                && let Some(loops) = rows.loops(automata, other, next, groups)?
                && loops.kept(groups).is_some()
            {
                clear(current..below, &mut ends);
                if is_word {
                    work += trie.set_bits(current..below, kept, &mut ends);
                }
                current = below;
                continue;
            }
        }
        clear(current..current + 1, &mut ends);
        if is_word {
            trie.set_bits(current..current + 1, WhichNodes::All, &mut ends);
        }
        path[depth] = (cell, other);
        current += 1;
    }
    Ok(Some(Walked { live: LiveTokens::from_set(live), ends: NodeSet::from_bits(ends, trie), work }))
}

fn clear(nodes: std::ops::Range<usize>, bits: &mut [u64]) {
    for (word, inside) in words_of(nodes) {
        bits[word] &= !inside;
    }
}
