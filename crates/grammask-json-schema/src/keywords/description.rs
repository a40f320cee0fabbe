//! What a person calls the texts of a schema: `"red" or "green"`, `a number from 0 to 10`, `a string of at most 5
//! characters`.
//!
//! A description has the keywords that a reader of the schema looks for: constants, bounds, lengths, formats, patterns, and
//! those of the schemas that it applies in place. It leaves out what has no short form, such as `if`, so it names a superset.
//! Cost: bounded by [`MAX_DEPTH`] and [`MAX_LISTED`], whatever the size of the schema.

use crate::Formats;
use crate::document::json::Value;
use crate::document::resources::Location;
use crate::interner::Id;
use crate::values::formula::Formula;
use crate::values::literals::{Satisfies, Schema, ValueFormula};
use crate::values::value_set::ValueSet;
use crate::values::value_sets::ValueSets;
use grammask_grammar::quote_text;

/// Bound on the nesting of schemas that apply each other in place, and of formulas.
const MAX_DEPTH: usize = 6;

/// Maximum number of constants and alternatives of a description.
const MAX_LISTED: usize = 6;

/// Maximum length of a constant, a pattern or the name of a format, in characters.
const MAX_SHOWN: usize = 60;

/// The types whose texts are regular languages, and that schemas constrain further.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScalarType {
    String,
    Number,
}

impl ScalarType {
    /// The noun for all values of the type.
    fn noun(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Number => "a number",
        }
    }

    /// Whether a set has plainly no value of the type.
    fn is_missing_in(self, sets: &ValueSets<'_>, set: ValueSet) -> bool {
        let none = ValueSet::none(&sets.languages);
        match self {
            Self::String => set.string == none.string,
            Self::Number => set.number == none.number,
        }
    }
}

/// The values of a type that satisfy `value`.
pub(crate) fn described(sets: &mut ValueSets<'_>, value: ValueFormula, of: ScalarType) -> String {
    joined_conditions(of_formula(sets, value, of, MAX_DEPTH), of)
}

/// Alternatives as one text: `a, b or c`.
pub(crate) fn alternatives(mut texts: Vec<String>) -> String {
    texts = distinct(texts);
    match texts.pop() {
        None => String::new(),
        Some(last) if texts.is_empty() => last,
        Some(last) => format!("{} or {last}", texts.join(", ")),
    }
}

/// The first of some parts as texts, and the number of the others, which are not read.
fn first_of<T: Copy>(parts: &[T], mut text: impl FnMut(T) -> String) -> Vec<String> {
    let shown = if parts.len() > MAX_LISTED { MAX_LISTED - 1 } else { parts.len() };
    let mut texts: Vec<String> = parts[..shown].iter().map(|&part| text(part)).collect();
    let others = parts.len() - shown;
    texts.extend((others > 0).then(|| format!("one of {others} others")));
    texts
}

/// A few texts without repetitions.
fn distinct(texts: Vec<String>) -> Vec<String> {
    let mut distinct = Vec::with_capacity(texts.len());
    for text in texts {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    distinct
}

/// Conditions that all hold, as one text.
fn joined_conditions(conditions: Vec<String>, of: ScalarType) -> String {
    match conditions.is_empty() {
        true => of.noun().to_owned(),
        false => distinct(conditions).join(" and "),
    }
}

/// The conditions of a formula; none if it admits all values of the type.
fn of_formula(sets: &mut ValueSets<'_>, value: ValueFormula, of: ScalarType, depth: usize) -> Vec<String> {
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    match sets.formulas.values.get(value).clone() {
        Formula::True | Formula::False => Vec::new(),
        Formula::Literal(Satisfies { schema, negated: false }) => of_schema(sets, schema, of, depth),
        Formula::Literal(Satisfies { schema, negated: true }) => {
            let excluded = of_schema(sets, schema, of, depth);
            match excluded.is_empty() {
                true => excluded,
                false => vec![format!("{} other than {}", of.noun(), joined_conditions(excluded, of))],
            }
        }
        Formula::And(parts) => {
            parts.iter().take(MAX_LISTED).flat_map(|&part| of_formula(sets, part, of, depth)).collect()
        }
        Formula::Or(parts) => {
            let is_missing = |part: &ValueFormula| match *sets.formulas.values.get(*part) {
                Formula::Literal(Satisfies { schema, negated: false }) => {
                    of.is_missing_in(sets, sets.applied(schema))
                }
                _ => false,
            };
            let parts: Vec<ValueFormula> = parts.iter().copied().filter(|part| !is_missing(part)).collect();
            any_of(&parts, of, |part| of_formula(sets, part, of, depth))
        }
    }
}

/// The conditions of a disjunction, given those of each part.
fn any_of<T: Copy>(parts: &[T], of: ScalarType, mut conditions: impl FnMut(T) -> Vec<String>) -> Vec<String> {
    let mut admits_all = false;
    let texts = first_of(parts, |part| {
        let conditions = conditions(part);
        admits_all |= conditions.is_empty();
        joined_conditions(conditions, of)
    });
    if admits_all { Vec::new() } else { vec![alternatives(texts)] }
}

/// The conditions of a schema.
fn of_schema(sets: &mut ValueSets<'_>, schema: Id<Schema>, of: ScalarType, depth: usize) -> Vec<String> {
    let (location, scope) = match sets.reader.schema(schema) {
        Schema::At(location, scope) => (location, scope),
        Schema::Equal(location) => return constants(sets, &[location], of),
        Schema::Null | Schema::Boolean(_) => return Vec::new(),
    };
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    let context = sets.reader.context(location, scope);
    let member = |sets: &ValueSets<'_>, keyword: &str| sets.reader.library.member(location, keyword);
    let mut conditions = Vec::new();
    for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
        if member(sets, keyword).is_some()
            && let Some(target) = sets.reader.referenced(&context, keyword)
        {
            conditions.extend(of_schema(sets, target, of, depth));
            if context.ref_hides_siblings() {
                return conditions;
            }
        }
    }
    let listed = match (member(sets, "const"), member(sets, "enum")) {
        (Some(place), _) => Some(constants(sets, &[place], of)),
        (None, Some(place)) => Some(constants(sets, &sets.reader.items(place), of)),
        (None, None) => None,
    };
    match (listed, of) {
        (Some(listed), _) => conditions.extend(listed),
        (None, ScalarType::String) => conditions.extend(string_keywords(sets, location)),
        (None, ScalarType::Number) => conditions.extend(number_keywords(sets, location)),
    }
    let subschemas = |sets: &mut ValueSets<'_>, keyword: &str| -> Vec<Id<Schema>> {
        let places = member(sets, keyword).map_or_else(Vec::new, |place| sets.reader.items(place));
        places.into_iter().map(|place| sets.reader.schema_at(place, scope)).collect()
    };
    for part in subschemas(sets, "allOf").into_iter().take(MAX_LISTED) {
        conditions.extend(of_schema(sets, part, of, depth));
    }
    for keyword in ["anyOf", "oneOf"] {
        let mut parts = subschemas(sets, keyword);
        parts.retain(|&part| !of.is_missing_in(sets, sets.applied(part)));
        if !parts.is_empty() {
            conditions.extend(any_of(&parts, of, |part| of_schema(sets, part, of, depth)));
        }
    }
    conditions
}

