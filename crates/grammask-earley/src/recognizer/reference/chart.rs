//! The Earley sets of a text, one set per position.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::embedded::{EmbeddedReference, LastPiece, PieceReading};
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
    /// The accepted tokens with text, and the position of each.
    texts: Vec<(usize, Rc<[u8]>)>,
    /// The bytes of the token that is being read, and its position.
    open: (usize, Vec<u8>),
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
    rest: WordRest,
    /// Number of tokens that contributed a byte.
    tokens: u32,
    /// The last of them, by its index in the text.
    last_token: Option<usize>,
}

/// The part of a word that was read, as far as it decides about the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WordRest {
    /// The language of its suffixes.
    Suffixes(TermId),
    /// The text of an embedded grammar from this position on.
    TextFrom(usize),
}

impl<'r> Chart<'r> {
    pub(super) fn new(reference: &'r Reference<'r>) -> Self {
        let mut chart =
            Self { reference, sets: Vec::new(), texts: Vec::new(), open: (0, Vec::new()), tokens: 0 };
        let seeds = chart.predictions(reference.grammar.start, 0);
        let first = chart.closed(seeds);
        chart.sets.push(first);
        chart
    }

    /// Appends a token, read as its bytes or as an event, if the result is a viable prefix; otherwise changes nothing.
    pub fn accept_token(&mut self, id: TokenId) -> bool {
        self.accept(self.reference.vocabulary.token(id).unwrap_or_default(), Some(id), LastPiece::Ended)
    }

    /// Appends bytes as one token without an id, if the result is a viable prefix; otherwise changes nothing.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> bool {
        bytes.is_empty() || self.accept(bytes, None, LastPiece::Ended)
    }

    /// Appends bytes of a token that may go on, if the result is a viable prefix; otherwise changes nothing. Nothing can
    /// be appended afterwards.
    pub fn accept_piece(&mut self, bytes: &[u8], last: LastPiece) -> bool {
        bytes.is_empty() || self.accept(bytes, None, last)
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

    fn accept(&mut self, text: &[u8], event: Option<TokenId>, last: LastPiece) -> bool {
        let before = self.sets.len();
        let mut seeds = Vec::new();
        self.open = (before - 1, Vec::new());
        for (index, &byte) in text.iter().enumerate() {
            if index > 0 {
                let set = self.closed(std::mem::take(&mut seeds));
                self.sets.push(set);
            }
            self.open.1.push(byte);
            seeds = self.after_byte(byte);
        }
        seeds.extend(event.into_iter().flat_map(|token| self.after_event(token, before - 1)));
        // The token ends here. A word that cannot end within its maximum number of tokens cannot continue. If it has
        // ended already, its end has been processed.
        let set = self.closed(seeds);
        let set: Rc<[TextbookItem]> = match last {
            LastPiece::Open => set,
            LastPiece::Ended => set.iter().copied().filter(|item| !self.is_exhausted(item)).collect(),
        };
        if set.is_empty() {
            self.sets.truncate(before);
            self.open.1.clear();
            return false;
        }
        self.texts.push((before - 1, std::mem::take(&mut self.open.1).into()));
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
            let rest = match word.rest {
                WordRest::Suffixes(term) => words.after(term, byte).map(WordRest::Suffixes),
                WordRest::TextFrom(_) => {
                    self.embedded_reading(item, LastPiece::Open).is_prefix.then_some(word.rest)
                }
            };
            if let Some(rest) = rest {
                let word = Word { rest, tokens, last_token: Some(self.tokens) };
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
                            let word = Word { rest: WordRest::Suffixes(*term), tokens: 0, last_token: None };
                            set.add(TextbookItem { word: Some(word), ..item });
                        }
                        (Leaf::Embedded { .. }, None) => {
                            let word =
                                Word { rest: WordRest::TextFrom(position), tokens: 0, last_token: None };
                            set.add(TextbookItem { word: Some(word), ..item });
                        }
                        (_, Some(Word { rest: WordRest::Suffixes(term), .. })) if words.is_nullable(term) => {
                            set.add(item.advanced());
                        }
                        (_, Some(Word { rest: WordRest::TextFrom(_), .. }))
                            if self.embedded_reading(&item, LastPiece::Open).is_text =>
                        {
                            set.add(item.advanced());
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

    /// The oracle of the embedded grammar that the item is inside, and the pieces of its text so far.
    fn embedded_pieces(&self, item: &TextbookItem) -> Option<(&dyn EmbeddedReference, Vec<&[u8]>)> {
        let Some(Word { rest: WordRest::TextFrom(start), .. }) = item.word else { return None };
        let Some(PlainSymbol::Terminal(id)) = self.next_symbol(item) else { return None };
        let Leaf::Embedded { grammar, .. } = self.reference.leaves[id.index()] else { return None };
        let texts = self.texts.iter().map(|(position, text)| (*position, &text[..]));
        let texts = texts.chain([(self.open.0, &self.open.1[..])]);
        let pieces = texts.filter_map(|(position, text)| text.get(start.saturating_sub(position)..));
        Some((&*self.reference.embedded[grammar.index()], pieces.filter(|piece| !piece.is_empty()).collect()))
    }

    fn embedded_reading(&self, item: &TextbookItem, last: LastPiece) -> PieceReading {
        match self.embedded_pieces(item) {
            Some((embedded, pieces)) => embedded.read(&pieces, last),
            None => PieceReading { is_prefix: false, is_text: false },
        }
    }

    /// The maximum number of tokens of the terminal after the dot.
    fn token_limit(&self, item: &TextbookItem) -> Option<u32> {
        match self.next_symbol(item) {
            Some(PlainSymbol::Terminal(id)) => match &self.reference.leaves[id.index()] {
                Leaf::Word { tokens, .. } | Leaf::Embedded { tokens, .. } => *tokens,
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the item is in a word that cannot continue and end within its maximum number of tokens.
    fn is_exhausted(&self, item: &TextbookItem) -> bool {
        let Some(word) = item.word else { return false };
        if let WordRest::TextFrom(_) = word.rest
            && !self.embedded_reading(item, LastPiece::Ended).is_prefix
        {
            return true;
        }
        let Some(max) = self.token_limit(item) else { return false };
        if word.tokens == 0 || word.tokens >= max {
            return word.tokens >= max;
        }
        let vocabulary = self.reference.vocabulary;
        let tokens = match (word.rest, self.embedded_pieces(item)) {
            (WordRest::Suffixes(term), _) => self.reference.words.borrow_mut().min_tokens(term, vocabulary),
            (_, Some(_)) if self.embedded_reading(item, LastPiece::Ended).is_text => Some(0),
            (_, Some((embedded, pieces))) => embedded.min_tokens(&pieces),
            (_, None) => None,
        };
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
