//! The JSON Schema front end on the cases of testdata/json_schema: texts inside and outside the language of a schema,
//! and broken and mixed schemas, on which it must return.

use std::sync::Arc;

use grammask::frontends::json_schema::{self, KeyOrder, Numbers, OnUnsupported, SchemaOptions, Whitespace};
use grammask::grammar::{Code, Terminal};
use grammask::vocabulary::{TokenTexts, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, Limits};
use serde::Deserialize;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    schema: String,
    #[serde(default)]
    accepted: Vec<String>,
    #[serde(default)]
    refused: Vec<String>,
    #[serde(default)]
    any_order: bool,
    #[serde(default)]
    indent: Option<u32>,
    #[serde(default)]
    relax: bool,
    #[serde(default)]
    excludes: Vec<String>,
    /// Strings without quotes instead of JSON.
    #[serde(default)]
    plain: bool,
}

/// A name whose value has no end would be a dead end, so an array that needs more values than there are is refused.
#[test]
fn arrays_with_too_few_values_are_refused() {
    let texts: TokenTexts = (0..=255_u8).map(|byte| Some(vec![byte])).chain([None]).collect();
    let vocabulary =
        Arc::new(Vocabulary::new(texts, vec![], vec![256], None).expect("bytes make a vocabulary"));
    for (min_items, is_possible) in [(3, true), (4, false)] {
        let schema = format!(
            r#"{{"type": "object", "properties": {{"b": {{"const": 1}}, "a": {{"type": "array", "uniqueItems": true,
            "minItems": {min_items}, "items": {{"type": "integer", "minimum": 1, "maximum": 3}}}}}}}}"#
        );
        let made = json_schema::grammar(&schema, &SchemaOptions::default(), &Limits::default());
        let grammar = made.expect("a supported schema").grammar;
        let compiled = CompiledGrammar::new(&grammar, vocabulary.clone(), CompileOptions::default());
        match compiled {
            Ok(_) => assert!(is_possible, "{min_items}"),
            Err(error) => {
                assert!(!is_possible, "{error}");
                assert_eq!(error.code(), Code::NeverEnds);
            }
        }
    }
}

#[test]
fn a_text_beyond_the_memory_limit_leaves_room_for_others() {
    let texts: TokenTexts = (0..=255_u8).map(|byte| Some(vec![byte])).chain([None]).collect();
    let vocabulary =
        Arc::new(Vocabulary::new(texts, vec![], vec![256], None).expect("bytes make a vocabulary"));
    let schema = r#"{"not": {"uniqueItems": true}}"#;
    let made = json_schema::grammar(schema, &SchemaOptions::default(), &Limits::default());
    let mut options = CompileOptions::default();
    options.limits.memory_bytes = 3 << 20;
    let grammar = made.expect("a supported schema").grammar;
    let compiled = CompiledGrammar::new(&grammar, vocabulary, options).expect("small enough");
    let mut exceeded = 0;
    for round in 0..4_u32 {
        let mut matcher = compiled.matcher();
        assert!(matcher.accept_bytes(b"[").expect("within the limits"));
        for number in 0..300_u32 {
            let item = format!("{},", number.wrapping_mul(2_654_435_761).wrapping_add(round) % 1_000_000);
            if let Err(error) = matcher.accept_bytes(item.as_bytes()) {
                assert_eq!(error.code(), Code::LimitExceeded);
                exceeded += 1;
                break;
            }
        }
        let mut other = compiled.matcher();
        assert!(other.accept_bytes(b"[7,1,7]").expect("within the limits") && other.is_complete());
    }
    assert!(exceeded > 0);
}

/// A list of words next to each of its words would be an automaton of the whole list for each of them.
#[test]
fn a_constant_that_matches_a_pattern_is_a_literal() {
    let schema = r#"{"type": "string", "pattern": "^(ab|cd)$", "allOf": [{"const": "ab"}]}"#;
    let made = json_schema::grammar(schema, &SchemaOptions::default(), &Limits::default());
    let grammar = made.expect("a supported schema").grammar;
    let terminals: Vec<&Terminal> = grammar.terminals().iter().map(|terminal| &terminal.terminal).collect();
    assert!(matches!(terminals[..], [Terminal::Literal(text)] if **text == *b"\"ab\""), "{terminals:?}");
}

#[test]
fn texts_are_in_the_language_or_not() {
    let text = include_str!("../../../testdata/json_schema/cases.toml");
    let cases: Cases = toml::from_str(text).expect("the cases are TOML");
    let texts: TokenTexts = (0..=255_u8).map(|byte| Some(vec![byte])).chain([None]).collect();
    let vocabulary =
        Arc::new(Vocabulary::new(texts, vec![], vec![256], None).expect("bytes make a vocabulary"));
    let mut wrong = Vec::new();
    for case in &cases.case {
        let mut options = SchemaOptions::default();
        // The cases are about values, so all their notations are accepted.
        options.whitespace = Whitespace::Flexible { max: 32 };
        options.numbers = Numbers::Any;
        if case.any_order {
            options.key_order = KeyOrder::Any;
        }
        if case.relax {
            options.on_unsupported = OnUnsupported::Relax;
        }
        if let Some(width) = case.indent {
            options.whitespace = Whitespace::Indent(width);
        }
        options.excludes.clone_from(&case.excludes);
        let grammar = if case.plain { json_schema::plain_text_grammar } else { json_schema::grammar };
        let made = match grammar(&case.schema, &options, &Limits::default()) {
            Ok(made) => made,
            Err(error) => {
                wrong.push(format!("{}: {error}", case.name));
                continue;
            }
        };
        let compiled = CompiledGrammar::new(&made.grammar, vocabulary.clone(), CompileOptions::default())
            .unwrap_or_else(|error| panic!("{}: {error}\n{}", case.name, made.grammar));
        for (texts, expected) in [(&case.accepted, true), (&case.refused, false)] {
            for text in texts {
                let mut matcher = compiled.matcher();
                let found = matcher.accept_bytes(text.as_bytes()).expect("within the limits")
                    && matcher.is_complete();
                if found != expected {
                    wrong.push(format!(
                        "{}: {text} {}",
                        case.name,
                        if expected { "is refused" } else { "is accepted" }
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Random combinations of the schemas of all cases: the front end returns within small limits.
#[test]
fn mixed_schemas_get_an_answer() {
    let text = include_str!("../../../testdata/json_schema/cases.toml");
    let cases: Cases = toml::from_str(text).expect("the cases are TOML");
    let pieces: Vec<&str> =
        cases.case.iter().flat_map(|case| case.schema.split_inclusive([',', '{', '[', ':'])).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    for _ in 0..600 {
        let schema = &cases.case[random(cases.case.len())].schema;
        let mut mixed = schema.clone();
        for _ in 0..=random(3) {
            let mut ends = [random(mixed.len() + 1), random(mixed.len() + 1)];
            ends.sort_unstable();
            if random(2) == 0 {
                ends[1] = ends[0];
            }
            if mixed.is_char_boundary(ends[0]) && mixed.is_char_boundary(ends[1]) {
                mixed.replace_range(ends[0]..ends[1], pieces[random(pieces.len())]);
            }
        }
        crate::fuzzed::schema_text(&mixed);
    }
}
