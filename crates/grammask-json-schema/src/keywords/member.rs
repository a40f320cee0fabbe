//! The keywords about objects: members by name, by pattern and the others, names, counts, dependencies.

use crate::Draft;
use crate::document::json::Value;
use crate::document::resources::Location;
use crate::keywords::scalar::pattern_language;
use crate::values::formula::{falsehood, truth};
use crate::values::formulas::{Formulas, NameList};
use crate::values::literals::{NameSet, ObjectAssertion, ObjectFormula};
use crate::values::scalar_languages::ScalarLanguages;
use crate::values::schema_reader::{SchemaContext, SchemaReader};
use crate::values::string_formula::Strings;
use crate::values::value_sets::ValueSets;
use grammask_automata::TermId;
use grammask_diagnostics::{Code, LimitExceeded};

/// The names and patterns that `properties` and `patternProperties` of one schema declare.
pub(super) struct DeclaredNames {
    pub(super) names: NameList,
    pub(super) patterns: Vec<TermId>,
}

/// The formula of one keyword; `None` if it constrains nothing.
pub(super) fn member_keyword(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    keyword: &str,
    place: Location,
) -> Result<Option<ObjectFormula>, LimitExceeded> {
    let is_object = matches!(sets.reader.library.get(place), Value::Object(_));
    Ok(Some(match keyword {
        "properties" | "patternProperties" | "dependencies" | "dependentSchemas" | "dependentRequired"
            if !is_object =>
        {
            sets.reader.invalid(place, "expected an object");
            return Ok(None);
        }
        "properties" => properties(&mut sets.reader, &mut sets.formulas, context, place),
        "patternProperties" => pattern_properties(sets, context, place),
        "additionalProperties" => {
            sets.reader.check_is_schema(place);
            let value = sets.satisfies(place, context.scope);
            let ValueSets { reader, languages, formulas, .. } = sets;
            match declared_names(reader, languages, formulas, context) {
                Some(DeclaredNames { names, patterns }) => {
                    let others = formulas.other_names(names, patterns);
                    formulas.each_member(others, value)
                }
                None => formulas.objects.literal(ObjectAssertion::Relaxed),
            }
        }
        "propertyNames" if context.since(Draft::Draft6) => {
            return property_names(sets, context, place);
        }
        "required" => match sets.reader.library.get(place) {
            Value::Array(_) => required_names(&mut sets.reader, &mut sets.formulas, place),
            // Draft 3 has `required: true` inside the property; later drafts give it no meaning.
            Value::Boolean(_) if context.dialect.lenient || context.dialect.draft == Draft::Draft4 => {
                let message = "`required` is a list of names since draft 4; a boolean constrains nothing";
                let help = "list the name in the `required` of the object";
                let SchemaReader { findings, library, .. } = &mut sets.reader;
                findings.add(library, Code::IgnoredAnnotation, place, message.to_owned(), help);
                return Ok(None);
            }
            _ => {
                sets.reader.invalid(place, "expected an array of names");
                return Ok(None);
            }
        },
        "minProperties" => match sets.reader.count(place) {
            None | Some(0) => return Ok(None),
            Some(count) => sets.formulas.objects.literal(ObjectAssertion::AtLeast(count)),
        },
        "maxProperties" => match sets.reader.count(place).filter(|&count| count < u32::MAX) {
            None => return Ok(None),
            Some(count) => sets.formulas.objects.literal(ObjectAssertion::AtMost(count)),
        },
        "dependencies" if context.until(Draft::Draft7) => dependencies(sets, context, place),
        "dependentRequired" | "dependentSchemas" if context.since(Draft::Draft2019) => {
            dependencies(sets, context, place)
        }
        _ => return Ok(None),
    }))
}

fn properties(
    reader: &mut SchemaReader<'_>,
    formulas: &mut Formulas,
    context: &SchemaContext,
    place: Location,
) -> ObjectFormula {
    let members = reader.members(place);
    let names: NameList = members.iter().map(|(name, _)| formulas.name(name)).collect();
    let list = formulas.name_lists.intern(names.clone());
    let mut parts = vec![formulas.objects.literal(ObjectAssertion::Declares(list))];
    for (&name, (_, schema)) in names.iter().zip(&members) {
        reader.check_is_schema(*schema);
        let value = reader.satisfies(formulas, *schema, context.scope);
        parts.push(formulas.if_present(name, value));
    }
    formulas.objects.and(parts)
}

