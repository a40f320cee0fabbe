//! Property: under a token budget a token is legal only if the text after it can be finished within the budget, some token
//! is legal until the text ends, and nearly all tokens are that are so by the fewest tokens.
//!
//! The oracle is a graph of states with all legal tokens as edges, explored with matchers without a budget, and the
//! distance of each state to the end of the text. `GRAMMASK_CASES=50` is the long profile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::generators::distances::{Cost, DistanceGraph, state};
use crate::generators::values::{BINDING_CASES, binding_grammar};
use crate::generators::{Step, VocabularySketch};
use grammask::grammar::{Code, GrammarError};
use grammask::lexing::{LexedDefinition, LexedGrammar, ParserKind};
use grammask::vocabulary::{TokenId, TokenTexts, TokenTextsBuilder, Vocabulary};
use grammask::{
    BudgetError, CompileOptions, CompiledGrammar, DraftTree, EndMode, Explanation, Limits, Matcher, batch,
    frontends,
};
use proptest::prelude::*;

/// Maximum size of the states of an oracle. Sets of values that must differ can have 200,000 items where a text has many
/// divisions into values, and a step reads all of them.
const MAX_ITEMS: usize = 512;
/// Number of compared masks.
static COMPARED: AtomicU64 = AtomicU64::new(0);
/// Number of those with all tokens of the oracle.
static EQUAL: AtomicU64 = AtomicU64::new(0);
/// Number of compared minima.
static MINIMA: AtomicU64 = AtomicU64::new(0);
/// By how many tokens they exceed the fewest, in total.
static EXCESS: AtomicU64 = AtomicU64::new(0);

/// Whether each byte of a token is a token by itself.
fn spells_all_texts(vocabulary: &Vocabulary) -> bool {
    let bytes = vocabulary.single_bytes();
    vocabulary.trie().sorted_ids().iter().all(|&token| {
        let text = vocabulary.token(token).expect("it has text");
        text.iter().all(|&byte| bytes.contains(byte))
    })
}

fn tokens(matcher: &Matcher) -> Vec<TokenId> {
    matcher.mask().unwrap_or_else(|error| panic!("{error}")).iter().collect()
}

/// A matcher in the state of `matcher` with a budget, without a history of budgets.
fn with_budget(matcher: &Matcher, budget: u32) -> Matcher {
    let mut fresh = matcher.clone();
    fresh.set_budget(Some(budget)).unwrap_or_else(|error| panic!("{error}"));
    fresh
}

/// Compares a budgeted matcher with the oracle in its present state; returns whether the oracle knows the answer.
fn compare(matcher: &Matcher, oracle: &DistanceGraph) -> bool {
    let (here, budget) = (state(matcher), matcher.budget().expect("it has a budget"));
    let Some(expected) = oracle.mask(here, budget) else { return false };
    let looked_up = matcher.lookup_mask().map(|mask| mask.iter().collect::<Vec<_>>());
    let legal = tokens(matcher);
    assert!(looked_up.is_none_or(|found| found == legal));
    assert!(here.1 || !legal.is_empty(), "a text with a budget can always continue");
    let beyond: Vec<&TokenId> = legal.iter().filter(|token| !expected.contains(token)).collect();
    assert!(beyond.is_empty(), "budget {budget} after {:?}: {beyond:?} do not fit", matcher.tokens());
    let again = matcher.lookup_mask().expect("the mask is cached");
    assert!(again.iter().eq(legal.iter().copied()));
    let is_spelled = spells_all_texts(matcher.compiled().vocabulary());
    for token in (0..matcher.compiled().vocabulary().size() as u32).map(TokenId) {
        let is_legal = matcher.validate(&[token]).expect("no limit") == 1;
        assert_eq!(is_legal, legal.contains(&token));
        let explanation = matcher.explain(token).expect("no limit");
        assert_eq!(explanation == Explanation::Allowed, is_legal);
        if let Some(&after) = oracle.next[&here].get(&token)
            && !is_legal
        {
            let Explanation::OverBudget { needed } = explanation else { panic!("{explanation:?}") };
            match (oracle.cost(after), needed) {
                (Cost::Fewest(tokens), Some(needed)) => assert!(needed > budget.max(tokens)),
                (Cost::Fewest(_), None) => assert!(!is_spelled, "{token:?} has a completion"),
                (Cost::Endless, needed) => assert_eq!(needed, None),
                (Cost::Unknown, _) => {}
            }
        }
    }
    COMPARED.fetch_add(1, Ordering::Relaxed);
    EQUAL.fetch_add(u64::from(legal == expected), Ordering::Relaxed);
    true
}

