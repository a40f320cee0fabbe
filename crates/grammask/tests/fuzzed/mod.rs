//! The properties that the fuzz targets check. The crate `fuzz/` includes this file, and `fuzzed_cases` runs it on
//! every input that has failed.
//!
//! Each check accepts any input and panics if the engine is wrong; inputs that are not applicable are ignored.

#![allow(dead_code, reason = "each crate that includes this file uses a part of it")]

use std::sync::Arc;
use std::time::Duration;

use grammask::automata::{Automata, Terms};
use grammask::frontends::json_schema::{
    self, Draft, KeyOrder, Numbers, OnUnsupported, SchemaOptions, Whitespace,
};
use grammask::frontends::{kbnf, regex};
use grammask::grammar::{Code, Grammar, Node, Severity};
use grammask::lowering::lower;
use grammask::masks::brute_force;
use grammask::recognizer::reference::{Chart, Reference};
use grammask::vocabulary::{TokenId, TokenTexts, TokenTextsBuilder, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, EndMode, Explanation, Limits, MaskStrategy, Matcher};
use regex_automata::dfa::{Automaton, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

/// Small limits, so that inputs exceed some of them.
pub fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.grammar_size = 200_000;
    limits.automaton_states = 20_000;
    limits.set_items = 20_000;
    limits.memory_bytes = 64 << 20;
    limits.time = Duration::from_secs(5);
    limits
}

/// Any text as a JSON Schema, with options selected by its length: the front end returns within the limits, every
/// finding has a position, and the resulting grammar can be lowered.
pub fn schema_text(text: &str) {
    let limits = limits();
    let mut options = SchemaOptions::default();
    let pick = text.len();
    options.draft = [None, Some(Draft::Draft4), Some(Draft::Draft7), Some(Draft::Draft2020)][pick % 4];
    options.key_order = [KeyOrder::Declared, KeyOrder::Any][pick / 4 % 2];
    options.on_unsupported = [OnUnsupported::Refuse, OnUnsupported::Relax][pick / 8 % 2];
    let whitespaces =
        [Whitespace::Compact, Whitespace::Flexible { max: 3 }, Whitespace::Indent(1), Whitespace::Natural];
    options.whitespace = whitespaces[pick / 16 % 4].clone();
    options.numbers = [Numbers::Natural, Numbers::Any][pick % 2];
    let _ = json_schema::missing_documents(text, &options, &limits);
    match json_schema::grammar(text, &options, &limits) {
        Ok(made) => {
            let _ = made.grammar.to_string();
            match lower(&made.grammar, &limits) {
                Ok(_) => {}
                Err(error) => assert_eq!(error.code(), Code::LimitExceeded, "{error}"),
            }
            for finding in made.relaxations.iter().chain(&made.warnings) {
                assert!(finding.pointer.is_some());
                let _ = finding.render(text);
            }
        }
        Err(error) => {
            for diagnostic in error.diagnostics() {
                let placed = diagnostic.pointer.is_some() || diagnostic.span.is_some();
                assert!(placed || diagnostic.code == Code::LimitExceeded, "{error}");
                let _ = diagnostic.render(text);
            }
        }
    }
}

/// Any bytes: the front end returns, a printed grammar has the same meaning, errors have positions, and lowering
/// returns.
pub fn kbnf_text(text: &[u8]) {
    let limits = limits();
    let parsed = kbnf::parse(text, &limits);
    let _ = parsed.ast.to_string();
    let source = parsed.ast.source().to_string();
    match kbnf::grammar(text, "start", &limits) {
        Ok((grammar, warnings)) => {
            let printed = grammar.to_string();
            let (again, _) = kbnf::grammar(printed.as_bytes(), "start", &limits)
                .unwrap_or_else(|error| panic!("the printed grammar is invalid: {printed}\n{error}"));
            assert_eq!(again.to_string(), printed);
            for warning in warnings {
                let _ = warning.render(&source);
            }
            if let Err(error) = lower(&grammar, &limits) {
                let _ = error.to_string();
            }
        }
        Err(error) => {
            assert!(error.diagnostics().iter().any(|one| one.severity == Severity::Error));
            for diagnostic in error.diagnostics() {
                let span = diagnostic.span.expect("every error of a text has a position");
                assert!(source.is_char_boundary(span.start) && source.is_char_boundary(span.end));
                let _ = diagnostic.render(&source);
            }
        }
    }
}

