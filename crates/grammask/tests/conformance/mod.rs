//! Loads the cases of testdata/conformance and runs them on an engine.

pub mod recorded_grammars;

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::path::Path;

use grammask::grammar::GrammarError;
use grammask::vocabulary::{TokenTexts, Vocabulary};
use serde::Deserialize;

/// A case. The comment at the top of testdata/conformance/kbnf.toml defines the fields.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    #[serde(rename = "says")]
    _says: String,
    pub grammar: String,
    #[serde(default = "default_start")]
    pub start: String,
    #[serde(default)]
    pub end: End,
    pub tokens: Vec<Token>,
    #[serde(default)]
    pub eos: Vec<u32>,
    pub size: Option<usize>,
    pub error: Option<String>,
    pub at: Option<[usize; 2]>,
    #[serde(default)]
    pub mask: Vec<u32>,
    #[serde(default)]
    pub steps: Vec<Step>,
    #[serde(rename = "kbnf")]
    _kbnf: Option<String>,
    #[serde(rename = "why")]
    _why: Option<String>,
}

fn default_start() -> String {
    "start".to_owned()
}

/// The end mode of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    #[default]
    Eager,
    Eos,
}

/// An entry of the vocabulary.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Token {
    Text(String),
    Hex {
        hex: String,
    },
    Special {
        special: String,
    },
    Textless {
        #[serde(rename = "textless")]
        _textless: bool,
    },
}

/// An operation, and the mask after it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Step {
    Token {
        token: u32,
        result: Outcome,
        mask: Option<Vec<u32>>,
    },
    Rollback {
        rollback: usize,
        mask: Vec<u32>,
    },
    Reset {
        #[serde(rename = "reset")]
        _reset: bool,
        mask: Vec<u32>,
    },
}

/// The result of accepting a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Ongoing,
    Finished,
    Rejected,
}

impl Case {
    /// The vocabulary of the case.
    pub fn vocabulary(&self) -> Vocabulary {
        let mut texts = TokenTexts::builder();
        let mut special = Vec::new();
        for (id, token) in self.tokens.iter().enumerate() {
            match token {
                Token::Text(text) => texts.push(text.as_bytes()),
                Token::Hex { hex } => texts.push(&bytes_of(hex)),
                Token::Special { special: name } => {
                    special.push((name.clone(), id as u32));
                    texts.push_textless();
                }
                Token::Textless { .. } => texts.push_textless(),
            }
        }
        Vocabulary::new(texts.finish(), special, self.eos.clone(), self.size)
            .expect("the vocabularies of cases are valid")
    }

    /// Checks the error of compiling the grammar.
    pub fn check_error(&self, error: &GrammarError) {
        assert_eq!(Some(error.code().as_str()), self.error.as_deref(), "{}: {error}", self.name);
        if let Some(expected) = self.at {
            let position = error.position().map(|position| [position.line, position.column]);
            assert_eq!(position, Some(expected), "{}: {error}", self.name);
        }
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digit = |c: char| c.to_digit(16).expect("hex digits") as u8;
    let digits: Vec<u8> = hex.chars().map(digit).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The cases of testdata/conformance/`file`.
pub fn cases(file: &str) -> Vec<Case> {
    #[derive(Deserialize)]
    struct File {
        case: Vec<Case>,
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/conformance").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut names = HashSet::new();
    for case in &file.case {
        assert!(names.insert(&case.name), "two cases are called {}", case.name);
        assert!(case.error.is_none() || case.steps.is_empty(), "{}: an error has no steps", case.name);
    }
    file.case
}

/// Runs `check` on every case of a file; the failure lists all cases that fail.
pub fn check_all(file: &str, check: impl Fn(&Case)) {
    let cases = cases(file);
    let fails = |case: &&Case| std::panic::catch_unwind(AssertUnwindSafe(|| check(case))).is_err();
    let failed: Vec<&str> = cases.iter().filter(fails).map(|case| case.name.as_str()).collect();
    assert!(
        failed.is_empty(),
        "{} of {} cases of {file} fail: {}",
        failed.len(),
        cases.len(),
        failed.join(", ")
    );
}

/// An engine under test.
pub trait Engine {
    /// The legal tokens, ascending; empty for the error `dead-end` and after the end of the text.
    fn mask(&mut self) -> Vec<u32>;
    /// Tries a token.
    fn accept(&mut self, token: u32) -> Outcome;
    /// Removes the last accepted tokens.
    fn rollback(&mut self, tokens: usize);
    /// Removes all accepted tokens.
    fn reset(&mut self);
}

/// Runs the steps of a case. Compares every result and every mask, and `accept` of every token with the mask.
pub fn run(case: &Case, engine: &mut impl Engine) {
    let size = case.size.unwrap_or(case.tokens.len()) as u32;
    let mut expected = case.mask.clone();
    check_mask(case, engine, &expected, size, "at the beginning");
    for (number, step) in case.steps.iter().enumerate() {
        match step {
            Step::Token { token, result, mask } => {
                assert_eq!(engine.accept(*token), *result, "{}: step {number}: token {token}", case.name);
                match (result, mask) {
                    (Outcome::Ongoing, Some(mask)) => expected.clone_from(mask),
                    (Outcome::Finished, None) => expected.clear(),
                    (Outcome::Rejected, None) => {}
                    _ => panic!("{}: step {number}: `ongoing` has a mask, and nothing else has", case.name),
                }
            }
            Step::Rollback { rollback, mask } => {
                engine.rollback(*rollback);
                expected.clone_from(mask);
            }
            Step::Reset { mask, .. } => {
                engine.reset();
                expected.clone_from(mask);
            }
        }
        check_mask(case, engine, &expected, size, &format!("after step {number}"));
    }
}

fn check_mask(case: &Case, engine: &mut impl Engine, expected: &[u32], size: u32, when: &str) {
    assert_eq!(engine.mask(), expected, "{}: mask {when}", case.name);
    for token in 0..size {
        let accepted = engine.accept(token) != Outcome::Rejected;
        assert_eq!(accepted, expected.contains(&token), "{}: accept of token {token} {when}", case.name);
        if accepted {
            engine.rollback(1);
        }
    }
}