/// Compares the minimum with the oracle, and a shortest completion with the minimum; returns the minimum.
fn compare_minimum(matcher: &Matcher, oracle: &DistanceGraph) -> Option<u32> {
    let minimum = match (oracle.cost(state(matcher)), matcher.tokens_to_finish()) {
        (Cost::Unknown, _) => return None,
        (Cost::Fewest(fewest), Ok(minimum)) => {
            assert!(minimum >= fewest, "{minimum} tokens instead of {fewest}");
            MINIMA.fetch_add(1, Ordering::Relaxed);
            EXCESS.fetch_add(u64::from(minimum - fewest), Ordering::Relaxed);
            minimum
        }
        (Cost::Endless, Ok(minimum)) => panic!("{minimum} tokens instead of none"),
        (cost, Err(error)) => {
            assert_eq!(error.code(), Code::NoCompletion);
            assert!(cost == Cost::Endless || !spells_all_texts(matcher.compiled().vocabulary()), "{cost:?}");
            let error = matcher.clone().set_budget(Some(1000)).expect_err("no completion is known");
            assert_eq!(error.into_grammar_error().code(), Code::NoCompletion);
            return None;
        }
    };
    for budget in 0..minimum {
        match matcher.clone().set_budget(Some(budget)) {
            Err(BudgetError::TooSmall { budget: given, minimum: needed }) => {
                assert_eq!((given, needed), (budget, minimum));
            }
            result => panic!("a budget of {budget} of {minimum} gives {result:?}"),
        }
    }
    let completion = matcher.shortest_completion().expect("it can be finished");
    assert!(completion.tokens.len() <= minimum as usize);
    let mut finished = with_budget(matcher, minimum);
    let mut text = Vec::new();
    for &token in &completion.tokens {
        assert!(finished.accept(token).expect("no limit"));
        text.extend_from_slice(finished.compiled().vocabulary().token(token).unwrap_or_default());
    }
    assert!(finished.is_finished());
    assert_eq!(text, completion.text);
    Some(minimum)
}

/// Spends a budget on the legal tokens of the greatest cost, or on the last ones; the text ends within it.
fn spend(matcher: &Matcher, oracle: &DistanceGraph, by_cost: bool) {
    let mut text = matcher.clone();
    let budget = text.budget().expect("it has a budget");
    for spent in 0..=budget {
        if text.is_finished() {
            return;
        }
        assert_eq!(text.budget(), Some(budget - spent));
        let legal = tokens(&text);
        let cost = |token: &TokenId| match oracle.next.get(&state(&text)).and_then(|next| next.get(token)) {
            Some(&after) if by_cost => match oracle.cost(after) {
                Cost::Fewest(tokens) => tokens,
                Cost::Endless | Cost::Unknown => u32::MAX,
            },
            _ => u32::from(!text.compiled().vocabulary().is_eos(*token)),
        };
        let token = *legal.iter().max_by_key(|token| (cost(token), token.0)).expect("it can continue");
        assert!(text.accept(token).expect("no limit"));
    }
    assert!(text.is_finished(), "over the budget");
}

