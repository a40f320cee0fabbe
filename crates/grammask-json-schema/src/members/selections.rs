//! Objects as selections: members in any order, and members that depend on many others.
//!
//! With n names in any order there are 2^n residuals, and with `dependentRequired` between many names too, which is too
//! many for a rule each (`members::objects`). Here the formula becomes a few conjunctions of constraints on single
//! members and of Horn clauses over "this member is present". Each is a [`Selection`], whose states the recogniser
//! creates on demand. Formulas that are not of this form remain rules.

use crate::KeyOrder;
use crate::emit::emitter::Emitter;
use crate::emit::rules::{PartSequence, RulePart};
use crate::interner::Id;
use crate::members::child_count::ChildCount;
use crate::members::objects::{ClassMonomial, ObjectShape, class_forms, declared_member, other_member};
use crate::values::formula::{Formula, falsehood, truth};
use crate::values::formulas::{Formulas, MemberConstraints, NameId};
use crate::values::literals::{NameSet, ObjectAssertion, ObjectFormula, ValueFormula};
use crate::values::simplification::{MemberFacts, simplified};
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{Clause, PartId, PartOrder, Selection};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::rc::Rc;

/// Number of declared names in any order up to which rules are used.
const MAX_RULE_NAMES: usize = 1;
/// Number of clauses in declared order up to which rules are used.
const MAX_RULE_CLAUSES: usize = 5;
/// Bound on the number of conjunctions.
const MAX_CASES: usize = 256;
/// Bound on the number of conjunctions examined, including unsatisfiable ones.
const MAX_EXAMINED_CASES: usize = 4096;

/// "If all of `given` are present, so are all of `then`"; with `then` absent: "not all of `given` are present".
struct NameClause {
    given: Vec<NameId>,
    then: Option<Vec<NameId>>,
}

/// "Some member with an undeclared name in `set` satisfies `value`."
#[derive(Clone, Copy)]
struct Witness {
    set: Id<NameSet>,
    value: ValueFormula,
}

/// A conjunction of constraints on members.
#[derive(Default)]
struct ObjectCase {
    /// Constraints on single members, and on all members with names in a set.
    literals: Vec<ObjectFormula>,
    clauses: Vec<NameClause>,
    witness: Option<Witness>,
    count: ChildCount,
}

/// The right-hand sides of the objects of a shape that satisfy `formula`; `None` if rules are preferable, or necessary.
pub(super) fn selected_members(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    shape: ObjectShape<'_>,
    formula: ObjectFormula,
) -> Result<Option<Vec<PartSequence>>, LimitExceeded> {
    let is_worthwhile = match sets.reader.options.key_order {
        KeyOrder::Any => shape.declared.len() > MAX_RULE_NAMES,
        KeyOrder::Declared => {
            let parts = sets.formulas.objects.conjuncts(formula);
            let is_clause = |part: &ObjectFormula| name_clause(&sets.formulas, *part).is_some();
            parts.len() > MAX_RULE_CLAUSES
                && parts.iter().filter(|part| is_clause(part)).count() > MAX_RULE_CLAUSES
        }
    };
    if !is_worthwhile {
        return Ok(None);
    }
    let Some(cases) = object_cases(sets, shape, formula)? else { return Ok(None) };
    let mut alternatives: Vec<PartSequence> = Vec::new();
    for case in cases {
        emitter.check_limits(sets)?;
        let Some(texts) = case_alternatives(sets, emitter, shape, &case)? else { return Ok(None) };
        for parts in texts {
            if !alternatives.contains(&parts) {
                alternatives.push(parts);
            }
        }
    }
    Ok(Some(alternatives))
}

