//! From a formula about objects to rules, name by name.
//!
//! As with arrays, what is left of a formula after a member is a derivative of it. The names that the schema declares come
//! first, in its order, each at most once; then all others. What the formula asks of single declared names alone
//! (most of it, in most schemas) is looked up when the name's turn comes and is no part of the state, so that an
//! object with 5,000 optional members is a row of 5,000 optional parts; the rest of the formula, *between* names, is
//! the state.

use crate::KeyOrder;
use crate::emit::layout::Punctuation;
use crate::emit::rules::{Part, Parts, RuleId};
use crate::interner::Id;
use crate::members::selections::Members;
use crate::translation::Translation;
use crate::values::formula::{self, Formula, falsehood, truth};
use crate::values::literals::{AboutObject, NameSet, ObjectFormula, Satisfies, ValueFormula};
use grammask_automata::TermId;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::quote_text;
use rustc_hash::{FxHashMap, FxHashSet};

/// What an object's members that are still to come have to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rest {
    /// What is asked beyond single names.
    formula: ObjectFormula,
    least: u32,
    most: Option<u32>,
    /// The declared names whose turn is still to come: all from this position on, with declared order.
    next: usize,
    /// With any order: those that were not yet used, as a set of bits.
    unused: u64,
}

/// What a member's value satisfies, and what the formula after it is.
type Outcome = formula::Outcome<Satisfies, AboutObject>;

/// A declared name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared {
    pub(crate) name: Id<Box<str>>,
    /// What the formula asks of this member alone, whatever the others are.
    pub(crate) value: ValueFormula,
    pub(crate) required: bool,
}

/// A class of the names that are not declared: those in the same patterns.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    names: TermId,
    patterns: FxHashSet<TermId>,
}

impl Class {
    /// Whether its names are in a set; all of them are, or none.
    pub(crate) fn is_in(&self, set: &NameSet) -> bool {
        match set {
            NameSet::All => true,
            NameSet::Matching(pattern) => self.patterns.contains(pattern),
            NameSet::Others { patterns, .. } => {
                !patterns.iter().any(|pattern| self.patterns.contains(pattern))
            }
        }
    }
}

/// What a rule derives of a rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stretch {
    /// At least one member, and the end.
    Members,
    /// What comes behind a member: a comma and members, or the end.
    More,
}

/// The rules of one object's rests.
struct Object {
    depth: u32,
    marks: Punctuation,
    declared: Vec<Declared>,
    /// How many names are required from each declared one on; and none behind all.
    required_from: Vec<u32>,
    classes: Vec<Class>,
    rules: FxHashMap<(Rest, Stretch), RuleId>,
    pending: Vec<(Rest, Stretch, RuleId)>,
}

impl Object {
    /// Whether all declared names had their turn.
    fn is_behind_declared(&self, rest: &Rest) -> bool {
        rest.next == self.declared.len() && rest.unused == 0
    }

    /// Whether there are names for a member to come.
    fn can_go_on(&self, rest: &Rest) -> bool {
        rest.most != Some(0) && (!self.classes.is_empty() || !self.is_behind_declared(rest))
    }

    /// Forgets bounds on the number of members that cannot matter any more. For declared order.
    fn drop_idle_counts(&self, rest: &mut Rest) {
        if rest.least <= self.required_from[rest.next] {
            rest.least = 0;
        }
        let to_come = self.declared.len() - rest.next;
        if self.classes.is_empty() && rest.most.is_some_and(|most| to_come <= most as usize) {
            rest.most = None;
        }
    }
}

/// More classes of names than the patterns of any schema make.
const MOST_CLASSES: usize = 1024;