/// A pattern and a text: the terms of the pattern match as the automata of `regex-automata` do.
pub fn pattern(pattern: &str, text: &[u8]) {
    let limits = limits();
    let mut terms = Terms::new();
    let Ok(whole) = regex::term(&mut terms, pattern, &limits) else { return };
    let Ok(nowhere) = regex::search_term(&mut terms, pattern, &limits) else { return };
    let first = terms.first_match(whole);
    let mut automata = Automata::new(terms, 2_000);
    let mut accepts = |term, text: &[u8]| {
        let mut state = automata.start(term)?;
        for &byte in text {
            let Some(current) = state else { return Ok(false) };
            state = automata.step(current, byte)?;
            if let Some(next) = state {
                // No dead state is entered.
                assert!(automata.is_accepting(next) || automata.continues(next)?);
            }
        }
        Ok::<bool, grammask::LimitExceeded>(state.is_some_and(|state| automata.is_accepting(state)))
    };
    let Some(oracle) = PatternOracle::new(pattern) else {
        let _ = (accepts(whole, text), accepts(nowhere, text), accepts(first, text));
        return;
    };
    // Texts without a match are valid UTF-8.
    let is_text = std::str::from_utf8(text).is_ok() && !text.is_empty();
    for end in 0..=text.len() {
        let part = &text[..end];
        let matches = oracle.matches_whole(part);
        if let Ok(found) = accepts(whole, part) {
            assert_eq!(found, matches, "{pattern:?} on {part:?}");
        }
        let is_first = matches && end > 0 && (1..end).all(|end| !oracle.matches_whole(&text[..end]));
        if let Ok(found) = accepts(first, part) {
            assert_eq!(found, is_first, "first match of {pattern:?} on {part:?}");
        }
    }
    if let (true, Ok(found)) = (is_text, accepts(nowhere, text)) {
        assert_eq!(found, !oracle.matches_somewhere(text), "no match of {pattern:?} in {text:?}");
    }
}

/// The fully constructed DFAs of `regex-automata`.
struct PatternOracle {
    dfa: dense::DFA<Vec<u32>>,
}

impl PatternOracle {
    /// `None` if the pattern is too large.
    fn new(pattern: &str) -> Option<Self> {
        let dfa = dense::Builder::new()
            .syntax(syntax::Config::new().utf8(false))
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(1 << 16)))
            .configure(
                dense::Config::new()
                    .match_kind(MatchKind::All)
                    .dfa_size_limit(Some(1 << 17))
                    .determinize_size_limit(Some(1 << 17)),
            )
            .build(pattern)
            .ok()?;
        Some(Self { dfa })
    }

    fn matches_whole(&self, text: &[u8]) -> bool {
        self.ends(text, Anchored::Yes).last() == Some(&true)
    }

    fn matches_somewhere(&self, text: &[u8]) -> bool {
        self.ends(text, Anchored::No).contains(&true)
    }

    /// Whether a match ends at each position.
    fn ends(&self, text: &[u8], anchored: Anchored) -> Vec<bool> {
        let input = Input::new(text).anchored(anchored);
        let mut state = self.dfa.start_state_forward(&input).expect("no byte makes it quit");
        let mut ends = Vec::with_capacity(text.len() + 1);
        for &byte in text {
            state = self.dfa.next_state(state, byte);
            ends.push(self.dfa.is_match_state(state));
        }
        state = self.dfa.next_eoi_state(state);
        ends.push(self.dfa.is_match_state(state));
        ends
    }
}

/// A grammar as text, walked with a vocabulary of common strings in grammars.
pub fn grammar_text(text: &[u8], picks: &[u8], end: EndMode) {
    let vocabulary = Arc::new(text_vocabulary());
    let Ok((grammar, _)) = kbnf::grammar(text, "start", &limits()) else { return };
    if is_small(&grammar) {
        let steps: Vec<Step> = picks.iter().map(|&pick| Step::Accept(pick)).collect();
        walk(&grammar, &vocabulary, &steps, end);
    } else {
        let _ = lower(&grammar, &limits());
    }
}

fn text_vocabulary() -> Vocabulary {
    let words = [
        "a", "b", "c", "x", "y", "1", "0", " ", ",", ";", "(", ")", "[", "]", "{", "}", "\"", "\\", "\n",
        "-", ".", "ab", "ba", "aa", "bb", "abc", "xy", "word", "é", "你", "true", "\":", "()",
    ];
    let mut texts: TokenTextsBuilder = words.into_iter().map(Some).collect();
    for bytes in [&b"\xc3"[..], b"\xa9", b"\xe4\xbd", b"\xff", b"a\xc3"] {
        texts.push(bytes);
    }
    for _ in 0..3 {
        texts.push_textless();
    }
    let first = texts.len() as u32 - 3;
    let special = vec![("<|x|>".to_owned(), first), ("<|y|>".to_owned(), first + 1)];
    Vocabulary::new(texts.finish(), special, vec![first + 2], None).expect("the vocabulary is valid")
}

