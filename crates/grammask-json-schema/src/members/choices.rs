//! Objects with many disjunctions of "some member satisfies this", in any order.
//!
//! A branch of a `oneOf` excludes the other ones: for each, some member has a value that the branch does not admit. n
//! such disjunctions over m members have up to m^n cases, so they stay conditions of one selection. A member is a part for
//! each combination of the constraints in disjunctions that its value satisfies; these parts exclude each other.

use crate::emit::emitter::Emitter;
use crate::emit::rules::{PartSequence, RulePart};
use crate::members::member_forms::{ClassMonomial, class_forms};
use crate::members::member_parts::{OtherMember, declared_member, other_member};
use crate::members::object_cases::ObjectCase;
use crate::members::object_shape::ObjectShape;
use crate::members::selections::{MemberConstraint, constraint_on};
use crate::values::formula::{falsehood, truth};
use crate::values::literals::{ObjectAssertion, ValueFormula};
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{Clause, PartId, PartOrder, Selection};

/// Bound on the number of parts of a member.
const MAX_MEMBER_PARTS: usize = 32;

/// A constraint in choices on one member, and the choices that a value meets by it.
struct ChosenConstraint {
    value: ValueFormula,
    choices: Vec<usize>,
}

/// Values of a member, and the choices that they meet, in ascending order.
#[derive(Clone)]
struct MemberPart {
    value: ValueFormula,
    choices: Vec<usize>,
}

/// The right-hand sides of the objects that satisfy a case with choices; `None` if it is not a selection.
pub(super) fn alternatives_with_choices(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    shape: ObjectShape<'_>,
    case: &ObjectCase,
) -> Result<Option<Vec<PartSequence>>, LimitExceeded> {
    let mut selected =
        PartsWithChoices { one_of: vec![Vec::new(); case.choices.len()], ..Default::default() };
    for &member in shape.declared {
        let MemberConstraint { value, is_required } = constraint_on(sets, member, case)?;
        let constraints = chosen_constraints(case, |assertion| {
            Ok(match assertion {
                ObjectAssertion::Has(name, value) if name == member.name => Some(value),
                ObjectAssertion::Some(set, value)
                    if sets.formulas.has_name(&mut sets.languages, set, member.name)? =>
                {
                    Some(value)
                }
                _ => None,
            })
        })?;
        let Some(values) = member_parts(sets, value, &constraints)? else { return Ok(None) };
        let mut group = Vec::new();
        for part in values {
            if let Some(parts) = declared_member(sets, emitter, &shape, member.name, part.value)? {
                group.push(selected.add(parts, &part.choices));
            }
        }
        match (&group[..], is_required) {
            ([], true) => return Ok(Some(Vec::new())),
            (&[only], true) => selected.clauses.push(Clause { given: Box::default(), then: Some(only) }),
            (_, true) => selected.one_of.push(group.clone()),
            _ => {}
        }
        if group.len() > 1 {
            selected.groups.push(group);
        }
    }
    if !add_other_members(sets, emitter, shape, case, &mut selected)? {
        return Ok(None);
    }
    let PartsWithChoices { parts, groups, one_of, clauses, repeatable, has_fresh_names } = selected;
    let selection = Selection::new(PartOrder::Any, parts.len(), &repeatable, clauses, (0, None));
    let Some(selection) = selection.and_then(|selection| selection.with_choices(&groups, &one_of)) else {
        return Ok(None);
    };
    if !selection.is_satisfiable() {
        return Ok(Some(Vec::new()));
    }
    let brackets = shape.punctuation.object;
    let members = emitter.rules.select("members", selection, parts, shape.punctuation.comma);
    let members = if has_fresh_names { RulePart::Scope(members) } else { RulePart::Rule(members) };
    Ok(Some(vec![vec![brackets.open, members, brackets.close]]))
}

/// The parts of a selection with choices.
#[derive(Default)]
struct PartsWithChoices {
    parts: Vec<PartSequence>,
    groups: Vec<Vec<PartId>>,
    one_of: Vec<Vec<PartId>>,
    clauses: Vec<Clause>,
    repeatable: Vec<PartId>,
    /// Whether some names must not be remembered.
    has_fresh_names: bool,
}

impl PartsWithChoices {
    fn add(&mut self, part: PartSequence, choices: &[usize]) -> PartId {
        let id = PartId::new(self.parts.len());
        self.parts.push(part);
        choices.iter().for_each(|&choice| self.one_of[choice].push(id));
        id
    }
}

