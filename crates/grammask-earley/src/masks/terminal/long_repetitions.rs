//! Summaries of terminals with large bounds on repetitions, from those without these bounds.
//!
//! A state that counts is another one after each character, so a walk through much of the trie meets a state for each
//! count, and the next mask has other counts. Without bounds above some number there are few states, and all texts share their
//! summaries. Let U be a language L without some bounds, of which the smallest is `n`. L is a part of U, and words of
//! up to `n` bytes are in both or in neither (see [`Terms::without_large_bounds`](grammask_automata::Terms)). So a path
//! that is dead in U is dead in L; and if all states of U have a word of at most `c` bytes, a path of up to `n - c` bytes that is
//! live in U is live in L. Only longer paths are walked in L itself, and these are few.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use grammask_automata::{Automata, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{NodeSet, NodeSetRef, TerminalSummary, TokenTrie, TrieNode};

use super::super::compose::{ComposeError, Composition};
use super::walk::Wanted;

/// Trie nodes ahead from which it is worth it.
const MANY_NODES: usize = 4096;
/// Nodes to walk below that are looked at one by one.
const MOST_STARTS: usize = 16;
/// States that are looked at for the shortest words from each, where that was not in vain for others.
const MOST_STATES: usize = 96;

impl Composition<'_> {
    /// The summary of a terminal in a state, from the one without distant bounds; none where it has none, or where that
    /// is no help.
    pub(in crate::masks) fn without_large_bounds(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
        wanted: Wanted,
    ) -> Result<Option<TerminalSummary>, ComposeError> {
        let automata = &mut *self.machine.automata;
        let term = automata.term(state);
        if !automata.terms().has_large_bounds(term) || nodes.is_dense() || nodes.len() > MOST_STARTS {
            return Ok(None);
        }
        let first_bytes = self.first_bytes(state)?;
        let entered = nodes.iter().flat_map(|node| self.trie.children(node));
        let entered = entered.filter(|&child| first_bytes.contains(self.trie.byte(child)));
        let ahead: usize = entered.map(|child| self.trie.subtree_end(child).index() - child.index()).sum();
        if ahead < MANY_NODES {
            return Ok(None);
        }
        let automata = &mut *self.machine.automata;
        let Some(unbounded) = automata.terms_mut().without_large_bounds(term) else { return Ok(None) };
        let Some(wider) = automata.start(unbounded.term)? else { return Ok(None) };
        let Some(completion) = self.longest_completion(wider)? else { return Ok(None) };
        let exact_up_to_bytes = (unbounded.exact_up_to_bytes as usize).saturating_sub(completion);
        if exact_up_to_bytes < usize::from(TokenTrie::LONG) {
            return Ok(None);
        }
        let summary = self.summary(wider, nodes, wanted)?;
        let paths = long_paths(self.machine.automata, self.trie, state, nodes, exact_up_to_bytes)?;
        self.spend(paths.len())?;
        let (mut dead, mut no_ends) = (Vec::new(), Vec::new());
        for Path { node, is_live, is_word } in paths {
            if !is_live {
                dead.extend_from_slice(self.trie.tokens(node));
            }
            if !is_word && summary.ends.as_ref().is_some_and(|ends| ends.contains(node)) {
                no_ends.push(node.0);
            }
        }
        let (trie, store) = (self.trie, self.vocabulary.summaries());
        dead.retain(|&token| summary.live.contains(token));
        let live = match dead[..] {
            [] => summary.live.clone(),
            _ => store.share(summary.live.but(dead, self.vocabulary.size())),
        };
        let ends = summary.ends.as_ref().map(|ends| {
            if no_ends.is_empty() {
                return ends.clone();
            }
            let others = ends.iter().map(|node| node.0).filter(|node| no_ends.binary_search(node).is_err());
            store.intern(NodeSet::new(others.collect(), trie))
        });
        Ok(Some(TerminalSummary { live, ends }))
    }

    /// The length of the shortest word from the state from which that is longest, among all that `state` leads to; none where these
    /// are many.
    fn longest_completion(&mut self, state: StateId) -> Result<Option<usize>, LimitExceeded> {
        if let Some(&known) = self.known.completions.get(&state) {
            return Ok(known);
        }
        let automata = &mut *self.machine.automata;
        let most_states = MOST_STATES >> self.known.completion_setbacks.min(4);
        let mut states = vec![state];
        let mut positions = FxHashMap::from_iter([(state, 0)]);
        let mut before: Vec<Vec<usize>> = vec![Vec::new()];
        let mut next = 0;
        while let Some(&current) = states.get(next) {
            for (_, target) in automata.successors(current)? {
                let position = *positions.entry(target).or_insert(states.len());
                if position == states.len() {
                    states.push(target);
                    before.push(Vec::new());
                }
                before[position].push(next);
            }
            next += 1;
            if states.len() > most_states {
                self.known.completion_setbacks += 1;
                self.known.completions.insert(state, None);
                return Ok(None);
            }
        }
        // From words backwards, breadth first.
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
            let length = lengths[position].expect("a state in the queue has a word");
            longest = longest.max(length);
            for &earlier in &before[position] {
                if lengths[earlier].is_none() {
                    lengths[earlier] = Some(length + 1);
                    queue.push_back(earlier);
                }
            }
        }
        // What they lead to is among what the first one leads to.
        self.known.bytes += states.len() * size_of::<(StateId, Option<usize>)>();
        self.known.completions.extend(states.into_iter().map(|state| (state, Some(longest))));
        Ok(Some(longest))
    }
}

