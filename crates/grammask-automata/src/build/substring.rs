//! The substrings of a string, at character boundaries, as an automaton of linear size.
//!
//! The suffix automaton of Blumer et al., "The smallest automaton recognizing the subwords of a text" (1985), is built
//! online over characters. Then the transitions of each state are expanded into a trie over UTF-8 bytes, whose inner
//! states do not accept. Cost: O(n) for n characters, at most 2n states and 3n transitions over characters; about 1 s
//! per megabyte.

use rustc_hash::FxHashMap;

use crate::dfa::table::{Fingerprints, StateRows, Table, TableState};
use crate::term::arena::{TermId, Terms};
use crate::term::content_hash::ContentHasher;

/// A state of the suffix automaton over characters.
#[derive(Clone, Copy)]
struct SuffixState {
    /// Length of the state's longest word.
    length: u32,
    /// The suffix link: the state of the longest suffix of its words that is in another state. The root has none.
    link: Option<u32>,
    /// The head of the list of transitions.
    edges: Option<u32>,
    /// Number of transitions.
    degree: u32,
}

/// States with more transitions than this use the hash table, others a linear search of their list. Most states have
/// one or two; in longer lists each element is a cache miss.
const MAX_LIST_EDGES: u32 = 2;

/// A transition over a character, linked into the list of its state.
#[derive(Clone, Copy)]
struct CharacterEdge {
    character: char,
    target: u32,
    next: Option<u32>,
}

/// The code point that represents the first distinct chunk in [`Terms::substrings_of_chunks`]; later ones follow.
const FIRST_CHUNK_CODE_POINT: u32 = 0x1_0000;

#[derive(Default)]
struct SuffixAutomaton {
    states: Vec<SuffixState>,
    edges: Vec<CharacterEdge>,
    /// Index in `edges` by state and character, for states with many transitions.
    lookup: FxHashMap<(u32, char), u32>,
}

impl SuffixAutomaton {
    fn of(text: &str) -> Self {
        let mut automaton = Self::default();
        let mut last = automaton.add_state(0, None);
        for character in text.chars() {
            last = automaton.append(last, character);
        }
        automaton
    }

    /// Appends a character to the string whose state is `last`; returns the state of the longer string.
    fn append(&mut self, last: u32, character: char) -> u32 {
        let length = self.states[last as usize].length + 1;
        let whole = self.add_state(length, None);
        let mut suffix = Some(last);
        while let Some(state) = suffix {
            if let Some(edge) = self.find(state, character) {
                let target = self.edges[edge as usize].target;
                self.states[whole as usize].link = Some(self.split(state, character, target));
                return whole;
            }
            self.add_edge(state, character, whole);
            suffix = self.states[state as usize].link;
        }
        self.states[whole as usize].link = Some(0);
        whole
    }

    /// The state whose longest word is that of `state` with `character`: `target`, or a clone split off it.
    fn split(&mut self, state: u32, character: char, target: u32) -> u32 {
        let length = self.states[state as usize].length + 1;
        let old = self.states[target as usize];
        if old.length == length {
            return target;
        }
        let part = self.add_state(length, old.link);
        let mut edges = old.edges;
        while let Some(edge) = edges {
            let CharacterEdge { character, target, next } = self.edges[edge as usize];
            self.add_edge(part, character, target);
            edges = next;
        }
        self.states[target as usize].link = Some(part);
        let mut suffix = Some(state);
        while let Some(state) = suffix {
            let Some(edge) = self.find(state, character) else { break };
            let edge = &mut self.edges[edge as usize];
            if edge.target != target {
                break;
            }
            edge.target = part;
            suffix = self.states[state as usize].link;
        }
        part
    }

    fn add_state(&mut self, length: u32, link: Option<u32>) -> u32 {
        self.states.push(SuffixState { length, link, edges: None, degree: 0 });
        TableState::new(self.states.len() - 1).index() as u32
    }

