//! Simplification of formulas about objects under facts about single members.
//!
//! A conjunction constrains single members by its literals: "`type` is required and is `a`". Below it, a literal about
//! the same member may be implied or excluded: in "not (`type` is `b` and ...)" the first disjunct is implied, so the
//! whole negation is. Branches of a `oneOf` whose discriminator is required, or fixed, outside of the branches are
//! decided in this way, and need no rules for the combinations of their negations.
//!
//! The result admits the same texts, not only the same values: sets of scalars are compared by the languages that are
//! emitted. Cost: one decision about two languages per pair of constraints on a member, memoised, and linear in the
//! size of the formula otherwise.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::interner::Id;
use crate::values::disjointness::is_unsatisfiable;
use crate::values::formula::{Formula, falsehood, truth};
use crate::values::formulas::{MemberConstraints, NameId};
use crate::values::literals::{NameSet, ObjectAssertion, ObjectFormula, ValueFormula};
use crate::values::value_sets::{Relation, ValueSets};
use grammask_diagnostics::LimitExceeded;

/// Levels of alternating conjunctions and disjunctions that are simplified.
const MAX_DEPTH: usize = 6;

/// Passes over a conjunction: each may find further constraints on single members.
const MAX_PASSES: usize = 4;

/// Levels of nested members that are compared.
const MAX_VALUE_DEPTH: usize = 2;

/// Constraints on single members, and on all members with names in a set.
#[derive(Debug, Default)]
pub(crate) struct MemberFacts {
    members: FxHashMap<NameId, MemberConstraints>,
    of_name_sets: Vec<(Id<NameSet>, ValueFormula)>,
}

impl MemberFacts {
    /// Adds the constraints on one member.
    pub(crate) fn add_member(&mut self, name: NameId, value: ValueFormula, required: bool) {
        let member = self.members.entry(name).or_default();
        if required { member.require(value) } else { member.constrain(value) }
    }

    fn add(&mut self, literal: ObjectAssertion) {
        match literal {
            ObjectAssertion::If(name, value) => self.add_member(name, value, false),
            ObjectAssertion::Has(name, value) => self.add_member(name, value, true),
            ObjectAssertion::Each(names, value) => self.of_name_sets.push((names, value)),
            _ => {}
        }
    }
}

/// `formula` where `facts` hold. They are not part of the result.
pub(crate) fn simplified(
    sets: &mut ValueSets<'_>,
    formula: ObjectFormula,
    facts: Rc<MemberFacts>,
) -> Result<ObjectFormula, LimitExceeded> {
    let mut simplifier = Simplifier { sets, layers: vec![facts] };
    simplifier.formula(formula, MAX_DEPTH)
}

/// The facts of a formula and of the conjunctions around it.
struct Simplifier<'s, 'o> {
    sets: &'s mut ValueSets<'o>,
    /// From the outermost conjunction inwards.
    layers: Vec<Rc<MemberFacts>>,
}

impl Simplifier<'_, '_> {
    fn formula(&mut self, formula: ObjectFormula, depth: usize) -> Result<ObjectFormula, LimitExceeded> {
        if depth == 0 {
            return Ok(formula);
        }
        match self.sets.formulas.objects.get(formula).clone() {
            Formula::True | Formula::False => Ok(formula),
            Formula::Literal(literal) => self.literal(formula, literal),
            Formula::And(_) => self.conjunction(formula, depth),
            Formula::Or(parts) => {
                self.sets.check_limits()?;
                let mut simplified = Vec::with_capacity(parts.len());
                for part in parts {
                    let part = self.formula(part, depth - 1)?;
                    if part == truth() {
                        return Ok(part);
                    }
                    simplified.push(part);
                }
                if self.is_tautology(&simplified) {
                    return Ok(truth());
                }
                Ok(self.sets.formulas.objects.or(simplified))
            }
        }
    }

    /// Whether a disjunction holds whether a member is absent or present.
    fn is_tautology(&self, parts: &[ObjectFormula]) -> bool {
        let objects = &self.sets.formulas.objects;
        parts.iter().any(|&part| match *objects.get(part) {
            Formula::Literal(ObjectAssertion::If(name, value)) if value == falsehood() => {
                parts.iter().any(|&other| {
                    matches!(*objects.get(other), Formula::Literal(ObjectAssertion::Has(present, value))
                        if present == name && value == truth())
                })
            }
            _ => false,
        })
    }

