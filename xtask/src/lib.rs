//! Checks of the repository's conventions that neither the compiler nor a linter makes; `cargo test` runs them.
//!
//! The layers of the crates need no check here beyond their dependencies: Cargo refuses an import from a crate that is not a
//! dependency. The rules of Python files are in `tests/test_tidy.py` and in the contracts of import-linter.

pub mod imports;

use std::fs;
use std::path::{Path, PathBuf};

/// The sources of the repository, read once.
pub struct Repository {
    root: PathBuf,
    /// All text files with one of the extensions in [`EXTENSIONS`], by path relative to the root with forward slashes.
    files: Vec<(String, String)>,
}

/// Extensions of the files that are read; files without one are read if their name is in [`NAMES`].
const EXTENSIONS: [&str; 7] = ["rs", "py", "pyi", "toml", "md", "yml", "yaml"];
/// Files without extension that are read.
const NAMES: [&str; 2] = ["Makefile", "run"];
/// Folders that hold no sources: outputs of builds, of benchmarks and of the fuzzer.
const GENERATED: [&str; 7] = ["target", "dist", "site", "corpus", "artifacts", "coverage", "__pycache__"];

impl Repository {
    /// Reads the repository that contains this crate.
    ///
    /// # Panics
    ///
    /// If a file cannot be read.
    #[must_use]
    pub fn read() -> Self {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the root folder").to_owned();
        let mut files = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("the folder can be listed") {
                let path = entry.expect("the folder can be listed").path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if path.is_dir() {
                    let is_source = name == ".ci" || !name.starts_with('.') && !GENERATED.contains(&&*name);
                    folders.extend(is_source.then_some(path));
                } else if is_text(&path) {
                    let relative = path.strip_prefix(&root).expect("below the root").to_string_lossy();
                    let text =
                        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{relative}: {error}"));
                    files.push((relative.replace('\\', "/"), text));
                }
            }
        }
        files.sort();
        Self { root, files }
    }

    /// The folder of the repository.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Paths and texts of the files with one of some extensions, in the order of the paths.
    pub fn files<'a>(&'a self, extensions: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        let has_extension =
            |path: &str| extensions.iter().any(|extension| path.ends_with(&format!(".{extension}")));
        self.files.iter().filter(move |(path, _)| has_extension(path)).map(|(path, text)| (&**path, &**text))
    }

    /// Paths and texts of all files.
    pub fn all_files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (&**path, &**text))
    }

    /// The text of one file.
    ///
    /// # Panics
    ///
    /// If there is no such file.
    #[must_use]
    pub fn text(&self, path: &str) -> &str {
        let found = self.files.binary_search_by(|(other, _)| (**other).cmp(path));
        &self.files[found.unwrap_or_else(|_| panic!("there is no {path}"))].1
    }

    /// The lines of files that satisfy a condition, as `path:line: text`.
    pub fn lines_where<'a>(
        files: impl Iterator<Item = (&'a str, &'a str)>,
        condition: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let mut found = Vec::new();
        for (path, text) in files {
            for (index, line) in text.lines().enumerate().filter(|(_, line)| condition(line)) {
                found.push(format!("{path}:{}: {}", index + 1, line.trim()));
            }
        }
        found
    }
}

fn is_text(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
    match extension {
        Some(extension) => EXTENSIONS.contains(&&*extension),
        None => NAMES.contains(&&*path.file_name().unwrap_or_default().to_string_lossy()),
    }
}

/// The production code of a Rust file: everything before its test module.
#[must_use]
pub fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

/// The words of a line: runs of letters, digits, `_` and `!`.
pub fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|character: char| !(character.is_alphanumeric() || "_!".contains(character)))
        .filter(|word| !word.is_empty())
}
