//! The keywords of one schema as a value set.
//!
//! Each keyword is a value set, usually unconstrained in all components but one; the schema is their intersection.
//! Keywords are translated in document order, except that `properties` comes first, because the order of conjuncts
//! determines the order of an object's members.

mod constants;
mod content;
mod description;
mod item;
mod member;
mod scalar;
mod unevaluated;

pub(crate) use constants::equal_to_any;
pub(crate) use content::{encoded_strings, media_type, regular_texts};
pub(crate) use description::{ScalarType, alternatives, described};
pub(crate) use scalar::pattern_language;

use crate::document::json::Value;
use crate::document::keyword_names::misspelt_keyword;
use crate::document::resources::Location;
use crate::interner::Id;
use crate::numbers::NumberSet;
use crate::values::disjointness::exactly_one;
use crate::values::formula::truth;
use crate::values::literals::Schema;
use crate::values::scalar_languages::ScalarLanguages;
use crate::values::schema_reader::{SchemaContext, SchemaReader};
use crate::values::string_formula::Strings;
use crate::values::value_set::{Booleans, ValueSet};
use crate::values::value_sets::ValueSets;
use crate::{Draft, Numbers, OpenApi};
use grammask_diagnostics::{Code, LimitExceeded, closest};

/// The types that `type` can name.
const TYPE_NAMES: [&str; 7] = ["null", "boolean", "number", "integer", "string", "array", "object"];

/// The value set of a schema; those of the subschemas that it applies in place are computed already.
pub(crate) fn value_set(sets: &mut ValueSets<'_>, schema: Id<Schema>) -> Result<ValueSet, LimitExceeded> {
    let (location, scope) = match sets.reader.schema(schema) {
        Schema::At(location, scope) => (location, scope),
        Schema::Equal(location) => return Ok(constants::equal_to(sets, location)),
        Schema::Null => return Ok(ValueSet { null: true, ..ValueSet::none(&sets.languages) }),
        Schema::Boolean(truth) => {
            let booleans = Booleans { falsehood: !truth, truth };
            return Ok(ValueSet { booleans, ..ValueSet::none(&sets.languages) });
        }
    };
    match sets.reader.library.get(location) {
        Value::Boolean(true) => return Ok(sets.any()),
        Value::Boolean(false) => return Ok(ValueSet::none(&sets.languages)),
        Value::Object(_) => {}
        _ => {
            sets.reader.invalid(location, "expected a schema: an object or a boolean");
            return Ok(sets.any());
        }
    }
    if let Some(place) = sets.reader.library.member(location, "$schema") {
        sets.reader.check_version(place);
    }
    let context = sets.reader.context(location, scope);
    if context.ref_hides_siblings() && sets.reader.library.member(location, "$ref").is_some() {
        return Ok(match sets.reader.referenced(&context, "$ref") {
            Some(target) => {
                sets.reader.enforce(&context, "$ref");
                sets.applied(target)
            }
            None => sets.any(),
        });
    }
    let mut parts = Vec::new();
    let mut text_keywords_done = false;
    let mut members = sets.reader.members(location);
    members.sort_by_key(|(keyword, _)| &**keyword != "properties");
    for (keyword, place) in members {
        let is_text_keyword = matches!(&*keyword, "pattern" | "minLength" | "maxLength");
        if is_text_keyword && std::mem::replace(&mut text_keywords_done, true) {
            continue;
        }
        if let Some(part) = of_keyword(sets, &context, &keyword, place)? {
            sets.reader.findings.enforce(place);
            parts.push(part);
        }
    }
    let mut set = sets.intersection(&parts);
    for keyword in ["unevaluatedItems", "unevaluatedProperties"] {
        if let Some(place) = sets.reader.library.member(location, keyword)
            && context.since(Draft::Draft2019)
        {
            sets.reader.check_is_schema(place);
            sets.reader.findings.enforce(place);
            let value = sets.satisfies(place, scope);
            set = if keyword == "unevaluatedItems" {
                unevaluated::close_items(sets, &context, set, value)?
            } else {
                unevaluated::close_members(sets, &context, set, value)?
            };
        }
    }
    Ok(set)
}