fn pattern_properties(sets: &mut ValueSets<'_>, context: &SchemaContext, place: Location) -> ObjectFormula {
    let ValueSets { reader, languages, formulas, .. } = sets;
    let mut parts = Vec::new();
    for (pattern, schema) in reader.members(place) {
        reader.check_is_schema(schema);
        let value = reader.satisfies(formulas, schema, context.scope);
        match pattern_language(reader, languages, schema, &pattern) {
            Some(term) => {
                let names = formulas.name_sets.intern(NameSet::Matching(term));
                parts.push(formulas.each_member(names, value));
            }
            None => parts.push(formulas.objects.literal(ObjectAssertion::Relaxed)),
        }
    }
    formulas.objects.and(parts)
}

fn property_names(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    place: Location,
) -> Result<Option<ObjectFormula>, LimitExceeded> {
    sets.reader.check_is_schema(place);
    let schema = sets.reader.schema_at(place, context.scope);
    let Strings { regular: allowed, formula } = sets.applied(schema).string;
    if formula.is_some() {
        let message = "contents and maxima of tokens are not supported for the names of members";
        sets.reader.unsupported(place, message.to_owned(), "");
        return Ok(Some(sets.formulas.objects.literal(ObjectAssertion::Relaxed)));
    }
    let ValueSets { languages, formulas, .. } = sets;
    if allowed == languages.any_string {
        return Ok(None);
    }
    if !languages.are_disjoint(allowed.yes, allowed.no)? {
        // The constraint is relaxed.
        return Ok(Some(formulas.objects.literal(ObjectAssertion::Relaxed)));
    }
    let refused = languages.string_set(allowed.yes).no;
    let not_outside = languages.encoding.complement(languages.automata.terms_mut(), allowed.no);
    let is_decided = languages.are_disjoint(refused, not_outside)?;
    let names = formulas.name_sets.intern(if is_decided {
        NameSet::Matching(refused)
    } else {
        NameSet::Refused { names: refused, negated: allowed.no }
    });
    Ok(Some(formulas.each_member(names, falsehood())))
}

/// "All names in the array at `place` are present."
fn required_names(reader: &mut SchemaReader<'_>, formulas: &mut Formulas, place: Location) -> ObjectFormula {
    let mut parts = Vec::new();
    for name in reader.items(place) {
        parts.extend(required(reader, formulas, name));
    }
    formulas.objects.and(parts)
}

/// "The name at `place` is present"; `None`, with a finding, if the value is not a string.
fn required(
    reader: &mut SchemaReader<'_>,
    formulas: &mut Formulas,
    place: Location,
) -> Option<ObjectFormula> {
    let Value::String(name) = reader.library.get(place) else {
        reader.invalid(place, "expected a name");
        return None;
    };
    let name = formulas.name(name);
    Some(formulas.has_member(name, truth()))
}

/// The declared names and patterns of the schema; `None` if one of the patterns is not supported.
pub(super) fn declared_names(
    reader: &mut SchemaReader<'_>,
    languages: &mut ScalarLanguages,
    formulas: &mut Formulas,
    context: &SchemaContext,
) -> Option<DeclaredNames> {
    let mut names = Vec::new();
    if let Some(properties) = reader.library.member(context.location, "properties") {
        for (name, _) in reader.members(properties) {
            names.push(formulas.name(&name));
        }
    }
    let mut patterns = Vec::new();
    if let Some(place) = reader.library.member(context.location, "patternProperties") {
        for (pattern, schema) in reader.members(place) {
            patterns.push(pattern_language(reader, languages, schema, &pattern)?);
        }
    }
    Some(DeclaredNames { names: names.into(), patterns })
}

/// The names or schemas that apply if a member is present.
fn dependencies(sets: &mut ValueSets<'_>, context: &SchemaContext, place: Location) -> ObjectFormula {
    let mut parts = Vec::new();
    for (name, dependent) in sets.reader.members(place) {
        let name = sets.formulas.name(&name);
        let absent = sets.formulas.if_present(name, falsehood());
        let consequence = match sets.reader.library.get(dependent) {
            Value::Array(_) => required_names(&mut sets.reader, &mut sets.formulas, dependent),
            // Draft 3 admits one name without an array.
            Value::String(_) if context.dialect.lenient => {
                match required(&mut sets.reader, &mut sets.formulas, dependent) {
                    Some(required) => required,
                    None => continue,
                }
            }
            _ => {
                sets.reader.check_is_schema(dependent);
                let schema = sets.reader.schema_at(dependent, context.scope);
                sets.applied(schema).object
            }
        };
        parts.push(sets.formulas.objects.or([absent, consequence]));
    }
    sets.formulas.objects.and(parts)
}
