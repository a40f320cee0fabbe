//! Property: a terminal that another grammar defines has exactly the texts of the grammar.
//!
//! The oracle is the same grammar with a lexer whose terminal is the finite language of the other grammar's texts up to
//! some length, which the context-free engine lists. Up to this length both accept the same texts. Refused grammars are
//! counted. Masks equal those of the oracle of lexed grammars.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::generators::config;
use crate::generators::lexed::definition;
use crate::lexing_equals_oracle::{WITH_LEXICAL_RULES, check};
use grammask::frontends::kbnf;
use grammask::grammar::{Code, Grammar};
use grammask::lexing::{
    LexedDefinition, LexedGrammar, LexerKind, ParserKind, ProductionSource, TerminalGrammar, TerminalPattern,
};
use grammask::vocabulary::Vocabulary;
use grammask::{CompileOptions, CompiledGrammar, Limits};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Maximum length of a text, in bytes.
const LONGEST: usize = 6;
const ALPHABET: &[u8] = b"ab ()";
/// The tokens of masks.
const TOKENS: [&str; 14] =
    ["a", "b", " ", "(", ")", "(a", "))", "ab)", "a(", "()", ") ", "b)(", "(b a)", ")a"];
/// The terminal of the random definitions that the other grammar defines.
const DEFINED: &str = "T3";
/// The rule of the finite terminal.
const OWN_RULE: &str = "rule of T3";

static COMPARED: AtomicU64 = AtomicU64::new(0);
static RECURSIVE: AtomicU64 = AtomicU64::new(0);
static ACCEPTED: AtomicU64 = AtomicU64::new(0);
static REFUSED: AtomicU64 = AtomicU64::new(0);

fn vocabulary() -> Arc<Vocabulary> {
    let texts = (0..=255).map(|byte| Some(vec![byte])).chain([None]).collect();
    Arc::new(Vocabulary::new(texts, vec![], vec![256], None).expect("a good vocabulary"))
}

/// Grammars in KBNF, most of them recursive and in brackets. The alternatives of a rule begin with different letters, or
/// with anything.
fn other_grammar() -> impl Strategy<Value = String> {
    let head = prop_oneof![
        12 => select(&["\"a\"", "\"b\"", "\"(\"", "\" \""][..]),
        1 => select(&["", "\"ab\"", "body", "more", "#\"[ab]+\"", "#\"a*\""][..]),
    ];
    let tail = select(
        &[
            "",
            "",
            "",
            "\"a\"",
            "\")\"",
            "body",
            "body",
            "more",
            "more",
            "start",
            "#\"[ab]+\"",
            "#\" ?\"",
            "#\"a*b\"",
            "{ \"a\" }",
            "[ \"b\" ]",
            "{ body }",
            "{ \" \" more }",
            "(\"a\" | \"ab\")",
            "body \")\"",
            "more \")\"",
        ][..],
    );
    let alternatives = || vec((head.clone(), tail.clone(), tail.clone()), 1..4);
    let frame =
        select(&[("\"(\"", "\")\""), ("\"(\"", "\")\""), ("\"a(\"", "\" )\""), ("\"(\"", ""), ("", "")][..]);
    let start = select(&["body", "body more", "{ more }", "[ body ]"][..]);
    (frame, start, alternatives(), alternatives()).prop_map(|((open, close), start, body, more)| {
        let written = |alternatives: Vec<(&str, &str, &str)>| {
            let mut heads = Vec::new();
            let mut written = Vec::new();
            for (head, first, second) in alternatives {
                if !heads.contains(&head) {
                    heads.push(head);
                    let parts = format!("{head} {first} {second}");
                    written.push(if parts.trim().is_empty() { "\"\"".to_owned() } else { parts });
                }
            }
            written.join(" | ")
        };
        format!("start ::= {open} {start} {close}; body ::= {}; more ::= {};", written(body), written(more))
    })
}

/// The texts over the alphabet up to the length that a grammar accepts.
fn accepted_texts(compiled: &Arc<CompiledGrammar>) -> Vec<Vec<u8>> {
    let mut pending = vec![Vec::new()];
    let mut accepted = Vec::new();
    while let Some(text) = pending.pop() {
        let error = compiled.first_error(&text).expect("no limit");
        if error.is_some_and(|place| place < text.len()) {
            continue;
        }
        if text.len() < LONGEST {
            pending.extend(ALPHABET.iter().map(|&byte| [&text[..], &[byte]].concat()));
        }
        if error.is_none() {
            accepted.push(text);
        }
    }
    accepted.sort_unstable();
    accepted
}

