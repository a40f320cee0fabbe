//! From a formula about arrays to rules, item by item.
//!
//! Each different residual of the formula is a rule (see [`crate::values::derivative`]). Bounds on the number of items are
//! kept apart from the formula, so that items that leave the residual unchanged are one counted repetition.

use crate::emit::emitter::Emitter;
use crate::emit::positions::ValuePosition;
use crate::emit::punctuation::{Brackets, Punctuation};
use crate::emit::rules::{PartSequence, RuleId, RulePart};
use crate::members::unique_items::{
    ArrayShape, NextItem, UniqueItems, if_unique, mentions_uniqueness, next_items, refuse_uniqueness,
    unique_items_selection, with_uniqueness,
};
use crate::values::child_count::ChildCount;
use crate::values::derivative::{Monomial, linear_form};
use crate::values::formula::{FoldedNode, Formula, falsehood, truth};
use crate::values::formulas::Formulas;
use crate::values::literals::{ArrayAssertion, ArrayFormula, ValueFormula};
use crate::values::value_sets::{ListedValue, ValueSets};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{ValueKind, ValueSupply};
use rustc_hash::FxHashMap;

/// The constraints on the items from a position on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ArrayResidual {
    pub(super) formula: ArrayFormula,
    pub(super) count: ChildCount,
}

/// The position of the next item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ItemPosition {
    /// At the beginning, before the opening bracket.
    First,
    /// After an item.
    Later,
}

impl ItemPosition {
    /// The punctuation before an item.
    fn before(self, punctuation: &Punctuation) -> RulePart {
        match self {
            Self::First => punctuation.array.open,
            Self::Later => punctuation.comma,
        }
    }

    /// The punctuation that ends the array.
    fn end(self, brackets: &Brackets) -> RulePart {
        match self {
            Self::First => brackets.empty,
            Self::Later => brackets.close,
        }
    }
}

/// The right-hand sides of the arrays that satisfy `formula`; their items are at `position`.
pub(super) fn array_alternatives(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    formula: ArrayFormula,
    position: ValuePosition,
) -> Result<Vec<PartSequence>, LimitExceeded> {
    if formula == falsehood() {
        return Ok(Vec::new());
    }
    let punctuation = emitter.punctuation(&mut sets.languages, position.depth);
    let count = ChildCount::default();
    let Some(mut residual) = residual(&mut sets.formulas, formula, count, ItemPosition::First) else {
        return Ok(Vec::new());
    };
    let shape = ArrayShape { punctuation, position };
    if let Some(alternatives) = unique_items_selection(sets, emitter, residual, shape)? {
        return Ok(alternatives);
    }
    let items = UniqueItems::of_array(sets, residual)?;
    if items.is_refused {
        refuse_uniqueness(sets);
        let formula = with_uniqueness(&mut sets.formulas, residual.formula, truth(), truth());
        residual = ArrayResidual { formula, ..residual };
    }
    let tracked = items.tracked;
    let (rules, pending) = (FxHashMap::default(), Vec::new());
    let mut array = ArrayRules { sets, emitter, shape, tracked, has_values: false, rules, pending };
    let alternatives = array.alternatives(residual, ItemPosition::First)?;
    while let Some((residual, rule)) = array.pending.pop() {
        array.emitter.check_limits(array.sets)?;
        let alternatives = array.alternatives(residual, ItemPosition::Later)?;
        array.emitter.rules.define(rule, alternatives);
    }
    if !array.has_values || alternatives.is_empty() {
        return Ok(alternatives);
    }
    let body = array.emitter.rules.add("array", alternatives);
    Ok(vec![vec![RulePart::Scope(body)]])
}

/// Moves the bounds on the number of items from `formula` to `count`; `None` if they are unsatisfiable.
fn residual(
    formulas: &mut Formulas,
    formula: ArrayFormula,
    mut count: ChildCount,
    position: ItemPosition,
) -> Option<ArrayResidual> {
    let mut others = Vec::new();
    for part in formulas.arrays.conjuncts(formula) {
        match *formulas.arrays.get(part) {
            Formula::Literal(ArrayAssertion::AtLeast(min)) => count.require_at_least(min),
            Formula::Literal(ArrayAssertion::AtMost(max)) => count.require_at_most(max),
            _ => others.push(part),
        }
    }
    let mut formula = formulas.arrays.and(others);
    // An array with at most one item has unique items.
    if count.is_full() || (count.max == Some(1) && position == ItemPosition::First) {
        formula = if_unique(formulas, formula);
    }
    (formula != falsehood() && count.is_satisfiable()).then_some(ArrayResidual { formula, count })
}

/// The residual after an item of an array with `count` items to come before it.
pub(super) fn residual_after(
    formulas: &mut Formulas,
    formula: ArrayFormula,
    count: ChildCount,
) -> Option<ArrayResidual> {
    residual(formulas, formula, count.after_one(), ItemPosition::Later)
}

