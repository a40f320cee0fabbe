//! Repetitions of a code below a set of trie nodes, by one walk for all bounds.
//!
//! No word of a code begins another, so a path through the trie splits into words in one way: the walk restarts
//! the automaton after each word and counts. A token needs as many copies as words begin in it; a node ends so many
//! copies as words end on the way to it. Whatever the bounds are, the summary is then a union by count.

use rustc_hash::FxHashMap;

use crate::LimitExceeded;
use crate::automata::{Automata, StateId};
use crate::vocabulary::{CountedSummary, NodeSet, TokenTrie, TrieNode};

/// Walks all repetitions of the code that `start` begins below `nodes`. Also says how many nodes it looked at.
///
/// # Errors
/// When the automaton passes its limit.
pub(super) fn walk_counted(
    automata: &mut Automata,
    trie: &TokenTrie,
    start: StateId,
    nodes: &NodeSet,
) -> Result<(CountedSummary, usize), LimitExceeded> {
    let mut walk =
        Walk { automata, trie, start, transitions: FxHashMap::default(), summary: CountedSummary::default() };
    let mut work = 0;
    for node in nodes.iter() {
        work += walk.below(node)?;
    }
    Ok((walk.summary, work))
}

struct Walk<'a> {
    automata: &'a mut Automata,
    trie: &'a TokenTrie,
    start: StateId,
    /// Rows of 256 transitions, made as states are met.
    transitions: FxHashMap<StateId, Box<[Transition; 256]>>,
    summary: CountedSummary,
}

#[derive(Clone, Copy)]
enum Transition {
    Unknown,
    Dead,
    /// Into a word.
    Inside(StateId),
    /// To the end of a word.
    End,
}

/// Where the path to a node stands.
#[derive(Clone, Copy)]
struct Place {
    /// The state inside a word, or the start between words.
    state: StateId,
    /// Words begun.
    begun: usize,
    is_between_words: bool,
}

impl Walk<'_> {
    fn below(&mut self, node: TrieNode) -> Result<usize, LimitExceeded> {
        let trie = self.trie;
        let end = trie.subtree_end(node);
        let first_depth = usize::from(trie.depth(node));
        let mut path = vec![Place { state: self.start, begun: 0, is_between_words: true }];
        let mut current = TrieNode(node.0 + 1);
        let mut work = 0;
        while current < end {
            work += 1;
            let depth = usize::from(trie.depth(current)) - first_depth;
            let before = path[depth - 1];
            let begun = before.begun + usize::from(before.is_between_words);
            let place = match self.step(before.state, trie.byte(current))? {
                Transition::Inside(state) => Place { state, begun, is_between_words: false },
                Transition::End => Place { state: self.start, begun, is_between_words: true },
                Transition::Dead | Transition::Unknown => {
                    current = trie.subtree_end(current);
                    continue;
                }
            };
            let tokens = trie.tokens(current);
            if !tokens.is_empty() {
                self.summary.add_tokens(begun, tokens);
            }
            if place.is_between_words && trie.has_children(current) {
                self.summary.add_end(begun, current);
            }
            path.truncate(depth);
            path.push(place);
            current.0 += 1;
        }
        Ok(work)
    }

    fn step(&mut self, state: StateId, byte: u8) -> Result<Transition, LimitExceeded> {
        let row = self.transitions.entry(state).or_insert_with(|| Box::new([Transition::Unknown; 256]));
        let known = row[usize::from(byte)];
        if !matches!(known, Transition::Unknown) {
            return Ok(known);
        }
        let transition = match self.automata.step(state, byte)? {
            None => Transition::Dead,
            Some(next) if self.automata.is_accepting(next) => Transition::End,
            Some(next) => Transition::Inside(next),
        };
        if let Some(row) = self.transitions.get_mut(&state) {
            row[usize::from(byte)] = transition;
        }
        Ok(transition)
    }
}
