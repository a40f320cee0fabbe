//! A formula about objects as a disjunction of conjunctions, for members in any order.
//!
//! Each conjunction has constraints on single members, Horn clauses over "this member is present" and at most one witness,
//! so it is a selection. A formula is split by its most frequent literal or by a disjunction, as in the procedure of M. Davis, G. Logemann
//! and D. Loveland (1962), and simplified after each decision.

use crate::interner::Id;
use crate::members::object_shape::ObjectShape;
use crate::values::child_count::ChildCount;
use crate::values::formula::{Formula, falsehood, truth};
use crate::values::formulas::{Formulas, MemberConstraints, NameId};
use crate::values::literals::{NameSet, ObjectAssertion, ObjectFormula, ValueFormula};
use crate::values::member_cells::{MemberCells, decided};
use crate::values::simplification::{MemberFacts, simplified};
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::rc::Rc;

/// Bound on the number of conjunctions.
const MAX_CASES: usize = 1024;
/// Number of combinations of disjuncts up to which positive disjunctions are split.
const MAX_SPLIT_COMBINATIONS: usize = 8;
/// Bound on the number of conjunctions examined, including unsatisfiable ones.
const MAX_EXAMINED_CASES: usize = 4096;

/// "If all of `given` are present, so are all of `then`"; with `then` absent: "not all of `given` are present".
pub(super) struct NameClause {
    pub(super) given: Vec<NameId>,
    pub(super) then: Option<Vec<NameId>>,
}

/// "Some member with an undeclared name in `set` satisfies `value`."
#[derive(Clone, Copy)]
pub(super) struct Witness {
    pub(super) set: Id<NameSet>,
    pub(super) value: ValueFormula,
}

/// A conjunction of constraints on members.
#[derive(Default)]
pub(super) struct ObjectCase {
    /// Constraints on single members, and on all members with names in a set.
    pub(super) literals: Vec<ObjectFormula>,
    pub(super) clauses: Vec<NameClause>,
    pub(super) witness: Option<Witness>,
    pub(super) count: ChildCount,
    /// Disjunctions of "some member satisfies this", which are not split.
    pub(super) choices: Vec<Vec<ObjectAssertion>>,
}

/// The treatment of disjunctions of "some member satisfies this".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PositiveDisjunctions {
    /// They are split into cases.
    Split,
    /// They are choices of a case, if there would be many cases.
    Keep,
}

/// A formula that is not a case yet, with the witness that was chosen for it.
struct OpenCase {
    formula: ObjectFormula,
    witness: Option<Witness>,
}

/// Conjunctions whose disjunction is `formula`; `None` if they are too many or of another form.
///
/// A disjunction of conjunctions, such as a `oneOf`, is split by its branches, because each decides much about the
/// members. Otherwise the most frequent literal is split on, as in the procedure of M. Davis, G. Logemann and D. Loveland
/// (1962): it holds, or it does not. The formula is simplified after each decision.
pub(super) fn object_cases(
    sets: &mut ValueSets<'_>,
    shape: ObjectShape<'_>,
    formula: ObjectFormula,
    positive: PositiveDisjunctions,
) -> Result<Option<Vec<ObjectCase>>, LimitExceeded> {
    let mut cases = Vec::new();
    let mut pending = vec![OpenCase { formula, witness: None }];
    let mut examined = 0;
    let mut facts = MemberFacts::default();
    for member in shape.declared {
        facts.add_member(member.name, member.value, member.required);
    }
    let facts = Rc::new(facts);
    while let Some(OpenCase { formula, witness }) = pending.pop() {
        examined += 1;
        if examined > MAX_EXAMINED_CASES || cases.len() > MAX_CASES {
            return Ok(None);
        }
        let formula = simplified(sets, formula, facts.clone())?;
        let parts = sets.formulas.objects.conjuncts(formula);
        if formula == falsehood() || is_unsatisfiable(sets, shape, &parts)? {
            continue;
        }
        let formulas = &sets.formulas;
        let mut case = ObjectCase { witness, ..ObjectCase::default() };
        let (mut disjunctions, mut assertion) = (Vec::new(), None);
        for &part in &parts {
            match *formulas.objects.get(part) {
                Formula::True | Formula::Literal(ObjectAssertion::Declares(_) | ObjectAssertion::Relaxed) => {
                }
                Formula::Literal(ObjectAssertion::AtLeast(count)) => case.count.require_at_least(count),
                Formula::Literal(ObjectAssertion::AtMost(count)) => case.count.require_at_most(count),
                Formula::Literal(ObjectAssertion::Some(set, value)) => {
                    assertion = assertion.or(Some((part, Witness { set, value })));
                }
                Formula::Literal(_) => case.literals.push(part),
                _ => match name_clause(formulas, part) {
                    Some(clause) => case.clauses.push(clause),
                    None => disjunctions.push(part),
                },
            }
        }
        if positive == PositiveDisjunctions::Keep && witness.is_none() {
            let choices: Vec<Option<Vec<ObjectAssertion>>> =
                disjunctions.iter().map(|&part| positive_literals(formulas, part)).collect();
            let kept = || choices.iter().flatten();
            let combinations = kept().map(Vec::len).fold(1, usize::saturating_mul);
            if combinations > MAX_SPLIT_COMBINATIONS {
                let is_whole = choices.iter().all(Option::is_some);
                if is_whole && case.clauses.is_empty() && case.count == ChildCount::default() {
                    case.choices = choices.into_iter().flatten().collect();
                    let is_some = |part: &&ObjectFormula| {
                        matches!(formulas.objects.get(**part), Formula::Literal(ObjectAssertion::Some(..)))
                    };
                    let single = parts.iter().filter(is_some);
                    case.choices.extend(single.filter_map(|&part| positive_literals(formulas, part)));
                    cases.push(case);
                    continue;
                }
                // The others first.
                let others = disjunctions.iter().zip(&choices).filter(|(_, kept)| kept.is_none());
                let others: Vec<ObjectFormula> = others.map(|(&part, _)| part).collect();
                if !others.is_empty() {
                    disjunctions = others;
                }
            }
        }
        // In reverse, so that alternatives keep the order of the branches.
        if !disjunctions.is_empty() {
            let branches = branches(sets, &parts, &disjunctions)?;
            pending.extend(branches.into_iter().rev().map(|formula| OpenCase { formula, witness }));
        } else if let Some((part, assertion)) = assertion {
            let others = parts.iter().copied().filter(|&other| other != part).collect::<Vec<_>>();
            let others = sets.formulas.objects.and(others);
            let Some(branches) = witnessed(sets, shape, assertion, witness)? else { return Ok(None) };
            for OpenCase { formula, witness } in branches {
                let formula = sets.formulas.objects.and([others, formula]);
                pending.push(OpenCase { formula, witness });
            }
        } else {
            cases.push(case);
        }
    }
    Ok(Some(cases))
}

