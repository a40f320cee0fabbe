//! Property: texts under a budget always end within it, whatever is sampled.
//!
//! A case is a random combination of grammar, vocabulary, end, budget and sampler. At every token the mask is compared
//! with its definition: the tokens that are legal without a budget and whose text can be finished with what remains.
//! While the budget is ample these are all tokens that are legal without one. The costs of the definition are those of
//! the matcher; `budgets_equal_oracle` compares them with brute force.
//!
//! `GRAMMASK_CASES=100` runs 100,000 combinations.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::generators::lexed::{BLOCK_CASES, blocks_definition};
use crate::generators::values::{BINDING_CASES, binding_grammar};
use crate::generators::{GrammarSketch, VocabularySketch};
use crate::lexing_equals_oracle::check_groups;
use grammask::automata::encoding::{CharacterEncoding, JsonEscapes};
use grammask::grammar::{Code, Grammar, GrammarBuilder, GrammarError, Span, Terminal};
use grammask::lexing::{LexedDefinition, LexedGrammar};
use grammask::vocabulary::{TokenId, Vocabulary};
use grammask::{
    BudgetError, CompileOptions, CompiledGrammar, Deadline, EmbeddedGrammar, EndMode, Limits, Matcher,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Combinations of each kind of grammar.
const CASES: u32 = 125;
/// Texts are not followed for more tokens than this. The rest of a text takes the cheapest tokens.
const MAX_TOKENS: usize = 40;

/// What a sampler prefers among the legal tokens.
#[derive(Clone, Copy, Debug)]
enum Sampler {
    Uniform,
    /// Tokens that begin what must be ended: those after which the text costs the most.
    GreatestCost,
    /// Tokens that raise the cost by the most per byte.
    Openers,
    Longest,
    Shortest,
    /// Never an end token if there is another.
    Endless,
}

/// A budget, relative to the smallest one.
#[derive(Clone, Copy, Debug)]
enum Budget {
    More(u32),
    Times(u32),
    Ample,
}

/// What a case draws besides its grammar and its vocabulary.
#[derive(Clone, Debug)]
struct Draw {
    end: EndMode,
    budget: Budget,
    sampler: Sampler,
    indices: Vec<Index>,
}

fn draw() -> impl Strategy<Value = Draw> {
    use Sampler::{Endless, GreatestCost, Longest, Openers, Shortest, Uniform};
    let budget = prop_oneof![
        4 => (0_u32..8).prop_map(Budget::More),
        2 => (2_u32..4).prop_map(Budget::Times),
        1 => Just(Budget::Ample),
    ];
    let sampler = select(vec![Uniform, GreatestCost, Openers, Longest, Shortest, Endless]);
    let indices = proptest::collection::vec(any::<Index>(), MAX_TOKENS);
    let end = select(vec![EndMode::Eos, EndMode::Eager]);
    (end, budget, sampler, indices).prop_map(|(end, budget, sampler, indices)| Draw {
        end,
        budget,
        sampler,
        indices,
    })
}

/// How the combinations ended.
#[derive(Debug, Default)]
struct Counts {
    /// Texts that ended within their budget.
    finished: u64,
    /// Of these, texts that ended with the last token of the budget.
    spent: u64,
    /// Compared masks.
    masks: u64,
    /// Masks that are smaller than without a budget.
    narrowed: u64,
    /// Combinations whose grammar does not compile.
    refused: u64,
    /// Combinations for which no completion is known, so that no budget is accepted.
    endless: u64,
    /// Combinations that exceed a limit before a budget is accepted, or without one.
    limited: u64,
}

/// The fewest tokens that finish a text; `None` if no completion is known.
fn cost(matcher: &Matcher) -> Result<Option<u32>, GrammarError> {
    match matcher.tokens_to_finish() {
        Ok(tokens) => Ok(Some(tokens)),
        Err(error) if error.code() == Code::NoCompletion => Ok(None),
        Err(error) => Err(error),
    }
}

/// The legal tokens without a budget, with the costs of the states after them; `None` if the legal tokens alone exceed a
/// limit, as those of texts with exponentially many sets of values do.
fn costs(matcher: &Matcher) -> Option<BTreeMap<TokenId, Option<u32>>> {
    let mut free = matcher.clone();
    free.set_budget(None).expect("no budget is always possible");
    let mask = match free.mask() {
        Err(error) if error.code() == Code::LimitExceeded => return None,
        mask => mask.expect("a text with a budget can continue"),
    };
    let after = |token| {
        let mut longer = free.clone();
        match longer.accept(token) {
            Ok(is_accepted) => {
                assert!(is_accepted);
                (token, cost(&longer).unwrap_or_else(|error| panic!("{error}")))
            }
            // The state after the token has too many items, with a budget or without.
            Err(error) => {
                assert!(error.to_string().contains("set_items"), "{error}");
                (token, None)
            }
        }
    };
    Some(mask.iter().map(after).collect())
}

/// The token of a sampler.
fn sample(sampler: Sampler, matcher: &Matcher, legal: &[(TokenId, u32)], index: Index) -> TokenId {
    let vocabulary = matcher.compiled().vocabulary();
    let length = |token| vocabulary.token(token).map_or(0, <[u8]>::len) as u64;
    let rank = |&(token, cost): &(TokenId, u32)| match sampler {
        Sampler::Uniform => 0,
        Sampler::GreatestCost => u64::from(cost),
        Sampler::Openers => (u64::from(cost) << 16) / (length(token) + 1),
        Sampler::Longest => length(token),
        Sampler::Shortest => u64::MAX - length(token),
        Sampler::Endless => u64::from(!vocabulary.is_eos(token)),
    };
    let best = legal.iter().map(rank).max().expect("a text with a budget can continue");
    let preferred: Vec<TokenId> =
        legal.iter().filter(|entry| rank(entry) == best).map(|&(token, _)| token).collect();
    *index.get(&preferred)
}

/// Samples one text.
fn check(compiled: &Arc<CompiledGrammar>, draw: &Draw, counts: &mut Counts) {
    let mut text = compiled.matcher();
    let minimum = match cost(&text) {
        Ok(Some(minimum)) => minimum,
        Ok(None) => {
            assert!(text.set_budget(Some(1 << 20)).is_err());
            counts.endless += 1;
            return;
        }
        Err(error) => {
            assert_eq!(error.code(), Code::LimitExceeded, "{error}");
            counts.limited += 1;
            return;
        }
    };
    if let Err(BudgetError::Grammar(error)) = text.set_budget(Some(1 << 20)) {
        // Values that must repeat others over a large vocabulary.
        assert_eq!(error.code(), Code::UnsupportedGrammar, "{error}");
        counts.refused += 1;
        return;
    }
    text.set_budget(None).expect("no budget");
    if let Some(less) = minimum.checked_sub(1) {
        let refused = text.set_budget(Some(less));
        assert!(
            matches!(refused, Err(BudgetError::TooSmall { minimum: needed, .. }) if needed == minimum),
            "{refused:?}"
        );
    }
    let budget = match draw.budget {
        Budget::More(tokens) => minimum + tokens,
        Budget::Times(factor) => minimum * factor,
        Budget::Ample => 1 << 20,
    };
    text.set_budget(Some(budget)).expect("it suffices");
    for &index in &draw.indices {
        if text.is_finished() {
            break;
        }
        let left = text.budget().expect("it has a budget");
        assert_eq!(left as usize + text.tokens().len(), budget as usize);
        let Some(all) = costs(&text) else {
            counts.limited += 1;
            return;
        };
        let legal: Vec<(TokenId, u32)> = all
            .iter()
            .filter_map(|(&token, &cost)| Some((token, cost.filter(|&cost| cost < left)?)))
            .collect();
        let mask: Vec<TokenId> = text.mask().unwrap_or_else(|error| panic!("{error}")).iter().collect();
        assert!(legal.iter().map(|&(token, _)| token).eq(mask.iter().copied()), "{left} left: {mask:?}");
        counts.masks += 1;
        counts.narrowed += u64::from(mask.len() < all.len());
        let token = sample(draw.sampler, &text, &legal, index);
        assert!(text.accept(token).expect("no limit"));
    }
    // A budget far from its end need not be spent.
    let completion = match text.shortest_completion() {
        // All of its texts go through states with too many items, with a budget or without.
        Err(error) if error.to_string().contains("set_items") => {
            counts.limited += 1;
            return;
        }
        completion => completion.expect("it can be finished"),
    };
    for &token in &completion.tokens {
        assert!(text.mask().expect("no limit").contains(token));
        assert!(text.accept(token).expect("no limit"));
    }
    assert!(text.is_finished(), "the text is incomplete");
    let used = text.tokens().len();
    assert!(used <= budget as usize, "{used} tokens of {budget}");
    assert_eq!(text.budget(), Some(budget - used as u32));
    counts.finished += 1;
    counts.spent += u64::from(used == budget as usize);
}

/// Runs the combinations of one kind of grammar.
fn run<G: Debug>(
    grammars: impl Strategy<Value = G>,
    vocabularies: impl Strategy<Value = VocabularySketch>,
    compile: impl Fn(&G, Arc<Vocabulary>, CompileOptions) -> Result<Arc<CompiledGrammar>, GrammarError>,
) {
    let started = Instant::now();
    let config = crate::generators::config(CASES);
    let cases = u64::from(config.cases);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let counts = std::cell::RefCell::new(Counts::default());
    let result = runner.run(&(grammars, vocabularies, draw()), |(grammar, vocabulary, draw)| {
        let mut options = CompileOptions::default();
        options.end = draw.end;
        match compile(&grammar, Arc::new(vocabulary.build()), options) {
            Ok(compiled) => check(&compiled, &draw, &mut counts.borrow_mut()),
            Err(_) => counts.borrow_mut().refused += 1,
        }
        Ok(())
    });
    let counts = counts.into_inner();
    println!("{cases} combinations in {:.0?}: {counts:?}", started.elapsed());
    if let Err(error) = result {
        panic!("{error}");
    }
    assert_eq!(counts.finished + counts.refused + counts.endless + counts.limited, cases);
    assert!(counts.finished > cases / 10 && counts.narrowed > 0);
}

fn run_grammars(grammars: impl Strategy<Value = GrammarSketch>) {
    run(grammars, crate::generators::vocabulary(), |grammar, vocabulary, options| {
        CompiledGrammar::new(&grammar.build(), vocabulary, options)
    });
}

#[test]
fn texts_of_bytes() {
    run_grammars(crate::generators::grammar());
}

#[test]
fn texts_of_rules() {
    run_grammars(crate::generators::literal_grammar());
}

#[test]
fn texts_with_counted_tokens() {
    run_grammars(crate::generators::counting_grammar());
}

#[test]
fn texts_with_selected_tokens() {
    run_grammars(crate::generators::token_grammar());
}

/// Two grammars with a text between them.
fn joined((first, second): &(GrammarSketch, GrammarSketch)) -> Grammar {
    let mut builder = GrammarBuilder::new("");
    let (first, second) = (first.build(), second.build());
    let parts = vec![builder.graft(&first), builder.literal(b"b", Span::default()), builder.graft(&second)];
    let start = builder.fresh_nonterminal("start", Span::default());
    let body = builder.sequence(parts, Span::default());
    builder.define(start, body, Span::default());
    builder.finish(start)
}

#[test]
fn texts_of_compositions() {
    let parts = || {
        prop_oneof![
            crate::generators::grammar(),
            crate::generators::counting_grammar(),
            crate::generators::token_grammar()
        ]
    };
    run((parts(), parts()), crate::generators::vocabulary(), |parts, vocabulary, options| {
        CompiledGrammar::new(&joined(parts), vocabulary, options)
    });
}

fn compile_lexed(
    definition: &LexedDefinition,
    vocabulary: Arc<Vocabulary>,
    options: CompileOptions,
) -> Result<Arc<CompiledGrammar>, GrammarError> {
    CompiledGrammar::from_lexed(LexedGrammar::new(definition, &Limits::default())?, vocabulary, options)
}

#[test]
fn texts_of_lexemes() {
    run(crate::generators::lexed::definition(), crate::generators::lexed::vocabulary(), compile_lexed);
}

#[test]
fn texts_of_lexical_rules() {
    run(
        crate::generators::lexed::lexical_definition(),
        crate::generators::vocabulary_of(b"ab ()<>"),
        compile_lexed,
    );
}

#[test]
fn texts_of_delimited_terminals() {
    run(
        crate::generators::lexed::delimited_definition(),
        crate::generators::vocabulary_of(b"ab ()"),
        compile_lexed,
    );
}

#[test]
fn texts_of_blocks() {
    let definitions = select(&BLOCK_CASES[..]).prop_map(blocks_definition);
    run(definitions, crate::generators::vocabulary_of(b"\t\n\x0c #:x()"), compile_lexed);
}

#[test]
fn encoded_texts_of_blocks() {
    let json = CharacterEncoding::JsonString(JsonEscapes::Any);
    let block = |prefix| CharacterEncoding::indented_block(prefix).expect("a prefix");
    let encodings: [(CharacterEncoding, &[u8]); 3] =
        [(json, b"\\n :x()"), (block("  "), b"\n :x()"), (block("> "), b"\n> :x()")];
    for (encoding, bytes) in encodings {
        let definitions = select(&BLOCK_CASES[..]).prop_map(move |case| LexedDefinition {
            encodings: vec![encoding.clone()],
            ..blocks_definition(case)
        });
        run(definitions, crate::generators::vocabulary_of(bytes), compile_lexed);
    }
}

#[test]
fn texts_with_different_values() {
    run(
        crate::generators::values::scope(),
        crate::generators::values::vocabulary(),
        |scope, vocabulary, options| CompiledGrammar::new(&scope.build(), vocabulary, options),
    );
}

/// The grammars whose names are words of any length take half a minute each; `budgets_equal_oracle`
/// has them.
#[test]
fn texts_with_bound_names() {
    for (source, bytes) in BINDING_CASES.into_iter().filter(|(source, _)| !source.contains("[ab]+")) {
        run(Just(source), crate::generators::vocabulary_of(bytes), |source, vocabulary, options| {
            CompiledGrammar::new(&binding_grammar(source), vocabulary, options)
        });
    }
}

/// A lexed grammar inside others: before a byte that its texts do not have, before one that they may have, and as one of two
/// alternatives.
#[test]
fn texts_around_lexed_grammars() {
    let outer = [(&[&b"<"[..], b""][..], &b">"[..]), (&[b""], b"ba"), (&[b"a", b"<"], b" a")];
    let grouped = AtomicU64::new(0);
    for (before, after) in outer {
        let definitions = crate::generators::lexed::definition();
        run(definitions, crate::generators::vocabulary_of(b"ab <>"), |definition, vocabulary, options| {
            let limits = Limits::default();
            let part = EmbeddedGrammar::lexed(LexedGrammar::new(definition, &limits)?, &limits)?;
            let grammar = grammar_around(&part, before, after);
            let compiled =
                CompiledGrammar::with_embedded(&grammar, std::slice::from_ref(&part), vocabulary, options)?;
            grouped.fetch_add(grouped_tokens(&compiled), Ordering::Relaxed);
            Ok(compiled)
        });
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
