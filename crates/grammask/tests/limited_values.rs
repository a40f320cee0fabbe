//! Values that must differ inside a part with a maximum number of tokens: composed masks equal walked ones, which step to
//! the state of each token and decide about each by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use grammask::frontends::json_schema::{self, SchemaOptions};
use grammask::grammar::{Code, Grammar, GrammarBuilder, NodeId, Span, Terminal};
use grammask::vocabulary::{TokenId, TokenTextsBuilder, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, EmbeddedGrammar, EndMode, Limits, MaskStrategy, Matcher};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::generators::values;

/// What surrounds a part.
#[derive(Clone, Copy, Debug)]
enum Surroundings {
    Nothing,
    /// Bytes before and after it.
    Bytes,
    /// It may begin again within a token.
    Repetition,
    /// The same texts with another maximum, and a byte after them.
    Alternative,
    /// Another one directly after it.
    Twice,
}

/// A grammar with a part.
fn surround(part: &EmbeddedGrammar, surroundings: Surroundings, max_tokens: u32) -> Grammar {
    let span = Span::default();
    let mut builder = GrammarBuilder::new("");
    let grammar = builder.embed(part.texts());
    let limited = |builder: &mut GrammarBuilder, tokens| {
        builder.terminal(Terminal::Embedded { grammar, tokens: Some(tokens) }, "part", span)
    };
    let part = limited(&mut builder, max_tokens);
    let body: NodeId = match surroundings {
        Surroundings::Nothing => part,
        Surroundings::Bytes => {
            let [before, after] = ["a", "b"].map(|text| builder.literal(text.as_bytes(), span));
            builder.sequence(vec![before, part, after], span)
        }
        Surroundings::Repetition => {
            let comma = builder.literal(b",", span);
            let more = builder.sequence(vec![comma, part], span);
            let more = builder.repeat(more, 0, None, span);
            builder.sequence(vec![part, more], span)
        }
        Surroundings::Alternative => {
            let (longer, after) = (limited(&mut builder, max_tokens + 3), builder.literal(b",a", span));
            let longer = builder.sequence(vec![longer, after], span);
            builder.choice(vec![part, longer], span)
        }
        Surroundings::Twice => {
            let after = limited(&mut builder, max_tokens.div_ceil(2));
            builder.sequence(vec![part, after], span)
        }
    };
    let start = builder.nonterminal("start", span);
    builder.define(start, body, span);
    builder.finish(start)
}

/// The grammar for both strategies; `None` if the maximum is too small, or a limit is exceeded.
fn compile(
    grammar: &Grammar,
    part: &EmbeddedGrammar,
    vocabulary: &Arc<Vocabulary>,
) -> Option<[Arc<CompiledGrammar>; 2]> {
    let compile = |masks| {
        let mut options = CompileOptions::default();
        options.end = EndMode::Eos;
        options.masks = masks;
        match CompiledGrammar::with_embedded(grammar, std::slice::from_ref(part), vocabulary.clone(), options)
        {
            Ok(compiled) => Some(compiled),
            Err(error) => {
                let code = error.code();
                assert!(matches!(code, Code::TokenMaximumTooSmall | Code::LimitExceeded), "{error}");
                None
            }
        }
    };
    Some([compile(MaskStrategy::Summaries)?, compile(MaskStrategy::Walk)?])
}

/// Compares masks; returns the legal tokens, or `None` if a limit was exceeded.
fn compare([composed, walked]: &[Matcher; 2]) -> Option<Vec<TokenId>> {
    let [composed_ids, walked_ids] = [composed, walked].map(|matcher| match matcher.mask() {
        Ok(mask) => Some(mask.iter().collect::<Vec<TokenId>>()),
        Err(error) if error.code() == Code::DeadEnd => Some(Vec::new()),
        Err(error) => {
            assert_eq!(error.code(), Code::LimitExceeded, "{error}");
            None
        }
    });
    let (composed_ids, walked_ids) = (composed_ids?, walked_ids?);
    let text = |token: &TokenId| {
        let text = composed.compiled().vocabulary().token(*token).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    };
    let differences = |left: &[TokenId], right: &[TokenId]| -> Vec<String> {
        left.iter().filter(|token| !right.contains(token)).map(text).collect()
    };
    assert!(
        composed_ids == walked_ids,
        "after {:?}, illegal {:?}, missing {:?}",
        composed.tokens().iter().map(text).collect::<Vec<_>>(),
        differences(&composed_ids, &walked_ids),
        differences(&walked_ids, &composed_ids),
    );
    Some(walked_ids)
}

