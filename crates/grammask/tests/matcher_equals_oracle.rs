//! Property: on random grammars, vocabularies and walks the engine agrees with the oracles bit for bit.
//!
//! At every step of a walk the mask equals the brute-force mask of the textbook recogniser on the original grammar,
//! `accept` accepts exactly the tokens of the mask, and completeness is equal. `GRAMMASK_PROFILE=long` runs more cases;
//! the test prints the number of compared masks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::generators::{GrammarSketch, Step, by_profile, config};
use grammask::frontends::json_schema::{self, KeyOrder, SchemaOptions, Whitespace};
use grammask::grammar::{Code, Grammar};
use grammask::masks::brute_force;
use grammask::recognizer::reference::{Chart, Reference};
use grammask::vocabulary::{TokenId, TokenSet, TokenTexts, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, Effort, EndMode, Limits, MaskStrategy, Matcher};
use proptest::prelude::*;
use proptest::sample::select;

/// Number of compared masks.
static COMPARED: AtomicU64 = AtomicU64::new(0);
/// Number of masks that were computed with [`Effort::Immediate`].
static QUICK: AtomicU64 = AtomicU64::new(0);
/// Number of texts that migrated to fresh caches.
static MOVED: AtomicU64 = AtomicU64::new(0);

/// Parameters of a run in addition to grammar, vocabulary and walk.
#[derive(Clone, Copy, Debug)]
struct Options {
    end: EndMode,
    masks: MaskStrategy,
    /// Whether caches are too small for any entry.
    forgets: bool,
}

#[test]
fn masks_equal_brute_force() {
    run(by_profile(400, 2000), false);
    assert!(QUICK.load(Ordering::Relaxed) > 0, "no mask was quick");
}

#[test]
fn masks_equal_brute_force_when_everything_is_forgotten() {
    run(by_profile(100, 500), true);
    assert!(MOVED.load(Ordering::Relaxed) > 0, "no text moved over to new tables");
}

#[test]
fn masks_of_sets_of_tokens_equal_brute_force() {
    run_on(crate::generators::token_grammar(), by_profile(200, 1000), false);
}

#[test]
fn masks_of_counted_tokens_equal_brute_force() {
    run_on(crate::generators::counting_grammar(), by_profile(200, 1000), false);
}

/// `a` requires `c`, which must not occur. Further members may follow `a` for ever, but finitely many parts complete a
/// selection, so no text begins with `a`.
#[test]
fn selections_are_completed_by_finitely_many_parts() {
    let schema = r#"{"type": "object", "properties": {"a": {"const": 1}, "c": {"const": 1}},
        "dependentRequired": {"a": ["c"]}, "not": {"required": ["c"]}}"#;
    let mut options = SchemaOptions::default();
    options.whitespace = Whitespace::Compact;
    options.key_order = KeyOrder::Any;
    let made = json_schema::grammar(schema, &options, &Limits::default()).expect("a supported schema");
    let tokens = ["{", "\"", "\"a\":", "\"c\":", "\"b\":", "1", "}"];
    let texts: TokenTexts = tokens.iter().map(|text| Some(text.as_bytes().to_vec())).chain([None]).collect();
    let vocabulary = Vocabulary::new(texts, vec![], vec![tokens.len() as u32], None).expect("a vocabulary");
    let vocabulary = Arc::new(vocabulary);
    let reference = Reference::new(&made.grammar, &vocabulary);
    let mut chart = reference.chart();
    assert!(chart.accept_token(TokenId(0)));
    let expected: Vec<u32> = brute_force::mask(&chart, &vocabulary).iter().map(|id| id.0).collect();
    // `"`, `"b":` and `}`.
    assert_eq!(expected, [1, 4, 6]);
    let mut options = CompileOptions::default();
    options.end = EndMode::Eos;
    let compiled =
        CompiledGrammar::new(&made.grammar, vocabulary.clone(), options).expect("a supported grammar");
    let mut matcher = compiled.matcher();
    assert!(matcher.accept(TokenId(0)).expect("no limit"));
    let found: Vec<u32> = matcher.mask().expect("no limit").iter().map(|id| id.0).collect();
    assert_eq!(found, expected);
}

