//! The Earley sets of a text, one set per position.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::leaves::Leaf;
use super::productions::{PlainNonterminal, PlainProduction, PlainSymbol, ProductionId};
use super::{Language, Reference};
use grammask_automata::TermId;
use grammask_vocabulary::TokenId;

/// The recogniser's state after a text. A clone is independent of the original.
#[derive(Clone, Debug)]
pub struct Chart<'r> {
    reference: &'r Reference<'r>,
    /// One set per position; the positions inside a token are those between its bytes.
    sets: Vec<Rc<[TextbookItem]>>,
    /// Number of accepted tokens.
    tokens: usize,
}

/// A production that has been recognised up to the dot, from the position `origin` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TextbookItem {
    production: ProductionId,
    dot: usize,
    origin: usize,
    /// The word of the terminal after the dot, if the terminal has been entered.
    word: Option<Word>,
}

/// A partly read word of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Word {
    /// The language of its suffixes.
    suffixes: TermId,
    /// Number of tokens that contributed a byte.
    tokens: u32,
    /// The last of them, by its index in the text.
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

    /// Appends a token, read as its bytes or as an event, if the result is a viable prefix; otherwise changes nothing.
    pub fn accept_token(&mut self, id: TokenId) -> bool {
        self.accept(self.reference.vocabulary.token(id).unwrap_or_default(), Some(id))
    }

    /// Appends bytes as one token without an id, if the result is a viable prefix; otherwise changes nothing.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> bool {
        bytes.is_empty() || self.accept(bytes, None)
    }

    /// Whether the text so far is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.last_set().iter().any(|item| {
            let PlainProduction { lhs, rhs } = self.production(item);
            item.dot == rhs.len() && item.origin == 0 && *lhs == self.reference.grammar.start
        })
    }

    /// The kinds of text that the grammar derives.
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
        // The token ends here. A word that cannot end within its maximum number of tokens cannot continue. If it has
        // ended already, its end has been processed.
        let set = self.closed(seeds);
        let set: Rc<[TextbookItem]> = set.iter().copied().filter(|item| !self.is_exhausted(item)).collect();
        if set.is_empty() {
            self.sets.truncate(before);
            return false;
        }
        self.sets.push(set);
        self.tokens += 1;
        true
    }

    /// The items of the last set that read `byte`.
    fn after_byte(&self, byte: u8) -> Vec<TextbookItem> {
        let mut words = self.reference.words.borrow_mut();
        let mut seeds = Vec::new();
        for item in self.last_set() {
            let Some(word) = item.word else { continue };
            let tokens = if word.last_token == Some(self.tokens) { word.tokens } else { word.tokens + 1 };
            if self.token_limit(item).is_some_and(|max| tokens > max) {
                continue;
            }
            if let Some(suffixes) = words.after(word.suffixes, byte) {
                let word = Word { suffixes, tokens, last_token: Some(self.tokens) };
                seeds.push(TextbookItem { word: Some(word), ..*item });
            }
        }
        seeds
    }

    /// The items of the set at `position` that match an event of `token`.
    fn after_event(&self, token: TokenId, position: usize) -> Vec<TextbookItem> {
        let matches = |item: &&TextbookItem| match self.next_symbol(item) {
            Some(PlainSymbol::Terminal(id)) => {
                self.reference.leaves[id.index()].is_event_of(token, self.reference.vocabulary)
            }
            Some(PlainSymbol::Nonterminal(_)) | None => false,
        };
        self.sets[position].iter().filter(matches).map(TextbookItem::advanced).collect()
    }

    /// The set at the next position: the closure of `seeds` under prediction and completion.
    fn closed(&self, seeds: Vec<TextbookItem>) -> Rc<[TextbookItem]> {
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
                    let candidates = if item.origin == position {
                        completed_empty.insert(lhs);
                        set.items.clone()
                    } else {
                        self.sets[item.origin].to_vec()
                    };
                    let expects =
                        |item: &&TextbookItem| self.next_symbol(item) == Some(PlainSymbol::Nonterminal(lhs));
                    candidates.iter().filter(expects).for_each(|item| set.add(item.advanced()));
                }
                Some(PlainSymbol::Nonterminal(nonterminal)) => {
                    for prediction in self.predictions(nonterminal, position) {
                        set.add(prediction);
                    }
                    if completed_empty.contains(&nonterminal) {
                        set.add(item.advanced());
                    }
                }
                Some(PlainSymbol::Terminal(terminal)) => {
                    let words = self.reference.words.borrow();
                    match (&self.reference.leaves[terminal.index()], item.word) {
                        (Leaf::Word { term, .. }, None) => {
                            let word = Word { suffixes: *term, tokens: 0, last_token: None };
                            set.add(TextbookItem { word: Some(word), ..item });
                        }
                        (Leaf::Word { .. }, Some(word)) if words.is_nullable(word.suffixes) => {
                            set.add(item.advanced())
                        }
                        _ => {}
                    }
                }
            }
        }
        set.items.into()
    }

    fn predictions(&self, nonterminal: PlainNonterminal, position: usize) -> Vec<TextbookItem> {
        self.reference.grammar.by_lhs[nonterminal.index()]
            .iter()
            .map(|&production| TextbookItem { production, dot: 0, origin: position, word: None })
            .collect()
    }

    fn last_set(&self) -> &[TextbookItem] {
        self.sets.last().expect("a chart begins with the set of the empty text")
    }

    fn production(&self, item: &TextbookItem) -> &'r PlainProduction {
        &self.reference.grammar.productions[item.production.index()]
    }

    fn next_symbol(&self, item: &TextbookItem) -> Option<PlainSymbol> {
        self.production(item).rhs.get(item.dot).copied()
    }

    /// The maximum number of tokens of the terminal after the dot.
    fn token_limit(&self, item: &TextbookItem) -> Option<u32> {
        match self.next_symbol(item) {
            Some(PlainSymbol::Terminal(id)) => match &self.reference.leaves[id.index()] {
                Leaf::Word { tokens, .. } => *tokens,
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the item is in a word that cannot continue and end within its maximum number of tokens.
    fn is_exhausted(&self, item: &TextbookItem) -> bool {
        let (Some(word), Some(max)) = (item.word, self.token_limit(item)) else { return false };
        if word.tokens == 0 || word.tokens >= max {
            return word.tokens >= max;
        }
        let tokens = self.reference.words.borrow_mut().min_tokens(word.suffixes, self.reference.vocabulary);
        tokens.is_none_or(|tokens| tokens > max - word.tokens)
    }
}

impl TextbookItem {
    /// The item with the symbol after the dot recognised.
    fn advanced(&self) -> Self {
        Self { dot: self.dot + 1, word: None, ..*self }
    }
}

/// Distinct items in the order of their discovery.
#[derive(Default)]
struct Agenda {
    items: Vec<TextbookItem>,
    discovered: FxHashSet<TextbookItem>,
}

impl Agenda {
    fn add(&mut self, item: TextbookItem) {
        if self.discovered.insert(item) {
            self.items.push(item);
        }
    }
}
