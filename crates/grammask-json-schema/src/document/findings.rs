//! What is wrong with a schema, what cannot be enforced, and what only looks like a constraint.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::OnUnsupported;
use crate::document::resources::{Library, Location};
use grammask_diagnostics::{Code, Diagnostic, Severity};

/// Everything that was found so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) errors: Vec<Diagnostic>,
    pub(crate) unsupported: Vec<Diagnostic>,
    pub(crate) warnings: Vec<Diagnostic>,
    said: FxHashSet<(Code, Location)>,
    /// Schemas that say the same as one that was translated for all of them, by that one.
    copies: FxHashMap<Location, FxHashSet<Location>>,
}

/// Past this many findings of one kind, more help nobody.
const MOST: usize = 100;

impl Findings {
    /// Notes something once for each place. The place is that of the keyword's value.
    pub(crate) fn add(
        &mut self,
        library: &Library<'_>,
        code: Code,
        at: Location,
        message: String,
        help: &str,
    ) {
        if !self.said.insert((code, at)) {
            return;
        }
        let list = match code {
            Code::UnsupportedSchema => &mut self.unsupported,
            Code::IgnoredAnnotation => &mut self.warnings,
            _ => &mut self.errors,
        };
        if list.len() >= MOST {
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

    /// Notes that the schema at `copy` says the same as the one at `first`, and what is found in one is in the other.
    pub(crate) fn repeat(&mut self, first: Location, copy: Location) {
        self.copies.entry(first).or_default().insert(copy);
    }

    /// Says what was found at all places where the same stands.
    pub(crate) fn spread(&mut self, library: &Library<'_>) {
        if self.copies.is_empty() {
            return;
        }
        let mut found: Vec<(Code, Location)> = self.said.iter().copied().collect();
        let mut next = 0;
        let mut spread = Vec::new();
        while let Some(&(code, at)) = found.get(next) {
            next += 1;
            // The schemas that the place is in, from the inside.
            let mut steps: Vec<Location> = vec![at];
            while let Some(&schema) = steps.last() {
                for &copy in self.copies.get(&schema).into_iter().flatten() {
                    let Some(other) = library.same_place(&steps, copy) else { continue };
                    if found.len() <= MOST && self.said.insert((code, other)) {
                        found.push((code, other));
                        spread.push((code, at, other));
                    }
                }
                match library.parent(schema) {
                    Some(parent) => steps.push(parent),
                    None => break,
                }
            }
        }
        for (code, at, other) in spread {
            let list = match code {
                Code::UnsupportedSchema => &mut self.unsupported,
                Code::IgnoredAnnotation => &mut self.warnings,
                _ => &mut self.errors,
            };
            let pointer = library.pointer(at);
            let known =
                |finding: &&Diagnostic| finding.code == code && finding.pointer.as_ref() == Some(&pointer);
            let Some(finding) = list.iter().find(known).filter(|_| list.len() < MOST) else { continue };
            let mut copy = finding.clone().at_pointer(library.pointer(other));
            if library.is_own(other) {
                copy = copy.at(library.document(other).span(other.value));
            }
            list.push(copy);
        }
    }

    /// The errors, with what is unsupported where that is to be refused, in the order of the text.
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
