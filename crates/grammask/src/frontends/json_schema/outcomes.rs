//! Keeps the outcomes of linear forms few: what cannot happen is dropped, and what happens anyway is said once.
//!
//! A discriminator makes the branches of a `oneOf` disjoint, but only where its value is looked at: without this, each
//! of n branches would carry along 2^n combinations of "that other branch fails here" and "it may still fail later".

use super::formula::{Formula, FormulaId, Literal, Outcome, falsehood, truth};
use super::literals::Satisfies;
use super::translation::Translation;
use crate::LimitExceeded;

impl Translation<'_> {
    /// Drops outcomes whose value is plainly impossible, where there is a choice.
    pub(super) fn drop_impossible<L: Literal>(
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
    pub(super) fn separate<L: Literal>(
        &mut self,
        outcomes: &mut [Outcome<Satisfies, L>],
    ) -> Result<(), LimitExceeded> {
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
