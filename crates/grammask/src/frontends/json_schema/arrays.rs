//! From a formula about arrays to rules, item by item.
//!
//! The formula left after an item is a derivative of the formula before it: the *linear form* of a formula is a list of
//! pairs (what the item satisfies, what the rest of the array satisfies), as V. Antimirov's partial derivatives of
//! regular expressions (1996) split off one letter. Each different rest is a rule. Counts of items are kept
//! beside the formula, so that a run of items under one rest is a counted repetition, whatever its bounds are.

use super::formula::{self, Formula, falsehood, truth};
use super::literals::{AboutArray, ArrayFormula, Satisfies};
use super::rules::{Part, Parts, RuleId};
use super::translation::Translation;
use crate::LimitExceeded;
use rustc_hash::FxHashMap;

/// What the rest of an array has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Rest {
    formula: ArrayFormula,
    least: u32,
    most: Option<u32>,
    /// Whether there was an item already.
    started: bool,
}

/// What an item satisfies, and what the formula after it is.
type Outcome = formula::Outcome<Satisfies, AboutArray>;

/// The rules of one array's rests.
struct Array {
    depth: u32,
    rules: FxHashMap<Rest, RuleId>,
    pending: Vec<(Rest, RuleId)>,
}

impl Translation<'_> {
    /// The texts of the arrays that satisfy `formula`; their items have that depth.
    pub(super) fn array_alternatives(
        &mut self,
        formula: ArrayFormula,
        depth: u32,
    ) -> Result<Vec<Parts>, LimitExceeded> {
        if formula == falsehood() {
            return Ok(Vec::new());
        }
        let open = self.automata.terms_mut().literal(b"[");
        let mut array = Array { depth, rules: FxHashMap::default(), pending: Vec::new() };
        let Some(rest) = self.array_rest(formula, 0, None, false) else { return Ok(Vec::new()) };
        let mut alternatives = self.array_rule(&mut array, rest)?;
        while let Some((rest, rule)) = array.pending.pop() {
            self.check_limits()?;
            let alternatives = self.array_rule(&mut array, rest)?;
            self.rules.define(rule, alternatives);
        }
        for parts in &mut alternatives {
            parts.insert(0, Part::Mark(open));
        }
        Ok(alternatives)
    }

    /// `formula` with its counts taken out; none if they clash.
    fn array_rest(
        &mut self,
        formula: ArrayFormula,
        least: u32,
        most: Option<u32>,
        started: bool,
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
        if most.is_some_and(|most| most == 0 || (most == 1 && !started)) {
            let unique = |part: &ArrayFormula| {
                matches!(self.arrays.get(*part), Formula::Literal(AboutArray::Unique(..)))
            };
            kept.retain(|part| !unique(part));
        }
        let formula = self.arrays.and(kept);
        if formula == falsehood() || most.is_some_and(|most| least > most) {
            return None;
        }
        Some(Rest { formula, least, most, started })
    }

    /// The alternatives of a rest, with what closes the array.
    fn array_rule(&mut self, array: &mut Array, rest: Rest) -> Result<Vec<Parts>, LimitExceeded> {
        let gaps = self.layout.gaps(self.automata.terms_mut(), array.depth);
        let mut parts: Parts = Vec::new();
        let mut rest = rest;
        // As long as there is just one way to go on, it is written down in a row.
        loop {
            let can_end = rest.least == 0 && self.array_may_end(rest.formula);
            let outcomes = if rest.most == Some(0) {
                Vec::new()
            } else {
                self.array_outcomes(rest.formula, array.depth)?
            };
            let bracket = self.automata.terms_mut().literal(b"]");
            let close =
                vec![Part::Mark(if rest.started { gaps.end } else { gaps.empty }), Part::Mark(bracket)];
            if outcomes.is_empty() {
                return Ok(if can_end { vec![joined(&parts, close)] } else { Vec::new() });
            }
            let loops = outcomes.iter().all(|&(_, after)| after == rest.formula);
            if loops {
                if !self.array_may_end(rest.formula) {
                    return Ok(Vec::new());
                }
                return self.repeated_items(array, rest, &parts, &outcomes);
            }
            if let ([(value, after)], false) = (&outcomes[..], can_end) {
                let item = self.value_parts(*value, array.depth)?;
                let next = self.array_rest(*after, rest.least.saturating_sub(1), lower(rest.most), true);
                let (Some(item), Some(next)) = (item, next) else { return Ok(Vec::new()) };
                parts.push(Part::Mark(if rest.started { gaps.next } else { gaps.first }));
                parts.extend(item);
                rest = next;
                continue;
            }
            let mut alternatives = Vec::new();
            if can_end {
                alternatives.push(joined(&parts, close));
            }
            for (value, after) in outcomes {
                let item = self.value_parts(value, array.depth)?;
                let next = self.array_rest(after, rest.least.saturating_sub(1), lower(rest.most), true);
                let (Some(item), Some(next)) = (item, next) else { continue };
                let mut alternative = parts.clone();
                alternative.push(Part::Mark(if rest.started { gaps.next } else { gaps.first }));
                alternative.extend(item);
                alternative.push(Part::Rule(self.rest_rule(array, next)));
                alternatives.push(alternative);
            }
            return Ok(alternatives);
        }
    }

    fn rest_rule(&mut self, array: &mut Array, rest: Rest) -> RuleId {
        if let Some(&rule) = array.rules.get(&rest) {
            return rule;
        }
        let rule = self.rules.reserve("items");
        array.rules.insert(rest, rule);
        array.pending.push((rest, rule));
        rule
    }

    /// Items that change nothing about what may follow: a counted repetition.
    fn repeated_items(
        &mut self,
        array: &mut Array,
        rest: Rest,
        before: &Parts,
        outcomes: &[Outcome],
    ) -> Result<Vec<Parts>, LimitExceeded> {
        let gaps = self.layout.gaps(self.automata.terms_mut(), array.depth);
        let value = self.values.or(outcomes.iter().map(|&(value, _)| value));
        let item = self.value_parts(value, array.depth)?;
        let bracket = self.automata.terms_mut().literal(b"]");
        let end = [Part::Mark(gaps.end), Part::Mark(bracket)];
        let mut alternatives = Vec::new();
        if rest.least == 0 {
            let gap = if rest.started { gaps.end } else { gaps.empty };
            if !rest.started || item.is_none() {
                alternatives.push(joined(before, vec![Part::Mark(gap), Part::Mark(bracket)]));
            }
        }
        let Some(item) = item else { return Ok(alternatives) };
        let mut following = vec![Part::Mark(gaps.next)];
        following.extend(item.iter().copied());
        let following = self.rules.add("item", [following]);
        let mut parts = before.clone();
        if rest.started {
            parts.push(Part::Repeat(following, rest.least, rest.most));
        } else {
            parts.push(Part::Mark(gaps.first));
            parts.extend(item);
            if rest.most != Some(1) {
                parts.push(Part::Repeat(following, rest.least.saturating_sub(1), lower(rest.most)));
            }
        }
        parts.extend(end);
        alternatives.push(parts);
        Ok(alternatives)
    }

    /// Whether an array may end where `formula` is what its rest has to be, counts aside.
    fn array_may_end(&self, formula: ArrayFormula) -> bool {
        use super::formula::Step;
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
    pub(super) fn array_outcomes(
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

fn joined(before: &Parts, after: Parts) -> Parts {
    before.iter().copied().chain(after).collect()
}
