//! Deterministic automata over parts of the code points, their comparison, and their translation to UTF-8.

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_collections::id_type;
use regex_syntax::utf8::Utf8Sequences;

use super::code_points::{CodePointPart, CodePointSet};
use crate::{Table, TableBuilder, TableState};

id_type! {
    /// A state of a [`CodePointAutomaton`].
    CodePointState
}

impl CodePointState {
    /// The start state.
    pub(super) const START: Self = Self(0);
}

/// A transition: the characters of `part` lead to `target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CodePointEdge {
    pub(super) part: CodePointPart,
    pub(super) target: CodePointState,
}

/// A deterministic automaton whose transitions are labelled with parts of the code points.
///
/// Automata that other modules see are minimal and have no dead state, except the start state of the empty language.
#[derive(Clone, Debug)]
pub struct CodePointAutomaton {
    parts: Vec<CodePointSet>,
    /// For each state its transitions, by ascending part.
    rows: Vec<Vec<CodePointEdge>>,
    accepting: Vec<bool>,
}

/// The relation of the words of a language to violations, from [`CodePointAutomaton::relation_to`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViolationRelation {
    /// Whether a word is a violation or begins with one.
    pub has_words_beyond: bool,
    /// Whether all words are violations or begin with one.
    pub has_only_words_beyond: bool,
    /// Characters of violations that follow a word that is a proper prefix of the violation, unless a longer word
    /// ends with the character.
    pub following_characters: CodePointSet,
}

impl CodePointAutomaton {
    /// An automaton without states.
    pub(super) fn new(parts: Vec<CodePointSet>) -> Self {
        Self { parts, rows: Vec::new(), accepting: Vec::new() }
    }

    /// Adds a state with its transitions, by ascending part.
    pub(super) fn push(&mut self, accepting: bool, edges: Vec<CodePointEdge>) {
        self.rows.push(edges);
        self.accepting.push(accepting);
    }

    /// Number of states.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// All states.
    pub(super) fn states(&self) -> impl Iterator<Item = CodePointState> + use<> {
        (0..self.len()).map(CodePointState::new)
    }

    pub(super) fn is_accepting(&self, state: CodePointState) -> bool {
        self.accepting[state.index()]
    }

    pub(super) fn edges(&self, state: CodePointState) -> &[CodePointEdge] {
        &self.rows[state.index()]
    }

    pub(super) fn next(&self, state: CodePointState, part: CodePointPart) -> Option<CodePointState> {
        let row = self.edges(state);
        row.binary_search_by_key(&part, |edge| edge.part).ok().map(|index| row[index].target)
    }

    pub(super) fn part(&self, part: CodePointPart) -> &CodePointSet {
        &self.parts[part.index()]
    }

    /// The characters of a transition.
    fn label(&self, edge: CodePointEdge) -> &CodePointSet {
        self.part(edge.part)
    }

    /// Whether a minimized automaton accepts no text.
    pub(super) fn is_empty(&self) -> bool {
        self.edges(CodePointState::START).is_empty() && !self.is_accepting(CodePointState::START)
    }

    /// Whether a text is in the language.
    #[must_use]
    pub fn accepts(&self, text: &str) -> bool {
        let mut state = CodePointState::START;
        for character in text.chars() {
            let mut edges = self.edges(state).iter();
            match edges.find(|&&edge| self.label(edge).contains(character.into())) {
                Some(edge) => state = edge.target,
                None => return false,
            }
        }
        self.is_accepting(state)
    }

