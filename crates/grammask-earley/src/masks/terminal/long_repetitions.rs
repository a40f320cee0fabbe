//! Summaries of terminals with large bounds on repetitions, from those without these bounds.
//!
//! A counting state steps to a new state after each character, so a walk through much of the trie visits a state for
//! each count, and the next mask has other counts. Without bounds above some number there are few states, and all texts
//! share their summaries. Let U be the language L without some bounds, of which the smallest is `n`. L is a subset of
//! U, and words of up to `n` bytes are in both or in neither (see
//! [`Terms::without_distant_bounds`](grammask_automata::Terms)). So a path that is dead in U is dead in L; and if all
//! states of U have a completion of at most `c` bytes, a path of up to `n - c` bytes that is live in U is live in L.
//! Only longer paths, which are few, are walked in L.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use grammask_automata::{Automata, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{NodeSet, NodeSetRef, TerminalSummary, TokenTrie, TrieNode};

use super::super::budget::ComposeError;
use super::super::compose::MaskComputation;
use super::super::tuning::{MAX_ANALYSED_STATES, MAX_SCANNED_NODES, MIN_DENSE_NODES};
use super::delta::SummaryDelta;
use super::walk::Wanted;

impl MaskComputation<'_> {
    /// The summary of a terminal with distant bounds, from the one without; `None` where it takes long to find, or
    /// saves little.
    pub(super) fn without_distant_bounds(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
        wanted: Wanted,
    ) -> Result<Option<TerminalSummary>, ComposeError> {
        let automata = &mut *self.machine.automata;
        let term = automata.term(state);
        if !automata.terms().has_distant_bounds(term) || nodes.is_dense() || nodes.len() > MAX_SCANNED_NODES {
            return Ok(None);
        }
        let first_bytes = self.first_bytes(state)?;
        let entered = nodes.iter().flat_map(|node| self.trie.children(node));
        let entered = entered.filter(|&child| first_bytes.contains(self.trie.byte(child)));
        let ahead: usize = entered.map(|child| self.trie.subtree_len(child)).sum();
        if ahead < MIN_DENSE_NODES {
            return Ok(None);
        }
        let automata = &mut *self.machine.automata;
        let Some(unbounded) = automata.terms_mut().without_distant_bounds(term) else { return Ok(None) };
        let Some(wider) = automata.start(unbounded.term)? else { return Ok(None) };
        let Some(completion) = self.longest_completion(wider)? else { return Ok(None) };
        let equal_up_to = (unbounded.alike_up_to as usize).saturating_sub(completion);
        if equal_up_to < usize::from(TokenTrie::LONG) {
            return Ok(None);
        }
        let base = self.summary(wider, nodes, wanted)?;
        let paths = long_paths(self.machine.automata, self.trie, state, nodes, equal_up_to)?;
        let mut delta = SummaryDelta::default();
        delta.work = paths.len();
        for LongPath { node, is_live, is_word } in paths {
            if !is_live {
                let tokens = self.trie.tokens(node).iter().copied();
                delta.remove_tokens(tokens.filter(|&token| base.live.contains(token)));
            }
            if !is_word && base.ends.as_ref().is_some_and(|ends| ends.contains(node)) {
                delta.set_end(node, false);
            }
        }
        self.apply(delta, &base).map(Some)
    }

    /// The maximum length of a shortest completion, over all states reachable from `state`; `None` where these are
    /// many.
    fn longest_completion(&mut self, state: StateId) -> Result<Option<usize>, LimitExceeded> {
        if let Some(&known) = self.summaries.terminals.completions.get(&state) {
            return Ok(known);
        }
        let automata = &mut *self.machine.automata;
        let max_states = MAX_ANALYSED_STATES >> self.summaries.terminals.completion_setbacks.min(4);
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
            if states.len() > max_states {
                self.summaries.terminals.completion_setbacks += 1;
                self.summaries.terminals.completions.insert(state, None);
                return Ok(None);
            }
        }
        // Backwards from the accepting states, breadth first.
        let mut lengths: Vec<Option<usize>> = vec![None; states.len()];
        let mut queue: VecDeque<usize> = VecDeque::new();
        for (position, &state) in states.iter().enumerate() {
            if automata.is_accepting(state) {
                lengths[position] = Some(0);
                queue.push_back(position);
            }
        }
        let mut longest = 0;
        while let Some(position) = queue.pop_front() {
            let length = lengths[position].expect("a state in the queue has a completion");
            longest = longest.max(length);
            for &earlier in &predecessors[position] {
                if lengths[earlier].is_none() {
                    lengths[earlier] = Some(length + 1);
                    queue.push_back(earlier);
                }
            }
        }
        // The states reachable from the others are a subset of these, so this is an upper bound for all.
        self.summaries.bytes += states.len() * size_of::<(StateId, Option<usize>)>();
        self.summaries.terminals.completions.extend(states.into_iter().map(|state| (state, Some(longest))));
        Ok(Some(longest))
    }
}

/// The end of a long path of the trie.
#[derive(Clone, Copy, Debug)]
struct LongPath {
    node: TrieNode,
    /// Whether the path is live; may be true for a dead one if no token ends at the node.
    is_live: bool,
    is_word: bool,
}

