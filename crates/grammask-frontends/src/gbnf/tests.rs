//! The grammars that sources denote, and the errors of malformed ones.

use super::{Dialect, grammar};
use grammask_diagnostics::{GrammarError, Limits};

fn read(text: &str, dialect: Dialect) -> Result<String, GrammarError> {
    grammar(text, "root", dialect, &Limits::default()).map(|(grammar, _)| grammar.to_string())
}

fn codes(text: &str, dialect: Dialect) -> Vec<(&'static str, usize, usize)> {
    let error = match read(text, dialect) {
        Ok(printed) => panic!("{text:?} is read as {printed}"),
        Err(error) => error,
    };
    error
        .diagnostics()
        .iter()
        .map(|diagnostic| {
            let position =
                grammask_diagnostics::Position::of(text, diagnostic.span.map_or(0, |span| span.start));
            (diagnostic.code.as_str(), position.line, position.column)
        })
        .collect()
}

#[test]
fn rules_of_llama_cpp_end_with_their_lines() {
    for (text, printed) in [
        ("root ::= \"a\" b\nb ::= \"c\"", "root ::= \"a\" b;\nb ::= \"c\";\n"),
        ("root ::= \"a\" |\n  \"b\"\n", "root ::= \"a\" | \"b\";\n"),
        ("root ::= (\n \"a\" # one\n\n \"b\" # two\n)*", "root ::= (\"a\" \"b\")*;\n"),
        ("# head\nroot ::=\n \"a\"", "root ::= \"a\";\n"),
        ("root ::= | \"a\"", "root ::= \"\" | \"a\";\n"),
        ("root ::= \"a\"{2} [0-9]{1,3} .? \"b\"{0,}", "root ::= \"a\"{2} [0-9]{1,3} .? \"b\"*;\n"),
        ("root ::= <think> !</think>* <[12]>", "root ::= <think> !(</think>)* <[12]>;\n"),
        (
            "root ::= x-1 rule_123\r\nx-1 ::= \"é\\n\"\r\nrule_123 ::= \"\\x41\"",
            "root ::= x-1 rule_123;\nx-1 ::= \"é\\n\";\nrule_123 ::= \"A\";\n",
        ),
        ("root ::= \"\\u00e9\\U0001F600\\\"\\\\\"", "root ::= \"é😀\\\"\\\\\";\n"),
        ("root ::= \"a\"+?", "root ::= (\"a\"+)?;\n"),
    ] {
        assert_eq!(read(text, Dialect::LlamaCpp).unwrap(), printed, "{text}");
    }
}

