//! From a formula about objects to rules, member by member.
//!
//! Each different residual of the formula is a rule (see [`crate::values::derivative`]). The names that the schema
//! declares come first, in its order, each at most once; then all others. Constraints on a single declared member (most
//! constraints, in most schemas) are looked up when its turn comes and are not part of the residual, so that an object
//! with 5,000 optional members is a chain of 5,000 rules. The residual holds the constraints between members.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::KeyOrder;
use crate::emit::emitter::Emitter;
use crate::emit::positions::ValuePosition;
use crate::emit::rules::PartSequence;
use crate::emit::shared_residuals::DeclaredMember;
use crate::members::name_classes::name_classes;
use crate::members::object_cases::cases_without_disjunctions;
use crate::members::object_rules::rules_by_residual;
use crate::members::object_shape::ObjectShape;
use crate::members::selections::selected_members;
use crate::members::unique_names::OtherNames;
use crate::values::formula::{Formula, falsehood};
use crate::values::formulas::{Formulas, MemberConstraints, NameId};
use crate::values::literals::{NameSet, ObjectAssertion, ObjectFormula};
use crate::values::simplification::simplified;
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;

/// Number of rules of residuals, beyond two for each declared name, above which the cases of a formula are preferred.
const MAX_RESIDUALS: usize = 1024;

/// The right-hand sides of the objects that satisfy `formula`; their members are at `position`.
pub(super) fn object_alternatives(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    formula: ObjectFormula,
    position: ValuePosition,
) -> Result<Vec<PartSequence>, LimitExceeded> {
    if formula == falsehood() {
        return Ok(Vec::new());
    }
    // The order of members is that of the whole formula.
    let names = declared_names(&sets.formulas, formula);
    let formula = simplified(sets, formula, Rc::default())?;
    if formula == falsehood() {
        return Ok(Vec::new());
    }
    let (declared, between) = split_by_name(&mut sets.formulas, formula, &names);
    let classes = name_classes(&mut sets.languages, &sets.formulas, sets.reader.limits, between, &names)?;
    let others = OtherNames::of(sets, &classes, &declared, between, position)?;
    let punctuation = emitter.punctuation(&mut sets.languages, position.depth);
    let shape =
        ObjectShape { position, punctuation, declared: &declared, classes: &classes, others: &others };
    if let Some(alternatives) = selected_members(sets, emitter, shape, between)? {
        return Ok(alternatives);
    }
    let checkpoint = emitter.checkpoint();
    let max_residuals = match sets.reader.options.key_order {
        KeyOrder::Declared => MAX_RESIDUALS,
        KeyOrder::Any => usize::MAX,
    };
    if let Some(alternatives) = rules_by_residual(sets, emitter, shape, between, max_residuals)? {
        return Ok(alternatives);
    }
    // Few of these rules would be shared: without disjunctions each residual is a chain.
    let Some(cases) = cases_without_disjunctions(sets, formula)? else {
        return Ok(rules_by_residual(sets, emitter, shape, between, usize::MAX)?.unwrap_or_default());
    };
    emitter.restore(checkpoint);
    let mut alternatives = Vec::new();
    for case in cases {
        let (declared, between) = split_by_name(&mut sets.formulas, case, &names);
        let classes = name_classes(&mut sets.languages, &sets.formulas, sets.reader.limits, between, &names)?;
        let others = OtherNames::of(sets, &classes, &declared, between, position)?;
        let shape = ObjectShape { declared: &declared, classes: &classes, others: &others, ..shape };
        let texts = rules_by_residual(sets, emitter, shape, between, usize::MAX)?.unwrap_or_default();
        alternatives.extend(texts);
    }
    Ok(alternatives)
}

/// The names that a formula mentions, in the order of the members.
fn declared_names(formulas: &Formulas, formula: ObjectFormula) -> Vec<NameId> {
    let mut names = Vec::new();
    let mut visited = FxHashSet::default();
    let literals = formulas.objects.literals(formula);
    for literal in &literals {
        if let ObjectAssertion::Declares(list) = *literal {
            names.extend(formulas.name_lists.get(list).iter().filter(|name| visited.insert(**name)));
        }
    }
    for literal in &literals {
        match *literal {
            ObjectAssertion::If(name, _) | ObjectAssertion::Has(name, _) if visited.insert(name) => {
                names.push(name);
            }
            _ => {}
        }
    }
    for literal in &literals {
        if let ObjectAssertion::Each(set, _) | ObjectAssertion::Some(set, _) = *literal
            && let NameSet::Others { names: excluded, .. } = formulas.name_sets.get(set)
        {
            names.extend(excluded.iter().filter(|name| visited.insert(**name)));
        }
    }
    names
}

/// Splits a conjunction into the constraints on single declared members and those between members.
fn split_by_name(
    formulas: &mut Formulas,
    formula: ObjectFormula,
    names: &[NameId],
) -> (Vec<DeclaredMember>, ObjectFormula) {
    let mut constraints: FxHashMap<NameId, MemberConstraints> = FxHashMap::default();
    let mut between = Vec::new();
    for part in formulas.objects.conjuncts(formula) {
        match *formulas.objects.get(part) {
            Formula::Literal(ObjectAssertion::Declares(_)) => {}
            Formula::Literal(ObjectAssertion::If(name, value)) => {
                constraints.entry(name).or_default().constrain(value);
            }
            Formula::Literal(ObjectAssertion::Has(name, value)) => {
                constraints.entry(name).or_default().require(value);
            }
            _ => between.push(part),
        }
    }
    let declared = names
        .iter()
        .map(|&name| {
            let MemberConstraints { values, required } = constraints.remove(&name).unwrap_or_default();
            DeclaredMember { name, value: formulas.values.and(values), required }
        })
        .collect();
    (declared, formulas.objects.and(between))
}
