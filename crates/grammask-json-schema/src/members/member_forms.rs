//! The linear forms of formulas about objects, for a member whose name is declared or in a class.
//!
//! See [`crate::values::derivative`]. Conjuncts that say nothing about the member stay as they are.

use crate::members::name_classes::NameClass;
use crate::values::derivative::{Monomial, linear_form, with_conjunct};
use crate::values::formula::{Formula, falsehood, truth};
use crate::values::formulas::{Formulas, NameId};
use crate::values::literals::{ObjectAssertion, ObjectFormula};
use crate::values::member_cells::form_by_cells;
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;

/// A monomial of the linear form for a member whose name is in a class.
pub(super) struct ClassMonomial {
    /// The index of the class.
    pub(super) class: usize,
    pub(super) monomial: Monomial<ObjectAssertion>,
}

/// The linear forms of `formula` for a member with an undeclared name, one for each class.
pub(super) fn class_forms(
    sets: &mut ValueSets<'_>,
    classes: &[NameClass],
    formula: ObjectFormula,
) -> Result<Vec<ClassMonomial>, LimitExceeded> {
    let mut forms = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        let form = object_form(sets, formula, |sets, literal| {
            Ok(match literal {
                ObjectAssertion::Each(set, _) | ObjectAssertion::Some(set, _) => {
                    class.is_in(sets.formulas.name_sets.get(set))
                }
                _ => false,
            })
        })?;
        forms.extend(form.into_iter().map(|monomial| ClassMonomial { class: index, monomial }));
    }
    Ok(forms)
}

/// `formula` under the assumption that the member `name` is absent.
pub(super) fn formula_without(
    formulas: &mut Formulas,
    formula: ObjectFormula,
    name: NameId,
) -> ObjectFormula {
    formulas.objects.replaced(formula, |_, id, literal| match *literal {
        ObjectAssertion::If(absent, _) if absent == name => truth(),
        ObjectAssertion::Has(absent, _) if absent == name => falsehood(),
        _ => id,
    })
}

/// The linear form of `formula` for a member; `concerns` decides whether a literal applies to its name.
pub(super) fn object_form(
    sets: &mut ValueSets<'_>,
    formula: ObjectFormula,
    concerns: impl Fn(&mut ValueSets<'_>, ObjectAssertion) -> Result<bool, LimitExceeded>,
) -> Result<Vec<Monomial<ObjectAssertion>>, LimitExceeded> {
    let monomial = |value, residual| Monomial { value, residual };
    if formula == truth() {
        return Ok(vec![monomial(truth(), truth())]);
    }
    // Shortcut for the most frequent case: a single literal that does not apply.
    if let Formula::Literal(literal) = *sets.formulas.objects.get(formula)
        && !matches!(literal, ObjectAssertion::AtLeast(_) | ObjectAssertion::AtMost(_))
        && !concerns(sets, literal)?
    {
        return Ok(vec![monomial(truth(), formula)]);
    }
    // Conjuncts that say nothing about the member stay as they are.
    let (mut affected, mut unaffected) = (Vec::new(), Vec::new());
    for part in sets.formulas.objects.conjuncts(formula) {
        let mut is_affected = false;
        for literal in sets.formulas.objects.literals(part) {
            is_affected |= matches!(literal, ObjectAssertion::AtLeast(_) | ObjectAssertion::AtMost(_))
                || concerns(sets, literal)?;
            if is_affected {
                break;
            }
        }
        if is_affected { &mut affected } else { &mut unaffected }.push(part);
    }
    let form = affected_form(sets, affected, concerns)?;
    let unaffected = sets.formulas.objects.and(unaffected);
    let mut form = with_conjunct(&mut sets.formulas, form, unaffected);
    // A residual with the same conjuncts in another order is the formula itself: members that leave it unchanged can be
    // counted and selected.
    let conjuncts = sorted_conjuncts(&sets.formulas, formula);
    for monomial in &mut form {
        if sorted_conjuncts(&sets.formulas, monomial.residual) == conjuncts {
            monomial.residual = formula;
        }
    }
    Ok(form)
}

fn sorted_conjuncts(formulas: &Formulas, formula: ObjectFormula) -> Vec<ObjectFormula> {
    let mut conjuncts = formulas.objects.conjuncts(formula);
    conjuncts.sort_unstable();
    conjuncts
}

/// The linear form of the conjunction of `parts` for a member, each of which is about it or about the number of members.
fn affected_form(
    sets: &mut ValueSets<'_>,
    parts: Vec<ObjectFormula>,
    concerns: impl Fn(&mut ValueSets<'_>, ObjectAssertion) -> Result<bool, LimitExceeded>,
) -> Result<Vec<Monomial<ObjectAssertion>>, LimitExceeded> {
    let monomial = |value, residual| Monomial { value, residual };
    let formula = sets.formulas.objects.and(parts);
    if let Some(form) = form_by_cells(sets, formula, &concerns)? {
        return Ok(form);
    }
    linear_form(sets, formula, |sets, id, literal| {
        let applies = concerns(sets, literal)?;
        let objects = &mut sets.formulas.objects;
        Ok(match literal {
            ObjectAssertion::If(_, value) | ObjectAssertion::Has(_, value) if applies => {
                vec![monomial(value, truth())]
            }
            ObjectAssertion::Each(_, value) if applies => vec![monomial(value, id)],
            ObjectAssertion::Some(_, value) if applies => {
                vec![monomial(value, truth()), monomial(truth(), id)]
            }
            ObjectAssertion::AtLeast(0 | 1) => vec![monomial(truth(), truth())],
            ObjectAssertion::AtLeast(count) => {
                vec![monomial(truth(), objects.literal(ObjectAssertion::AtLeast(count - 1)))]
            }
            ObjectAssertion::AtMost(0) => Vec::new(),
            ObjectAssertion::AtMost(count) => {
                vec![monomial(truth(), objects.literal(ObjectAssertion::AtMost(count - 1)))]
            }
            _ => vec![monomial(truth(), id)],
        })
    })
}
