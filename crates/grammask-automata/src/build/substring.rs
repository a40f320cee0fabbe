//! The substrings of a text, at character boundaries, as an automaton of linear size.
//!
//! Blumer et al., "The smallest automaton recognizing the subwords of a text" (1985), built online over
//! characters; then the transitions of each state become a small tree over UTF-8 bytes, whose inner states do
//! not accept. Cost: O(n) steps for n characters, at most 2n states and 3n transitions over characters; about a
//! second for a megabyte.

use rustc_hash::FxHashMap;

use crate::dfa::table::{Fingerprints, Rows, Table, TableState};
use crate::term::arena::{TermId, Terms};
use crate::term::content_hash::ContentHasher;

/// A state of the automaton over characters.
#[derive(Clone, Copy)]
struct State {
    /// Length of its longest word.
    length: u32,
    /// The state of its longest suffix that is in another state; the root has none.
    link: Option<u32>,
    /// Its first transition.
    edges: Option<u32>,
    /// How many transitions it has.
    degree: u32,
}

/// A state with more transitions than this has them in the lookup table; others are searched. Most states have
/// one or two; longer lists lose to the table, because each step of them misses the cache.
const FEW_EDGES: u32 = 2;

/// A transition over a character, in the list of its state.
#[derive(Clone, Copy)]
struct CharacterEdge {
    character: char,
    target: u32,
    next: Option<u32>,
}

/// Chunks are numbered by the characters from here on, so that the automaton over characters serves for them.
const CHUNKS_FROM: u32 = 0x1_0000;

#[derive(Default)]
struct SuffixAutomaton {
    states: Vec<State>,
    edges: Vec<CharacterEdge>,
    /// The index in `edges` for a state with many transitions and a character.
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

    /// Appends `character` to the text whose state is `last`; returns the state of the longer text.
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

    /// The state whose longest word is that of `state` and `character`: `target` itself, or a part of it.
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
        self.states.push(State { length, link, edges: None, degree: 0 });
        TableState::new(self.states.len() - 1).index() as u32
    }

    /// The transition of `state` over `character`.
    fn find(&self, state: u32, character: char) -> Option<u32> {
        let State { mut edges, degree, .. } = self.states[state as usize];
        if degree > FEW_EDGES {
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
        if degree == FEW_EDGES + 1 {
            let mut edges = Some(edge);
            while let Some(edge) = edges {
                let CharacterEdge { character, next, .. } = self.edges[edge as usize];
                self.lookup.insert((id, character), edge);
                edges = next;
            }
        } else if degree > FEW_EDGES {
            self.lookup.insert((id, character), edge);
        }
    }

    /// The same over bytes.
    fn into_rows(self) -> Rows {
        let mut rows = Rows::default();
        let mut branches = Branches { next_state: self.states.len(), ..Branches::default() };
        for state in &self.states {
            rows.begin_row(true);
            let start = branches.encodings.len();
            let mut edges = state.edges;
            while let Some(edge) = edges {
                let CharacterEdge { character, target, next } = self.edges[edge as usize];
                branches.encodings.push(Encoding::new(character, target));
                edges = next;
            }
            branches.encodings[start..].sort_unstable();
            let end = branches.encodings.len();
            branches.expand(start, end, 0, &mut rows);
        }
        let mut next = 0;
        while let Some(&Branch { start, end, depth }) = branches.queue.get(next) {
            next += 1;
            rows.begin_row(false);
            branches.expand(start, end, depth, &mut rows);
        }
        rows
    }
}

/// The UTF-8 bytes of a character, and where they lead.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Encoding {
    bytes: [u8; 4],
    length: u8,
    target: u32,
}

impl Encoding {
    fn new(character: char, target: u32) -> Self {
        let mut bytes = [0; 4];
        let length = character.encode_utf8(&mut bytes).len() as u8;
        Self { bytes, length, target }
    }
}

/// A state inside characters: those of `encodings[start..end]`, after `depth` bytes.
#[derive(Clone, Copy)]
struct Branch {
    start: usize,
    end: usize,
    depth: usize,
}

/// States inside characters, numbered after all states at character boundaries.
#[derive(Default)]
struct Branches {
    encodings: Vec<Encoding>,
    queue: Vec<Branch>,
    next_state: usize,
}

impl Branches {
    /// Writes the transitions over byte `depth` of sorted encodings into the last row.
    fn expand(&mut self, start: usize, end: usize, depth: usize, rows: &mut Rows) {
        let queued = self.queue.len();
        let mut from = start;
        while from < end {
            let byte = self.encodings[from].bytes[depth];
            let same = self.encodings[from..end].partition_point(|encoding| encoding.bytes[depth] == byte);
            let target = if usize::from(self.encodings[from].length) == depth + 1 {
                TableState::new(self.encodings[from].target as usize)
            } else {
                self.queue.push(Branch { start: from, end: from + same, depth: depth + 1 });
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
    /// The substrings of `text` that start and end at character boundaries, the empty one included.
    pub fn substrings(&mut self, text: &str) -> TermId {
        let mut hasher = ContentHasher::new(3);
        hasher.write_bytes(text.as_bytes());
        let rows = SuffixAutomaton::of(text).into_rows();
        // The construction is a function of the text, so its numbering is canonical.
        self.table(Table::new(rows, TableState::new(0), Fingerprints::Table(hasher.finish())))
    }

    /// The texts made of some of `chunks` in a row, in their order, the empty one included.
    ///
    /// The automaton over whole chunks, then a term for each of its states. Cost: linear in the number of chunks, and
    /// more than that only where one chunk begins another. `None` if there are more than a million different chunks.
    pub fn substrings_of_chunks<S: AsRef<str>>(&mut self, chunks: &[S]) -> Option<TermId> {
        let mut numbers: FxHashMap<&str, char> = FxHashMap::default();
        let mut different: Vec<&str> = Vec::new();
        let mut text = String::new();
        for chunk in chunks.iter().map(AsRef::as_ref).filter(|chunk| !chunk.is_empty()) {
            let number = match numbers.get(chunk) {
                Some(&number) => number,
                None => {
                    let place = u32::try_from(different.len()).ok()?;
                    let number = char::from_u32(place.checked_add(CHUNKS_FROM)?)?;
                    different.push(chunk);
                    *numbers.entry(chunk).or_insert(number)
                }
            };
            text.push(number);
        }
        let automaton = SuffixAutomaton::of(&text);
        let words: Vec<TermId> = different.iter().map(|chunk| self.literal(chunk.as_bytes())).collect();
        let mut order: Vec<usize> = (0..automaton.states.len()).collect();
        // Transitions lead to longer words.
        order.sort_by_key(|&state| std::cmp::Reverse(automaton.states[state].length));
        let mut terms = vec![self.epsilon(); automaton.states.len()];
        for state in order {
            let mut alternatives = vec![self.epsilon()];
            let mut edges = automaton.states[state].edges;
            while let Some(edge) = edges {
                let CharacterEdge { character, target, next } = automaton.edges[edge as usize];
                let word = words[(character as u32 - CHUNKS_FROM) as usize];
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
            // Every slice of bytes is accepted if and only if it is whole characters.
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
    fn nothing_but_the_empty_word_is_in_the_empty_text() {
        let mut terms = Terms::new();
        assert_eq!(terms.substrings(""), terms.epsilon());
    }

    #[test]
    fn a_long_text_has_linearly_many_states() {
        let text: String = (0..20_000u32).map(|index| char::from(b'a' + (index * index % 7) as u8)).collect();
        let rows = SuffixAutomaton::of(&text).into_rows();
        assert!(rows.len() <= 2 * text.len());
    }
}