/// The value set of one keyword; `None` if it constrains nothing or is translated with another keyword.
fn of_keyword(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    keyword: &str,
    place: Location,
) -> Result<Option<ValueSet>, LimitExceeded> {
    let validation = context.dialect.validation;
    Ok(match keyword {
        "$ref" | "$dynamicRef" | "$recursiveRef" => {
            sets.reader.referenced(context, keyword).map(|target| sets.applied(target))
        }
        "allOf" | "anyOf" | "oneOf" => combination(sets, context, keyword, place)?,
        "not" => {
            sets.reader.check_is_schema(place);
            let schema = sets.reader.schema_at(place, context.scope);
            let set = sets.applied(schema);
            Some(sets.complement(set))
        }
        "if" if context.since(Draft::Draft7) => conditional(sets, context, place),
        "type" if validation => types(&mut sets.reader, &mut sets.languages, context, place),
        "enum" if validation => constants::enumeration(sets, place),
        "const" if validation && context.since(Draft::Draft6) => Some(constants::equal_to(sets, place)),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" if validation => {
            let number =
                scalar::number_keyword(&mut sets.reader, &mut sets.languages, context, keyword, place);
            number.map(|number| ValueSet { number, ..sets.any() })
        }
        "minLength" | "maxLength" | "pattern" if validation => {
            let string = scalar::text_keywords(&mut sets.reader, &mut sets.languages, context);
            for keyword in ["minLength", "maxLength", "pattern"] {
                sets.reader.enforce(context, keyword);
            }
            Some(ValueSet { string: Strings::of_set(string), ..sets.any() })
        }
        "format" => {
            let string = scalar::format(&mut sets.reader, &mut sets.languages, context, place);
            string.map(|string| ValueSet { string: Strings::of_set(string), ..sets.any() })
        }
        "items" | "prefixItems" | "additionalItems" | "contains" => array(sets, context, keyword, place),
        "minItems" | "maxItems" | "uniqueItems" if validation => array(sets, context, keyword, place),
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "propertyNames"
        | "dependencies"
        | "dependentSchemas" => object(sets, context, keyword, place)?,
        "required" | "minProperties" | "maxProperties" | "dependentRequired" if validation => {
            object(sets, context, keyword, place)?
        }
        "nullable" => {
            nullable_without_effect(&mut sets.reader, context, place);
            None
        }
        "x-grammask-number-texts" => scalar::number_texts(&mut sets.reader, &mut sets.languages, place)
            .map(|number| ValueSet { number, ..sets.any() }),
        "contentMediaType" | "contentEncoding" => {
            let string = content::content(sets, context, keyword, place)?;
            string.map(|string| ValueSet { string, ..sets.any() })
        }
        "x-grammask-content" => {
            let string = content::named_content(sets, place)?;
            string.map(|string| ValueSet { string, ..sets.any() })
        }
        "x-grammask-max-tokens" => {
            let string = scalar::max_tokens(sets, place);
            string.map(|string| ValueSet { string, ..sets.any() })
        }
        "x-grammask-unenforceable" => {
            scalar::unenforceable(&mut sets.reader, place);
            None
        }
        _ => {
            warn_of_misspelling(&mut sets.reader, keyword, place);
            None
        }
    })
}

fn array(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    keyword: &str,
    place: Location,
) -> Option<ValueSet> {
    let array = item::item_keyword(&mut sets.reader, &mut sets.formulas, context, keyword, place)?;
    Some(ValueSet { array, ..sets.any() })
}

fn object(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    keyword: &str,
    place: Location,
) -> Result<Option<ValueSet>, LimitExceeded> {
    let object = member::member_keyword(sets, context, keyword, place)?;
    Ok(object.map(|object| ValueSet { object, ..sets.any() }))
}

fn combination(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    keyword: &str,
    place: Location,
) -> Result<Option<ValueSet>, LimitExceeded> {
    let items = sets.reader.items(place);
    if items.is_empty() {
        sets.reader.invalid(place, "expected a nonempty array of schemas");
        return Ok(None);
    }
    let mut parts = Vec::with_capacity(items.len());
    for item in items {
        sets.reader.check_is_schema(item);
        let schema = sets.reader.schema_at(item, context.scope);
        parts.push(sets.applied(schema));
    }
    Ok(Some(match keyword {
        "allOf" => sets.intersection(&parts),
        "anyOf" => sets.union(&parts),
        _ => exactly_one(sets, &parts)?,
    }))
}

