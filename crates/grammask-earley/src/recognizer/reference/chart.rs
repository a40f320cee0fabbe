//! The Earley sets of a text, one set per position.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::leaves::Leaf;
use super::productions::{PlainNonterminal, Production, ProductionId, Symbol};
use super::{Language, Reference};
use grammask_automata::TermId;
use grammask_vocabulary::TokenId;

/// The recogniser's state after a text. A clone is independent of the original.
#[derive(Clone, Debug)]
pub struct Chart<'r> {
    reference: &'r Reference<'r>,
    /// One set per position; the positions inside a token are those between its bytes.
    sets: Vec<Rc<[Item]>>,
    /// How many tokens were accepted.
    tokens: usize,
}

/// A production that was recognised up to the dot, beginning at the position `origin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Item {
    production: ProductionId,
    dot: usize,
    origin: usize,
    /// The terminal after the dot has been entered and this is how far it is.
    word: Option<Word>,
}

/// A partly read word of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Word {
    /// What may follow.
    rest: TermId,
    /// How many tokens have contributed a byte.
    tokens: u32,
    /// The last one that did, by its number in the text.
    last_token: Option<usize>,
}

impl<'r> Chart<'r> {
    pub(super) fn new(reference: &'r Reference<'r>) -> Self {
        let mut chart = Self { reference, sets: Vec::new(), tokens: 0 };
        let seeds = chart.predictions(reference.grammar.start, 0);
        let first = chart.closed(seeds);
        chart.sets.push(first);
        chart
    }

    /// Appends a token, read as its bytes or as an event, if the result is a legal prefix. Otherwise nothing
    /// changes.
    pub fn accept_token(&mut self, id: TokenId) -> bool {
        self.accept(self.reference.vocabulary.token(id).unwrap_or_default(), Some(id))
    }

