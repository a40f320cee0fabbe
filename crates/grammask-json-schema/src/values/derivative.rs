//! Derivatives of formulas about arrays and objects by the next item or member, as linear forms.
//!
//! As in V. Antimirov's partial derivatives of regular expressions (1996), the *linear form* of a formula is a list of
//! *monomials*: a formula that the next value satisfies, and the residual formula for the items or members after it.
//! Three simplifications bound its size:
//!
//! - Monomials with equal values are joined, then those with equal residuals.
//! - Monomials whose value set is empty are dropped. A discriminator makes the branches of a `oneOf` disjoint, but only
//!   at the member that holds it; without this, each of n branches would distinguish 2^n combinations of "that branch
//!   fails here" and "that branch may fail later".
//! - Conjunctions about strings lose the conjuncts implied by the others: of "matches `^a`, not `^b`, not `^c`" the
//!   first is sufficient.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::interner::Id;
use crate::values::formula::{Formula, FormulaArena, FormulaId, Literal, ValuesById, falsehood, truth};
use crate::values::formulas::Formulas;
use crate::values::literals::{ArrayAssertion, ObjectAssertion, Satisfies, Schema, ValueFormula};
use crate::values::value_set::ValueSet;
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;

/// Number of negated conjuncts above which a conjunction of negations is assumed satisfiable: it usually is, and the
/// decision costs an intersection of as many automata.
const MAX_DECIDED_NEGATIONS: usize = 8;

/// Number of conjuncts up to which implied conjuncts are kept: finding them would cost more than they do.
const MAX_UNSIMPLIFIED_CONJUNCTS: usize = 8;

/// A monomial of a linear form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Monomial<L> {
    /// What the next item or member satisfies.
    pub(crate) value: ValueFormula,
    /// What the items or members after it satisfy.
    pub(crate) residual: FormulaId<L>,
}

/// An assertion about the children of an array or object, by formulas about values.
pub(crate) trait ChildAssertion: Literal + Copy {
    /// The arena of formulas about the children, and that of formulas about the container.
    fn arenas(formulas: &mut Formulas) -> (&mut FormulaArena<Satisfies>, &mut FormulaArena<Self>);
}

impl ChildAssertion for ArrayAssertion {
    fn arenas(formulas: &mut Formulas) -> (&mut FormulaArena<Satisfies>, &mut FormulaArena<Self>) {
        (&mut formulas.values, &mut formulas.arrays)
    }
}

impl ChildAssertion for ObjectAssertion {
    fn arenas(formulas: &mut Formulas) -> (&mut FormulaArena<Satisfies>, &mut FormulaArena<Self>) {
        (&mut formulas.values, &mut formulas.objects)
    }
}

/// The linear form of `formula`, computed from those of its literals. Residuals are pairwise different.
pub(crate) fn linear_form<L: ChildAssertion>(
    sets: &mut ValueSets<'_>,
    formula: FormulaId<L>,
    mut of_literal: impl FnMut(&mut ValueSets<'_>, FormulaId<L>, L) -> Result<Vec<Monomial<L>>, LimitExceeded>,
) -> Result<Vec<Monomial<L>>, LimitExceeded> {
    let mut forms: ValuesById<L, Vec<Monomial<L>>> = ValuesById::default();
    let unit = Monomial { value: truth(), residual: truth() };
    for id in L::arenas(&mut sets.formulas).1.descendants(formula) {
        let node = L::arenas(&mut sets.formulas).1.get(id).clone();
        let form = match node {
            Formula::False => Vec::new(),
            Formula::True => vec![unit],
            Formula::Literal(literal) => of_literal(sets, id, literal)?,
            Formula::And(parts) => {
                let mut form = vec![unit];
                for part in parts {
                    let (values, containers) = L::arenas(&mut sets.formulas);
                    let mut product = Vec::new();
                    for one in &form {
                        for other in &forms[part] {
                            product.push(Monomial {
                                value: values.and([one.value, other.value]),
                                residual: containers.and([one.residual, other.residual]),
                            });
                        }
                    }
                    for monomial in &mut product {
                        monomial.value = without_implied_conjuncts(sets, monomial.value)?;
                    }
                    form = joined(&mut sets.formulas, product);
                    drop_impossible(sets, &mut form)?;
                    sets.check_limits()?;
                }
                form
            }
            Formula::Or(parts) => {
                let all = parts.iter().flat_map(|&part| forms[part].iter().copied()).collect();
                let mut form = joined(&mut sets.formulas, all);
                make_exclusive(sets, &mut form)?;
                form
            }
        };
        forms.push(id, form);
    }
    Ok(forms.pop().unwrap_or_default())
}

/// The linear form of the conjunction of a formula that has the form `form` and one that does not depend on the next value.
pub(crate) fn with_conjunct<L: ChildAssertion>(
    formulas: &mut Formulas,
    mut form: Vec<Monomial<L>>,
    conjunct: FormulaId<L>,
) -> Vec<Monomial<L>> {
    if conjunct == truth() {
        return form;
    }
    for monomial in &mut form {
        monomial.residual = L::arenas(formulas).1.and([monomial.residual, conjunct]);
    }
    joined(formulas, form)
}

/// Joins monomials with equal values, then those with equal residuals.
///
/// The first step bounds the number of different residuals: the residual of `a or b` by a value about which neither says
/// anything is `a or b`, not `a` and `b` as alternatives.
fn joined<L: ChildAssertion>(formulas: &mut Formulas, form: Vec<Monomial<L>>) -> Vec<Monomial<L>> {
    let (values, containers) = L::arenas(formulas);
    let satisfiable =
        form.into_iter().filter(|part| part.value != falsehood() && part.residual != falsehood());
    let by_value = grouped(satisfiable.map(|part| (part.value, part.residual)));
    let joined: Vec<_> =
        by_value.into_iter().map(|(value, residuals)| (containers.or(residuals), value)).collect();
    let by_residual = grouped(joined);
    by_residual.into_iter().map(|(residual, group)| Monomial { value: values.or(group), residual }).collect()
}

/// The second components of pairs by their first, in order of first occurrence.
fn grouped<A: Copy + Eq + Hash, B>(pairs: impl IntoIterator<Item = (A, B)>) -> Vec<(A, Vec<B>)> {
    let mut groups: Vec<(A, Vec<B>)> = Vec::new();
    let mut indices = FxHashMap::default();
    for (key, item) in pairs {
        let index = *indices.entry(key).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        groups[index].1.push(item);
    }
    groups
}

/// A conjunction about strings without the negations implied by its other conjuncts; falsehood if two conjuncts are
/// disjoint.
fn without_implied_conjuncts(
    sets: &mut ValueSets<'_>,
    value: ValueFormula,
) -> Result<ValueFormula, LimitExceeded> {
    if let Some(&cached) = sets.simplified.get(&value) {
        return Ok(cached);
    }
    let parts = match sets.formulas.values.get(value) {
        Formula::And(parts) if parts.len() > MAX_UNSIMPLIFIED_CONJUNCTS => parts.clone(),
        _ => return Ok(value),
    };
    let literal = |sets: &ValueSets<'_>, part| match *sets.formulas.values.get(part) {
        Formula::Literal(Satisfies { schema, negated }) => Some((schema, negated)),
        _ => None,
    };
    let mut implied = FxHashSet::default();
    let mut is_satisfiable = true;
    for &part in &parts {
        let Some((schema, false)) = literal(sets, part) else { continue };
        for &other in &parts {
            match literal(sets, other) {
                Some((other_schema, true)) if string_excludes(sets, schema, other_schema)? => {
                    implied.insert(other);
                }
                Some((other_schema, false)) if other > part => {
                    is_satisfiable &= !string_excludes(sets, schema, other_schema)?;
                }
                _ => {}
            }
        }
    }
    let simplified = if is_satisfiable {
        sets.formulas.values.and(parts.iter().copied().filter(|part| !implied.contains(part)))
    } else {
        falsehood()
    };
    sets.simplified.insert(value, simplified);
    Ok(simplified)
}

