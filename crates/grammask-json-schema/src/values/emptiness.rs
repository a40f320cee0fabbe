//! Whether two formulas about objects or arrays surely never hold together: a quick look, not a decision.
//!
//! `oneOf` has to exclude, for each branch, all other branches that could hold too. Branches that people write mostly
//! differ in a type, a constant or a required name, which is found here, and then nothing has to be excluded. "Not
//! known to be disjoint" costs time later and is never wrong.

use crate::translation::Translation;
use crate::values::formula::{Formula, falsehood};
use crate::values::literals::{AboutArray, AboutObject, ArrayFormula, ObjectFormula, ValueFormula};
use grammask_diagnostics::LimitExceeded;
use rustc_hash::FxHashMap;

/// How deep members are looked into.
const DEEPEST: usize = 3;

impl Translation<'_> {
    /// Whether surely no object satisfies both formulas.
    pub(crate) fn objects_never_meet(
        &mut self,
        a: ObjectFormula,
        b: ObjectFormula,
    ) -> Result<bool, LimitExceeded> {
        self.objects_clash(a, b, DEEPEST)
    }

    /// Whether surely no array satisfies both formulas.
    pub(crate) fn arrays_never_meet(
        &mut self,
        a: ArrayFormula,
        b: ArrayFormula,
    ) -> Result<bool, LimitExceeded> {
        self.arrays_clash(a, b, DEEPEST)
    }

    fn objects_clash(
        &mut self,
        a: ObjectFormula,
        b: ObjectFormula,
        depth: usize,
    ) -> Result<bool, LimitExceeded> {
        self.deadline.check()?;
        let both = self.objects.and([a, b]);
        if both == falsehood() {
            return Ok(true);
        }
        // If one of them is a choice, no branch of it may meet the other.
        for (choice, other) in [(a, b), (b, a)] {
            let branches = self.objects.disjuncts(choice);
            if branches.len() > 1 && branches.len() <= 64 && depth > 0 {
                for branch in branches {
                    if !self.objects_clash(branch, other, depth - 1)? {
                        return Ok(false);
                    }
                }
                return Ok(true);
            }
        }
        // What is asked of each named member, and which ones must be there.
        let mut asked: FxHashMap<_, (Vec<ValueFormula>, bool)> = FxHashMap::default();
        let (mut least, mut most) = (0, u32::MAX);
        let mut sets = Vec::new();
        for part in self.objects.conjuncts(both) {
            match *self.objects.get(part) {
                Formula::Literal(AboutObject::If(name, value)) => {
                    asked.entry(name).or_default().0.push(value)
                }
                Formula::Literal(AboutObject::Has(name, value)) => {
                    let entry = asked.entry(name).or_default();
                    entry.0.push(value);
                    entry.1 = true;
                }
                Formula::Literal(AboutObject::Each(names, value)) => sets.push((names, value)),
                Formula::Literal(AboutObject::AtLeast(count)) => least = least.max(count),
                Formula::Literal(AboutObject::AtMost(count)) => most = most.min(count),
                _ => {}
            }
        }
        let required = asked.values().filter(|(_, required)| *required).count();
        if least > most || required > most as usize {
            return Ok(true);
        }
        for (name, (mut values, required)) in asked {
            if !required {
                continue;
            }
            for &(set, value) in &sets {
                if self.set_has(set, name)? {
                    values.push(value);
                }
            }
            if self.surely_no_value(&values, depth)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn arrays_clash(
        &mut self,
        a: ArrayFormula,
        b: ArrayFormula,
        depth: usize,
    ) -> Result<bool, LimitExceeded> {
        let both = self.arrays.and([a, b]);
        if both == falsehood() {
            return Ok(true);
        }
        let (mut least, mut most) = (0, u32::MAX);
        let mut asked: FxHashMap<u32, Vec<ValueFormula>> = FxHashMap::default();
        let mut sets = Vec::new();
        for part in self.arrays.conjuncts(both) {
            match *self.arrays.get(part) {
                Formula::Literal(AboutArray::AtLeast(count)) => least = least.max(count),
                Formula::Literal(AboutArray::AtMost(count)) => most = most.min(count),
                Formula::Literal(AboutArray::MatchAtLeast(count, _)) => least = least.max(count),
                Formula::Literal(AboutArray::If(at, value)) => asked.entry(at).or_default().push(value),
                Formula::Literal(AboutArray::Has(at, value)) => {
                    least = least.max(at.saturating_add(1));
                    asked.entry(at).or_default().push(value);
                }
                Formula::Literal(AboutArray::Each(from, value)) => sets.push((from, value)),
                _ => {}
            }
        }
        if least > most {
            return Ok(true);
        }
        for at in 0..least.min(16) {
            let mut values = asked.remove(&at).unwrap_or_default();
            values.extend(sets.iter().filter(|(from, _)| *from <= at).map(|&(_, value)| value));
            if self.surely_no_value(&values, depth)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether surely no value satisfies all of `values`.
    fn surely_no_value(&mut self, values: &[ValueFormula], depth: usize) -> Result<bool, LimitExceeded> {
        let value = self.values.and(values.iter().copied());
        if value == falsehood() {
            return Ok(true);
        }
        if depth == 0 || values.len() < 2 {
            return Ok(false);
        }
        // Pairs are enough to find what differs by a constant or a type.
        let mut shapes = Vec::with_capacity(values.len());
        for &value in values {
            match self.try_shape_of_formula(value)? {
                Some(shape) => shapes.push(shape),
                None => return Ok(false),
            }
        }
        let all = self.all_of(&shapes);
        if all.null || all.booleans.falsehood || all.booleans.truth {
            return Ok(false);
        }
        if !self.is_empty_language(all.number.yes)? || !self.is_empty_language(all.string.yes)? {
            return Ok(false);
        }
        let (first, rest) = (shapes[0], self.all_of(&shapes[1..]));
        Ok((all.array == falsehood() || self.arrays_clash(first.array, rest.array, depth - 1)?)
            && (all.object == falsehood() || self.objects_clash(first.object, rest.object, depth - 1)?))
    }
}
