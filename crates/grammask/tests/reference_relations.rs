//! The textbook recogniser against a simpler definition: for a fixed text, the spans that each node of the grammar
//! matches, as the least solution of equations between relations.
//!
//! A span ends at a position, or is *open*: the node can read the text from there to its end and continue. A text is
//! complete if the start symbol matches all of it, and a viable prefix if it is complete or has an open span from its
//! beginning. There is no prediction, scanning or completion here, and the whole text is given.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::generators::{GrammarSketch, VocabularySketch, by_profile, config};
use grammask::automata::{TermId, Terms};
use grammask::grammar::{Grammar, Node, Terminal, TokenReference};
use grammask::masks::brute_force;
use grammask::recognizer::reference::Reference;
use grammask::vocabulary::{TokenId, Vocabulary};
use proptest::prelude::*;
use proptest::sample::Index;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    At(usize),
    Open,
}

type Spans = BTreeSet<(usize, End)>;

/// A text as a row of cells: one per byte, and one without a byte for a token without text.
struct Text {
    tokens: Vec<TokenId>,
    /// For each cell the byte and the index of the token.
    cells: Vec<(Option<u8>, usize)>,
    /// The first cell of each token, followed by the number of cells.
    bounds: Vec<usize>,
}

impl Text {
    fn new(tokens: &[TokenId], vocabulary: &Vocabulary) -> Self {
        let mut text = Self { tokens: tokens.to_vec(), cells: Vec::new(), bounds: vec![0] };
        for (number, &token) in tokens.iter().enumerate() {
            match vocabulary.token(token) {
                Some(bytes) => text.cells.extend(bytes.iter().map(|&byte| (Some(byte), number))),
                None => text.cells.push((None, number)),
            }
            text.bounds.push(text.cells.len());
        }
        text
    }
}

/// The kinds of text that a node or nonterminal derives.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Kinds {
    /// The empty text.
    empty: bool,
    /// A nonempty finite text.
    finite: bool,
    /// A nonempty text, finite or infinite, if the variables assumed to be productive are.
    begun: bool,
}

impl Kinds {
    const EMPTY: Self = Self { empty: true, finite: false, begun: false };

    fn ends(self) -> bool {
        self.empty || self.finite
    }

    fn then(self, next: Self, next_productive: bool) -> Self {
        Self {
            empty: self.empty && next.empty,
            finite: self.finite && next.ends() || self.ends() && next.finite,
            begun: self.begun && next_productive || self.ends() && next.begun,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            empty: self.empty || other.empty,
            finite: self.finite || other.finite,
            begun: self.begun || other.begun,
        }
    }
}

/// The equations of a grammar.
struct Relations<'a> {
    grammar: &'a Grammar,
    vocabulary: &'a Vocabulary,
    terms: Terms,
    live: HashMap<TermId, bool>,
    /// Minimum numbers of tokens that complete the words of a term.
    endings: HashMap<TermId, Option<usize>>,
    /// Whether each node derives a text, followed by the nonterminals.
    productive: Vec<bool>,
}

impl<'a> Relations<'a> {
    fn new(grammar: &'a Grammar, vocabulary: &'a Vocabulary) -> Self {
        let variables = grammar.nodes().len() + grammar.nonterminals().len();
        let mut relations = Self {
            grammar,
            vocabulary,
            terms: grammar.terms().clone(),
            live: HashMap::new(),
            endings: HashMap::new(),
            productive: vec![true; variables],
        };
        // The greatest set each of whose members, assuming the set, derives a finite text or begins a nonempty one.
        loop {
            let kinds = relations.kinds();
            let productive: Vec<bool> = kinds.iter().map(|kinds| kinds.ends() || kinds.begun).collect();
            if productive == relations.productive {
                return relations;
            }
            relations.productive = productive;
        }
    }