fn conditional(sets: &mut ValueSets<'_>, context: &SchemaContext, place: Location) -> Option<ValueSet> {
    let [then, otherwise] = ["then", "else"].map(|keyword| {
        sets.reader.library.member(context.location, keyword).map(|place| {
            sets.reader.check_is_schema(place);
            sets.reader.findings.enforce(place);
            let schema = sets.reader.schema_at(place, context.scope);
            sets.applied(schema)
        })
    });
    if then.is_none() && otherwise.is_none() {
        return None;
    }
    let schema = sets.reader.schema_at(place, context.scope);
    let condition = sets.applied(schema);
    let negated = sets.complement(condition);
    let any = sets.any();
    let if_true = sets.both(condition, then.unwrap_or(any));
    let if_false = sets.both(negated, otherwise.unwrap_or(any));
    Some(sets.union(&[if_true, if_false]))
}

fn types(
    reader: &mut SchemaReader<'_>,
    languages: &mut ScalarLanguages,
    context: &SchemaContext,
    place: Location,
) -> Option<ValueSet> {
    let places = match reader.library.get(place) {
        Value::String(_) => vec![place],
        _ => reader.items(place),
    };
    if places.is_empty() {
        reader.invalid(place, "expected a type or an array of types");
        return None;
    }
    let mut set = ValueSet::none(languages);
    let any = ValueSet::any(languages);
    for place in places {
        let name = match reader.library.get(place) {
            Value::String(name) => name.clone(),
            _ => "".into(),
        };
        match &*name {
            "null" => set.null = true,
            "boolean" => set.booleans = any.booleans,
            "number" => set.number = any.number,
            "integer" if set.number == any.number => {}
            "integer" => {
                // In draft 4, 1.0 is not an integer.
                let numbers = if context.dialect.draft == Draft::Draft4 {
                    Numbers::Plain
                } else {
                    reader.options.numbers
                };
                set.number = NumberSet::integer(languages.automata.terms_mut(), numbers);
            }
            "string" => set.string = any.string,
            "array" => set.array = truth(),
            "object" => set.object = truth(),
            other => {
                let message = "expected null, boolean, number, integer, string, array or object".to_owned();
                let help = closest(other, TYPE_NAMES)
                    .map_or_else(String::new, |name| format!("did you mean `{name}`?"));
                reader.findings.add(&reader.library, Code::InvalidSchema, place, message, &help);
            }
        }
    }
    let nullable = reader.library.member(context.location, "nullable");
    if reader.options.openapi == OpenApi::Nullable
        && nullable.is_some_and(|flag| reader.library.get(flag) == &Value::Boolean(true))
    {
        set.null = true;
        reader.enforce(context, "nullable");
    }
    Some(set)
}

/// Adds a warning about an unknown keyword that resembles a known one.
fn warn_of_misspelling(reader: &mut SchemaReader<'_>, keyword: &str, place: Location) {
    if let Some(near) = misspelt_keyword(keyword) {
        let message = format!("`{keyword}` is no keyword and has no effect");
        let help = format!("did you mean `{near}`?");
        reader.findings.add(&reader.library, Code::IgnoredAnnotation, place, message, &help);
    }
}

/// Adds a warning if `nullable: true` at `place` constrains nothing.
fn nullable_without_effect(reader: &mut SchemaReader<'_>, context: &SchemaContext, place: Location) {
    if reader.library.get(place) != &Value::Boolean(true) {
        return;
    }
    let has_type = reader.library.member(context.location, "type").is_some();
    let (message, help) = match reader.options.openapi {
        OpenApi::Nullable if has_type => return,
        OpenApi::Nullable => ("`nullable` has no effect without `type` in the same schema", "add a `type`"),
        _ => (
            "`nullable` is a keyword of OpenAPI 3.0, not of JSON Schema; it has no effect",
            "give the option `openapi_nullable`, or write `\"type\": [..., \"null\"]`",
        ),
    };
    reader.findings.add(&reader.library, Code::IgnoredAnnotation, place, message.to_owned(), help);
}
