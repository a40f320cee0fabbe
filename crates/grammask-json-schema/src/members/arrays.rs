//! From a formula about arrays to rules, item by item.
//!
//! The formula left after an item is a derivative of the formula before it: the *linear form* of a formula is a list of
//! pairs (what the item satisfies, what the rest of the array satisfies), as V. Antimirov's partial derivatives of
//! regular expressions (1996) split off one letter. Each different rest is a rule. Counts of items are kept
//! beside the formula, so that a run of items under one rest is a counted repetition, whatever its bounds are.

use crate::emit::layout::{Place, Punctuation};
use crate::emit::rules::{Part, Parts, RuleId, Rules};
use crate::translation::Translation;
use crate::values::formula::{self, Formula, falsehood, truth};
use crate::values::literals::{AboutArray, ArrayFormula, Satisfies};
use grammask_diagnostics::LimitExceeded;
use rustc_hash::FxHashMap;

/// What the rest of an array has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Rest {
    formula: ArrayFormula,
    least: u32,
    most: Option<u32>,
}

/// What an item satisfies, and what the formula after it is.
type Outcome = formula::Outcome<Satisfies, AboutArray>;

/// The rules of one array's rests.
struct Array {
    depth: u32,
    marks: Punctuation,
    /// Rules of what comes behind an item.
    rules: FxHashMap<Rest, RuleId>,
    pending: Vec<(Rest, RuleId)>,
}

