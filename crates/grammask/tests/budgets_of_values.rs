//! Token budgets of values that must differ, over a vocabulary whose tokens are grouped: texts end within their budgets,
//! whatever is sampled, and masks consist of the tokens after which the text can be finished.

use std::sync::Arc;

use grammask::frontends::json_schema::{self, SchemaOptions};
use grammask::vocabulary::{TokenId, TokenTextsBuilder, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, Limits, Matcher};

/// A pseudo-random number generator (Marsaglia's xorshift) with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// What a sampler prefers.
#[derive(Clone, Copy, Debug)]
enum Sampler {
    Uniform,
    Punctuation,
    NoEnds,
    GreatestCost,
}

/// All bytes, and tokens of pieces of JSON.
fn vocabulary() -> Arc<Vocabulary> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let letters = ["a", "b", "e", "th", "er", " ", "é", "0", "1", "23"];
    let punctuation = [
        "\"", "\\u0061", "{", "}", "[", "]", ",", ":", "\":", "\", \"", "\",\"", ".0", "-", "e1", "},{",
        "],[", "\"]",
    ];
    let mut words: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    while words.len() < 6_000 {
        let parts = 1 + random.below(6);
        let mut word: Vec<&str> = (0..parts).map(|_| *random.pick(&letters)).collect();
        if random.below(20) == 0 {
            let position = random.below(parts);
            word[position] = *random.pick(&punctuation);
        }
        words.push(word.concat().into_bytes());
    }
    let mut texts: TokenTextsBuilder = words.into_iter().map(Some).collect();
    texts.push_textless();
    let eos = texts.len() as u32 - 1;
    Arc::new(Vocabulary::new(texts.finish(), vec![], vec![eos], None).expect("a vocabulary"))
}

const STRING: &str = r#"{"type": "string"}"#;
const OBJECT: &str = r#"{"type": "object", "properties": {"id": {"type": "integer"}, "b": {"type": "string"}},
    "required": ["id"], "additionalProperties": false}"#;

fn array(items: &str, rest: &str) -> String {
    format!(r#"{{"type": "array", "uniqueItems": true, "items": {items}{rest}}}"#)
}

/// Items with finitely many values, more than any text can remember.
fn abundant_items() -> impl Iterator<Item = &'static str> {
    [
        r#"{"type": "integer"}"#,
        r#"{"type": "number", "minimum": 0, "maximum": 1e15}"#,
        r#"{"type": "string", "maxLength": 12}"#,
        r#"{"type": "string", "pattern": "^[a-z]{3,20}$"}"#,
    ]
    .into_iter()
}

