//! Findings about a schema: errors, unsupported keywords, annotations that might be mistaken for constraints, and the
//! keywords that became constraints.

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
    /// The values of the keywords that became constraints.
    enforced: FxHashSet<Location>,
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

    /// Adds the unsupported constraint that the value of a keyword describes. It is reported at the schema, without an
    /// excerpt: programs write such schemas, from types whose author never sees them.
    pub(crate) fn add_described(&mut self, library: &Library<'_>, at: Location, message: String) {
        if !self.reported.insert((Code::UnsupportedSchema, at)) || self.unsupported.len() >= MAX_FINDINGS {
            return;
        }
        let schema = library.parent(at).unwrap_or(at);
        let diagnostic = Diagnostic::error(Code::UnsupportedSchema, message)
            .at_pointer(library.pointer(schema))
            .help("`on_unsupported=\"relax\"` leaves the constraint out");
        self.unsupported.push(diagnostic);
    }

    /// Records that the schema at `copy` is structurally equal to the one at `first`, so it has the same findings.
    pub(crate) fn record_copy(&mut self, first: Location, copy: Location) {
        self.copies.entry(first).or_default().insert(copy);
    }

    /// Records that the keyword with the value at `place` became a constraint.
    pub(crate) fn enforce(&mut self, place: Location) {
        self.enforced.insert(place);
    }

    /// Whether the keyword with the value at `place` became a constraint.
    pub(crate) fn is_enforced(&self, place: Location) -> bool {
        self.enforced.contains(&place)
    }

    /// The codes and locations of all findings.
    pub(crate) fn reported(&self) -> impl Iterator<Item = (Code, Location)> {
        self.reported.iter().copied()
    }

    /// The locations in copies of enclosing schemas that correspond to `at`, at most `max`.
    pub(crate) fn duplicates(&self, library: &Library<'_>, at: Location, max: usize) -> Vec<Location> {
        let mut found = Vec::new();
        if self.copies.is_empty() {
            return found;
        }
        // The enclosing schemas, from the innermost.
        let mut steps: Vec<Location> = vec![at];
        while let Some(&schema) = steps.last() {
            let copies = self.copies.get(&schema).into_iter().flatten();
            let copies = copies.filter_map(|&copy| library.corresponding_location(&steps, copy));
            found.extend(copies.take(max - found.len()));
            match library.parent(schema) {
                Some(parent) => steps.push(parent),
                None => break,
            }
        }
        found
    }

    /// Records the constraints of each schema for its copies.
    pub(crate) fn copy_enforced_to_duplicates(&mut self, library: &Library<'_>) {
        let mut pending: Vec<Location> = self.enforced.iter().copied().collect();
        while let Some(at) = pending.pop() {
            let duplicates = self.duplicates(library, at, usize::MAX);
            pending.extend(duplicates.into_iter().filter(|&other| self.enforced.insert(other)));
        }
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
            for other in self.duplicates(library, at, usize::MAX) {
                if all.len() <= MAX_FINDINGS && self.reported.insert((code, other)) {
                    all.push((code, other));
                    copied.push((code, at, other));
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