/// The rules of the residuals of one array.
struct ArrayRules<'t, 'o> {
    sets: &'t mut ValueSets<'o>,
    emitter: &'t mut Emitter,
    shape: ArrayShape,
    /// The values that residuals keep track of.
    tracked: Vec<ListedValue>,
    /// Whether values are remembered.
    has_values: bool,
    /// For each residual, the rule of the text after an item.
    rules: FxHashMap<ArrayResidual, RuleId>,
    pending: Vec<(ArrayResidual, RuleId)>,
}

impl ArrayRules<'_, '_> {
    /// The right-hand sides of a residual, up to the closing bracket.
    fn alternatives(
        &mut self,
        mut residual: ArrayResidual,
        mut position: ItemPosition,
    ) -> Result<Vec<PartSequence>, LimitExceeded> {
        let mut parts: PartSequence = Vec::new();
        // While the linear form has a single monomial, its parts are appended to one sequence.
        loop {
            let can_end = residual.count.min == 0 && self.may_end(residual.formula);
            let form = match residual.count.is_full() {
                true => Vec::new(),
                false => next_items(self.sets, residual.formula, &self.tracked)?,
            };
            let close = position.end(&self.shape.punctuation.array);
            if form.is_empty() {
                return Ok(if can_end { vec![joined(&parts, [close])] } else { Vec::new() });
            }
            let is_same = |item: &NextItem| item.residual == residual.formula && item.kind == form[0].kind;
            if form.iter().all(is_same) {
                if !self.may_end(residual.formula) {
                    return Ok(Vec::new());
                }
                return self.repeated_items(residual, position, &parts, &form);
            }
            let before = position.before(&self.shape.punctuation);
            if let (&[item], false) = (&form[..], can_end) {
                let next = residual_after(&mut self.sets.formulas, item.residual, residual.count);
                let item = self.item_parts(item.value, item.kind)?;
                let (Some(item), Some(next)) = (item, next) else { return Ok(Vec::new()) };
                parts.push(before);
                parts.extend(item);
                (residual, position) = (next, ItemPosition::Later);
                continue;
            }
            let mut alternatives = Vec::new();
            if can_end {
                alternatives.push(joined(&parts, [close]));
            }
            for item in form {
                let next = residual_after(&mut self.sets.formulas, item.residual, residual.count);
                if next.is_none() {
                    continue;
                }
                let item = self.item_parts(item.value, item.kind)?;
                let (Some(item), Some(next)) = (item, next) else { continue };
                let mut alternative = joined(&parts, [before]);
                alternative.extend(item);
                alternative.push(RulePart::Rule(self.rule_after_item(next)));
                alternatives.push(alternative);
            }
            return Ok(alternatives);
        }
    }

    /// The parts of an item; `None` if its set is plainly empty.
    fn item_parts(
        &mut self,
        value: ValueFormula,
        kind: Option<ValueKind>,
    ) -> Result<Option<PartSequence>, LimitExceeded> {
        let is_compared = self.shape.position.is_compared || kind.is_some();
        let position = ValuePosition { is_compared, ..self.shape.position };
        let parts = self.emitter.value_parts(self.sets, value, position)?;
        let (Some(parts), Some(kind)) = (&parts, kind) else { return Ok(parts) };
        self.has_values = true;
        let rule = self.emitter.rule_of(parts);
        Ok(Some(vec![RulePart::Value { rule, kind, supply: ValueSupply::Unknown }]))
    }

    /// Items that leave the formula unchanged: with bounds, a repetition; without, a right-recursive rule.
    fn repeated_items(
        &mut self,
        residual: ArrayResidual,
        position: ItemPosition,
        before: &PartSequence,
        form: &[NextItem],
    ) -> Result<Vec<PartSequence>, LimitExceeded> {
        let Punctuation { array: brackets, comma, .. } = self.shape.punctuation;
        let ArrayResidual { count, .. } = residual;
        let value = self.sets.formulas.values.or(form.iter().map(|part| part.value));
        let item = self.item_parts(value, form[0].kind)?;
        let can_end = count.min == 0;
        let Some(item) = item else {
            return Ok(if can_end { vec![joined(before, [position.end(&brackets)])] } else { Vec::new() });
        };
        let is_later = position == ItemPosition::Later;
        let is_counted = count.min > 1 || count.max.is_some() || (is_later && count.min > 0);
        if !is_counted {
            let more = ArrayResidual { count: ChildCount { min: 0, ..count }, ..residual };
            let more = RulePart::Rule(self.rule_after_item(more));
            let parts = [position.before(&self.shape.punctuation)].into_iter().chain(item).chain([more]);
            let mut alternatives = vec![joined(before, parts)];
            if can_end {
                alternatives.push(joined(before, [position.end(&brackets)]));
            }
            return Ok(alternatives);
        }
        let following: PartSequence = [comma].into_iter().chain(item.iter().copied()).collect();
        let following = self.emitter.rules.add("item", [following]);
        let repeated =
            |count: ChildCount| RulePart::Repeat { rule: following, min: count.min, max: count.max };
        if is_later {
            return Ok(vec![joined(before, [repeated(count), brackets.close])]);
        }
        let mut alternatives = Vec::new();
        if can_end {
            alternatives.push(joined(before, [brackets.empty]));
        }
        let mut parts = joined(before, [brackets.open]);
        parts.extend(item);
        if count.max != Some(1) {
            parts.push(repeated(count.after_one()));
        }
        parts.push(brackets.close);
        alternatives.push(parts);
        Ok(alternatives)
    }

