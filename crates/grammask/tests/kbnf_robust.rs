//! The KBNF front end returns on any byte sequence: no panic, no hang, no error without a position.
//!
//! Includes sizes that overload recursive or quadratic parsers: deep nesting, long alternations, megabytes.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::generators::by_profile;
use grammask::Limits;
use grammask::frontends::kbnf;
use grammask::grammar::{Code, GrammarError, Severity};
use grammask::lexing::{InlinePatterns, LexedOptions, LexerKind, ParserKind, definition_from_rules};
use proptest::prelude::*;
use serde::Deserialize;

/// Time limit: ample for linear work on a busy machine without optimisation, and far too short for quadratic work.
const LONGEST: Duration = Duration::from_secs(10);

fn read(text: &[u8]) -> Result<String, GrammarError> {
    kbnf::grammar(text, "start", &Limits::default()).map(|(grammar, _)| grammar.to_string())
}

/// Reads `text` in all ways, and checks the invariants.
fn check(text: &[u8]) {
    let parsed = kbnf::parse(text, &Limits::default());
    let _ = parsed.ast.to_string();
    let source = parsed.ast.source().to_string();
    match read(text) {
        Ok(printed) => assert_eq!(read(printed.as_bytes()).expect("a printed grammar is a grammar"), printed),
        Err(error) => check_error(&error, &source),
    }
    if let Err(error) = read_with_directives(text) {
        check_error(&error, &source);
    }
}

fn check_error(error: &GrammarError, source: &str) {
    assert!(error.diagnostics().len() <= 100);
    assert!(error.diagnostics().iter().any(|one| one.severity == Severity::Error));
    for diagnostic in error.diagnostics() {
        let span = diagnostic.span.expect("every error of a text has a position");
        assert!(source.is_char_boundary(span.start) && source.is_char_boundary(span.end));
        let _ = diagnostic.render(source);
    }
    assert_eq!(error.source_text(), source);
}

/// Reads `text` as a grammar with a lexer.
fn read_with_directives(text: &[u8]) -> Result<(), GrammarError> {
    let mut limits = Limits::default();
    limits.grammar_size = 100_000;
    let (grammar, directives, _) = kbnf::grammar_with_directives(text, "start", &limits)?;
    let how = LexedOptions {
        directives: &directives,
        inline_patterns: InlinePatterns::Accept,
        lexer: LexerKind::Basic,
        parser: ParserKind::Lalr,
    };
    definition_from_rules(&grammar, &how, &limits).map(drop)
}

/// Pieces that a mutation inserts: every sign of the language, and similar strings.
const PIECES: &[&str] = &[
    "start",
    "%terminal a;",
    "%ignore ",
    "%priority a -2;",
    "%",
    "a",
    "::=",
    "=",
    ":=",
    ";",
    "|",
    ",",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "{2,3}",
    "{,",
    "{2",
    "?",
    "*",
    "+",
    "\"",
    "'",
    "\\",
    "\\u{",
    "\\uD83D",
    "\\b{ff}",
    "\\x",
    "#\"",
    "#r'",
    "#e",
    "#ex\"",
    "#substrs\"",
    "any!",
    "except!(",
    "except!(a, 2)",
    "<|x|>",
    "<[",
    "<\"",
    "]>",
    "(*",
    "*)",
    "//",
    "%",
    "\u{feff}",
    "é",
    "你",
    "“",
    "\0",
    "\r\n",
    "[A-Z]",
    "/x/",
    "\u{85}",
];

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    #[serde(default)]
    grammar: String,
}

/// All grammars of the test data, to be mutated.
fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/kbnf");
    [
        "ast.toml",
        "grammar.toml",
        "errors/structure.toml",
        "errors/slips.toml",
        "errors/strings.toml",
        "errors/meaning.toml",
    ]
    .into_iter()
    .flat_map(|file| {
        let text = std::fs::read_to_string(folder.join(file)).expect("testdata is there");
        toml::from_str::<Cases>(&text).expect("testdata is TOML").case
    })
    .map(|case| case.grammar)
    .filter(|grammar| !grammar.is_empty())
    .collect()
}

