//! Linear forms by cells: the values of the next member, split by all constraints of a formula on it at once.
//!
//! The product of the linear forms of n conjuncts (`values::derivative`) has up to 2^n monomials before it is
//! simplified, and each step decides a larger intersection of languages. Where the constraints are pairwise disjoint or
//! contained in each other, as those on a discriminator are, the values have n + 1 cells: each constraint without the
//! smaller ones, and the values outside of all. In a cell each literal about the member is true or false, so there is
//! one monomial per cell, and the form is deterministic.

use rustc_hash::FxHashMap;

use crate::values::derivative::Monomial;
use crate::values::formula::{Formula, falsehood, truth};
use crate::values::literals::{ObjectAssertion, ObjectFormula, ValueFormula};
use crate::values::simplification::Relation;
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;

/// Number of different constraints on a member from which cells are used.
const MIN_CONSTRAINTS: usize = 3;

/// Bound on the number of different constraints; each pair is compared.
const MAX_CONSTRAINTS: usize = 1024;

/// Values with the constraints that they satisfy.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) value: ValueFormula,
    /// For each constraint, whether the values satisfy it.
    pub(crate) satisfies: Vec<bool>,
}

/// The cells of all values under `constraints`, that of the values outside of all constraints last; `None` if two of
/// them overlap, or if the complement of one is not decided by its texts alone.
pub(crate) fn cells(
    sets: &mut ValueSets<'_>,
    constraints: &[ValueFormula],
) -> Result<Option<Vec<Cell>>, LimitExceeded> {
    let count = constraints.len();
    for &value in constraints {
        if !sets.has_flat_complement(value)? {
            return Ok(None);
        }
    }
    // Whether the first of two constraints implies the second.
    let mut implies = vec![vec![false; count]; count];
    for one in 0..count {
        implies[one][one] = true;
        for other in 0..count {
            if one == other {
                continue;
            }
            match sets.relation(constraints[one], constraints[other])? {
                Relation::Implies => implies[one][other] = true,
                Relation::Excludes => {}
                // The second may be a proper subset of the first.
                Relation::Unknown => {
                    if sets.relation(constraints[other], constraints[one])? != Relation::Implies {
                        return Ok(None);
                    }
                }
            }
        }
    }
    let mut cells = Vec::with_capacity(count + 1);
    for one in 0..count {
        // Of equal constraints the first has the cell.
        if (0..one).any(|other| implies[one][other] && implies[other][one]) {
            continue;
        }
        let mut value = vec![constraints[one]];
        for smaller in (0..count).filter(|&other| implies[other][one] && !implies[one][other]) {
            value.push(sets.formulas.negated_value(constraints[smaller]));
        }
        let value = sets.formulas.values.and(value);
        cells.push(Cell { value, satisfies: implies[one].clone() });
    }
    let mut outside = Vec::with_capacity(count);
    for &value in constraints {
        outside.push(sets.formulas.negated_value(value));
    }
    let value = sets.formulas.values.and(outside);
    cells.push(Cell { value, satisfies: vec![false; count] });
    Ok(Some(cells))
}

