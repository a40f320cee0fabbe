//! Captures of parts inside scopes and values: those of the grammar without conditions, and only of texts that satisfy
//! the conditions.

use grammask::Limits;
use grammask::automata::regex;
use grammask::captures::CaptureParser;
use grammask::grammar::{Grammar, GrammarBuilder, Span, Terminal, ValueEquality};

/// Objects of names and digits, with or without unique names.
fn objects(has_values: bool) -> Grammar {
    let span = Span::default();
    let mut builder = GrammarBuilder::new("");
    let [start, name, value] = ["start", "name", "value"].map(|name| builder.nonterminal(name, span));
    let regex = |builder: &mut GrammarBuilder, pattern: &str| {
        let term = regex::term(builder.terms(), pattern, &Limits::default()).expect("a valid pattern");
        builder.terminal(Terminal::Regular(term), pattern, span)
    };
    let text = regex(&mut builder, "\"(a|b|\\\\u006[12])*\"");
    builder.define(name, text, span);
    let digits = regex(&mut builder, "[0-9]+");
    let inner = builder.reference(start, span);
    let body = builder.choice(vec![digits, inner], span);
    builder.define(value, body, span);
    let [open, close, comma, colon] =
        [b"{", b"}", b",", b":"].map(|text: &[u8; 1]| builder.literal(text, span));
    let mut own_name = builder.reference(name, span);
    if has_values {
        own_name = builder.fresh(own_name, ValueEquality::Json, span);
    }
    let own_value = builder.reference(value, span);
    let member = builder.sequence(vec![own_name, colon, own_value], span);
    let more = builder.sequence(vec![comma, member], span);
    let more = builder.repeat(more, 0, None, span);
    let body = builder.sequence(vec![open, member, more, close], span);
    let body = if has_values { builder.scope(body, span) } else { body };
    builder.define(start, body, span);
    builder.finish(start)
}

#[test]
fn parts_inside_scopes_are_captured() {
    let limits = Limits::default();
    let [in_scope, plain] = [true, false].map(|has_values| {
        CaptureParser::new(&objects(has_values), &[], &["name", "value"], None, &limits).expect("a parser")
    });
    let text = br#"{"a":1,"b":{"a":2,"ab":{"":3}},"":{"b":10}}"#;
    let (mut own, mut expected) = (in_scope.parse().expect("a parse"), plain.parse().expect("a parse"));
    for &byte in text {
        assert_eq!(own.feed(&[byte]), Ok(1));
        assert_eq!(expected.feed(&[byte]), Ok(1));
        assert_eq!(own.growing(), expected.growing());
        assert_eq!(own.whole(), expected.whole());
    }
    assert_eq!(own.whole().map(|captures| captures.len()), Some(14));
}

#[test]
fn a_repeated_name_is_not_read() {
    let parser =
        CaptureParser::new(&objects(true), &[], &["name"], None, &Limits::default()).expect("a parser");
    let mut parse = parser.parse().expect("a parse");
    let text = br#"{"a":1,"b":{"a":1},"\u0061":3}"#;
    let read = parse.feed(text).expect("within limits");
    assert_eq!(&text[..read], br#"{"a":1,"b":{"a":1},"\u0061"#.as_slice());
    assert!(!parse.is_complete() && parse.whole().is_none());
    assert_eq!(parse.feed(br#"b":4}"#), Ok(5));
    assert_eq!(parse.whole().map(|captures| captures.len()), Some(4));
}
