//! Disjointness of formulas about arrays or objects: a sufficient condition, not a decision; and `oneOf`, which uses it.
//!
//! For each branch, `oneOf` excludes all other branches that may hold too. Most branches in practice differ in a type, a
//! constant or a required name; the check finds these, and disjoint branches need no exclusion. A negative answer costs
//! time later and is never wrong.

use crate::numbers::NumberSet;
use crate::values::formula::{Formula, falsehood};
use crate::values::formulas::MemberConstraints;
use crate::values::literals::{ArrayAssertion, ArrayFormula, ObjectAssertion, ObjectFormula, ValueFormula};
use crate::values::string_formula::Strings;
use crate::values::value_set::{Booleans, ValueSet};
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;
use rustc_hash::FxHashMap;

/// Levels of nested members that are compared.
const MAX_DEPTH: usize = 3;

/// Branches of a disjunction that are compared one by one.
const MAX_BRANCHES: usize = 64;

/// Required items that are compared.
const MAX_ITEMS: u32 = 16;

/// The values in exactly one of `parts`. Disjoint parts need no negation.
pub(crate) fn exactly_one(sets: &mut ValueSets<'_>, parts: &[ValueSet]) -> Result<ValueSet, LimitExceeded> {
    let is_in_one =
        |belongs: &dyn Fn(&ValueSet) -> bool| parts.iter().filter(|part| belongs(part)).count() == 1;
    let null = is_in_one(&|part| part.null);
    let booleans = Booleans {
        falsehood: is_in_one(&|part| part.booleans.falsehood),
        truth: is_in_one(&|part| part.booleans.truth),
    };
    let numbers: Vec<NumberSet> = parts.iter().map(|part| part.number).collect();
    let strings: Vec<Strings> = parts.iter().map(|part| part.string).collect();
    let mut number = Vec::new();
    for case in cases(sets, &numbers, |sets, a, b| sets.languages.are_disjoint(a.yes, b.yes), NumberSet::not)?
    {
        number.push(sets.languages.intersect_numbers(case));
    }
    let number = sets.languages.unite_numbers(number);
    let mut string = Vec::new();
    let are_disjoint = |sets: &mut ValueSets<'_>, a: Strings, b: Strings| {
        sets.languages.are_disjoint(a.regular.yes, b.regular.yes)
    };
    for mut case in cases(sets, &strings, are_disjoint, |part| part)? {
        for other in &mut case[1..] {
            *other = other.complement(&sets.languages, &mut sets.formulas);
        }
        string.push(Strings::intersection(&case, &mut sets.languages, &mut sets.formulas));
    }
    let string = Strings::union(&string, &mut sets.languages, &mut sets.formulas);
    let arrays: Vec<ArrayFormula> = parts.iter().map(|part| part.array).collect();
    let mut array = Vec::new();
    for mut case in
        cases(sets, &arrays, |sets, a, b| arrays_are_disjoint(sets, a, b, MAX_DEPTH), |part| part)?
    {
        for other in &mut case[1..] {
            *other = sets.formulas.negated_array(*other);
        }
        array.push(sets.formulas.arrays.and(case));
    }
    let objects: Vec<ObjectFormula> = parts.iter().map(|part| part.object).collect();
    let mut object = Vec::new();
    for mut case in
        cases(sets, &objects, |sets, a, b| objects_are_disjoint(sets, a, b, MAX_DEPTH), |part| part)?
    {
        for other in &mut case[1..] {
            *other = sets.formulas.negated_object(*other);
        }
        object.push(sets.formulas.objects.and(case));
    }
    Ok(ValueSet {
        null,
        booleans,
        number,
        string,
        array: sets.formulas.arrays.or(array),
        object: sets.formulas.objects.or(object),
    })
}

