//! Property: delimited terminals, whose grammars bind texts to names, agree with the oracle of lexed grammars, and so do
//! masks. `GRAMMASK_CASES=50` is the long profile.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::generators::lexed::definition;
use crate::lexing_equals_oracle::{WITH_LEXICAL_RULES, check};
use grammask::Limits;
use grammask::frontends::kbnf;
use grammask::grammar::{Code, Grammar};
use grammask::lexing::{
    LexedDefinition, LexedGrammar, LexerKind, ParserKind, PreparedGrammar, TerminalGrammar, TerminalPattern,
    TerminalRole,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const ALPHABET: &[u8] = b"ab ()";
/// The terminal of the random definitions that is delimited.
const DEFINED: &str = "T3";

static COMPARED: AtomicU64 = AtomicU64::new(0);
static IGNORED: AtomicU64 = AtomicU64::new(0);
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Grammars in KBNF of which most have an opening.
fn delimited_grammar() -> impl Strategy<Value = String> {
    let head = select(&["", "\"(\"", "\"(\"", "\"a(\"", "\"b\"", "#\"a|b\"", "#\"a*\""][..]);
    let part = select(&["\"a\"*", "#\"a*\"", "#\"a+\"", "#\"[ab]\"", "#\"[ab]{0,2}\"", "#\"a|bb?\""][..]);
    let separator = select(&["\"(\"", "\"(\"", "\"b\"", "\" \"", "\" (\"", "#\"[( ]\"", ""][..]);
    let item = select(
        &[
            "#\"[ab )]*\"",
            "#\"[ab )]*\"",
            "#\"(?s:.)*\"",
            "#\"[ab]*\"",
            "{ \"a\" | \" \" }",
            "{ \")\" without_prefix!(h, #\"[ab]*\") }",
            "{ \"b\" other!(h, #\"[ab]?\") }",
            "[ other!(h, #\"[ab]\") ]",
            "[ same!(h) \"b\" ]",
            "[ inner ]",
            "other!(h, #\"[ab]\")",
            "{ \"(\" same!(h) }",
        ][..],
    );
    let close =
        select(&["\")\"", "\")\" same!(h)", "same!(h) \")\"", "same!(h)", "\" \" same!(h) \" \"", "\"\""][..]);
    (head, part, separator, vec(item, 0..3), close).prop_map(|(head, part, separator, items, close)| {
        let items = items.join(" ");
        format!(
            "start ::= {head} bind!(h, {part}) {separator} {items} {close}; \
             inner ::= \" \" bind!(h, #\"[ab]\") [ inner ] same!(h);"
        )
        .replace("(h, \"a\"*)", "(h, #\"a*\")")
    })
}

fn compare(outer: &LexedDefinition, other: &Grammar, tokens: &[Vec<u8>], role: TerminalRole, text: &str) {
    let limits = Limits::default();
    let mut defined = outer.clone();
    let terminal = defined.terminals.iter_mut().find(|terminal| terminal.name == DEFINED).expect("it exists");
    terminal.pattern = TerminalPattern::Declared;
    terminal.role = role;
    if role == TerminalRole::Ignored {
        for rule in &mut defined.productions {
            rule.rhs.retain(|symbol| symbol != DEFINED);
        }
    }
    let allowed = |code: Code| {
        [
            Code::UnsupportedGrammar,
            Code::EmptyLanguage,
            Code::GrammarConflict,
            Code::InseparableTerminals,
            Code::NeverEnds,
        ]
        .contains(&code)
    };
    if let Err(error) =
        defined.define_terminals(&[TerminalGrammar { name: DEFINED, grammar: other }], &limits)
    {
        assert!(allowed(error.code()), "{text}: {error}");
        REFUSED.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let prepared =
        LexedGrammar::new(&defined, &limits).and_then(|grammar| PreparedGrammar::new(grammar, &limits));
    match prepared {
        Ok(_) => {
            COMPARED.fetch_add(1, Ordering::Relaxed);
            IGNORED.fetch_add(u64::from(role == TerminalRole::Ignored), Ordering::Relaxed);
        }
        Err(error) => {
            assert!(allowed(error.code()), "{text}: {error}");
            REFUSED.fetch_add(1, Ordering::Relaxed);
        }
    }
    check(&defined, tokens, ALPHABET, WITH_LEXICAL_RULES);
}

#[test]
fn delimited_terminals_equal_oracle() {
    let lexer = select(
        &[
            (LexerKind::Basic, ParserKind::Lalr),
            (LexerKind::Contextual, ParserKind::Lalr),
            (LexerKind::Basic, ParserKind::Earley),
        ][..],
    );
    let role = select(&[TerminalRole::Parsed, TerminalRole::Parsed, TerminalRole::Ignored][..]);
    let tokens = vec(vec(select(&b"aab (()"[..]), 2..7), 3..14).prop_map(|mut tokens| {
        tokens.extend(ALPHABET.iter().map(|&byte| vec![byte]));
        tokens
    });
    let strategy = (definition(), lexer, role, delimited_grammar(), tokens);
    let mut runner = proptest::test_runner::TestRunner::new(crate::generators::config(2500));
    let result = runner.run(&strategy, |(mut outer, (lexer, parser), role, text, tokens)| {
        (outer.lexer, outer.parser) = (lexer, parser);
        let is_used =
            |name: &str| outer.productions.iter().any(|rule| rule.rhs.iter().any(|part| part == name));
        if role == TerminalRole::Parsed && !is_used(DEFINED) {
            return Ok(());
        }
        match kbnf::grammar(text.as_bytes(), "start", &Limits::default()) {
            Ok((other, _)) => compare(&outer, &other, &tokens, role, &text),
            Err(error) => panic!("{text}: {error}"),
        }
        Ok(())
    });
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "compared {} grammars, {} with an ignored delimited terminal; {} were refused",
        count(&COMPARED),
        count(&IGNORED),
        count(&REFUSED)
    );
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(count(&COMPARED) > 50, "too few grammars were compared");
}
