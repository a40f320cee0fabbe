//! Random grammars, vocabularies and walks for property tests.
//!
//! A generated grammar is a [`GrammarSketch`]: a small tree that shrinks well, builds the intermediate
//! representation, and prints as KBNF. The alphabet is small (three letters, a character of two bytes and one of
//! three), so that tokens overlap, split characters and end in the middle of symbols. All kinds of rules occur: unit
//! cycles, hidden left recursion, rules that never end, unproductive rules.

pub mod distances;
pub mod lexed;
pub mod values;

use std::fmt;

use grammask::Limits;
use grammask::frontends::regex;
use grammask::grammar::{
    EmbeddedId, EmbeddedTexts, Grammar, GrammarBuilder, NodeId, NonterminalId, Span, Terminal,
    TokenReference, TokenSelection, TokenSense, quote_text,
};
use grammask::vocabulary::{TokenTexts, Vocabulary};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngSeed};

/// The characters of all generated texts.
const ALPHABET: [&str; 5] = ["a", "b", "c", "é", "你"];
/// The special tokens of all generated vocabularies.
const SPECIAL: [&str; 2] = ["<|x|>", "<|y|>"];

/// A number of cases or a length of texts: `long` with `GRAMMASK_PROFILE=long`, else `short`.
pub fn by_profile<T>(short: T, long: T) -> T {
    if std::env::var("GRAMMASK_PROFILE").is_ok_and(|profile| profile == "long") { long } else { short }
}

/// `cases` cases from a fixed seed, so that every run is the same. `GRAMMASK_CASES` multiplies their number, and
/// `GRAMMASK_SEED` selects another seed.
pub fn config(cases: u32) -> Config {
    let read = |name| std::env::var(name).ok().and_then(|value| value.parse::<u32>().ok());
    Config {
        cases: cases.saturating_mul(read("GRAMMASK_CASES").unwrap_or(1)),
        rng_seed: RngSeed::Fixed(u64::from(read("GRAMMASK_SEED").unwrap_or(0))),
        failure_persistence: None,
        ..Config::default()
    }
}

/// A part of a right-hand side.
#[derive(Clone)]
pub enum Part {
    /// A literal.
    Literal(Vec<u8>),
    /// `#"pattern"`.
    Pattern(String),
    /// `#e"pattern"`.
    FirstMatch(String),
    /// `#ex"pattern"`.
    WithoutMatch(String),
    /// `#substrs"text"`.
    Substrings(String),
    /// `except!("word" | …)`, with a limit on the number of tokens or without.
    Except(Vec<String>, Option<u32>),
    /// A pattern with a limit on the number of tokens.
    Limited(String, u32),
    /// `any!`.
    AnyToken,
    /// A special token.
    TokenName(&'static str),
    /// A token by its id.
    TokenId(u32),
    /// A token of a set of ids and written tokens, or a token outside it.
    Tokens(TokenSense, Vec<u32>, Option<String>),
    /// An embedded grammar by its index, with a maximum number of tokens or without.
    Embedded(usize, Option<u32>),
    /// A rule by its index, modulo the number of rules.
    Rule(usize),
    /// A sequence.
    Sequence(Vec<Part>),
    /// A choice.
    Choice(Vec<Part>),
    /// A repetition with its bounds.
    Repeat(Box<Part>, u32, Option<u32>),
}

/// A grammar: the right-hand sides of its rules, of which the first is the start. Prints as KBNF.
#[derive(Clone)]
pub struct GrammarSketch {
    /// For each definition the index of the rule, and its body.
    pub definitions: Vec<(usize, Part)>,
    /// Number of rules.
    pub rules: usize,
}

impl GrammarSketch {
    /// The grammar. All generated patterns are supported.
    pub fn build(&self) -> Grammar {
        let mut builder = GrammarBuilder::new("");
        let rules: Vec<NonterminalId> =
            (0..self.rules).map(|rule| builder.nonterminal(&rule_name(rule), Span::default())).collect();
        for (rule, body) in &self.definitions {
            let node = build_part(&mut builder, &rules, body);
            builder.define(rules[rule % rules.len()], node, Span::default());
        }
        builder.finish(rules[0])
    }

    /// As [`build`](Self::build), with the texts of embedded grammars.
    pub fn build_with(&self, embedded: &[EmbeddedTexts]) -> Grammar {
        let mut grammar = self.build();
        grammar.embedded = embedded.to_vec();
        grammar
    }