/// For each part: the part itself, then `negate` of every other part that may overlap it.
fn cases<T: Copy + PartialEq>(
    sets: &mut ValueSets<'_>,
    parts: &[T],
    are_disjoint: impl Fn(&mut ValueSets<'_>, T, T) -> Result<bool, LimitExceeded>,
    negate: impl Fn(T) -> T,
) -> Result<Vec<Vec<T>>, LimitExceeded> {
    let mut cases = Vec::with_capacity(parts.len());
    for (index, &part) in parts.iter().enumerate() {
        let mut case = vec![part];
        for (other_index, &other) in parts.iter().enumerate() {
            if other_index != index && !are_disjoint(sets, part, other)? {
                case.push(negate(other));
            }
        }
        cases.push(case);
    }
    Ok(cases)
}

/// Whether certainly no object satisfies both formulas.
pub(crate) fn objects_are_disjoint(
    sets: &mut ValueSets<'_>,
    a: ObjectFormula,
    b: ObjectFormula,
    depth: usize,
) -> Result<bool, LimitExceeded> {
    sets.reader.deadline.check()?;
    let both = sets.formulas.objects.and([a, b]);
    if both == falsehood() {
        return Ok(true);
    }
    // A disjunction is disjoint from a formula if all its branches are.
    for (disjunction, other) in [(a, b), (b, a)] {
        let branches = sets.formulas.objects.disjuncts(disjunction);
        if branches.len() > 1 && branches.len() <= MAX_BRANCHES && depth > 0 {
            for branch in branches {
                if !objects_are_disjoint(sets, branch, other, depth - 1)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
    }
    // The constraints on each named member, and whether it is required.
    let mut constraints: FxHashMap<_, MemberConstraints> = FxHashMap::default();
    let (mut min, mut max) = (0, u32::MAX);
    let mut of_name_sets = Vec::new();
    for part in sets.formulas.objects.conjuncts(both) {
        match *sets.formulas.objects.get(part) {
            Formula::Literal(ObjectAssertion::If(name, value)) => {
                constraints.entry(name).or_default().constrain(value);
            }
            Formula::Literal(ObjectAssertion::Has(name, value)) => {
                constraints.entry(name).or_default().require(value);
            }
            Formula::Literal(ObjectAssertion::Each(names, value)) => of_name_sets.push((names, value)),
            Formula::Literal(ObjectAssertion::AtLeast(count)) => min = min.max(count),
            Formula::Literal(ObjectAssertion::AtMost(count)) => max = max.min(count),
            _ => {}
        }
    }
    let required = constraints.values().filter(|member| member.required).count();
    if min > max || required > max as usize {
        return Ok(true);
    }
    for (name, MemberConstraints { mut values, required }) in constraints {
        if !required {
            continue;
        }
        for &(set, value) in &of_name_sets {
            if sets.formulas.has_name(&mut sets.languages, set, name)? {
                values.push(value);
            }
        }
        if is_unsatisfiable(sets, &values, depth)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether certainly no array satisfies both formulas.
pub(crate) fn arrays_are_disjoint(
    sets: &mut ValueSets<'_>,
    a: ArrayFormula,
    b: ArrayFormula,
    depth: usize,
) -> Result<bool, LimitExceeded> {
    let both = sets.formulas.arrays.and([a, b]);
    if both == falsehood() {
        return Ok(true);
    }
    let (mut min, mut max) = (0, u32::MAX);
    let mut by_position: FxHashMap<u32, Vec<ValueFormula>> = FxHashMap::default();
    let mut from_position = Vec::new();
    for part in sets.formulas.arrays.conjuncts(both) {
        match *sets.formulas.arrays.get(part) {
            Formula::Literal(ArrayAssertion::AtLeast(count)) => min = min.max(count),
            Formula::Literal(ArrayAssertion::AtMost(count)) => max = max.min(count),
            Formula::Literal(ArrayAssertion::MatchAtLeast(count, _)) => min = min.max(count),
            Formula::Literal(ArrayAssertion::If(at, value)) => {
                by_position.entry(at).or_default().push(value);
            }
            Formula::Literal(ArrayAssertion::Has(at, value)) => {
                min = min.max(at.saturating_add(1));
                by_position.entry(at).or_default().push(value);
            }
            Formula::Literal(ArrayAssertion::Each(from, value)) => from_position.push((from, value)),
            _ => {}
        }
    }
    if min > max {
        return Ok(true);
    }
    for at in 0..min.min(MAX_ITEMS) {
        let mut values = by_position.remove(&at).unwrap_or_default();
        values.extend(from_position.iter().filter(|(from, _)| *from <= at).map(|&(_, value)| value));
        if is_unsatisfiable(sets, &values, depth)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether certainly no value satisfies all of `values`.
pub(crate) fn is_unsatisfiable(
    sets: &mut ValueSets<'_>,
    values: &[ValueFormula],
    depth: usize,
) -> Result<bool, LimitExceeded> {
    let value = sets.formulas.values.and(values.iter().copied());
    if value == falsehood() {
        return Ok(true);
    }
    if depth == 0 || values.len() < 2 {
        return Ok(false);
    }
    let mut parts = Vec::with_capacity(values.len());
    for &value in values {
        match sets.try_of_formula(value)? {
            Some(set) => parts.push(set),
            None => return Ok(false),
        }
    }
    let all = sets.intersection(&parts);
    if all.null || all.booleans.falsehood || all.booleans.truth {
        return Ok(false);
    }
    if !sets.languages.is_empty(all.number.yes)? || !sets.languages.is_empty(all.string.regular.yes)? {
        return Ok(false);
    }
    // Comparing the first part with the others is enough to find a different constant or type.
    let (first, others) = (parts[0], sets.intersection(&parts[1..]));
    Ok((all.array == falsehood() || arrays_are_disjoint(sets, first.array, others.array, depth - 1)?)
        && (all.object == falsehood() || objects_are_disjoint(sets, first.object, others.object, depth - 1)?))
}
