//! The names of keywords, by what they do, and the keyword that a misspelt one is nearest to.

use crate::document::structural_equality::ANNOTATIONS;
use grammask_diagnostics::closest;

/// Keywords that organise schemas.
pub(crate) const STRUCTURAL: [&str; 9] = [
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$vocabulary",
    "$defs",
    "definitions",
];

/// Keywords that constrain values in some draft or under some option.
pub(crate) const CONSTRAINTS: [&str; 47] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "maxItems",
    "minItems",
    "uniqueItems",
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "maxProperties",
    "minProperties",
    "required",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "nullable",
    "x-grammask-content",
    "x-grammask-max-tokens",
    "x-grammask-number-texts",
    "x-grammask-unenforceable",
];

/// Annotations that constrain values under some option, and the options that a schema carries.
pub(crate) const ASSERTED_ANNOTATIONS: [&str; 5] =
    ["format", "contentEncoding", "contentMediaType", "contentSchema", "x-grammask"];

/// The keyword that `name` may be a misspelling of; `None` for keywords, extensions and names unlike all keywords.
///
/// Words of up to four letters are near many others, so only their case and the order of their letters may differ.
pub(crate) fn misspelt_keyword(name: &str) -> Option<&'static str> {
    let lists: [&[&'static str]; 4] = [&STRUCTURAL, &CONSTRAINTS, &ANNOTATIONS, &ASSERTED_ANNOTATIONS];
    let keywords = || lists.iter().copied().flatten().copied();
    if name.starts_with("x-") || keywords().any(|keyword| keyword == name) {
        return None;
    }
    let near = closest(name, keywords().filter(|keyword| !keyword.starts_with("x-")))?;
    (name.len() > 4 || has_letters_of(name, near)).then_some(near)
}

/// Whether two names have the same letters, in any order and case.
fn has_letters_of(left: &str, right: &str) -> bool {
    let [left, right] = [left, right].map(|name| {
        let mut letters = name.to_ascii_lowercase().into_bytes();
        letters.sort_unstable();
        letters
    });
    left == right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_keywords_have_a_nearest_one() {
        let misspelt = [
            ("maxlength", "maxLength"),
            ("requierd", "required"),
            ("propertys", "properties"),
            ("tpye", "type"),
        ];
        for (name, keyword) in misspelt {
            assert_eq!(misspelt_keyword(name), Some(keyword));
        }
        for name in ["required", "title", "id", "x-maxLength", "note", "name", "in", "units", ""] {
            assert_eq!(misspelt_keyword(name), None, "{name}");
        }
    }
}