#[test]
fn random_values() {
    let surroundings = select(vec![
        Surroundings::Nothing,
        Surroundings::Bytes,
        Surroundings::Repetition,
        Surroundings::Alternative,
        Surroundings::Twice,
    ]);
    let steps = proptest::collection::vec(any::<Index>(), 12);
    // Completions are searched for if ids are few.
    let size = select(vec![None, Some(1100)]);
    let strategy = (values::scope(), surroundings, 1_u32..12, values::vocabulary(), size, steps);
    let [compared, scarce, composed] = [const { AtomicUsize::new(0) }; 3];
    let mut runner = proptest::test_runner::TestRunner::new(crate::generators::config(700));
    let result = runner.run(&strategy, |(sketch, surroundings, max_tokens, mut vocabulary, size, steps)| {
        vocabulary.size = size.unwrap_or(vocabulary.size);
        let vocabulary = Arc::new(vocabulary.build());
        let part = EmbeddedGrammar::context_free(Arc::new(sketch.build()), vec![], &Limits::default());
        let Ok(part) = part else { return Ok(()) };
        let of_maximum = |max| compile(&surround(&part, surroundings, max), &part, &vocabulary);
        let (Some(few), Some(many)) = (of_maximum(max_tokens), of_maximum(1000)) else { return Ok(()) };
        let mut texts = few.each_ref().map(CompiledGrammar::matcher);
        let mut unlimited = many[0].matcher();
        for step in steps {
            let Some(legal) = compare(&texts) else { break };
            compared.fetch_add(1, Ordering::Relaxed);
            let all = unlimited.mask().map_or(0, |mask| mask.iter().count());
            scarce.fetch_add(usize::from(legal.len() < all), Ordering::Relaxed);
            if legal.is_empty() {
                break;
            }
            let token = *step.get(&legal);
            for text in texts.iter_mut().chain([&mut unlimited]) {
                assert!(text.accept(token).expect("no limit"));
            }
            if texts[0].is_finished() {
                break;
            }
        }
        composed.fetch_add(few[0].cache().statistics().composed as usize, Ordering::Relaxed);
        Ok(())
    });
    let [compared, scarce, composed] = [compared, scarce, composed].map(AtomicUsize::into_inner);
    println!("{compared} masks, {scarce} with fewer tokens than without a maximum, {composed} composed");
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(scarce > 400, "only {scarce} masks");
    assert!(composed * 2 > compared, "only {composed} of {compared}");
}

/// All bytes, and tokens of pieces of JSON.
fn pieces_of_json() -> Arc<Vocabulary> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |bound: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % bound
    };
    let letters = ["a", "b", "e", "th", " ", "é", "0", "1", "23"];
    let punctuation =
        ["\"", "\\u0061", "{", "}", "[", "]", ",", ":", "\":", "\", \"", "\",\"", ".0", "e1", "},{", "\"]"];
    let mut words: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    while words.len() < 5_000 {
        let parts = 1 + below(5);
        let mut word: Vec<&str> = (0..parts).map(|_| letters[below(letters.len())]).collect();
        if below(12) == 0 {
            word[below(parts)] = punctuation[below(punctuation.len())];
        }
        words.push(word.concat().into_bytes());
    }
    let mut texts: TokenTextsBuilder = words.into_iter().map(Some).collect();
    texts.push_textless();
    let eos = texts.len() as u32 - 1;
    Arc::new(Vocabulary::new(texts.finish(), vec![], vec![eos], None).expect("a vocabulary"))
}

#[test]
fn arrays_of_schemas() {
    let vocabulary = pieces_of_json();
    let object = r#"{"type": "object", "properties": {"id": {"type": "integer"}, "b": {"type": "string"}},
        "required": ["id"], "additionalProperties": false}"#;
    let inner = r#"{"type": "array", "uniqueItems": true, "items": {"type": "string"}, "minItems": 1}"#;
    let items = [
        r#"{"type": "string"}"#,
        r#"{"type": "number"}"#,
        r#"{"type": ["string", "integer", "null"]}"#,
        r#"{"type": "string", "pattern": "^[a-e]{1,9}$"}"#,
        r#"{"enum": ["a", "ab", "b", 1, [1]]}"#,
        object,
        inner,
    ];
    let mut seed = 1_u64;
    let (mut masks, mut scarce) = (0, 0);
    for items in items {
        let schema = format!(r#"{{"type": "array", "uniqueItems": true, "minItems": 2, "items": {items}}}"#);
        let made = json_schema::grammar(&schema, &SchemaOptions::default(), &Limits::default());
        let grammar = Arc::new(made.unwrap_or_else(|error| panic!("{error}")).grammar);
        let part = EmbeddedGrammar::context_free(grammar, vec![], &Limits::default());
        let part = part.unwrap_or_else(|error| panic!("{error}"));
        for (surroundings, max_tokens) in [
            (Surroundings::Bytes, 9),
            (Surroundings::Bytes, 14),
            (Surroundings::Repetition, 11),
            (Surroundings::Nothing, 30),
        ] {
            let outer = surround(&part, surroundings, max_tokens);
            let Some(compiled) = compile(&outer, &part, &vocabulary) else { continue };
            let mut texts = compiled.each_ref().map(CompiledGrammar::matcher);
            for _ in 0..max_tokens + 3 {
                let legal = compare(&texts).expect("no limit");
                masks += 1;
                scarce += usize::from(legal.len() < 1000);
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Short tokens repeat values, and do not end the text at once.
                let is_short =
                    |token: &&TokenId| vocabulary.token(**token).is_some_and(|text| text.len() < 3);
                let short: Vec<TokenId> = legal.iter().filter(is_short).copied().collect();
                let candidates = if short.is_empty() { &legal } else { &short };
                let token = candidates[(seed >> 33) as usize % candidates.len()];
                for text in &mut texts {
                    assert!(text.accept(token).expect("no limit"));
                }
                if texts[0].is_finished() {
                    break;
                }
            }
            let statistics = compiled[0].cache().statistics();
            assert!(
                statistics.walked * 4 <= statistics.composed + statistics.recalled,
                "{schema}: {statistics:?}"
            );
        }
    }
    println!("{masks} masks, {scarce} with few tokens");
    assert!(masks > 200, "only {masks} masks");
}
