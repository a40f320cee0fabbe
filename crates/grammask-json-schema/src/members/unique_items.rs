//! `uniqueItems` for items with finitely many values.
//!
//! Over infinitely many values, "no two items are equal" is not context-free, so it is refused. The set of values that
//! occurred is part of the residual, and there are exponentially many sets. If nothing else constrains the items, the
//! array is a selection, whose states the recogniser creates on demand; otherwise the number of sets is bounded.

use crate::document::resources::Location;
use crate::emit::emitter::Emitter;
use crate::emit::punctuation::Punctuation;
use crate::emit::rules::{PartSequence, RulePart};
use crate::interner::Id;
use crate::keywords::equal_to_any;
use crate::keywords::schema_reader::SchemaReader;
use crate::members::arrays::{ArrayResidual, array_form};
use crate::values::derivative::Monomial;
use crate::values::formula::{Formula, truth};
use crate::values::literals::{ArrayAssertion, ArrayFormula, Satisfies, Schema, SeenItems, ValueFormula};
use crate::values::value_set::{Booleans, ValueSet};
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{PartOrder, Selection};
use rustc_hash::FxHashSet;

/// Bound on the number of distinct values together with other constraints: at most 2^12 sets of values that occurred.
const MAX_DISTINCT_VALUES: usize = 12;

/// Number of values up to which rules are used in place of a selection.
const MAX_RULE_VALUES: usize = 2;

/// Bound on the number of values that are listed.
const MAX_LISTED_VALUES: usize = 2000;

/// An element of a finite set of values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedValue {
    /// The id of the singleton; equal values have equal ids.
    id: u32,
    /// "Equals the value."
    formula: ValueFormula,
}

/// The punctuation and the depth of an array's items.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayShape {
    pub(super) punctuation: Punctuation,
    pub(super) depth: u32,
}

/// The right-hand sides of arrays that are constrained only by the uniqueness of their items, their values and their
/// number: a selection in any order. `None` if there are other constraints or few values.
pub(super) fn unique_items_selection(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    residual: ArrayResidual,
    shape: ArrayShape,
) -> Result<Option<Vec<PartSequence>>, LimitExceeded> {
    let ArrayResidual { formula, count } = residual;
    let mut values: Vec<ValueFormula> = Vec::new();
    let mut is_unique = false;
    for part in sets.formulas.arrays.conjuncts(formula) {
        match *sets.formulas.arrays.get(part) {
            Formula::Literal(ArrayAssertion::Unique(_, items))
                if sets.formulas.item_sets.get(items).is_empty() =>
            {
                is_unique = true;
            }
            Formula::Literal(ArrayAssertion::Each(0, value)) => values.push(value),
            _ => return Ok(None),
        }
    }
    if !is_unique {
        return Ok(None);
    }
    let value = sets.formulas.values.and(values);
    let Some(listed) = listed_values(sets, value)? else { return Ok(None) };
    if listed.len() <= MAX_RULE_VALUES || count.is_full() {
        return Ok(None);
    }
    let mut parts = Vec::new();
    for ListedValue { formula, .. } in listed {
        parts.extend(emitter.value_parts(sets, formula, shape.depth)?);
    }
    let brackets = shape.punctuation.array;
    let mut alternatives = Vec::new();
    if count.min == 0 {
        alternatives.push(vec![brackets.empty]);
    }
    let selection = Selection::new(PartOrder::Any, parts.len(), &[], Vec::new(), (count.min, count.max));
    if let Some(selection) = selection.filter(Selection::is_satisfiable) {
        let items = emitter.rules.select("items", selection, parts, shape.punctuation.comma);
        alternatives.push(vec![brackets.open, RulePart::Rule(items), brackets.close]);
    }
    Ok(Some(alternatives))
}

/// The linear form of a conjunction with an assertion about uniqueness; `None` if there is none, or it is refused.
pub(super) fn unique_items_form(
    sets: &mut ValueSets<'_>,
    formula: ArrayFormula,
) -> Result<Option<Vec<Monomial<ArrayAssertion>>>, LimitExceeded> {
    let parts = sets.formulas.arrays.conjuncts(formula);
    let uniqueness = parts.iter().find_map(|part| match *sets.formulas.arrays.get(*part) {
        Formula::Literal(ArrayAssertion::Unique(place, items)) => Some((place, items, true)),
        Formula::Literal(ArrayAssertion::Repeated(place, items)) => Some((place, items, false)),
        _ => None,
    });
    let Some((place, items, wants_unique)) = uniqueness else {
        refuse_nested_uniqueness(sets, formula);
        return Ok(None);
    };
    // Several `uniqueItems` keywords assert the same.
    let is_same = |part: &ArrayFormula| match *sets.formulas.arrays.get(*part) {
        Formula::Literal(ArrayAssertion::Unique(_, other)) => wants_unique && other == items,
        Formula::Literal(ArrayAssertion::Repeated(_, other)) => !wants_unique && other == items,
        _ => false,
    };
    let others: Vec<ArrayFormula> = parts.iter().copied().filter(|part| !is_same(part)).collect();
    let others = sets.formulas.arrays.and(others);
    let mut form = Vec::new();
    for Monomial { value, residual } in array_form(sets, others)? {
        let Some(listed) = listed_values(sets, value)? else {
            refuse_uniqueness(sets, place);
            return Ok(None);
        };
        let formulas = &mut sets.formulas;
        for ListedValue { id, formula } in listed {
            let has_occurred = formulas.item_sets.get(items).contains(&id);
            let after = match (wants_unique, has_occurred) {
                (true, true) => continue,
                (false, true) => truth(),
                (wants_unique, false) => {
                    let mut extended = formulas.item_sets.get(items).to_vec();
                    extended.push(id);
                    extended.sort_unstable();
                    let items: Id<SeenItems> = formulas.item_sets.intern(extended.into());
                    formulas.arrays.literal(if wants_unique {
                        ArrayAssertion::Unique(place, items)
                    } else {
                        ArrayAssertion::Repeated(place, items)
                    })
                }
            };
            form.push(Monomial { value: formula, residual: formulas.arrays.and([residual, after]) });
        }
    }
    if sets.formulas.item_sets.len() > 2 << MAX_DISTINCT_VALUES {
        refuse_uniqueness(sets, place);
        return Ok(Some(Vec::new()));
    }
    Ok(Some(form))
}