/// The disjuncts of a formula, if each says that some member satisfies a formula.
fn positive_literals(formulas: &Formulas, formula: ObjectFormula) -> Option<Vec<ObjectAssertion>> {
    let literal = |part: ObjectFormula| match *formulas.objects.get(part) {
        Formula::Literal(literal @ (ObjectAssertion::Has(..) | ObjectAssertion::Some(..))) => Some(literal),
        _ => None,
    };
    formulas.objects.disjuncts(formula).into_iter().map(literal).collect()
}

/// Conjunctions whose disjunction is `formula`, in which only Horn clauses are disjunctions; `None` if they are too many.
pub(super) fn cases_without_disjunctions(
    sets: &mut ValueSets<'_>,
    formula: ObjectFormula,
) -> Result<Option<Vec<ObjectFormula>>, LimitExceeded> {
    let mut cases = Vec::new();
    let mut pending = vec![formula];
    let mut examined = 0;
    while let Some(formula) = pending.pop() {
        examined += 1;
        if examined > MAX_EXAMINED_CASES || cases.len() > MAX_CASES {
            return Ok(None);
        }
        let formula = simplified(sets, formula, Rc::default())?;
        let parts = sets.formulas.objects.conjuncts(formula);
        let objects = &sets.formulas.objects;
        let is_choice = |part: &ObjectFormula| {
            matches!(objects.get(*part), Formula::Or(_)) && name_clause(&sets.formulas, *part).is_none()
        };
        let disjunctions: Vec<ObjectFormula> = parts.iter().copied().filter(is_choice).collect();
        if formula == falsehood() {
        } else if disjunctions.is_empty() {
            cases.push(formula);
        } else {
            pending.extend(branches(sets, &parts, &disjunctions)?.into_iter().rev());
        }
    }
    Ok(Some(cases))
}