    fn kinds(&mut self) -> Vec<Kinds> {
        let nodes = self.grammar.nodes().len();
        let mut kinds = vec![Kinds::default(); self.productive.len()];
        loop {
            let before = kinds.clone();
            for (index, node) in self.grammar.nodes().iter().enumerate() {
                kinds[index] = match node {
                    Node::Terminal(id) => self.terminal_kinds(&self.grammar.terminals()[id.index()].terminal),
                    Node::Nonterminal(id) => kinds[nodes + id.index()],
                    Node::Sequence(parts) => parts.iter().fold(Kinds::EMPTY, |before, part| {
                        before.then(kinds[part.index()], self.productive[part.index()])
                    }),
                    Node::Selection { .. } | Node::Scope(_) | Node::Value { .. } | Node::Binding(_) => {
                        unreachable!("no generated grammar has one")
                    }
                    Node::Choice(parts) => {
                        parts.iter().fold(Kinds::default(), |sum, part| sum.or(kinds[part.index()]))
                    }
                    Node::Repeat { node, min, max } => {
                        let unit = node.index();
                        let more = |copies: Kinds| copies.then(kinds[unit], self.productive[unit]);
                        let mut copies = (0..*min).fold(Kinds::EMPTY, |copies, _| more(copies));
                        let mut sum = copies;
                        // There are eight values, so eight more copies reach the fixpoint.
                        for _ in 0..max.map_or(8, |max| (max - min).min(8)) {
                            copies = more(copies);
                            sum = sum.or(copies);
                        }
                        sum
                    }
                };
            }
            for definition in self.grammar.definitions() {
                let lhs = nodes + definition.lhs.index();
                kinds[lhs] = kinds[lhs].or(kinds[definition.body.index()]);
            }
            if kinds == before {
                return kinds;
            }
        }
    }

    fn terminal_kinds(&mut self, terminal: &Terminal) -> Kinds {
        let (empty, finite) = match self.word(terminal) {
            Some((term, tokens)) => (self.terms.is_nullable(term), tokens > 0 && self.continues(term)),
            None => {
                (false, (0..self.vocabulary.size()).any(|id| self.is_event(terminal, TokenId(id as u32))))
            }
        };
        Kinds { empty, finite, begun: finite }
    }

    /// The language of a terminal over bytes, and the maximum number of tokens of a word.
    fn word(&mut self, terminal: &Terminal) -> Option<(TermId, u32)> {
        match terminal {
            Terminal::Literal(bytes) => Some((self.terms.literal(bytes), u32::MAX)),
            Terminal::Regular(term) => Some((*term, u32::MAX)),
            Terminal::Limited { term, tokens } => Some((*term, *tokens)),
            Terminal::Token(_) | Terminal::AnyToken | Terminal::OneOf(_) => None,
            Terminal::Embedded { .. } => unreachable!("the generators embed no grammars"),
        }
    }

    fn is_event(&self, terminal: &Terminal, token: TokenId) -> bool {
        match terminal {
            Terminal::Token(TokenReference::Name(name)) => self.vocabulary.special(name) == Some(token),
            Terminal::Token(TokenReference::Id(id)) => *id == token.0,
            Terminal::AnyToken => self.vocabulary.token(token).is_some(),
            _ => false,
        }
    }

    /// Whether `term` has a word.
    fn is_live(&mut self, term: TermId) -> bool {
        if let Some(&live) = self.live.get(&term) {
            return live;
        }
        let mut seen = BTreeSet::from([term]);
        let mut agenda = vec![term];
        let mut live = false;
        while let (false, Some(next)) = (live, agenda.pop()) {
            live = self.terms.is_nullable(next);
            for byte in 0..=255 {
                let rest = self.terms.derivative(next, byte);
                if seen.insert(rest) {
                    agenda.push(rest);
                }
            }
        }
        self.live.insert(term, live);
        live
    }

    /// Whether `term` has a nonempty word.
    fn continues(&mut self, term: TermId) -> bool {
        (0..=255).any(|byte| {
            let rest = self.terms.derivative(term, byte);
            self.is_live(rest)
        })
    }

