//! Every input on which a fuzz target has failed, from `testdata/fuzz`, with a folder per target. Grammars with a
//! vocabulary and a walk are cases of `testdata/conformance` instead.

use std::path::PathBuf;

use grammask::EndMode;

fn cases(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fuzz").join(target);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let content = std::fs::read(&path).expect("a readable file");
        println!("{}", path.display());
        (path, content)
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn kbnf_texts() {
    for (_, text) in cases("kbnf_parse") {
        crate::fuzzed::kbnf_text(&text);
    }
}

/// A text, a zero byte, and a pattern.
#[test]
fn patterns() {
    for (path, case) in cases("regex") {
        let end = case.iter().position(|&byte| byte == 0).expect("a case has a zero byte");
        let pattern = std::str::from_utf8(&case[end + 1..])
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        crate::fuzzed::pattern(pattern, &case[..end]);
    }
}

/// Three bytes that select tokens, and a grammar.
#[test]
fn grammars() {
    for (_, case) in cases("lowering") {
        let (picks, text) = case.split_at(3);
        for end in [EndMode::Eos, EndMode::Eager] {
            crate::fuzzed::grammar_text(text, picks, end);
        }
    }
}

/// JSON texts, most of them schemas.
#[test]
fn schemas() {
    for (_, case) in cases("json_schema") {
        crate::fuzzed::schema_text(&String::from_utf8_lossy(&case));
    }
}
