//! The conformance cases of GBNF, llguidance's Lark, structural tags and grammars with a lexer, whose texts and next bytes
//! are tested on the matcher. Grammars that are read in Python are recorded (`recorded_grammars.toml`).

use std::path::Path;
use std::sync::Arc;

use crate::conformance::recorded_grammars::recorded_grammars;
use grammask::frontends::gbnf::{self, Dialect};
use grammask::frontends::kbnf;
use grammask::grammar::GrammarError;
use grammask::vocabulary::{TokenTexts, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, Limits};
use serde::Deserialize;

/// A case; the comment at the top of testdata/conformance/gbnf.toml explains the fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextCase {
    name: String,
    #[serde(rename = "says")]
    _says: String,
    grammar: String,
    #[serde(default = "default_start")]
    start: String,
    #[serde(default)]
    valid: Vec<String>,
    #[serde(default)]
    invalid: Vec<String>,
    #[serde(default)]
    next: Vec<NextBytes>,
    error: Option<String>,
    at: Option<[usize; 2]>,
    #[serde(rename = "pointer")]
    _pointer: Option<String>,
    notation: Option<String>,
    #[serde(rename = "lexer")]
    _lexer: Option<String>,
    #[serde(rename = "parser")]
    _parser: Option<String>,
}

fn default_start() -> String {
    "root".to_owned()
}

/// The legal bytes after a viable prefix.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NextBytes {
    after: String,
    #[serde(default)]
    bytes: String,
    #[serde(default)]
    ranges: Vec<String>,
    #[serde(default)]
    end: bool,
}

const END: u32 = 256;

#[test]
fn gbnf_texts() {
    let (limits, vocabulary) = (Limits::default(), vocabulary());
    for case in cases("gbnf") {
        let compiled =
            gbnf::grammar(&case.grammar, &case.start, Dialect::LlamaCpp, &limits).and_then(|(grammar, _)| {
                CompiledGrammar::new(&grammar, vocabulary.clone(), CompileOptions::default())
            });
        match compiled {
            Ok(compiled) => check(&case, &compiled),
            Err(error) => check_error(&case, &error),
        }
    }
}

#[test]
fn texts_of_bindings() {
    let (limits, vocabulary) = (Limits::default(), vocabulary());
    for case in cases("bindings") {
        let source = &case.grammar;
        let grammar = match case.notation.as_deref() {
            None => kbnf::grammar(source.as_bytes(), "start", &limits),
            Some("gbnf") => gbnf::grammar(source, "root", Dialect::LlamaCpp, &limits),
            // Read in Python.
            Some(_) => continue,
        };
        let compiled = grammar.and_then(|(grammar, _)| {
            CompiledGrammar::new(&grammar, vocabulary.clone(), CompileOptions::default())
        });
        match compiled {
            Ok(compiled) => check(&case, &compiled),
            Err(error) => check_error(&case, &error),
        }
    }
}

/// Every case without an error has a recorded grammar.
#[test]
fn texts_of_recorded_grammars() {
    let vocabulary = vocabulary();
    let grammars = recorded_grammars();
    let mut count = 0;
    for file in ["llguidance_lark", "structural_tag", "lexed"] {
        for case in cases(file).into_iter().filter(|case| case.error.is_none()) {
            let grammar = grammars.iter().find(|grammar| grammar.file == file && grammar.case == case.name);
            let grammar = grammar.unwrap_or_else(|| panic!("{file} {}: no recorded grammar", case.name));
            check(&case, &grammar.compile(&vocabulary));
            count += 1;
        }
    }
    assert_eq!(count, grammars.len(), "each recorded grammar has a case");
}

fn cases(file: &str) -> Vec<TextCase> {
    #[derive(Deserialize)]
    struct File {
        case: Vec<TextCase>,
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/conformance");
    let text = std::fs::read_to_string(folder.join(format!("{file}.toml"))).expect("a file");
    toml::from_str::<File>(&text).expect("cases").case
}

/// All bytes, and an end token.
fn vocabulary() -> Arc<Vocabulary> {
    let mut texts = TokenTexts::builder();
    (0..=u8::MAX).for_each(|byte| texts.push(&[byte]));
    Arc::new(Vocabulary::new(texts.finish(), Vec::new(), vec![END], Some(257)).expect("a vocabulary"))
}

fn check_error(case: &TextCase, error: &GrammarError) {
    assert_eq!(Some(error.code().as_str()), case.error.as_deref(), "{}: {error}", case.name);
    let position = error.position().map(|position| [position.line, position.column]);
    assert!(case.at.is_none() || case.at == position, "{}: {error}", case.name);
}

fn check(case: &TextCase, compiled: &Arc<CompiledGrammar>) {
    let name = &case.name;
    assert_eq!(case.error, None, "{name}");
    let is_valid = |text: &str| compiled.first_error(text.as_bytes()).expect("no limit").is_none();
    case.valid.iter().for_each(|text| assert!(is_valid(text), "{name}: {text:?} is valid"));
    case.invalid.iter().for_each(|text| assert!(!is_valid(text), "{name}: {text:?} is invalid"));
    for state in &case.next {
        let mut matcher = compiled.matcher();
        assert!(matcher.accept_bytes(state.after.as_bytes()).expect("no limit"), "{name}: {:?}", state.after);
        let legal: Vec<u32> = matcher.mask().expect("a mask").iter().map(|id| id.0).collect();
        let mut expected: Vec<u32> = state.bytes.bytes().map(u32::from).collect();
        for range in state.ranges.iter().map(|range| range.as_bytes()) {
            expected.extend((range[0]..=range[1]).map(u32::from));
        }
        expected.extend(state.end.then_some(END));
        expected.sort_unstable();
        assert_eq!(legal, expected, "{name}: after {:?}", state.after);
    }
}