    /// The same grammar, in which no part has a maximum number of tokens.
    pub fn without_maxima(mut self) -> Self {
        let mut pending: Vec<&mut Part> = self.definitions.iter_mut().map(|(_, body)| body).collect();
        while let Some(part) = pending.pop() {
            match part {
                Part::Embedded(_, tokens) => *tokens = None,
                Part::Limited(pattern, _) => *part = Part::Pattern(std::mem::take(pattern)),
                Part::Sequence(parts) | Part::Choice(parts) => pending.extend(parts),
                Part::Repeat(part, ..) => pending.push(part),
                _ => {}
            }
        }
        self
    }

    /// The grammar as KBNF text, with start symbol `start`.
    pub fn kbnf(&self) -> String {
        self.build().to_string()
    }
}

impl fmt::Debug for GrammarSketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kbnf())
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sketch = GrammarSketch { definitions: vec![(0, self.clone())], rules: RULES };
        f.write_str(&sketch.kbnf())
    }
}

fn rule_name(rule: usize) -> String {
    match rule {
        0 => "start".to_owned(),
        rule => format!("r{rule}"),
    }
}

fn build_part(builder: &mut GrammarBuilder, rules: &[NonterminalId], part: &Part) -> NodeId {
    let span = Span::default();
    let limits = Limits::default();
    let valid = "generated patterns are valid";
    match part {
        Part::Literal(bytes) => builder.literal(bytes, span),
        Part::Pattern(pattern) => {
            let term = regex::term(builder.terms(), pattern, &limits).expect(valid);
            builder.terminal(Terminal::Regular(term), &format!("#{}", quote_text(pattern)), span)
        }
        Part::FirstMatch(pattern) => {
            let term = regex::term(builder.terms(), pattern, &limits).expect(valid);
            let term = builder.terms().first_match(term);
            builder.terminal(Terminal::Regular(term), &format!("#e{}", quote_text(pattern)), span)
        }
        Part::WithoutMatch(pattern) => {
            let term = regex::search_term(builder.terms(), pattern, &limits).expect(valid);
            builder.terminal(Terminal::Regular(term), &format!("#ex{}", quote_text(pattern)), span)
        }
        Part::Substrings(text) => {
            let term = builder.terms().substrings(text);
            builder.terminal(Terminal::Regular(term), &format!("#substrs{}", quote_text(text)), span)
        }
        Part::Except(words, tokens) => {
            let term = builder.terms().literals(words);
            let term = builder.terms().without_match(term);
            let words: Vec<String> = words.iter().map(|word| quote_text(word)).collect();
            let words = words.join(" | ");
            match *tokens {
                None => builder.terminal(Terminal::Regular(term), &format!("except!({words})"), span),
                Some(tokens) => {
                    let label = format!("except!({words}, {tokens})");
                    builder.terminal(Terminal::Limited { term, tokens }, &label, span)
                }
            }
        }
        Part::Limited(pattern, tokens) => {
            let term = regex::term(builder.terms(), pattern, &limits).expect(valid);
            let label = format!("#{} within {tokens} tokens", quote_text(pattern));
            builder.terminal(Terminal::Limited { term, tokens: *tokens }, &label, span)
        }
        &Part::Embedded(index, tokens) => {
            let terminal = Terminal::Embedded { grammar: EmbeddedId::new(index), tokens };
            builder.terminal(terminal, &format!("embedded{index} within {tokens:?} tokens"), span)
        }
        Part::AnyToken => builder.terminal(Terminal::AnyToken, "any!", span),
        Part::TokenName(name) => {
            builder.terminal(Terminal::Token(TokenReference::Name((*name).to_owned())), name, span)
        }
        Part::TokenId(id) => {
            builder.terminal(Terminal::Token(TokenReference::Id(*id)), &format!("<[{id}]>"), span)
        }
        Part::Tokens(sense, ids, written) => {
            let ids = ids.iter().map(|&id| TokenReference::Id(id));
            let written = written.iter().map(|text| TokenReference::Written(text.clone()));
            let tokens = ids.chain(written).collect();
            let selection = TokenSelection { sense: *sense, tokens, ranges: Box::new([(1, 2)]) };
            let label = format!("{selection:?}");
            builder.terminal(Terminal::OneOf(Box::new(selection)), &label, span)
        }
        Part::Rule(rule) => builder.reference(rules[rule % rules.len()], span),
        Part::Sequence(parts) => {
            let parts = parts.iter().map(|part| build_part(builder, rules, part)).collect();
            builder.sequence(parts, span)
        }
        Part::Choice(parts) => {
            let parts = parts.iter().map(|part| build_part(builder, rules, part)).collect();
            builder.choice(parts, span)
        }
        Part::Repeat(part, min, max) => {
            let node = build_part(builder, rules, part);
            builder.repeat(node, *min, *max, span)
        }
    }
}