/// Whether `one` admits only strings, and `other` certainly none of them; `false` if one of the schemas is in progress.
fn string_excludes(
    sets: &mut ValueSets<'_>,
    one: Id<Schema>,
    other: Id<Schema>,
) -> Result<bool, LimitExceeded> {
    if let Some(&cached) = sets.string_exclusions.get(&(one, other)) {
        return Ok(cached);
    }
    let (Some(first), Some(second)) = (sets.try_of_schema(one)?, sets.try_of_schema(other)?) else {
        return Ok(false);
    };
    let non_strings = ValueSet { string: ValueSet::none(&sets.languages).string, ..first };
    // The strings outside a formula are not all outside of it that its hull has there.
    let excludes = second.string.formula.is_none() && sets.is_plainly_empty(non_strings)? && {
        let languages = &mut sets.languages;
        let terms = languages.automata.terms_mut();
        let not_outside = languages.encoding.outside(terms, second.string.regular.no);
        let both = terms.intersection(&[first.string.regular.yes, not_outside]);
        languages.is_empty(both)?
    };
    sets.string_exclusions.insert((one, other), excludes);
    Ok(excludes)
}

/// Drops monomials with an empty value set, if there are several monomials.
fn drop_impossible<L: ChildAssertion>(
    sets: &mut ValueSets<'_>,
    form: &mut Vec<Monomial<L>>,
) -> Result<(), LimitExceeded> {
    if form.len() < 2 {
        return Ok(());
    }
    let mut possible = Vec::with_capacity(form.len());
    for &monomial in form.iter() {
        let value = monomial.value;
        let parts = sets.formulas.values.conjuncts(value);
        let is_undecided = parts.len() > MAX_DECIDED_NEGATIONS
            && parts.iter().all(|&part| {
                matches!(sets.formulas.values.get(part), Formula::Literal(Satisfies { negated: true, .. }))
            });
        let is_possible = is_undecided || !matches!(sets.formulas.values.get(value), Formula::And(_)) || {
            let set = sets.of_formula(value)?;
            !sets.is_plainly_empty(set)?
        };
        if is_possible {
            possible.push(monomial);
        }
    }
    *form = possible;
    Ok(())
}

/// If some value has the residual truth, excludes that value from the monomials for any value.
///
/// Applied only if the complement contains no arrays or objects, so that it is cheap to emit.
fn make_exclusive<L: ChildAssertion>(
    sets: &mut ValueSets<'_>,
    form: &mut [Monomial<L>],
) -> Result<(), LimitExceeded> {
    let sufficient = form.iter().find(|part| part.residual == truth()).map(|part| part.value);
    let Some(sufficient) = sufficient.filter(|&value| value != truth()) else { return Ok(()) };
    let other = sets.formulas.negated_value(sufficient);
    let set = sets.of_formula(other)?;
    if set.has_containers() || set.string.formula.is_some() {
        return Ok(());
    }
    for monomial in form.iter_mut().filter(|part| part.value == truth()) {
        monomial.value = other;
    }
    Ok(())
}
