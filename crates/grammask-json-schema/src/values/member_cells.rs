//! Linear forms by cells: the values of the next member, split by all constraints of a formula on it at once.
//!
//! The product of the linear forms of n conjuncts (`values::derivative`) has up to 2^n monomials before it is
//! simplified, and each step decides a larger intersection of languages. The cells are the classes of values that satisfy
//! the same constraints. Those on a discriminator are pairwise disjoint or contained in each other, and have n + 1 cells.
//! In a cell each literal about the member is true or false, so there is one monomial per cell, and the form is
//! deterministic.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::values::derivative::Monomial;
use crate::values::formula::{Formula, falsehood, truth};
use crate::values::joint_membership::{JointLimits, LanguageSet};
use crate::values::literals::{ObjectAssertion, ObjectFormula, ValueFormula};
use crate::values::value_set::ValueSet;
use crate::values::value_sets::ValueSets;
use grammask_automata::TermId;
use grammask_diagnostics::LimitExceeded;

/// Number of different constraints on a member from which cells are used.
const MIN_CONSTRAINTS: usize = 3;

/// Bound on the number of different constraints.
const MAX_CONSTRAINTS: usize = 1024;

/// Bound on the number of cells per constraint: where constraints overlap there may be 2^n of them.
const MAX_CELLS_PER_CONSTRAINT: usize = 2;

/// Bound on the number of joint states of the languages of constraints.
const MAX_JOINT_STATES: usize = 20_000;

/// Values with the constraints that they satisfy.
#[derive(Debug)]
struct Cell {
    value: ValueFormula,
    /// For each constraint, whether the values satisfy it.
    satisfies: Vec<bool>,
}

/// The cells of all values under `constraints`, that of the values outside of all constraints last; `None` if there are too
/// many, or if the complement of a constraint is not flat.
fn cells(sets: &mut ValueSets<'_>, constraints: &[ValueFormula]) -> Result<Option<Vec<Cell>>, LimitExceeded> {
    let Some(memberships) = memberships(sets, constraints)? else { return Ok(None) };
    let count = constraints.len();
    // By pair of constraints: the number of cells in both.
    let mut common = vec![0_u32; count * count];
    for membership in &memberships {
        for &one in membership {
            for &other in membership {
                common[one as usize * count + other as usize] += 1;
            }
        }
    }
    let common = |one: usize, other: usize| common[one * count + other];
    let implies = |one: usize, other: usize| common(one, other) == common(one, one);
    let mut cells = Vec::with_capacity(memberships.len() + 1);
    for membership in memberships {
        let inside: Vec<usize> = membership.iter().map(|&index| index as usize).collect();
        // Of equal constraints the first is written.
        let is_implied = |index: usize| {
            inside.iter().any(|&other| {
                other != index && implies(other, index) && (other < index || !implies(index, other))
            })
        };
        let smallest: Vec<usize> = inside.iter().copied().filter(|&index| !is_implied(index)).collect();
        let mut satisfies = vec![false; count];
        inside.iter().for_each(|&index| satisfies[index] = true);
        let mut value: Vec<ValueFormula> = smallest.iter().map(|&index| constraints[index]).collect();
        for other in (0..count).filter(|&other| !satisfies[other]) {
            if smallest.iter().all(|&index| common(index, other) > 0) {
                value.push(sets.formulas.negated_value(constraints[other]));
            }
        }
        cells.push(Cell { value: sets.formulas.values.and(value), satisfies });
    }
    let outside: Vec<ValueFormula> =
        constraints.iter().map(|&value| sets.formulas.negated_value(value)).collect();
    let value = sets.formulas.values.and(outside);
    cells.push(Cell { value, satisfies: vec![false; count] });
    Ok(Some(cells))
}

/// For each value that satisfies one of `constraints`: the constraints that it satisfies, in ascending order and without
/// duplicates; `None` if there are too many, or if the complement of a constraint is not flat.
fn memberships(
    sets: &mut ValueSets<'_>,
    constraints: &[ValueFormula],
) -> Result<Option<Vec<LanguageSet>>, LimitExceeded> {
    let mut values = Vec::with_capacity(constraints.len());
    for &value in constraints {
        if !sets.has_flat_complement(value)? {
            return Ok(None);
        }
        values.push(sets.of_formula(value)?);
    }
    let satisfying = |is_in: &dyn Fn(&ValueSet) -> bool| -> LanguageSet {
        (0..).zip(&values).filter(|(_, set)| is_in(set)).map(|(index, _)| index).collect()
    };
    let mut found: Vec<LanguageSet> = vec![
        satisfying(&|set| set.null),
        satisfying(&|set| set.booleans.falsehood),
        satisfying(&|set| set.booleans.truth),
        satisfying(&|set| set.array == truth()),
        satisfying(&|set| set.object == truth()),
    ];
    let strings: Vec<TermId> = values.iter().map(|set| set.string.regular.yes).collect();
    let numbers: Vec<TermId> = values.iter().map(|set| set.number.yes).collect();
    for terms in [strings, numbers] {
        let limits =
            JointLimits { sets: MAX_CELLS_PER_CONSTRAINT * constraints.len(), states: MAX_JOINT_STATES };
        let Some(sets) = sets.languages.joint_membership(&terms, limits)? else { return Ok(None) };
        found.extend(sets);
    }
    found.retain(|membership| !membership.is_empty());
    found.sort_unstable();
    found.dedup();
    Ok(Some(found))
}

