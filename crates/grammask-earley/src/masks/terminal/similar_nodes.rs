//! The summary of a state below many nodes, from that below a similar node set.
//!
//! While the copies of a repetition run out, each state of the text reads the terminal after the repetition below a few
//! nodes less. The path to a token alone decides whether it is live. So only the subtrees of the nodes that are in one of
//! the two sets are read again: from the nodes of the path to them, and from those inside.

use grammask_automata::{Automata, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{NodeSet, TokenTrie, TrieNode, ones};

use super::super::tuning::MAX_SMALL_WALK;
use super::delta::SummaryDelta;
use super::walk::{DenseWalk, WalkRequest, enter_children};

/// Walks the subtrees in which the summary below the nodes of a request may differ from that below `base`; `None` if
/// they are large.
///
/// # Errors
/// When the automaton exceeds its limit.
pub(super) fn walk_similar_nodes(
    automata: &mut Automata,
    trie: &TokenTrie,
    request: WalkRequest<'_>,
    base: &NodeSet,
) -> Result<Option<SummaryDelta>, LimitExceeded> {
    let WalkRequest { state, nodes, wanted } = request;
    let Some(tops) = differing_subtrees(nodes, base, trie) else { return Ok(None) };
    let first_bytes = automata.first_bytes(state)?;
    let mut delta = SummaryDelta::default();
    let mut walk = DenseWalk::new(trie, wanted);
    for top in tops {
        delta.remove_subtree(top, trie);
        // The states at the current node of the path to `top`, from the nodes before it.
        let mut states: Vec<StateId> = Vec::new();
        let mut node = TrieNode::ROOT;
        while node != top {
            states.extend(nodes.contains(node).then_some(state));
            let child = trie.children(node).find(|&child| top < trie.subtree_end(child));
            let child = child.expect("a node is below the root");
            let mut next = Vec::with_capacity(states.len());
            for state in states {
                next.extend(automata.step(state, trie.byte(child))?);
            }
            (node, states) = (child, next);
            delta.work += 1;
        }
        states.sort_unstable();
        states.dedup();
        for state in states {
            delta.work += walk.run(automata, trie, top, state)?;
        }
        let mut entries = Vec::new();
        for node in (top.0..trie.subtree_end(top).0).map(TrieNode).filter(|&node| nodes.contains(node)) {
            delta.work += enter_children(automata, trie, node, state, first_bytes, &mut entries)?;
        }
        for (node, state) in entries {
            delta.work += walk.run(automata, trie, node, state)?;
        }
    }
    delta.add(walk.finish());
    Ok(Some(delta))
}

/// The topmost nodes that are in one of two sets; `None` if their subtrees have more than [`MAX_SMALL_WALK`] nodes.
fn differing_subtrees(nodes: &NodeSet, base: &NodeSet, trie: &TokenTrie) -> Option<Vec<TrieNode>> {
    let mut differing = nodes.to_bits(trie);
    differing.iter_mut().zip(base.to_bits(trie)).for_each(|(word, base)| *word ^= base);
    let (mut tops, mut end, mut work) = (Vec::new(), TrieNode::ROOT, 0);
    for node in ones(&differing).map(TrieNode) {
        if node < end {
            continue;
        }
        end = trie.subtree_end(node);
        work += trie.subtree_len(node);
        if work > MAX_SMALL_WALK {
            return None;
        }
        tops.push(node);
    }
    Some(tops)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{automata, vocabulary, walked};
    use super::super::walk::Wanted;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The summary below any node set gives that below any similar one.
        #[test]
        fn equals_the_walk_below_the_nodes(
            pattern in prop::sample::select(vec!["[^a]b?", ".", "a*[.é]", "(ab|a\\.|[^0])*0", "[ab]{1,3}", "\\p{L}+"]),
            common in prop::collection::vec(any::<prop::sample::Index>(), 0..200),
            own in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
            other in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let vocabulary = vocabulary(&["a", "b", ".", "é", "ab", "a.", "你", "0"], 4);
            let trie = vocabulary.trie();
            let [nodes, base] = [own, other].map(|some| {
                let some = some.iter().chain(&common).map(|index| index.index(trie.len()) as u32);
                NodeSet::new(some.collect(), trie)
            });
            let (mut automata, state) = automata(pattern);
            for wanted in [Wanted::Live, Wanted::LiveAndEnds] {
                let [expected, of_base] = [&nodes, &base]
                    .map(|nodes| walked(&mut automata, &vocabulary, WalkRequest { state, nodes, wanted }));
                let request = WalkRequest { state, nodes: &nodes, wanted };
                let delta = walk_similar_nodes(&mut automata, trie, request, &base).expect("within limits");
                let Some(delta) = delta else { continue };
                let found = delta.apply(&of_base, wanted, &vocabulary);
                let size = vocabulary.size();
                prop_assert_eq!(found.live.to_set(size), expected.live.to_set(size));
                if wanted == Wanted::LiveAndEnds {
                    prop_assert_eq!(found.ends.as_ref(), expected.ends.as_deref());
                }
            }
        }
    }
}