/// Masks of drafts, trees and batches equal those of single matchers.
fn compare_together(matcher: &Matcher) {
    let mut along = vec![matcher.clone()];
    let mut draft = Vec::new();
    while draft.len() < 4 {
        let last = &along[along.len() - 1];
        let legal = tokens(last);
        let Some(&token) = legal.get(draft.len() % legal.len().max(1)) else { break };
        let mut longer = last.clone();
        assert!(longer.accept(token).expect("no limit"));
        draft.push(token);
        along.push(longer);
    }
    let singles: Vec<_> = along.iter().map(|text| text.mask().expect("no limit")).collect();
    assert_eq!(matcher.draft_masks(&draft).expect("no limit"), singles);
    assert_eq!(matcher.validate(&draft).expect("no limit"), draft.len());
    let nodes: Vec<TokenId> = [TokenId(0)].into_iter().chain(draft.iter().copied()).collect();
    let children: Vec<Option<usize>> =
        (1..=nodes.len()).map(|node| (node < nodes.len()).then_some(node)).collect();
    let tree = DraftTree::new(nodes.clone(), &children, &vec![None; nodes.len()]).expect("a tree");
    let of_tree: Vec<_> = matcher.draft_tree_masks(&tree).expect("no limit").into_iter().flatten().collect();
    assert_eq!(of_tree, singles);
    let rows: Vec<&Matcher> = along.iter().collect();
    assert_eq!(batch::masks(&rows).expect("no limit"), singles);
    let mut back = along[along.len() - 1].clone();
    assert!(back.rollback(draft.len()));
    assert_eq!((state(&back), back.budget()), (state(matcher), matcher.budget()));
    let forced = matcher.forced_tokens(8).expect("no limit");
    assert_eq!(matcher.validate(&forced).expect("no limit"), forced.len());
}

/// Compiles a grammar with options.
type Compile<'a> = dyn Fn(CompileOptions) -> Result<Arc<CompiledGrammar>, GrammarError> + 'a;

/// Walks through texts under budgets.
fn check(compile: &Compile<'_>, walk: &[Step], slack: u32, end: EndMode) {
    let mut options = CompileOptions::default();
    options.end = end;
    let Ok(compiled) = compile(options.clone()) else { return };
    let vocabulary = compiled.vocabulary().clone();
    let Some(oracle) = DistanceGraph::new(&compiled.matcher(), MAX_ITEMS) else { return };
    // The oracle's states belong to its caches, so the text is read by a grammar with the same ones.
    let mut text = compiled.matcher();
    let Some(minimum) = compare_minimum(&text, &oracle) else { return };
    text.set_budget(Some(minimum + slack)).expect("it suffices");
    let first = text.clone();
    let mut kept = vec![text];
    let mut current = 0;
    for step in walk {
        let text = &mut kept[current];
        if !compare(text, &oracle) {
            continue;
        }
        match step {
            Step::Accept(index) => {
                let legal = tokens(text);
                if !legal.is_empty() {
                    assert!(text.accept(*index.get(&legal)).expect("no limit"));
                }
            }
            Step::Try(index) => {
                let token = TokenId(index.index(vocabulary.size()) as u32);
                let is_legal = tokens(text).contains(&token);
                assert_eq!(text.accept(token).expect("no limit"), is_legal);
            }
            Step::Rollback(index) => assert!(text.rollback(index.index(text.step_count() + 1))),
            Step::Fork => {
                kept.push(kept[current].clone());
                current = kept.len() - 1;
            }
            Step::Switch(index) => current = index.index(kept.len()),
            Step::Reset => {
                text.reset();
                assert_eq!(text.budget(), first.budget());
            }
        }
    }
    for text in &kept {
        if text.is_finished() || compare_minimum(text, &oracle).is_none() {
            continue;
        }
        let minimum = text.tokens_to_finish().expect("it can be finished");
        for budget in minimum..minimum + 4 {
            let limited = with_budget(text, budget);
            compare(&limited, &oracle);
            spend(&limited, &oracle, true);
            spend(&limited, &oracle, false);
            compare_together(&limited);
        }
        // A grammar without cached states, and one that forgets them, have the same masks.
        for bytes in [None, Some(48 << 10)] {
            let mut options = options.clone();
            options.limits.memory_bytes = bytes.unwrap_or(options.limits.memory_bytes);
            let Ok(fresh) = compile(options) else { continue };
            let mut again = fresh.matcher();
            let left = text.budget().expect("it has a budget") + text.step_count() as u32;
            if again.set_budget(Some(left)).is_err() {
                continue;
            }
            if text.tokens().iter().all(|&token| again.accept(token).is_ok_and(|accepted| accepted))
                && let Ok(mask) = again.mask()
            {
                assert_eq!(again.budget(), text.budget());
                assert_eq!(mask.iter().collect::<Vec<_>>(), tokens(text));
            }
        }
    }
}

