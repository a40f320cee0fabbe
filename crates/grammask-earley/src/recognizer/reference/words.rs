//! Reads words of terminals byte by byte, and tells which partial words can still become words.

use rustc_hash::FxHashMap;

use grammask_automata::{TermId, Terms};

/// The terms of a grammar, with a memory of which are live (hold at least one word).
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

    /// What may follow `byte` in words of `term`, if some word begins with it.
    pub(super) fn after(&mut self, term: TermId, byte: u8) -> Option<TermId> {
        let rest = self.terms.derivative(term, byte);
        self.is_live(rest).then_some(rest)
    }

    /// Whether some word of `term` has a byte.
    pub(super) fn has_nonempty_word(&mut self, term: TermId) -> bool {
        (0..=255).any(|byte| self.after(term, byte).is_some())
    }

    /// Whether `term` has a word at all: a search through its derivatives for a nullable one.
    pub(super) fn is_live(&mut self, term: TermId) -> bool {
        if let Some(&known) = self.live.get(&term) {
            return known;
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

    /// Remembers that everything on the way to the live term `end` is live.
    fn mark_path(&mut self, end: TermId, reached_from: &FxHashMap<TermId, Option<TermId>>) -> bool {
        let mut next = Some(end);
        while let Some(term) = next {
            self.live.insert(term, true);
            next = reached_from[&term];
        }
        true
    }
}
