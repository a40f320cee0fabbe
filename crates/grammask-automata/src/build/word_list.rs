//! Minimal acyclic automata of finite languages, built incrementally from sorted words.
//!
//! Daciuk, Mihov, Watson and Watson, "Incremental construction of minimal acyclic finite-state automata" (2000). The
//! symbols are byte ranges, so one construction serves word lists and the UTF-8 encodings of character classes. Cost:
//! linear in the total length of the words.

use regex_syntax::utf8::Utf8Sequences;
use rustc_hash::FxHashMap;

use crate::dfa::table::{Fingerprints, StateRows, Table, TableEdge, TableState, content_of_row};
use crate::term::arena::{TermId, Terms};

/// A range of bytes, both ends included: a symbol of the construction.
type ByteRange = (u8, u8);

/// A state on the path of the last word.
#[derive(Default)]
struct OpenState {
    accepting: bool,
    edges: Vec<TableEdge>,
    /// The symbol of the transition to the next state of the path.
    pending: Option<ByteRange>,
}

/// The register of finished states and the path of the last word.
struct AcyclicBuilder {
    rows: StateRows,
    hashes: Vec<u128>,
    register: FxHashMap<u128, TableState>,
    path: Vec<OpenState>,
    /// Length of the path; later elements of `path` keep their allocations.
    depth: usize,
}

impl AcyclicBuilder {
    fn new() -> Self {
        Self {
            rows: StateRows::default(),
            hashes: Vec::new(),
            register: FxHashMap::default(),
            path: vec![OpenState::default()],
            depth: 1,
        }
    }

    /// Adds a word. Words must be added in ascending order, and two symbols after a common prefix must be equal or
    /// disjoint.
    fn add(&mut self, word: &[ByteRange]) {
        let common = self.path[..self.depth]
            .iter()
            .zip(word)
            .take_while(|(state, symbol)| state.pending == Some(**symbol))
            .count();
        self.freeze_below(common);
        for &symbol in &word[common..] {
            self.path[self.depth - 1].pending = Some(symbol);
            if self.path.len() == self.depth {
                self.path.push(OpenState::default());
            }
            self.depth += 1;
        }
        self.path[self.depth - 1].accepting = true;
    }

    /// Replaces the states of the path below `depth` by registered states.
    fn freeze_below(&mut self, depth: usize) {
        while self.depth > depth + 1 {
            self.depth -= 1;
            let target = self.freeze_last();
            let parent = &mut self.path[self.depth - 1];
            let (low, high) =
                parent.pending.take().expect("every state below the root has an incoming symbol");
            match parent.edges.last_mut() {
                Some(last) if last.high + 1 == low && last.target == target => last.high = high,
                _ => parent.edges.push(TableEdge { low, high, target }),
            }
        }
    }

    /// The registered state that is equivalent to the open state at `depth`.
    fn freeze_last(&mut self) -> TableState {
        let state = &mut self.path[self.depth];
        let accepting = std::mem::take(&mut state.accepting);
        let hash = content_of_row(accepting, &state.edges, &self.hashes);
        let id = *self.register.entry(hash).or_insert_with(|| {
            let id = self.rows.begin_row(accepting);
            for edge in &state.edges {
                self.rows.push_edge(edge.low, edge.high, edge.target);
            }
            self.hashes.push(hash);
            id
        });
        state.edges.clear();
        id
    }

    fn finish(mut self) -> Table {
        self.freeze_below(0);
        self.depth = 0;
        let start = self.freeze_last();
        Table::new(self.rows, start, Fingerprints::Contents(self.hashes.into()))
    }
}

impl Terms {
    /// The language of a list of words. Cost: linear in their total length, after sorting.
    pub fn literals<I: AsRef<[u8]>>(&mut self, words: &[I]) -> TermId {
        let mut words: Vec<&[u8]> = words.iter().map(AsRef::as_ref).collect();
        words.sort_unstable();
        words.dedup();
        match words[..] {
            [] => return TermId::NOTHING,
            [only] => return self.literal(only),
            _ => {}
        }
        let mut builder = AcyclicBuilder::new();
        let mut symbols = Vec::new();
        for word in words {
            symbols.clear();
            symbols.extend(word.iter().map(|&byte| (byte, byte)));
            builder.add(&symbols);
        }
        self.table(builder.finish())
    }

    /// The UTF-8 encodings of a character class, given as ascending, disjoint pairs of first and last character.
    pub fn characters(&mut self, ranges: &[(char, char)]) -> TermId {
        if ranges.is_empty() {
            return TermId::NOTHING;
        }
        let mut builder = AcyclicBuilder::new();
        for &(first, last) in ranges {
            // `Utf8Sequences` satisfies the condition of `add`: first ranges of a class are equal or disjoint.
            for sequence in Utf8Sequences::new(first, last) {
                let symbols = sequence.as_slice().iter().map(|range| (range.start, range.end));
                builder.add(&symbols.collect::<Vec<_>>());
            }
        }
        self.table(builder.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(terms: &mut Terms, term: TermId, word: &[u8]) -> bool {
        let end = word.iter().fold(term, |term, &byte| terms.derivative(term, byte));
        terms.is_nullable(end)
    }

    #[test]
    fn holds_exactly_its_words() {
        let words = ["", "a", "ab", "abc", "b", "bc", "né", "你好", "xbc"];
        let mut terms = Terms::new();
        let term = terms.literals(&words);
        for word in words {
            assert!(contains(&mut terms, term, word.as_bytes()), "{word}");
        }
        for other in ["c", "abcd", "n", "你", "x", "xb", "bb"] {
            assert!(!contains(&mut terms, term, other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn equal_suffix_sets_are_one_state() {
        let mut terms = Terms::new();
        let first = terms.literals(&["axyz", "bxyz", "b"]);
        let second = terms.literals(&["qxyz", "qw", "xyz"]);
        let after_a = terms.derivative(first, b'a');
        let after_q = terms.derivative(second, b'q');
        let after_x = terms.derivative(second, b'x');
        assert_eq!(terms.derivative(after_a, b'x'), after_x);
        assert_ne!(after_a, after_q);
    }

    #[test]
    fn degenerate_sets_are_simple_terms() {
        let mut terms = Terms::new();
        let none: [&str; 0] = [];
        assert_eq!(terms.literals(&none), terms.nothing());
        assert_eq!(terms.literals(&[""]), terms.epsilon());
        let bytes = terms.bytes(crate::ByteSet::range(b'a', b'b'));
        assert_eq!(terms.literals(&["b", "a", "b"]), bytes);
        assert_eq!(terms.characters(&[('a', 'b')]), bytes);
    }

    #[test]
    fn a_hundred_thousand_words_share_suffixes() {
        let words: Vec<String> = (0..100_000).map(|number| format!("{number:06}")).collect();
        let mut terms = Terms::new();
        let before = terms.len();
        let term = terms.literals(&words);
        assert_eq!(terms.len(), before + 1);
        assert!(contains(&mut terms, term, b"099999"));
        assert!(!contains(&mut terms, term, b"100000"));
    }

    #[test]
    fn character_classes_are_utf8() {
        let mut terms = Terms::new();
        let class = terms.characters(&[('a', 'c'), ('é', 'ü'), ('一', '鿿'), ('😀', '😎')]);
        for (text, expected) in
            [("b", true), ("d", false), ("è", false), ("ì", true), ("你", true), ("😃", true), ("😏", false)]
        {
            assert_eq!(contains(&mut terms, class, text.as_bytes()), expected, "{text}");
        }
    }
}
