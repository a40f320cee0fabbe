//! The summary of a state from that of a similar state of the same automaton, by visiting the trie nodes where they may
//! differ.
//!
//! Most states of one pattern have the same live tokens but for a few: after a dot in a host name there is no second
//! dot, and after its second label there may be a slash, but letters are live everywhere. Two comparisons find the
//! delta, by increasing cost:
//!
//! 1. If the states differ on few first bytes, the subtrees of these bytes are walked again.
//! 2. Otherwise the pairs of states reachable over a common text give the bytes that distinguish the states
//!    ([`StatePairs`]), and both states are walked in lockstep, only into subtrees that contain such a byte.

use rustc_hash::FxHashMap;

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{ByteGroups, TokenTrie, TrieNode, Vocabulary};

use super::super::ablation::{Technique, is_enabled};
use super::super::summary::{BaseSummary, Wanted};
use super::super::tuning::{
    LOCKSTEP_DIVISOR, MAX_DIFFERING_BYTES, MAX_PAIRS, MAX_SMALL_WALK, MAX_WIDE_SUMMARIES, MIN_FREE_TEXT_BYTES,
};
use super::delta::SummaryDelta;
use super::walk::{DenseWalk, WalkRequest, WalkResult, self_loop_bytes};

/// Computes the summary of a state below the root from that of one of the bases; `None` where no base is similar
/// enough. The first bytes of the state have `ahead` nodes below them.
///
/// # Errors
/// When the automaton exceeds its limit.
pub(crate) fn walk_similar(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    request: WalkRequest<'_>,
    ahead: usize,
    bases: &[BaseSummary],
) -> Result<Option<WalkResult>, LimitExceeded> {
    let WalkRequest { state, wanted, .. } = request;
    let trie = vocabulary.trie();
    let Some((nearest, differing)) = nearest(automata, request, bases)? else { return Ok(None) };
    let differing_nodes: usize = first_children(trie, differing).map(|child| trie.subtree_len(child)).sum();
    let is_near = differing_nodes <= ahead / LOCKSTEP_DIVISOR;
    if !is_near && self_loop_bytes(automata, state)? < MIN_FREE_TEXT_BYTES {
        let others =
            bases.iter().rev().filter(|base| base.state != nearest.state && wanted.are_in(&base.summary));
        let candidates = std::iter::once(nearest).chain(others);
        if let Some((base, delta)) = lockstep(automata, vocabulary, request, candidates)? {
            return Ok(Some(delta.apply(&base.summary, wanted, vocabulary)));
        }
    }
    if differing_nodes >= ahead / 2 || !is_enabled(Technique::SimilarFirstBytes) {
        return Ok(None);
    }
    let mut delta = SummaryDelta::default();
    let mut added = DenseWalk::new(trie, wanted);
    for child in first_children(trie, differing) {
        delta.remove_subtree(child, trie);
        if let Some(next) = automata.step(state, trie.byte(child))? {
            delta.work += added.run(automata, trie, child, next)?;
        }
    }
    delta.add(added.finish());
    Ok(Some(delta.apply(&nearest.summary, wanted, vocabulary)))
}

/// The children of the root over some bytes.
fn first_children(trie: &TokenTrie, bytes: ByteSet) -> impl Iterator<Item = TrieNode> {
    trie.children(TrieNode::ROOT).filter(move |&child| bytes.contains(trie.byte(child)))
}

/// The base that differs from the state on the fewest first bytes, and these bytes.
fn nearest<'b>(
    automata: &mut Automata,
    request: WalkRequest<'_>,
    bases: &'b [BaseSummary],
) -> Result<Option<(&'b BaseSummary, ByteSet)>, LimitExceeded> {
    let WalkRequest { state, wanted, .. } = request;
    let first_bytes = automata.first_bytes(state)?;
    let mut best: Option<(&BaseSummary, ByteSet)> = None;
    for base in bases.iter().filter(|base| wanted.are_in(&base.summary)) {
        let mut differing = ByteSet::EMPTY;
        for byte in first_bytes.union(automata.first_bytes(base.state)?).iter() {
            if automata.step(base.state, byte)? != automata.step(state, byte)? {
                differing.insert(byte);
            }
        }
        // Among equals the most recent base is the most likely to be similar.
        if best.is_none_or(|(_, fewest)| differing.len() <= fewest.len()) {
            best = Some((base, differing));
        }
    }
    Ok(best)
}

