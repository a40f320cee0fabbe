//! Structurally equal schemas of a document, each of which is translated once.
//!
//! Generated schemas are repetitive: otherwise twenty copies of a definition would be twenty value sets and twenty sets
//! of rules, and `oneOf` could not detect that two branches agree on a member. Schemas are compared by a 128-bit hash
//! of their keywords without annotations; a schema with a name of its own (`$id`, an anchor) equals no other. Cost:
//! linear in the document.

use rustc_hash::FxHashMap;

use crate::document::json::{Document, Value, ValueId};
use crate::document::resources::subschemas;
use grammask_automata::ContentHasher;

/// Keywords that do not affect validity.
pub(crate) const ANNOTATIONS: [&str; 9] = [
    "title",
    "description",
    "default",
    "examples",
    "example",
    "$comment",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// Keywords that name a schema, or change the interpretation of its subschemas.
const NAMES: [&str; 6] = ["$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema"];

/// For each value that is a schema, the first structurally equal schema.
pub(crate) fn representatives(document: &Document) -> Vec<ValueId> {
    let schemas = schemas(document);
    let annotations = annotations(document, &schemas);
    let mut hashes: Vec<u128> = vec![0; schemas.len()];
    // Children have larger ids than their parents.
    for index in (0..schemas.len()).rev().filter(|&index| !annotations[index]) {
        let is_schema = schemas[index];
        let mut hasher = ContentHasher::new(u64::from(is_schema));
        let value = ValueId::at(index);
        match document.get(value) {
            Value::Null => hasher.write(0),
            Value::Boolean(truth) => hasher.write(1 + u64::from(*truth)),
            Value::Number(text) => {
                hasher.write(3);
                hasher.write_bytes(text.as_bytes());
            }
            Value::String(text) => {
                hasher.write(4);
                hasher.write_bytes(text.as_bytes());
            }
            Value::Array(items) => {
                hasher.write(5);
                hasher.write(items.len() as u64);
                items.iter().for_each(|item| hasher.write_hash(hashes[item.index()]));
            }
            Value::Object(members) => {
                hasher.write(6);
                for (name, member) in members.iter().filter(|(_, member)| !annotations[member.index()]) {
                    if is_schema && NAMES.contains(&&**name) {
                        hasher.write(7);
                        hasher.write(index as u64);
                    }
                    hasher.write(8);
                    hasher.write_bytes(name.as_bytes());
                    hasher.write_hash(hashes[member.index()]);
                }
            }
        }
        hashes[index] = hasher.finish();
    }
    let mut first = FxHashMap::default();
    let representatives = schemas.iter().enumerate().map(|(index, &is_schema)| {
        let value = ValueId::at(index);
        if is_schema { *first.entry(hashes[index]).or_insert(value) } else { value }
    });
    representatives.collect()
}

/// The values that are annotations. Hashing skips them, since descriptions are long.
fn annotations(document: &Document, schemas: &[bool]) -> Vec<bool> {
    let mut annotations = vec![false; document.len()];
    for index in (0..document.len()).filter(|&index| schemas[index]) {
        if let Value::Object(members) = document.get(ValueId::at(index)) {
            for (_, member) in members.iter().filter(|(name, _)| ANNOTATIONS.contains(&&**name)) {
                annotations[member.index()] = true;
            }
        }
    }
    annotations
}

/// The values in positions where keywords expect schemas.
fn schemas(document: &Document) -> Vec<bool> {
    let mut schemas = vec![false; document.len()];
    let mut stack = vec![document.root()];
    while let Some(value) = stack.pop() {
        schemas[value.index()] = true;
        subschemas(document, value, &mut stack);
    }
    schemas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_ignored_and_data_is_not() {
        let text = r##"{"properties": {"title": {"type": "string", "title": "a"}, "b": {"title": "c", "type": "string"},
            "c": {"const": {"title": "x"}}, "d": {"const": {"title": "y"}}, "e": {"$id": "z"}, "f": {"$id": "z"}}}"##;
        let document = Document::parse(text).unwrap();
        let representatives = representatives(&document);
        let at = |name: &str| document.follow(document.root(), &format!("/properties/{name}")).unwrap();
        let first = |name: &str| representatives[at(name).index()];
        assert_eq!(first("b"), at("title"));
        assert_eq!(first("d"), at("d"));
        assert_eq!(first("f"), at("f"));
    }
}
