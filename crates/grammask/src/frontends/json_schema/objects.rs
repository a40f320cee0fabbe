//! From a formula about objects to rules, name by name.
//!
//! As with arrays, what is left of a formula after a member is a derivative of it. The names that the schema declares come
//! first, in its order, each at most once; then all others. What the formula asks of single declared names alone
//! (most of it, in most schemas) is looked up when the name's turn comes and is no part of the state, so that an
//! object with 5,000 optional members is a row of 5,000 optional parts; the rest of the formula, *between* names, is
//! the state.

use super::KeyOrder;
use super::formula::{self, Formula, falsehood, truth};
use super::interner::Id;
use super::literals::{AboutObject, NameSet, ObjectFormula, Satisfies, ValueFormula};
use super::rules::{Part, Parts, RuleId};
use super::translation::Translation;
use crate::LimitExceeded;
use crate::automata::TermId;
use crate::grammar::quote_text;
use rustc_hash::{FxHashMap, FxHashSet};

/// What an object's members that are still to come have to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rest {
    /// What is asked beyond single names.
    formula: ObjectFormula,
    least: u32,
    most: Option<u32>,
    /// Whether there was a member already.
    started: bool,
    /// The declared names whose turn is still to come: all from this position on, with declared order.
    next: usize,
    /// With any order: those that were not yet used, as a set of bits.
    unused: u64,
}

/// What a member's value satisfies, and what the formula after it is.
type Outcome = formula::Outcome<Satisfies, AboutObject>;

/// A declared name.
#[derive(Clone, Copy, Debug)]
struct Declared {
    name: Id<Box<str>>,
    /// What the formula asks of this member alone, whatever the others are.
    value: ValueFormula,
    required: bool,
}

/// A class of the names that are not declared: those in the same patterns.
#[derive(Clone, Debug)]
struct Class {
    names: TermId,
    patterns: FxHashSet<TermId>,
}

/// The rules of one object's rests.
struct Object {
    depth: u32,
    declared: Vec<Declared>,
    classes: Vec<Class>,
    rules: FxHashMap<Rest, RuleId>,
    pending: Vec<(Rest, RuleId)>,
}

/// More classes of names than the patterns of any schema make.
const MOST_CLASSES: usize = 1024;