    /// The transition of `state` over `character`.
    fn find(&self, state: u32, character: char) -> Option<u32> {
        let SuffixState { mut edges, degree, .. } = self.states[state as usize];
        if degree > MAX_LIST_EDGES {
            return self.lookup.get(&(state, character)).copied();
        }
        while let Some(edge) = edges {
            let CharacterEdge { character: own, next, .. } = self.edges[edge as usize];
            if own == character {
                return Some(edge);
            }
            edges = next;
        }
        None
    }

    fn add_edge(&mut self, id: u32, character: char, target: u32) {
        let edge = self.edges.len() as u32;
        let state = &mut self.states[id as usize];
        let next = state.edges.replace(edge);
        state.degree += 1;
        let degree = state.degree;
        self.edges.push(CharacterEdge { character, target, next });
        if degree == MAX_LIST_EDGES + 1 {
            let mut edges = Some(edge);
            while let Some(edge) = edges {
                let CharacterEdge { character, next, .. } = self.edges[edge as usize];
                self.lookup.insert((id, character), edge);
                edges = next;
            }
        } else if degree > MAX_LIST_EDGES {
            self.lookup.insert((id, character), edge);
        }
    }

    /// The automaton over UTF-8 bytes.
    fn into_rows(self) -> StateRows {
        let mut rows = StateRows::default();
        let mut expansion = ByteExpansion { next_state: self.states.len(), ..ByteExpansion::default() };
        for state in &self.states {
            rows.begin_row(true);
            let start = expansion.encodings.len();
            let mut edges = state.edges;
            while let Some(edge) = edges {
                let CharacterEdge { character, target, next } = self.edges[edge as usize];
                expansion.encodings.push(EncodedEdge::new(character, target));
                edges = next;
            }
            expansion.encodings[start..].sort_unstable();
            let end = expansion.encodings.len();
            expansion.expand(start, end, 0, &mut rows);
        }
        let mut next = 0;
        while let Some(&PartialCharacter { start, end, depth }) = expansion.queue.get(next) {
            next += 1;
            rows.begin_row(false);
            expansion.expand(start, end, depth, &mut rows);
        }
        rows
    }
}

/// A transition over a character, as UTF-8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EncodedEdge {
    bytes: [u8; 4],
    length: u8,
    target: u32,
}

impl EncodedEdge {
    fn new(character: char, target: u32) -> Self {
        let mut bytes = [0; 4];
        let length = character.encode_utf8(&mut bytes).len() as u8;
        Self { bytes, length, target }
    }
}

/// A state within characters: those of `encodings[start..end]`, after `depth` bytes.
#[derive(Clone, Copy)]
struct PartialCharacter {
    start: usize,
    end: usize,
    depth: usize,
}

/// The expansion of transitions to bytes. States within characters are numbered after those at character boundaries.
#[derive(Default)]
struct ByteExpansion {
    encodings: Vec<EncodedEdge>,
    queue: Vec<PartialCharacter>,
    next_state: usize,
}

impl ByteExpansion {
    /// Adds the transitions over byte `depth` of the sorted encodings `start..end` to the last state of `rows`.
    fn expand(&mut self, start: usize, end: usize, depth: usize, rows: &mut StateRows) {
        let queued = self.queue.len();
        let mut from = start;
        while from < end {
            let byte = self.encodings[from].bytes[depth];
            let same = self.encodings[from..end].partition_point(|encoding| encoding.bytes[depth] == byte);
            let target = if usize::from(self.encodings[from].length) == depth + 1 {
                TableState::new(self.encodings[from].target as usize)
            } else {
                self.queue.push(PartialCharacter { start: from, end: from + same, depth: depth + 1 });
                self.next_state += 1;
                TableState::new(self.next_state - 1)
            };
            rows.push_edge(byte, byte, target);
            from += same;
        }
        if depth == 0 && self.queue.len() == queued {
            self.encodings.truncate(start);
        }
    }
}

impl Terms {
    /// The substrings of `text` that begin and end at character boundaries, including the empty one.
    pub fn substrings(&mut self, text: &str) -> TermId {
        let mut hasher = ContentHasher::new(3);
        hasher.write_bytes(text.as_bytes());
        let rows = SuffixAutomaton::of(text).into_rows();
        // The construction is a function of the string, so its numbering is canonical.
        self.table(Table::new(rows, TableState::new(0), Fingerprints::Table(hasher.finish())))
    }

