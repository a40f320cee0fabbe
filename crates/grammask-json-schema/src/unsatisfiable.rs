//! The conflicting keywords of an unsatisfiable schema, for its error message.
//!
//! A minimal unsatisfiable set of keywords is found by deletion: keywords are removed one at a time, and the smaller
//! schema is translated again. Cost: one translation for each keyword of the root schema.

use crate::document::json::{Document, Value};
use crate::document::resources::Library;
use crate::emit::emitter::Emitter;
use crate::strings::string_encoding::EncodingKind;
use crate::values::value_sets::ValueSets;
use crate::{OnUnsupported, SchemaOptions};
use grammask_diagnostics::{Code, Diagnostic, Limits};

/// Bound on the number of keywords; larger schemas get no explanation.
const MAX_KEYWORDS: usize = 24;

/// Keywords that constrain nothing themselves; they are never removed.
const NEUTRAL_KEYWORDS: [&str; 5] = ["$schema", "$id", "id", "$defs", "definitions"];

/// The error for a schema that no value satisfies. `is_infinite`: only values of infinite depth would.
pub(super) fn conflict(
    schema: &str,
    options: &SchemaOptions,
    limits: &Limits,
    is_infinite: bool,
) -> Diagnostic {
    let message = match options.excludes[..] {
        _ if is_infinite => "every value that satisfies the schema would be nested without end",
        [] => "no value satisfies the schema",
        _ => "no value that satisfies the schema can be written without the excluded words",
    };
    let error = Diagnostic::error(Code::UnsatisfiableSchema, message).at_pointer("#");
    if is_infinite {
        return error.help("a reference back to a schema around it has to be optional");
    }
    let Ok(document) = Document::parse(schema) else { return error };
    let Value::Object(members) = document.get(document.root()) else { return error };
    let mut needed: Vec<usize> = (0..members.len()).collect();
    if members.len() > MAX_KEYWORDS {
        return error;
    }
    let is_neutral = |index: usize| NEUTRAL_KEYWORDS.contains(&&*members[index].0);
    let options = SchemaOptions { on_unsupported: OnUnsupported::Relax, ..options.clone() };
    for index in 0..members.len() {
        if is_neutral(index) {
            continue;
        }
        let without: Vec<usize> = needed.iter().copied().filter(|&other| other != index).collect();
        let text: Vec<&str> = without
            .iter()
            .map(|&index| {
                let value = members[index].1;
                let start = if index == 0 {
                    document.span(document.root()).start + 1
                } else {
                    document.span(members[index - 1].1).end
                };
                schema[start..document.span(value).end].trim_start().trim_start_matches(',')
            })
            .collect();
        let smaller = format!("{{{}}}", text.join(","));
        if is_unsatisfiable(&smaller, &options, limits) {
            needed = without;
        }
    }
    let names: Vec<String> = needed
        .iter()
        .filter(|&&index| !is_neutral(index))
        .map(|&index| format!("`{}`", members[index].0))
        .collect();
    match &names[..] {
        [] => error,
        [only] => error.help(format!("{only} cannot be satisfied")),
        _ => error.help(format!("{} clash", names.join(" and "))),
    }
}

fn is_unsatisfiable(schema: &str, options: &SchemaOptions, limits: &Limits) -> bool {
    let Ok(document) = Document::parse(schema) else { return false };
    let library = Library::new(document, options);
    let mut sets = ValueSets::new(EncodingKind::Json(options.escapes), library, options, limits);
    let mut emitter = Emitter::new(options.whitespace.clone());
    let root = sets.root();
    let Ok(start) = emitter.emit(&mut sets, root) else { return false };
    !emitter.rules.is_productive(start)
}