    /// The minimum number of tokens that spell the smallest of the shortest words whose bytes are all tokens.
    fn min_tokens(&mut self, term: TermId) -> Option<usize> {
        if let Some(&known) = self.endings.get(&term) {
            return known;
        }
        let vocabulary = self.vocabulary;
        // Words in the order of length, then of bytes; of those with one derivative the first.
        let mut seen = BTreeSet::from([term]);
        let mut words = VecDeque::from([(term, Vec::new())]);
        let mut shortest = None;
        while let (None, Some((rest, word))) = (&shortest, words.pop_front()) {
            for byte in (0..=255).filter(|&byte| !vocabulary.ids_of(&[byte]).is_empty()) {
                let after = self.terms.derivative(rest, byte);
                if seen.insert(after) {
                    words.push_back((after, [&word[..], &[byte]].concat()));
                }
            }
            if self.terms.is_nullable(rest) {
                shortest = Some(word);
            }
        }
        let least = shortest.and_then(|word| {
            let mut counts = vec![Some(0)];
            for end in 1..=word.len() {
                let before = (0..end).filter(|&from| !vocabulary.ids_of(&word[from..end]).is_empty());
                counts.push(before.filter_map(|from| Some(counts[from]? + 1)).min());
            }
            counts[word.len()]
        });
        self.endings.insert(term, least);
        least
    }

    /// Whether `text` is a viable prefix, and whether it is complete.
    fn judge(&mut self, text: &Text) -> (bool, bool) {
        let spans = self.spans_of_start(text);
        let complete = spans.contains(&(0, End::At(text.cells.len())));
        (complete || spans.contains(&(0, End::Open)), complete)
    }

    fn spans_of_start(&mut self, text: &Text) -> Spans {
        let grammar = self.grammar;
        let nodes = grammar.nodes().len();
        let mut spans: Vec<Spans> = vec![Spans::new(); self.productive.len()];
        for (index, node) in grammar.nodes().iter().enumerate() {
            if let Node::Terminal(id) = node {
                spans[index] = self.terminal_spans(&grammar.terminals()[id.index()].terminal, text);
            }
        }
        loop {
            let before = spans.clone();
            for (index, node) in grammar.nodes().iter().enumerate() {
                match node {
                    Node::Terminal(_) => {}
                    Node::Selection { .. } | Node::Scope(_) | Node::Value { .. } | Node::Binding(_) => {
                        unreachable!("no generated grammar has one")
                    }
                    Node::Nonterminal(id) => spans[index] = spans[nodes + id.index()].clone(),
                    Node::Sequence(parts) => {
                        let mut result = empty_spans(text);
                        for part in parts {
                            result = composed(&result, &spans[part.index()], self.productive[part.index()]);
                        }
                        spans[index] = result;
                    }
                    Node::Choice(parts) => {
                        spans[index] = parts.iter().flat_map(|part| spans[part.index()].clone()).collect();
                    }
                    Node::Repeat { node, min, max } => {
                        let productive = self.productive[node.index()];
                        let mut result = empty_spans(text);
                        for _ in 0..*min {
                            result = composed(&result, &spans[node.index()], productive);
                        }
                        let mut more = max.map(|max| max - min);
                        while more != Some(0) {
                            let count = result.len();
                            result.extend(composed(&result, &spans[node.index()], productive));
                            if result.len() == count {
                                break;
                            }
                            more = more.map(|more| more - 1);
                        }
                        spans[index] = result;
                    }
                }
            }
            for definition in grammar.definitions() {
                let body = spans[definition.body.index()].clone();
                spans[nodes + definition.lhs.index()].extend(body);
            }
            if spans == before {
                return spans.swap_remove(nodes + grammar.start().index());
            }
        }
    }