/// Where a path of the trie leads.
#[derive(Clone, Copy, Debug)]
struct Path {
    node: TrieNode,
    /// Whether some word goes on from there, or may go on and no token ends there.
    is_live: bool,
    is_word: bool,
}

/// Where the paths below some nodes, which are entered in a state, lead that are deeper than `depth`; ascending. Those below a node that
/// is dead and not as deep are left out.
fn long_paths(
    automata: &mut Automata,
    trie: &TokenTrie,
    state: StateId,
    nodes: &NodeSet,
    depth: usize,
) -> Result<Vec<Path>, LimitExceeded> {
    let mut paths = Vec::new();
    for node in nodes.iter() {
        long_paths_below(automata, trie, (node, state), depth, &mut paths)?;
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

fn long_paths_below(
    automata: &mut Automata,
    trie: &TokenTrie,
    (start, state): (TrieNode, StateId),
    depth: usize,
    paths: &mut Vec<Path>,
) -> Result<(), LimitExceeded> {
    let all = trie.long_paths();
    let inside = all.partition_point(|path| path.node <= start)
        ..all.partition_point(|path| path.node < trie.subtree_end(start));
    let start_depth = usize::from(trie.depth(start));
    // The state after each node of the path to the current one.
    let mut states = vec![Some(state)];
    let mut left_out_up_to = start;
    for path in &all[inside] {
        let node = path.node;
        if node < left_out_up_to {
            continue;
        }
        let node_depth = usize::from(trie.depth(node));
        states.truncate(node_depth - start_depth);
        let mut state = match states[states.len() - 1] {
            Some(before) if usize::from(path.longest) > depth => {
                automata.step_unchecked(before, trie.byte(node))?
            }
            _ => None,
        };
        if node_depth > depth {
            if let Some(passed) = state
                && !trie.tokens(node).is_empty()
            {
                state = automata.if_live(passed)?;
            }
            let is_word = state.is_some_and(|state| automata.is_accepting(state));
            paths.push(Path { node, is_live: state.is_some(), is_word });
        } else if state.is_none() {
            left_out_up_to = trie.subtree_end(node);
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

    /// Runs of some length, and words between them.
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
                            let is_asked = !trie.tokens(node).is_empty();
                            assert!(!is_asked || path.is_live == is_live, "{pattern}");
                        }
                        None => assert!(!is_live, "{pattern}"),
                    }
                }
                assert!(found.next().is_none());
            }
        }
    }
}
