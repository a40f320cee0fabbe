//! Property: with upper bounds in place of the fewest tokens, texts still end within their budgets, and masks consist
//! of the tokens after which the bound fits.
//!
//! Padding makes the vocabularies too large for the search of the fewest tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::generators::Step;
use crate::generators::values::{BINDING_CASES, binding_grammar};
use crate::lexing_equals_oracle::check_groups;
use grammask::grammar::{Code, Grammar, GrammarBuilder, Span, Terminal};
use grammask::lexing::LexedGrammar;
use grammask::vocabulary::{TokenId, Vocabulary};
use grammask::{
    BudgetError, CompileOptions, CompiledGrammar, Deadline, EmbeddedGrammar, EndMode, Limits, Matcher, batch,
    frontends,
};
use proptest::prelude::*;

/// Number of ids, more than those for which the fewest tokens are searched for.
const SIZE: usize = 1025;

/// Number of compared masks that are smaller than without a budget.
static NARROWED: AtomicU64 = AtomicU64::new(0);

fn cost(matcher: &Matcher) -> Option<u32> {
    match matcher.tokens_to_finish() {
        Ok(tokens) => Some(tokens),
        Err(error) => {
            assert_eq!(error.code(), Code::NoCompletion, "{error}");
            None
        }
    }
}

/// The legal tokens with the costs of the states after them, of a matcher without a budget.
fn costs(matcher: &Matcher) -> Vec<(TokenId, Option<u32>)> {
    let mut free = matcher.clone();
    free.set_budget(None).expect("no budget is always possible");
    let mut costs = Vec::new();
    for token in free.mask().map_or(Vec::new(), |mask| mask.iter().collect()) {
        let mut longer = free.clone();
        assert!(longer.accept(token).expect("no limit"));
        costs.push((token, cost(&longer)));
    }
    costs
}

/// Compares the mask of a matcher with its definition; returns the legal tokens.
fn compare(matcher: &Matcher) -> Vec<(TokenId, Option<u32>)> {
    let budget = matcher.budget().expect("it has a budget");
    let all = costs(matcher);
    let fits = |cost: Option<u32>| matcher.is_finished() || cost.is_some_and(|cost| cost < budget);
    let expected: Vec<_> = all.iter().copied().filter(|&(_, cost)| fits(cost)).collect();
    let found = matcher.mask().unwrap_or_else(|error| panic!("{error} with a budget of {budget}"));
    assert!(
        found.iter().eq(expected.iter().map(|&(token, _)| token)),
        "budget {budget}: {found:?}, not {expected:?}"
    );
    for (token, cost) in &all {
        assert_eq!(matcher.validate(&[*token]).expect("no limit") == 1, fits(*cost));
    }
    let batched = batch::masks(&[matcher, matcher]).expect("no limit");
    assert!(batched[0] == found && batched[1] == found);
    if expected.len() < all.len() {
        NARROWED.fetch_add(1, Ordering::Relaxed);
    }
    if !matcher.is_finished() {
        let here = cost(matcher).expect("a budget was accepted");
        assert!(here <= budget && expected.iter().any(|&(_, cost)| cost.is_some_and(|cost| cost < here)));
    }
    expected
}

fn options_of(end: EndMode) -> CompileOptions {
    let mut options = CompileOptions::default();
    options.end = end;
    options
}

