//! The rules of an object, one for each residual of its formula.
//!
//! A residual is the state between two members: the constraints between members that remain, the number of members, and the
//! names that can still occur. Equal residuals share a rule.

use rustc_hash::FxHashMap;

use crate::KeyOrder;
use crate::emit::emitter::Emitter;
use crate::emit::positions::MemberPosition;
use crate::emit::punctuation::Punctuation;
use crate::emit::rules::{PartSequence, RuleId, RulePart};
use crate::emit::shared_residuals::{DeclaredMember, SharedResidual};
use crate::members::member_forms::{ClassMonomial, class_forms, formula_without, object_form};
use crate::members::member_parts::{OtherMember, declared_member, other_member};
use crate::members::object_shape::ObjectShape;
use crate::members::shared_residuals::shared_residual;
use crate::members::unique_names::ListedName;
use crate::values::child_count::ChildCount;
use crate::values::formula::{FoldedNode, Formula, falsehood};
use crate::values::literals::{ObjectAssertion, ObjectFormula, ValueFormula};
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{PartId, PartOrder, Selection};

/// The constraints on the members from a position on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ObjectResidual {
    /// Constraints between members.
    pub(super) formula: ObjectFormula,
    pub(super) count: ChildCount,
    /// In declared order: the index of the next declared member. In any order: the number of declared members.
    pub(super) next: usize,
    /// The names that have not occurred, as a bit set: in any order the declared ones, then the tracked ones.
    unused: u64,
    /// Whether undeclared names are remembered.
    pub(super) in_scope: bool,
}

impl ObjectResidual {
    fn after_one(&self, formula: ObjectFormula) -> Self {
        Self { formula, count: self.count.after_one(), ..*self }
    }
}

/// A rule to be defined.
struct PendingResidual {
    residual: ObjectResidual,
    position: MemberPosition,
    rule: RuleId,
}

/// Bound on the number of declared names in any order without a selection: the bits of [`ObjectResidual::unused`].
const MAX_UNORDERED_NAMES: usize = 64;

/// Size of the formulas that residuals may add, likewise.
const MAX_FORMULA_GROWTH: usize = 50_000;

/// The right-hand sides of the objects of a shape that satisfy `formula`, with a rule for each residual; `None` if there
/// are more than `max_residuals`.
pub(super) fn rules_by_residual(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    shape: ObjectShape<'_>,
    between: ObjectFormula,
    max_residuals: usize,
) -> Result<Option<Vec<PartSequence>>, LimitExceeded> {
    let ObjectShape { declared, punctuation, .. } = shape;
    let order = match declared {
        [] => KeyOrder::Declared,
        _ => sets.reader.options.key_order,
    };
    let first_tracked = match order {
        KeyOrder::Declared => 0,
        KeyOrder::Any => declared.len(),
    };
    let unused = match first_tracked + shape.others.tracked().len() {
        0 => 0,
        count if count <= MAX_UNORDERED_NAMES => u64::MAX >> (64 - count),
        _ => return Err(LimitExceeded::new("grammar_size", sets.reader.limits.grammar_size)),
    };
    let mut required_from = vec![0; declared.len() + 1];
    for (index, declared) in declared.iter().enumerate().rev() {
        required_from[index] = required_from[index + 1] + u32::from(declared.required);
    }
    let next = match order {
        KeyOrder::Declared => 0,
        KeyOrder::Any => declared.len(),
    };
    let (rules, pending) = (FxHashMap::default(), Vec::new());
    let size_before = sets.formulas.size();
    let is_choice = |part: ObjectFormula| {
        matches!(
            sets.formulas.objects.get(part),
            Formula::Or(_) | Formula::Literal(ObjectAssertion::Some(..))
        )
    };
    let has_choice = sets.formulas.objects.conjuncts(between).into_iter().any(is_choice);
    let is_shared = order == KeyOrder::Declared && has_choice && shape.others.listed().is_empty();
    let shareable = is_shared.then(FxHashMap::default);
    let mut object =
        ObjectRules { sets, emitter, shape, order, first_tracked, required_from, rules, shareable, pending };
    let first =
        ObjectResidual { formula: between, count: ChildCount::default(), next, unused, in_scope: false };
    let Some(first) = object.without_counts(first) else { return Ok(Some(Vec::new())) };
    let mut alternatives = Vec::new();
    if object.can_end(&first) {
        alternatives.push(vec![punctuation.object.empty]);
    }
    if object.can_continue(&first) {
        if order == KeyOrder::Any && shape.others.need_scope() {
            let first = ObjectResidual { in_scope: true, ..first };
            let members = object.rule(first, MemberPosition::BeforeMember)?;
            alternatives.push(vec![punctuation.object.open, RulePart::Scope(members)]);
        } else {
            object.add_members(first, vec![punctuation.object.open], &mut alternatives)?;
        }
    }
    while let Some(PendingResidual { residual, position, rule }) = object.pending.pop() {
        object.emitter.check_limits(object.sets)?;
        let growth = object.sets.formulas.size() - size_before;
        if object.rules.len() > max_residuals.saturating_add(2 * declared.len())
            || (max_residuals < usize::MAX && growth > MAX_FORMULA_GROWTH)
        {
            return Ok(None);
        }
        let mut alternatives = Vec::new();
        match position {
            MemberPosition::BeforeMember => object.add_members(residual, Vec::new(), &mut alternatives)?,
            MemberPosition::AfterMember => object.add_after_member(residual, &mut alternatives)?,
        }
        object.emitter.rules.define(rule, alternatives);
    }
    let shareable = object.shareable.into_iter().flatten();
    emitter.shared_residuals.add(shareable);
    Ok(Some(alternatives))
}

