//! Runs the KBNF cases of testdata/kbnf: diagnostics, trees, grammars and escapes, all compared exactly.
//!
//! `GRAMMASK_UPDATE=1 cargo test -p grammask-frontends --test kbnf_data` writes the current output into the data;
//! review the diff before committing it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use grammask_diagnostics::{Code, Diagnostic, GrammarError, Limits, Severity};
use grammask_frontends::kbnf;
use grammask_frontends::kbnf::ast::Expression;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The data of one file.
#[derive(Deserialize, Serialize)]
struct Cases<C> {
    case: Vec<C>,
}

/// A source and its diagnostics.
#[derive(Deserialize, Serialize)]
struct ErrorCase {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    grammar: String,
    /// The source in hexadecimal, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grammar_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grammar_size: Option<usize>,
    #[serde(default)]
    output: String,
}

/// A source and its tree or grammar.
#[derive(Deserialize, Serialize)]
struct GoldenCase {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    grammar: String,
    #[serde(default)]
    output: String,
}

/// The content of a string and its bytes in hexadecimal; `None` if the content is invalid.
#[derive(Deserialize)]
struct EscapeCase {
    written: String,
    bytes: Option<String>,
    /// The result between the quotes of a regex, if it differs: a pattern, or an error.
    regex: Option<RegexMeaning>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RegexMeaning {
    Text(String),
    Error,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/kbnf")
}

fn read<C: DeserializeOwned>(path: &Path) -> Vec<C> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str::<Cases<C>>(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())).case
}

/// Compares `actual` with the output of each case, or updates the output if `GRAMMASK_UPDATE` is set.
fn compare<C: Serialize>(
    path: &Path,
    mut cases: Vec<C>,
    name: impl Fn(&C) -> &str,
    output: impl Fn(&mut C) -> &mut String,
    actual: impl Fn(&C) -> String,
) {
    let update = std::env::var_os("GRAMMASK_UPDATE").is_some();
    let mut different = Vec::new();
    for case in &mut cases {
        let actual = actual(case);
        if *output(case) != actual {
            let expected = std::mem::replace(output(case), actual.clone());
            different.push(format!(
                "{} in {}\n--- expected\n{expected}\n--- actual\n{actual}",
                name(case),
                path.display()
            ));
        }
    }
    if update && !different.is_empty() {
        let text = toml::to_string_pretty(&Cases { case: cases }).expect("cases are plain data");
        // Other tests read the file at the same time, so it is replaced atomically.
        let written = path.with_extension("new");
        std::fs::write(&written, text).expect("testdata can be written");
        std::fs::rename(&written, path).expect("testdata can be written");
    } else {
        assert!(different.is_empty(), "{}", different.join("\n\n"));
    }
}

fn decode_hexadecimal(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal bytes"))
        .collect()
}

fn error_files() -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder().join("errors"))
        .expect("testdata/kbnf/errors is there")
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

fn diagnose(case: &ErrorCase) -> (Vec<Diagnostic>, String) {
    let mut limits = Limits::default();
    limits.grammar_bytes = case.grammar_bytes.unwrap_or(limits.grammar_bytes);
    limits.grammar_size = case.grammar_size.unwrap_or(limits.grammar_size);
    let text = case.hex.as_deref().map_or_else(|| case.grammar.clone().into_bytes(), decode_hexadecimal);
    match kbnf::grammar(&text, case.start.as_deref().unwrap_or("start"), &limits) {
        Ok((grammar, warnings)) => {
            let source = grammar.source().to_string();
            (warnings, source)
        }
        Err(error) => (error.diagnostics().to_vec(), error.source_text().into()),
    }
}

#[test]
fn error_texts() {
    for path in error_files() {
        compare(
            &path,
            read::<ErrorCase>(&path),
            |case| &case.name,
            |case| &mut case.output,
            |case| {
                let (diagnostics, source) = diagnose(case);
                let rendered: Vec<_> = diagnostics.iter().map(|one| one.render(&source)).collect();
                rendered.join("\n\n") + "\n"
            },
        );
    }
}

/// Every error has a span, a finding and advice, except for a source that was not read.
#[test]
fn every_error_is_complete() {
    for path in error_files() {
        for case in read::<ErrorCase>(&path) {
            for diagnostic in diagnose(&case).0 {
                let unread = diagnostic.code == Code::LimitExceeded && diagnostic.span.is_none();
                assert!(diagnostic.span.is_some() || unread, "{}: {diagnostic:?}", case.name);
                assert!(diagnostic.help.is_some(), "{}: {diagnostic:?}", case.name);
                let found = diagnostic.found.is_some() || diagnostic.severity == Severity::Warning;
                assert!(found, "{}: {diagnostic:?}", case.name);
            }
        }
    }
}