/// Formulas whose disjunction is the conjunction of `parts`, each with one of the `disjunctions` among them decided.
fn branches(
    sets: &mut ValueSets<'_>,
    parts: &[ObjectFormula],
    disjunctions: &[ObjectFormula],
) -> Result<Vec<ObjectFormula>, LimitExceeded> {
    if let Some(branches) = branches_by_cells(sets, parts, disjunctions)? {
        return Ok(branches);
    }
    let objects = &sets.formulas.objects;
    // The disjunction whose branches decide most, if each of them is a conjunction.
    let mut most: Option<(usize, ObjectFormula)> = None;
    let mut occurrences: FxHashMap<ObjectFormula, usize> = FxHashMap::default();
    let mut shortest = disjunctions[0];
    for &disjunction in disjunctions {
        let parts = objects.disjuncts(disjunction);
        let fewest = parts.iter().map(|&part| objects.conjuncts(part).len()).min().unwrap_or(0);
        if fewest > most.map_or(1, |(fewest, _)| fewest) {
            most = Some((fewest, disjunction));
        }
        for &part in &parts {
            if matches!(objects.get(part), Formula::Literal(_)) {
                *occurrences.entry(part).or_default() += 1;
            }
        }
        if parts.len() < objects.disjuncts(shortest).len() {
            shortest = disjunction;
        }
    }
    let literal = match most {
        Some(_) => None,
        None => {
            let frequent = occurrences.into_iter().max_by_key(|&(part, count)| (count, Reverse(part)));
            let first = |disjunction| {
                let is_literal = |part: &ObjectFormula| matches!(objects.get(*part), Formula::Literal(_));
                objects.disjuncts(disjunction).into_iter().find(is_literal)
            };
            frequent.filter(|&(_, count)| count > 1).map(|(part, _)| part).or_else(|| first(shortest))
        }
    };
    let Some(literal) = literal else {
        let disjunction = most.map_or(shortest, |(_, disjunction)| disjunction);
        let others: Vec<ObjectFormula> = parts.iter().copied().filter(|&part| part != disjunction).collect();
        let branches = objects.disjuncts(disjunction);
        let objects = &mut sets.formulas.objects;
        return Ok(branches
            .into_iter()
            .map(|branch| objects.and(others.iter().copied().chain([branch])))
            .collect());
    };
    // Where the literal does not hold, each disjunction holds by another of its parts.
    let mut without = Vec::with_capacity(parts.len() + 1);
    for &part in parts {
        let disjuncts = sets.formulas.objects.disjuncts(part);
        let is_decided = disjuncts.len() > 1 && disjuncts.contains(&literal);
        without.push(if is_decided {
            sets.formulas.objects.or(disjuncts.into_iter().filter(|&disjunct| disjunct != literal))
        } else {
            part
        });
    }
    without.extend(decided_negation(sets, literal)?);
    let objects = &mut sets.formulas.objects;
    Ok(vec![objects.and(parts.iter().copied().chain([literal])), objects.and(without)])
}

/// The conjunction of `parts`, split by the cells of the member that most of the `disjunctions` mention; `None` if no member
/// has cells.
fn branches_by_cells(
    sets: &mut ValueSets<'_>,
    parts: &[ObjectFormula],
    disjunctions: &[ObjectFormula],
) -> Result<Option<Vec<ObjectFormula>>, LimitExceeded> {
    let mut of_names: Vec<(NameId, Vec<ObjectAssertion>)> = Vec::new();
    let mut indices: FxHashMap<NameId, usize> = FxHashMap::default();
    let formula = sets.formulas.objects.and(disjunctions.iter().copied());
    for literal in sets.formulas.objects.literals(formula) {
        let (ObjectAssertion::If(name, _) | ObjectAssertion::Has(name, _)) = literal else { continue };
        let index = *indices.entry(name).or_insert_with(|| {
            of_names.push((name, Vec::new()));
            of_names.len() - 1
        });
        of_names[index].1.push(literal);
    }
    of_names.sort_by_key(|(_, literals)| Reverse(literals.len()));
    for (name, literals) in of_names {
        let Some(cells) = MemberCells::new(sets, literals)? else { continue };
        let others: Vec<ObjectFormula> =
            parts.iter().copied().filter(|part| !disjunctions.contains(part)).collect();
        let is_about = |literal: ObjectAssertion| matches!(literal, ObjectAssertion::If(about, _) | ObjectAssertion::Has(about, _) if about == name);
        let absent = sets.formulas.objects.replaced(formula, |_, id, &literal| match literal {
            ObjectAssertion::If(about, _) if about == name => truth(),
            ObjectAssertion::Has(about, _) if about == name => falsehood(),
            _ => id,
        });
        let split = cells.split(sets, |sets, holds| {
            sets.formulas.objects.replaced(formula, |_, id, &literal| {
                if is_about(literal) { decided(id, literal, holds) } else { id }
            })
        })?;
        let mut branches = Vec::with_capacity(split.len() + 1);
        let mut is_absence_covered = absent == falsehood();
        for (value, formula) in split {
            let formulas = &mut sets.formulas;
            let member = if formula == absent {
                is_absence_covered = true;
                formulas.if_present(name, value)
            } else {
                formulas.has_member(name, value)
            };
            branches.push(formulas.objects.and(others.iter().copied().chain([member, formula])));
        }
        if !is_absence_covered {
            let formulas = &mut sets.formulas;
            let member = formulas.if_present(name, falsehood());
            branches.push(formulas.objects.and(others.iter().copied().chain([member, absent])));
        }
        return Ok(Some(branches));
    }
    Ok(None)
}