/// Walks the state and the most similar of the candidates in lockstep. `None` where that is too much work.
fn lockstep<'b>(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    request: WalkRequest<'_>,
    candidates: impl IntoIterator<Item = &'b BaseSummary>,
) -> Result<Option<(&'b BaseSummary, SummaryDelta)>, LimitExceeded> {
    let WalkRequest { state, wanted, .. } = request;
    let mut best: Option<(usize, &BaseSummary, StatePairs)> = None;
    for (number, base) in candidates.into_iter().take(MAX_WIDE_SUMMARIES / 2).enumerate() {
        // The first two are the most likely; the others may create two new states.
        if number >= 2 && best.is_some() {
            break;
        }
        let max_new_states = if number < 2 { MAX_PAIRS / 2 } else { 2 };
        let max_states = automata.len() + max_new_states;
        if !is_enabled(Technique::SimilarPairs) {
            break;
        }
        let Some(pairs) = StatePairs::of(automata, state, base.state, wanted, max_states)? else { continue };
        let bytes = pairs.list[0].differing.len();
        if best.as_ref().is_none_or(|&(fewest, ..)| bytes < fewest) {
            best = Some((bytes, base, pairs));
        }
        if bytes <= MAX_DIFFERING_BYTES / 8 {
            break;
        }
    }
    let Some((_, base, pairs)) = best else { return Ok(None) };
    let trie = vocabulary.trie();
    let groups_below = trie.columns().groups_below;
    let may_differ =
        |own, base, node: TrieNode| groups_below[node.index()].intersects(pairs.groups(own, base));
    let delta = walk_lockstep(automata, trie, [state, base.state], may_differ, wanted, MAX_SMALL_WALK)?;
    Ok(delta.map(|delta| (base, delta)))
}

/// The pairs of different states that two states reach over a common text, with the bytes that distinguish them. Any
/// byte may distinguish a pair that is not in the list.
#[derive(Default)]
struct StatePairs {
    numbers: FxHashMap<(StateId, StateId), usize>,
    list: Vec<StatePair>,
    /// Bytes that distinguish any pair.
    all_differing: ByteSet,
}

struct StatePair {
    left: StateId,
    right: StateId,
    /// Bytes over which only one of the states, or of a pair that they reach, has a live transition; where ends are
    /// wanted, also those over which only one reaches an accepting state.
    differing: ByteSet,
    groups: ByteGroups,
    /// The pairs of different states after one byte.
    next: Vec<usize>,
}

impl StatePairs {
    /// Finds all pairs; `None` if they are many, or if the automaton exceeds `max_states`.
    fn of(
        automata: &mut Automata,
        left: StateId,
        right: StateId,
        wanted: Wanted,
        max_states: usize,
    ) -> Result<Option<Self>, LimitExceeded> {
        let mut pairs = Self::default();
        pairs.number(left, right);
        let mut current = 0;
        while let Some(&StatePair { left, right, .. }) = pairs.list.get(current) {
            for step in automata.joint_steps(left, right)? {
                let (Some(left), Some(right)) = (step.left, step.right) else {
                    pairs.distinguish(current, step.bytes);
                    continue;
                };
                if left == right {
                    continue;
                }
                if wanted == Wanted::LiveAndEnds
                    && automata.is_accepting(left) != automata.is_accepting(right)
                {
                    pairs.distinguish(current, step.bytes);
                }
                let next = pairs.number(left, right);
                if !pairs.list[current].next.contains(&next) {
                    pairs.list[current].next.push(next);
                }
            }
            // Bytes that distinguish any pair distinguish the first.
            let too_many = pairs.list.len() > MAX_PAIRS || pairs.all_differing.len() > MAX_DIFFERING_BYTES;
            if too_many || automata.len() > max_states {
                return Ok(None);
            }
            current += 1;
        }
        pairs.propagate();
        Ok(Some(pairs))
    }

    fn number(&mut self, left: StateId, right: StateId) -> usize {
        let next = self.list.len();
        let number = *self.numbers.entry((left, right)).or_insert(next);
        if number == next {
            let groups = ByteGroups::default();
            self.list.push(StatePair { left, right, differing: ByteSet::EMPTY, groups, next: Vec::new() });
        }
        number
    }

    fn distinguish(&mut self, pair: usize, bytes: ByteSet) {
        self.list[pair].differing = self.list[pair].differing.union(bytes);
        self.all_differing = self.all_differing.union(bytes);
    }

    /// Adds to each pair the bytes that distinguish the pairs that it reaches.
    fn propagate(&mut self) {
        loop {
            let mut is_done = true;
            for pair in (0..self.list.len()).rev() {
                let before = self.list[pair].differing;
                let of_next = self.list[pair].next.iter().map(|&next| self.list[next].differing);
                let all = of_next.fold(before, ByteSet::union);
                is_done &= all == before;
                self.list[pair].differing = all;
            }
            if is_done {
                break;
            }
        }
        for pair in &mut self.list {
            let groups = pair.differing.iter().map(ByteGroups::of);
            pair.groups = groups.fold(ByteGroups::default(), ByteGroups::union);
        }
    }

    /// The groups of bytes that may distinguish a pair.
    fn groups(&self, left: StateId, right: StateId) -> ByteGroups {
        self.numbers.get(&(left, right)).map_or(ByteGroups::within(|_| true), |&pair| self.list[pair].groups)
    }
}