/// Whether the grammar is small enough for the oracles, which expand repetitions.
fn is_small(grammar: &Grammar) -> bool {
    let copies = |node: &Node| match node {
        Node::Repeat { min, max, .. } => max.unwrap_or(*min) as usize + 1,
        _ => 1,
    };
    grammar.source().len() <= 2_000 && grammar.nodes().iter().map(copies).sum::<usize>() <= 300
}

/// An operation on a text. Numbers are taken modulo the number of choices.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Accepts one of the legal tokens.
    Accept(u8),
    /// Tries any id.
    Try(u8),
    /// Removes the last tokens.
    Rollback(u8),
    /// Stores a copy.
    Fork,
    /// Continues with a stored copy.
    Switch(u8),
    /// Removes all tokens.
    Reset,
}

/// The state of the oracle for a text.
#[derive(Clone)]
struct Oracle<'r> {
    chart: Chart<'r>,
    is_finished: bool,
}

#[derive(Clone)]
struct Text<'r> {
    /// A matcher per strategy.
    matchers: Vec<Matcher>,
    /// The states of the oracle after each token.
    oracles: Vec<Oracle<'r>>,
}

/// Walks through texts of a grammar. Engine and oracle agree after every step, with every strategy.
pub fn walk(grammar: &Grammar, vocabulary: &Arc<Vocabulary>, steps: &[Step], end: EndMode) {
    let reference = Reference::new(grammar, vocabulary);
    let language = reference.language();
    let mut matchers = Vec::new();
    for masks in [MaskStrategy::Walk, MaskStrategy::Summaries] {
        let mut options = CompileOptions::default();
        options.end = end;
        options.masks = masks;
        options.limits = limits();
        match CompiledGrammar::new(grammar, vocabulary.clone(), options) {
            Ok(compiled) => matchers.push(compiled.matcher()),
            Err(error) => {
                let is_right = match error.code() {
                    Code::EmptyLanguage => !language.empty && !language.nonempty,
                    Code::OnlyEmptyText => end == EndMode::Eager && !language.nonempty,
                    Code::MissingEndToken => end == EndMode::Eos && vocabulary.eos().is_empty(),
                    code => matches!(code, Code::UnknownToken | Code::LimitExceeded),
                };
                assert!(is_right, "{error}\n{language:?}");
                return;
            }
        }
    }
    assert!(language.empty || language.nonempty, "the engine accepts an empty language");
    let beginning = Oracle { chart: reference.chart(), is_finished: false };
    let mut texts = vec![Text { matchers, oracles: vec![beginning] }];
    let mut current = 0;
    for &step in steps {
        let text = &mut texts[current];
        let Some(allowed) = text.compare(vocabulary, end) else { return };
        match step {
            Step::Accept(_) if allowed.is_empty() => {}
            Step::Accept(pick) => text.accept(allowed[pick as usize % allowed.len()], vocabulary, end),
            Step::Try(pick) => {
                text.accept(TokenId(u32::from(pick) % vocabulary.size() as u32), vocabulary, end)
            }
            Step::Rollback(pick) => {
                let count = pick as usize % text.oracles.len();
                assert!(text.matchers.iter_mut().all(|matcher| matcher.rollback(count)));
                text.oracles.truncate(text.oracles.len() - count);
            }
            Step::Fork => {
                let fork = text.clone();
                texts.push(fork);
            }
            Step::Switch(pick) => current = pick as usize % texts.len(),
            Step::Reset => {
                text.matchers.iter_mut().for_each(Matcher::reset);
                text.oracles.truncate(1);
            }
        }
    }
    for text in &texts {
        text.compare(vocabulary, end);
    }
}