fn check(compiled: &Arc<CompiledGrammar>, walk: &[Step], slack: u32) {
    let mut text = compiled.matcher();
    let Some(minimum) = cost(&text) else {
        assert!(text.set_budget(Some(1 << 20)).is_err());
        return;
    };
    if let Some(less) = minimum.checked_sub(1) {
        match text.set_budget(Some(less)) {
            Err(BudgetError::TooSmall { minimum: needed, .. }) => assert_eq!(needed, minimum),
            result => panic!("{result:?}"),
        }
    }
    text.set_budget(Some(minimum + slack)).expect("it suffices");
    for step in walk {
        let legal = compare(&text);
        match step {
            Step::Accept(index) | Step::Try(index) if !legal.is_empty() && !text.is_finished() => {
                assert!(text.accept(index.get(&legal).0).expect("no limit"));
            }
            Step::Rollback(index) => assert!(text.rollback(index.index(text.step_count() + 1))),
            _ => {}
        }
    }
    // The completion is as long as it was said to be.
    let completion = text.shortest_completion().expect("a budget was accepted");
    assert_eq!(Some(completion.tokens.len()), cost(&text).map(|tokens| tokens as usize));
    let mut finished = text.clone();
    for &token in &completion.tokens {
        assert!(finished.accept(token).expect("no limit"));
    }
    assert!(finished.is_finished());
    // The most expensive tokens, as long as possible.
    while !text.is_finished() {
        let legal = compare(&text);
        let token = legal.iter().max_by_key(|(token, cost)| (*cost, token.0)).expect("it can continue").0;
        assert!(text.accept(token).expect("no limit"));
    }
}