/// Every code that this front end can report has a case.
#[test]
fn every_code_has_a_case() {
    let mut seen = BTreeSet::new();
    for path in error_files() {
        for case in read::<ErrorCase>(&path) {
            seen.extend(diagnose(&case).0.iter().map(|diagnostic| diagnostic.code.as_str()));
        }
    }
    let expected = [
        Code::UnexpectedInput,
        Code::InvalidUtf8,
        Code::UnterminatedString,
        Code::UnterminatedComment,
        Code::UnclosedBracket,
        Code::InvalidEscape,
        Code::SuspiciousEscape,
        Code::RegexDialect,
        Code::InvalidRegex,
        Code::UnsupportedRegex,
        Code::InvalidRepetition,
        Code::InvalidTokenReference,
        Code::UndefinedSymbol,
        Code::MissingStart,
        Code::InvalidException,
        Code::LimitExceeded,
    ];
    assert_eq!(seen, expected.iter().map(|code| code.as_str()).collect());
}

#[test]
fn trees() {
    let path = folder().join("ast.toml");
    compare(
        &path,
        read::<GoldenCase>(&path),
        |case| &case.name,
        |case| &mut case.output,
        |case| kbnf::parse(case.grammar.as_bytes(), &Limits::default()).ast.to_string(),
    );
}

/// The grammar prints as expected, and the printed grammar prints equally.
#[test]
fn grammars() {
    let path = folder().join("grammar.toml");
    compare(
        &path,
        read::<GoldenCase>(&path),
        |case| &case.name,
        |case| &mut case.output,
        |case| {
            let printed = print(&case.grammar).unwrap_or_else(|error| panic!("{}: {error}", case.name));
            assert_eq!(print(&printed).expect("a printed grammar is a grammar"), printed, "{}", case.name);
            printed
        },
    );
}

fn print(grammar: &str) -> Result<String, GrammarError> {
    kbnf::grammar(grammar.as_bytes(), "start", &Limits::default()).map(|(grammar, _)| grammar.to_string())
}

/// The example of docs/kbnf.md is a valid grammar.
#[test]
fn documented_example() {
    let page = std::fs::read_to_string(folder().join("../../docs/kbnf.md")).expect("docs/kbnf.md is there");
    let block = page.split("```").nth(1).expect("it has an example");
    let (attributes, example) = block.split_once('\n').expect("the first line has attributes");
    assert!(attributes.contains("notation=kbnf"), "{attributes}");
    print(example).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn escapes() {
    for case in read::<EscapeCase>(&folder().join("escapes.toml")) {
        for quote in ['"', '\''] {
            let written = format!("start ::= {quote}{}{quote};", case.written);
            let parsed = kbnf::parse(written.as_bytes(), &Limits::default());
            match &case.bytes {
                Some(hexadecimal) => {
                    assert!(parsed.diagnostics.is_empty(), "{written}: {:?}", parsed.diagnostics);
                    let [Expression::Literal(bytes)] = parsed.ast.expressions() else {
                        panic!("{written} is one literal")
                    };
                    let actual: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                    assert_eq!(&actual, hexadecimal, "{written}");
                }
                None => {
                    let codes: Vec<_> = parsed.diagnostics.iter().map(|one| one.code).collect();
                    assert_eq!(codes, [Code::InvalidEscape], "{written}");
                    assert!(parsed.diagnostics[0].help.is_some(), "{written}");
                }
            }
        }
        escape_in_regex(&case);
    }
}

fn escape_in_regex(case: &EscapeCase) {
    let written = format!("start ::= #\"{}\";", case.written);
    let parsed = kbnf::parse(written.as_bytes(), &Limits::default());
    let errors = parsed.diagnostics.iter().filter(|one| one.code == Code::InvalidEscape).count();
    let [Expression::Pattern(pattern)] = parsed.ast.expressions() else { panic!("{written} is one pattern") };
    let expected: Option<Vec<u8>> = match (&case.regex, &case.bytes) {
        (Some(RegexMeaning::Text(text)), _) => Some(text.as_bytes().to_vec()),
        (Some(RegexMeaning::Error), _) | (None, None) => None,
        (None, Some(hexadecimal)) => Some(decode_hexadecimal(hexadecimal)),
    };
    match expected {
        Some(bytes) => {
            assert_eq!(errors, 0, "{written}");
            assert_eq!(pattern.text.as_bytes(), bytes, "{written}");
        }
        None => assert_eq!(errors, 1, "{written}"),
    }
}
