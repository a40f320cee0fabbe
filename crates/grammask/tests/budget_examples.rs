//! Budgets of single grammars: long bound texts, ample budgets, and vocabularies of whole words.

use std::sync::Arc;

use crate::generators::values::{BINDING_CASES, binding_grammar};
use grammask::lexing::LexedGrammar;
use grammask::vocabulary::{TokenId, TokenTexts, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, Limits, frontends};

/// Lines other than the bound one are no way around a long bound text.
#[test]
fn long_bound_texts_have_completions() {
    let texts = (0..=255_u8).map(|byte| Some(vec![byte])).chain([None]).collect();
    let vocabulary = Arc::new(Vocabulary::new(texts, vec![], vec![256], None).expect("a vocabulary"));
    let compiled =
        CompiledGrammar::new(&binding_grammar(BINDING_CASES[3].0), vocabulary, CompileOptions::default());
    let mut matcher = compiled.expect("it compiles").matcher();
    for length in [1, 20, 300] {
        let word = "ab".repeat(length);
        assert!(matcher.accept_bytes(format!("<{word}\n").as_bytes()).expect("no limit"));
        // The word, the end of its line, and the end token.
        let tokens = word.len() as u32 + 2;
        assert_eq!(matcher.tokens_to_finish().expect("it ends"), tokens);
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
    let vocabulary = Arc::new(Vocabulary::new(texts, vec![], vec![256], None).expect("a vocabulary"));
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
    let vocabulary = Arc::new(Vocabulary::new(texts, vec![], vec![256], None).expect("a vocabulary"));
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

/// A vocabulary without single bytes: the fewest tokens are searched for.
#[test]
fn vocabularies_of_words_have_budgets() {
    let text = br#"start ::= "<think>" {"word "} "</think>" ("yes" | "no" | start);"#;
    let (grammar, _) = frontends::kbnf::grammar(text, "start", &Limits::default()).expect("a grammar");
    let texts: TokenTexts =
        [Some("<think>"), Some("word "), Some("</think>"), Some("yes"), Some("no"), Some("</think>no"), None]
            .into_iter()
            .collect();
    let vocabulary = Arc::new(Vocabulary::new(texts, vec![], vec![6], None).expect("a vocabulary"));
    let compiled =
        CompiledGrammar::new(&grammar, vocabulary, CompileOptions::default()).expect("it compiles");
    let mut matcher = compiled.matcher();
    // The first tag, the last one with the answer, and the end token.
    assert_eq!(matcher.tokens_to_finish().expect("it ends"), 3);
    matcher.set_budget(Some(4)).expect("it suffices");
    assert!(matcher.accept(TokenId(0)).expect("no limit"));
    // After a word two tokens are left.
    assert_eq!(matcher.mask().expect("no limit").iter().map(|token| token.0).collect::<Vec<_>>(), [1, 2, 5]);
    assert!(matcher.accept(TokenId(1)).expect("no limit"));
    assert_eq!(matcher.mask().expect("no limit").iter().map(|token| token.0).collect::<Vec<_>>(), [5]);
    assert!(matcher.accept(TokenId(5)).expect("no limit"));
    assert!(matcher.accept(TokenId(6)).expect("no limit"));
    assert_eq!(matcher.budget(), Some(0));
}
