//! Linear forms: what the next item or member may satisfy, and what is left to satisfy then. Kept small: what cannot
//! happen is dropped, and what happens anyway is said once.
//!
//! A discriminator makes the branches of a `oneOf` disjoint, but only where its value is looked at: without this, each
//! of n branches would carry along 2^n combinations of "that other branch fails here" and "it may still fail later".
//! What a string satisfies is said with as few schemas as do: of "matches `^a`, and not `^b`, and not `^c`" the first is enough.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::interner::Id;
use crate::translation::Translation;
use crate::values::formula::{Formula, FormulaId, Formulas, Literal, Outcome, falsehood, merged, truth};
use crate::values::literals::{AboutArray, AboutObject, Satisfies, Schema, ValueFormula};
use crate::values::value_set::{Shape, StringSet};
use grammask_diagnostics::LimitExceeded;

/// Exclusions of which more than this are not looked into, to see whether they leave anything.
const MANY_PARTS: usize = 8;

/// Conjunctions with at most so many parts are not made shorter.
const FEW_PARTS: usize = 8;

/// Assertions about what has parts: the parts satisfy formulas about values.
pub(crate) trait AboutParts: Literal {
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
    pub(crate) fn linear_form<L: AboutParts>(
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
                        for (value, _) in &mut product {
                            *value = self.without_idle_parts(*value)?;
                        }
                        let (values, wholes) = L::arenas(self);
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

    /// A conjunction about strings without the negations that follow from the rest of it; falsehood if two of its parts
    /// exclude each other.
    fn without_idle_parts(&mut self, value: ValueFormula) -> Result<ValueFormula, LimitExceeded> {
        if let Some(&known) = self.shorter.get(&value) {
            return Ok(known);
        }
        // Few parts cost less as they are than finding out which of them say nothing.
        let parts = match self.values.get(value) {
            Formula::And(parts) if parts.len() > FEW_PARTS => parts.clone(),
            _ => return Ok(value),
        };
        let literal = |this: &Self, part| match *this.values.get(part) {
            Formula::Literal(Satisfies { schema, negated }) => Some((schema, negated)),
            _ => None,
        };
        let mut idle = FxHashSet::default();
        let mut possible = true;
        for &part in &parts {
            let Some((schema, false)) = literal(self, part) else { continue };
            for &other in &parts {
                match literal(self, other) {
                    Some((other_schema, true)) if self.string_excludes(schema, other_schema)? => {
                        idle.insert(other);
                    }
                    Some((other_schema, false)) if other > part => {
                        possible &= !self.string_excludes(schema, other_schema)?;
                    }
                    _ => {}
                }
            }
        }
        let shorter = if possible {
            self.values.and(parts.iter().copied().filter(|part| !idle.contains(part)))
        } else {
            falsehood()
        };
        self.shorter.insert(value, shorter);
        Ok(shorter)
    }

    /// Whether only strings satisfy `one`, and surely none of them satisfies `other`. No where that takes a schema that is
    /// being worked on.
    fn string_excludes(&mut self, one: Id<Schema>, other: Id<Schema>) -> Result<bool, LimitExceeded> {
        if let Some(&known) = self.excluded.get(&(one, other)) {
            return Ok(known);
        }
        let (Some(first), Some(second)) = (self.try_shape_of(one)?, self.try_shape_of(other)?) else {
            return Ok(false);
        };
        let strings = StringSet { yes: self.automata.terms().nothing(), ..first.string };
        let others = Shape { string: strings, ..first };
        let excludes = self.is_plainly_empty(others)? && {
            let terms = self.automata.terms_mut();
            let undecided = self.spelling.outside(terms, second.string.no);
            let both = terms.intersection(&[first.string.yes, undecided]);
            self.is_empty_language(both)?
        };
        self.excluded.insert((one, other), excludes);
        Ok(excludes)
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
            // Many exclusions leave something, as a rule, and are slow to look into.
            let parts = self.values.conjuncts(value);
            let is_negative = parts.len() > MANY_PARTS
                && parts.iter().all(|&part| {
                    matches!(self.values.get(part), Formula::Literal(Satisfies { negated: true, .. }))
                });
            let possible = is_negative || !matches!(self.values.get(value), Formula::And(_)) || {
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