/// Compiles a definition; `None` if it is refused.
fn compiled(definition: &LexedDefinition) -> Option<Arc<CompiledGrammar>> {
    let grammar = LexedGrammar::new(definition, &Limits::default()).ok()?;
    CompiledGrammar::from_lexed(grammar, vocabulary(), CompileOptions::default()).ok()
}

fn compare(outer: &LexedDefinition, other: &Grammar, text: &str) {
    let limits = Limits::default();
    let mut declared = outer.clone();
    let index = declared.terminals.iter().position(|terminal| terminal.name == DEFINED).expect("it exists");
    declared.terminals[index].pattern = TerminalPattern::Declared;
    declared.terminals[index].priority = 0;
    let mut defined = declared.clone();
    if let Err(error) =
        defined.define_terminals(&[TerminalGrammar { name: DEFINED, grammar: other }], &limits)
    {
        let codes =
            [Code::UnsupportedGrammar, Code::EmptyTerminal, Code::EmptyLanguage, Code::GrammarConflict];
        assert!(codes.contains(&error.code()), "{text}: {error}");
        REFUSED.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let is_recursive = defined.lexical_rules.len() > declared.lexical_rules.len();
    let alone = CompiledGrammar::new(other, vocabulary(), CompileOptions::default()).expect("it has texts");
    let words = accepted_texts(&alone);
    let mut finite = defined.clone();
    if is_recursive {
        // As in a rule of its own, after which a contextual lexer looks for what can follow the rule anywhere.
        finite = declared;
        for part in finite.productions.iter_mut().flat_map(|rule| &mut rule.rhs) {
            if part == DEFINED {
                *part = OWN_RULE.to_owned();
            }
        }
        finite.productions.push(ProductionSource {
            lhs: OWN_RULE.to_owned(),
            rhs: vec![DEFINED.to_owned()],
            priority: 0,
        });
    }
    let place = finite.terminals.iter().position(|terminal| terminal.name == DEFINED).expect("it exists");
    let escaped =
        words.iter().map(|word| word.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>());
    finite.terminals[place].pattern = TerminalPattern::Regex(escaped.collect::<Vec<String>>().join("|"));
    if words.is_empty() {
        return;
    }
    if is_recursive {
        check(&defined, &TOKENS.map(|token| token.as_bytes().to_vec()), ALPHABET, WITH_LEXICAL_RULES);
    }
    let (Some(defined), Some(finite)) = (compiled(&defined), compiled(&finite)) else {
        REFUSED.fetch_add(1, Ordering::Relaxed);
        return;
    };
    let (found, expected) = (accepted_texts(&defined), accepted_texts(&finite));
    let shown = |texts: &[Vec<u8>], others: &[Vec<u8>]| {
        let only = texts.iter().filter(|text| !others.contains(text));
        only.map(|text| String::from_utf8_lossy(text).into_owned()).collect::<Vec<_>>()
    };
    assert!(
        found == expected,
        "{text}\nin {outer:?}\nonly by rules: {:?}, only by words: {:?}",
        shown(&found, &expected),
        shown(&expected, &found)
    );
    COMPARED.fetch_add(1, Ordering::Relaxed);
    RECURSIVE.fetch_add(u64::from(is_recursive), Ordering::Relaxed);
    ACCEPTED.fetch_add(found.len() as u64, Ordering::Relaxed);
}

#[test]
fn terminals_of_other_grammars_equal_their_words() {
    let lexer = select(&[LexerKind::Basic, LexerKind::Contextual][..]);
    let strategy = (definition(), lexer, other_grammar());
    let mut runner = proptest::test_runner::TestRunner::new(config(2500));
    let result = runner.run(&strategy, |(mut outer, lexer, text)| {
        (outer.lexer, outer.parser) = (lexer, ParserKind::Lalr);
        let is_used =
            |name: &str| outer.productions.iter().any(|rule| rule.rhs.iter().any(|part| part == name));
        if !is_used(DEFINED) {
            return Ok(());
        }
        if let Ok((other, _)) = kbnf::grammar(text.as_bytes(), "start", &Limits::default()) {
            compare(&outer, &other, &text);
        }
        Ok(())
    });
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "compared {} grammars, {} of them recursive, {} accepted texts; {} were refused",
        count(&COMPARED),
        count(&RECURSIVE),
        count(&ACCEPTED),
        count(&REFUSED)
    );
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(count(&RECURSIVE) > 50, "too few grammars were compared");
}