impl Translation<'_> {
    /// The texts of the objects that satisfy `formula`; their members have that depth.
    pub(super) fn object_alternatives(
        &mut self,
        formula: ObjectFormula,
        depth: u32,
    ) -> Result<Vec<Parts>, LimitExceeded> {
        if formula == falsehood() {
            return Ok(Vec::new());
        }
        let names = self.declared_names(formula);
        let (declared, between) = self.split_by_name(formula, &names);
        let classes = self.classes(between, &names)?;
        if self.options.key_order == KeyOrder::Any && declared.len() > 64 {
            return Err(LimitExceeded::new("grammar_size", self.limits.grammar_size));
        }
        let unused = match (self.options.key_order, declared.len()) {
            (KeyOrder::Declared, _) | (_, 0) => 0,
            (KeyOrder::Any, count) => u64::MAX >> (64 - count),
        };
        let mut object =
            Object { depth, declared, classes, rules: FxHashMap::default(), pending: Vec::new() };
        let rest = Rest { formula: between, least: 0, most: None, started: false, next: 0, unused };
        let Some(rest) = self.object_rest(rest) else { return Ok(Vec::new()) };
        let open = self.automata.terms_mut().literal(b"{");
        let mut alternatives = self.object_rule(&mut object, rest)?;
        while let Some((rest, rule)) = object.pending.pop() {
            self.check_limits()?;
            let alternatives = self.object_rule(&mut object, rest)?;
            self.rules.define(rule, alternatives);
        }
        for parts in &mut alternatives {
            parts.insert(0, Part::Mark(open));
        }
        Ok(alternatives)
    }

    /// The names that a formula mentions, in the order in which members come.
    fn declared_names(&self, formula: ObjectFormula) -> Vec<Id<Box<str>>> {
        let mut names = Vec::new();
        let mut seen = FxHashSet::default();
        let literals = self.objects.literals(formula);
        for literal in &literals {
            if let AboutObject::Declares(list) = *literal {
                names.extend(self.name_lists.get(list).iter().filter(|name| seen.insert(**name)));
            }
        }
        for literal in &literals {
            match *literal {
                AboutObject::If(name, _) | AboutObject::Has(name, _) if seen.insert(name) => names.push(name),
                _ => {}
            }
        }
        for literal in &literals {
            if let AboutObject::Each(set, _) | AboutObject::Some(set, _) = *literal
                && let NameSet::Others { names: excluded, .. } = self.name_sets.get(set)
            {
                names.extend(excluded.iter().filter(|name| seen.insert(**name)));
            }
        }
        names
    }

    /// Takes out of a conjunction what concerns one declared name each.
    fn split_by_name(
        &mut self,
        formula: ObjectFormula,
        names: &[Id<Box<str>>],
    ) -> (Vec<Declared>, ObjectFormula) {
        let mut values: FxHashMap<Id<Box<str>>, (Vec<ValueFormula>, bool)> = FxHashMap::default();
        let mut between = Vec::new();
        for part in self.objects.conjuncts(formula) {
            match *self.objects.get(part) {
                Formula::Literal(AboutObject::Declares(_)) => {}
                Formula::Literal(AboutObject::If(name, value)) => {
                    values.entry(name).or_default().0.push(value)
                }
                Formula::Literal(AboutObject::Has(name, value)) => {
                    let entry = values.entry(name).or_default();
                    entry.0.push(value);
                    entry.1 = true;
                }
                _ => between.push(part),
            }
        }
        let declared = names
            .iter()
            .map(|&name| {
                let (asked, required) = values.remove(&name).unwrap_or_default();
                Declared { name, value: self.values.and(asked), required }
            })
            .collect();
        (declared, self.objects.and(between))
    }

    /// Splits the names that are not declared by the patterns that `formula` mentions.
    fn classes(
        &mut self,
        formula: ObjectFormula,
        names: &[Id<Box<str>>],
    ) -> Result<Vec<Class>, LimitExceeded> {
        let mut patterns = Vec::new();
        for literal in self.objects.literals(formula) {
            if let AboutObject::Each(set, _) | AboutObject::Some(set, _) = literal {
                match self.name_sets.get(set) {
                    NameSet::All => {}
                    NameSet::Matching(pattern) => patterns.push(*pattern),
                    NameSet::Others { patterns: excluded, .. } => patterns.extend(excluded.iter().copied()),
                }
            }
        }
        patterns.sort_unstable();
        patterns.dedup();
        // Where no other name is allowed, nobody needs to know which ones there are.
        let nothing_else = self.objects.conjuncts(formula).into_iter().any(|part| {
            matches!(self.objects.get(part), Formula::Literal(AboutObject::Each(set, value))
            if *value == falsehood() && match self.name_sets.get(*set) {
                NameSet::All => true,
                NameSet::Others { patterns, .. } => patterns.is_empty(),
                NameSet::Matching(_) => false,
            })
        });
        if nothing_else {
            return Ok(Vec::new());
        }
        let spelled: Vec<Box<str>> = names.iter().map(|&name| self.names.get(name).clone()).collect();
        let (terms, spelling) = (self.automata.terms_mut(), &mut self.spelling);
        let declared = spelling.words(terms, spelled.iter().map(|name| &**name));
        let others =
            if names.is_empty() { self.any_string.yes } else { spelling.complement(terms, declared) };
        let mut classes = vec![Class { names: others, patterns: FxHashSet::default() }];
        for pattern in patterns {
            let terms = self.automata.terms_mut();
            let outside = self.spelling.complement(terms, pattern);
            let mut split = Vec::with_capacity(classes.len() + 1);
            for class in classes {
                let terms = self.automata.terms_mut();
                let (inner, outer) = (
                    terms.intersection(&[class.names, pattern]),
                    terms.intersection(&[class.names, outside]),
                );
                let (no_inner, no_outer) = (self.is_empty_language(inner)?, self.is_empty_language(outer)?);
                // A class that is not split keeps its own, simpler form.
                if !no_outer {
                    let names = if no_inner { class.names } else { outer };
                    split.push(Class { names, patterns: class.patterns.clone() });
                }
                if !no_inner {
                    let names = match (no_outer, class.names == self.any_string.yes) {
                        (true, _) => class.names,
                        (false, true) => pattern,
                        (false, false) => inner,
                    };
                    let mut patterns = class.patterns;
                    patterns.insert(pattern);
                    split.push(Class { names, patterns });
                }
            }
            classes = split;
            if classes.len() > MOST_CLASSES {
                return Err(LimitExceeded::new("grammar_size", self.limits.grammar_size));
            }
        }
        Ok(classes)
    }

    /// A rest with the counts of its formula taken out; none if they clash.
    fn object_rest(&mut self, rest: Rest) -> Option<Rest> {
        let mut rest = rest;
        let mut kept = Vec::new();
        let mut changed = false;
        for part in self.objects.conjuncts(rest.formula) {
            match *self.objects.get(part) {
                Formula::Literal(AboutObject::AtLeast(count)) => rest.least = rest.least.max(count),
                Formula::Literal(AboutObject::AtMost(count)) => {
                    rest.most = Some(rest.most.map_or(count, |most| most.min(count)));
                }
                Formula::Literal(AboutObject::Declares(_) | AboutObject::Relaxed) => {}
                _ => {
                    kept.push(part);
                    continue;
                }
            }
            changed = true;
        }
        if changed {
            rest.formula = self.objects.and(kept);
        }
        let possible = rest.formula != falsehood() && rest.most.is_none_or(|most| rest.least <= most);
        possible.then_some(rest)
    }

    /// The alternatives of a rest, with what closes the object.
    fn object_rule(&mut self, object: &mut Object, rest: Rest) -> Result<Vec<Parts>, LimitExceeded> {
        if self.options.key_order == KeyOrder::Any && rest.unused != 0 {
            return self.object_rule_any_order(object, rest);
        }
        let gaps = self.layout.gaps(self.automata.terms_mut(), object.depth);
        let mut alternatives = Vec::new();
        let mut parts: Parts = Vec::new();
        let mut rest = rest;
        let first = rest.next;
        loop {
            // A rest that has a rule of its own is not written down twice.
            if rest.next > first
                && let Some(&rule) = object.rules.get(&rest)
            {
                parts.push(Part::Rule(rule));
                alternatives.push(parts);
                return Ok(alternatives);
            }
            if self.options.key_order == KeyOrder::Any || rest.next == object.declared.len() {
                let ends = self.other_members(object, &rest)?;
                alternatives.extend(ends.into_iter().map(|end| parts.iter().copied().chain(end).collect()));
                return Ok(alternatives);
            }
            self.drop_idle_counts(object, &mut rest);
            let declared = object.declared[rest.next];
            let without = (!declared.required).then(|| self.object_without(rest.formula, declared.name));
            let without = without.filter(|&formula| formula != falsehood());
            let skipped = match without {
                Some(formula) => self.object_rest(Rest { formula, next: rest.next + 1, ..rest.clone() }),
                None => None,
            };
            let gap = if rest.started { gaps.next } else { gaps.first };
            let mut members = Vec::new();
            for (member, after) in self.member_outcomes(object, &rest, declared)? {
                members.push((member, Rest { next: rest.next + 1, ..after }));
            }
            match (members.len(), skipped) {
                (0, None) => return Ok(alternatives),
                (0, Some(skipped)) => rest = skipped,
                (1, None) => {
                    let (member, after) = members.remove(0);
                    parts.push(Part::Mark(gap));
                    parts.extend(member);
                    rest = after;
                }
                (1, Some(skipped)) if rest.started && members[0].1 == skipped => {
                    let (member, after) = members.remove(0);
                    let member = [Part::Mark(gap)].into_iter().chain(member).collect();
                    let member = self.rules.add("member", [member]);
                    parts.push(Part::Repeat(member, 0, Some(1)));
                    rest = after;
                }
                (_, skipped) => {
                    for (member, after) in members {
                        let mut alternative = parts.clone();
                        alternative.push(Part::Mark(gap));
                        alternative.extend(member);
                        alternative.push(Part::Rule(self.members_rule(object, after)));
                        alternatives.push(alternative);
                    }
                    match skipped {
                        None => return Ok(alternatives),
                        // What comes first decides where the commas are: the ways to begin are one flat list.
                        Some(skipped) if !rest.started => rest = skipped,
                        Some(skipped) => {
                            parts.push(Part::Rule(self.members_rule(object, skipped)));
                            alternatives.push(parts);
                            return Ok(alternatives);
                        }
                    }
                }
            }
        }
    }

    /// Any declared name that was not used yet, or another one.
    fn object_rule_any_order(
        &mut self,
        object: &mut Object,
        rest: Rest,
    ) -> Result<Vec<Parts>, LimitExceeded> {
        let gaps = self.layout.gaps(self.automata.terms_mut(), object.depth);
        let gap = if rest.started { gaps.next } else { gaps.first };
        let mut alternatives = Vec::new();
        for index in 0..object.declared.len() {
            if rest.unused >> index & 1 == 0 {
                continue;
            }
            let declared = object.declared[index];
            for (member, after) in self.member_outcomes(object, &rest, declared)? {
                let after = Rest { unused: rest.unused & !(1 << index), ..after };
                let mut alternative = vec![Part::Mark(gap)];
                alternative.extend(member);
                alternative.push(Part::Rule(self.members_rule(object, after)));
                alternatives.push(alternative);
            }
        }
        for (value, class, after) in self.class_outcomes(object, rest.formula)? {
            if rest.most == Some(0) {
                break;
            }
            let Some(member) = self.other_member(object, class, value)? else { continue };
            let after = Rest {
                formula: after,
                least: rest.least.saturating_sub(1),
                most: rest.most.map(|most| most.saturating_sub(1)),
                started: true,
                ..rest
            };
            let Some(after) = self.object_rest(after) else { continue };
            let mut alternative = vec![Part::Mark(gap)];
            alternative.extend(member);
            alternative.push(Part::Rule(self.members_rule(object, after)));
            alternatives.push(alternative);
        }
        let missing = (0..object.declared.len())
            .any(|index| rest.unused >> index & 1 == 1 && object.declared[index].required);
        let mut formula = rest.formula;
        for (index, declared) in object.declared.iter().enumerate() {
            if rest.unused >> index & 1 == 1 {
                formula = self.object_without(formula, declared.name);
            }
        }
        if !missing && rest.least == 0 && self.object_may_end(formula) {
            let brace = self.automata.terms_mut().literal(b"}");
            alternatives
                .push(vec![Part::Mark(if rest.started { gaps.end } else { gaps.empty }), Part::Mark(brace)]);
        }
        Ok(alternatives)
    }

    fn members_rule(&mut self, object: &mut Object, rest: Rest) -> RuleId {
        if let Some(&rule) = object.rules.get(&rest) {
            return rule;
        }
        let rule = self.rules.reserve("members");
        object.rules.insert(rest.clone(), rule);
        object.pending.push((rest, rule));
        rule
    }

    /// Forgets bounds on the number of members that cannot matter any more.
    fn drop_idle_counts(&mut self, object: &Object, rest: &mut Rest) {
        if rest.least == 0 && rest.most.is_none() {
            return;
        }
        let to_come = &object.declared[rest.next..];
        let count = |required: bool| to_come.iter().filter(|declared| declared.required == required).count();
        let (required, optional) = (count(true), count(false));
        if rest.least as usize <= required {
            rest.least = 0;
        }
        if object.classes.is_empty() && rest.most.is_some_and(|most| required + optional <= most as usize) {
            rest.most = None;
        }
    }

    /// The ways in which a declared member can stand here: its text, and what is left.
    fn member_outcomes(
        &mut self,
        object: &Object,
        rest: &Rest,
        declared: Declared,
    ) -> Result<Vec<(Parts, Rest)>, LimitExceeded> {
        if rest.most == Some(0) {
            return Ok(Vec::new());
        }
        let gaps = self.layout.gaps(self.automata.terms_mut(), object.depth);
        let outcomes = self.object_outcomes(rest.formula, |this, literal| match literal {
            AboutObject::If(name, _) | AboutObject::Has(name, _) => Ok(name == declared.name),
            AboutObject::Each(set, _) | AboutObject::Some(set, _) => this.set_has(set, declared.name),
            _ => Ok(false),
        })?;
        let mut members = Vec::new();
        for (value, formula) in outcomes {
            let value = self.values.and([declared.value, value]);
            let Some(value) = self.value_parts(value, object.depth)? else { continue };
            let after = Rest {
                formula,
                least: rest.least.saturating_sub(1),
                most: rest.most.map(|most| most.saturating_sub(1)),
                started: true,
                ..*rest
            };
            let Some(after) = self.object_rest(after) else { continue };
            let name = self.names.get(declared.name).clone();
            let terms = self.automata.terms_mut();
            let word = self.spelling.word(terms, &name);
            let quote = terms.literal(b"\"");
            let key = terms.concat(&[quote, word, quote, gaps.colon]);
            self.rules.label(key, || format!("{}:", quote_text(&name)));
            let mut parts = vec![Part::Mark(key)];
            parts.extend(value);
            members.push((parts, after));
        }
        Ok(members)
    }

    /// The members with names that are not declared, and the end of the object.
    fn other_members(&mut self, object: &mut Object, rest: &Rest) -> Result<Vec<Parts>, LimitExceeded> {
        let gaps = self.layout.gaps(self.automata.terms_mut(), object.depth);
        let brace = self.automata.terms_mut().literal(b"}");
        let (end, empty) =
            (vec![Part::Mark(gaps.end), Part::Mark(brace)], vec![Part::Mark(gaps.empty), Part::Mark(brace)]);
        let close = if rest.started { end.clone() } else { empty };
        let can_end = rest.least == 0 && self.object_may_end(rest.formula);
        let outcomes =
            if rest.most == Some(0) { Vec::new() } else { self.class_outcomes(object, rest.formula)? };
        let mut alternatives = Vec::new();
        if outcomes.iter().all(|&(_, _, after)| after == rest.formula) {
            // Members that change nothing about what may follow: a counted repetition.
            let mut members = Vec::new();
            for &(value, class, _) in &outcomes {
                members.extend(self.other_member(object, class, value)?);
            }
            if members.is_empty() || !self.object_may_end(rest.formula) {
                return Ok(if can_end { vec![close] } else { Vec::new() });
            }
            let following = members.iter().map(|member| {
                let mut parts = vec![Part::Mark(gaps.next)];
                parts.extend(member);
                parts
            });
            let following: Vec<Parts> = following.collect();
            let following = self.rules.add("member", following);
            let most = rest.most.map(|most| most.saturating_sub(1));
            if rest.started {
                let mut parts = vec![Part::Repeat(following, rest.least, rest.most)];
                parts.extend(end);
                return Ok(vec![parts]);
            }
            if can_end {
                alternatives.push(close);
            }
            let first = members.into_iter().map(|member| {
                let mut parts = vec![Part::Mark(gaps.first)];
                parts.extend(member);
                parts
            });
            let first: Vec<Parts> = first.collect();
            let mut parts = match &first[..] {
                [only] => only.clone(),
                _ => vec![Part::Rule(self.rules.add("member", first))],
            };
            if rest.most != Some(1) {
                parts.push(Part::Repeat(following, rest.least.saturating_sub(1), most));
            }
            parts.extend(end);
            alternatives.push(parts);
            return Ok(alternatives);
        }
        if can_end {
            alternatives.push(close);
        }
        for (value, class, formula) in outcomes {
            let Some(member) = self.other_member(object, class, value)? else { continue };
            let after = Rest {
                formula,
                least: rest.least.saturating_sub(1),
                most: rest.most.map(|most| most.saturating_sub(1)),
                started: true,
                ..*rest
            };
            let Some(after) = self.object_rest(after) else { continue };
            let mut parts = vec![Part::Mark(if rest.started { gaps.next } else { gaps.first })];
            parts.extend(member);
            parts.push(Part::Rule(self.members_rule(object, after)));
            alternatives.push(parts);
        }
        Ok(alternatives)
    }

    /// For each class of other names, what a member with such a name may satisfy and what is left then.
    fn class_outcomes(
        &mut self,
        object: &Object,
        formula: ObjectFormula,
    ) -> Result<Vec<(ValueFormula, usize, ObjectFormula)>, LimitExceeded> {
        let mut found = Vec::new();
        for (index, class) in object.classes.iter().enumerate() {
            let outcomes = self.object_outcomes(formula, |this, literal| {
                Ok(match literal {
                    AboutObject::Each(set, _) | AboutObject::Some(set, _) => match this.name_sets.get(set) {
                        NameSet::All => true,
                        NameSet::Matching(pattern) => class.patterns.contains(pattern),
                        NameSet::Others { patterns, .. } => {
                            !patterns.iter().any(|pattern| class.patterns.contains(pattern))
                        }
                    },
                    _ => false,
                })
            })?;
            found.extend(outcomes.into_iter().map(|(value, after)| (value, index, after)));
        }
        Ok(found)
    }

    /// The text of a member with a name of a class.
    fn other_member(
        &mut self,
        object: &Object,
        class: usize,
        value: ValueFormula,
    ) -> Result<Option<Parts>, LimitExceeded> {
        let Some(value) = self.value_parts(value, object.depth)? else { return Ok(None) };
        let gaps = self.layout.gaps(self.automata.terms_mut(), object.depth);
        let terms = self.automata.terms_mut();
        let quote = terms.literal(b"\"");
        let name = terms.concat(&[quote, object.classes[class].names, quote]);
        let mut parts = vec![Part::Text(name), Part::Mark(gaps.colon)];
        parts.extend(value);
        Ok(Some(parts))
    }

    /// Whether a name is in a set.
    pub(super) fn set_has(&mut self, set: Id<NameSet>, name: Id<Box<str>>) -> Result<bool, LimitExceeded> {
        if let Some(&known) = self.set_members.get(&(set, name)) {
            return Ok(known);
        }
        let has = match self.name_sets.get(set).clone() {
            NameSet::All => true,
            NameSet::Matching(pattern) => self.pattern_has(pattern, name)?,
            NameSet::Others { names, patterns } => {
                let mut outside = names.binary_search(&name).is_err();
                for pattern in patterns {
                    outside = outside && !self.pattern_has(pattern, name)?;
                }
                outside
            }
        };
        self.set_members.insert((set, name), has);
        Ok(has)
    }

    fn pattern_has(&mut self, pattern: TermId, name: Id<Box<str>>) -> Result<bool, LimitExceeded> {
        let name = self.names.get(name).clone();
        let word = self.spelling.word(self.automata.terms_mut(), &name);
        Ok(!self.never_both(pattern, word)?)
    }

    /// Whether an object may end where `formula` is what its rest has to be, counts aside.
    fn object_may_end(&self, formula: ObjectFormula) -> bool {
        use super::formula::Step;
        self.objects.fold(formula, |step| match step {
            Step::False => false,
            Step::True => true,
            Step::And(parts) => parts.into_iter().all(|part| part),
            Step::Or(parts) => parts.into_iter().any(|part| part),
            Step::Literal(literal) => match literal {
                AboutObject::Declares(_) | AboutObject::Relaxed | AboutObject::AtMost(_) => true,
                AboutObject::If(..) | AboutObject::Each(..) => true,
                AboutObject::Has(..) | AboutObject::Some(..) => false,
                AboutObject::AtLeast(count) => *count == 0,
            },
        })
    }

    /// What is left of `formula` when there will be no member `name`.
    fn object_without(&mut self, formula: ObjectFormula, name: Id<Box<str>>) -> ObjectFormula {
        let mut left: FxHashMap<ObjectFormula, ObjectFormula> = FxHashMap::default();
        for id in self.objects.below(formula) {
            let result = match self.objects.get(id).clone() {
                Formula::And(parts) => self.objects.and(parts.iter().map(|part| left[part])),
                Formula::Or(parts) => self.objects.or(parts.iter().map(|part| left[part])),
                Formula::Literal(AboutObject::If(absent, _)) if absent == name => truth(),
                Formula::Literal(AboutObject::Has(absent, _)) if absent == name => falsehood(),
                _ => id,
            };
            left.insert(id, result);
        }
        left[&formula]
    }

    /// The linear form of `formula` for a member with a name of which `concerns` says to which literals it matters.
    fn object_outcomes(
        &mut self,
        formula: ObjectFormula,
        concerns: impl Fn(&mut Self, AboutObject) -> Result<bool, LimitExceeded>,
    ) -> Result<Vec<Outcome>, LimitExceeded> {
        if formula == truth() {
            return Ok(vec![(truth(), truth())]);
        }
        self.linear_form(formula, |this, id, literal| {
            let concerned = concerns(this, literal)?;
            Ok(match literal {
                AboutObject::If(_, value) | AboutObject::Has(_, value) if concerned => vec![(value, truth())],
                AboutObject::Each(_, value) if concerned => vec![(value, id)],
                AboutObject::Some(_, value) if concerned => vec![(value, truth()), (truth(), id)],
                AboutObject::AtLeast(0 | 1) => vec![(truth(), truth())],
                AboutObject::AtLeast(count) => {
                    vec![(truth(), this.objects.literal(AboutObject::AtLeast(count - 1)))]
                }
                AboutObject::AtMost(0) => Vec::new(),
                AboutObject::AtMost(count) => {
                    vec![(truth(), this.objects.literal(AboutObject::AtMost(count - 1)))]
                }
                _ => vec![(truth(), id)],
            })
        })
    }
}