    fn terminal_spans(&mut self, terminal: &Terminal, text: &Text) -> Spans {
        let mut spans = Spans::new();
        let Some((term, most_tokens)) = self.word(terminal) else {
            for (number, &token) in text.tokens.iter().enumerate() {
                if self.is_event(terminal, token) {
                    spans.insert((text.bounds[number], End::At(text.bounds[number + 1])));
                }
            }
            if self.terminal_kinds(terminal).begun {
                spans.insert((text.cells.len(), End::Open));
            }
            return spans;
        };
        for start in 0..=text.cells.len() {
            let mut rest = term;
            let mut tokens: BTreeSet<usize> = BTreeSet::new();
            let mut end = start;
            loop {
                if self.terms.is_nullable(rest) {
                    spans.insert((start, End::At(end)));
                }
                let next = text.cells.get(end);
                // Where a token ends inside the word, the tokens that are left must suffice to end it.
                if next.is_none_or(|(_, token)| !tokens.contains(token))
                    && !tokens.is_empty()
                    && most_tokens < u32::MAX
                    && self.min_tokens(rest).is_none_or(|more| tokens.len() + more > most_tokens as usize)
                {
                    break;
                }
                let Some(&(byte, token)) = next else {
                    // The next byte belongs to the next token.
                    if tokens.len() < most_tokens as usize && self.continues(rest) {
                        spans.insert((start, End::Open));
                    }
                    break;
                };
                let Some(byte) = byte else { break };
                tokens.insert(token);
                rest = self.terms.derivative(rest, byte);
                if tokens.len() > most_tokens as usize || !self.is_live(rest) {
                    break;
                }
                end += 1;
            }
        }
        spans
    }
}

fn empty_spans(text: &Text) -> Spans {
    (0..=text.cells.len()).map(|position| (position, End::At(position))).collect()
}

/// The concatenations of a span of `first` and a span of `second`.
fn composed(first: &Spans, second: &Spans, second_productive: bool) -> Spans {
    let mut result = Spans::new();
    for &(start, end) in first {
        match end {
            End::Open if second_productive => {
                result.insert((start, End::Open));
            }
            End::Open => {}
            End::At(middle) => {
                let from_middle = second.range((middle, End::At(0))..=(middle, End::Open));
                result.extend(from_middle.map(|&(_, end)| (start, end)));
            }
        }
    }
    result
}

/// Walks along legal tokens selected by `picks`, and compares every mask and completeness.
fn compare(sketch: &GrammarSketch, words: &VocabularySketch, picks: &[Index]) -> Result<(), TestCaseError> {
    let grammar = sketch.build();
    let vocabulary = words.build();
    let reference = Reference::new(&grammar, &vocabulary);
    let mut relations = Relations::new(&grammar, &vocabulary);
    let mut chart = reference.chart();
    let mut tokens = Vec::new();
    for pick in picks {
        let mask = brute_force::mask(&chart, &vocabulary);
        let (_, complete) = relations.judge(&Text::new(&tokens, &vocabulary));
        prop_assert_eq!(chart.is_complete(), complete, "complete after {:?}", tokens);
        for id in 0..vocabulary.size() {
            let token = TokenId(id as u32);
            tokens.push(token);
            let (legal, _) = relations.judge(&Text::new(&tokens, &vocabulary));
            prop_assert_eq!(mask.contains(token), legal, "legal: {:?}", tokens);
            tokens.pop();
        }
        let allowed: Vec<TokenId> = mask.iter().collect();
        if allowed.is_empty() {
            break;
        }
        let token = allowed[pick.index(allowed.len())];
        prop_assert!(chart.accept_token(token));
        tokens.push(token);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(by_profile(100, 300)))]

    #[test]
    fn textbook_earley_matches_the_relations(
        sketch in crate::generators::grammar(),
        words in crate::generators::vocabulary(),
        picks in proptest::collection::vec(any::<Index>(), 1..=4),
    ) {
        compare(&sketch, &words, &picks)?;
    }

    #[test]
    fn textbook_earley_matches_the_relations_on_counted_tokens(
        sketch in crate::generators::counting_grammar(),
        words in crate::generators::vocabulary(),
        picks in proptest::collection::vec(any::<Index>(), 1..=4),
    ) {
        compare(&sketch, &words, &picks)?;
    }

    #[test]
    fn textbook_earley_matches_the_relations_on_literals(
        sketch in crate::generators::literal_grammar(),
        words in crate::generators::vocabulary(),
        picks in proptest::collection::vec(any::<Index>(), 1..=5),
    ) {
        compare(&sketch, &words, &picks)?;
    }
}