/// The rules of the residuals of one object.
struct ObjectRules<'t, 'o> {
    sets: &'t mut ValueSets<'o>,
    emitter: &'t mut Emitter,
    shape: ObjectShape<'t>,
    order: KeyOrder,
    /// The bit of the first tracked name.
    first_tracked: usize,
    /// The number of required members from each declared one on; 0 after the last.
    required_from: Vec<u32>,
    rules: FxHashMap<(ObjectResidual, MemberPosition), RuleId>,
    /// The rules that other objects can use; `None` if the object has none.
    shareable: Option<FxHashMap<SharedResidual, RuleId>>,
    pending: Vec<PendingResidual>,
}

impl ObjectRules<'_, '_> {
    /// Whether no declared member can follow.
    fn is_after_declared(&self, residual: &ObjectResidual) -> bool {
        residual.next == self.shape.declared.len() && residual.unused & !(u64::MAX << self.first_tracked) == 0
    }

    /// Whether an undeclared name is left.
    fn has_other_name(&self, residual: &ObjectResidual) -> bool {
        let others = self.shape.others;
        let is_tracked_name_left = residual.unused >> self.first_tracked != 0;
        is_tracked_name_left || (0..self.shape.classes.len()).any(|class| !others.is_tracked(class))
    }

    /// Whether undeclared members can be counted by a repetition.
    fn can_repeat_members(&self, residual: &ObjectResidual) -> bool {
        let others = self.shape.others;
        let is_in_place = residual.in_scope || !others.need_scope();
        self.is_after_declared(residual) && is_in_place && others.tracked().is_empty()
    }

    /// Whether a member can follow, as far as names and counts are concerned.
    fn can_continue(&self, residual: &ObjectResidual) -> bool {
        !residual.count.is_full() && (self.has_other_name(residual) || !self.is_after_declared(residual))
    }

    /// Whether the object can end.
    fn can_end(&self, residual: &ObjectResidual) -> bool {
        let is_missing = match self.order {
            KeyOrder::Declared => self.required_from[residual.next] > 0,
            KeyOrder::Any => {
                let mut declared = self.shape.declared.iter().enumerate();
                declared.any(|(index, member)| residual.unused >> index & 1 == 1 && member.required)
            }
        };
        !is_missing && residual.count.min == 0 && self.may_end(residual.formula)
    }