    /// The concatenations of consecutive `chunks`, including the empty one.
    ///
    /// Builds the suffix automaton over chunks, then a term for each of its states. Cost: linear in the number of
    /// chunks, except where chunks are prefixes of each other. `None` for more than a million distinct chunks.
    pub fn substrings_of_chunks<S: AsRef<str>>(&mut self, chunks: &[S]) -> Option<TermId> {
        let mut numbers: FxHashMap<&str, char> = FxHashMap::default();
        let mut distinct: Vec<&str> = Vec::new();
        let mut text = String::new();
        for chunk in chunks.iter().map(AsRef::as_ref).filter(|chunk| !chunk.is_empty()) {
            let number = match numbers.get(chunk) {
                Some(&number) => number,
                None => {
                    let index = u32::try_from(distinct.len()).ok()?;
                    let number = char::from_u32(index.checked_add(FIRST_CHUNK_CODE_POINT)?)?;
                    distinct.push(chunk);
                    *numbers.entry(chunk).or_insert(number)
                }
            };
            text.push(number);
        }
        let automaton = SuffixAutomaton::of(&text);
        let words: Vec<TermId> = distinct.iter().map(|chunk| self.literal(chunk.as_bytes())).collect();
        let mut order: Vec<usize> = (0..automaton.states.len()).collect();
        // Targets before sources: a transition goes to a state with a longer longest word.
        order.sort_by_key(|&state| std::cmp::Reverse(automaton.states[state].length));
        let mut terms = vec![self.epsilon(); automaton.states.len()];
        for state in order {
            let mut alternatives = vec![self.epsilon()];
            let mut edges = automaton.states[state].edges;
            while let Some(edge) = edges {
                let CharacterEdge { character, target, next } = automaton.edges[edge as usize];
                let word = words[(character as u32 - FIRST_CHUNK_CODE_POINT) as usize];
                alternatives.push(self.concat(&[word, terms[target as usize]]));
                edges = next;
            }
            terms[state] = self.union(&alternatives);
        }
        terms.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn contains(terms: &mut Terms, term: TermId, word: &[u8]) -> bool {
        let end = word.iter().fold(term, |term, &byte| terms.derivative(term, byte));
        terms.is_nullable(end)
    }

    proptest! {
        #[test]
        fn accepts_exactly_the_substrings(text in "[abéè你一😀😁]{0,12}", other in "[abéè你一😀😁]{0,5}") {
            let mut terms = Terms::new();
            let term = terms.substrings(&text);
            prop_assert_eq!(contains(&mut terms, term, other.as_bytes()), text.contains(&other));
            // A slice of the bytes is accepted if and only if it consists of whole characters.
            for start in 0..=text.len() {
                for end in start..=text.len() {
                    let word = &text.as_bytes()[start..end];
                    prop_assert_eq!(contains(&mut terms, term, word), std::str::from_utf8(word).is_ok());
                }
            }
        }
    }

    #[test]
    fn states_with_many_transitions_are_found() {
        let letters: Vec<char> = ('a'..='z').chain('А'..='я').collect();
        let text: String =
            (0..2000).map(|index: usize| letters[index * index * 31 % 90 % letters.len()]).collect();
        let mut terms = Terms::new();
        let term = terms.substrings(&text);
        for length in 1..4 {
            for start in 0..text.chars().count() - length {
                let word: String = text.chars().skip(start).take(length).collect();
                assert!(contains(&mut terms, term, word.as_bytes()));
                let other: String = word.chars().rev().collect();
                assert_eq!(contains(&mut terms, term, other.as_bytes()), text.contains(&other));
            }
        }
    }

    #[test]
    fn the_empty_string_has_only_the_empty_substring() {
        let mut terms = Terms::new();
        assert_eq!(terms.substrings(""), terms.epsilon());
    }

    #[test]
    fn the_number_of_states_is_linear() {
        let text: String = (0..20_000u32).map(|index| char::from(b'a' + (index * index % 7) as u8)).collect();
        let rows = SuffixAutomaton::of(&text).into_rows();
        assert!(rows.len() <= 2 * text.len());
    }
}
