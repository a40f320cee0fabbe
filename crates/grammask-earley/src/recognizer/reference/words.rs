//! Reads words of terminals byte by byte, and decides which prefixes can be completed to a word, and with how many
//! tokens.

use rustc_hash::FxHashMap;

use grammask_automata::{TermId, Terms};
use grammask_vocabulary::{TokenId, Vocabulary};

/// The terms of a grammar, with memoised liveness (whether they hold a word).
#[derive(Debug)]
pub(super) struct Words {
    terms: Terms,
    live: FxHashMap<TermId, bool>,
    /// Lengths of shortest words over the bytes that are tokens by themselves.
    lengths: FxHashMap<TermId, Option<usize>>,
}

impl Words {
    pub(super) fn new(terms: Terms) -> Self {
        Self { terms, live: FxHashMap::default(), lengths: FxHashMap::default() }
    }

    /// The language of exactly `word`.
    pub(super) fn literal(&mut self, word: &[u8]) -> TermId {
        self.terms.literal(word)
    }

    /// Whether the empty word is in the language of `term`.
    pub(super) fn is_nullable(&self, term: TermId) -> bool {
        self.terms.is_nullable(term)
    }

    /// The derivative of `term` by `byte`, if some word begins with the byte.
    pub(super) fn after(&mut self, term: TermId, byte: u8) -> Option<TermId> {
        let derivative = self.terms.derivative(term, byte);
        self.is_live(derivative).then_some(derivative)
    }

    /// Whether `term` holds a nonempty word.
    pub(super) fn has_nonempty_word(&mut self, term: TermId) -> bool {
        (0..=255).any(|byte| self.after(term, byte).is_some())
    }

    /// Whether `term` holds a word: a search through its derivatives for a nullable one.
    pub(super) fn is_live(&mut self, term: TermId) -> bool {
        if let Some(&is_live) = self.live.get(&term) {
            return is_live;
        }
        let mut reached_from = FxHashMap::from_iter([(term, None)]);
        let mut stack = vec![term];
        while let Some(current) = stack.pop() {
            match self.live.get(&current) {
                Some(false) => continue,
                Some(true) => return self.mark_path(current, &reached_from),
                None if self.terms.is_nullable(current) => return self.mark_path(current, &reached_from),
                None => {}
            }
            for byte in 0..=255 {
                let next = self.terms.derivative(current, byte);
                if let std::collections::hash_map::Entry::Vacant(entry) = reached_from.entry(next) {
                    entry.insert(Some(current));
                    stack.push(next);
                }
            }
        }
        self.live.extend(reached_from.into_keys().map(|dead| (dead, false)));
        false
    }

    /// The minimum number of tokens that spell the shortest word of `term` whose bytes are tokens by themselves; of
    /// several shortest words the smallest one. `None` if there is none.
    pub(super) fn min_tokens(&mut self, term: TermId, vocabulary: &Vocabulary) -> Option<u32> {
        let mut word = Vec::new();
        let mut rest = term;
        let mut length = self.shortest_length(rest, vocabulary)?;
        while length > 0 {
            length -= 1;
            let is_next = |words: &mut Self, byte: u8| {
                let next = words.terms.derivative(rest, byte);
                is_token(byte, vocabulary) && words.shortest_length(next, vocabulary) == Some(length)
            };
            let byte = (0..=255).find(|&byte| is_next(self, byte))?;
            word.push(byte);
            rest = self.terms.derivative(rest, byte);
        }
        spelling_tokens(&word, vocabulary)
    }

    /// The length of the shortest word whose bytes are tokens by themselves: a breadth-first search.
    fn shortest_length(&mut self, term: TermId, vocabulary: &Vocabulary) -> Option<usize> {
        if let Some(&length) = self.lengths.get(&term) {
            return length;
        }
        let mut reached = vec![(term, 0)];
        let mut next = 0;
        let mut found = None;
        while let Some(&(current, length)) = reached.get(next) {
            next += 1;
            if self.terms.is_nullable(current) {
                found = Some(length);
                break;
            }
            for byte in (0..=255).filter(|&byte| is_token(byte, vocabulary)) {
                let derivative = self.terms.derivative(current, byte);
                if reached.iter().all(|&(other, _)| other != derivative) {
                    reached.push((derivative, length + 1));
                }
            }
        }
        self.lengths.insert(term, found);
        found
    }

    /// Marks the terms on the path to the live term `end` as live.
    fn mark_path(&mut self, end: TermId, reached_from: &FxHashMap<TermId, Option<TermId>>) -> bool {
        let mut next = Some(end);
        while let Some(term) = next {
            self.live.insert(term, true);
            next = reached_from[&term];
        }
        true
    }
}

/// The minimum number of tokens that spell a word; `None` if none do.
pub(super) fn spelling_tokens(word: &[u8], vocabulary: &Vocabulary) -> Option<u32> {
    let mut tokens: Vec<Option<u32>> = vec![None; word.len() + 1];
    tokens[word.len()] = Some(0);
    for from in (0..word.len()).rev() {
        let texts = (0..vocabulary.size() as u32).filter_map(|id| vocabulary.token(TokenId(id)));
        let read = texts.filter(|text| word[from..].starts_with(text));
        tokens[from] = read.filter_map(|text| Some(tokens[from + text.len()]? + 1)).min();
    }
    tokens[0]
}

/// Whether a byte is a token by itself.
fn is_token(byte: u8, vocabulary: &Vocabulary) -> bool {
    !vocabulary.ids_of(&[byte]).is_empty()
}
