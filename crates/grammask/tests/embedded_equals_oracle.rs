//! Property: grammars that embed others agree with the textbook recogniser, whose terminals ask an oracle of each
//! embedded grammar.
//!
//! The oracle of a lexed grammar cuts whole texts. Whether a text is a prefix is taken from the engine, and checked:
//! each prefix has a completion that the oracle accepts, and other texts have no short one. Where the search for a
//! completion may give up (Earley parsers and resolved conflicts), a prefix without one is a case without a result. The
//! oracle of an embedded context-free grammar is again the textbook recogniser. `GRAMMASK_PROFILE=long` runs more cases.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::generators::{GrammarSketch, Step, by_profile, config};
use crate::lexing_equals_oracle::check_groups;
use grammask::grammar::{Code, EmbeddedTexts, Grammar, GrammarBuilder, Span, Terminal};
use grammask::lexing::reference::LexedReference;
use grammask::lexing::{
    ConflictPolicy, LexedDefinition, LexedGrammar, LexedRecognizer, ParserKind, PreparedGrammar,
};
use grammask::masks::brute_force;
use grammask::recognizer::reference::{
    Chart, EmbeddedReference, Language, LastPiece, PieceReading, Reference,
};
use grammask::vocabulary::{TokenId, Vocabulary};
use grammask::{
    CompileOptions, CompiledGrammar, CompletionStep, Deadline, EmbeddedGrammar, EndMode, Engine, Limits,
    MaskStrategy, Matcher, SetId, Steps,
};
use proptest::prelude::*;

/// Number of compared masks.
static COMPARED: AtomicU64 = AtomicU64::new(0);
/// Number of compared masks of sets inside an embedded grammar.
static INSIDE: AtomicU64 = AtomicU64::new(0);
/// Number of tokens in groups of sets inside an embedded grammar.
static GROUPED: AtomicU64 = AtomicU64::new(0);
/// Number of masks that were composed for grammars in which terminals count tokens.
static COMPOSED_COUNTING: AtomicU64 = AtomicU64::new(0);

/// The oracle of a lexed grammar.
#[derive(Debug)]
struct LexedOracle<'v> {
    reference: LexedReference,
    engine: LexedRecognizer,
    /// An engine for completions of any bytes.
    completing: LexedRecognizer,
    /// Whether the search for completions may give up, because its lower bounds are weak.
    may_give_up: bool,
    all_bytes: Vocabulary,
    vocabulary: &'v Vocabulary,
    memo: RefCell<HashMap<Vec<u8>, PieceReading>>,
}

/// The oracle of an embedded context-free grammar.
#[derive(Debug)]
struct ContextFreeOracle<'v> {
    reference: Reference<'v>,
    /// The grammar by itself, for shortest completions.
    compiled: Arc<CompiledGrammar>,
    vocabulary: &'v Vocabulary,
}

fn no_deadline() -> Deadline {
    Deadline::after(Limits::default().time)
}

/// The panic of an oracle whose search for a completion that the vocabulary cannot spell ends at a limit.
struct OracleLimit;

/// Number of cases without a result of the oracle.
static WITHOUT_ORACLE: AtomicU64 = AtomicU64::new(0);

/// Limits of oracles, at which a hopeless search ends soon.
fn oracle_limits() -> Limits {
    let mut limits = Limits::default();
    limits.memory_bytes = 32 << 20;
    limits
}

/// Runs a case unless its oracle has no result.
fn with_oracle(case: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(case)) {
        if !panic.is::<OracleLimit>() {
            resume_unwind(panic);
        }
        WITHOUT_ORACLE.fetch_add(1, Ordering::Relaxed);
    }
}

/// The rest of the shortest completion of a state.
fn completion(engine: &dyn Engine, start: SetId, vocabulary: &Vocabulary) -> Option<Vec<u8>> {
    let (mut set, mut word) = (start, Vec::new());
    loop {
        let next = engine.shortest_completion(set, vocabulary, &no_deadline());
        let next = next.unwrap_or_else(|_| resume_unwind(Box::new(OracleLimit)))?;
        assert_eq!(next.first.is_none(), engine.is_complete(set));
        let Some(first) = next.first else { return Some(word) };
        let CompletionStep::Byte(byte) = first else { panic!("embedded grammars name no tokens") };
        word.push(byte);
        set = engine.step(set, byte).expect("no limit").expect("a completion is legal");
    }
}