/// Maximum number of rules of a generated grammar.
const RULES: usize = 5;

/// Grammars with two to five rules, with all constructs of KBNF.
pub fn grammar() -> impl Strategy<Value = GrammarSketch> {
    grammar_of(body())
}

/// Grammars with sets of tokens, which KBNF cannot express.
pub fn token_grammar() -> impl Strategy<Value = GrammarSketch> {
    let tokens = (
        select(vec![TokenSense::Listed, TokenSense::Others]),
        vec((0..MIN_TOKENS).prop_map(|id| id as u32), 0..=2),
        proptest::option::of(prop_oneof![select(&SPECIAL[..]).prop_map(str::to_owned), text(1..=1)]),
    )
        .prop_map(|(sense, ids, written)| Part::Tokens(sense, ids, written));
    grammar_of(nested(prop_oneof![3 => tokens, 3 => leaf()].boxed()))
}

/// Grammars with patterns that limit the number of tokens, which KBNF cannot express.
pub fn counting_grammar() -> impl Strategy<Value = GrammarSketch> {
    let limited = (pattern(), 1_u32..=9).prop_map(|(pattern, tokens)| Part::Limited(pattern, tokens));
    grammar_of(nested(prop_oneof![4 => limited, 2 => literal(), 2 => rule()].boxed()))
}

/// Grammars with embedded grammars of `count` indices, which name no tokens, and have at most `max_tokens` tokens.
pub fn embedding_grammar(count: usize, max_tokens: u32) -> impl Strategy<Value = GrammarSketch> {
    let tokens = prop_oneof![3 => 1_u32..=7, 2 => 1..=max_tokens];
    let embedded = (0..count, proptest::option::weighted(0.4, tokens))
        .prop_map(|(index, tokens)| Part::Embedded(index, tokens));
    let leaf = prop_oneof![
        5 => embedded,
        4 => literal(),
        3 => rule(),
        1 => pattern().prop_map(Part::Pattern),
        1 => (pattern(), 1_u32..=9).prop_map(|(pattern, tokens)| Part::Limited(pattern, tokens)),
    ];
    grammar_of(nested(leaf.boxed()))
}

/// Grammars whose only terminals are literals, to test rules.
pub fn literal_grammar() -> impl Strategy<Value = GrammarSketch> {
    grammar_of(nested(prop_oneof![3 => literal(), 3 => rule()].boxed()))
}

/// Vocabularies of all `bytes`, longer tokens of them, and an end token.
pub fn vocabulary_of(bytes: &'static [u8]) -> impl Strategy<Value = VocabularySketch> {
    let longer = vec(vec(select(bytes), 2..6), 0..8);
    longer.prop_map(move |longer| {
        let singles = bytes.iter().map(|&byte| Some(vec![byte]));
        let texts: Vec<_> = singles.chain(longer.into_iter().map(Some)).chain([None]).collect();
        let size = texts.len();
        VocabularySketch { texts, special: Vec::new(), eos: vec![size as u32 - 1], size }
    })
}

fn grammar_of(body: BoxedStrategy<Part>) -> impl Strategy<Value = GrammarSketch> {
    (2..=RULES).prop_flat_map(move |rules| {
        let body = prop_oneof![5 => body.clone(), 2 => difficult_body()].boxed();
        let each = vec(body.clone(), rules);
        let more = vec((0..rules, body), 0..=2);
        (each, more).prop_map(move |(each, more)| {
            let definitions = each.into_iter().enumerate().chain(more).collect();
            GrammarSketch { definitions, rules }
        })
    })
}