/// The constraints of a formula on one member, as cells of its values.
pub(crate) struct MemberCells {
    cells: Vec<Cell>,
    /// For each value formula of a literal: the index of its constraint, and whether it is the constraint or its negation.
    polarity: FxHashMap<ValueFormula, (usize, bool)>,
}

impl MemberCells {
    /// The cells of the member that the literals in `concerned` are about; `None` if cells are not worthwhile, or if the
    /// constraints overlap.
    pub(crate) fn new(
        sets: &mut ValueSets<'_>,
        concerned: impl IntoIterator<Item = ObjectAssertion>,
    ) -> Result<Option<Self>, LimitExceeded> {
        let mut constraints: Vec<ValueFormula> = Vec::new();
        let mut indices: FxHashMap<ValueFormula, usize> = FxHashMap::default();
        let mut polarity: FxHashMap<ValueFormula, (usize, bool)> = FxHashMap::default();
        for literal in concerned {
            let Some(value) = constrained_value(literal) else { continue };
            if value == truth() || value == falsehood() || polarity.contains_key(&value) {
                continue;
            }
            // A constraint and its negation make the same cells.
            let is_negated =
                matches!(sets.formulas.values.get(value), Formula::Literal(satisfies) if satisfies.negated);
            let negated = sets.formulas.negated_value(value);
            let is_positive = !is_negated && !indices.contains_key(&negated);
            let constraint = if is_positive { value } else { negated };
            let index = *indices.entry(constraint).or_insert_with(|| {
                constraints.push(constraint);
                constraints.len() - 1
            });
            polarity.insert(value, (index, is_positive));
        }
        if constraints.len() < MIN_CONSTRAINTS || constraints.len() > MAX_CONSTRAINTS {
            return Ok(None);
        }
        Ok(cells(sets, &constraints)?.map(|cells| Self { cells, polarity }))
    }

    /// The values of a union of cells, and the formula under the assumption that the member has one of them, which
    /// `substituted` computes from a decision about the constraints on the member. Formulas are pairwise different, and
    /// cells in which the formula is unsatisfiable are absent.
    pub(crate) fn split(
        &self,
        sets: &mut ValueSets<'_>,
        mut substituted: impl FnMut(&mut ValueSets<'_>, &dyn Fn(ValueFormula) -> bool) -> ObjectFormula,
    ) -> Result<Vec<(ValueFormula, ObjectFormula)>, LimitExceeded> {
        let mut groups: Vec<(ObjectFormula, Vec<ValueFormula>)> = Vec::new();
        let mut indices: FxHashMap<ObjectFormula, usize> = FxHashMap::default();
        for cell in &self.cells {
            sets.check_limits()?;
            let formula = substituted(sets, &|value| match self.polarity.get(&value) {
                Some(&(index, is_positive)) => cell.satisfies[index] == is_positive,
                None => value == truth(),
            });
            if formula == falsehood() {
                continue;
            }
            let group = *indices.entry(formula).or_insert_with(|| {
                groups.push((formula, Vec::new()));
                groups.len() - 1
            });
            groups[group].1.push(cell.value);
        }
        let values = &mut sets.formulas.values;
        Ok(groups.into_iter().map(|(formula, cells)| (values.or(cells), formula)).collect())
    }
}

/// The linear form of `formula` for a member that its literals concern where `concerns` says so, by cells; `None` if
/// cells are not worthwhile, or not possible.
pub(crate) fn form_by_cells(
    sets: &mut ValueSets<'_>,
    formula: ObjectFormula,
    concerns: impl Fn(&mut ValueSets<'_>, ObjectAssertion) -> Result<bool, LimitExceeded>,
) -> Result<Option<Vec<Monomial<ObjectAssertion>>>, LimitExceeded> {
    let mut concerned = FxHashSet::default();
    let mut literals = sets.formulas.objects.literals(formula);
    for &literal in &literals {
        if concerns(sets, literal)? {
            concerned.insert(literal);
        }
    }
    literals.retain(|literal| concerned.contains(literal));
    let Some(cells) = MemberCells::new(sets, literals)? else { return Ok(None) };
    let form = cells.split(sets, |sets, holds| {
        sets.formulas.objects.replaced(formula, |objects, id, &literal| match literal {
            ObjectAssertion::AtLeast(0 | 1) => truth(),
            ObjectAssertion::AtLeast(count) => objects.literal(ObjectAssertion::AtLeast(count - 1)),
            ObjectAssertion::AtMost(0) => falsehood(),
            ObjectAssertion::AtMost(count) => objects.literal(ObjectAssertion::AtMost(count - 1)),
            _ if !concerned.contains(&literal) => id,
            _ => decided(id, literal, holds),
        })
    })?;
    Ok(Some(form.into_iter().map(|(value, residual)| Monomial { value, residual }).collect()))
}

/// The literal `id` about a member that satisfies the constraints that `holds` says. Assertions about all or some members
/// are about the other members too.
pub(crate) fn decided(
    id: ObjectFormula,
    literal: ObjectAssertion,
    holds: impl Fn(ValueFormula) -> bool,
) -> ObjectFormula {
    match literal {
        ObjectAssertion::If(_, value) | ObjectAssertion::Has(_, value) if holds(value) => truth(),
        ObjectAssertion::If(..) | ObjectAssertion::Has(..) => falsehood(),
        ObjectAssertion::Each(_, value) if !holds(value) => falsehood(),
        ObjectAssertion::Some(_, value) if holds(value) => truth(),
        _ => id,
    }
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
            && set.string.formula.is_none()
            && self.languages.is_decided(set.number, set.string.regular)?;
        self.flat_complements.insert(value, is_flat);
        Ok(is_flat)
    }
}