/// The state after pieces of text that have ended.
fn read(engine: &dyn Engine, pieces: &[&[u8]]) -> Option<SetId> {
    let mut set = engine.start();
    for piece in pieces {
        set = engine.read_bytes(set, piece, &no_deadline()).expect("no limit")?;
    }
    Some(set)
}

/// The fewest tokens that spell the completions of states: after each token, the completion of the new state counts.
/// If the grammar counts tokens, only the token that leaves the shortest rest is considered.
fn min_tokens(engine: &dyn Engine, set: SetId, vocabulary: &Vocabulary) -> Option<u32> {
    min_tokens_memoised(engine, set, vocabulary, &mut HashMap::new())
}

fn min_tokens_memoised(
    engine: &dyn Engine,
    set: SetId,
    vocabulary: &Vocabulary,
    known: &mut HashMap<SetId, Option<u32>>,
) -> Option<u32> {
    if engine.is_complete(set) {
        return Some(0);
    }
    if let Some(&known) = known.get(&set) {
        return known;
    }
    let word = completion(engine, set, vocabulary)?;
    let mut after = Vec::new();
    for id in (0..vocabulary.size() as u32).map(TokenId) {
        let Some(text) = vocabulary.token(id).filter(|text| word.starts_with(text)) else { continue };
        let Some(next) = engine.read_bytes(set, text, &no_deadline()).expect("no limit") else { continue };
        let Some(rest) = completion(engine, next, vocabulary) else { continue };
        if rest.len() < word.len() {
            after.push((rest.len(), next));
        }
    }
    if engine.counts_tokens() {
        let least = after.iter().map(|&(rest, _)| rest).min();
        after.retain(|&(rest, _)| Some(rest) == least);
        after.truncate(1);
    }
    let rests =
        after.into_iter().filter_map(|(_, next)| min_tokens_memoised(engine, next, vocabulary, known));
    let least = rests.min().map(|rest| rest + 1);
    known.insert(set, least);
    least
}

impl LexedOracle<'_> {
    fn read_text(&self, text: &[u8]) -> PieceReading {
        let set = read(&self.engine, &text.chunks(1).collect::<Vec<_>>());
        let is_text = self.reference.accepts(text);
        match set {
            None => {
                for extension in extensions(3) {
                    assert!(!self.reference.accepts(&[text, &extension].concat()), "{text:?} {extension:?}");
                }
            }
            Some(set) => {
                assert_eq!(self.engine.is_complete(set), is_text);
                let set =
                    read(&self.completing, &text.chunks(1).collect::<Vec<_>>()).expect("an equal engine");
                let Some(rest) = completion(&self.completing, set, &self.all_bytes) else {
                    assert!(self.may_give_up, "no completion of {text:?}");
                    resume_unwind(Box::new(OracleLimit))
                };
                assert!(self.reference.accepts(&[text, &rest].concat()), "{text:?} {rest:?}");
            }
        }
        PieceReading { is_prefix: set.is_some(), is_text }
    }
}

/// All texts of at most `length` bytes over the alphabet of generated lexed grammars.
fn extensions(length: usize) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut first = 0;
    for _ in 0..length {
        let last = all.len();
        for index in first..last {
            all.extend(b"ab ".iter().map(|&byte| [&all[index][..], &[byte]].concat()).collect::<Vec<_>>());
        }
        first = last;
    }
    all
}