    /// Whether the empty rest of an object satisfies `formula`, bounds on the number of members aside.
    fn may_end(&self, formula: ObjectFormula) -> bool {
        self.sets.formulas.objects.fold(formula, |node| match node {
            FoldedNode::False => false,
            FoldedNode::True => true,
            FoldedNode::And(parts) => parts.into_iter().all(|part| part),
            FoldedNode::Or(parts) => parts.into_iter().any(|part| part),
            FoldedNode::Literal(literal) => match literal {
                ObjectAssertion::Declares(_) | ObjectAssertion::Relaxed | ObjectAssertion::AtMost(_) => true,
                ObjectAssertion::If(..) | ObjectAssertion::Each(..) => true,
                ObjectAssertion::Has(..) | ObjectAssertion::Some(..) => false,
                ObjectAssertion::AtLeast(count) => *count == 0,
            },
        })
    }

    /// Moves the bounds on the number of members from the formula to the count; `None` if they are unsatisfiable.
    fn without_counts(&mut self, mut residual: ObjectResidual) -> Option<ObjectResidual> {
        let objects = &mut self.sets.formulas.objects;
        let mut others = Vec::new();
        let mut changed = false;
        for part in objects.conjuncts(residual.formula) {
            match *objects.get(part) {
                Formula::Literal(ObjectAssertion::AtLeast(min)) => residual.count.require_at_least(min),
                Formula::Literal(ObjectAssertion::AtMost(max)) => residual.count.require_at_most(max),
                Formula::Literal(ObjectAssertion::Declares(_) | ObjectAssertion::Relaxed) => {}
                _ => {
                    others.push(part);
                    continue;
                }
            }
            changed = true;
        }
        // The order of conjuncts does not matter any more, and equal conjunctions are one residual.
        if changed || !others.is_sorted() {
            others.sort_unstable();
            residual.formula = objects.and(others);
        }
        (residual.formula != falsehood() && residual.count.is_satisfiable()).then_some(residual)
    }

    /// Drops bounds on the number of members that the declared members imply. For declared order.
    fn drop_implied_counts(&self, residual: &mut ObjectResidual) {
        let count = &mut residual.count;
        if count.min <= self.required_from[residual.next] {
            count.min = 0;
        }
        let remaining = self.shape.declared.len() - residual.next;
        if self.shape.classes.is_empty() && count.max.is_some_and(|max| remaining <= max as usize) {
            count.max = None;
        }
    }

    /// The rule of a residual.
    fn rule(
        &mut self,
        mut residual: ObjectResidual,
        position: MemberPosition,
    ) -> Result<RuleId, LimitExceeded> {
        if self.order == KeyOrder::Declared {
            self.drop_implied_counts(&mut residual);
        }
        let key = (residual, position);
        if let Some(&rule) = self.rules.get(&key) {
            return Ok(rule);
        }
        let mut residual = key.0.clone();
        let rule = match &mut self.shareable {
            None => self.reserve(residual, position),
            Some(shareable) => {
                let memo = &mut self.emitter.shared_residuals;
                let shared = shared_residual(memo, self.sets, self.shape, &residual, position)?;
                match shareable.get(&shared).copied().or_else(|| memo.rule(&shared)) {
                    Some(rule) => rule,
                    None => {
                        residual.formula = shared.formula;
                        let rule = self.reserve(residual, position);
                        self.shareable.get_or_insert_default().insert(shared, rule);
                        rule
                    }
                }
            }
        };
        self.rules.insert(key, rule);
        Ok(rule)
    }

    /// A new rule, to be defined.
    fn reserve(&mut self, residual: ObjectResidual, position: MemberPosition) -> RuleId {
        let rule = self.emitter.rules.reserve(match position {
            MemberPosition::BeforeMember => "members",
            MemberPosition::AfterMember => "more",
        });
        self.pending.push(PendingResidual { residual, position, rule });
        rule
    }

