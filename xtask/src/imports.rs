//! The imports between the files of a crate, tests left out, and the circles that they form.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Repository, without_tests};

/// For each module of a crate, the modules that its file names in `use` declarations and paths. The root of the crate, which
/// names all others, is left out.
pub struct Imports<'r> {
    by_module: BTreeMap<String, BTreeSet<String>>,
    texts: BTreeMap<String, &'r str>,
}

impl<'r> Imports<'r> {
    /// The imports between the files of a folder such as `crates/grammask/src/`.
    #[must_use]
    pub fn of_folder(repository: &'r Repository, folder: &str) -> Self {
        let texts: BTreeMap<String, &str> = repository
            .files(&["rs"])
            .filter_map(|(path, text)| Some((path.strip_prefix(folder)?, without_tests(text))))
            .filter(|(path, _)| !path.contains("tests"))
            .map(|(path, text)| (module_of(path), text))
            .collect();
        let mut imports = Self { by_module: BTreeMap::new(), texts };
        imports.by_module = imports.texts.iter().map(|(module, text)| imports.entry(module, text)).collect();
        imports.by_module.remove("");
        imports
    }

    /// Each import, as the module that imports and the one that is imported.
    pub fn arrows(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_module.iter().flat_map(|(from, to)| to.iter().map(move |to| (&**from, &**to)))
    }

    /// The largest set of modules that all reach each other.
    #[must_use]
    pub fn largest_circle(&self) -> Vec<&str> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.by_module.keys().map(|module| (&**module, self.reached_from(module))).collect();
        let circle_of = |module: &str| -> Vec<&str> {
            reached[module].iter().copied().filter(|other| reached[other].contains(module)).collect()
        };
        reached.keys().map(|module| circle_of(module)).max_by_key(Vec::len).unwrap_or_default()
    }

    fn reached_from<'a>(&'a self, start: &'a str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut stack = vec![start];
        while let Some(module) = stack.pop() {
            let new = self.by_module[module].iter().map(|target| &**target);
            stack.extend(new.filter(|target| reached.insert(*target)));
        }
        reached
    }

    fn entry(&self, module: &str, text: &str) -> (String, BTreeSet<String>) {
        let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        let code = lines.collect::<Vec<_>>().join("\n");
        let mut paths = Vec::new();
        for (at, start) in code.match_indices("crate::").chain(code.match_indices("super::")) {
            let before = &code[..at];
            // `pub(in crate::a)` is no import.
            let is_inside = before.ends_with("(in ")
                || before.ends_with(|last: char| last.is_alphanumeric() || last == ':' || last == '_');
            if !is_inside {
                let mut prefix = if start == "crate::" { "" } else { module }.to_owned();
                let rest = code[at..].trim_start_matches("crate::");
                let inner = rest.trim_start_matches("super::");
                for _ in 0..(rest.len() - inner.len()) / "super::".len() {
                    prefix.truncate(prefix.rfind("::").unwrap_or(0));
                }
                read_tree(&prefix, inner, &mut paths);
            }
        }
        // A module that re-exports an item of a child.
        for (at, _) in code.match_indices("use ") {
            read_tree(module, &code[at + 4..], &mut paths);
        }
        let targets = paths.iter().filter_map(|path| self.file_of(path)).filter(|target| target != module);
        (module.to_owned(), targets.collect())
    }

    /// The module whose file has the item at a path; `None` for the root.
    fn file_of(&self, path: &str) -> Option<String> {
        let mut module = path;
        while !module.is_empty() && !self.texts.contains_key(module) {
            module = &module[..module.rfind("::").unwrap_or(0)];
        }
        (!module.is_empty()).then(|| module.to_owned())
    }
}

fn module_of(path: &str) -> String {
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("mod").filter(|path| path.ends_with('/')).unwrap_or(path);
    if path == "lib" { String::new() } else { path.trim_end_matches('/').replace('/', "::") }
}

/// Appends the paths of a `use` tree such as `a::{b, c::d}`; returns the rest of the text.
fn read_tree<'t>(prefix: &str, text: &'t str, paths: &mut Vec<String>) -> &'t str {
    let text = text.trim_start();
    let is_part = |character: char| character.is_alphanumeric() || "_:".contains(character);
    let end = text.find(|character| !is_part(character)).unwrap_or(text.len());
    let separator = if prefix.is_empty() || end == 0 { "" } else { "::" };
    let path = format!("{prefix}{separator}{}", text[..end].trim_end_matches(':'));
    let mut rest = &text[end..];
    if !rest.starts_with('{') || !text[..end].ends_with(':') && end > 0 {
        paths.push(path);
        return rest;
    }
    while !rest.is_empty() && !rest.starts_with('}') {
        rest = read_tree(&path, &rest[1..], paths).trim_start();
        let next = rest.find([',', '}']).unwrap_or(rest.len());
        rest = &rest[next..];
    }
    rest.get(1..).unwrap_or_default()
}
