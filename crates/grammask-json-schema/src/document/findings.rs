//! Findings about a schema: errors, unsupported keywords, and annotations that might be mistaken for constraints.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::OnUnsupported;
use crate::document::resources::{Library, Location};
use grammask_diagnostics::{Code, Diagnostic, Severity};

/// The findings so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) errors: Vec<Diagnostic>,
    pub(crate) unsupported: Vec<Diagnostic>,
    pub(crate) warnings: Vec<Diagnostic>,
    reported: FxHashSet<(Code, Location)>,
    /// For each translated schema, its structurally equal copies, which share its translation.
    copies: FxHashMap<Location, FxHashSet<Location>>,
}

/// Maximum number of findings of one severity.
const MAX_FINDINGS: usize = 100;

impl Findings {
    /// Adds a finding, once for each code and location. The location is that of the keyword's value.
    pub(crate) fn add(
        &mut self,
        library: &Library<'_>,
        code: Code,
        at: Location,
        message: String,
        help: &str,
    ) {
        if !self.reported.insert((code, at)) {
            return;
        }
        let list = match code {
            Code::UnsupportedSchema => &mut self.unsupported,
            Code::IgnoredAnnotation => &mut self.warnings,
            _ => &mut self.errors,
        };
        if list.len() >= MAX_FINDINGS {
            return;
        }
        let mut diagnostic = Diagnostic::error(code, message).at_pointer(library.pointer(at));
        if code == Code::IgnoredAnnotation {
            diagnostic.severity = Severity::Warning;
        }
        if library.is_own(at) {
            diagnostic = diagnostic.at(library.document(at).span(at.value));
        }
        if !help.is_empty() {
            diagnostic = diagnostic.help(help);
        }
        list.push(diagnostic);
    }

    /// Records that the schema at `copy` is structurally equal to the one at `first`, so it has the same findings.
    pub(crate) fn record_copy(&mut self, first: Location, copy: Location) {
        self.copies.entry(first).or_default().insert(copy);
    }

    /// Adds the findings of each schema to its copies.
    pub(crate) fn copy_to_duplicates(&mut self, library: &Library<'_>) {
        if self.copies.is_empty() {
            return;
        }
        let mut all: Vec<(Code, Location)> = self.reported.iter().copied().collect();
        let mut next = 0;
        let mut copied = Vec::new();
        while let Some(&(code, at)) = all.get(next) {
            next += 1;
            // The enclosing schemas, from the innermost.
            let mut steps: Vec<Location> = vec![at];
            while let Some(&schema) = steps.last() {
                for &copy in self.copies.get(&schema).into_iter().flatten() {
                    let Some(other) = library.corresponding_location(&steps, copy) else { continue };
                    if all.len() <= MAX_FINDINGS && self.reported.insert((code, other)) {
                        all.push((code, other));
                        copied.push((code, at, other));
                    }
                }
                match library.parent(schema) {
                    Some(parent) => steps.push(parent),
                    None => break,
                }
            }
        }
        for (code, at, other) in copied {
            let list = match code {
                Code::UnsupportedSchema => &mut self.unsupported,
                Code::IgnoredAnnotation => &mut self.warnings,
                _ => &mut self.errors,
            };
            let pointer = library.pointer(at);
            let is_original =
                |finding: &&Diagnostic| finding.code == code && finding.pointer.as_ref() == Some(&pointer);
            let Some(finding) = list.iter().find(is_original).filter(|_| list.len() < MAX_FINDINGS) else {
                continue;
            };
            let mut copy = finding.clone().at_pointer(library.pointer(other));
            if library.is_own(other) {
                copy = copy.at(library.document(other).span(other.value));
            }
            list.push(copy);
        }
    }

    /// The errors, including unsupported keywords if these are errors, in source order.
    pub(crate) fn take_errors(&mut self, on_unsupported: OnUnsupported) -> Vec<Diagnostic> {
        let mut errors = std::mem::take(&mut self.errors);
        match on_unsupported {
            OnUnsupported::Refuse => errors.append(&mut self.unsupported),
            OnUnsupported::Relax => {
                for relaxation in &mut self.unsupported {
                    relaxation.severity = Severity::Warning;
                }
            }
        }
        for list in [&mut errors, &mut self.unsupported, &mut self.warnings] {
            list.sort_by_key(|finding| finding.span.map_or(usize::MAX, |span| span.start));
        }
        errors
    }
}