impl Text<'_> {
    /// Compares masks, completeness, explanations and forced bytes; returns the legal tokens, or `None` if a limit is
    /// exceeded.
    fn compare(&self, vocabulary: &Vocabulary, end: EndMode) -> Option<Vec<TokenId>> {
        let oracle = self.oracles.last().expect("the first state is never removed");
        let expected = oracle.allowed(vocabulary, end);
        for matcher in &self.matchers {
            let found: Vec<TokenId> = match matcher.mask() {
                Ok(mask) => mask.iter().collect(),
                Err(error) if error.code() == Code::LimitExceeded => return None,
                Err(error) => {
                    assert_eq!(error.code(), Code::DeadEnd, "{error}");
                    Vec::new()
                }
            };
            let masks = matcher.compiled().options().masks;
            assert_eq!(found, expected, "{masks:?}: mask after {:?}", matcher.tokens());
            assert_eq!(matcher.is_complete(), oracle.chart.is_complete());
            assert_eq!(matcher.is_finished(), oracle.is_finished);
        }
        let matcher = &self.matchers[0];
        for id in 0..vocabulary.size() {
            let token = TokenId(id as u32);
            let is_allowed = expected.contains(&token);
            assert_eq!(matcher.validate(&[token]).ok()? == 1, is_allowed, "validate of token {id}");
            let explained = matcher.explain(token).ok()?;
            assert_eq!(explained == Explanation::Allowed, is_allowed, "explanation of token {id}");
        }
        let forced = matcher.forced_bytes(20).ok()?;
        for &token in expected.iter().filter(|_| !forced.is_empty()) {
            let text = vocabulary.token(token).expect("with forced bytes every legal token has text");
            let fits = text.iter().zip(&forced).all(|(left, right)| left == right);
            assert!(fits, "token {} is legal and {forced:?} is forced", token.0);
        }
        Some(expected)
    }

    fn accept(&mut self, token: TokenId, vocabulary: &Vocabulary, end: EndMode) {
        let oracle = self.oracles.last().expect("the first state is never removed");
        let next = oracle.accept(token, vocabulary, end);
        for matcher in &mut self.matchers {
            let Ok(accepted) = matcher.accept(token) else { return };
            assert_eq!(accepted, next.is_some(), "accept of token {}", token.0);
        }
        self.oracles.extend(next);
    }
}

impl Oracle<'_> {
    fn accept(&self, token: TokenId, vocabulary: &Vocabulary, end: EndMode) -> Option<Self> {
        if self.is_finished {
            return vocabulary.is_eos(token).then(|| self.clone());
        }
        if end == EndMode::Eos && vocabulary.is_eos(token) && self.chart.is_complete() {
            return Some(Self { is_finished: true, ..self.clone() });
        }
        let mut chart = self.chart.clone();
        chart.accept_token(token).then(|| {
            let is_finished = end == EndMode::Eager && chart.is_complete();
            Self { chart, is_finished }
        })
    }

    fn allowed(&self, vocabulary: &Vocabulary, end: EndMode) -> Vec<TokenId> {
        let mut allowed: Vec<TokenId> = Vec::new();
        if !self.is_finished {
            allowed.extend(brute_force::mask(&self.chart, vocabulary).iter());
        }
        if self.is_finished || end == EndMode::Eos && self.chart.is_complete() {
            allowed.extend(vocabulary.eos());
        }
        allowed.sort_unstable();
        allowed.dedup();
        allowed
    }
}

/// A vocabulary from arbitrary parts: an error, or every token is found at its node and in its class.
pub fn vocabulary(
    tokens: &[Option<Vec<u8>>],
    special: Vec<(String, u32)>,
    eos: Vec<u32>,
    size: Option<usize>,
) {
    let texts: TokenTexts = tokens.iter().map(Option::as_deref).collect();
    let vocabulary = match Vocabulary::new(texts, special.clone(), eos.clone(), size) {
        Ok(vocabulary) => vocabulary,
        Err(error) => {
            let _ = error.to_string();
            return;
        }
    };
    assert!(vocabulary.size() >= tokens.len());
    let trie = vocabulary.trie();
    let mut in_trie = vec![false; vocabulary.size()];
    let mut path: Vec<u8> = Vec::new();
    for node in 1..trie.len() {
        let node = grammask::vocabulary::TrieNode(node as u32);
        path.truncate(usize::from(trie.depth(node)) - 1);
        path.push(trie.byte(node));
        for &token in trie.tokens(node) {
            assert_eq!(vocabulary.token(token), Some(&path[..]));
            assert!(!std::mem::replace(&mut in_trie[token.index()], true), "a token is at one node");
        }
    }
    for (id, is_in_trie) in in_trie.into_iter().enumerate() {
        let token = TokenId(id as u32);
        let text = vocabulary.token(token);
        assert_eq!(text.is_some_and(|text| !text.is_empty()), is_in_trie, "token {id}");
        let is_special = special.iter().any(|(_, special)| *special as usize == id);
        assert_eq!(vocabulary.is_eos(token), eos.contains(&(id as u32)));
        if is_special || vocabulary.is_eos(token) {
            assert_eq!(text, None);
        } else if let Some(Some(given)) = tokens.get(id) {
            assert!(text == Some(&given[..]) || given.is_empty());
        }
    }
    for (name, id) in &special {
        assert_eq!(vocabulary.special(name), Some(TokenId(*id)));
    }
}