impl Translation<'_> {
    /// The texts of the arrays that satisfy `formula`; their items have that depth.
    pub(crate) fn array_alternatives(
        &mut self,
        formula: ArrayFormula,
        depth: u32,
    ) -> Result<Vec<Parts>, LimitExceeded> {
        if formula == falsehood() {
            return Ok(Vec::new());
        }
        let marks = self.punctuation(depth);
        let mut array = Array { depth, marks, rules: FxHashMap::default(), pending: Vec::new() };
        let Some(rest) = self.array_rest(formula, 0, None, Place::First) else { return Ok(Vec::new()) };
        if let Some(alternatives) = self.unique_items(rest.formula, (rest.least, rest.most), marks, depth)? {
            return Ok(alternatives);
        }
        let alternatives = self.array_rule(&mut array, rest, Place::First)?;
        while let Some((rest, rule)) = array.pending.pop() {
            self.check_limits()?;
            let alternatives = self.array_rule(&mut array, rest, Place::Later)?;
            self.rules.define(rule, alternatives);
        }
        Ok(alternatives)
    }

    /// `formula` with its counts taken out; none if they clash.
    fn array_rest(
        &mut self,
        formula: ArrayFormula,
        least: u32,
        most: Option<u32>,
        place: Place,
    ) -> Option<Rest> {
        let (mut least, mut most) = (least, most);
        let mut kept = Vec::new();
        for part in self.arrays.conjuncts(formula) {
            match *self.arrays.get(part) {
                Formula::Literal(AboutArray::AtLeast(count)) => least = least.max(count),
                Formula::Literal(AboutArray::AtMost(count)) => {
                    most = Some(most.map_or(count, |most| most.min(count)));
                }
                _ => kept.push(part),
            }
        }
        // A single item, or none, is unique.
        if most.is_some_and(|most| most == 0 || (most == 1 && place == Place::First)) {
            let unique = |part: &ArrayFormula| {
                matches!(self.arrays.get(*part), Formula::Literal(AboutArray::Unique(..)))
            };
            kept.retain(|part| !unique(part));
        }
        let formula = self.arrays.and(kept);
        if formula == falsehood() || most.is_some_and(|most| least > most) {
            return None;
        }
        Some(Rest { formula, least, most })
    }

    /// The alternatives of a rest at a place, with what closes the array.
    fn array_rule(
        &mut self,
        array: &mut Array,
        rest: Rest,
        place: Place,
    ) -> Result<Vec<Parts>, LimitExceeded> {
        let mut parts: Parts = Vec::new();
        let (mut rest, mut place) = (rest, place);
        // As long as there is just one way to go on, it is written down in a row.
        loop {
            let can_end = rest.least == 0 && self.array_may_end(rest.formula);
            let outcomes = if rest.most == Some(0) {
                Vec::new()
            } else {
                self.array_outcomes(rest.formula, array.depth)?
            };
            let close = place.end(&array.marks.array);
            if outcomes.is_empty() {
                return Ok(if can_end { vec![joined(&parts, [close])] } else { Vec::new() });
            }
            let loops = outcomes.iter().all(|&(_, after)| after == rest.formula);
            if loops {
                if !self.array_may_end(rest.formula) {
                    return Ok(Vec::new());
                }
                return self.repeated_items(array, rest, place, &parts, &outcomes);
            }
            let before = place.before(&array.marks.array, array.marks.next);
            if let ([(value, after)], false) = (&outcomes[..], can_end) {
                let item = self.value_parts(*value, array.depth)?;
                let next =
                    self.array_rest(*after, rest.least.saturating_sub(1), lower(rest.most), Place::Later);
                let (Some(item), Some(next)) = (item, next) else { return Ok(Vec::new()) };
                parts.push(before);
                parts.extend(item);
                (rest, place) = (next, Place::Later);
                continue;
            }
            let mut alternatives = Vec::new();
            if can_end {
                alternatives.push(joined(&parts, [close]));
            }
            for (value, after) in outcomes {
                let item = self.value_parts(value, array.depth)?;
                let next =
                    self.array_rest(after, rest.least.saturating_sub(1), lower(rest.most), Place::Later);
                let (Some(item), Some(next)) = (item, next) else { continue };
                let mut alternative = joined(&parts, [before]);
                alternative.extend(item);
                alternative.push(Part::Rule(rest_rule(&mut self.rules, array, next)));
                alternatives.push(alternative);
            }
            return Ok(alternatives);
        }
    }

    /// Items that change nothing about what may follow. Where they are counted they are a repetition.
    fn repeated_items(
        &mut self,
        array: &mut Array,
        rest: Rest,
        place: Place,
        before: &Parts,
        outcomes: &[Outcome],
    ) -> Result<Vec<Parts>, LimitExceeded> {
        let Punctuation { array: brackets, next, .. } = array.marks;
        let value = self.values.or(outcomes.iter().map(|&(value, _)| value));
        let item = self.value_parts(value, array.depth)?;
        let can_end = rest.least == 0;
        let Some(item) = item else {
            return Ok(if can_end { vec![joined(before, [place.end(&brackets)])] } else { Vec::new() });
        };
        let is_counted = rest.least > 1 || rest.most.is_some() || (place == Place::Later && rest.least > 0);
        if !is_counted {
            let more = Rest { least: 0, ..rest };
            let more = Part::Rule(rest_rule(&mut self.rules, array, more));
            let row = [place.before(&brackets, next)].into_iter().chain(item).chain([more]);
            let mut alternatives = vec![joined(before, row)];
            if can_end {
                alternatives.push(joined(before, [place.end(&brackets)]));
            }
            return Ok(alternatives);
        }
        let following: Parts = [next].into_iter().chain(item.iter().copied()).collect();
        let following = self.rules.add("item", [following]);
        if place == Place::Later {
            let row = [Part::Repeat(following, rest.least, rest.most), brackets.close];
            return Ok(vec![joined(before, row)]);
        }
        let mut alternatives = Vec::new();
        if can_end {
            alternatives.push(joined(before, [brackets.empty]));
        }
        let mut parts = joined(before, [brackets.open]);
        parts.extend(item);
        if rest.most != Some(1) {
            parts.push(Part::Repeat(following, rest.least.saturating_sub(1), lower(rest.most)));
        }
        parts.push(brackets.close);
        alternatives.push(parts);
        Ok(alternatives)
    }

    /// Whether an array may end where `formula` is what its rest has to be, counts aside.
    fn array_may_end(&self, formula: ArrayFormula) -> bool {
        use crate::values::formula::Step;
        self.arrays.fold(formula, |step| match step {
            Step::False => false,
            Step::True => true,
            Step::And(parts) => parts.into_iter().all(|part| part),
            Step::Or(parts) => parts.into_iter().any(|part| part),
            Step::Literal(literal) => match literal {
                AboutArray::If(..) | AboutArray::Each(..) => true,
                AboutArray::AtMost(_) | AboutArray::MatchAtMost(..) | AboutArray::Unique(..) => true,
                AboutArray::Has(..) | AboutArray::Some(..) => false,
                AboutArray::Repeated(place, _) => self.relaxed_uniqueness.contains(place),
                AboutArray::AtLeast(count) | AboutArray::MatchAtLeast(count, _) => *count == 0,
            },
        })
    }

    /// The linear form of `formula`: what the next item may satisfy, and what is left to satisfy then. Rests are
    /// different from each other.
    pub(crate) fn array_outcomes(
        &mut self,
        formula: ArrayFormula,
        depth: u32,
    ) -> Result<Vec<Outcome>, LimitExceeded> {
        if let Some(outcomes) = self.unique_outcomes(formula, depth)? {
            return Ok(outcomes);
        }
        self.linear_form(formula, |this, id, literal| Ok(this.literal_outcomes(id, literal)))
    }

    fn literal_outcomes(&mut self, id: ArrayFormula, literal: AboutArray) -> Vec<Outcome> {
        let any = truth();
        match literal {
            AboutArray::Unique(..) | AboutArray::Repeated(..) => vec![(any, id)],
            AboutArray::If(0, value) | AboutArray::Has(0, value) => vec![(value, truth())],
            AboutArray::If(at, value) => vec![(any, self.arrays.literal(AboutArray::If(at - 1, value)))],
            AboutArray::Has(at, value) => vec![(any, self.arrays.literal(AboutArray::Has(at - 1, value)))],
            AboutArray::Each(0, value) => vec![(value, id)],
            AboutArray::Each(from, value) => {
                vec![(any, self.arrays.literal(AboutArray::Each(from - 1, value)))]
            }
            AboutArray::Some(0, value) => vec![(value, truth()), (any, id)],
            AboutArray::Some(from, value) => {
                vec![(any, self.arrays.literal(AboutArray::Some(from - 1, value)))]
            }
            AboutArray::AtLeast(0 | 1) => vec![(any, truth())],
            AboutArray::AtLeast(count) => vec![(any, self.arrays.literal(AboutArray::AtLeast(count - 1)))],
            AboutArray::AtMost(0) => Vec::new(),
            AboutArray::AtMost(count) => vec![(any, self.arrays.literal(AboutArray::AtMost(count - 1)))],
            AboutArray::MatchAtLeast(0, _) => vec![(any, truth())],
            AboutArray::MatchAtLeast(1, value) => vec![(value, truth()), (any, id)],
            AboutArray::MatchAtLeast(count, value) => {
                vec![(value, self.arrays.literal(AboutArray::MatchAtLeast(count - 1, value))), (any, id)]
            }
            AboutArray::MatchAtMost(count, value) => {
                let other = self.negated_value(value);
                let mut outcomes = vec![(other, id)];
                if count > 0 {
                    outcomes.push((value, self.arrays.literal(AboutArray::MatchAtMost(count - 1, value))));
                }
                outcomes
            }
        }
    }
}

fn lower(most: Option<u32>) -> Option<u32> {
    most.map(|most| most.saturating_sub(1))
}

/// The rule of what comes behind an item.
fn rest_rule(rules: &mut Rules, array: &mut Array, rest: Rest) -> RuleId {
    *array.rules.entry(rest).or_insert_with(|| {
        let rule = rules.reserve("items");
        array.pending.push((rest, rule));
        rule
    })
}

fn joined(before: &Parts, after: impl IntoIterator<Item = Part>) -> Parts {
    before.iter().copied().chain(after).collect()
}
