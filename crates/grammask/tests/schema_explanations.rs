//! Refusals under a schema, in the words of the schema.

use std::sync::Arc;

use grammask::frontends::json_schema::{self, SchemaOptions, Whitespace};
use grammask::vocabulary::{TokenTexts, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, Limits};

const ORDER: &str = r##"{
    "type": "object",
    "properties": {
        "colour": {"enum": ["red", "green"]},
        "age": {"type": "integer", "minimum": 0, "maximum": 10},
        "nick": {"type": "string", "maxLength": 5},
        "mail": {"type": "string", "format": "email"},
        "bio": {"type": "string", "maxLength": 500},
        "share": {"anyOf": [{"type": "number", "exclusiveMaximum": 1}, {"type": "null"}]},
        "code": {"allOf": [{"$ref": "#/$defs/code"}, {"minLength": 2}]},
        "tags": {"type": "array", "items": {"type": "object", "properties": {"a.b": {"const": 7}}}}
    },
    "required": ["colour", "age"],
    "additionalProperties": false,
    "$defs": {"code": {"type": "string", "pattern": "^[A-Z]*$"}}
}"##;

fn compiled(schema: &str, options: &SchemaOptions) -> Arc<CompiledGrammar> {
    let grammar = json_schema::grammar(schema, options, &Limits::default()).expect("a valid schema").grammar;
    let tokens: TokenTexts = [Some("a"), None].into_iter().collect();
    let vocabulary = Arc::new(Vocabulary::new(tokens, vec![], vec![1], None).expect("a vocabulary"));
    CompiledGrammar::new(&grammar, vocabulary, CompileOptions::default()).expect("a grammar")
}

fn with_white_space(whitespace: Whitespace) -> SchemaOptions {
    let mut options = SchemaOptions::default();
    options.whitespace = whitespace;
    options
}

/// The line about the expected terminals in the message of a refused text.
fn expected(schema: &str, options: &SchemaOptions, text: &str) -> String {
    let refusal = compiled(schema, options).explain_text(text.as_bytes(), 0..text.len()).expect("no limit");
    let message = refusal.unwrap_or_else(|| panic!("{text} is valid")).to_string();
    let line = message.lines().last().and_then(|line| line.trim().strip_prefix("expected: "));
    line.expect("the last line").to_owned()
}

#[test]
fn refusals_speak_of_the_schema() {
    let order = r#" (members come in the declared order; key_order="any" lifts that)"#;
    for (text, wanted) in [
        ("[", r#""{" at #"#.to_owned()),
        (r#"{"colour":"blue"}"#, r#"more of "red" or "green" at #/properties/colour"#.to_owned()),
        (r#"{"colour":"red","age":11}"#, r#"more of an integer from 0 to 10, "}", "," at #/properties/age"#.to_owned()),
        (r#"{"colour":"red"}"#, r#""," at #"#.to_owned()),
        (r#"{"colour":"red","mail""#, format!(r#"more of the member "age" at #{order}"#)),
        (r#"{"colour":"red","age":1,"nick":"abcdefg"}"#, "more of a string of at most 5 characters at #/properties/nick".to_owned()),
        (r#"{"colour":"red","age":1,"nick":5}"#, "white space, a string of at most 5 characters at #/properties/nick".to_owned()),
        (r#"{"colour":"red","age":1,"mail":"a@@"}"#, "more of a string in the format email at #/properties/mail".to_owned()),
        (r#"{"colour":"red","age":1,"bio":5}"#, "white space, a string of at most 500 characters at #/properties/bio".to_owned()),
        (r#"{"colour":"red","age":1,"share":"#, "white space, null or a number below 1 at #/properties/share".to_owned()),
        (r#"{"colour":"red","age":1,"code":"A"}"#, "more of a string that matches /^[A-Z]*$/ and a string of at least 2 characters at #/properties/code".to_owned()),
        (r#"{"colour":"red","age":1,"tags":[{"a.b":8}]}"#, "white space, 7 at #/properties/tags/items/properties/a.b".to_owned()),
        (r#"{"colour":"red","age":1,"tags":[{"a.b":7 ,]"#, r#"white space, the name of a member at #/properties/tags/items"#.to_owned()),
        (r#"{"colour":"red","age":1,"tags":[{"a.b":7}x"#, r#"",", "]" at #/properties/tags"#.to_owned()),
    ] {
        assert_eq!(expected(ORDER, &SchemaOptions::default(), text), wanted, "{text}");
    }
}

/// A bound of more than a few characters is counted by rules of its own.
#[test]
fn long_strings_are_described_as_a_whole() {
    let text = format!(r#"{{"colour":"red","age":1,"bio":"{}"}}"#, "a".repeat(501));
    let wanted = "more of a string of at most 500 characters at #/properties/bio";
    assert_eq!(expected(ORDER, &SchemaOptions::default(), &text), wanted);
}

/// Without white space, members are one terminal, whose parts are told apart.
#[test]
fn members_without_white_space_are_described_by_their_parts() {
    let options = with_white_space(Whitespace::Compact);
    for (text, wanted) in [
        (r#"{"colour":"blue"}"#, r#"more of "red" or "green" at #/properties/colour"#),
        (r#"{"colour":"red"]"#, r#","age": at #"#),
        (r#"{"colour":"red","age":1,"nick":5}"#, "a string of at most 5 characters at #/properties/nick"),
    ] {
        assert_eq!(expected(ORDER, &options, text), wanted, "{text}");
    }
}

/// Equal schemas are translated once; the rules of the translation name all places, and the text tells them apart.
#[test]
fn copies_of_a_schema_have_their_own_places() {
    let address = r#"{"type": "object", "properties": {"zip": {"type": "integer"}}, "required": ["zip"]}"#;
    let schema = format!(
        r#"{{"type": "object", "properties": {{"from": {address}, "to": {address}}}, "required": ["from", "to"]}}"#
    );
    let text = br#"{"from": {"zip": 1}, "to": {"zip": "x"}}"#;
    let refusal = compiled(&schema, &SchemaOptions::default()).explain_text(text, 0..text.len());
    let refusal = refusal.expect("no limit").expect("x is no integer");
    assert_eq!(refusal.place(), Some("#/properties/to/properties/zip"));
    let rules: Vec<&str> = refusal.expected().iter().map(|expected| &*expected.rule).collect();
    assert_eq!(rules, ["#/properties/from or #/properties/to"]);
}