    /// Whether all words of `other` are words of this automaton.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        let mut pairs = PairSearch::new();
        while let Some((own, others)) = pairs.pop() {
            if other.is_accepting(others) && !self.is_accepting(own) {
                return false;
            }
            for &edge in other.edges(others) {
                let mut missing = other.label(edge).clone();
                for &own_edge in self.edges(own) {
                    if missing.intersects(self.label(own_edge)) {
                        pairs.push(own_edge.target, edge.target);
                        missing = missing.difference(self.label(own_edge));
                    }
                }
                if !missing.is_empty() {
                    return false;
                }
            }
        }
        true
    }

    /// Whether a word of one automaton is equal to a word of the other or begins with one, so that both can match at
    /// one position.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let mut pairs = PairSearch::new();
        while let Some((own, others)) = pairs.pop() {
            if self.is_accepting(own) || other.is_accepting(others) {
                return true;
            }
            for &own_edge in self.edges(own) {
                for &edge in other.edges(others) {
                    if self.label(own_edge).intersects(other.label(edge)) {
                        pairs.push(own_edge.target, edge.target);
                    }
                }
            }
        }
        false
    }

    /// Whether a word of a minimized automaton begins with a shorter word.
    #[must_use]
    pub fn has_shorter_words(&self) -> bool {
        self.states().any(|state| self.is_accepting(state) && !self.edges(state).is_empty())
    }

    /// Whether a word begins with one of some characters.
    #[must_use]
    pub fn begins_with(&self, characters: &CodePointSet) -> bool {
        self.edges(CodePointState::START).iter().any(|&edge| self.label(edge).intersects(characters))
    }

    /// The relation of the words to `violations`.
    #[must_use]
    pub fn relation_to(&self, violations: &Self) -> ViolationRelation {
        let mut pairs = PairSearch::new();
        let mut has_words_beyond = false;
        let mut has_only_words_beyond = true;
        let mut following = Vec::new();
        while let Some((own, others)) = pairs.pop() {
            if violations.is_accepting(others) {
                has_words_beyond = true;
                continue;
            }
            if self.is_accepting(own) {
                has_only_words_beyond = false;
                // The lexer takes the longest word, so it does not stop before a character that completes a longer one.
                let longer = self.edges(own).iter().filter(|edge| self.is_accepting(edge.target));
                let longer =
                    CodePointSet::from_ranges(longer.flat_map(|&edge| self.label(edge).ranges().to_vec()));
                for &edge in violations.edges(others) {
                    following.extend_from_slice(violations.label(edge).difference(&longer).ranges());
                }
            }
            for &own_edge in self.edges(own) {
                let mut outside = self.label(own_edge).clone();
                for &edge in violations.edges(others) {
                    if outside.intersects(violations.label(edge)) {
                        pairs.push(own_edge.target, edge.target);
                        outside = outside.difference(violations.label(edge));
                    }
                }
                // Every state is live, so a word continues with these characters.
                has_only_words_beyond &= outside.is_empty();
            }
        }
        let following_characters = CodePointSet::from_ranges(following);
        ViolationRelation { has_words_beyond, has_only_words_beyond, following_characters }
    }

    /// The language as a table over UTF-8.
    #[must_use]
    pub fn utf8_table(&self) -> Table {
        let mut builder = TableBuilder::new();
        let states: Vec<TableState> = self.rows.iter().map(|_| builder.add_state()).collect();
        // States inside of characters, by their transitions.
        let mut inner_states: FxHashMap<Vec<ByteEdge>, TableState> = FxHashMap::default();
        for (row, (&state, &accepting)) in self.rows.iter().zip(states.iter().zip(&self.accepting)) {
            if accepting {
                builder.accept(state);
            }
            let mut sequences = Vec::new();
            for &CodePointEdge { part, target } in row {
                for &(first, last) in self.part(part).ranges() {
                    let ends = char::from_u32(first).zip(char::from_u32(last));
                    let (first, last) = ends.expect("sets have no surrogates");
                    sequences.extend(Utf8Sequences::new(first, last).map(|sequence| EncodedSequence {
                        bytes: sequence.as_slice().iter().map(|range| (range.start, range.end)).collect(),
                        target: states[target.index()],
                    }));
                }
            }
            sequences.sort_unstable_by(|left, right| left.bytes.cmp(&right.bytes));
            for (low, high, target) in byte_edges(&mut builder, &mut inner_states, &sequences, 0) {
                builder.transition(state, low, high, target);
            }
        }
        builder.finish(states[0])
    }

    /// The minimal automaton of the language without dead states (Moore's algorithm).
    pub(super) fn minimized(self) -> Self {
        let is_live = self.live_states();
        if !is_live[0] {
            return Self { parts: self.parts, rows: vec![Vec::new()], accepting: vec![false] };
        }
        let live: Vec<usize> = (0..self.len()).filter(|&state| is_live[state]).collect();
        let edges = |state: usize| self.rows[state].iter().filter(|edge| is_live[edge.target.index()]);
        let mut blocks: Vec<u32> = self.accepting.iter().map(|&accepting| u32::from(accepting)).collect();
        let mut block_count = 0;
        loop {
            let mut signatures = FxHashMap::default();
            let mut refined = blocks.clone();
            for &state in &live {
                let targets: Vec<(CodePointPart, u32)> =
                    edges(state).map(|edge| (edge.part, blocks[edge.target.index()])).collect();
                let new = signatures.len() as u32;
                refined[state] = *signatures.entry((blocks[state], targets)).or_insert(new);
            }
            blocks = refined;
            if signatures.len() == block_count {
                break;
            }
            block_count = signatures.len();
        }
        let mut rows = vec![Vec::new(); block_count];
        let mut accepting = vec![false; block_count];
        for &state in &live {
            let block = blocks[state] as usize;
            rows[block] = edges(state)
                .map(|edge| CodePointEdge {
                    part: edge.part,
                    target: CodePointState::new(blocks[edge.target.index()] as usize),
                })
                .collect();
            accepting[block] = self.accepting[state];
        }
        Self { parts: self.parts, rows, accepting }
    }

    fn live_states(&self) -> Vec<bool> {
        let mut sources: Vec<Vec<usize>> = vec![Vec::new(); self.len()];
        for (state, row) in self.rows.iter().enumerate() {
            row.iter().for_each(|edge| sources[edge.target.index()].push(state));
        }
        let mut is_live = self.accepting.clone();
        let mut stack: Vec<usize> = (0..self.len()).filter(|&state| is_live[state]).collect();
        while let Some(state) = stack.pop() {
            for &source in &sources[state] {
                if !std::mem::replace(&mut is_live[source], true) {
                    stack.push(source);
                }
            }
        }
        is_live
    }
}