/// Adds the members with undeclared names: a part that may be repeated for each set of choices that they meet;
/// `false` if these are too many.
fn add_other_members(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    shape: ObjectShape<'_>,
    case: &ObjectCase,
    selected: &mut PartsWithChoices,
) -> Result<bool, LimitExceeded> {
    // Without `Some`, a conjunction of literals is its own residual: all undeclared members have the same constraints.
    let literals = sets.formulas.objects.and(case.literals.iter().copied());
    let mut by_choices: Vec<(Vec<usize>, Vec<PartSequence>)> = Vec::new();
    for ClassMonomial { class, monomial } in class_forms(sets, shape.classes, literals)? {
        let names = &shape.classes[class];
        let constraints = chosen_constraints(case, |assertion| {
            Ok(match assertion {
                ObjectAssertion::Some(set, value) if names.is_in(sets.formulas.name_sets.get(set)) => {
                    Some(value)
                }
                _ => None,
            })
        })?;
        let Some(values) = member_parts(sets, monomial.value, &constraints)? else { return Ok(false) };
        if shape.others.is_listed(class) {
            for listed in shape.others.listed().iter().filter(|listed| listed.class == class) {
                let mut group = Vec::new();
                for MemberPart { value, choices } in &values {
                    if let Some(member) = declared_member(sets, emitter, &shape, listed.name, *value)? {
                        group.push(selected.add(member, choices));
                    }
                }
                if group.len() > 1 {
                    selected.groups.push(group);
                }
            }
            continue;
        }
        let supply = shape.others.supply(class);
        for MemberPart { value, choices } in values {
            let member = OtherMember { class, supply, value };
            let Some(member) = other_member(sets, emitter, &shape, member)? else { continue };
            selected.has_fresh_names |= supply.is_some();
            match by_choices.iter_mut().find(|(other, _)| *other == choices) {
                Some((_, members)) => members.push(member),
                None => by_choices.push((choices, vec![member])),
            }
        }
    }
    for (choices, members) in by_choices {
        let member = vec![RulePart::Rule(emitter.rules.add("member", members))];
        let part = selected.add(member, &choices);
        selected.repeatable.push(part);
    }
    Ok(true)
}

/// The constraints in the choices of a case on the member that `on_member` recognises.
fn chosen_constraints(
    case: &ObjectCase,
    mut on_member: impl FnMut(ObjectAssertion) -> Result<Option<ValueFormula>, LimitExceeded>,
) -> Result<Vec<ChosenConstraint>, LimitExceeded> {
    let mut constraints: Vec<ChosenConstraint> = Vec::new();
    for (choice, assertions) in case.choices.iter().enumerate() {
        for &assertion in assertions {
            let Some(value) = on_member(assertion)? else { continue };
            match constraints.iter_mut().find(|constraint| constraint.value == value) {
                Some(constraint) if constraint.choices.last() == Some(&choice) => {}
                Some(constraint) => constraint.choices.push(choice),
                None => constraints.push(ChosenConstraint { value, choices: vec![choice] }),
            }
        }
    }
    Ok(constraints)
}

/// The values that satisfy `value`, by the choices that they meet; `None` if these are too many.
///
/// The values that do not satisfy a constraint are separated from those that do where its complement is flat. Otherwise a
/// part has both, and claims less than some of its values satisfy, which is sound since choices only ask for more.
fn member_parts(
    sets: &mut ValueSets<'_>,
    value: ValueFormula,
    constraints: &[ChosenConstraint],
) -> Result<Option<Vec<MemberPart>>, LimitExceeded> {
    let mut parts = vec![MemberPart { value, choices: Vec::new() }];
    for constraint in constraints {
        let is_flat = constraint.value != truth() && sets.has_flat_complement(constraint.value)?;
        let mut split = Vec::with_capacity(2 * parts.len());
        for part in parts {
            let both = sets.formulas.values.and([part.value, constraint.value]);
            if both != part.value {
                let mut rest = part.clone();
                if is_flat {
                    let other = sets.formulas.negated_value(constraint.value);
                    rest.value = sets.formulas.values.and([part.value, other]);
                }
                split.push(rest);
            }
            let mut choices = part.choices;
            choices.extend(&constraint.choices);
            choices.sort_unstable();
            choices.dedup();
            split.push(MemberPart { value: both, choices });
        }
        parts = Vec::with_capacity(split.len());
        for part in split {
            if part.value != falsehood() {
                let set = sets.of_formula(part.value)?;
                if !sets.is_plainly_empty(set)? {
                    parts.push(part);
                }
            }
        }
        if parts.len() > MAX_MEMBER_PARTS {
            return Ok(None);
        }
    }
    Ok(Some(parts))
}