#[derive(Clone, Debug)]
enum Mutation {
    Insert(&'static str),
    Remove(usize),
    Replace(u8),
    Copy(usize),
}

fn mutation() -> impl Strategy<Value = (prop::sample::Index, Mutation)> {
    (
        any::<prop::sample::Index>(),
        prop_oneof![
            4 => prop::sample::select(PIECES).prop_map(Mutation::Insert),
            2 => (1usize..6).prop_map(Mutation::Remove),
            1 => any::<u8>().prop_map(Mutation::Replace),
            1 => (1usize..20).prop_map(Mutation::Copy),
        ],
    )
}

fn mutate(text: &mut Vec<u8>, position: prop::sample::Index, mutation: Mutation) {
    let at = position.index(text.len() + 1);
    match mutation {
        Mutation::Insert(piece) => {
            text.splice(at..at, piece.bytes());
        }
        Mutation::Remove(length) => {
            text.drain(at..(at + length).min(text.len()));
        }
        Mutation::Replace(byte) if at < text.len() => text[at] = byte,
        Mutation::Replace(_) => {}
        Mutation::Copy(length) => {
            let copy = text[at..(at + length).min(text.len())].to_vec();
            text.splice(at..at, copy);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&text);
    }

    #[test]
    fn any_pieces(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        check(pieces.concat().as_bytes());
        check(format!("start ::= {} ;", pieces.join(" ")).as_bytes());
    }

    #[test]
    fn mutated_grammars(
        seed in prop::sample::select(corpus()),
        mutations in prop::collection::vec(mutation(), 1..8),
    ) {
        let mut text = seed.into_bytes();
        for (place, mutation) in mutations {
            mutate(&mut text, place, mutation);
        }
        check(&text);
    }
}

#[test]
fn every_beginning_of_every_grammar() {
    for grammar in corpus() {
        for end in 0..grammar.len().min(400) {
            check(&grammar.as_bytes()[..end]);
        }
    }
}

/// Runs `work` and fails if it takes longer than linear work can take.
fn timed<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = work();
    let time = start.elapsed();
    assert!(time < LONGEST, "{name} took {time:?}");
    value
}

#[test]
fn deep_nesting() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("(\"a\" | ", ")+"), ("[{(", ")}]")] {
        let text = format!("start ::= {}\"x\"{};", open.repeat(10_000), close.repeat(10_000));
        let printed = timed(open, || read(text.as_bytes()).expect("nesting is no error"));
        assert!(printed.starts_with("start ::= "));
        let _ = timed(open, || kbnf::parse(text.as_bytes(), &Limits::default()).ast.to_string());
    }
    for text in [
        format!("start ::= {}", "(".repeat(100_000)),
        format!("start ::= {}", ")".repeat(100_000)),
        format!("start ::= {}", "([{".repeat(100_000)),
        format!("start ::= {}{}", "(".repeat(50_000), "]".repeat(50_000)),
        format!("start ::= {}\"x\"{}", "([".repeat(50_000), ")".repeat(50_000)),
    ] {
        let error = timed("brackets", || read(text.as_bytes()).expect_err("brackets are open"));
        assert_eq!(error.diagnostics().len(), 100);
    }
}

#[test]
fn long_alternations() {
    for item in ["\"x\"", "x", "#\"x\"", "(x)", "<[5]>", "any!", "x?", "except!(x)"] {
        let body = vec![item; 30_000].join(" | ");
        let text = format!("start ::= {body}; x ::= \"y\";");
        timed(item, || read(text.as_bytes()).expect("alternatives are no error"));
    }
    let strings: Vec<_> = (0..30_000).map(|number| format!("\"word{number}\"")).collect();
    let text = format!(
        "start ::= {}; other ::= except!(start) except!({});",
        strings.join(" | "),
        strings.join("|")
    );
    timed("strings", || read(text.as_bytes()).expect("strings are no error"));
}