    /// The rule of the text after an item.
    fn rule_after_item(&mut self, residual: ArrayResidual) -> RuleId {
        *self.rules.entry(residual).or_insert_with(|| {
            let rule = self.emitter.rules.reserve("items");
            self.pending.push((residual, rule));
            rule
        })
    }

    /// Whether the empty rest of an array satisfies `formula`, bounds on the number of items aside.
    fn may_end(&self, formula: ArrayFormula) -> bool {
        let formulas = &self.sets.formulas;
        formulas.arrays.fold(formula, |node| match node {
            FoldedNode::False => false,
            FoldedNode::True => true,
            FoldedNode::And(parts) => parts.into_iter().all(|part| part),
            FoldedNode::Or(parts) => parts.into_iter().any(|part| part),
            FoldedNode::Literal(literal) => match literal {
                ArrayAssertion::If(..) | ArrayAssertion::Each(..) => true,
                ArrayAssertion::AtMost(_) | ArrayAssertion::MatchAtMost(..) | ArrayAssertion::Unique(_) => {
                    true
                }
                ArrayAssertion::Has(..) | ArrayAssertion::Some(..) | ArrayAssertion::Repeated(_) => false,
                ArrayAssertion::AtLeast(count) | ArrayAssertion::MatchAtLeast(count, _) => *count == 0,
            },
        })
    }
}

/// The linear form of `formula`, in which no item is repeated. Residuals are pairwise different.
pub(super) fn array_form(
    sets: &mut ValueSets<'_>,
    formula: ArrayFormula,
) -> Result<Vec<Monomial<ArrayAssertion>>, LimitExceeded> {
    let is_exclusive = mentions_uniqueness(&sets.formulas, formula);
    linear_form(sets, formula, |sets, id, literal| {
        let mut form = form_of_literal(&mut sets.formulas, id, literal);
        if is_exclusive
            && let ArrayAssertion::Some(0, value) | ArrayAssertion::MatchAtLeast(1.., value) = literal
        {
            // An item that satisfies the formula counts as such, lest no other value is left for it.
            let set = sets.of_formula(value)?;
            if !set.has_containers() {
                let other = sets.formulas.negated_value(value);
                form.iter_mut().filter(|part| part.value == truth()).for_each(|part| part.value = other);
            }
        }
        Ok(form)
    })
}

fn form_of_literal(
    formulas: &mut Formulas,
    id: ArrayFormula,
    literal: ArrayAssertion,
) -> Vec<Monomial<ArrayAssertion>> {
    let monomial = |value, residual| Monomial { value, residual };
    let any = truth();
    let arrays = &mut formulas.arrays;
    // A literal about later items, or about more of them.
    let mut shifted = |literal| vec![monomial(any, arrays.literal(literal))];
    match literal {
        ArrayAssertion::Unique(_) | ArrayAssertion::Repeated(_) => vec![monomial(any, id)],
        ArrayAssertion::If(0, value) | ArrayAssertion::Has(0, value) => vec![monomial(value, truth())],
        ArrayAssertion::If(at, value) => shifted(ArrayAssertion::If(at - 1, value)),
        ArrayAssertion::Has(at, value) => shifted(ArrayAssertion::Has(at - 1, value)),
        ArrayAssertion::Each(0, value) => vec![monomial(value, id)],
        ArrayAssertion::Each(from, value) => shifted(ArrayAssertion::Each(from - 1, value)),
        ArrayAssertion::Some(0, value) => vec![monomial(value, truth()), monomial(any, id)],
        ArrayAssertion::Some(from, value) => shifted(ArrayAssertion::Some(from - 1, value)),
        ArrayAssertion::AtLeast(0 | 1) => vec![monomial(any, truth())],
        ArrayAssertion::AtLeast(count) => shifted(ArrayAssertion::AtLeast(count - 1)),
        ArrayAssertion::AtMost(0) => Vec::new(),
        ArrayAssertion::AtMost(count) => shifted(ArrayAssertion::AtMost(count - 1)),
        ArrayAssertion::MatchAtLeast(0, _) => vec![monomial(any, truth())],
        ArrayAssertion::MatchAtLeast(1, value) => vec![monomial(value, truth()), monomial(any, id)],
        ArrayAssertion::MatchAtLeast(count, value) => {
            let fewer = arrays.literal(ArrayAssertion::MatchAtLeast(count - 1, value));
            vec![monomial(value, fewer), monomial(any, id)]
        }
        ArrayAssertion::MatchAtMost(count, value) => {
            let other = formulas.negated_value(value);
            let mut form = vec![monomial(other, id)];
            if count > 0 {
                let fewer = formulas.arrays.literal(ArrayAssertion::MatchAtMost(count - 1, value));
                form.push(monomial(value, fewer));
            }
            form
        }
    }
}

fn joined(before: &PartSequence, after: impl IntoIterator<Item = RulePart>) -> PartSequence {
    before.iter().copied().chain(after).collect()
}
