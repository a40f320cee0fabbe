//! Which keywords of an unsatisfiable schema clash.
//!
//! A smallest set of keywords that no value satisfies is found by leaving keywords out, one at a time, and translating
//! again: it costs as many translations as the schema has keywords at its top, and is only done for an error message.

use crate::document::json::{Document, Value};
use crate::{OnUnsupported, SchemaOptions};
use grammask_diagnostics::{Code, Diagnostic, Limits};

/// More keywords than this are not tried out.
const MOST_KEYWORDS: usize = 24;

/// The error for a schema that nothing satisfies.
pub(super) fn conflict(schema: &str, options: &SchemaOptions, limits: &Limits) -> Diagnostic {
    let message = match options.excludes[..] {
        [] => "no value satisfies the schema",
        _ => "no value that satisfies the schema can be written without the excluded words",
    };
    let error = Diagnostic::error(Code::UnsatisfiableSchema, message).at_pointer("#");
    let Ok(document) = Document::parse(schema) else { return error };
    let Value::Object(members) = document.get(document.root()) else { return error };
    let mut kept: Vec<usize> = (0..members.len()).collect();
    if members.len() > MOST_KEYWORDS {
        return error;
    }
    let options = SchemaOptions { on_unsupported: OnUnsupported::Relax, ..options.clone() };
    for index in 0..members.len() {
        if matches!(&*members[index].0, "$schema" | "$id" | "id" | "$defs" | "definitions") {
            continue;
        }
        let without: Vec<usize> = kept.iter().copied().filter(|&other| other != index).collect();
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
            kept = without;
        }
    }
    let names: Vec<String> = kept
        .iter()
        .map(|&index| &*members[index].0)
        .filter(|name| !matches!(*name, "$schema" | "$id" | "id" | "$defs" | "definitions"))
        .map(|name| format!("`{name}`"))
        .collect();
    match &names[..] {
        [] => error,
        [only] => error.help(format!("{only} cannot be satisfied")),
        _ => error.help(format!("{} clash", names.join(" and "))),
    }
}

fn is_unsatisfiable(schema: &str, options: &SchemaOptions, limits: &Limits) -> bool {
    use crate::document::resources::Library;
    use crate::translation::Translation;
    let Ok(document) = Document::parse(schema) else { return false };
    let mut translation = Translation::new(Library::new(document, options), options, limits);
    let root = translation.library.root();
    let scope = translation.library.first_scope();
    let whole = translation.satisfies(root, scope);
    let Ok(start) = translation.translate(whole) else { return false };
    !translation.rules.derives_something(start)
}
