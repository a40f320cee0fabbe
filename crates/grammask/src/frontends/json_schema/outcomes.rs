//! Linear forms: what the next item or member may satisfy, and what is left to satisfy then. Kept small: what cannot
//! happen is dropped, and what happens anyway is said once.
//!
//! A discriminator makes the branches of a `oneOf` disjoint, but only where its value is looked at: without this, each
//! of n branches would carry along 2^n combinations of "that other branch fails here" and "it may still fail later".

use rustc_hash::FxHashMap;

use super::formula::{Formula, FormulaId, Formulas, Literal, Outcome, falsehood, merged, truth};
use super::literals::{AboutArray, AboutObject, Satisfies};
use super::translation::Translation;
use crate::LimitExceeded;

/// Assertions about what has parts: the parts satisfy formulas about values.
pub(super) trait AboutParts: Literal {
    /// The arena of formulas about the parts, and that of formulas about the whole.
    fn arenas<'t>(
        translation: &'t mut Translation<'_>,
    ) -> (&'t mut Formulas<Satisfies>, &'t mut Formulas<Self>);
}

impl AboutParts for AboutArray {
    fn arenas<'t>(
        translation: &'t mut Translation<'_>,
    ) -> (&'t mut Formulas<Satisfies>, &'t mut Formulas<Self>) {
        (&mut translation.values, &mut translation.arrays)
    }
}

impl AboutParts for AboutObject {
    fn arenas<'t>(
        translation: &'t mut Translation<'_>,
    ) -> (&'t mut Formulas<Satisfies>, &'t mut Formulas<Self>) {
        (&mut translation.values, &mut translation.objects)
    }
}

impl Translation<'_> {
    /// The linear form of `formula`, from those of its assertions. Rests are different from each other.
    pub(super) fn linear_form<L: AboutParts>(
        &mut self,
        formula: FormulaId<L>,
        mut of_literal: impl FnMut(
            &mut Self,
            FormulaId<L>,
            L,
        ) -> Result<Vec<Outcome<Satisfies, L>>, LimitExceeded>,
    ) -> Result<Vec<Outcome<Satisfies, L>>, LimitExceeded> {
        let mut forms: FxHashMap<FormulaId<L>, Vec<Outcome<Satisfies, L>>> = FxHashMap::default();
        for id in L::arenas(self).1.below(formula) {
            let node = L::arenas(self).1.get(id).clone();
            let form = match node {
                Formula::False => Vec::new(),
                Formula::True => vec![(truth(), truth())],
                Formula::Literal(literal) => of_literal(self, id, literal)?,
                Formula::And(parts) => {
                    let mut form = vec![(truth(), truth())];
                    for part in parts {
                        let (values, wholes) = L::arenas(self);
                        let mut product = Vec::new();
                        for &(value, rest) in &form {
                            for &(other_value, other_rest) in &forms[&part] {
                                product
                                    .push((values.and([value, other_value]), wholes.and([rest, other_rest])));
                            }
                        }
                        form = merged(values, wholes, product);
                        self.drop_impossible(&mut form)?;
                        self.check_limits()?;
                    }
                    form
                }
                Formula::Or(parts) => {
                    let all = parts.iter().flat_map(|part| forms[part].iter().copied()).collect();
                    let (values, wholes) = L::arenas(self);
                    let mut form = merged(values, wholes, all);
                    self.separate(&mut form)?;
                    form
                }
            };
            forms.insert(id, form);
        }
        Ok(forms.remove(&formula).unwrap_or_default())
    }

    /// Drops outcomes whose value is plainly impossible, where there is a choice.
    fn drop_impossible<L: Literal>(
        &mut self,
        outcomes: &mut Vec<Outcome<Satisfies, L>>,
    ) -> Result<(), LimitExceeded> {
        if outcomes.len() < 2 {
            return Ok(());
        }
        let mut kept = Vec::with_capacity(outcomes.len());
        for &(value, rest) in outcomes.iter() {
            let possible = !matches!(self.values.get(value), Formula::And(_)) || {
                let shape = self.shape_of_formula(value)?;
                !self.is_plainly_empty(shape)?
            };
            if possible {
                kept.push((value, rest));
            }
        }
        *outcomes = kept;
        Ok(())
    }

    /// If some values leave nothing to satisfy, the outcome "any value" is for the other values only. Done where "the
    /// other values" are no arrays or objects, so that it costs little to say.
    fn separate<L: Literal>(&mut self, outcomes: &mut [Outcome<Satisfies, L>]) -> Result<(), LimitExceeded> {
        let nothing_left: FormulaId<L> = truth();
        let settled = outcomes.iter().find(|(_, rest)| *rest == nothing_left).map(|(value, _)| *value);
        let Some(settled) = settled.filter(|&value| value != truth()) else { return Ok(()) };
        let other = self.negated_value(settled);
        let shape = self.shape_of_formula(other)?;
        if shape.array != falsehood() || shape.object != falsehood() {
            return Ok(());
        }
        for (value, _) in outcomes.iter_mut().filter(|(value, _)| *value == truth()) {
            *value = other;
        }
        Ok(())
    }
}
