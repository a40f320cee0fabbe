//! What is wrong with a schema, what cannot be enforced, and what only looks like a constraint.

use rustc_hash::FxHashSet;

use super::OnUnsupported;
use super::resources::{Library, Location};
use crate::grammar::{Code, Diagnostic, Severity};

/// Everything that was found so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<Diagnostic>,
    pub(super) unsupported: Vec<Diagnostic>,
    pub(super) warnings: Vec<Diagnostic>,
    said: FxHashSet<(Code, Location)>,
}

/// Past this many findings of one kind, more help nobody.
const MOST: usize = 100;

impl Findings {
    /// Notes something once for each place. The place is that of the keyword's value.
    pub(super) fn add(
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

    /// The errors, with what is unsupported where that is to be refused, in the order of the text.
    pub(super) fn take_errors(&mut self, on_unsupported: OnUnsupported) -> Vec<Diagnostic> {
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
