//! Reads words of terminals byte by byte, and decides which prefixes can be completed to a word.

use rustc_hash::FxHashMap;

use grammask_automata::{TermId, Terms};

/// The terms of a grammar, with memoised liveness (whether they hold a word).
#[derive(Debug)]
pub(super) struct Words {
    terms: Terms,
    live: FxHashMap<TermId, bool>,
}

impl Words {
    pub(super) fn new(terms: Terms) -> Self {
        Self { terms, live: FxHashMap::default() }
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