/// The linear form of `formula` for a member that its literals in `applies` concern, by cells; `None` if cells are not
/// worthwhile or not possible.
pub(crate) fn form_by_cells(
    sets: &mut ValueSets<'_>,
    formula: ObjectFormula,
    mut applies: impl FnMut(&mut ValueSets<'_>, ObjectAssertion) -> Result<bool, LimitExceeded>,
) -> Result<Option<Vec<Monomial<ObjectAssertion>>>, LimitExceeded> {
    let mut constraints: Vec<ValueFormula> = Vec::new();
    let mut indices: FxHashMap<ValueFormula, usize> = FxHashMap::default();
    let mut polarity: FxHashMap<ValueFormula, (usize, bool)> = FxHashMap::default();
    let mut of_literals: FxHashMap<ObjectAssertion, bool> = FxHashMap::default();
    for literal in sets.formulas.objects.literals(formula) {
        let concerned = applies(sets, literal)?;
        of_literals.insert(literal, concerned);
        let Some(value) = constrained_value(literal).filter(|_| concerned) else { continue };
        if value == truth() || value == falsehood() || polarity.contains_key(&value) {
            continue;
        }
        // A constraint and its negation make the same cells.
        let negated = sets.formulas.negated_value(value);
        let (constraint, is_positive) = match indices.get(&negated) {
            Some(_) => (negated, false),
            None if is_negation(sets, value) => (negated, false),
            None => (value, true),
        };
        let index = *indices.entry(constraint).or_insert_with(|| {
            constraints.push(constraint);
            constraints.len() - 1
        });
        polarity.insert(value, (index, is_positive));
    }
    if constraints.len() < MIN_CONSTRAINTS || constraints.len() > MAX_CONSTRAINTS {
        return Ok(None);
    }
    let Some(cells) = cells(sets, &constraints)? else { return Ok(None) };
    let mut by_residual: FxHashMap<ObjectFormula, usize> = FxHashMap::default();
    let mut groups: Vec<(ObjectFormula, Vec<ValueFormula>)> = Vec::new();
    for cell in cells {
        sets.check_limits()?;
        let residual = residual_in_cell(sets, formula, &of_literals, |value| match polarity.get(&value) {
            Some(&(index, is_positive)) => cell.satisfies[index] == is_positive,
            None => value == truth(),
        });
        if residual == falsehood() {
            continue;
        }
        let group = *by_residual.entry(residual).or_insert_with(|| {
            groups.push((residual, Vec::new()));
            groups.len() - 1
        });
        groups[group].1.push(cell.value);
    }
    let values = &mut sets.formulas.values;
    Ok(Some(
        groups
            .into_iter()
            .map(|(residual, cells)| Monomial { value: values.or(cells), residual })
            .collect(),
    ))
}

/// The constraint of a literal on one member.
fn constrained_value(literal: ObjectAssertion) -> Option<ValueFormula> {
    match literal {
        ObjectAssertion::If(_, value)
        | ObjectAssertion::Has(_, value)
        | ObjectAssertion::Each(_, value)
        | ObjectAssertion::Some(_, value) => Some(value),
        _ => None,
    }
}

/// Whether a formula is a negated literal.
fn is_negation(sets: &ValueSets<'_>, value: ValueFormula) -> bool {
    matches!(sets.formulas.values.get(value), Formula::Literal(satisfies) if satisfies.negated)
}

/// What the members after one satisfy, where `holds` decides the constraints on that member.
fn residual_in_cell(
    sets: &mut ValueSets<'_>,
    formula: ObjectFormula,
    applies: &FxHashMap<ObjectAssertion, bool>,
    holds: impl Fn(ValueFormula) -> bool,
) -> ObjectFormula {
    let objects = &mut sets.formulas.objects;
    let mut results: FxHashMap<ObjectFormula, ObjectFormula> = FxHashMap::default();
    for id in objects.descendants(formula) {
        let decided = |holds: bool| if holds { truth() } else { falsehood() };
        let result = match objects.get(id).clone() {
            Formula::True | Formula::False => id,
            Formula::And(parts) => objects.and(parts.iter().map(|part| results[part])),
            Formula::Or(parts) => objects.or(parts.iter().map(|part| results[part])),
            Formula::Literal(literal) => match literal {
                ObjectAssertion::AtLeast(0 | 1) => truth(),
                ObjectAssertion::AtLeast(count) => objects.literal(ObjectAssertion::AtLeast(count - 1)),
                ObjectAssertion::AtMost(0) => falsehood(),
                ObjectAssertion::AtMost(count) => objects.literal(ObjectAssertion::AtMost(count - 1)),
                ObjectAssertion::If(_, value) | ObjectAssertion::Has(_, value) if applies[&literal] => {
                    decided(holds(value))
                }
                ObjectAssertion::Each(_, value) if applies[&literal] => {
                    if holds(value) { id } else { falsehood() }
                }
                ObjectAssertion::Some(_, value) if applies[&literal] => {
                    if holds(value) { truth() } else { id }
                }
                _ => id,
            },
        };
        results.insert(id, result);
    }
    results[&formula]
}

impl ValueSets<'_> {
    /// Whether each text surely satisfies `value` or its complement, and the complement has no constraints on the
    /// children of arrays and objects, so that it is cheap to emit; memoised.
    pub(crate) fn has_flat_complement(&mut self, value: ValueFormula) -> Result<bool, LimitExceeded> {
        if let Some(&cached) = self.flat_complements.get(&value) {
            return Ok(cached);
        }
        let set = self.of_formula(value)?;
        let is_flat = (set.array == truth() || set.array == falsehood())
            && (set.object == truth() || set.object == falsehood())
            && self.languages.is_decided(set.number, set.string)?;
        self.flat_complements.insert(value, is_flat);
        Ok(is_flat)
    }
}