fn run(grammars: impl Strategy<Value = crate::generators::GrammarSketch>, cases: u32, slack: u32) {
    let end = prop_oneof![Just(EndMode::Eos), Just(EndMode::Eager)];
    let strategy = (grammars, crate::generators::vocabulary(), crate::generators::walk(10), 0..=slack, end);
    let mut runner = proptest::test_runner::TestRunner::new(crate::generators::config(cases));
    let result = runner.run(&strategy, |(grammar, mut vocabulary, walk, slack, end)| {
        vocabulary.size = SIZE;
        let vocabulary = Arc::new(vocabulary.build());
        if let Ok(compiled) = CompiledGrammar::new(&grammar.build(), vocabulary, options_of(end)) {
            check(&compiled, &walk, slack);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(NARROWED.load(Ordering::Relaxed) > u64::from(cases) / 4);
}

#[test]
fn texts_end_within_small_budgets() {
    run(crate::generators::grammar(), 600, 5);
}

#[test]
fn texts_end_within_large_budgets() {
    run(crate::generators::grammar(), 200, 60);
}

#[test]
fn texts_with_named_tokens_end_within_budgets() {
    run(crate::generators::token_grammar(), 300, 5);
}

#[test]
fn texts_of_lexed_grammars_end_within_budgets() {
    let strategy = (
        crate::generators::lexed::definition(),
        crate::generators::lexed::vocabulary(),
        crate::generators::walk(10),
        0_u32..20,
    );
    let mut runner = proptest::test_runner::TestRunner::new(crate::generators::config(300));
    let result = runner.run(&strategy, |(definition, mut vocabulary, walk, slack)| {
        vocabulary.size = SIZE;
        let Ok(grammar) = LexedGrammar::new(&definition, &Limits::default()) else { return Ok(()) };
        let vocabulary = Arc::new(vocabulary.build());
        for end in [EndMode::Eos, EndMode::Eager] {
            let compiled = CompiledGrammar::from_lexed(grammar.clone(), vocabulary.clone(), options_of(end));
            if let Ok(compiled) = compiled {
                check(&compiled, &walk, slack);
            }
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// A lexed grammar inside others: before a byte that its texts do not have, before one that they may have, and as one of two
/// alternatives.
#[test]
fn texts_around_lexed_grammars_end_within_budgets() {
    let outer = [(&[&b"<"[..], b""][..], &b">"[..]), (&[b""], b"ba"), (&[b"a", b"<"], b" a")];
    let grouped = AtomicU64::new(0);
    for (before, after) in outer {
        let strategy = (
            crate::generators::lexed::definition(),
            crate::generators::vocabulary_of(b"ab <>"),
            crate::generators::walk(8),
            0_u32..12,
        );
        let mut runner = proptest::test_runner::TestRunner::new(crate::generators::config(150));
        let result = runner.run(&strategy, |(definition, mut vocabulary, walk, slack)| {
            vocabulary.size = SIZE;
            let vocabulary = Arc::new(vocabulary.build());
            let limits = Limits::default();
            let Ok(part) = LexedGrammar::new(&definition, &limits) else { return Ok(()) };
            let Ok(part) = EmbeddedGrammar::lexed(part, &limits) else { return Ok(()) };
            let grammar = grammar_around(&part, before, after);
            for end in [EndMode::Eos, EndMode::Eager] {
                let embedded = std::slice::from_ref(&part);
                let compiled =
                    CompiledGrammar::with_embedded(&grammar, embedded, vocabulary.clone(), options_of(end));
                if let Ok(compiled) = compiled {
                    check(&compiled, &walk, slack);
                    grouped.fetch_add(grouped_tokens(&compiled), Ordering::Relaxed);
                }
            }
            Ok(())
        });
        if let Err(error) = result {
            panic!("{error}");
        }
    }
    let grouped = grouped.into_inner();
    assert!(grouped > 500, "only {grouped} tokens in groups");
}

/// Some texts, an embedded grammar, and a text, each of them once.
fn grammar_around(part: &EmbeddedGrammar, before: &[&[u8]], after: &[u8]) -> Grammar {
    let mut builder = GrammarBuilder::new("");
    let start = builder.nonterminal("start", Span::default());
    let terminal = Terminal::Embedded { grammar: builder.embed(part.texts()), tokens: None };
    let part = builder.terminal(terminal, "part", Span::default());
    let after = builder.literal(after, Span::default());
    let mut bodies = Vec::new();
    for before in before {
        let mut nodes = vec![part, after];
        if !before.is_empty() {
            nodes.insert(0, builder.literal(before, Span::default()));
        }
        bodies.push(builder.sequence(nodes, Span::default()));
    }
    let body = builder.choice(bodies, Span::default());
    builder.define(start, body, Span::default());
    builder.finish(start)
}

/// Compares the groups of tokens in the first states; returns the number of tokens in them.
fn grouped_tokens(compiled: &Arc<CompiledGrammar>) -> u64 {
    const STATES: usize = 40;
    let deadline = Deadline::after(Duration::from_secs(60));
    let mut texts = vec![compiled.matcher()];
    let (mut count, mut next) = (0, 0);
    while let Some(text) = texts.get(next).cloned() {
        next += 1;
        let (engine, set) = (text.cache().engine(), text.set());
        if let Some(groups) = text.cache().successor_groups(set, &deadline).expect("no limit") {
            count += check_groups(engine, set, compiled.vocabulary(), groups);
        }
        for token in text.mask().map_or(Vec::new(), |mask| mask.iter().collect()) {
            let mut longer = text.clone();
            assert!(longer.accept(token).expect("no limit"));
            let is_new = texts.iter().all(|text| text.set() != longer.set());
            if is_new && !longer.is_finished() && texts.len() < STATES {
                texts.push(longer);
            }
        }
    }
    count
}

#[test]
fn texts_with_bound_names_end_within_budgets() {
    for (source, bytes) in BINDING_CASES {
        let grammar = binding_grammar(source);
        let end = prop_oneof![Just(EndMode::Eos), Just(EndMode::Eager)];
        let strategy = (crate::generators::vocabulary_of(bytes), crate::generators::walk(10), 0_u32..20, end);
        let mut runner = proptest::test_runner::TestRunner::new(crate::generators::config(30));
        let result = runner.run(&strategy, |(mut vocabulary, walk, slack, end)| {
            vocabulary.size = SIZE;
            let vocabulary = Arc::new(vocabulary.build());
            let compiled = CompiledGrammar::new(&grammar, vocabulary, options_of(end)).expect("it compiles");
            check(&compiled, &walk, slack);
            Ok(())
        });
        if let Err(error) = result {
            panic!("{source}: {error}");
        }
    }
}

/// Lines other than the bound one are no way around a long bound text.
#[test]
fn long_bound_texts_have_completions() {
    let texts = (0..=255_u8).map(|byte| Some(vec![byte])).chain([None]).collect();
    let vocabulary = Arc::new(Vocabulary::new(texts, vec![], vec![256], Some(SIZE)).expect("a vocabulary"));
    let compiled =
        CompiledGrammar::new(&binding_grammar(BINDING_CASES[3].0), vocabulary, CompileOptions::default());
    let mut matcher = compiled.expect("it compiles").matcher();
    for length in [1, 20, 300] {
        let word = "ab".repeat(length);
        assert!(matcher.accept_bytes(format!("<{word}\n").as_bytes()).expect("no limit"));
        // The word, the end of its line, and the end token.
        let tokens = word.len() as u32 + 2;
        assert_eq!(cost(&matcher), Some(tokens));
        matcher.set_budget(Some(tokens)).expect("it suffices");
        assert_eq!(matcher.mask().expect("no limit").iter().collect::<Vec<_>>(), [TokenId(u32::from(b'a'))]);
        matcher.reset();
    }
}

/// A budget far from the end has the ordinary masks, and does not compute costs.
#[test]
fn ample_budgets_compute_nothing() {
    let text = br##"start ::= "{" pair ("," pair)* "}"; pair ::= #'"[a-z]*"' ":" value;
        value ::= #"[0-9]+" | "[" #"[a-z]*" "]";"##;
    let (grammar, _) = frontends::kbnf::grammar(text, "start", &Limits::default()).expect("a grammar");
    let texts = (0..=255_u8).map(|byte| Some(vec![byte])).chain([None]).collect();
    let vocabulary = Arc::new(Vocabulary::new(texts, vec![], vec![256], Some(SIZE)).expect("a vocabulary"));
    let compiled =
        CompiledGrammar::new(&grammar, vocabulary, CompileOptions::default()).expect("it compiles");
    let mut matcher = compiled.matcher();
    matcher.set_budget(Some(100)).expect("it suffices");
    let bytes = compiled.cache().budget_statistics().bytes;
    for &byte in br#"{"ab":12,"c":[x],"":0"# {
        assert!(matcher.mask().is_ok());
        assert!(matcher.accept(TokenId(u32::from(byte))).expect("no limit"));
    }
    assert_eq!(compiled.cache().budget_statistics().bytes, bytes);
    assert_eq!(matcher.budget(), Some(79));
}

/// The same where some bytes are no tokens by themselves: open lexemes end without them.
#[test]
fn ample_budgets_compute_nothing_without_some_bytes() {
    // F3 begins a character of names too, so it cannot stand for F1 and F2.
    let name = "/[a-z]([a-z]|\u{e0100})*/";
    let terminals = [("NAME", name), ("STRING", "/\"[^\"]*\"/"), ("EQUALS", "="), ("%SPACE", "/ +/")];
    let definition = crate::lexed_matcher::definition(&terminals, &["start:NAME EQUALS STRING"]);
    let grammar = LexedGrammar::new(&definition, &Limits::default()).expect("a grammar");
    let single = |byte: u8| (!matches!(byte, 0xf1 | 0xf2)).then(|| vec![byte]);
    let begun = vec![0xf1, 0x80];
    let texts = (0..=255_u8).map(single).chain([None, Some(begun.clone())]).collect();
    let vocabulary = Arc::new(Vocabulary::new(texts, vec![], vec![256], Some(SIZE)).expect("a vocabulary"));
    let compiled =
        CompiledGrammar::from_lexed(grammar, vocabulary, CompileOptions::default()).expect("it compiles");
    let mut matcher = compiled.matcher();
    matcher.set_budget(Some(100)).expect("it suffices");
    let bytes = compiled.cache().budget_statistics().bytes;
    for text in [&b"a"[..], b" ", b"=", b"\"", &begun, b"\x80", b"\x80", b"x"] {
        assert!(matcher.mask().is_ok());
        let token = if text.len() == 1 { TokenId(u32::from(text[0])) } else { TokenId(257) };
        assert!(matcher.accept(token).expect("no limit"));
    }
    assert_eq!(compiled.cache().budget_statistics().bytes, bytes);
    assert_eq!(matcher.tokens_to_finish().expect("it ends"), 2);
}