/// The negation of a literal about one member, if each text of the member's value surely satisfies one of the two, and
/// the negation adds no constraint on the children of arrays and objects.
fn decided_negation(
    sets: &mut ValueSets<'_>,
    literal: ObjectFormula,
) -> Result<Option<ObjectFormula>, LimitExceeded> {
    let Formula::Literal(assertion) = *sets.formulas.objects.get(literal) else { return Ok(None) };
    let (name, value, requires) = match assertion {
        ObjectAssertion::If(name, value) => (name, value, false),
        ObjectAssertion::Has(name, value) => (name, value, true),
        _ => return Ok(None),
    };
    if !sets.has_flat_complement(value)? {
        return Ok(None);
    }
    let negated = sets.formulas.negated_value(value);
    let formulas = &mut sets.formulas;
    Ok(Some(if requires { formulas.if_present(name, negated) } else { formulas.has_member(name, negated) }))
}

/// The ways in which some member satisfies `assertion`: a declared one, or one that is not declared, the witness. `None`
/// if this needs a second witness, because one member can be the witness of two assertions, which is not a selection.
fn witnessed(
    sets: &mut ValueSets<'_>,
    shape: ObjectShape<'_>,
    assertion: Witness,
    witness: Option<Witness>,
) -> Result<Option<Vec<OpenCase>>, LimitExceeded> {
    let mut branches = Vec::new();
    for member in shape.declared {
        if sets.formulas.has_name(&mut sets.languages, assertion.set, member.name)? {
            let has = sets.formulas.has_member(member.name, assertion.value);
            branches.push(OpenCase { formula: has, witness });
        }
    }
    let classes = |set: Id<NameSet>| {
        let set = sets.formulas.name_sets.get(set);
        shape.classes.iter().enumerate().filter(|(_, class)| class.is_in(set)).map(|(index, _)| index)
    };
    let candidates: FxHashSet<usize> = classes(assertion.set).collect();
    if candidates.is_empty() {
        return Ok(Some(branches));
    }
    let Some(known) = witness else {
        branches.push(OpenCase { formula: truth(), witness: Some(assertion) });
        return Ok(Some(branches));
    };
    let of_known: FxHashSet<usize> = classes(known.set).collect();
    if of_known.is_subset(&candidates) && (assertion.value == truth() || assertion.value == known.value) {
        // The witness satisfies this assertion as well.
        return Ok(Some(vec![OpenCase { formula: truth(), witness }]));
    }
    if candidates.is_subset(&of_known) && known.value == truth() {
        branches.push(OpenCase { formula: truth(), witness: Some(assertion) });
        return Ok(Some(branches));
    }
    Ok(None)
}

/// Whether certainly no value satisfies the constraints on some required member.
fn is_unsatisfiable(
    sets: &mut ValueSets<'_>,
    shape: ObjectShape<'_>,
    parts: &[ObjectFormula],
) -> Result<bool, LimitExceeded> {
    let mut constraints: FxHashMap<NameId, MemberConstraints> = FxHashMap::default();
    for &part in parts {
        if let Formula::Literal(ObjectAssertion::If(name, value)) = *sets.formulas.objects.get(part) {
            constraints.entry(name).or_default().constrain(value);
        }
        if let Formula::Literal(ObjectAssertion::Has(name, value)) = *sets.formulas.objects.get(part) {
            constraints.entry(name).or_default().require(value);
        }
    }
    for member in shape.declared {
        let Some(MemberConstraints { mut values, required }) = constraints.remove(&member.name) else {
            continue;
        };
        if !required && !member.required {
            continue;
        }
        values.push(member.value);
        let value = sets.formulas.values.and(values);
        if value == falsehood() {
            return Ok(true);
        }
        if matches!(sets.formulas.values.get(value), Formula::And(_)) {
            let set = sets.of_formula(value)?;
            if sets.is_plainly_empty(set)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// A disjunction as a clause, if it has the form "not a, or not b, or c".
pub(super) fn name_clause(formulas: &Formulas, formula: ObjectFormula) -> Option<NameClause> {
    let Formula::Or(parts) = formulas.objects.get(formula) else { return None };
    let mut clause = NameClause { given: Vec::new(), then: None };
    let present = |part: ObjectFormula| match *formulas.objects.get(part) {
        Formula::Literal(ObjectAssertion::Has(name, value)) if value == truth() => Some(name),
        _ => None,
    };
    for &part in parts {
        match *formulas.objects.get(part) {
            Formula::Literal(ObjectAssertion::If(name, value)) if value == falsehood() => {
                clause.given.push(name);
            }
            _ if clause.then.is_none() => {
                let required =
                    formulas.objects.conjuncts(part).into_iter().map(present).collect::<Option<_>>()?;
                clause.then = Some(required);
            }
            _ => return None,
        }
    }
    (!clause.given.is_empty()).then_some(clause)
}