    /// Appends the right-hand sides of the text after a member.
    fn add_after_member(
        &mut self,
        residual: ObjectResidual,
        alternatives: &mut Vec<PartSequence>,
    ) -> Result<(), LimitExceeded> {
        let Punctuation { object: brackets, comma, .. } = self.shape.punctuation;
        let count = residual.count;
        if self.can_repeat_members(&residual)
            && (count.min > 0 || count.max.is_some())
            && let Some(rule) = self.repeatable_member(&residual)?
        {
            if self.may_end(residual.formula) {
                let members = RulePart::Repeat { rule, min: count.min, max: count.max };
                alternatives.push(vec![members, brackets.close]);
            }
            return Ok(());
        }
        if self.can_end(&residual) {
            alternatives.push(vec![brackets.close]);
        }
        if self.can_continue(&residual) {
            let members = self.rule(residual, MemberPosition::BeforeMember)?;
            alternatives.push(vec![comma, RulePart::Rule(members)]);
        }
        Ok(())
    }

    /// Appends the right-hand sides of one or more members, each after `parts`.
    fn add_members(
        &mut self,
        mut residual: ObjectResidual,
        mut parts: PartSequence,
        alternatives: &mut Vec<PartSequence>,
    ) -> Result<(), LimitExceeded> {
        if self.order == KeyOrder::Any {
            return self.add_members_in_any_order(&residual, &parts, alternatives);
        }
        loop {
            // Required members are appended to one sequence; an optional one after other parts begins a rule.
            let is_required = self.shape.declared.get(residual.next).is_some_and(|member| member.required);
            if !parts.is_empty() && !is_required {
                parts.push(RulePart::Rule(self.rule(residual, MemberPosition::BeforeMember)?));
                alternatives.push(parts);
                return Ok(());
            }
            if residual.next == self.shape.declared.len() {
                return self.add_other_members(&residual, &parts, alternatives);
            }
            let declared = self.shape.declared[residual.next];
            let skipped = self.without_member(&residual, declared);
            let mut members = self.with_member(&residual, declared)?;
            for (_, after) in &mut members {
                after.next = residual.next + 1;
            }
            match (&mut members[..], skipped) {
                ([], None) => return Ok(()),
                ([], Some(skipped)) => residual = skipped,
                ([(member, after)], None) if !self.can_end(after) => {
                    if !self.can_continue(after) {
                        return Ok(());
                    }
                    parts.append(member);
                    parts.push(self.shape.punctuation.comma);
                    residual = after.clone();
                }
                (_, skipped) => {
                    for (member, after) in members {
                        let parts = parts.iter().copied().chain(member).collect();
                        self.add_continued(after, parts, alternatives)?;
                    }
                    if let Some(skipped) = skipped {
                        parts.push(RulePart::Rule(self.rule(skipped, MemberPosition::BeforeMember)?));
                        alternatives.push(parts);
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Appends the right-hand sides that begin with any unused declared member, or another one.
    fn add_members_in_any_order(
        &mut self,
        residual: &ObjectResidual,
        parts: &PartSequence,
        alternatives: &mut Vec<PartSequence>,
    ) -> Result<(), LimitExceeded> {
        for (index, &declared) in self.shape.declared.iter().enumerate() {
            if residual.unused >> index & 1 == 0 {
                continue;
            }
            for (member, after) in self.with_member(residual, declared)? {
                let after = ObjectResidual { unused: residual.unused & !(1 << index), ..after };
                let parts = parts.iter().copied().chain(member).collect();
                self.add_continued(after, parts, alternatives)?;
            }
        }
        self.add_other_members(residual, parts, alternatives)
    }

    /// Appends the right-hand side that begins with `parts`, which end with a member, if it can be completed.
    fn add_continued(
        &mut self,
        residual: ObjectResidual,
        mut parts: PartSequence,
        alternatives: &mut Vec<PartSequence>,
    ) -> Result<(), LimitExceeded> {
        match (self.can_continue(&residual), self.can_end(&residual)) {
            (false, false) => return Ok(()),
            (false, true) => parts.push(self.shape.punctuation.object.close),
            (true, false) if residual.count.min <= 1 => {
                let members = self.rule(residual, MemberPosition::BeforeMember)?;
                parts.extend([self.shape.punctuation.comma, RulePart::Rule(members)]);
            }
            (true, _) => parts.push(RulePart::Rule(self.rule(residual, MemberPosition::AfterMember)?)),
        }
        alternatives.push(parts);
        Ok(())
    }

    /// The residual without the next declared member; `None` if it must occur, or no member can follow.
    fn without_member(
        &mut self,
        residual: &ObjectResidual,
        declared: DeclaredMember,
    ) -> Option<ObjectResidual> {
        if declared.required {
            return None;
        }
        let formula = formula_without(&mut self.sets.formulas, residual.formula, declared.name);
        if formula == falsehood() {
            return None;
        }
        let next = residual.next + 1;
        let skipped = self.without_counts(ObjectResidual { formula, next, ..residual.clone() })?;
        self.can_continue(&skipped).then_some(skipped)
    }

    /// The texts of a declared member as the next one, each with the residual after it.
    fn with_member(
        &mut self,
        residual: &ObjectResidual,
        declared: DeclaredMember,
    ) -> Result<Vec<(PartSequence, ObjectResidual)>, LimitExceeded> {
        if residual.count.is_full() {
            return Ok(Vec::new());
        }
        let form = object_form(self.sets, residual.formula, |sets, literal| match literal {
            ObjectAssertion::If(name, _) | ObjectAssertion::Has(name, _) => Ok(name == declared.name),
            ObjectAssertion::Each(set, _) | ObjectAssertion::Some(set, _) => {
                sets.formulas.has_name(&mut sets.languages, set, declared.name)
            }
            _ => Ok(false),
        })?;
        let mut members = Vec::new();
        for monomial in form {
            let value = self.sets.formulas.values.and([declared.value, monomial.value]);
            let Some(parts) = declared_member(self.sets, self.emitter, &self.shape, declared.name, value)?
            else {
                continue;
            };
            let Some(after) = self.without_counts(residual.after_one(monomial.residual)) else { continue };
            members.push((parts, after));
        }
        Ok(members)
    }

    /// Appends the right-hand sides of one or more members, the first with an undeclared name, each after `parts`.
    fn add_other_members(
        &mut self,
        residual: &ObjectResidual,
        parts: &PartSequence,
        alternatives: &mut Vec<PartSequence>,
    ) -> Result<(), LimitExceeded> {
        let count = residual.count;
        if count.is_full() {
            return Ok(());
        }
        if !residual.in_scope && self.is_after_declared(residual) && count.max != Some(1) {
            if let Some(selected) = self.selected_names(residual)? {
                alternatives
                    .extend(selected.into_iter().map(|text| parts.iter().copied().chain(text).collect()));
                return Ok(());
            }
            if self.shape.others.need_scope() {
                let residual = ObjectResidual { in_scope: true, ..residual.clone() };
                let members = self.rule(residual, MemberPosition::BeforeMember)?;
                alternatives.push(parts.iter().copied().chain([RulePart::Scope(members)]).collect());
                return Ok(());
            }
        }
        if self.can_repeat_members(residual)
            && (count.min > 1 || count.max.is_some())
            && let Some(rule) = self.repeatable_member(residual)?
        {
            if !self.may_end(residual.formula) {
                return Ok(());
            }
            for ClassMonomial { class, monomial } in
                class_forms(self.sets, self.shape.classes, residual.formula)?
            {
                let Some(member) = self.other_member(residual, class, monomial.value)? else { continue };
                let mut alternative: PartSequence = parts.iter().copied().chain(member).collect();
                if count.max != Some(1) {
                    let ChildCount { min, max } = count.after_one();
                    alternative.push(RulePart::Repeat { rule, min, max });
                }
                alternative.push(self.shape.punctuation.object.close);
                alternatives.push(alternative);
            }
            return Ok(());
        }
        for ClassMonomial { class, monomial } in class_forms(self.sets, self.shape.classes, residual.formula)?
        {
            let Some(after) = self.without_counts(residual.after_one(monomial.residual)) else { continue };
            if !self.shape.others.is_tracked(class) {
                if let Some(member) = self.other_member(residual, class, monomial.value)? {
                    self.add_continued(after, parts.iter().copied().chain(member).collect(), alternatives)?;
                }
                continue;
            }
            for (index, &ListedName { class: of_name, name }) in
                self.shape.others.tracked().iter().enumerate()
            {
                let bit = 1 << (self.first_tracked + index);
                if of_name != class || residual.unused & bit == 0 {
                    continue;
                }
                let member = declared_member(self.sets, self.emitter, &self.shape, name, monomial.value)?;
                let Some(member) = member else { continue };
                let after = ObjectResidual { unused: residual.unused & !bit, ..after.clone() };
                self.add_continued(after, parts.iter().copied().chain(member).collect(), alternatives)?;
            }
        }
        Ok(())
    }

    /// The parts of a member with a name of a class; `None` if no such member can be written.
    fn other_member(
        &mut self,
        residual: &ObjectResidual,
        class: usize,
        value: ValueFormula,
    ) -> Result<Option<PartSequence>, LimitExceeded> {
        let supply = if residual.in_scope { self.shape.others.supply(class) } else { None };
        other_member(self.sets, self.emitter, &self.shape, OtherMember { class, supply, value })
    }

    /// The right-hand sides of one or more undeclared members, of which some have listed names, as a selection; `None`
    /// if no names are listed, or they are tracked, or constraints between members remain.
    fn selected_names(
        &mut self,
        residual: &ObjectResidual,
    ) -> Result<Option<Option<PartSequence>>, LimitExceeded> {
        let ObjectShape { others, classes, punctuation, .. } = self.shape;
        if others.listed().is_empty() || !others.tracked().is_empty() || !self.may_end(residual.formula) {
            return Ok(None);
        }
        let forms = class_forms(self.sets, classes, residual.formula)?;
        if forms.iter().any(|form| form.monomial.residual != residual.formula) {
            return Ok(None);
        }
        let (mut parts, mut repeatable) = (Vec::new(), Vec::new());
        for ClassMonomial { class, monomial } in forms {
            if others.is_listed(class) {
                for listed in others.listed().iter().filter(|listed| listed.class == class) {
                    let shape = &self.shape;
                    parts.extend(declared_member(
                        self.sets,
                        self.emitter,
                        shape,
                        listed.name,
                        monomial.value,
                    )?);
                }
                continue;
            }
            let member = OtherMember { class, supply: others.supply(class), value: monomial.value };
            if let Some(member) = other_member(self.sets, self.emitter, &self.shape, member)? {
                repeatable.push(PartId::new(parts.len()));
                parts.push(member);
            }
        }
        let ChildCount { min, max } = residual.count;
        let selection =
            Selection::new(PartOrder::Any, parts.len(), &repeatable, Vec::new(), (min.max(1), max));
        let Some(selection) = selection.filter(Selection::is_satisfiable) else { return Ok(Some(None)) };
        let members = self.emitter.rules.select("members", selection, parts, punctuation.comma);
        let members = if repeatable.is_empty() { RulePart::Rule(members) } else { RulePart::Scope(members) };
        Ok(Some(Some(vec![members, punctuation.object.close])))
    }

    /// The rule of a comma and an undeclared member; `None` unless such members leave the residual unchanged, so that
    /// they can be counted.
    fn repeatable_member(&mut self, residual: &ObjectResidual) -> Result<Option<RuleId>, LimitExceeded> {
        let forms = class_forms(self.sets, self.shape.classes, residual.formula)?;
        if forms.iter().any(|form| form.monomial.residual != residual.formula) {
            return Ok(None);
        }
        let mut members: Vec<PartSequence> = Vec::new();
        for ClassMonomial { class, monomial } in forms {
            let member = self.other_member(residual, class, monomial.value)?;
            let comma = self.shape.punctuation.comma;
            members.extend(member.map(|member| [comma].into_iter().chain(member).collect::<PartSequence>()));
        }
        Ok(Some(self.emitter.rules.add("member", members)))
    }
}