impl EmbeddedReference for LexedOracle<'_> {
    fn language(&self) -> Language {
        let steps = |byte: u8| self.engine.step(self.engine.start(), byte).expect("no limit").is_some();
        Language { empty: self.reference.accepts(b""), nonempty: (0..=u8::MAX).any(steps) }
    }

    fn read(&self, pieces: &[&[u8]], _: LastPiece) -> PieceReading {
        let text = pieces.concat();
        if let Some(&known) = self.memo.borrow().get(&text) {
            return known;
        }
        let reading = self.read_text(&text);
        self.memo.borrow_mut().insert(text, reading);
        reading
    }

    fn min_tokens(&self, pieces: &[&[u8]]) -> Option<u32> {
        min_tokens(&self.engine, read(&self.engine, pieces)?, self.vocabulary)
    }
}

impl ContextFreeOracle<'_> {
    fn chart(&self, pieces: &[&[u8]], last: LastPiece) -> Option<Chart<'_>> {
        let mut chart = self.reference.chart();
        for (index, piece) in pieces.iter().enumerate() {
            let last = if index + 1 == pieces.len() { last } else { LastPiece::Ended };
            if !chart.accept_piece(piece, last) {
                return None;
            }
        }
        Some(chart)
    }
}

impl EmbeddedReference for ContextFreeOracle<'_> {
    fn language(&self) -> Language {
        self.reference.language()
    }

    fn read(&self, pieces: &[&[u8]], last: LastPiece) -> PieceReading {
        let chart = self.chart(pieces, last);
        let is_text = chart.as_ref().is_some_and(Chart::is_complete);
        PieceReading { is_prefix: chart.is_some(), is_text }
    }

    fn min_tokens(&self, pieces: &[&[u8]]) -> Option<u32> {
        let cache = self.compiled.cache();
        min_tokens(cache.engine(), read(cache.engine(), pieces)?, self.vocabulary)
    }
}

/// An embedded grammar with its oracle.
#[derive(Clone)]
struct Embedded<'v> {
    grammar: EmbeddedGrammar,
    oracle: Rc<dyn EmbeddedReference + 'v>,
}

/// The first of the lexed grammars that is a supported one.
fn lexed<'v>(definitions: &[LexedDefinition], vocabulary: &'v Vocabulary) -> Option<Embedded<'v>> {
    let limits = Limits::default();
    definitions.iter().find_map(|definition| {
        let grammar = LexedGrammar::new(definition, &limits).ok()?;
        let reference = LexedReference::new(&grammar, &limits)?;
        let prepared = PreparedGrammar::new(grammar.clone(), &limits).ok()?;
        let bytes = (0..=u8::MAX).map(|byte| Some([byte])).collect();
        let all_bytes = Vocabulary::new(bytes, vec![], vec![], None).expect("bytes are a vocabulary");
        let engine = |size| LexedRecognizer::new(&prepared, size, &oracle_limits()).expect("no limit");
        let (engine, completing) = (engine(vocabulary.size()), engine(all_bytes.size()));
        let may_give_up =
            definition.parser == ParserKind::Earley || definition.conflicts != ConflictPolicy::Refuse;
        let memo = RefCell::default();
        let oracle = LexedOracle { reference, engine, completing, may_give_up, all_bytes, vocabulary, memo };
        let eager = EmbeddedGrammar::lexed(grammar.clone(), &limits).expect("it was prepared before");
        Some(Embedded {
            grammar: EmbeddedGrammar::deferred(grammar, eager.texts(), &limits),
            oracle: Rc::new(oracle),
        })
    })
}

fn context_free<'v>(
    grammar: Grammar,
    inner: &[Embedded<'v>],
    vocabulary: &'v Arc<Vocabulary>,
) -> Option<Embedded<'v>> {
    let grammar = Arc::new(grammar);
    let limits = Limits::default();
    let embedded: Vec<EmbeddedGrammar> = inner.iter().map(|inner| inner.grammar.clone()).collect();
    let mut options = CompileOptions::default();
    options.end = EndMode::Eos;
    options.limits = oracle_limits();
    let compiled = CompiledGrammar::with_embedded(&grammar, &embedded, vocabulary.clone(), options).ok()?;
    let oracles = inner.iter().map(|inner| inner.oracle.clone()).collect();
    let reference = Reference::with_embedded(&grammar, vocabulary, oracles);
    let grammar = EmbeddedGrammar::context_free(grammar, embedded, &limits).ok()?;
    Some(Embedded { grammar, oracle: Rc::new(ContextFreeOracle { reference, compiled, vocabulary }) })
}

