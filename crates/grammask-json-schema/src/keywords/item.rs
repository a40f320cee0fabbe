//! The keywords about arrays: items by position, other items, `contains`, counts, `uniqueItems`.

use crate::Draft;
use crate::document::json::Value;
use crate::document::resources::Location;
use crate::values::formula::truth;
use crate::values::formulas::Formulas;
use crate::values::literals::{ArrayAssertion, ArrayFormula};
use crate::values::schema_reader::{SchemaContext, SchemaReader};

/// The formula of one keyword; `None` if it constrains nothing.
pub(super) fn item_keyword(
    reader: &mut SchemaReader<'_>,
    formulas: &mut Formulas,
    context: &SchemaContext,
    keyword: &str,
    place: Location,
) -> Option<ArrayFormula> {
    let is_positional = matches!(reader.library.get(place), Value::Array(_));
    Some(match keyword {
        "prefixItems" if context.since(Draft::Draft2020) => {
            if !is_positional {
                reader.invalid(place, "expected an array of schemas");
                return None;
            }
            items_by_position(reader, formulas, context, place)
        }
        "items" if is_positional && context.until(Draft::Draft2019) => {
            items_by_position(reader, formulas, context, place)
        }
        "items" => {
            if is_positional {
                reader.invalid(place, "expected a schema; schemas by position are `prefixItems`");
                return None;
            }
            let first = match reader.library.member(context.location, "prefixItems") {
                Some(prefix) if context.since(Draft::Draft2020) => reader.items(prefix).len(),
                _ => 0,
            };
            items_from(reader, formulas, context, first, place)
        }
        "additionalItems" if context.until(Draft::Draft2019) => {
            let items = reader.library.member(context.location, "items")?;
            if !matches!(reader.library.get(items), Value::Array(_)) {
                return None;
            }
            let first = reader.items(items).len();
            items_from(reader, formulas, context, first, place)
        }
        "contains" if context.since(Draft::Draft6) => contains(reader, formulas, context, place),
        "minItems" => {
            let count = reader.count(place)?;
            if count == 0 {
                return None;
            }
            formulas.arrays.literal(ArrayAssertion::AtLeast(count))
        }
        "maxItems" => {
            let count = reader.count(place).filter(|&count| count < u32::MAX)?;
            formulas.arrays.literal(ArrayAssertion::AtMost(count))
        }
        "uniqueItems" => match reader.library.get(place) {
            Value::Boolean(true) => {
                formulas.unique_keywords.push(place);
                let no_items = formulas.item_sets.intern(Box::default());
                formulas.arrays.literal(ArrayAssertion::Unique(no_items))
            }
            Value::Boolean(false) => return None,
            _ => {
                reader.invalid(place, "expected `true` or `false`");
                return None;
            }
        },
        _ => return None,
    })
}

fn items_by_position(
    reader: &mut SchemaReader<'_>,
    formulas: &mut Formulas,
    context: &SchemaContext,
    place: Location,
) -> ArrayFormula {
    let mut parts = Vec::new();
    for (index, item) in (0..).zip(reader.items(place)) {
        reader.check_is_schema(item);
        let value = reader.satisfies(formulas, item, context.scope);
        if value != truth() {
            parts.push(formulas.arrays.literal(ArrayAssertion::If(index, value)));
        }
    }
    formulas.arrays.and(parts)
}

/// "Each item from position `first` on satisfies the schema at `place`."
fn items_from(
    reader: &mut SchemaReader<'_>,
    formulas: &mut Formulas,
    context: &SchemaContext,
    first: usize,
    place: Location,
) -> ArrayFormula {
    reader.check_is_schema(place);
    let value = reader.satisfies(formulas, place, context.scope);
    formulas.each_item(u32::try_from(first).unwrap_or(u32::MAX), value)
}

/// `contains` with `minContains` and `maxContains`.
fn contains(
    reader: &mut SchemaReader<'_>,
    formulas: &mut Formulas,
    context: &SchemaContext,
    place: Location,
) -> ArrayFormula {
    reader.check_is_schema(place);
    let is_counted = context.since(Draft::Draft2019) && context.dialect.validation;
    let [min, max] = ["minContains", "maxContains"].map(|keyword| {
        let place = reader.library.member(context.location, keyword).filter(|_| is_counted)?;
        reader.findings.enforce(place);
        reader.count(place)
    });
    let value = reader.satisfies(formulas, place, context.scope);
    let mut parts = Vec::new();
    if min != Some(0) {
        parts.push(formulas.arrays.literal(ArrayAssertion::MatchAtLeast(min.unwrap_or(1), value)));
    }
    if let Some(max) = max.filter(|&max| max < u32::MAX) {
        parts.push(formulas.arrays.literal(ArrayAssertion::MatchAtMost(max, value)));
    }
    formulas.arrays.and(parts)
}