/// Pairs of states of two automata that are reachable by a common text.
struct PairSearch {
    known: FxHashSet<(CodePointState, CodePointState)>,
    stack: Vec<(CodePointState, CodePointState)>,
}

impl PairSearch {
    fn new() -> Self {
        let start = (CodePointState::START, CodePointState::START);
        Self { known: FxHashSet::from_iter([start]), stack: vec![start] }
    }

    fn push(&mut self, left: CodePointState, right: CodePointState) {
        if self.known.insert((left, right)) {
            self.stack.push((left, right));
        }
    }

    fn pop(&mut self) -> Option<(CodePointState, CodePointState)> {
        self.stack.pop()
    }
}

/// A transition over a byte range: first and last byte, and target.
type ByteEdge = (u8, u8, TableState);

/// The UTF-8 encodings of a range of characters, as one range for each byte, with the target of a transition.
struct EncodedSequence {
    bytes: Vec<(u8, u8)>,
    target: TableState,
}

/// The transitions for the bytes from `depth` on of sorted sequences that agree before.
///
/// The sequences are those of disjoint sets of characters, so two byte ranges at one depth are equal or disjoint.
fn byte_edges(
    builder: &mut TableBuilder,
    inner_states: &mut FxHashMap<Vec<ByteEdge>, TableState>,
    sequences: &[EncodedSequence],
    depth: usize,
) -> Vec<ByteEdge> {
    let groups = sequences.chunk_by(|left, right| left.bytes[depth] == right.bytes[depth]);
    groups
        .map(|group| {
            let (low, high) = group[0].bytes[depth];
            if group[0].bytes.len() == depth + 1 {
                return (low, high, group[0].target);
            }
            let edges = byte_edges(builder, inner_states, group, depth + 1);
            let state = *inner_states.entry(edges).or_insert_with_key(|edges| {
                let state = builder.add_state();
                edges.iter().for_each(|&(low, high, target)| builder.transition(state, low, high, target));
                state
            });
            (low, high, state)
        })
        .collect()
}