#[test]
fn megabytes() {
    let rules: String =
        (0..40_000).map(|rule| format!("rule{rule} ::= \"a\" rule{} | 'b';\n", rule / 2)).collect();
    let text = format!("start ::= rule39999;\n{rules}");
    assert!(text.len() > 1 << 20);
    timed("rules", || read(text.as_bytes()).expect("many rules are no error"));
    for text in [
        format!("start ::= \"{}\";", "x".repeat(1 << 20)),
        format!("start ::= \"{}\";", "\\n\\u{1F600}\\uD83D\\uDE00".repeat(1 << 16)),
        format!("start ::= (*{}*) \"x\";", " ( * ".repeat(1 << 18)),
        format!("start ::= {} \"x\";", "(**)".repeat(1 << 18)),
        format!("{}start ::= \"x\";", " \t\r\n".repeat(1 << 18)),
        format!("start ::= #\"{}\";", "xy".repeat(1 << 17)),
        format!("start ::= #substrs\"{}\";", "xyzxy".repeat(1 << 15)),
        format!("start ::= {};", (0..20_000).map(|word| format!("#'x{word}+' ")).collect::<String>()),
        format!("start{} ::= start{}; start ::= 'x';", "x".repeat(1 << 20), "x".repeat(1 << 20)),
    ] {
        timed("one long token", || read(text.as_bytes()).expect("long tokens are no error"));
    }
}

/// Each piece repeated many times, alone and within a body, to find unbounded look-ahead.
#[test]
fn repeated_pieces() {
    for piece in
        PIECES.iter().chain(&["\"\\\"\n", "#x ", "# ", "{ {", "<a", "[a", "a-", "1 ", "`x", "((*", "%\n"])
    {
        for separator in ["", " ", "\n"] {
            let pieces =
                vec![*piece; by_profile(100_000, 200_000) / (piece.len() + separator.len())].join(separator);
            timed(piece, || {
                let _ = read(pieces.as_bytes());
                let _ = read(format!("start ::= {pieces};").as_bytes());
            });
        }
    }
}

/// Warnings never displace errors, and the numbers of both are bounded.
#[test]
fn diagnostics_are_bounded() {
    let warnings = "#\"\\b\" ".repeat(1_000);
    let (_, reported) =
        kbnf::grammar(format!("start ::= {warnings};").as_bytes(), "start", &Limits::default())
            .expect("warnings are no errors");
    assert_eq!(reported.len(), 100);
    let error = read(format!("start ::= {warnings} a;").as_bytes()).expect_err("`a` is not defined");
    assert_eq!(error.diagnostics().iter().map(|one| one.code).collect::<Vec<_>>(), [Code::UndefinedSymbol]);
    let names: String = (0..1_000).map(|number| format!("a{number} ")).collect();
    let error = read(format!("start ::= {warnings} {names};").as_bytes()).expect_err("they are not defined");
    assert_eq!(error.diagnostics().len(), 100);
}

/// Expansions of symbols for `except!` share one budget. Without it, 2,000 expansions would visit 2,000 definitions
/// each.
#[test]
fn expansions_are_bounded() {
    let mut text = String::from("start ::= \"x\"");
    for rule in 0..2_000 {
        text.push_str(&format!(" | except!(a{rule})"));
    }
    text.push_str(";\n");
    for rule in 0..2_000 {
        text.push_str(&format!("a{rule} ::= \"x{rule}\" | a{};\n", rule + 1));
    }
    text.push_str("a2000 ::= \"end\";");
    let mut limits = Limits::default();
    limits.grammar_size = 100_000;
    let error =
        timed("expansions", || kbnf::grammar(text.as_bytes(), "start", &limits)).expect_err("too much");
    assert_eq!(error.code(), Code::LimitExceeded);
}

#[test]
fn parts_of_a_long_text_ask_for_memory_before_they_are_made() {
    let mut limits = Limits::default();
    limits.memory_bytes = 1 << 20;
    let text = format!("start ::= #substrs\"{}\";", "abcdefgh".repeat(100_000));
    let error = kbnf::grammar(text.as_bytes(), "start", &limits).expect_err("too large");
    assert_eq!(error.code(), Code::LimitExceeded);
}