/// Walks a state and a base in lockstep from the root, into the subtrees where `may_differ(state, base, node)` holds.
/// Below other nodes, both states have the same words. `None` after `max_work`.
///
/// # Errors
/// When the automaton exceeds its limit.
pub(crate) fn walk_lockstep(
    automata: &mut Automata,
    trie: &TokenTrie,
    [state, base]: [StateId; 2],
    may_differ: impl Fn(StateId, StateId, TrieNode) -> bool,
    wanted: Wanted,
    max_work: usize,
) -> Result<Option<SummaryDelta>, LimitExceeded> {
    let mut delta = SummaryDelta::default();
    // Subtrees that are live for the new state only.
    let mut added = DenseWalk::new(trie, wanted);
    let mut stack = vec![(TrieNode::ROOT, state, base)];
    while let Some((node, state, base)) = stack.pop() {
        for child in trie.children(node) {
            delta.work += 1;
            let byte = trie.byte(child);
            match (automata.step(state, byte)?, automata.step(base, byte)?) {
                (state, base) if state == base => {}
                (None, _) => delta.remove_subtree(child, trie),
                (Some(state), None) => delta.work += added.run(automata, trie, child, state)?,
                (Some(state), Some(base)) => {
                    if wanted == Wanted::LiveAndEnds
                        && automata.is_accepting(state) != automata.is_accepting(base)
                    {
                        delta.set_end(child, automata.is_accepting(state));
                    }
                    if may_differ(state, base, child) {
                        stack.push((child, state, base));
                    }
                }
            }
            if delta.work > max_work {
                return Ok(None);
            }
        }
    }
    delta.add(added.finish());
    Ok(Some(delta))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::samples::{automata, reachable, vocabulary, walked};
    use super::*;
    use grammask_vocabulary::NodeSet;

    /// Any state as the base of any other gives the summary of a plain walk.
    #[test]
    fn equals_the_walk_without_bases() {
        let pieces = ["a", "b", ".", "-", "/", "é", "ab", "a.", ":1", "/b", "你", "0", "\u{301}", "²"];
        let vocabulary = vocabulary(&pieces, 3);
        let trie = vocabulary.trie();
        let root = NodeSet::new(vec![0], trie);
        let mut found = [0, 0];
        for pattern in [
            r"([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(:[0-9]+)?(/[a-z0-9.-]*)*",
            r"[a-b-]+(\.[a-b]+)*/([ab]\.)+",
            r"(a|b)*a(a|b|é){3}",
            r"([^é]|é[^a])*你?",
            r"(ab|a\.|[^/]-)*",
            r"(?s-u:.)*",
            r"[ab]{1,5}[.-]?[^:]*",
            r"[\p{L}/][\p{L}\p{M}\p{N}/]*",
            r"([\p{L}\p{M}]|\.[\p{L}-])[\p{L}\p{N}]*",
        ] {
            let (mut automata, start) = automata(pattern);
            let mut all = Vec::new();
            for state in reachable(&mut automata, start, usize::MAX) {
                let request = WalkRequest { state, nodes: &root, wanted: Wanted::LiveAndEnds };
                let summary = Arc::new(walked(&mut automata, &vocabulary, request));
                all.push(BaseSummary { state, summary });
            }
            for (own, other) in all.iter().flat_map(|own| all.iter().map(move |other| (own, other))) {
                for (which, wanted) in [Wanted::Live, Wanted::LiveAndEnds].into_iter().enumerate() {
                    let request = WalkRequest { state: own.state, nodes: &root, wanted };
                    let walked = lockstep(&mut automata, &vocabulary, request, [other]);
                    let Some((base, delta)) = walked.expect("within limits") else { continue };
                    let walked = delta.apply(&base.summary, wanted, &vocabulary);
                    found[which] += 1;
                    let size = vocabulary.size();
                    assert_eq!(walked.live.to_set(size), own.summary.live.to_set(size), "{pattern}");
                    match wanted {
                        Wanted::Live => assert_eq!(walked.ends, None),
                        Wanted::LiveAndEnds => {
                            assert_eq!(walked.ends.as_ref(), own.summary.ends.as_deref(), "{pattern}");
                        }
                    }
                }
            }
        }
        assert!(found[0] > 200 && found[1] > 200, "{found:?} pairs of states are similar");
    }

    /// No byte distinguishes states with the same live texts, unless ends are wanted.
    #[test]
    fn equal_but_for_ends() {
        let (mut automata, start) = automata("[a-z]{2,}");
        let next = automata.step(start, b'a').expect("within limits").expect("goes on");
        let mut differing = |wanted| {
            let max_states = automata.len() + MAX_PAIRS;
            let pairs = StatePairs::of(&mut automata, start, next, wanted, max_states);
            pairs.expect("within limits").expect("few pairs").list[0].differing
        };
        assert_eq!(differing(Wanted::Live), ByteSet::EMPTY);
        assert_eq!(differing(Wanted::LiveAndEnds), ByteSet::range(b'a', b'z'));
    }
}
