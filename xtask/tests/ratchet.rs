//! Counts that may fall but not rise, such as lines of source: `xtask/ratchet.toml` has their maxima.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use xtask::imports::Imports;
use xtask::{Repository, without_tests};

static REPOSITORY: LazyLock<Repository> = LazyLock::new(Repository::read);

const NUMERIC_TYPES: [&str; 14] =
    ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64"];

/// A count, and what explains it: the files of a circle, the name of a trait.
struct Count {
    number: usize,
    detail: String,
}

impl Count {
    fn of(number: usize) -> Self {
        Self { number, detail: String::new() }
    }
}

/// Rust sources of the crates without tests.
fn sources() -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_source = |path: &str| {
        path.starts_with("crates/")
            && path.split_once("/src/").is_some_and(|(_, file)| !file.contains("tests"))
    };
    let files = REPOSITORY.files(&["rs"]).filter(move |(path, _)| is_source(path));
    files.map(|(path, text)| (path, without_tests(text)))
}

fn crate_of(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or_default()
}

fn is_numeric_constant(line: &str) -> bool {
    let Some((before, rest)) = line.split_once("const ") else { return false };
    let visibility = before.trim();
    let Some((kind, value)) = rest.split_once(": ").and_then(|(_, rest)| rest.split_once(" = ")) else {
        return false;
    };
    (visibility.is_empty() || visibility.starts_with("pub"))
        && NUMERIC_TYPES.contains(&kind)
        && value.trim_start_matches('-').starts_with(|first: char| first.is_ascii_digit())
}

/// The trait with most methods in a file.
fn largest_trait(text: &str) -> Option<Count> {
    let mut largest: Option<Count> = None;
    let mut current: Option<Count> = None;
    for line in text.lines() {
        if line.starts_with('}') {
            largest = largest.into_iter().chain(current.take()).max_by_key(|count| count.number);
        } else if let Some((visibility, name)) = line.split_once("trait ")
            && (visibility.is_empty() || visibility.starts_with("pub"))
        {
            current = Some(Count { number: 0, detail: name.trim_end_matches(" {").to_owned() });
        } else if line.starts_with("    fn ") {
            current.iter_mut().for_each(|count| count.number += 1);
        }
    }
    largest
}

/// All counts, by section and name as in the file.
fn counts() -> BTreeMap<(&'static str, String), Count> {
    let mut counts = BTreeMap::new();
    for (path, text) in sources() {
        let lines = counts.entry(("lines", crate_of(path).to_owned())).or_insert_with(|| Count::of(0));
        lines.number += text.lines().count();
    }
    let python = REPOSITORY.files(&["py"]).filter(|(path, _)| path.starts_with("python/grammask/"));
    let lines_of_python = python.map(|(_, text)| text.lines().count()).sum();
    counts.insert(("lines", "python".to_owned()), Count::of(lines_of_python));
    for name in sources().map(|(path, _)| crate_of(path)).collect::<BTreeSet<_>>() {
        let imports = Imports::of_folder(&REPOSITORY, &format!("crates/{name}/src/"));
        let circle = imports.largest_circle();
        counts.insert(
            ("largest_circle_of_imports", name.to_owned()),
            Count { number: circle.len(), detail: circle.join(", ") },
        );
    }
    let constants = sources().flat_map(|(_, text)| text.lines()).filter(|line| is_numeric_constant(line));
    counts.insert(("repository", "numeric_constants".to_owned()), Count::of(constants.count()));
    let trait_ = sources().filter_map(|(_, text)| largest_trait(text)).max_by_key(|count| count.number);
    counts.insert(("repository", "methods_of_largest_trait".to_owned()), trait_.expect("there are traits"));
    let pages = REPOSITORY.files(&["md"]).filter(|(path, _)| path.starts_with("docs/"));
    counts.insert(("repository", "pages_of_documentation".to_owned()), Count::of(pages.count()));
    counts
}

#[test]
fn no_count_rises() {
    let maxima: toml::Table = REPOSITORY.text("xtask/ratchet.toml").parse().expect("the maxima are TOML");
    let counts = counts();
    let mut wrong = Vec::new();
    for ((section, name), Count { number, detail }) in &counts {
        let max =
            maxima.get(*section).and_then(|section| section.get(name)).and_then(toml::Value::as_integer);
        match max.and_then(|max| usize::try_from(max).ok()) {
            Some(max) if *number > max => {
                wrong.push(format!("{section}.{name}: {number}, more than {max} {detail}"))
            }
            Some(_) => {}
            None => wrong.push(format!("{section}.{name}: {number}, without a maximum {detail}")),
        }
    }
    for (section, names) in &maxima {
        for name in names.as_table().into_iter().flat_map(|names| names.keys()) {
            if !counts.keys().any(|(own, counted)| own == section && counted == name) {
                wrong.push(format!("{section}.{name}: nothing is counted"));
            }
        }
    }
    assert!(wrong.is_empty(), "see xtask/ratchet.toml: {wrong:#?}");
}
