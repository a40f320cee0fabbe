//! `uniqueItems`.
//!
//! "No two items are equal" is not context-free. Three constructs express it:
//!
//! - A *selection*, for items with a finite list of values and no other constraint: the recogniser creates its states on
//!   demand.
//! - *Listed values*: the constants among the items of an array with further constraints, if they are few. The residual
//!   has the set of those that occurred. So a constant at some position cannot run out unnoticed.
//! - *Remembered values* ([`grammask_grammar::values`]) for all other items: the array is a scope, and each item is fresh
//!   until one is repeated. From there on uniqueness is false in the residual, and nothing needs to be compared.
//!
//! A formula may contain uniqueness anywhere. While its residual does, no item was repeated, and all of them are
//! remembered or listed.

use crate::document::resources::Location;
use crate::emit::emitter::Emitter;
use crate::emit::positions::ValuePosition;
use crate::emit::punctuation::Punctuation;
use crate::emit::rules::{PartSequence, RulePart};
use crate::interner::Id;
use crate::keywords::equal_to_any;
use crate::members::arrays::{ArrayResidual, array_form, residual_after};
use crate::values::derivative::Monomial;
use crate::values::formula::{Formula, falsehood, truth};
use crate::values::formulas::Formulas;
use crate::values::literals::{ArrayAssertion, ArrayFormula, Satisfies, Schema, SeenItems, ValueFormula};
use crate::values::schema_reader::SchemaReader;
use crate::values::value_set::{Booleans, ValueSet};
use crate::values::value_sets::{ListedValue, ValueSets};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{PartOrder, Selection, ValueKind};
use rustc_hash::FxHashSet;

/// Bound on the number of listed values together with other constraints: at most 2^12 sets of values that occurred.
const MAX_TRACKED_VALUES: usize = 12;

/// Number of values up to which rules are used in place of a selection.
const MAX_RULE_VALUES: usize = 2;

/// Bound on the number of values that are listed.
const MAX_LISTED_VALUES: usize = 2000;

/// Bound on the residuals of an array that are searched for listed values.
const MAX_SEARCHED_RESIDUALS: usize = 1000;

/// The punctuation and the position of an array's items.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayShape {
    pub(super) punctuation: Punctuation,
    pub(super) position: ValuePosition,
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
            Formula::Literal(ArrayAssertion::Unique(items))
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
        parts.extend(emitter.value_parts(sets, formula, shape.position)?);
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

/// The next item of an array, and the residual after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NextItem {
    pub(super) value: ValueFormula,
    /// Whether the value must not, or must, be remembered.
    pub(super) kind: Option<ValueKind>,
    pub(super) residual: ArrayFormula,
}

/// Whether a formula depends on the uniqueness of the items.
pub(super) fn mentions_uniqueness(formulas: &Formulas, formula: ArrayFormula) -> bool {
    let literals = formulas.arrays.literals(formula);
    literals.iter().any(|literal| matches!(literal, ArrayAssertion::Unique(_) | ArrayAssertion::Repeated(_)))
}

/// `formula` with other literals about uniqueness: `unique` for "unique", and `repeated` for "repeated".
pub(super) fn with_uniqueness(
    formulas: &mut Formulas,
    formula: ArrayFormula,
    unique: ArrayFormula,
    repeated: ArrayFormula,
) -> ArrayFormula {
    formulas.arrays.replaced(formula, |_, id, literal| match literal {
        ArrayAssertion::Unique(_) => unique,
        ArrayAssertion::Repeated(_) => repeated,
        _ => id,
    })
}

/// `formula` for an array without a repetition.
pub(super) fn if_unique(formulas: &mut Formulas, formula: ArrayFormula) -> ArrayFormula {
    if !mentions_uniqueness(formulas, formula) {
        return formula;
    }
    with_uniqueness(formulas, formula, truth(), falsehood())
}

/// The items of an array whose formula depends on their uniqueness.
#[derive(Debug, Default)]
pub(super) struct UniqueItems {
    /// The values that residuals keep track of: the constants among the items, where they are few.
    pub(super) tracked: Vec<ListedValue>,
    /// Whether the recogniser cannot follow them.
    pub(super) is_refused: bool,
}