impl Translation<'_> {
    /// The texts of the objects that satisfy `formula`; their members have that depth.
    pub(crate) fn object_alternatives(
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
        let marks = self.punctuation(depth);
        let parts = Members { depth, marks, declared: &declared, classes: &classes };
        if let Some(alternatives) = self.selected_members(parts, between)? {
            return Ok(alternatives);
        }
        if self.options.key_order == KeyOrder::Any && declared.len() > 64 {
            return Err(LimitExceeded::new("grammar_size", self.limits.grammar_size));
        }
        let unused = match (self.options.key_order, declared.len()) {
            (KeyOrder::Declared, _) | (_, 0) => 0,
            (KeyOrder::Any, count) => u64::MAX >> (64 - count),
        };
        let mut required_from = vec![0; declared.len() + 1];
        for (index, declared) in declared.iter().enumerate().rev() {
            required_from[index] = required_from[index + 1] + u32::from(declared.required);
        }
        let next = match self.options.key_order {
            KeyOrder::Declared => 0,
            KeyOrder::Any => declared.len(),
        };
        let (rules, pending) = (FxHashMap::default(), Vec::new());
        let mut object = Object { depth, marks, declared, required_from, classes, rules, pending };
        let rest = Rest { formula: between, least: 0, most: None, next, unused };
        let Some(rest) = self.object_rest(rest) else { return Ok(Vec::new()) };
        let mut alternatives = Vec::new();
        if self.object_can_end(&object, &rest) {
            alternatives.push(vec![marks.object.empty]);
        }
        if object.can_go_on(&rest) {
            self.add_members(&mut object, rest, vec![marks.object.open], &mut alternatives)?;
        }
        while let Some((rest, stretch, rule)) = object.pending.pop() {
            self.check_limits()?;
            let mut alternatives = Vec::new();
            match stretch {
                Stretch::Members => self.add_members(&mut object, rest, Vec::new(), &mut alternatives)?,
                Stretch::More => self.add_more(&mut object, rest, &mut alternatives)?,
            }
            self.rules.define(rule, alternatives);
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

    /// Whether the object can end here.
    fn object_can_end(&mut self, object: &Object, rest: &Rest) -> bool {
        let missing = match self.options.key_order {
            KeyOrder::Declared => object.required_from[rest.next] > 0,
            KeyOrder::Any => (0..object.declared.len())
                .any(|index| rest.unused >> index & 1 == 1 && object.declared[index].required),
        };
        // What is asked of names that do not come is settled by `object_may_end`.
        !missing && rest.least == 0 && self.object_may_end(rest.formula)
    }

    /// Adds to `alternatives` those of what comes behind a member.
    fn add_more(
        &mut self,
        object: &mut Object,
        rest: Rest,
        alternatives: &mut Vec<Parts>,
    ) -> Result<(), LimitExceeded> {
        let Punctuation { object: brackets, next, .. } = object.marks;
        if object.is_behind_declared(&rest)
            && (rest.least > 0 || rest.most.is_some())
            && let Some(following) = self.repeated_member(object, &rest)?
        {
            if self.object_may_end(rest.formula) {
                alternatives.push(vec![Part::Repeat(following, rest.least, rest.most), brackets.close]);
            }
            return Ok(());
        }
        if self.object_can_end(object, &rest) {
            alternatives.push(vec![brackets.close]);
        }
        if object.can_go_on(&rest) {
            let members = self.stretch_rule(object, rest, Stretch::Members);
            alternatives.push(vec![next, Part::Rule(members)]);
        }
        Ok(())
    }

    /// Adds to `alternatives` those of at least one member, each behind `parts`.
    fn add_members(
        &mut self,
        object: &mut Object,
        rest: Rest,
        parts: Parts,
        alternatives: &mut Vec<Parts>,
    ) -> Result<(), LimitExceeded> {
        if self.options.key_order == KeyOrder::Any {
            return self.add_members_in_any_order(object, &rest, &parts, alternatives);
        }
        let (mut rest, mut parts) = (rest, parts);
        loop {
            // Required names are written down in a row; whatever else comes behind something is a rule of its own.
            let is_required = object.declared.get(rest.next).is_some_and(|declared| declared.required);
            if !parts.is_empty() && !is_required {
                parts.push(Part::Rule(self.stretch_rule(object, rest, Stretch::Members)));
                alternatives.push(parts);
                return Ok(());
            }
            if rest.next == object.declared.len() {
                return self.add_other_members(object, &rest, &parts, alternatives);
            }
            let declared = object.declared[rest.next];
            let without = (!declared.required).then(|| self.object_without(rest.formula, declared.name));
            let skipped = match without.filter(|&formula| formula != falsehood()) {
                Some(formula) => self.object_rest(Rest { formula, next: rest.next + 1, ..rest.clone() }),
                None => None,
            };
            let skipped = skipped.filter(|skipped| object.can_go_on(skipped));
            let mut members = self.member_outcomes(object, &rest, declared)?;
            for (_, after) in &mut members {
                after.next = rest.next + 1;
            }
            match (&mut members[..], skipped) {
                ([], None) => return Ok(()),
                ([], Some(skipped)) => rest = skipped,
                ([(member, after)], None) if !self.object_can_end(object, after) => {
                    if !object.can_go_on(after) {
                        return Ok(());
                    }
                    parts.append(member);
                    parts.push(object.marks.next);
                    rest = after.clone();
                }
                (_, skipped) => {
                    for (member, after) in members {
                        let parts = parts.iter().copied().chain(member).collect();
                        self.follow(object, after, parts, alternatives);
                    }
                    if let Some(skipped) = skipped {
                        parts.push(Part::Rule(self.stretch_rule(object, skipped, Stretch::Members)));
                        alternatives.push(parts);
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Any declared name that was not used yet, or another one.
    fn add_members_in_any_order(
        &mut self,
        object: &mut Object,
        rest: &Rest,
        parts: &Parts,
        alternatives: &mut Vec<Parts>,
    ) -> Result<(), LimitExceeded> {
        for index in 0..object.declared.len() {
            if rest.unused >> index & 1 == 0 {
                continue;
            }
            let declared = object.declared[index];
            for (member, after) in self.member_outcomes(object, rest, declared)? {
                let after = Rest { unused: rest.unused & !(1 << index), ..after };
                let parts = parts.iter().copied().chain(member).collect();
                self.follow(object, after, parts, alternatives);
            }
        }
        self.add_other_members(object, rest, parts, alternatives)
    }

    /// Adds the alternative that begins with `parts`, which end with a member, and goes on with `rest`, if that can be.
    fn follow(&mut self, object: &mut Object, rest: Rest, mut parts: Parts, alternatives: &mut Vec<Parts>) {
        match (object.can_go_on(&rest), self.object_can_end(object, &rest)) {
            (false, false) => return,
            (false, true) => parts.push(object.marks.object.close),
            (true, false) if rest.least <= 1 => {
                let members = self.stretch_rule(object, rest, Stretch::Members);
                parts.extend([object.marks.next, Part::Rule(members)]);
            }
            (true, _) => parts.push(Part::Rule(self.stretch_rule(object, rest, Stretch::More))),
        }
        alternatives.push(parts);
    }

    fn stretch_rule(&mut self, object: &mut Object, rest: Rest, stretch: Stretch) -> RuleId {
        let mut rest = rest;
        if self.options.key_order == KeyOrder::Declared {
            object.drop_idle_counts(&mut rest);
        }
        let key = (rest, stretch);
        if let Some(&rule) = object.rules.get(&key) {
            return rule;
        }
        let rule = self.rules.reserve(match stretch {
            Stretch::Members => "members",
            Stretch::More => "more",
        });
        object.pending.push((key.0.clone(), stretch, rule));
        object.rules.insert(key, rule);
        rule
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
        let outcomes = self.object_outcomes(rest.formula, |this, literal| match literal {
            AboutObject::If(name, _) | AboutObject::Has(name, _) => Ok(name == declared.name),
            AboutObject::Each(set, _) | AboutObject::Some(set, _) => this.set_has(set, declared.name),
            _ => Ok(false),
        })?;
        let mut members = Vec::new();
        for (value, formula) in outcomes {
            let value = self.values.and([declared.value, value]);
            let place = (object.depth, object.marks.colon);
            let Some(parts) = self.declared_member(place, declared.name, value)? else { continue };
            let after = Rest {
                formula,
                least: rest.least.saturating_sub(1),
                most: rest.most.map(|most| most.saturating_sub(1)),
                ..*rest
            };
            let Some(after) = self.object_rest(after) else { continue };
            members.push((parts, after));
        }
        Ok(members)
    }

    /// The text of a member with a declared name.
    pub(crate) fn declared_member(
        &mut self,
        (depth, colon): (u32, Part),
        name: Id<Box<str>>,
        value: ValueFormula,
    ) -> Result<Option<Parts>, LimitExceeded> {
        let Some(value) = self.value_parts(value, depth)? else { return Ok(None) };
        let name = self.names.get(name).clone();
        let word = self.spelling.word(self.automata.terms_mut(), &name);
        let Some(word) = self.written(word)? else { return Ok(None) };
        let terms = self.automata.terms_mut();
        let quote = terms.literal(b"\"");
        let key = terms.concat(&[quote, word, quote]);
        self.rules.label(key, || quote_text(&name));
        let mut parts = vec![Part::Mark(key), colon];
        parts.extend(value);
        Ok(Some(parts))
    }

    /// Adds to `alternatives` those of at least one member, the first with a name that is not declared, each behind `parts`.
    fn add_other_members(
        &mut self,
        object: &mut Object,
        rest: &Rest,
        parts: &Parts,
        alternatives: &mut Vec<Parts>,
    ) -> Result<(), LimitExceeded> {
        if rest.most == Some(0) {
            return Ok(());
        }
        if object.is_behind_declared(rest)
            && (rest.least > 1 || rest.most.is_some())
            && let Some(following) = self.repeated_member(object, rest)?
        {
            if !self.object_may_end(rest.formula) {
                return Ok(());
            }
            for (value, class, _) in self.class_outcomes(&object.classes, rest.formula)? {
                let Some(member) =
                    self.other_member((object.depth, object.marks.colon), &object.classes[class], value)?
                else {
                    continue;
                };
                let mut row: Parts = parts.iter().copied().chain(member).collect();
                if rest.most != Some(1) {
                    let most = rest.most.map(|most| most.saturating_sub(1));
                    row.push(Part::Repeat(following, rest.least.saturating_sub(1), most));
                }
                row.push(object.marks.object.close);
                alternatives.push(row);
            }
            return Ok(());
        }
        for (value, class, formula) in self.class_outcomes(&object.classes, rest.formula)? {
            let Some(member) =
                self.other_member((object.depth, object.marks.colon), &object.classes[class], value)?
            else {
                continue;
            };
            let after = Rest {
                formula,
                least: rest.least.saturating_sub(1),
                most: rest.most.map(|most| most.saturating_sub(1)),
                ..*rest
            };
            let Some(after) = self.object_rest(after) else { continue };
            self.follow(object, after, parts.iter().copied().chain(member).collect(), alternatives);
        }
        Ok(())
    }

    /// A comma and a member with a name that is not declared, if such members change nothing about what may follow, so
    /// that they can be counted.
    fn repeated_member(&mut self, object: &Object, rest: &Rest) -> Result<Option<RuleId>, LimitExceeded> {
        let outcomes = self.class_outcomes(&object.classes, rest.formula)?;
        if outcomes.iter().any(|&(_, _, after)| after != rest.formula) {
            return Ok(None);
        }
        let mut members = Vec::new();
        for (value, class, _) in outcomes {
            let member =
                self.other_member((object.depth, object.marks.colon), &object.classes[class], value)?;
            members.extend(
                member.map(|member| [object.marks.next].into_iter().chain(member).collect::<Parts>()),
            );
        }
        Ok(Some(self.rules.add("member", members)))
    }

    /// For each class of other names, what a member with such a name may satisfy and what is left then.
    pub(crate) fn class_outcomes(
        &mut self,
        classes: &[Class],
        formula: ObjectFormula,
    ) -> Result<Vec<(ValueFormula, usize, ObjectFormula)>, LimitExceeded> {
        let mut found = Vec::new();
        for (index, class) in classes.iter().enumerate() {
            let outcomes = self.object_outcomes(formula, |this, literal| {
                Ok(match literal {
                    AboutObject::Each(set, _) | AboutObject::Some(set, _) => {
                        class.is_in(this.name_sets.get(set))
                    }
                    _ => false,
                })
            })?;
            found.extend(outcomes.into_iter().map(|(value, after)| (value, index, after)));
        }
        Ok(found)
    }

    /// The text of a member with a name of a class.
    pub(crate) fn other_member(
        &mut self,
        (depth, colon): (u32, Part),
        class: &Class,
        value: ValueFormula,
    ) -> Result<Option<Parts>, LimitExceeded> {
        let Some(value) = self.value_parts(value, depth)? else { return Ok(None) };
        let Some(names) = self.written(class.names)? else { return Ok(None) };
        let terms = self.automata.terms_mut();
        let quote = terms.literal(b"\"");
        let name = terms.concat(&[quote, names, quote]);
        let mut parts = vec![Part::Text(name), colon];
        parts.extend(value);
        Ok(Some(parts))
    }

    /// Whether a name is in a set.
    pub(crate) fn set_has(&mut self, set: Id<NameSet>, name: Id<Box<str>>) -> Result<bool, LimitExceeded> {
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
        use crate::values::formula::Step;
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
        match *self.objects.get(formula) {
            Formula::Literal(AboutObject::If(absent, _)) if absent == name => return truth(),
            Formula::Literal(AboutObject::Has(absent, _)) if absent == name => return falsehood(),
            Formula::True | Formula::False | Formula::Literal(_) => return formula,
            Formula::And(_) | Formula::Or(_) => {}
        }
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
        // Most members concern nothing but what is known of their names.
        if let Formula::Literal(literal) = *self.objects.get(formula)
            && !matches!(literal, AboutObject::AtLeast(_) | AboutObject::AtMost(_))
            && !concerns(self, literal)?
        {
            return Ok(vec![(truth(), formula)]);
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
