//! Members whose conditions need too many states: those in any order, and those that depend on many others.
//!
//! `objects` makes a rule for each different rest of a formula. With n names in any order there are 2^n of them, and with
//! `dependentRequired` between many names too. Here the formula becomes a few conjunctions of conditions on single members and on
//! which of them come together (Horn clauses), each a [`Selection`], whose states the recogniser makes when texts reach
//! them. What is not of this kind is left to `objects`.

use crate::KeyOrder;
use crate::emit::layout::Punctuation;
use crate::emit::rules::{Part, Parts};
use crate::interner::Id;
use crate::members::objects::{Class, Declared};
use crate::translation::Translation;
use crate::values::formula::{Formula, falsehood, truth};
use crate::values::literals::{AboutObject, NameSet, ObjectFormula, ValueFormula};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{Clause, PartId, PartOrder, Selection};
use rustc_hash::FxHashMap;

/// So few names have one order.
const FEW_NAMES: usize = 1;
/// So few clauses make few states, in declared order.
const FEW_CLAUSES: usize = 5;
/// Most conjunctions that a formula is taken apart into.
const MOST_CASES: usize = 256;
/// Most conjunctions that are looked at on the way.
const MOST_LOOKED_AT: usize = 4096;

/// The members that an object can have.
#[derive(Clone, Copy)]
pub(crate) struct Members<'a> {
    /// Their depth.
    pub(crate) depth: u32,
    pub(crate) marks: Punctuation,
    /// Those with declared names, in order.
    pub(crate) declared: &'a [Declared],
    /// The classes of other names.
    pub(crate) classes: &'a [Class],
}

/// A condition on declared names: where all of `given` come, so do all of `then`; none of `given` can come together where
/// `then` is none.
struct Condition {
    given: Vec<Id<Box<str>>>,
    then: Option<Vec<Id<Box<str>>>>,
}

/// A member with a name that is not declared, in a set, whose value satisfies a formula: one has to come.
#[derive(Clone, Copy)]
struct Witness {
    set: Id<NameSet>,
    value: ValueFormula,
}

/// A conjunction of conditions on members.
#[derive(Default)]
struct Case {
    /// What is asked of all members with names in a set; and of single ones.
    literals: Vec<ObjectFormula>,
    conditions: Vec<Condition>,
    witness: Option<Witness>,
    least: u32,
    most: Option<u32>,
}

