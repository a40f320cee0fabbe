//! Rules of residuals that several objects share.
//!
//! Where branches of a choice overlap, there is an object for "in these branches and in no others" of each set of branches,
//! and within a map also for each set that its former values leave. These objects differ in their first members only: once
//! a member decides between the branches, the rest is that of other objects. So a residual is looked up by what can still
//! follow. Without this, eight overlapping branches with 150 names in all have 13 times as many rules.

use crate::emit::positions::MemberPosition;
use crate::emit::shared_residuals::{DeclaredMember, PossibleNames, SharedResidual, SharedResiduals};
use crate::interner::Id;
use crate::members::name_classes::NameClass;
use crate::members::object_rules::ObjectResidual;
use crate::members::object_shape::ObjectShape;
use crate::values::formula::{Formula, falsehood, truth};
use crate::values::formulas::NameId;
use crate::values::literals::{NameSet, ObjectAssertion, ObjectFormula};
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;
use rustc_hash::{FxHashMap, FxHashSet};

/// A residual of an object in declared order without what depends on the object: members that occurred or cannot occur
/// any more.
pub(super) fn shared_residual(
    memo: &mut SharedResiduals,
    sets: &mut ValueSets<'_>,
    shape: ObjectShape<'_>,
    residual: &ObjectResidual,
    position: MemberPosition,
) -> Result<SharedResidual, LimitExceeded> {
    let objects = &sets.formulas.objects;
    let parts = objects.conjuncts(residual.formula);
    let refused: Vec<Id<NameSet>> =
        parts.iter().filter_map(|&part| refused_names(objects.get(part))).collect();
    let (refusals, others): (Vec<_>, Vec<_>) =
        parts.into_iter().partition(|&part| refused_names(objects.get(part)).is_some());
    let mut declared = Vec::new();
    for &member in &shape.declared[residual.next..] {
        let mut is_possible = member.value != falsehood();
        for &set in &refused {
            is_possible = is_possible && !sets.formulas.has_name(&mut sets.languages, set, member.name)?;
        }
        if is_possible || member.required {
            declared.push(member);
        }
    }
    let name_sets = &sets.formulas.name_sets;
    let is_refused = |class: &NameClass| refused.iter().any(|&set| class.is_in(name_sets.get(set)));
    let classes = shape.classes.iter().enumerate().filter(|(_, class)| !is_refused(class));
    let (indices, classes): (Vec<usize>, Vec<&NameClass>) = classes.unzip();
    let formula = sets.formulas.objects.and(others);
    let formula = about_possible_members(memo, sets, formula, &declared, &classes)?;
    let mut parts = refusals;
    parts.extend(sets.formulas.objects.conjuncts(formula));
    parts.sort_unstable();
    let supplies = indices.into_iter().map(|class| shape.others.supply(class));
    Ok(SharedResidual {
        formula: sets.formulas.objects.and(parts),
        count: residual.count,
        declared,
        others: classes.iter().map(|class| class.names).zip(supplies).collect(),
        in_scope: residual.in_scope,
        of_members: shape.position,
        of_rule: position,
    })
}

/// `formula` where no other members than these can follow. If all of them are declared, one stays of the sets of names
/// that have the same of them; a class of other names knows the sets of its own object only.
fn about_possible_members(
    memo: &mut SharedResiduals,
    sets: &mut ValueSets<'_>,
    formula: ObjectFormula,
    declared: &[DeclaredMember],
    classes: &[&NameClass],
) -> Result<ObjectFormula, LimitExceeded> {
    let mut representatives: FxHashMap<Id<NameSet>, Option<Id<NameSet>>> = FxHashMap::default();
    for literal in sets.formulas.objects.literals(formula) {
        let (ObjectAssertion::Each(set, _) | ObjectAssertion::Some(set, _)) = literal else { continue };
        if representatives.contains_key(&set) {
            continue;
        }
        let mut members = Vec::new();
        for member in declared {
            if sets.formulas.has_name(&mut sets.languages, set, member.name)? {
                members.push(member.name);
            }
        }
        let name_set = sets.formulas.name_sets.get(set);
        let has_class = classes.iter().any(|class| class.is_in(name_set));
        let representative = if members.is_empty() && !has_class {
            None
        } else if classes.is_empty() {
            let declared = declared.iter().map(|member| member.name).collect();
            Some(*memo.name_sets.entry(PossibleNames { declared, members }).or_insert(set))
        } else {
            Some(set)
        };
        representatives.insert(set, representative);
    }
    let names: FxHashSet<NameId> = declared.iter().map(|member| member.name).collect();
    Ok(sets.formulas.objects.replaced(formula, |objects, id, &literal| match literal {
        ObjectAssertion::If(name, _) if !names.contains(&name) => truth(),
        ObjectAssertion::Has(name, _) if !names.contains(&name) => falsehood(),
        ObjectAssertion::Each(set, value) => match representatives[&set] {
            None => truth(),
            Some(set) => objects.literal(ObjectAssertion::Each(set, value)),
        },
        ObjectAssertion::Some(set, value) => match representatives[&set] {
            None => falsehood(),
            Some(set) => objects.literal(ObjectAssertion::Some(set, value)),
        },
        _ => id,
    }))
}

/// The names that no member has, if the assertion says only that.
fn refused_names(assertion: &Formula<ObjectAssertion>) -> Option<Id<NameSet>> {
    match *assertion {
        Formula::Literal(ObjectAssertion::Each(set, value)) if value == falsehood() => Some(set),
        _ => None,
    }
}
