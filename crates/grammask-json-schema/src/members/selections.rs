//! Objects as selections: members in any order, and members that depend on many others.
//!
//! With n names in any order there are 2^n residuals, and with `dependentRequired` between many names too, which is too
//! many for a rule each (`members::objects`). Here the formula becomes a few conjunctions of constraints on single
//! members and of Horn clauses over "this member is present". Each is a [`Selection`], whose states the recogniser
//! creates on demand. Formulas that are not of this form remain rules.

use crate::KeyOrder;
use crate::emit::emitter::Emitter;
use crate::emit::rules::{PartSequence, RulePart};
use crate::emit::shared_residuals::DeclaredMember;
use crate::members::choices::alternatives_with_choices;
use crate::members::member_forms::{ClassMonomial, class_forms};
use crate::members::member_parts::{OtherMember, declared_member, other_member};
use crate::members::object_cases::{ObjectCase, PositiveDisjunctions, name_clause, object_cases};
use crate::members::object_shape::ObjectShape;
use crate::values::formula::Formula;
use crate::values::formulas::NameId;
use crate::values::literals::{ObjectAssertion, ObjectFormula, ValueFormula};
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{Clause, PartId, PartOrder, Selection};
use rustc_hash::FxHashMap;

/// Number of declared names in any order up to which rules are used.
const MAX_RULE_NAMES: usize = 1;
/// Number of clauses in declared order up to which rules are used.
const MAX_RULE_CLAUSES: usize = 5;
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
    if sets.reader.options.key_order == KeyOrder::Any
        && let Some(alternatives) =
            alternatives_of_cases(sets, emitter, shape, formula, PositiveDisjunctions::Keep)?
    {
        return Ok(Some(alternatives));
    }
    alternatives_of_cases(sets, emitter, shape, formula, PositiveDisjunctions::Split)
}

fn alternatives_of_cases(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    shape: ObjectShape<'_>,
    formula: ObjectFormula,
    positive: PositiveDisjunctions,
) -> Result<Option<Vec<PartSequence>>, LimitExceeded> {
    let Some(cases) = object_cases(sets, shape, formula, positive)? else { return Ok(None) };
    let mut alternatives: Vec<PartSequence> = Vec::new();
    for case in cases {
        emitter.check_limits(sets)?;
        let texts = if case.choices.is_empty() {
            case_alternatives(sets, emitter, shape, &case)?
        } else {
            alternatives_with_choices(sets, emitter, shape, &case)?
        };
        let Some(texts) = texts else { return Ok(None) };
        for parts in texts {
            if !alternatives.contains(&parts) {
                alternatives.push(parts);
            }
        }
    }
    Ok(Some(alternatives))
}

/// The parts of a selection and the clauses on them.
#[derive(Default)]
struct SelectionParts {
    parts: Vec<PartSequence>,
    clauses: Vec<Clause>,
    repeatable: Vec<PartId>,
    /// Whether some names must not be remembered.
    has_fresh_names: bool,
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
    let SelectionParts { parts, clauses, repeatable, has_fresh_names } = selected;
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
        let members = if has_fresh_names { RulePart::Scope(members) } else { RulePart::Rule(members) };
        alternatives.push(vec![brackets.open, members, brackets.close]);
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
        let MemberConstraint { value, is_required } = constraint_on(sets, *member, case)?;
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

/// The constraint of a case on a declared member.
pub(super) struct MemberConstraint {
    pub(super) value: ValueFormula,
    pub(super) is_required: bool,
}

/// The constraint of a case on a declared member, choices and clauses aside.
pub(super) fn constraint_on(
    sets: &mut ValueSets<'_>,
    member: DeclaredMember,
    case: &ObjectCase,
) -> Result<MemberConstraint, LimitExceeded> {
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
    Ok(MemberConstraint { value: sets.formulas.values.and(values), is_required })
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
    let is_listed = |class: usize| {
        let is_unordered = sets.reader.options.key_order == KeyOrder::Any;
        is_unordered && case.witness.is_none() && shape.others.is_listed(class)
    };
    let is_listed: Vec<bool> = (0..shape.classes.len()).map(is_listed).collect();
    for ClassMonomial { class, monomial } in class_forms(sets, shape.classes, literals)? {
        if is_listed[class] {
            for listed in shape.others.listed().iter().filter(|listed| listed.class == class) {
                let member = declared_member(sets, emitter, &shape, listed.name, monomial.value)?;
                selected.parts.extend(member);
            }
            continue;
        }
        let supply = if case.count.max == Some(1) { None } else { shape.others.supply(class) };
        let member =
            other_member(sets, emitter, &shape, OtherMember { class, supply, value: monomial.value })?;
        selected.has_fresh_names |= supply.is_some() && member.is_some();
        others.extend(member);
        if let Some(witness) = case.witness
            && shape.classes[class].is_in(sets.formulas.name_sets.get(witness.set))
        {
            let value = sets.formulas.values.and([monomial.value, witness.value]);
            witnesses.extend(other_member(sets, emitter, &shape, OtherMember { class, supply, value })?);
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