    fn conjunction(
        &mut self,
        mut formula: ObjectFormula,
        depth: usize,
    ) -> Result<ObjectFormula, LimitExceeded> {
        for _ in 0..MAX_PASSES {
            let parts = self.sets.formulas.objects.conjuncts(formula);
            let mut facts = MemberFacts::default();
            let (mut literals, mut disjunctions) = (Vec::new(), Vec::new());
            for part in parts {
                let Formula::Literal(literal) = *self.sets.formulas.objects.get(part) else {
                    disjunctions.push(part);
                    continue;
                };
                let part = self.literal(part, literal)?;
                if part == falsehood() {
                    return Ok(part);
                }
                if let Formula::Literal(literal) = *self.sets.formulas.objects.get(part) {
                    facts.add(literal);
                    literals.push(part);
                }
            }
            let required: Vec<NameId> =
                facts.members.iter().filter(|(_, member)| member.required).map(|(&name, _)| name).collect();
            self.layers.push(Rc::new(facts));
            let is_possible = self.are_possible(&required)?;
            let mut results = literals;
            if is_possible {
                for part in disjunctions {
                    results.push(self.formula(part, depth - 1)?);
                }
            }
            self.layers.pop();
            if !is_possible {
                return Ok(falsehood());
            }
            let result = self.sets.formulas.objects.and(results);
            if result == formula {
                break;
            }
            formula = result;
            if !matches!(self.sets.formulas.objects.get(formula), Formula::And(_)) {
                return self.formula(formula, depth - 1);
            }
        }
        Ok(formula)
    }