impl Translation<'_> {
    /// The texts of the objects with these members that satisfy `formula` too; none if that is better done, or can only be
    /// done, by a rule for each rest.
    pub(crate) fn selected_members(
        &mut self,
        members: Members<'_>,
        formula: ObjectFormula,
    ) -> Result<Option<Vec<Parts>>, LimitExceeded> {
        let is_worth_it = match self.options.key_order {
            KeyOrder::Any => members.declared.len() > FEW_NAMES,
            KeyOrder::Declared => {
                let parts = self.objects.conjuncts(formula);
                parts.len() > FEW_CLAUSES
                    && parts.into_iter().filter(|&part| self.condition(part).is_some()).count() > FEW_CLAUSES
            }
        };
        if !is_worth_it {
            return Ok(None);
        }
        let Some(cases) = self.cases(members, formula)? else { return Ok(None) };
        let mut alternatives: Vec<Parts> = Vec::new();
        for case in cases {
            self.check_limits()?;
            let Some(texts) = self.case_texts(members, &case)? else { return Ok(None) };
            for parts in texts {
                if !alternatives.contains(&parts) {
                    alternatives.push(parts);
                }
            }
        }
        Ok(Some(alternatives))
    }

    /// The conjunctions of which one holds; none if they are too many or ask for something else.
    fn cases(
        &mut self,
        members: Members<'_>,
        formula: ObjectFormula,
    ) -> Result<Option<Vec<Case>>, LimitExceeded> {
        let mut cases = Vec::new();
        let mut pending: Vec<(ObjectFormula, Option<Witness>)> = vec![(formula, None)];
        let mut looked_at = 0;
        while let Some((formula, witness)) = pending.pop() {
            looked_at += 1;
            if looked_at > MOST_LOOKED_AT || cases.len() > MOST_CASES {
                return Ok(None);
            }
            let parts = self.objects.conjuncts(formula);
            if formula == falsehood() || self.is_hopeless(members, &parts)? {
                continue;
            }
            let mut case = Case { witness, ..Case::default() };
            let mut choice = None;
            for (index, &part) in parts.iter().enumerate() {
                match *self.objects.get(part) {
                    Formula::True | Formula::Literal(AboutObject::Declares(_) | AboutObject::Relaxed) => {}
                    Formula::Literal(AboutObject::AtLeast(count)) => case.least = case.least.max(count),
                    Formula::Literal(AboutObject::AtMost(count)) => {
                        case.most = Some(case.most.map_or(count, |most| most.min(count)));
                    }
                    Formula::Literal(AboutObject::Some(..)) => choice = choice.or(Some(index)),
                    Formula::Literal(_) => case.literals.push(part),
                    _ => match self.condition(part) {
                        Some(condition) => case.conditions.push(condition),
                        None => choice = choice.or(Some(index)),
                    },
                }
            }
            let Some(index) = choice else {
                cases.push(case);
                continue;
            };
            let others = parts.iter().enumerate().filter(|&(other, _)| other != index).map(|(_, &part)| part);
            let others = self.objects.and(others.collect::<Vec<_>>());
            let mut branches = self.objects.disjuncts(parts[index]);
            if let Formula::Literal(AboutObject::Some(set, value)) = *self.objects.get(parts[index]) {
                branches.clear();
                for member in members.declared {
                    if self.set_has(set, member.name)? {
                        branches.push(self.objects.literal(AboutObject::Has(member.name, value)));
                    }
                }
                let names = self.name_sets.get(set);
                if members.classes.iter().any(|class| class.is_in(names)) {
                    // One member can be what two conditions ask for; that is left to others.
                    if witness.is_some() {
                        return Ok(None);
                    }
                    pending.push((others, Some(Witness { set, value })));
                }
            }
            // The first one comes first: alternatives keep their order.
            for branch in branches.into_iter().rev() {
                pending.push((self.objects.and([others, branch]), witness));
            }
        }
        Ok(Some(cases))
    }

    /// Whether some member has to come with a value that none is.
    fn is_hopeless(&mut self, members: Members<'_>, parts: &[ObjectFormula]) -> Result<bool, LimitExceeded> {
        let mut asked: FxHashMap<Id<Box<str>>, (Vec<ValueFormula>, bool)> = FxHashMap::default();
        for &part in parts {
            if let Formula::Literal(AboutObject::If(name, value)) = *self.objects.get(part) {
                asked.entry(name).or_default().0.push(value);
            }
            if let Formula::Literal(AboutObject::Has(name, value)) = *self.objects.get(part) {
                let (values, is_required) = asked.entry(name).or_default();
                values.push(value);
                *is_required = true;
            }
        }
        for member in members.declared {
            let Some((mut values, is_required)) = asked.remove(&member.name) else { continue };
            if !is_required && !member.required {
                continue;
            }
            values.push(member.value);
            let value = self.values.and(values);
            if value == falsehood() {
                return Ok(true);
            }
            if matches!(self.values.get(value), Formula::And(_)) {
                let shape = self.shape_of_formula(value)?;
                if self.is_plainly_empty(shape)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// A disjunction as a condition on which names come together, if it is one: "not a, or not b, or c".
    fn condition(&self, formula: ObjectFormula) -> Option<Condition> {
        let Formula::Or(parts) = self.objects.get(formula) else { return None };
        let mut condition = Condition { given: Vec::new(), then: None };
        let comes = |part: ObjectFormula| match *self.objects.get(part) {
            Formula::Literal(AboutObject::Has(name, value)) if value == truth() => Some(name),
            _ => None,
        };
        for &part in parts {
            match *self.objects.get(part) {
                Formula::Literal(AboutObject::If(name, value)) if value == falsehood() => {
                    condition.given.push(name);
                }
                _ if condition.then.is_none() => {
                    let needed =
                        self.objects.conjuncts(part).into_iter().map(comes).collect::<Option<_>>()?;
                    condition.then = Some(needed);
                }
                _ => return None,
            }
        }
        (!condition.given.is_empty()).then_some(condition)
    }

    /// The texts of the objects that satisfy one conjunction; none if there is no selection for it.
    fn case_texts(&mut self, members: Members<'_>, case: &Case) -> Result<Option<Vec<Parts>>, LimitExceeded> {
        let Members { depth, marks, declared, classes } = members;
        let place = (depth, marks.colon);
        let mut things: Vec<Parts> = Vec::new();
        let mut positions: FxHashMap<Id<Box<str>>, Option<PartId>> = FxHashMap::default();
        let mut clauses: Vec<Clause> = Vec::new();
        let never = |given| Clause { given, then: None };
        for member in declared {
            let mut asked: Vec<ValueFormula> = vec![member.value];
            let mut is_required = member.required;
            for &literal in &case.literals {
                let Formula::Literal(literal) = *self.objects.get(literal) else { continue };
                match literal {
                    AboutObject::If(name, value) if name == member.name => asked.push(value),
                    AboutObject::Has(name, value) if name == member.name => {
                        asked.push(value);
                        is_required = true;
                    }
                    AboutObject::Each(set, value) if self.set_has(set, member.name)? => asked.push(value),
                    _ => {}
                }
            }
            let value = self.values.and(asked);
            let text = self.declared_member(place, member.name, value)?;
            if is_required && text.is_none() {
                return Ok(Some(Vec::new()));
            }
            let position = text.as_ref().map(|_| PartId::new(things.len()));
            things.extend(text);
            positions.insert(member.name, position);
            if is_required {
                clauses.push(Clause { given: Box::default(), then: position });
            }
        }
        for condition in &case.conditions {
            let given: Option<Box<[PartId]>> =
                condition.given.iter().map(|name| *positions.get(name)?).collect();
            // What needs a member that cannot come always holds.
            let Some(given) = given else { continue };
            match &condition.then {
                None => clauses.push(never(given)),
                Some(names) => {
                    for name in names {
                        let then = positions.get(name).copied().flatten();
                        clauses.push(Clause { given: given.clone(), then });
                    }
                }
            }
        }
        // Members with other names ask the same of each other all the time: a conjunction without `Some` stays as it is.
        let literals = self.objects.and(case.literals.iter().copied());
        let (mut others, mut witnesses): (Vec<Parts>, Vec<Parts>) = (Vec::new(), Vec::new());
        for (value, class, _) in self.class_outcomes(classes, literals)? {
            let class = &classes[class];
            others.extend(self.other_member(place, class, value)?);
            if let Some(witness) = case.witness
                && class.is_in(self.name_sets.get(witness.set))
            {
                let value = self.values.and([value, witness.value]);
                witnesses.extend(self.other_member(place, class, value)?);
            }
        }
        let mut repeatable = Vec::new();
        if !others.is_empty() {
            let member = vec![Part::Rule(self.rules.add("member", others))];
            repeatable.push(PartId::new(things.len()));
            things.push(member.clone());
            if case.witness.is_some() {
                if witnesses.is_empty() {
                    return Ok(Some(Vec::new()));
                }
                clauses.push(Clause { given: Box::default(), then: Some(PartId::new(things.len())) });
                things.push(vec![Part::Rule(self.rules.add("member", witnesses))]);
                // In the order of the list others come behind it too.
                repeatable.push(PartId::new(things.len()));
                things.push(member);
            }
        } else if case.witness.is_some() {
            return Ok(Some(Vec::new()));
        }
        let order = match self.options.key_order {
            KeyOrder::Any => PartOrder::Any,
            KeyOrder::Declared => PartOrder::Listed,
        };
        let mut texts = Vec::new();
        if case.least == 0 && clauses.iter().all(|clause| !clause.given.is_empty()) {
            texts.push(vec![marks.object.empty]);
        }
        if case.most.is_some_and(|most| most == 0 || most < case.least) {
            return Ok(Some(texts));
        }
        let bounds = (case.least, case.most);
        let Some(selection) = Selection::new(order, things.len(), &repeatable, clauses, bounds) else {
            return Ok(None);
        };
        if selection.is_satisfiable() {
            let members = self.rules.select("members", selection, things, marks.next);
            texts.push(vec![marks.object.open, Part::Rule(members), marks.object.close]);
        }
        Ok(Some(texts))
    }
}