    /// Appends bytes as one token that has no id, if the result is a legal prefix. Otherwise nothing changes.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> bool {
        bytes.is_empty() || self.accept(bytes, None)
    }

    /// Whether the text so far is a text of the language.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.last_set().iter().any(|item| {
            let Production { lhs, rhs } = self.production(item);
            item.dot == rhs.len() && item.origin == 0 && *lhs == self.reference.grammar.start
        })
    }

    /// Which kinds of text the whole grammar derives.
    #[must_use]
    pub fn language(&self) -> Language {
        self.reference.language()
    }

    fn accept(&mut self, text: &[u8], event: Option<TokenId>) -> bool {
        let before = self.sets.len();
        let mut seeds = Vec::new();
        for (index, &byte) in text.iter().enumerate() {
            if index > 0 {
                let set = self.closed(std::mem::take(&mut seeds));
                self.sets.push(set);
            }
            seeds = self.after_byte(byte);
        }
        seeds.extend(event.into_iter().flat_map(|token| self.after_event(token, before - 1)));
        // Here the token ends. A word that has no token left cannot go on; where it could end, it has ended.
        let set = self.closed(seeds);
        let set: Rc<[Item]> = set.iter().copied().filter(|item| !self.is_exhausted(item)).collect();
        if set.is_empty() {
            self.sets.truncate(before);
            return false;
        }
        self.sets.push(set);
        self.tokens += 1;
        true
    }

    /// The items of the last set that read `byte`.
    fn after_byte(&self, byte: u8) -> Vec<Item> {
        let mut words = self.reference.words.borrow_mut();
        let mut seeds = Vec::new();
        for item in self.last_set() {
            let Some(word) = item.word else { continue };
            let tokens = if word.last_token == Some(self.tokens) { word.tokens } else { word.tokens + 1 };
            if self.token_limit(item).is_some_and(|most| tokens > most) {
                continue;
            }
            if let Some(rest) = words.after(word.rest, byte) {
                let word = Word { rest, tokens, last_token: Some(self.tokens) };
                seeds.push(Item { word: Some(word), ..*item });
            }
        }
        seeds
    }

    /// The items of the set at `position` that match an event of `token`.
    fn after_event(&self, token: TokenId, position: usize) -> Vec<Item> {
        let matches = |item: &&Item| match self.next_symbol(item) {
            Some(Symbol::Terminal(id)) => {
                self.reference.leaves[id.index()].is_event_of(token, self.reference.vocabulary)
            }
            Some(Symbol::Nonterminal(_)) | None => false,
        };
        self.sets[position].iter().filter(matches).map(Item::advanced).collect()
    }

    /// The set at the next position: `seeds` and what follows from them without reading.
    fn closed(&self, seeds: Vec<Item>) -> Rc<[Item]> {
        let position = self.sets.len();
        let mut set = Agenda::default();
        seeds.into_iter().for_each(|seed| set.add(seed));
        let mut completed_empty: FxHashSet<PlainNonterminal> = FxHashSet::default();
        let mut next = 0;
        while let Some(&item) = set.items.get(next) {
            next += 1;
            match self.next_symbol(&item) {
                None => {
                    let lhs = self.production(&item).lhs;
                    let waiting = if item.origin == position {
                        completed_empty.insert(lhs);
                        set.items.clone()
                    } else {
                        self.sets[item.origin].to_vec()
                    };
                    let waits = |item: &&Item| self.next_symbol(item) == Some(Symbol::Nonterminal(lhs));
                    waiting.iter().filter(waits).for_each(|item| set.add(item.advanced()));
                }
                Some(Symbol::Nonterminal(nonterminal)) => {
                    for prediction in self.predictions(nonterminal, position) {
                        set.add(prediction);
                    }
                    if completed_empty.contains(&nonterminal) {
                        set.add(item.advanced());
                    }
                }
                Some(Symbol::Terminal(terminal)) => {
                    let words = self.reference.words.borrow();
                    match (&self.reference.leaves[terminal.index()], item.word) {
                        (Leaf::Word { term, .. }, None) => {
                            let word = Word { rest: *term, tokens: 0, last_token: None };
                            set.add(Item { word: Some(word), ..item });
                        }
                        (Leaf::Word { .. }, Some(word)) if words.is_nullable(word.rest) => {
                            set.add(item.advanced())
                        }
                        _ => {}
                    }
                }
            }
        }
        set.items.into()
    }

    fn predictions(&self, nonterminal: PlainNonterminal, position: usize) -> Vec<Item> {
        self.reference.grammar.by_lhs[nonterminal.index()]
            .iter()
            .map(|&production| Item { production, dot: 0, origin: position, word: None })
            .collect()
    }

    fn last_set(&self) -> &[Item] {
        self.sets.last().expect("a chart begins with the set of the empty text")
    }

    fn production(&self, item: &Item) -> &'r Production {
        &self.reference.grammar.productions[item.production.index()]
    }

    fn next_symbol(&self, item: &Item) -> Option<Symbol> {
        self.production(item).rhs.get(item.dot).copied()
    }

    /// The most tokens that the terminal after the dot may take.
    fn token_limit(&self, item: &Item) -> Option<u32> {
        match self.next_symbol(item) {
            Some(Symbol::Terminal(id)) => match &self.reference.leaves[id.index()] {
                Leaf::Word { tokens, .. } => *tokens,
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the item is in a word that may take no further token.
    fn is_exhausted(&self, item: &Item) -> bool {
        match (item.word, self.token_limit(item)) {
            (Some(word), Some(most)) => word.tokens >= most,
            _ => false,
        }
    }
}

impl Item {
    /// The item with the symbol after the dot recognised.
    fn advanced(&self) -> Self {
        Self { dot: self.dot + 1, word: None, ..*self }
    }
}

/// Items in the order of arrival, each once.
#[derive(Default)]
struct Agenda {
    items: Vec<Item>,
    seen: FxHashSet<Item>,
}

impl Agenda {
    fn add(&mut self, item: Item) {
        if self.seen.insert(item) {
            self.items.push(item);
        }
    }
}