fn texts(embedded: &[Embedded<'_>]) -> Vec<EmbeddedTexts> {
    embedded.iter().map(|embedded| embedded.grammar.texts()).collect()
}

#[test]
fn masks_equal_brute_force() {
    let mut runner = proptest::test_runner::TestRunner::new(config(by_profile(250, 1500)));
    let strategy = (
        proptest::collection::vec(crate::generators::lexed::definition(), 4),
        crate::generators::embedding_grammar(1, 7),
        crate::generators::embedding_grammar(2, 7),
        prop_oneof![crate::generators::vocabulary(), crate::generators::lexed::vocabulary()],
        crate::generators::walk(12),
    );
    let result = runner.run(&strategy, |(definitions, middle, outer, vocabulary, walk)| {
        let vocabulary = Arc::new(vocabulary.build());
        let Some(lexed) = lexed(&definitions, &vocabulary) else { return Ok(()) };
        let inner = [lexed.clone()];
        let middle: &GrammarSketch = &middle;
        let middle = context_free(middle.build_with(&texts(&inner)), &inner, &vocabulary);
        let embedded = [lexed.clone(), middle.unwrap_or(lexed)];
        let grammar = outer.build_with(&texts(&embedded));
        for masks in [MaskStrategy::Walk, MaskStrategy::Summaries] {
            with_oracle(|| check(&grammar, &embedded, &vocabulary, &walk, masks));
        }
        Ok(())
    });
    println!("{WITHOUT_ORACLE:?} cases without an oracle");
    println!(
        "compared {COMPARED:?} masks, {INSIDE:?} inside embedded grammars; {COMPOSED_COUNTING:?} composed ones count tokens; \
         {GROUPED:?} tokens in groups"
    );
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Maxima that do not constrain most tokens, so that masks are composed. Every byte is a token.
#[test]
fn masks_with_ample_maxima_equal_brute_force() {
    let mut runner = proptest::test_runner::TestRunner::new(config(by_profile(100, 500)));
    let strategy = (
        proptest::collection::vec(crate::generators::lexed::definition(), 4),
        crate::generators::embedding_grammar(1, 1),
        crate::generators::embedding_grammar(2, 60),
        crate::generators::lexed::vocabulary(),
        crate::generators::walk(8),
    );
    let result = runner.run(&strategy, |(definitions, middle, outer, mut vocabulary, walk)| {
        let end = vocabulary.texts.len() - 1;
        let bytes = "ab cé你".bytes().map(|byte| Some(vec![byte]));
        vocabulary.texts.splice(end..end, bytes);
        vocabulary.eos = vec![vocabulary.texts.len() as u32 - 1];
        vocabulary.size = vocabulary.texts.len();
        let vocabulary = Arc::new(vocabulary.build());
        let Some(lexed) = lexed(&definitions, &vocabulary) else { return Ok(()) };
        let inner = [lexed.clone()];
        let middle = middle.without_maxima().build_with(&texts(&inner));
        let middle = context_free(middle, &inner, &vocabulary);
        let embedded = [lexed.clone(), middle.unwrap_or(lexed)];
        let grammar = outer.build_with(&texts(&embedded));
        with_oracle(|| check(&grammar, &embedded, &vocabulary, &walk, MaskStrategy::Summaries));
        Ok(())
    });
    println!("{COMPOSED_COUNTING:?} masks of grammars that count tokens were composed");
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// One of the texts of a walk, in the engine and in the oracle.
#[derive(Clone)]
struct Text<'r> {
    matcher: Matcher,
    chart: Chart<'r>,
    is_finished: bool,
    history: Vec<(Chart<'r>, bool)>,
}

fn check(
    grammar: &Grammar,
    embedded: &[Embedded<'_>],
    vocabulary: &Arc<Vocabulary>,
    walk: &[Step],
    masks: MaskStrategy,
) {
    let oracles = embedded.iter().map(|embedded| embedded.oracle.clone()).collect();
    let reference = Reference::with_embedded(grammar, vocabulary, oracles);
    let language = reference.language();
    let mut options = CompileOptions::default();
    options.end = EndMode::Eos;
    options.masks = masks;
    // The search for a completion that the vocabulary cannot spell may end at the limit.
    options.limits.memory_bytes = 32 << 20;
    let inner: Vec<EmbeddedGrammar> = embedded.iter().map(|embedded| embedded.grammar.clone()).collect();
    let compiled = match CompiledGrammar::with_embedded(grammar, &inner, vocabulary.clone(), options) {
        Ok(compiled) => compiled,
        Err(error) => {
            let is_right = match error.code() {
                Code::EmptyLanguage => !language.empty && !language.nonempty,
                Code::TokenMaximumTooSmall | Code::LimitExceeded => true,
                _ => false,
            };
            assert!(is_right, "{error}\n{language:?}");
            return;
        }
    };
    let first = Text {
        matcher: compiled.matcher(),
        chart: reference.chart(),
        is_finished: false,
        history: Vec::new(),
    };
    let mut kept = vec![first];
    let mut current = 0;
    for step in walk {
        let text = &mut kept[current];
        let Some(allowed) = compare(text, vocabulary) else { return };
        match step {
            Step::Accept(index) if !allowed.is_empty() => {
                accept(text, *index.get(&allowed), vocabulary, true)
            }
            Step::Accept(_) => {}
            Step::Try(index) => {
                let token = TokenId(index.index(vocabulary.size()) as u32);
                accept(text, token, vocabulary, allowed.contains(&token));
            }
            Step::Rollback(index) => {
                let count = index.index(text.history.len() + 1);
                assert!(text.matcher.rollback(count));
                for _ in 0..count {
                    (text.chart, text.is_finished) = text.history.pop().expect("as many as the matcher has");
                }
            }
            Step::Fork => {
                let fork = text.clone();
                kept.push(fork);
                current = kept.len() - 1;
            }
            Step::Switch(index) => current = index.index(kept.len()),
            Step::Reset => {
                text.matcher.reset();
                if let Some(first) = text.history.first().cloned() {
                    (text.chart, text.is_finished) = first;
                    text.history.clear();
                }
            }
        }
    }
    for text in &mut kept {
        compare(text, vocabulary);
    }
    if grammar
        .terminals()
        .iter()
        .any(|definition| matches!(definition.terminal, Terminal::Embedded { tokens: Some(_), .. }))
    {
        COMPOSED_COUNTING.fetch_add(compiled.cache().statistics().composed, Ordering::Relaxed);
    }
}

/// Compares masks and completeness; returns the legal tokens, or `None` if a limit was exceeded.
fn compare(text: &mut Text<'_>, vocabulary: &Vocabulary) -> Option<Vec<TokenId>> {
    let mut expected = match text.is_finished {
        true => grammask::vocabulary::TokenSet::new(vocabulary.size()),
        false => brute_force::mask(&text.chart, vocabulary),
    };
    if text.chart.is_complete() {
        vocabulary.eos().iter().for_each(|&id| {
            expected.insert(id);
        });
    }
    let expected: Vec<TokenId> = expected.iter().collect();
    let found: Vec<TokenId> = match text.matcher.mask() {
        Ok(mask) => mask.iter().collect(),
        Err(error) if error.code() == Code::LimitExceeded => return None,
        Err(error) => {
            assert_eq!(error.code(), Code::DeadEnd, "{error}");
            Vec::new()
        }
    };
    assert_eq!(found, expected, "mask after {:?}", text.matcher.tokens());
    assert_eq!(text.matcher.is_complete(), text.chart.is_complete());
    COMPARED.fetch_add(1, Ordering::Relaxed);
    let cache = text.matcher.cache();
    let is_inside = cache.engine().describe(text.matcher.set()).contains("of the embedded grammar");
    INSIDE.fetch_add(u64::from(is_inside), Ordering::Relaxed);
    let (engine, set) = (cache.engine(), text.matcher.set());
    if let Ok(Some(groups)) = cache.successor_groups(set, &no_deadline())
        && !text.is_finished
        && engine.token_matches(set).expect("no limit").is_empty()
    {
        GROUPED.fetch_add(check_groups(engine, set, vocabulary, groups), Ordering::Relaxed);
    }
    Some(expected)
}

/// Accepts a token in both.
fn accept(text: &mut Text<'_>, token: TokenId, vocabulary: &Vocabulary, is_allowed: bool) {
    let accepted = text.matcher.accept(token).expect("no limit");
    assert_eq!(accepted, is_allowed, "accept of token {}", token.0);
    let before = (text.chart.clone(), text.is_finished);
    if accepted {
        if vocabulary.is_eos(token) && text.chart.is_complete() {
            text.is_finished = true;
        } else {
            assert!(text.chart.accept_token(token));
        }
        text.history.push(before);
    }
}

/// `"a" part limited "a"` where both parts are `a`, or `b` after an `a` and another one: every `a` after the second may be
/// the last. The maximum decides about tokens, or is ample.
#[test]
fn all_ends_of_a_part_are_followed() {
    for max_tokens in [2, 60] {
        follow_all_ends(max_tokens);
    }
}

fn follow_all_ends(max_tokens: u32) {
    let vocabulary = crate::generators::VocabularySketch {
        texts: vec![
            Some(b"a".to_vec()),
            Some(b"aa".to_vec()),
            Some(b"b".to_vec()),
            Some(b"ab".to_vec()),
            None,
        ],
        special: Vec::new(),
        eos: vec![4],
        size: 5,
    };
    let vocabulary = Arc::new(vocabulary.build());
    let mut builder = GrammarBuilder::new("");
    let start = builder.nonterminal("start", Span::default());
    let (a, b) = (builder.literal(b"a", Span::default()), builder.literal(b"b", Span::default()));
    let more = builder.reference(start, Span::default());
    let nested = builder.sequence(vec![a, more, b], Span::default());
    let body = builder.choice(vec![a, nested], Span::default());
    builder.define(start, body, Span::default());
    let part = context_free(builder.finish(start), &[], &vocabulary).expect("a supported grammar");
    let mut builder = GrammarBuilder::new("");
    let start = builder.nonterminal("start", Span::default());
    let texts = part.grammar.texts();
    let terminal = Terminal::Embedded { grammar: builder.embed(texts), tokens: None };
    let (a, part_node) =
        (builder.literal(b"a", Span::default()), builder.terminal(terminal, "part", Span::default()));
    let terminal = Terminal::Embedded { grammar: builder.embed(texts), tokens: Some(max_tokens) };
    let limited = builder.terminal(terminal, "limited", Span::default());
    // Two adjacent parts, the second of which has a maximum.
    let body = builder.sequence(vec![a, part_node, limited, a], Span::default());
    builder.define(start, body, Span::default());
    let grammar = builder.finish(start);
    let embedded = [part.clone(), part];
    let oracles = embedded.iter().map(|embedded| embedded.oracle.clone()).collect();
    let reference = Reference::with_embedded(&grammar, &vocabulary, oracles);
    let inner: Vec<EmbeddedGrammar> = embedded.iter().map(|embedded| embedded.grammar.clone()).collect();
    let mut options = CompileOptions::default();
    options.end = EndMode::Eos;
    let compiled = CompiledGrammar::with_embedded(&grammar, &inner, vocabulary.clone(), options)
        .expect("a supported grammar");
    let first = Text {
        matcher: compiled.matcher(),
        chart: reference.chart(),
        is_finished: false,
        history: Vec::new(),
    };
    let mut pending = vec![first];
    while let Some(mut text) = pending.pop() {
        let allowed = compare(&mut text, &vocabulary).expect("no limit");
        if text.history.len() < 6 {
            for token in allowed {
                let mut longer = text.clone();
                accept(&mut longer, token, &vocabulary, true);
                pending.push(longer);
            }
        }
    }
}