/// Bodies that are difficult for parsers.
fn difficult_body() -> impl Strategy<Value = Part> {
    let optional = |part| Part::Repeat(Box::new(part), 0, Some(1));
    prop_oneof![
        // A unit rule.
        rule(),
        // A choice of unit rules.
        vec(rule(), 2..=3).prop_map(Part::Choice),
        // Left recursion hidden by a nullable symbol.
        (rule(), rule(), literal(), literal()).prop_map(move |(hidden, recursive, tail, base)| {
            Part::Choice(vec![Part::Sequence(vec![optional(hidden), recursive, tail]), base])
        }),
        // A rule that may never end.
        (literal(), rule()).prop_map(|(head, tail)| Part::Sequence(vec![head, tail])),
        // A rule that may be unproductive.
        (rule(), literal()).prop_map(|(head, tail)| Part::Sequence(vec![head, tail])),
        // Recursion in the middle.
        (literal(), rule(), literal())
            .prop_map(move |(open, middle, close)| { Part::Sequence(vec![open, optional(middle), close]) }),
        // Unbounded ambiguity.
        (rule(), rule(), literal())
            .prop_map(|(left, right, base)| Part::Choice(vec![Part::Sequence(vec![left, right]), base])),
    ]
}

fn body() -> BoxedStrategy<Part> {
    nested(leaf())
}

fn nested(leaf: BoxedStrategy<Part>) -> BoxedStrategy<Part> {
    leaf.prop_recursive(3, 8, 3, |part| {
        prop_oneof![
            3 => vec(part.clone(), 2..=3).prop_map(Part::Sequence),
            3 => vec(part.clone(), 2..=3).prop_map(Part::Choice),
            2 => (part, bounds()).prop_map(|(part, (min, max))| Part::Repeat(Box::new(part), min, max)),
        ]
    })
    .boxed()
}

fn bounds() -> impl Strategy<Value = (u32, Option<u32>)> {
    prop_oneof![
        3 => Just((0, Some(1))),
        2 => Just((0, None)),
        2 => Just((1, None)),
        2 => (0_u32..=3, 0_u32..=3).prop_map(|(min, more)| (min, Some(min + more))),
        1 => (0_u32..=3).prop_map(|min| (min, None)),
        // Beyond the length of the longest token, where different counts are equivalent.
        1 => (0_u32..=20, 7_u32..=30).prop_map(|(min, more)| (min, Some(min + more))),
        1 => (9_u32..=20).prop_map(|min| (min, None)),
        1 => (0_u32..=20, 20_u32..=40).prop_map(|(min, max)| (min, Some(max))),
    ]
}

fn leaf() -> BoxedStrategy<Part> {
    prop_oneof![
        8 => literal(),
        8 => rule(),
        3 => pattern().prop_map(Part::Pattern),
        1 => pattern().prop_map(Part::FirstMatch),
        1 => pattern().prop_map(Part::WithoutMatch),
        1 => text(0..=4).prop_map(Part::Substrings),
        1 => vec(text(1..=2), 1..=2).prop_map(|words| Part::Except(words, None)),
        2 => (vec(text(1..=2), 1..=2), 1_u32..=7).prop_map(|(words, most)| Part::Except(words, Some(most))),
        1 => Just(Part::AnyToken),
        1 => select(&SPECIAL[..]).prop_map(Part::TokenName),
        1 => (0..MIN_TOKENS).prop_map(|id| Part::TokenId(id as u32)),
    ]
    .boxed()
}

fn rule() -> impl Strategy<Value = Part> {
    (0..RULES).prop_map(Part::Rule)
}

fn literal() -> impl Strategy<Value = Part> {
    prop_oneof![
        10 => text(1..=2).prop_map(|text| Part::Literal(text.into_bytes())),
        1 => Just(Part::Literal(Vec::new())),
        1 => select(vec![vec![0xc3], vec![0xa9], vec![0xff]]).prop_map(Part::Literal),
    ]
}

/// Texts of characters of the alphabet.
fn text(length: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = String> {
    vec(select(&ALPHABET[..]), length).prop_map(|characters| characters.concat())
}

/// Small patterns, some of which match no text or only the empty text.
pub fn pattern() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        6 => select(&ALPHABET[..]).prop_map(str::to_owned),
        3 => select(vec![".", "[ab]", "[^a]", "[a-cé]", "(?s:.)"]).prop_map(str::to_owned),
        1 => select(vec!["[a&&b]", "()"]).prop_map(str::to_owned),
    ];
    let inside = atom.prop_recursive(2, 6, 3, |part| {
        prop_oneof![
            2 => vec(part.clone(), 2..=3).prop_map(|parts| parts.concat()),
            1 => vec(part.clone(), 2..=2).prop_map(|parts| format!("({})", parts.join("|"))),
            1 => (part, select(vec!["*", "+", "?", "{2}", "{1,3}", "{9}", "{0,12}", "{10,30}", "{9,}"]))
                .prop_map(|(part, suffix)| format!("({part}){suffix}")),
        ]
    });
    prop_oneof![
        12 => inside.clone(),
        1 => inside.clone().prop_map(|pattern| format!("^{pattern}")),
        1 => inside.prop_map(|pattern| format!("{pattern}$")),
    ]
}

