//! The repository's conventions, as tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use xtask::{Repository, without_tests, words};

static REPOSITORY: LazyLock<Repository> = LazyLock::new(Repository::read);

/// Names that say nothing about the contents of a file.
const COLLECTIVE_NAMES: [&str; 9] =
    ["base", "common", "helper", "helpers", "impl", "inner", "misc", "util", "utils"];

/// Files that may contain `unsafe`.
const FILES_WITH_UNSAFE: [&str; 4] = [
    "crates/grammask-python/src/allocator.rs",
    "crates/grammask-python/src/mask_array.rs",
    "crates/grammask-python/src/mapped_file.rs",
    "crates/grammask-python/src/masked_logits.rs",
];

/// Maximum number of type names that are defined in several files.
const MAX_HOMONYMS: usize = 10;
/// Maximum number of parameters that are patterns of tuples.
const MAX_TUPLE_PARAMETERS: usize = 3;

fn rust_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    REPOSITORY.files(&["rs"])
}

/// Rust files of the crates without their tests, and the part of each before its test module.
fn production_code() -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_production = |path: &str| path.starts_with("crates/") && !path.contains("/tests");
    rust_files().filter(move |(path, _)| is_production(path)).map(|(path, text)| (path, without_tests(text)))
}

#[test]
fn a_rust_file_begins_with_its_purpose() {
    let missing: Vec<_> = rust_files().filter(|(_, text)| !text.starts_with("//! ")).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn files_are_named_for_their_job() {
    let is_collective = |path: &str| {
        path.split('/').any(|part| COLLECTIVE_NAMES.contains(&part.split('.').next().unwrap_or_default()))
    };
    let found: Vec<_> = REPOSITORY
        .files(&["rs", "py", "pyi"])
        .map(|(path, _)| path)
        .filter(|path| is_collective(path))
        .collect();
    assert!(found.is_empty(), "{found:?}");
}

/// A file of tests that no module declares would not run.
#[test]
fn every_test_file_of_the_engine_is_a_module() {
    const FOLDER: &str = "crates/grammask/tests/";
    let main = REPOSITORY.text(&format!("{FOLDER}main.rs"));
    let declared: BTreeSet<_> =
        main.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
    let files = rust_files().filter_map(|(path, _)| path.strip_prefix(FOLDER)?.split(['/', '.']).next());
    let missing: BTreeSet<_> = files.filter(|file| *file != "main" && !declared.contains(file)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn only_the_bindings_know_python() {
    let engine = REPOSITORY
        .files(&["rs", "toml"])
        .filter(|(path, _)| path.starts_with("crates/") && !path.starts_with("crates/grammask-python/"));
    let found = Repository::lines_where(engine, |line| line.contains("pyo3") || line.contains("PyResult"));
    assert!(found.is_empty(), "{found:#?}");
}

/// The compiler forbids `unsafe` in all crates but the bindings, where it is allowed in the files above.
#[test]
fn unsafe_code_stays_in_its_files() {
    for (path, text) in REPOSITORY.files(&["toml", "rs"]).filter(|(path, _)| path.starts_with("crates/")) {
        let is_bindings = path.starts_with("crates/grammask-python/");
        if path.ends_with("/Cargo.toml") {
            assert!(text.contains("[lints]\nworkspace = true"), "{path} does not inherit the lints");
        } else if path.ends_with("/src/lib.rs") && !is_bindings {
            assert!(text.contains("\n#![forbid(unsafe_code)]"), "{path} does not forbid unsafe code");
        }
    }
    let others = rust_files().filter(|(path, _)| !FILES_WITH_UNSAFE.contains(path));
    let found = Repository::lines_where(others, |line| line.contains(concat!("allow(", "unsafe_code)")));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn nothing_unfinished_remains() {
    let words_of_drafts = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("X", "XX"),
        concat!("todo", "!"),
        concat!("unimplemented", "!"),
        concat!("dbg", "!"),
    ];
    let files = REPOSITORY.files(&["rs", "py", "pyi", "toml", "md"]);
    let found =
        Repository::lines_where(files, |line| words(line).any(|word| words_of_drafts.contains(&word)));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_path_of_a_machine_is_written() {
    let folders = ["home", "root", "Users", "work", "opt", "tmp", "var"];
    let has_path = |line: &str| {
        line.match_indices('/').any(|(at, _)| {
            let is_inside =
                line[..at].ends_with(|before: char| before.is_alphanumeric() || "_.*)]}".contains(before));
            let rest = &line[at + 1..];
            !is_inside
                && folders.iter().any(|folder| {
                    rest.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).is_some_and(|rest| {
                        rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')
                    })
                })
        })
    };
    let found = Repository::lines_where(REPOSITORY.all_files(), has_path);
    assert!(found.is_empty(), "{found:#?}");
}

/// Each crate's row of the table in ARCHITECTURE.md names exactly its dependencies on other crates of the workspace.
#[test]
fn the_architecture_names_the_dependencies_of_each_crate() {
    let architecture = REPOSITORY.text("ARCHITECTURE.md");
    let manifests = REPOSITORY.files(&["toml"]).filter_map(|(path, text)| {
        let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
        Some((name, text.parse::<toml::Table>().expect("a manifest is TOML")))
    });
    for (name, manifest) in manifests {
        let prefix = format!("| `crates/{name}/` |");
        let row = architecture.lines().find(|line| line.starts_with(&prefix));
        let row = row.unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for {name}"));
        let uses = row.split('|').nth(3).unwrap_or_default();
        let documented: BTreeSet<&str> =
            uses.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        let actual: BTreeSet<&str> = dependencies
            .iter()
            .flat_map(|table| table.keys())
            .filter_map(|name| match &**name {
                "grammask" => Some("facade"),
                name => name.strip_prefix("grammask-"),
            })
            .collect();
        assert_eq!(documented, actual, "the dependencies of {name}");
    }
}

/// A folder of a crate is named in the crate's row, relative to `src`; other folders are named by their full path.
#[test]
fn the_architecture_names_every_source_folder() {
    let architecture = REPOSITORY.text("ARCHITECTURE.md");
    let mut missing = BTreeSet::new();
    for (path, _) in REPOSITORY.files(&["rs", "py"]) {
        let Some((folder, file)) = path.rsplit_once('/') else { continue };
        if !matches!(file, "mod.rs" | "lib.rs" | "__init__.py") || path.split('/').any(|part| part == "tests")
        {
            continue;
        }
        let (row, name) = match folder.split_once("/src") {
            Some((top, inside)) => (format!("`{top}/`"), inside.trim_start_matches('/')),
            None => (String::new(), folder),
        };
        let is_named =
            |line: &str| line.contains(&row) && (name.is_empty() || line.contains(&format!("`{name}/`")));
        if !architecture.lines().any(is_named) {
            missing.insert(folder);
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

/// One thing per word: a type name stands for one type, whatever its module.
#[test]
fn type_names_have_one_meaning() {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, text) in production_code() {
        for line in text.lines() {
            let mut parts = line.split_whitespace().skip_while(|part| part.starts_with("pub"));
            if matches!(parts.next(), Some("struct" | "enum" | "trait")) {
                let name = parts.next().unwrap_or_default();
                let end = name.find(|character: char| !character.is_alphanumeric()).unwrap_or(name.len());
                places.entry(&name[..end]).or_default().push(path);
            }
        }
    }
    let homonyms: Vec<_> = places.iter().filter(|(_, files)| files.len() > 1).collect();
    assert!(homonyms.len() <= MAX_HOMONYMS, "{} homonyms: {homonyms:#?}", homonyms.len());
}

/// Parameters that belong together are a struct with a name.
#[test]
fn parameters_are_no_tuples() {
    let is_tuple = |line: &str| {
        let Some(rest) = line.trim_start().strip_prefix('(') else { return false };
        let Some((names, kind)) = rest.split_once("): ") else { return false };
        let are_names = names.split(", ").all(|name| {
            let name = name.trim_start_matches("mut ");
            !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || character == '_')
        });
        names.contains(", ") && are_names && kind.starts_with('(')
    };
    let found = Repository::lines_where(production_code(), is_tuple);
    assert!(found.len() <= MAX_TUPLE_PARAMETERS, "{} tuple parameters: {found:#?}", found.len());
}

/// The version of Rust is stated once, in the workspace's manifest; all crates inherit it.
#[test]
fn the_rust_version_is_stated_once() {
    let manifest: toml::Table = REPOSITORY.text("Cargo.toml").parse().expect("a manifest is TOML");
    let version = manifest["workspace"]["package"]["rust-version"].as_str().expect("a version");
    let found = Repository::lines_where(REPOSITORY.files(&["toml", "md"]), |line| {
        line.contains(&format!("Rust {version}")) || line.contains("rust-version = \"")
    });
    assert_eq!(found.len(), 1, "{found:#?}");
    for (path, text) in REPOSITORY.files(&["toml"]) {
        if path.starts_with("crates/") && path.ends_with("/Cargo.toml") {
            assert!(text.contains("rust-version.workspace = true"), "{path} does not inherit the version");
        }
    }
}
