//! Compares formats with the official test suite, if it is present, and with cases of this repository.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::*;
use crate::document::json::{Document, Value, ValueId};
use crate::options::Escapes;
use grammask_automata::Automata;

const DRAFTS: [(&str, Draft); 5] = [
    ("draft4", Draft::Draft4),
    ("draft6", Draft::Draft6),
    ("draft7", Draft::Draft7),
    ("draft2019-09", Draft::Draft2019),
    ("draft2020-12", Draft::Draft2020),
];

/// A format under test.
struct FormatAutomaton {
    automata: Automata,
    term: TermId,
}

impl FormatAutomaton {
    fn new(name: &str, draft: Draft) -> Option<Self> {
        let (mut terms, mut encoding) = (Terms::new(), StringEncoding::new(Escapes::Natural));
        let term = format(&mut terms, &mut encoding, name, draft, &Limits::default())?.unwrap();
        Some(Self { automata: Automata::new(terms, 1_000_000), term })
    }

    fn accepts(&mut self, text: &str) -> bool {
        let mut state = self.automata.start(self.term).unwrap();
        for character in text.chars() {
            let spelled = match character {
                '"' | '\\' => format!("\\{character}"),
                '\0'..='\u{1f}' => format!("\\u{:04x}", u32::from(character)),
                _ => character.to_string(),
            };
            for byte in spelled.bytes() {
                let Some(current) = state else { return false };
                state = self.automata.step(current, byte).unwrap();
            }
        }
        state.is_some_and(|state| self.automata.is_accepting(state))
    }
}

#[derive(Deserialize)]
struct FormatCases {
    format: Vec<FormatCase>,
}

#[derive(Deserialize)]
struct FormatCase {
    name: String,
    valid: Vec<String>,
    invalid: Vec<String>,
}

#[test]
fn formats_match_their_cases() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/json_schema/formats.toml");
    let cases: FormatCases = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for case in cases.format {
        let mut known = FormatAutomaton::new(&case.name, Draft::Draft2020).unwrap();
        for text in case.valid {
            assert!(known.accepts(&text), "{text:?} is a {}", case.name);
        }
        for text in case.invalid {
            assert!(!known.accepts(&text), "{text:?} is no {}", case.name);
        }
    }
}

#[test]
fn only_the_names_of_the_standard_are_formats() {
    for (_, draft) in DRAFTS {
        for name in ["date", "uri", "uuid", "idn-hostname"] {
            assert!(FormatAutomaton::new(name, draft).is_some(), "{name} {draft:?}");
        }
        for name in ["url", "color", "Date", "int32", ""] {
            assert!(FormatAutomaton::new(name, draft).is_none(), "{name} {draft:?}");
        }
    }
}

#[test]
fn drafts_differ_where_their_references_do() {
    for (_, draft) in DRAFTS {
        let accepts = |name, text| FormatAutomaton::new(name, draft).unwrap().accepts(text);
        assert_eq!(accepts("hostname", "xn--x"), draft < Draft::Draft7, "{draft:?}");
        assert_eq!(accepts("relative-json-pointer", "0+1"), draft >= Draft::Draft2019, "{draft:?}");
    }
}

/// The folder of the official test suite, if it is present.
fn suite() -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("GRAMMASK_DATA").map_or(default, PathBuf::from);
    let suite = data.join("json_schema_test_suite");
    suite.is_dir().then_some(suite)
}

/// The items of an array.
fn items(document: &Document, value: ValueId) -> Vec<ValueId> {
    match document.get(value) {
        Value::Array(items) => items.clone(),
        other => panic!("the suite has arrays here, not {other:?}"),
    }
}

#[test]
fn the_official_suite_agrees() {
    let Some(suite) = suite() else {
        println!("skipped: the official test suite is not present");
        return;
    };
    let (mut right, mut wrong) = (0, Vec::new());
    for (folder, draft) in DRAFTS {
        let files = std::fs::read_dir(suite.join(folder).join("optional/format")).unwrap();
        for file in files {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let document = Document::parse(&text).unwrap();
            for group in items(&document, document.root()) {
                let schema = document.member(group, "schema").unwrap();
                let Some(name) = document.text_member(schema, "format") else { continue };
                let mut known = FormatAutomaton::new(name, draft);
                for instance in items(&document, document.member(group, "tests").unwrap()) {
                    let Some(text) = document.text_member(instance, "data") else { continue };
                    let valid =
                        document.get(document.member(instance, "valid").unwrap()) == &Value::Boolean(true);
                    let accepts = known.as_mut().is_none_or(|known| known.accepts(text));
                    if accepts == valid {
                        right += 1;
                    } else {
                        let description = document.text_member(instance, "description").unwrap_or("");
                        wrong.push(format!("{folder} {name} {accepts} {text:?}: {description}"));
                    }
                }
            }
        }
    }
    wrong.iter().for_each(|wrong| println!("{wrong}"));
    let share = f64::from(right) / (f64::from(right) + wrong.len() as f64);
    println!("{right} right, {} wrong: {share}", wrong.len());
    assert!(share >= 0.95, "{share}");
}

#[test]
fn expressions_by_substitution_equal_those_by_determinization() {
    let mut terms = Terms::new();
    let mut encoding = StringEncoding::new(Escapes::Natural);
    let limits = Limits::default();
    let mut builder = FormatBuilder { terms: &mut terms, encoding: &mut encoding, limits: &limits };
    let substituted = expressions::table(&mut builder, MAX_STATES).unwrap().unwrap();
    let regex = expressions::regex(&mut builder).unwrap();
    let determinized = terms.determinize(regex, MAX_STATES).unwrap();
    let [substituted, determinized] = [substituted, determinized].map(|table| terms.table(table));
    assert_eq!(substituted, determinized);
}
