//! The conformance cases of GBNF, whose texts and next bytes are tested on the matcher.

use std::path::Path;
use std::sync::Arc;

use grammask::frontends::gbnf::{self, Dialect};
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
    #[derive(Deserialize)]
    struct File {
        case: Vec<TextCase>,
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/conformance/gbnf.toml");
    let file: File = toml::from_str(&std::fs::read_to_string(path).expect("a file")).expect("cases");
    let mut texts = TokenTexts::new();
    (0..=u8::MAX).for_each(|byte| texts.push(&[byte]));
    texts.push_textless();
    let vocabulary = Arc::new(Vocabulary::new(texts, Vec::new(), vec![END], None).expect("a vocabulary"));
    file.case.iter().for_each(|case| check(case, &vocabulary));
}

fn check(case: &TextCase, vocabulary: &Arc<Vocabulary>) {
    let name = &case.name;
    let limits = Limits::default();
    let compiled =
        gbnf::grammar(&case.grammar, &case.start, Dialect::LlamaCpp, &limits).and_then(|(grammar, _)| {
            CompiledGrammar::new(&grammar, vocabulary.clone(), CompileOptions::default())
        });
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) => {
            assert_eq!(Some(error.code().as_str()), case.error.as_deref(), "{name}: {error}");
            let position = error.position().map(|position| [position.line, position.column]);
            assert!(case.at.is_none() || case.at == position, "{name}: {error}");
            return;
        }
    };
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