/// Conjunctions whose disjunction is `formula`; `None` if they are too many or of another form.
///
/// A disjunction of conjunctions, such as a `oneOf`, is split by its branches, because each decides much about the
/// members. Otherwise the most frequent literal is split on, as in the procedure of M. Davis, G. Logemann and D. Loveland
/// (1962): it holds, or it does not. The formula is simplified after each decision.
fn object_cases(
    sets: &mut ValueSets<'_>,
    shape: ObjectShape<'_>,
    formula: ObjectFormula,
) -> Result<Option<Vec<ObjectCase>>, LimitExceeded> {
    let mut cases = Vec::new();
    let mut pending: Vec<(ObjectFormula, Option<Witness>)> = vec![(formula, None)];
    let mut examined = 0;
    let mut facts = MemberFacts::default();
    for member in shape.declared {
        facts.add_member(member.name, member.value, member.required);
    }
    let facts = Rc::new(facts);
    while let Some((formula, witness)) = pending.pop() {
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
        // In reverse, so that alternatives keep the order of the branches.
        if !disjunctions.is_empty() {
            let branches = branches(sets, &parts, &disjunctions)?;
            pending.extend(branches.into_iter().rev().map(|branch| (branch, witness)));
        } else if let Some((part, assertion)) = assertion {
            let others = parts.iter().copied().filter(|&other| other != part).collect::<Vec<_>>();
            let others = sets.formulas.objects.and(others);
            let Some(branches) = witnessed(sets, shape, assertion, witness)? else { return Ok(None) };
            for (branch, witness) in branches {
                pending.push((sets.formulas.objects.and([others, branch]), witness));
            }
        } else {
            cases.push(case);
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
) -> Result<Option<Vec<(ObjectFormula, Option<Witness>)>>, LimitExceeded> {
    let mut branches = Vec::new();
    for member in shape.declared {
        if sets.formulas.has_name(&mut sets.languages, assertion.set, member.name)? {
            let has = sets.formulas.has_member(member.name, assertion.value);
            branches.push((has, witness));
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
        branches.push((truth(), Some(assertion)));
        return Ok(Some(branches));
    };
    let of_known: FxHashSet<usize> = classes(known.set).collect();
    if of_known.is_subset(&candidates) && (assertion.value == truth() || assertion.value == known.value) {
        // The witness satisfies this assertion as well.
        return Ok(Some(vec![(truth(), witness)]));
    }
    if candidates.is_subset(&of_known) && known.value == truth() {
        branches.push((truth(), Some(assertion)));
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
fn name_clause(formulas: &Formulas, formula: ObjectFormula) -> Option<NameClause> {
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

/// The parts of a selection and the clauses on them.
#[derive(Default)]
struct SelectionParts {
    parts: Vec<PartSequence>,
    clauses: Vec<Clause>,
    repeatable: Vec<PartId>,
}

impl SelectionParts {
    fn next_id(&self) -> PartId {
        PartId::new(self.parts.len())
    }
}

/// The right-hand sides of the objects that satisfy one conjunction; `None` if it is not a selection.
fn case_alternatives(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    shape: ObjectShape<'_>,
    case: &ObjectCase,
) -> Result<Option<Vec<PartSequence>>, LimitExceeded> {
    let mut selected = SelectionParts::default();
    if !add_declared_members(sets, emitter, shape, case, &mut selected)?
        || !add_other_members(sets, emitter, shape, case, &mut selected)?
    {
        return Ok(Some(Vec::new()));
    }
    let SelectionParts { parts, clauses, repeatable } = selected;
    let order = match sets.reader.options.key_order {
        KeyOrder::Any => PartOrder::Any,
        KeyOrder::Declared => PartOrder::Listed,
    };
    let brackets = shape.punctuation.object;
    let count = case.count;
    let mut alternatives = Vec::new();
    if count.min == 0 && clauses.iter().all(|clause| !clause.given.is_empty()) {
        alternatives.push(vec![brackets.empty]);
    }
    if count.is_full() || !count.is_satisfiable() {
        return Ok(Some(alternatives));
    }
    let bounds = (count.min, count.max);
    let Some(selection) = Selection::new(order, parts.len(), &repeatable, clauses, bounds) else {
        return Ok(None);
    };
    if selection.is_satisfiable() {
        let members = emitter.rules.select("members", selection, parts, shape.punctuation.comma);
        alternatives.push(vec![brackets.open, RulePart::Rule(members), brackets.close]);
    }
    Ok(Some(alternatives))
}

/// Adds the declared members and the clauses on them; `false` if a required member cannot be written.
fn add_declared_members(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    shape: ObjectShape<'_>,
    case: &ObjectCase,
    selected: &mut SelectionParts,
) -> Result<bool, LimitExceeded> {
    let mut positions: FxHashMap<NameId, Option<PartId>> = FxHashMap::default();
    for member in shape.declared {
        let mut values: Vec<ValueFormula> = vec![member.value];
        let mut is_required = member.required;
        for &literal in &case.literals {
            let Formula::Literal(literal) = *sets.formulas.objects.get(literal) else { continue };
            match literal {
                ObjectAssertion::If(name, value) if name == member.name => values.push(value),
                ObjectAssertion::Has(name, value) if name == member.name => {
                    values.push(value);
                    is_required = true;
                }
                ObjectAssertion::Each(set, value)
                    if sets.formulas.has_name(&mut sets.languages, set, member.name)? =>
                {
                    values.push(value);
                }
                _ => {}
            }
        }
        let value = sets.formulas.values.and(values);
        let parts = declared_member(sets, emitter, &shape, member.name, value)?;
        if is_required && parts.is_none() {
            return Ok(false);
        }
        let position = parts.as_ref().map(|_| selected.next_id());
        selected.parts.extend(parts);
        positions.insert(member.name, position);
        if is_required {
            selected.clauses.push(Clause { given: Box::default(), then: position });
        }
    }
    for clause in &case.clauses {
        let given: Option<Box<[PartId]>> = clause.given.iter().map(|name| *positions.get(name)?).collect();
        // A clause with an impossible premise always holds.
        let Some(given) = given else { continue };
        match &clause.then {
            None => selected.clauses.push(Clause { given, then: None }),
            Some(names) => {
                for name in names {
                    let then = positions.get(name).copied().flatten();
                    selected.clauses.push(Clause { given: given.clone(), then });
                }
            }
        }
    }
    Ok(true)
}

/// Adds the members with undeclared names, and the witness; `false` if the witness cannot be written.
fn add_other_members(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    shape: ObjectShape<'_>,
    case: &ObjectCase,
    selected: &mut SelectionParts,
) -> Result<bool, LimitExceeded> {
    // Without `Some`, a conjunction of literals is its own residual: all undeclared members have the same constraints.
    let literals = sets.formulas.objects.and(case.literals.iter().copied());
    let (mut others, mut witnesses): (Vec<PartSequence>, Vec<PartSequence>) = (Vec::new(), Vec::new());
    for ClassMonomial { class, monomial } in class_forms(sets, shape.classes, literals)? {
        let class = &shape.classes[class];
        others.extend(other_member(sets, emitter, &shape, class, monomial.value)?);
        if let Some(witness) = case.witness
            && class.is_in(sets.formulas.name_sets.get(witness.set))
        {
            let value = sets.formulas.values.and([monomial.value, witness.value]);
            witnesses.extend(other_member(sets, emitter, &shape, class, value)?);
        }
    }
    if others.is_empty() {
        return Ok(case.witness.is_none());
    }
    let member = vec![RulePart::Rule(emitter.rules.add("member", others))];
    selected.repeatable.push(selected.next_id());
    selected.parts.push(member.clone());
    if case.witness.is_some() {
        if witnesses.is_empty() {
            return Ok(false);
        }
        selected.clauses.push(Clause { given: Box::default(), then: Some(selected.next_id()) });
        selected.parts.push(vec![RulePart::Rule(emitter.rules.add("member", witnesses))]);
        // In listed order, undeclared members may follow the witness too.
        selected.repeatable.push(selected.next_id());
        selected.parts.push(member);
    }
    Ok(true)
}