impl UniqueItems {
    pub(super) fn of_array(sets: &mut ValueSets<'_>, residual: ArrayResidual) -> Result<Self, LimitExceeded> {
        let mut items = Self::default();
        let mut lists: Vec<Vec<ListedValue>> = Vec::new();
        let mut visited = FxHashSet::from_iter([residual]);
        let mut stack = vec![residual];
        while let Some(ArrayResidual { formula, count }) = stack.pop() {
            if count.is_full() || !mentions_uniqueness(&sets.formulas, formula) {
                continue;
            }
            for Monomial { value, residual } in array_form(sets, formula)? {
                match listed_values(sets, value)? {
                    Some(listed) => lists.push(listed),
                    None => items.is_refused |= is_refused(sets, value, residual)?,
                }
                let next = residual_after(&mut sets.formulas, residual, count);
                let next =
                    next.filter(|next| visited.len() < MAX_SEARCHED_RESIDUALS && visited.insert(*next));
                stack.extend(next);
            }
        }
        // Short lists first: a value of a long one is left more often.
        lists.sort_by_key(Vec::len);
        for list in lists {
            let is_new = |value: &ListedValue| items.tracked.iter().all(|other| other.id != value.id);
            let new: Vec<ListedValue> = list.into_iter().filter(is_new).collect();
            if items.tracked.len() + new.len() > MAX_TRACKED_VALUES {
                break;
            }
            items.tracked.extend(new);
        }
        Ok(items)
    }
}

/// Whether the recogniser cannot remember the values of an item: strings with a limit of tokens or a content.
fn is_refused(
    sets: &mut ValueSets<'_>,
    value: ValueFormula,
    residual: ArrayFormula,
) -> Result<bool, LimitExceeded> {
    if !mentions_uniqueness(&sets.formulas, residual) {
        return Ok(false);
    }
    Ok(sets.of_formula(value)?.string.formula.is_some())
}

/// Refuses uniqueness of the items of some array.
pub(super) fn refuse_uniqueness(sets: &mut ValueSets<'_>) {
    for place in sets.formulas.unique_keywords.clone() {
        let message = "unique strings with a limit of tokens or a content are not supported";
        sets.reader.unsupported(place, message.to_owned(), "");
    }
}

/// The next items of an array, and the residuals after them.
pub(super) fn next_items(
    sets: &mut ValueSets<'_>,
    formula: ArrayFormula,
    tracked: &[ListedValue],
) -> Result<Vec<NextItem>, LimitExceeded> {
    let mut items: Vec<NextItem> = Vec::new();
    for Monomial { value, residual } in array_form(sets, formula)? {
        if !mentions_uniqueness(&sets.formulas, residual) {
            items.push(NextItem { value, kind: None, residual });
            continue;
        }
        let repeated = with_uniqueness(&mut sets.formulas, residual, falsehood(), truth());
        let mut rest = value;
        if !tracked.is_empty() {
            let set = sets.of_formula(value)?;
            for listed in tracked {
                let singleton = sets.of_formula(listed.formula)?;
                let both = sets.both(set, singleton);
                if sets.is_plainly_empty(both)? {
                    continue;
                }
                let formulas = &mut sets.formulas;
                let residual = with_tracked(formulas, residual, listed.id).unwrap_or(repeated);
                items.push(NextItem { value: listed.formula, kind: None, residual });
                let other = formulas.negated_value(listed.formula);
                rest = formulas.values.and([rest, other]);
            }
        }
        for (kind, residual) in [(ValueKind::Fresh, residual), (ValueKind::Repeated, repeated)] {
            items.push(NextItem { value: rest, kind: Some(kind), residual });
        }
    }
    let mut joined: Vec<(NextItem, Vec<ValueFormula>)> = Vec::new();
    for item in items {
        if item.residual == falsehood() {
            continue;
        }
        let same =
            joined.iter_mut().find(|(other, _)| (other.kind, other.residual) == (item.kind, item.residual));
        match same {
            Some((_, values)) => values.push(item.value),
            None => joined.push((item, vec![item.value])),
        }
    }
    let join = |(item, values)| NextItem { value: sets.formulas.values.or(values), ..item };
    let items: Vec<NextItem> = joined.into_iter().map(join).collect();
    let mut possible = Vec::with_capacity(items.len());
    for item in items {
        let set = sets.of_formula(item.value)?;
        if !sets.is_plainly_empty(set)? {
            possible.push(item);
        }
    }
    Ok(possible)
}

/// The residual after the first occurrence of a tracked value; `None` after a further one.
fn with_tracked(formulas: &mut Formulas, residual: ArrayFormula, id: u32) -> Option<ArrayFormula> {
    // All literals about uniqueness have the same set.
    let seen = formulas.arrays.literals(residual).into_iter().find_map(|literal| match literal {
        ArrayAssertion::Unique(seen) | ArrayAssertion::Repeated(seen) => Some(seen),
        _ => None,
    })?;
    let mut seen = formulas.item_sets.get(seen).to_vec();
    let index = seen.binary_search(&id).err()?;
    seen.insert(index, id);
    let seen: Id<SeenItems> = formulas.item_sets.intern(seen.into());
    let unique = formulas.arrays.literal(ArrayAssertion::Unique(seen));
    let repeated = formulas.arrays.literal(ArrayAssertion::Repeated(seen));
    Some(with_uniqueness(formulas, residual, unique, repeated))
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
    if set.has_containers() || set.string.formula.is_some() {
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