/// Members in any order, and dependent members, are selections.
#[test]
fn masks_of_selections_equal_brute_force() {
    let names = ["a", "b", "ab", "c", "d"];
    let indices = |most: usize| proptest::collection::vec(0..names.len(), 0..=most);
    let values = select(&["1", "true", "\"a\"", "#", "1.0", "[]"][..]);
    let schemas = (
        proptest::collection::vec(values, names.len()),
        indices(2),
        proptest::collection::vec((0..names.len(), indices(2)), 0..8),
        proptest::option::of((0..4_u32, 0..4_u32)),
        any::<(bool, bool, bool)>(),
        proptest::option::of(indices(2)),
    );
    let pieces = [
        "{\"",
        "\":",
        "\":1",
        "1,\"",
        "a\"",
        "\"a\":",
        "\"ab\":true",
        ",\"",
        "},",
        "}}",
        ", ",
        ": ",
        "1}",
        "{}",
        "\"b",
        "[1,",
        ",1",
    ];
    let bytes = (0..=255_u8).map(|byte| Some(vec![byte]));
    let pieces = pieces.iter().map(|piece| Some(piece.as_bytes().to_vec()));
    let texts: TokenTexts = bytes.chain(pieces).chain([None]).collect();
    let end = texts.len() - 1;
    let mut runner = proptest::test_runner::TestRunner::new(config(by_profile(100, 400)));
    let result = runner.run(&(schemas, crate::generators::walk(24)), |(schema, walk)| {
        let (values, required, needs, bounds, (any_order, open, is_array), excluded) = schema;
        let member = |index: usize| match values[index] {
            "#" => "{\"$ref\": \"#\"}".to_owned(),
            value => format!("{{\"const\": {value}}}"),
        };
        let list = |indices: &[usize]| {
            let names: Vec<String> = indices.iter().map(|&index| format!("{:?}", names[index])).collect();
            format!("[{}]", names.join(", "))
        };
        let members: Vec<String> =
            names.iter().enumerate().map(|(index, name)| format!("{name:?}: {}", member(index))).collect();
        let mut schema = format!(
            "\"type\": \"object\", \"properties\": {{{}}}, \"required\": {}, \"additionalProperties\": {open}",
            members.join(", "),
            list(&required)
        );
        let needs: std::collections::BTreeMap<usize, Vec<usize>> = needs.into_iter().collect();
        let needs: Vec<String> =
            needs.iter().map(|(&index, needed)| format!("{:?}: {}", names[index], list(needed))).collect();
        schema += &format!(", \"dependentRequired\": {{{}}}", needs.join(", "));
        if let Some((least, more)) = bounds {
            schema += &format!(", \"minProperties\": {least}, \"maxProperties\": {}", least + more);
        }
        if let Some(excluded) = excluded {
            schema += &format!(", \"not\": {{\"required\": {}}}", list(&excluded));
        }
        if is_array {
            let (least, more) = bounds.unwrap_or((0, 9));
            let most = least + more;
            schema = format!(
                "\"type\": \"array\", \"uniqueItems\": true, \"minItems\": {least}, \"maxItems\": {most}, \
                 \"items\": {{\"enum\": [1, \"a\", true, \"ab\", null]}}"
            );
        }
        let mut options = SchemaOptions::default();
        options.whitespace = Whitespace::Compact;
        options.key_order = if any_order { KeyOrder::Any } else { KeyOrder::Declared };
        let Ok(made) = json_schema::grammar(&format!("{{{schema}}}"), &options, &Limits::default()) else {
            return Ok(());
        };
        for masks in [MaskStrategy::Walk, MaskStrategy::Summaries] {
            let vocabulary = Vocabulary::new(texts.clone(), vec![], vec![end as u32], None)
                .expect("bytes and pieces make a vocabulary");
            check(&made.grammar, vocabulary, &walk, Options { end: EndMode::Eos, masks, forgets: false });
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

fn run(cases: u32, forgets: bool) {
    run_on(crate::generators::grammar(), cases, forgets);
}

fn run_on(grammars: impl Strategy<Value = GrammarSketch>, cases: u32, forgets: bool) {
    let mut runner = proptest::test_runner::TestRunner::new(config(cases));
    let strategy = (
        grammars,
        crate::generators::vocabulary(),
        crate::generators::walk(14),
        prop_oneof![Just(EndMode::Eos), Just(EndMode::Eager)],
    );
    let result = runner.run(&strategy, |(grammar, vocabulary, walk, end)| {
        for masks in [MaskStrategy::Walk, MaskStrategy::Summaries] {
            check(&grammar.build(), vocabulary.build(), &walk, Options { end, masks, forgets });
        }
        Ok(())
    });
    println!("compared {} masks", COMPARED.load(Ordering::Relaxed));
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// One of the texts of a walk, in the engine and in the oracle.
#[derive(Clone)]
struct Text<'r> {
    matcher: Matcher,
    oracle: Oracle<'r>,
    history: Vec<Oracle<'r>>,
}

/// The textbook recogniser with the end modes by their definition.
#[derive(Clone)]
struct Oracle<'r> {
    chart: Chart<'r>,
    is_finished: bool,
}

impl<'r> Oracle<'r> {
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

    fn mask(&self, vocabulary: &Vocabulary, end: EndMode) -> TokenSet {
        let mut mask = if self.is_finished {
            TokenSet::new(vocabulary.size())
        } else {
            brute_force::mask(&self.chart, vocabulary)
        };
        if self.is_finished || (end == EndMode::Eos && self.chart.is_complete()) {
            for &id in vocabulary.eos() {
                mask.insert(id);
            }
        }
        mask
    }
}

fn check(grammar: &Grammar, vocabulary: Vocabulary, walk: &[Step], run: Options) {
    let vocabulary = Arc::new(vocabulary);
    let Options { end, masks, forgets } = run;
    let reference = Reference::new(grammar, &vocabulary);
    let language = reference.language();
    let mut options = CompileOptions::default();
    options.end = end;
    options.masks = masks;
    if forgets {
        vocabulary.summaries().set_capacity(0);
        // Enough for the caches of most of these grammars once, but not twice.
        options.limits.memory_bytes = 48 << 10;
    }
    let compiled = match CompiledGrammar::new(grammar, vocabulary.clone(), options) {
        Ok(compiled) => compiled,
        Err(error) => {
            let is_right = match error.code() {
                Code::EmptyLanguage => !language.empty && !language.nonempty,
                Code::OnlyEmptyText => end == EndMode::Eager && !language.nonempty,
                Code::MissingEndToken => end == EndMode::Eos && vocabulary.eos().is_empty(),
                Code::UnknownToken | Code::TokenMaximumTooSmall => true,
                Code::LimitExceeded => forgets,
                _ => false,
            };
            assert!(is_right, "{error}\n{language:?}");
            return;
        }
    };
    assert!(language.empty || language.nonempty, "the engine accepts an empty language");
    let first_cache = compiled.cache();
    let first = Oracle { chart: reference.chart(), is_finished: false };
    let mut kept = vec![Text { matcher: compiled.matcher(), oracle: first, history: Vec::new() }];
    let mut current = 0;
    for step in walk {
        let text = &mut kept[current];
        let Some(allowed) = compare(text, &vocabulary, end) else {
            assert!(forgets, "a limit was passed");
            return;
        };
        match step {
            Step::Accept(index) if !allowed.is_empty() => {
                let token = *index.get(&allowed);
                let Some(accepted) = accept(text, token, &vocabulary, end) else { return };
                assert!(accepted, "an allowed token is refused");
            }
            Step::Accept(_) => {}
            Step::Try(index) => {
                let token = TokenId(index.index(vocabulary.size()) as u32);
                let Some(accepted) = accept(text, token, &vocabulary, end) else { return };
                assert_eq!(accepted, allowed.contains(&token));
            }
            Step::Rollback(index) => {
                let count = index.index(text.history.len() + 1);
                assert!(text.matcher.rollback(count));
                for _ in 0..count {
                    text.oracle = text.history.pop().expect("as many steps as the matcher has");
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
                    text.oracle = first;
                    text.history.clear();
                }
            }
        }
    }
    for text in &mut kept {
        let _ = compare(text, &vocabulary, end);
        if !Arc::ptr_eq(text.matcher.cache(), &first_cache) {
            MOVED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Compares masks, completeness and acceptance; returns the legal tokens, or `None` if a limit is exceeded.
fn compare(text: &mut Text<'_>, vocabulary: &Vocabulary, end: EndMode) -> Option<Vec<TokenId>> {
    let expected = text.oracle.mask(vocabulary, end);
    let expected: Vec<TokenId> = expected.iter().collect();
    // Half of the masks are requested as the bindings request them.
    if text.history.len().is_multiple_of(2)
        && text.matcher.lookup_mask().is_none()
        && let Ok(Some(quick)) = text.matcher.compute_mask(Effort::Immediate)
    {
        assert!(quick.iter().eq(expected.iter().copied()), "quick mask after {:?}", text.matcher.tokens());
        QUICK.fetch_add(1, Ordering::Relaxed);
    }
    let found: Vec<TokenId> = match text.matcher.mask() {
        Ok(mask) => {
            assert!(!mask.is_empty() || text.matcher.is_finished(), "an empty mask is an error, always");
            mask.iter().collect()
        }
        Err(error) if error.code() == Code::LimitExceeded => return None,
        Err(error) => {
            assert_eq!(error.code(), Code::DeadEnd, "{error}");
            assert!(!text.matcher.is_finished());
            Vec::new()
        }
    };
    assert_eq!(found, expected, "mask after {:?}", text.matcher.tokens());
    assert_eq!(text.matcher.is_complete(), text.oracle.chart.is_complete());
    assert_eq!(text.matcher.is_finished(), text.oracle.is_finished);
    for id in 0..vocabulary.size() {
        let token = TokenId(id as u32);
        let valid = text.matcher.validate(&[token]).ok()? == 1;
        assert_eq!(valid, expected.contains(&token), "validate of token {id}");
    }
    COMPARED.fetch_add(1, Ordering::Relaxed);
    Some(expected)
}

/// Accepts a token in both; `None` if a limit is exceeded.
fn accept(text: &mut Text<'_>, token: TokenId, vocabulary: &Vocabulary, end: EndMode) -> Option<bool> {
    let accepted = text.matcher.accept(token).ok()?;
    let next = text.oracle.accept(token, vocabulary, end);
    assert_eq!(accepted, next.is_some(), "accept of token {}", token.0);
    if let Some(next) = next {
        text.history.push(std::mem::replace(&mut text.oracle, next));
    }
    Some(accepted)
}