/// The paths below some nodes, entered in `state`, that are longer than `depth`; ascending. Those below a dead node of
/// a smaller depth are left out.
fn long_paths(
    automata: &mut Automata,
    trie: &TokenTrie,
    state: StateId,
    nodes: &NodeSet,
    depth: usize,
) -> Result<Vec<LongPath>, LimitExceeded> {
    let mut paths = Vec::new();
    for node in nodes.iter() {
        add_long_paths(automata, trie, node, state, depth, &mut paths)?;
    }
    if nodes.len() > 1 {
        paths.sort_by_key(|path| path.node);
        paths.dedup_by(|next, path| {
            let is_same = next.node == path.node;
            if is_same {
                path.is_live |= next.is_live;
                path.is_word |= next.is_word;
            }
            is_same
        });
    }
    Ok(paths)
}

/// Adds the long paths below one node.
fn add_long_paths(
    automata: &mut Automata,
    trie: &TokenTrie,
    start: TrieNode,
    state: StateId,
    depth: usize,
    paths: &mut Vec<LongPath>,
) -> Result<(), LimitExceeded> {
    let all = trie.long_paths();
    let inside = all.partition_point(|path| path.node <= start)
        ..all.partition_point(|path| path.node < trie.subtree_end(start));
    let start_depth = usize::from(trie.depth(start));
    // The state after each node of the path to the current one.
    let mut states = vec![Some(state)];
    let mut skip_to = start;
    for path in &all[inside] {
        let node = path.node;
        if node < skip_to {
            continue;
        }
        let node_depth = usize::from(trie.depth(node));
        states.truncate(node_depth - start_depth);
        let mut state = match states[states.len() - 1] {
            Some(before) if usize::from(path.longest) > depth => automata.pass(before, trie.byte(node))?,
            _ => None,
        };
        if node_depth > depth {
            if let Some(passed) = state
                && !trie.tokens(node).is_empty()
            {
                state = automata.if_live(passed)?;
            }
            let is_word = state.is_some_and(|state| automata.is_accepting(state));
            paths.push(LongPath { node, is_live: state.is_some(), is_word });
        } else if state.is_none() {
            skip_to = trie.subtree_end(node);
        }
        states.push(state);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use grammask_automata::{Terms, regex};
    use grammask_diagnostics::Limits;
    use grammask_vocabulary::TokenTexts;

    /// Runs of various lengths, some of them followed by a letter.
    fn trie() -> TokenTrie {
        let runs = ["-", " ", "a", "ab", "*=", "a."];
        let text = |run: &str, copies: usize, end: &str| Some(format!("{}{end}", run.repeat(copies)));
        let texts: TokenTexts = (0..50)
            .flat_map(|copies| runs.map(|run| text(run, copies, if copies % 3 == 0 { "b" } else { "" })))
            .collect();
        TokenTrie::new(&texts)
    }

    #[test]
    fn long_paths_are_walked() {
        let trie = trie();
        let nodes_of = |prefixes: &[&str]| {
            let nodes = prefixes.iter().map(|prefix| trie.find(prefix.as_bytes()).expect("a prefix").0);
            NodeSet::new(nodes.collect(), &trie)
        };
        for pattern in ["(?s).{3,60}", "[ab.]{0,40}(a|\\.){1,20}", "([^-]|-{30,33})*", "(a|b|ab\\.?){2,37}"] {
            let mut terms = Terms::new();
            let term = regex::term(&mut terms, pattern, &Limits::default()).expect("a pattern");
            let mut automata = Automata::new(terms, 10_000);
            let start = automata.start(term).expect("within limits").expect("not empty");
            for (nodes, depth) in [(nodes_of(&[""]), 24), (nodes_of(&["", "a", "aa", "ab", " ", "-"]), 31)] {
                let found = long_paths(&mut automata, &trie, start, &nodes, depth).expect("within limits");
                assert!(found.iter().any(|path| path.is_live));
                let mut found = found.into_iter().peekable();
                for node in
                    (0..trie.len() as u32).map(TrieNode).filter(|&node| usize::from(trie.depth(node)) > depth)
                {
                    let (mut is_live, mut is_word) = (false, false);
                    for from in nodes.iter() {
                        let mut state = Some(start);
                        let mut at = from;
                        if !(from..trie.subtree_end(from)).contains(&node) {
                            continue;
                        }
                        while at != node {
                            at = trie
                                .children(at)
                                .find(|&child| node < trie.subtree_end(child))
                                .expect("a child");
                            state = state.and_then(|state| {
                                automata.step(state, trie.byte(at)).expect("within limits")
                            });
                        }
                        is_live |= state.is_some();
                        is_word |= state.is_some_and(|state| automata.is_accepting(state));
                    }
                    match found.next_if(|path| path.node == node) {
                        Some(path) => {
                            assert_eq!(path.is_word, is_word, "{pattern}");
                            assert!(path.is_live || !is_live, "{pattern}");
                            let has_tokens = !trie.tokens(node).is_empty();
                            assert!(!has_tokens || path.is_live == is_live, "{pattern}");
                        }
                        None => assert!(!is_live, "{pattern}"),
                    }
                }
                assert!(found.next().is_none());
            }
        }
    }
}