fn run(grammars: impl Strategy<Value = crate::generators::GrammarSketch>, cases: u32) {
    let strategy = (
        grammars,
        crate::generators::vocabulary(),
        crate::generators::walk(12),
        0_u32..6,
        prop_oneof![Just(EndMode::Eos), Just(EndMode::Eager)],
    );
    let mut runner = proptest::test_runner::TestRunner::new(crate::generators::config(cases));
    let result = runner.run(&strategy, |(grammar, vocabulary, walk, slack, end)| {
        let (grammar, vocabulary) = (grammar.build(), Arc::new(vocabulary.build()));
        check(&|options| CompiledGrammar::new(&grammar, vocabulary.clone(), options), &walk, slack, end);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let [compared, equal, minima, excess] =
        [&COMPARED, &EQUAL, &MINIMA, &EXCESS].map(|count| count.load(Ordering::Relaxed));
    println!("{equal} of {compared} masks are equal; {minima} minima exceed the fewest by {excess} in total");
    assert!(compared > u64::from(cases) && equal * 10 > compared * 9 && excess < minima);
}

#[test]
fn budgets_of_grammars_equal_the_oracle() {
    run(crate::generators::grammar(), 400);
}

#[test]
fn budgets_of_token_grammars_equal_the_oracle() {
    run(crate::generators::token_grammar(), 300);
}

#[test]
fn budgets_of_rules_equal_the_oracle() {
    run(crate::generators::literal_grammar(), 300);
}

#[test]
fn budgets_of_lexed_grammars_equal_the_oracle() {
    run_lexed(crate::generators::lexed::definition(), crate::generators::lexed::vocabulary());
}

#[test]
fn budgets_of_delimited_terminals_equal_the_oracle() {
    let vocabulary = crate::generators::vocabulary_of(b"ab ()");
    run_lexed(crate::generators::lexed::delimited_definition(), vocabulary);
}

fn run_lexed(
    definitions: impl Strategy<Value = LexedDefinition>,
    vocabulary: impl Strategy<Value = VocabularySketch>,
) {
    let strategy = (definitions, vocabulary, crate::generators::walk(12), 0_u32..6);
    let mut runner = proptest::test_runner::TestRunner::new(crate::generators::config(100));
    let result = runner.run(&strategy, |(definition, vocabulary, walk, slack)| {
        // Without LALR(1) tables the lexed engine does not know which sentences the bytes can spell, so a state without a
        // completion ends in an exceeded limit instead of an answer.
        let spells = |byte: &[u8]| vocabulary.texts.iter().flatten().any(|text| text == byte);
        if definition.parser == ParserKind::Earley && !(spells(b"a") && spells(b"b") && spells(b" ")) {
            return Ok(());
        }
        let Ok(grammar) = LexedGrammar::new(&definition, &Limits::default()) else { return Ok(()) };
        let vocabulary = Arc::new(vocabulary.build());
        let compile = |options| CompiledGrammar::from_lexed(grammar.clone(), vocabulary.clone(), options);
        check(&compile, &walk, slack, EndMode::Eos);
        check(&compile, &walk, slack, EndMode::Eager);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn budgets_of_different_values_equal_the_oracle() {
    let strategy = (
        crate::generators::values::scope(),
        crate::generators::values::vocabulary(),
        crate::generators::walk(6),
        0_u32..6,
    );
    // Each text inside a value is a state of the oracle.
    let mut runner = proptest::test_runner::TestRunner::new(crate::generators::config(100));
    let result = runner.run(&strategy, |(scope, vocabulary, walk, slack)| {
        let (grammar, vocabulary) = (scope.build(), Arc::new(vocabulary.build()));
        let compile = |options| CompiledGrammar::new(&grammar, vocabulary.clone(), options);
        check(&compile, &walk, slack, EndMode::Eos);
        check(&compile, &walk, slack, EndMode::Eager);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn budgets_of_bound_names_equal_the_oracle() {
    for (source, bytes) in BINDING_CASES {
        let grammar = binding_grammar(source);
        let strategy = (crate::generators::vocabulary_of(bytes), crate::generators::walk(8), 0_u32..6);
        let mut runner = proptest::test_runner::TestRunner::new(crate::generators::config(12));
        let result = runner.run(&strategy, |(vocabulary, walk, slack)| {
            let vocabulary = Arc::new(vocabulary.build());
            let compile = |options| CompiledGrammar::new(&grammar, vocabulary.clone(), options);
            check(&compile, &walk, slack, EndMode::Eos);
            check(&compile, &walk, slack, EndMode::Eager);
            Ok(())
        });
        if let Err(error) = result {
            panic!("{source}: {error}");
        }
    }
}

/// Where many tokens are inside bound texts, costs are sums over the parts of a completion. Here the part after the bound
/// text has no upper bound: it is the longer the longer that is.
#[test]
fn many_tokens_inside_bound_names_have_a_budget_if_all_parts_are_bounded() {
    let is_possible = |source: &str, inside: usize| {
        let mut texts: TokenTextsBuilder = (0..=u8::MAX).map(|byte| Some(vec![byte])).collect();
        for length in 2..=inside {
            texts.push(&b"a".repeat(length));
        }
        while texts.len() < 2048 {
            texts.push_textless();
        }
        let vocabulary = Arc::new(Vocabulary::new(texts.finish(), vec![], vec![2047], None).expect("valid"));
        let compiled = CompiledGrammar::new(&binding_grammar(source), vocabulary, CompileOptions::default());
        match compiled.expect("it compiles").matcher().set_budget(Some(100)) {
            Ok(()) => true,
            Err(error) => {
                assert_eq!(error.into_grammar_error().code(), Code::UnsupportedGrammar, "{source}");
                false
            }
        }
    };
    for (source, _) in BINDING_CASES {
        assert!(is_possible(source, 500), "{source}");
    }
    let fence = BINDING_CASES[1].0;
    assert!(is_possible(fence, 1024) && is_possible(fence, 1025));
    let counted = r##"start ::= limit!(word, 5) bind!(f, #"a+") "b" same!(f); word ::= #"c+";"##;
    assert!(is_possible(counted, 1024) && is_possible(counted, 1025));
    let unbounded = r##"start ::= bind!(f, #"aa+") "b" without_prefix!(f, #"a+") "b" same!(f);"##;
    assert!(is_possible(unbounded, 1024) && !is_possible(unbounded, 1025));
}

/// A budget that is set in the middle of a text is a part of the states from there on.
#[test]
fn budgets_are_set_and_removed_in_the_middle() {
    let text = br#"start ::= "[" start "]" | "x";"#;
    let (grammar, _) = frontends::kbnf::grammar(text, "start", &Limits::default()).expect("a grammar");
    let texts: TokenTexts = [Some("["), Some("]"), Some("x"), Some("x]"), None].into_iter().collect();
    let vocabulary = Arc::new(Vocabulary::new(texts, vec![], vec![4], None).expect("a vocabulary"));
    let compiled =
        CompiledGrammar::new(&grammar, vocabulary, CompileOptions::default()).expect("it compiles");
    let mut matcher = compiled.matcher();
    assert_eq!(matcher.budget(), None);
    assert!(matcher.accept(TokenId(0)).expect("no limit"));
    assert_eq!(matcher.tokens_to_finish().expect("it ends"), 2);
    matcher.set_budget(Some(2)).expect("it suffices");
    assert_eq!(tokens(&matcher), [TokenId(3)]);
    // `x` fits as bytes, since `]` and the end token remain; `[` does not.
    let mut bytes = matcher.clone();
    assert!(!bytes.accept_bytes(b"[").expect("no limit"));
    assert!(bytes.accept_bytes(b"x").expect("no limit"));
    assert_eq!((bytes.budget(), tokens(&bytes)), (Some(2), vec![TokenId(1)]));
    assert!(matcher.rollback(1));
    assert_eq!(matcher.budget(), None);
    matcher.set_budget(Some(9)).expect("it suffices");
    matcher.set_budget(None).expect("no budget is always possible");
    assert_eq!((matcher.budget(), matcher.step_count()), (None, 0));
    assert!(matcher.accept(TokenId(2)).expect("no limit") && matcher.accept(TokenId(4)).expect("no limit"));
    matcher.set_budget(Some(0)).expect("a finished text needs nothing");
    assert!(matcher.accept(TokenId(4)).expect("no limit"));
    assert_eq!((matcher.budget(), matcher.tokens_to_finish().expect("it has ended")), (Some(0), 0));
    assert!(matcher.shortest_completion().expect("it has ended").tokens.is_empty());
}