    /// Whether there may be a value for each of the members.
    fn are_possible(&mut self, required: &[NameId]) -> Result<bool, LimitExceeded> {
        for &name in required {
            let (known, _) = self.known(name)?;
            if known == falsehood() || self.sets.is_impossible(known)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The known constraint on the member `name`, and whether it is required.
    fn known(&mut self, name: NameId) -> Result<(ValueFormula, bool), LimitExceeded> {
        let mut values: Vec<ValueFormula> = Vec::new();
        let mut is_required = false;
        for layer in &self.layers {
            if let Some(member) = layer.members.get(&name) {
                values.extend(&member.values);
                is_required |= member.required;
            }
            for &(names, value) in &layer.of_name_sets {
                if self.sets.formulas.has_name(&mut self.sets.languages, names, name)? {
                    values.push(value);
                }
            }
        }
        Ok((self.sets.formulas.values.and(values), is_required))
    }

    fn literal(
        &mut self,
        formula: ObjectFormula,
        literal: ObjectAssertion,
    ) -> Result<ObjectFormula, LimitExceeded> {
        let (name, value, requires) = match literal {
            ObjectAssertion::If(name, value) => (name, value, false),
            ObjectAssertion::Has(name, value) => (name, value, true),
            ObjectAssertion::Each(names, value) => return self.each_member(formula, names, value),
            ObjectAssertion::Some(names, value) => return self.some_member(formula, names, value),
            // The declared names are read from the formula before.
            ObjectAssertion::Declares(_) | ObjectAssertion::Relaxed => return Ok(truth()),
            ObjectAssertion::AtLeast(_) | ObjectAssertion::AtMost(_) => return Ok(formula),
        };
        let (known, is_required) = self.known(name)?;
        let relation = if known == falsehood() {
            // The member is absent.
            if requires { Relation::Excludes } else { Relation::Implies }
        } else {
            self.sets.relation(known, value)?
        };
        let formulas = &mut self.sets.formulas;
        Ok(match (relation, requires) {
            (Relation::Implies, false) => truth(),
            (Relation::Implies, true) if is_required => truth(),
            (Relation::Implies, true) => formulas.has_member(name, truth()),
            (Relation::Excludes, true) => falsehood(),
            (Relation::Excludes, false) if is_required => falsehood(),
            (Relation::Excludes, false) => formulas.if_present(name, falsehood()),
            (Relation::Unknown, _) => formula,
        })
    }
}

impl Simplifier<'_, '_> {
    /// "Each member with a name in `names` satisfies `value`."
    fn each_member(
        &mut self,
        formula: ObjectFormula,
        names: Id<NameSet>,
        value: ValueFormula,
    ) -> Result<ObjectFormula, LimitExceeded> {
        if self.relation_to_all(names, value, Relation::Implies)? {
            return Ok(truth());
        }
        let is_violated = self.has_member(names, value, Relation::Excludes)?;
        Ok(if is_violated { falsehood() } else { formula })
    }

    /// "Some member with a name in `names` satisfies `value`."
    fn some_member(
        &mut self,
        formula: ObjectFormula,
        names: Id<NameSet>,
        value: ValueFormula,
    ) -> Result<ObjectFormula, LimitExceeded> {
        if self.relation_to_all(names, value, Relation::Excludes)? {
            return Ok(falsehood());
        }
        let is_satisfied = self.has_member(names, value, Relation::Implies)?;
        Ok(if is_satisfied { truth() } else { formula })
    }

    /// Whether a known constraint on all members with names in `names` has this relation to `value`.
    fn relation_to_all(
        &mut self,
        names: Id<NameSet>,
        value: ValueFormula,
        relation: Relation,
    ) -> Result<bool, LimitExceeded> {
        let known: Vec<_> = self.layers.iter().flat_map(|layer| layer.of_name_sets.iter().copied()).collect();
        for (larger, known) in known {
            let sets = &self.sets.formulas.name_sets;
            if is_subset(sets.get(names), sets.get(larger))
                && (known == falsehood() || self.sets.relation(known, value)? == relation)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a required member with a name in `names` has this relation to `value`.
    fn has_member(
        &mut self,
        names: Id<NameSet>,
        value: ValueFormula,
        relation: Relation,
    ) -> Result<bool, LimitExceeded> {
        let mut required = Vec::new();
        for layer in &self.layers {
            required
                .extend(layer.members.iter().filter(|(_, member)| member.required).map(|(&name, _)| name));
        }
        for name in required {
            if !self.sets.formulas.has_name(&mut self.sets.languages, names, name)? {
                continue;
            }
            let (known, _) = self.known(name)?;
            if known != falsehood() && self.sets.relation(known, value)? == relation {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether `one` is certainly a subset of `other`.
fn is_subset(one: &NameSet, other: &NameSet) -> bool {
    match (one, other) {
        (_, NameSet::All) => true,
        (NameSet::Others { names, patterns }, NameSet::Others { names: fewer, patterns: fewer_patterns }) => {
            fewer.iter().all(|name| names.binary_search(name).is_ok())
                && fewer_patterns.iter().all(|pattern| patterns.binary_search(pattern).is_ok())
        }
        _ => one == other,
    }
}

impl ValueSets<'_> {
    /// The relation of `known` to `other`; memoised.
    pub(crate) fn relation(
        &mut self,
        known: ValueFormula,
        other: ValueFormula,
    ) -> Result<Relation, LimitExceeded> {
        if known == truth() && !matches!(self.formulas.values.get(other), Formula::True | Formula::False) {
            return Ok(Relation::Unknown);
        }
        if let Some(&cached) = self.relations.get(&(known, other)) {
            return Ok(cached);
        }
        let both = self.formulas.values.and([known, other]);
        let relation = if both == known {
            Relation::Implies
        } else if both == falsehood() || is_unsatisfiable(self, &[known, other], MAX_VALUE_DEPTH)? {
            Relation::Excludes
        } else if self.is_subset(known, other)? {
            Relation::Implies
        } else {
            Relation::Unknown
        };
        self.relations.insert((known, other), relation);
        Ok(relation)
    }

    /// Whether certainly no value satisfies `value`; memoised.
    fn is_impossible(&mut self, value: ValueFormula) -> Result<bool, LimitExceeded> {
        if let Some(&cached) = self.impossible.get(&value) {
            return Ok(cached);
        }
        let parts = self.formulas.values.conjuncts(value);
        let is_impossible = is_unsatisfiable(self, &parts, MAX_VALUE_DEPTH)?;
        self.impossible.insert(value, is_impossible);
        Ok(is_impossible)
    }

    /// Whether all values of `one` certainly satisfy `other`, in all their texts.
    fn is_subset(&mut self, one: ValueFormula, other: ValueFormula) -> Result<bool, LimitExceeded> {
        let (one, other) = (self.of_formula(one)?, self.of_formula(other)?);
        if (one.null && !other.null)
            || (one.booleans.truth && !other.booleans.truth)
            || (one.booleans.falsehood && !other.booleans.falsehood)
        {
            return Ok(false);
        }
        let formulas = &mut self.formulas;
        if formulas.arrays.and([one.array, other.array]) != one.array
            || formulas.objects.and([one.object, other.object]) != one.object
        {
            return Ok(false);
        }
        let languages = &mut self.languages;
        if other.string.formula.is_some()
            && one.string != other.string
            && !languages.is_empty(one.string.regular.yes)?
        {
            return Ok(false);
        }
        Ok(languages.is_subset(one.number.yes, other.number.yes)?
            && languages.is_string_subset(one.string.regular, other.string.regular)?)
    }
}