#[test]
fn rules_of_xgrammar_end_where_others_begin() {
    for (text, printed) in [
        ("root ::= \"a\"\n\"b\" c\nc\n::= [^]", "root ::= \"a\" \"b\" c;\nc ::= [^];\n"),
        ("root ::= a.b\na.b ::= \"\\x1F600\\e\"", "root ::= a.b;\na.b ::= \"😀\\u{1b}\";\n"),
        ("root ::= ()", "root ::= \"\";\n"),
        ("root ::= \"a\"{2, -1} \"b\"{0,-1}", "root ::= \"a\"{2,} \"b\"*;\n"),
        ("root[capture] ::= \"a\" (=\"b\" c)\nc ::= \"d\"", "root ::= \"a\";\nc ::= \"d\";\n"),
        ("root ::= [a\\]\\-]", "root ::= [a\\]\\-];\n"),
        ("root ::= Token(1, 2) ExcludeToken(3)", "root ::= (<[1]> | <[2]>) !(<[3]>);\n"),
        (
            "root ::= TagDispatch((\"ab\", x), loop_after_dispatch=false, excludes=(\"c\",))\nx ::= \"!\"",
            "root ::= text without \"ab\", \"c\" \"ab\" x | text without \"ab\", \"c\";\nx ::= \"!\";\n",
        ),
        // No text contains an exclusion together with a trigger.
        (
            "root ::= TagDispatch((\"ab\", x), (\"c\", x), excludes=(\"b\"))\nx ::= \"!\"",
            "root ::= (text without \"ab\", \"c\", \"b\" \"c\" x)* text without \"ab\", \"c\", \"b\";\nx ::= \"!\";\n",
        ),
        (
            "root ::= TokenTagDispatch((7, x))\nx ::= \"!\"",
            "root ::= (!(<[7]>)* (<[7]>) x)* !(<[7]>)*;\nx ::= \"!\";\n",
        ),
        // The complement of all characters matches nothing.
        ("root ::= [^\\u0000-\\U0010FFFF] | \"a\"", "root ::= [^\\u0000-\\U0010FFFF] | \"a\";\n"),
    ] {
        assert_eq!(read(text, Dialect::XGrammar).unwrap(), printed, "{text}");
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let text = "root ::= \"a\\q\" [z-a] b {2,1}\nb ::= 'x'\nc := \"x\"\nd ::= (\"x\"\n";
    assert_eq!(
        codes(text, Dialect::LlamaCpp),
        [
            ("invalid-escape", 1, 12),
            ("unexpected-input", 1, 17),
            ("invalid-repetition", 1, 24),
            ("unexpected-input", 2, 7),
            ("unclosed-bracket", 4, 7),
        ]
    );
    assert_eq!(
        codes("root ::= \"a\" |\nb ::= \"c\"\n", Dialect::LlamaCpp),
        [("undefined-symbol", 2, 1), ("unexpected-input", 2, 3)]
    );
    assert_eq!(codes("root ::= rot \"", Dialect::LlamaCpp), [("unterminated-string", 1, 14)]);
    assert_eq!(codes("root ::= rot", Dialect::LlamaCpp), [("undefined-symbol", 1, 10)]);
    assert_eq!(codes("", Dialect::LlamaCpp), [("missing-start", 1, 1)]);
    assert_eq!(
        codes("a ::= \"x\"\na ::= \"y\"", Dialect::LlamaCpp),
        [("missing-start", 1, 1), ("duplicate-rule", 2, 1)]
    );
    assert_eq!(codes("root ::= [] [^] <x", Dialect::LlamaCpp).len(), 3);
}

#[test]
fn malformed_and_inexact_rules_are_errors() {
    for (text, code) in [
        ("root ::= \"a\"+*", "unexpected-input"),
        ("root ::= .", "unexpected-input"),
        ("root ::= 'a'", "unexpected-input"),
        ("root ::= [\\w]", "invalid-escape"),
        ("root ::= \"\\ud83d\"", "invalid-escape"),
        ("root ::= \"a\nb\"", "unterminated-string"),
        ("root[temperature=-1] ::= \"a\"", "unexpected-input"),
        ("root[] ::= \"a\"", "unexpected-input"),
        ("root[lazy=true] ::= \"a\"", "unexpected-input"),
        ("root[lazy, lazy] ::= \"a\"", "unexpected-input"),
        ("root[max_chars=-1] ::= \"a\"", "unexpected-input"),
        ("root[excludes=(\"a\")] ::= \"a\"", "unexpected-input"),
        ("root[lazy] ::= \"a\" root \"b\" | \"\"", "unsupported-grammar"),
        ("root[max_chars=3] ::= \"a\" Token(1)", "unsupported-grammar"),
        ("root[lazy] ::= x\nx[max_tokens=3] ::= \"a\"+", "unsupported-grammar"),
        ("root ::= Regex(\"(\")", "invalid-regex"),
        ("root ::= Regex(\"(?=a)b\")", "unsupported-regex"),
        ("root ::= Regex(\"a\", \"b\")", "unexpected-input"),
        ("root ::= Regex(\"a\", json_string=1)", "unexpected-input"),
        ("root ::= Substring(\"a\", 1)", "unexpected-input"),
        ("root ::= Token()", "unexpected-input"),
        ("root ::= TagDispatch((\"\", root))", "unexpected-input"),
        ("root ::= TagDispatch((\"ab\", x), excludes=(\"a\"))\nx ::= \"!\"", "unexpected-input"),
        ("root ::= TokenTagDispatch((3, x), excludes=(4, 3))\nx ::= \"!\"", "unexpected-input"),
        ("root ::= \"a\"{2,-2}", "invalid-repetition"),
    ] {
        assert_eq!(codes(text, Dialect::XGrammar)[0].0, code, "{text}");
    }
}

#[test]
fn hostile_sources_terminate() {
    let deep = format!("root ::= {}\"a\"{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(read(&deep, Dialect::LlamaCpp).is_ok());
    assert_eq!(codes(&"(".repeat(100_000), Dialect::XGrammar).len(), 2);
    let texts = [
        "root",
        "root ::",
        "::= ",
        "root ::= \"\\",
        "root ::= [\\",
        "root ::= [a-",
        "!",
        "<",
        "{",
        "\u{0}",
        "root ::= \\x",
    ];
    for text in texts {
        for dialect in [Dialect::LlamaCpp, Dialect::XGrammar] {
            assert!(!codes(text, dialect).is_empty());
        }
    }
}

proptest::proptest! {
    #[test]
    fn errors_of_any_source_have_spans(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..24),
    ) {
        let text = pieces.concat();
        for dialect in [Dialect::LlamaCpp, Dialect::XGrammar] {
            if let Err(error) = grammar(&text, "root", dialect, &Limits::default()) {
                for diagnostic in error.diagnostics() {
                    let span = diagnostic.span.expect("every error of a text has a place");
                    assert!(text.get(span.start..span.end).is_some(), "{text:?} {diagnostic:?}");
                    let _ = diagnostic.render(&text);
                }
            }
        }
    }
}

/// The pieces of random sources.
const PIECES: &[&str] = &[
    "root",
    "x",
    " ::= ",
    "\n",
    " ",
    "|",
    "(",
    ")",
    "(=",
    "[",
    "]",
    "[^",
    "-",
    "a",
    "é",
    "\"",
    "\\",
    "\\x4",
    "\\u00e9",
    "{",
    "}",
    "1",
    ",",
    "*",
    "+?",
    ".",
    "#",
    "<",
    ">",
    "<[1]>",
    "!<a>",
    "TagDispatch(",
    "Regex(",
    "Substring(",
    "lazy",
    "max_chars=",
    "Token(",
    "excludes=",
    "=",
    "\r",
    "\0",
];