fn schemas() -> Vec<String> {
    let mut schemas = Vec::new();
    for (number, items) in [STRING, r#"{"type": "number"}"#, OBJECT].iter().enumerate() {
        schemas.push(array(items, ""));
        schemas.push(array(items, &format!(r#", "minItems": {}"#, number + 2)));
    }
    schemas.push(array(STRING, r#", "minItems": 4, "maxItems": 5"#));
    schemas.extend(abundant_items().map(|items| array(items, r#", "minItems": 2"#)));
    schemas.push(array(&array(STRING, r#", "minItems": 1"#), r#", "minItems": 2"#));
    schemas.push(array(r#"{"type": ["string", "integer", "null"]}"#, r#", "minItems": 3"#));
    schemas
}

/// The number of tokens that finish the text after a token; `None` if none is known.
fn cost_after(matcher: &Matcher, token: TokenId) -> Option<u32> {
    let mut longer = matcher.clone();
    longer.set_budget(None).expect("no budget is always possible");
    assert!(longer.accept(token).expect("no limit"));
    longer.tokens_to_finish().ok()
}

/// Samples one text; returns the number of masks.
fn sample(compiled: &Arc<CompiledGrammar>, budget: u32, sampler: Sampler, random: &mut Random) -> usize {
    let vocabulary = compiled.vocabulary();
    let text_of = |token: TokenId| vocabulary.token(token).unwrap_or_default();
    let mut text = compiled.matcher();
    text.set_budget(Some(budget)).unwrap_or_else(|error| panic!("{budget} suffice: {error}"));
    let mut masks = 0;
    while !text.is_finished() {
        let left = text.budget().expect("it has a budget");
        let legal: Vec<TokenId> = text.mask().unwrap_or_else(|error| panic!("{error}")).iter().collect();
        masks += 1;
        let mut free = text.clone();
        free.set_budget(None).expect("no budget is always possible");
        let all: Vec<TokenId> = free.mask().expect("it can continue").iter().collect();
        let mut checked: Vec<TokenId> = (0..6).map(|_| *random.pick(&all)).collect();
        checked.extend((0..3).map(|_| *random.pick(&legal)));
        for &token in &checked {
            let fits = cost_after(&text, token).is_some_and(|cost| cost < left);
            let shown = String::from_utf8_lossy(text_of(token)).into_owned();
            assert_eq!(legal.contains(&token), fits, "{shown:?} with {left} after {:?}", text.tokens());
            assert_eq!(text.validate(&[token]).expect("no limit") == 1, fits, "{shown:?}");
        }
        let is_preferred = |token: &TokenId| match sampler {
            Sampler::Uniform | Sampler::GreatestCost => true,
            Sampler::Punctuation => text_of(*token).iter().any(|byte| b"\"[]{},:0123456789".contains(byte)),
            Sampler::NoEnds => !text_of(*token).iter().any(|byte| b"\"]}".contains(byte)),
        };
        let preferred: Vec<TokenId> = legal.iter().copied().filter(is_preferred).collect();
        let mut token = *random.pick(if preferred.is_empty() { &legal } else { &preferred });
        if let Sampler::GreatestCost = sampler {
            let legal_ones = checked.iter().filter(|token| legal.contains(token));
            token = *legal_ones.max_by_key(|&&token| cost_after(&text, token)).expect("some are legal");
        }
        assert!(text.accept(token).expect("no limit"), "after {:?}", text.tokens());
    }
    assert!(text.tokens().len() <= budget as usize);
    masks
}

#[test]
fn texts_end_within_their_budgets() {
    let vocabulary = vocabulary();
    let mut random = Random(11);
    let mut masks = 0;
    for schema in schemas() {
        let made = json_schema::grammar(&schema, &SchemaOptions::default(), &Limits::default());
        let made = made.unwrap_or_else(|error| panic!("{error}"));
        let compiled = CompiledGrammar::new(&made.grammar, vocabulary.clone(), CompileOptions::default());
        let compiled = compiled.unwrap_or_else(|error| panic!("{error}"));
        let minimum =
            compiled.matcher().tokens_to_finish().unwrap_or_else(|error| panic!("{schema}: {error}"));
        for sampler in [Sampler::Uniform, Sampler::Punctuation, Sampler::NoEnds, Sampler::GreatestCost] {
            for budget in [minimum, minimum + 5, 2 * minimum] {
                masks += sample(&compiled, budget, sampler, &mut random);
            }
        }
    }
    println!("{masks} masks");
    assert!(masks > 800, "only {masks} masks");
}

/// A budget is ample far from its end, so that masks under it are those without one.
#[test]
fn budgets_of_abundant_values_are_ample() {
    let vocabulary = vocabulary();
    let mut random = Random(5);
    for items in abundant_items() {
        let schema = array(items, "");
        let made = json_schema::grammar(&schema, &SchemaOptions::default(), &Limits::default());
        let grammar = made.unwrap_or_else(|error| panic!("{error}")).grammar;
        let compiled = CompiledGrammar::new(&grammar, vocabulary.clone(), CompileOptions::default());
        let compiled = compiled.unwrap_or_else(|error| panic!("{error}"));
        let mut text = compiled.matcher();
        text.set_budget(Some(20_000)).unwrap_or_else(|error| panic!("{error}"));
        let bytes = compiled.cache().budget_statistics().bytes;
        for _ in 0..30 {
            let legal: Vec<TokenId> = text.mask().expect("it can continue").iter().collect();
            if text.is_finished() || !text.accept(*random.pick(&legal)).expect("no limit") {
                break;
            }
        }
        // No costs were computed.
        assert_eq!(compiled.cache().budget_statistics().bytes, bytes, "{schema}");
    }
}
