//! Summaries of terminals with large maxima of repetitions, from those without these maxima.
//!
//! A state that counts steps to a new state with each character, so a walk visits a state for each count, and the next
//! mask has other counts. Without maxima above some number there are few states, and all texts share their summaries.
//! Let U be the language L without some maxima, none of which concerns words of up to `n` bytes. L is a subset of U, and
//! these words are in both or in neither. So a path that is dead in U is dead in L; and if each state of U has a completion
//! of at most `c` bytes, a path of up to `n - c` bytes that is live in U is live in L. Only longer paths, which are
//! few, are walked in lockstep.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use grammask_automata::StateId;
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{NodeSetRef, TerminalSummary, TrieNode};

use super::super::budget::ComposeError;
use super::super::computation::MaskComputation;
use super::super::summary::Wanted;
use super::super::tuning::{
    MAX_NARROW_BYTES, MAX_SMALL_WALK, MAX_UNBOUNDED_STATES, MIN_DENSE_NODES, MIN_EQUAL_BYTES,
    MIN_LARGE_MAXIMUM,
};
use super::similar_states::walk_lockstep;

impl MaskComputation<'_> {
    /// The summary of a terminal below the root from the one without large maxima. `None` if it has no large maxima, or
    /// tokens longer than these are common.
    pub(super) fn without_large_maxima(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
        wanted: Wanted,
    ) -> Result<Option<TerminalSummary>, ComposeError> {
        let automata = &mut *self.machine.automata;
        let term = automata.term(state);
        let found = automata.terms_mut().without_large_maxima(term, MIN_LARGE_MAXIMUM);
        let Some((wider, equal_words)) = found else { return Ok(None) };
        let (trie, first_bytes) = (self.trie, self.first_bytes(state)?);
        let entered = trie.children(TrieNode::ROOT).filter(|&child| first_bytes.contains(trie.byte(child)));
        let ahead: usize = entered.map(|child| trie.subtree_len(child)).sum();
        if ahead < MIN_DENSE_NODES || first_bytes.len() <= MAX_NARROW_BYTES {
            return Ok(None);
        }
        let automata = &mut *self.machine.automata;
        let Some(wider) = automata.start(wider)? else { return Ok(None) };
        let Some(completion) = self.longest_completion(wider)? else { return Ok(None) };
        let equal_up_to = (equal_words as usize).saturating_sub(completion);
        if equal_up_to < MIN_EQUAL_BYTES {
            return Ok(None);
        }
        let base = self.summary(wider, nodes, wanted)?;
        let wanted = Wanted::in_summary(&base);
        let heights = trie.heights();
        let is_long = |_, _, node: TrieNode| {
            usize::from(trie.depth(node)) + usize::from(heights[node.index()]) > equal_up_to
        };
        let automata = &mut *self.machine.automata;
        let delta = walk_lockstep(automata, trie, [state, wider], is_long, wanted, MAX_SMALL_WALK)?;
        delta.map(|delta| self.apply(delta, &base)).transpose()
    }

    /// The maximum length of a shortest completion, over all states reachable from `state`; `None` where these are
    /// many.
    fn longest_completion(&mut self, state: StateId) -> Result<Option<usize>, LimitExceeded> {
        if let Some(&known) = self.summaries.terminals.longest_completions.get(&state) {
            return Ok(known);
        }
        let automata = &mut *self.machine.automata;
        let mut states = vec![state];
        let mut positions = FxHashMap::from_iter([(state, 0)]);
        let mut predecessors: Vec<Vec<usize>> = vec![Vec::new()];
        let mut next = 0;
        while let Some(&current) = states.get(next) {
            for (_, target) in automata.successors(current)? {
                let position = *positions.entry(target).or_insert(states.len());
                if position == states.len() {
                    states.push(target);
                    predecessors.push(Vec::new());
                }
                predecessors[position].push(next);
            }
            next += 1;
            if states.len() > MAX_UNBOUNDED_STATES {
                // Texts reach the other states, too, from which a search would probably fail again.
                self.insert_completions(states, None);
                return Ok(None);
            }
        }
        // Backwards from the accepting states, breadth first.
        let accepting = states.iter().enumerate().filter(|(_, state)| automata.is_accepting(**state));
        let mut queue: VecDeque<(usize, usize)> = accepting.map(|(position, _)| (position, 0)).collect();
        let mut is_visited = vec![false; states.len()];
        let mut longest = 0;
        while let Some((position, length)) = queue.pop_front() {
            if !std::mem::replace(&mut is_visited[position], true) {
                longest = length;
                queue.extend(predecessors[position].iter().map(|&earlier| (earlier, length + 1)));
            }
        }
        // The states reachable from the others are a subset of these, so this is an upper bound for all.
        self.insert_completions(states, Some(longest));
        Ok(Some(longest))
    }

    fn insert_completions(&mut self, states: Vec<StateId>, longest: Option<usize>) {
        self.summaries.bytes += states.len() * size_of::<(StateId, Option<usize>)>();
        let entries = states.into_iter().map(|state| (state, longest));
        self.summaries.terminals.longest_completions.extend(entries);
    }
}
