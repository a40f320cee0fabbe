//! Golden data: each grammar of `testdata/lowering`, printed after every pass that changes it.
//!
//! `NAME.kbnf` is the grammar and `NAME.txt` the results of the passes, in their order. `GRAMMASK_UPDATE=1 cargo test
//! --test lowering_goldens` rewrites the files; review the difference.

use std::fmt::Write;
use std::path::PathBuf;

use grammask_diagnostics::Limits;
use grammask_earley::lowering::lower_watched;
use grammask_frontends::kbnf;

#[test]
fn every_pass_makes_what_the_golden_files_say() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/lowering");
    let mut grammars: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder of golden files")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "kbnf"))
        .collect();
    grammars.sort();
    assert!(!grammars.is_empty());
    let mut wrong = Vec::new();
    for path in grammars {
        let text = std::fs::read(&path).expect("a readable file");
        let found = passes(&text);
        let golden = path.with_extension("txt");
        if std::env::var_os("GRAMMASK_UPDATE").is_some() {
            std::fs::write(&golden, &found).expect("a writable file");
        } else if std::fs::read_to_string(&golden).ok().as_ref() != Some(&found) {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "these differ from their golden files:\n{}", wrong.join("\n"));
}

/// The grammar, and its text after each pass that changes it.
fn passes(text: &[u8]) -> String {
    let limits = Limits::default();
    let (grammar, _) = match kbnf::grammar(text, "start", &limits) {
        Ok(grammar) => grammar,
        Err(error) => return error.to_string(),
    };
    let mut last = grammar.to_string();
    let mut out = format!("--- ir\n{last}");
    let result = lower_watched(&grammar, &limits, &mut |pass, stage| {
        let text = stage.to_string();
        if text != last {
            let _ = write!(out, "--- {pass}\n{text}");
            last = text;
        }
    });
    match result {
        Ok(lowered) => {
            for warning in lowered.warnings {
                let _ = writeln!(out, "--- warning\n{}", warning.render(grammar.source()));
            }
        }
        Err(error) => {
            let _ = writeln!(out, "--- error\n{error}");
        }
    }
    out
}