fn refuse_uniqueness(sets: &mut ValueSets<'_>, place: Location) {
    sets.formulas.relaxed_uniqueness.insert(place);
    let message = "unique items of infinitely many values, or of too many, are not supported".to_owned();
    sets.reader.unsupported(
        place,
        message,
        "list the values with `enum`, or bound the items with `maxItems`",
    );
}

/// Refuses uniqueness below a disjunction.
fn refuse_nested_uniqueness(sets: &mut ValueSets<'_>, formula: ArrayFormula) {
    for literal in sets.formulas.arrays.literals(formula) {
        if let ArrayAssertion::Unique(place, _) | ArrayAssertion::Repeated(place, _) = literal {
            let message =
                "unique items in one branch of a choice between array constraints are not supported"
                    .to_owned();
            sets.reader.unsupported(place, message, "");
        }
    }
}

/// The elements of a formula's value set; `None` if they are not listed by the schema, or too many.
fn listed_values(
    sets: &mut ValueSets<'_>,
    value: ValueFormula,
) -> Result<Option<Vec<ListedValue>>, LimitExceeded> {
    if let Some(cached) = sets.listed_values.get(&value) {
        return Ok(cached.clone());
    }
    let listed = list_values(sets, value)?;
    sets.listed_values.insert(value, listed.clone());
    Ok(listed)
}

fn list_values(
    sets: &mut ValueSets<'_>,
    value: ValueFormula,
) -> Result<Option<Vec<ListedValue>>, LimitExceeded> {
    let set = sets.of_formula(value)?;
    if set.has_containers() {
        return Ok(None);
    }
    // Candidates: null, the booleans, and the values of `enum` and `const`.
    let mut candidates = Vec::new();
    for literal in sets.formulas.values.literals(value) {
        if !literal.negated {
            collect_constants(&mut sets.reader, literal, &mut candidates);
        }
    }
    let keywords = [Schema::Null, Schema::Boolean(false), Schema::Boolean(true)];
    let mut formulas: Vec<(ValueFormula, Option<Location>)> = keywords
        .into_iter()
        .map(|schema| (sets.reader.satisfies_schema(&mut sets.formulas, schema), None))
        .collect();
    for place in candidates {
        formulas.push((sets.reader.equals(&mut sets.formulas, place), Some(place)));
    }
    let mut listed = Vec::new();
    let mut places = Vec::new();
    let mut ids = FxHashSet::default();
    for (formula, place) in formulas {
        let singleton = sets.of_formula(formula)?;
        let id = u32::try_from(sets.singletons.intern(singleton).index()).unwrap_or(u32::MAX);
        let both = sets.both(set, singleton);
        if !ids.insert(id) || sets.is_plainly_empty(both)? {
            continue;
        }
        if listed.len() == MAX_LISTED_VALUES {
            return Ok(None);
        }
        listed.push(ListedValue { id, formula });
        places.extend(place);
    }
    // The set is finite if the candidates cover it. Null and the booleans are candidates in any case.
    let mut covered = equal_to_any(sets, &places);
    covered.null = true;
    covered.booleans = Booleans { falsehood: true, truth: true };
    let uncovered = sets.complement(covered);
    let remainder: ValueSet = sets.both(set, uncovered);
    Ok(sets.is_plainly_empty(remainder)?.then_some(listed))
}

/// Appends the locations of the constants of a schema and of the subschemas that it applies in place.
fn collect_constants(reader: &mut SchemaReader<'_>, literal: Satisfies, places: &mut Vec<Location>) {
    match reader.schema(literal.schema) {
        Schema::Equal(place) => places.push(place),
        Schema::Null | Schema::Boolean(_) => {}
        Schema::At(..) => {
            let mut stack = vec![literal.schema];
            let mut visited = FxHashSet::default();
            while let Some(schema) = stack.pop() {
                if !visited.insert(schema) {
                    continue;
                }
                let Schema::At(location, _) = reader.schema(schema) else { continue };
                places.extend(reader.library.member(location, "const"));
                if let Some(list) = reader.library.member(location, "enum") {
                    places.extend(reader.items(list));
                }
                stack.extend(reader.applied_in_place(schema));
            }
        }
    }
}