/// The constants of a type, as alternatives.
fn constants(sets: &ValueSets<'_>, places: &[Location], of: ScalarType) -> Vec<String> {
    let library = &sets.reader.library;
    let is_of_type = |place: &Location| match library.get(*place) {
        Value::String(_) => of == ScalarType::String,
        Value::Number(_) => of == ScalarType::Number,
        _ => false,
    };
    let places: Vec<Location> = places.iter().copied().filter(is_of_type).collect();
    let shown = first_of(&places, |place| match library.get(place) {
        Value::String(text) => quote_text(&shortened(text)),
        Value::Number(digits) => shortened(digits),
        _ => String::new(),
    });
    if shown.is_empty() { Vec::new() } else { vec![alternatives(shown)] }
}

/// The lengths, the format and the pattern of a schema.
fn string_keywords(sets: &ValueSets<'_>, schema: Location) -> Option<String> {
    let library = &sets.reader.library;
    let number = |keyword: &str| match library.get(library.member(schema, keyword)?) {
        Value::Number(digits) => Some(shortened(digits)),
        _ => None,
    };
    let characters = |count: &str| format!("{count} character{}", if count == "1" { "" } else { "s" });
    let length = match (number("minLength").filter(|min| min != "0"), number("maxLength")) {
        (Some(min), Some(max)) if min == max => Some(format!("of exactly {}", characters(&max))),
        (Some(min), Some(max)) => Some(format!("of {min} to {}", characters(&max))),
        (Some(min), None) => Some(format!("of at least {}", characters(&min))),
        (None, Some(max)) => Some(format!("of at most {}", characters(&max))),
        (None, None) => None,
    };
    let format =
        library.text_member(schema, "format").filter(|_| sets.reader.options.formats == Formats::Enforce);
    let format = format.map(|format| format!("in the format {}", shortened(format)));
    let pattern = library.text_member(schema, "pattern");
    let pattern = pattern.map(|pattern| format!("that matches /{}/", shortened(pattern)));
    phrase("a string", [format, length, pattern])
}

/// The bounds of a schema, and of what its numbers are multiples.
fn number_keywords(sets: &ValueSets<'_>, schema: Location) -> Option<String> {
    let library = &sets.reader.library;
    let value = |keyword: &str| library.member(schema, keyword).map(|place| library.get(place));
    let number = |keyword: &str| match value(keyword)? {
        Value::Number(digits) => Some(shortened(digits)),
        _ => None,
    };
    let is_integer = library.text_member(schema, "type") == Some("integer");
    // In draft 4, `exclusiveMinimum` is a flag.
    let has_flag = |keyword: &str| value(keyword) == Some(&Value::Boolean(true));
    let (min, max) = (number("minimum"), number("maximum"));
    let (is_above, is_below) = (has_flag("exclusiveMinimum"), has_flag("exclusiveMaximum"));
    let above = number("exclusiveMinimum").or_else(|| min.clone().filter(|_| is_above));
    let below = number("exclusiveMaximum").or_else(|| max.clone().filter(|_| is_below));
    let bounds = match (min.filter(|_| above.is_none()), max.filter(|_| below.is_none())) {
        (Some(min), Some(max)) => [Some(format!("from {min} to {max}")), None],
        (min, max) => {
            [min.map(|min| format!("of at least {min}")), max.map(|max| format!("of at most {max}"))]
        }
    };
    let [low, high] = bounds;
    let multiple = number("multipleOf").map(|unit| format!("that is a multiple of {unit}"));
    let low = low.or(above.map(|bound| format!("above {bound}")));
    let high = high.or(below.map(|bound| format!("below {bound}")));
    match phrase(if is_integer { "an integer" } else { "a number" }, [low, high, multiple]) {
        None if is_integer => Some("an integer".to_owned()),
        phrase => phrase,
    }
}

/// A noun with the qualifiers that there are; `None` without one.
fn phrase(noun: &str, qualifiers: [Option<String>; 3]) -> Option<String> {
    let qualifiers: Vec<String> = qualifiers.into_iter().flatten().collect();
    (!qualifiers.is_empty()).then(|| format!("{noun} {}", qualifiers.join(" and ")))
}

/// The beginning of a text that may be long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
