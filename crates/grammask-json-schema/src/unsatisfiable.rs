//! The conflicting keywords of an unsatisfiable schema, for its error message.
//!
//! A minimal unsatisfiable set of keywords is found by deletion: keywords are removed one at a time, and the smaller
//! schema is translated again. Cost: one translation for each keyword of the schema. Where a required member has no
//! value, the search goes on in its schema.

use crate::document::json::{Document, Value, ValueId};
use crate::document::resources::Library;
use crate::strings::string_encoding::EncodingKind;
use crate::{OnUnsupported, SchemaOptions, layers};
use grammask_diagnostics::{Code, Diagnostic, Limits};

/// Bound on the number of keywords; larger schemas get no explanation.
const MAX_KEYWORDS: usize = 24;

/// Bound on the nesting of members in which the search goes on.
const MAX_DEPTH: usize = 16;

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
    let error = Diagnostic::error(Code::UnsatisfiableSchema, message);
    if is_infinite {
        return error.at_pointer("#").help("a reference back to a schema around it has to be optional");
    }
    let Ok(document) = Document::parse(schema) else { return error.at_pointer("#") };
    let options = SchemaOptions { on_unsupported: OnUnsupported::Relax, ..options.clone() };
    let search = ConflictSearch { schema, document, options: &options, limits };
    let mut place = search.document.root();
    let mut keywords = search.conflicting_keywords(place);
    for _ in 0..MAX_DEPTH {
        let Some(member) = search.impossible_member(place, &keywords) else { break };
        place = member;
        keywords = search.conflicting_keywords(place);
    }
    let error = error.at_pointer(search.document.pointer(place));
    let names: Vec<String> = keywords.iter().map(|keyword| format!("`{keyword}`")).collect();
    match &names[..] {
        [] => error,
        [only] => error.help(format!("{only} cannot be satisfied")),
        _ => error.help(format!("{} clash", names.join(" and "))),
    }
}

/// A search for the part of a schema that makes it unsatisfiable.
struct ConflictSearch<'s> {
    schema: &'s str,
    document: Document,
    options: &'s SchemaOptions,
    limits: &'s Limits,
}

impl ConflictSearch<'_> {
    /// The keywords of a minimal unsatisfiable part of the schema at `place`; empty if there is no small one.
    fn conflicting_keywords(&self, place: ValueId) -> Vec<&str> {
        let Value::Object(members) = self.document.get(place) else { return Vec::new() };
        if members.len() > MAX_KEYWORDS {
            return Vec::new();
        }
        let is_neutral = |index: &usize| NEUTRAL_KEYWORDS.contains(&&*members[*index].0);
        let mut needed: Vec<usize> = (0..members.len()).filter(|index| !is_neutral(index)).collect();
        // References lead to the definitions of the whole schema.
        let mut fixed = self.root_definitions();
        for index in needed.clone() {
            let without: Vec<usize> = needed.iter().copied().filter(|&other| other != index).collect();
            let fixed_members = fixed.len();
            fixed.extend(without.iter().map(|&other| self.member_text(place, other)));
            if self.is_unsatisfiable(&format!("{{{}}}", fixed.join(","))) {
                needed = without;
            }
            fixed.truncate(fixed_members);
        }
        needed.into_iter().map(|index| &*members[index].0).collect()
    }

    /// The schema of a required member that no value satisfies, if `keywords`, which clash, only describe members.
    fn impossible_member(&self, place: ValueId, keywords: &[&str]) -> Option<ValueId> {
        if !keywords.iter().all(|keyword| matches!(*keyword, "type" | "required" | "properties")) {
            return None;
        }
        let properties = self.document.member(place, "properties")?;
        let Value::Array(required) = self.document.get(self.document.member(place, "required")?) else {
            return None;
        };
        required.iter().find_map(|&name| {
            let Value::String(name) = self.document.get(name) else { return None };
            let member = self.document.member(properties, name)?;
            let span = self.document.span(member);
            let mut parts: Vec<&str> = self.root_definitions();
            let schema = format!("\"allOf\":[{}]", &self.schema[span.start..span.end]);
            parts.push(&schema);
            self.is_unsatisfiable(&format!("{{{}}}", parts.join(","))).then_some(member)
        })
    }

    /// The neutral members of the whole schema, as JSON.
    fn root_definitions(&self) -> Vec<&str> {
        let root = self.document.root();
        let Value::Object(members) = self.document.get(root) else { return Vec::new() };
        (0..members.len())
            .filter(|&index| NEUTRAL_KEYWORDS.contains(&&*members[index].0))
            .map(|index| self.member_text(root, index))
            .collect()
    }

    /// A member of the object at `place` as JSON: its name and its value.
    fn member_text(&self, place: ValueId, index: usize) -> &str {
        let Value::Object(members) = self.document.get(place) else { return "" };
        let start = match index {
            0 => self.document.span(place).start + 1,
            _ => self.document.span(members[index - 1].1).end,
        };
        let text = &self.schema[start..self.document.span(members[index].1).end];
        text.trim_start().trim_start_matches(',')
    }

    fn is_unsatisfiable(&self, schema: &str) -> bool {
        let Ok(document) = Document::parse(schema) else { return false };
        let library = Library::new(document, self.options);
        let encoding = EncodingKind::Json(self.options.escapes);
        let (mut sets, mut emitter) = layers(encoding, library, self.options, self.limits);
        let root = sets.root();
        let Ok(start) = emitter.emit(&mut sets, root) else { return false };
        !emitter.rules.is_productive(start)
    }
}