/// A vocabulary. Its last ids are the special tokens, an end token, and padding.
#[derive(Clone, Debug)]
pub struct VocabularySketch {
    /// Text of each id; `None` for ids without text.
    pub texts: Vec<Option<Vec<u8>>>,
    /// Names and ids of special tokens.
    pub special: Vec<(String, u32)>,
    /// End tokens.
    pub eos: Vec<u32>,
    /// Number of ids with padding.
    pub size: usize,
}

impl VocabularySketch {
    /// The vocabulary.
    pub fn build(&self) -> Vocabulary {
        let texts: TokenTexts = self.texts.iter().map(Option::as_deref).collect();
        Vocabulary::new(texts, self.special.clone(), self.eos.clone(), Some(self.size))
            .expect("generated vocabularies are valid")
    }
}

/// Minimum number of tokens with text; smaller ids always exist.
const MIN_TOKENS: usize = 6;

/// Vocabularies of about twenty tokens: most bytes of the alphabet, longer overlapping tokens, duplicates, parts of
/// characters, special tokens, one or two end tokens (which may have text), ids without text.
pub fn vocabulary() -> impl Strategy<Value = VocabularySketch> {
    let bytes: Vec<u8> = ALPHABET.concat().into_bytes();
    let singles = proptest::sample::subsequence(bytes.clone(), MIN_TOKENS - 1..=bytes.len());
    let piece = (text(1..=3), any::<Index>(), any::<Index>()).prop_map(|(text, from, to)| {
        let from = from.index(text.len());
        let to = from + to.index(text.len() - from) + 1;
        text.as_bytes()[from..to].to_vec()
    });
    let token = prop_oneof![
        4 => text(1..=4).prop_map(String::into_bytes),
        3 => piece,
        1 => Just(vec![0xff]),
    ];
    (singles, vec(token, 1..=10), any::<u64>(), any::<bool>(), 0_usize..=9).prop_map(
        |(singles, longer, order, two_ends, padding)| {
            let mut texts: Vec<Option<Vec<u8>>> = singles
                .into_iter()
                .map(|byte| Some(vec![byte]))
                .chain(longer.into_iter().map(Some))
                .collect();
            // A rotation mixes short and long tokens among the ids.
            let rotation = order as usize % texts.len();
            texts.rotate_left(rotation);
            let mut special = Vec::new();
            for name in SPECIAL {
                special.push((name.to_owned(), texts.len() as u32));
                // One special token has bytes, which must be ignored.
                texts.push((name == SPECIAL[0]).then(|| b"a".to_vec()));
            }
            let mut eos = vec![texts.len() as u32];
            texts.push(Some(b"b".to_vec()));
            if two_ends {
                eos.push(texts.len() as u32);
                texts.push(None);
            }
            let size = texts.len() + padding;
            VocabularySketch { texts, special, eos, size }
        },
    )
}

/// One step of a walk. An [`Index`] selects among the choices at that step.
#[derive(Clone, Debug)]
pub enum Step {
    /// Accepts one of the tokens of the mask.
    Accept(Index),
    /// Tries one of all ids, which is often illegal.
    Try(Index),
    /// Removes a possible number of tokens, from none to all.
    Rollback(Index),
    /// Stores the matcher and continues with a fork.
    Fork,
    /// Continues with a stored matcher.
    Switch(Index),
    /// Removes all tokens.
    Reset,
}

/// Walks of up to `max` steps.
pub fn walk(max: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        10 => any::<Index>().prop_map(Step::Accept),
        3 => any::<Index>().prop_map(Step::Try),
        2 => any::<Index>().prop_map(Step::Rollback),
        1 => Just(Step::Fork),
        1 => any::<Index>().prop_map(Step::Switch),
        1 => Just(Step::Reset),
    ];
    vec(step, 1..=max)
}
