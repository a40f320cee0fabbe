//! The skeleton: the rules through which named parts can be reached; all else is leaves.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use grammask_collections::graph::strongly_connected_components;
use grammask_collections::id_type;
use grammask_diagnostics::LimitExceeded;
use grammask_earley::lowering::{Body, Derivability, Productions, Symbol};

id_type! {
    /// A named part, by its position in the list of names.
    PartId
}
id_type! {
    /// A rule of the skeleton.
    RuleId
}
id_type! {
    /// A symbol that is read as a whole.
    LeafId
}

/// What stands after a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Step {
    Leaf(LeafId),
    Rule(RuleId),
}

/// A place in a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Dot {
    pub(super) rule: RuleId,
    pub(super) alternative: u32,
    /// How many steps are before it; of a repetition without a bound, no more than the fewest copies.
    pub(super) read: u32,
}

#[derive(Clone, Debug)]
enum RuleBody {
    Alternatives(Vec<Box<[Step]>>),
    Repeat { unit: Step, min: u32, max: Option<u32> },
}

#[derive(Clone, Debug)]
struct Rule {
    body: RuleBody,
    part: Option<PartId>,
    is_nullable: bool,
    /// The alternative by which it derives the empty text, such that no rule comes back to itself.
    empty_alternative: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Leaf {
    part: Option<PartId>,
    is_nullable: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Skeleton {
    rules: Vec<Rule>,
    leaves: Vec<Leaf>,
    /// A rule that stands for whole texts.
    pub(super) start: RuleId,
    /// For each rule its component in "begins with".
    beginnings: Vec<usize>,
    /// For each rule its component in "can be nothing but".
    units: Vec<usize>,
}

impl Skeleton {
    /// The skeleton of `productions`, in which all symbols derive something, and the symbols of its leaves.
    pub(super) fn new(
        productions: &mut Productions,
        names: &[&str],
    ) -> Result<(Self, Vec<Symbol>), LimitExceeded> {
        let derivability = Derivability::of(productions)?;
        let numbers: FxHashMap<&str, usize> =
            names.iter().enumerate().map(|(index, &name)| (name, index)).collect();
        let part_of: Vec<Option<PartId>> = productions
            .rules
            .iter()
            .map(|rule| numbers.get(&*rule.name).map(|&index| PartId::new(index)))
            .collect();
        let leads = leads_to_parts(productions, &part_of);
        let mut building = Building {
            leads: &leads,
            part_of: &part_of,
            derivability: &derivability,
            rule_ids: vec![None; productions.rules.len()],
            rules: 0,
            leaf_ids: FxHashMap::default(),
            leaf_symbols: Vec::new(),
            leaves: Vec::new(),
        };
        let order: Vec<usize> = (0..leads.len()).filter(|&rule| leads[rule]).collect();
        for &rule in &order {
            building.rule_ids[rule] = Some(RuleId::new(building.rules));
            building.rules += 1;
        }
        let mut rules: Vec<Rule> = Vec::with_capacity(order.len() + 1);
        for &index in &order {
            let body = match &productions.rules[index].body {
                Body::Alternatives(alternatives) => RuleBody::Alternatives(
                    alternatives
                        .iter()
                        .map(|symbols| symbols.iter().map(|&symbol| building.step(symbol)).collect())
                        .collect(),
                ),
                // A selection leads to no parts.
                Body::Selection { .. } => RuleBody::Alternatives(Vec::new()),
                Body::Repeat { symbol, min, max } => {
                    let min = if derivability.finite(*symbol).empty { 0 } else { *min };
                    RuleBody::Repeat { unit: building.step(*symbol), min, max: *max }
                }
            };
            let symbol = Symbol::Nonterminal(grammask_grammar::NonterminalId::new(index));
            let is_nullable = derivability.finite(symbol).empty;
            rules.push(Rule { body, part: part_of[index], is_nullable, empty_alternative: None });
        }
        let start = building.step(Symbol::Nonterminal(productions.start));
        let (leaves, leaf_symbols) = (building.leaves, building.leaf_symbols);
        let is_nullable = derivability.finite(Symbol::Nonterminal(productions.start)).empty;
        let body = RuleBody::Alternatives(vec![Box::new([start])]);
        rules.push(Rule { body, part: None, is_nullable, empty_alternative: None });
        let start = RuleId::new(rules.len() - 1);
        let mut skeleton = Self { rules, leaves, start, beginnings: Vec::new(), units: Vec::new() };
        skeleton.find_empty_alternatives();
        let (beginnings, units) = skeleton.relations();
        skeleton.beginnings = strongly_connected_components(&beginnings).of_node;
        skeleton.units = strongly_connected_components(&units).of_node;
        Ok((skeleton, leaf_symbols))
    }

    /// What stands after `dot`; `None` at the end.
    pub(super) fn next(&self, dot: Dot) -> Option<Step> {
        match &self.rule(dot.rule).body {
            RuleBody::Alternatives(alternatives) => {
                alternatives[dot.alternative as usize].get(dot.read as usize).copied()
            }
            RuleBody::Repeat { unit, max, .. } => max.is_none_or(|max| dot.read < max).then_some(*unit),
        }
    }

    /// Whether the rule may end at `dot`.
    pub(super) fn ends(&self, dot: Dot) -> bool {
        match &self.rule(dot.rule).body {
            RuleBody::Alternatives(alternatives) => {
                alternatives[dot.alternative as usize].len() == dot.read as usize
            }
            RuleBody::Repeat { min, .. } => dot.read >= *min,
        }
    }

    /// The dot behind what stands after `dot`.
    pub(super) fn after(&self, dot: Dot) -> Dot {
        match &self.rule(dot.rule).body {
            RuleBody::Repeat { min, max: None, .. } if dot.read >= *min => dot,
            _ => Dot { read: dot.read + 1, ..dot },
        }
    }

    /// The dots at which `rule` begins.
    pub(super) fn first_dots(&self, rule: RuleId) -> impl Iterator<Item = Dot> + use<> {
        let count = match &self.rule(rule).body {
            RuleBody::Alternatives(alternatives) => alternatives.len(),
            RuleBody::Repeat { .. } => 1,
        };
        (0..count).map(move |alternative| Dot { rule, alternative: index_u32(alternative), read: 0 })
    }

    /// Whether what stands after `dot` may be left out there. Copies of a repetition are not empty.
    pub(super) fn may_skip(&self, dot: Dot) -> bool {
        let is_sequence = matches!(self.rule(dot.rule).body, RuleBody::Alternatives(_));
        is_sequence && self.next(dot).is_some_and(|step| self.is_nullable(step))
    }

    /// Whether each of the rules can begin with the other.
    pub(super) fn begin_with_each_other(&self, one: RuleId, other: RuleId) -> bool {
        self.beginnings[one.index()] == self.beginnings[other.index()]
    }

    /// Whether each of the rules can stand for the other alone.
    pub(super) fn stand_for_each_other(&self, one: RuleId, other: RuleId) -> bool {
        self.units[one.index()] == self.units[other.index()]
    }

    pub(super) fn part_of(&self, step: Step) -> Option<PartId> {
        match step {
            Step::Leaf(leaf) => self.leaves[leaf.index()].part,
            Step::Rule(rule) => self.rule(rule).part,
        }
    }

    /// The steps by which `rule` derives the empty text.
    pub(super) fn empty_steps(&self, rule: RuleId) -> &[Step] {
        let rule = self.rule(rule);
        match (&rule.body, rule.empty_alternative) {
            (RuleBody::Alternatives(alternatives), Some(index)) => &alternatives[index],
            _ => &[],
        }
    }

    fn rule(&self, rule: RuleId) -> &Rule {
        &self.rules[rule.index()]
    }

    fn is_nullable(&self, step: Step) -> bool {
        match step {
            Step::Leaf(leaf) => self.leaves[leaf.index()].is_nullable,
            Step::Rule(rule) => self.rule(rule).is_nullable,
        }
    }

    /// For each rule the rules that it can begin with, and those that it can be nothing but.
    fn relations(&self) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
        let mut beginnings = vec![Vec::new(); self.rules.len()];
        let mut units = vec![Vec::new(); self.rules.len()];
        for (index, rule) in self.rules.iter().enumerate() {
            let copies: [Box<[Step]>; 1];
            let alternatives = match &rule.body {
                RuleBody::Alternatives(alternatives) => &alternatives[..],
                RuleBody::Repeat { unit, min, .. } => {
                    // One copy, and one that has to follow.
                    copies = [Box::from(if *min > 1 { vec![*unit; 2] } else { vec![*unit] })];
                    &copies
                }
            };
            for steps in alternatives {
                let needed = steps.iter().filter(|&&step| !self.is_nullable(step)).count();
                let mut is_beginning = true;
                for &step in steps {
                    let is_needed = !self.is_nullable(step);
                    if let Step::Rule(other) = step {
                        if is_beginning {
                            beginnings[index].push(other.index());
                        }
                        if needed == usize::from(is_needed) {
                            units[index].push(other.index());
                        }
                    }
                    is_beginning &= !is_needed;
                }
            }
        }
        (beginnings, units)
    }

    /// Chooses for each nullable rule the first alternative all of whose rules were chosen for before. Rules come behind
    /// those that they can be empty by, so only what can be empty by itself is passed over.
    fn find_empty_alternatives(&mut self) {
        let successors: Vec<Vec<usize>> = self.rules.iter().map(|rule| self.empty_by(rule)).collect();
        let components = strongly_connected_components(&successors);
        let mut order: Vec<usize> = (0..self.rules.len()).collect();
        order.sort_by_key(|&rule| components.of_node[rule]);
        loop {
            let mut found = false;
            for &index in &order {
                let rule = &self.rules[index];
                let RuleBody::Alternatives(alternatives) = &rule.body else { continue };
                if !rule.is_nullable || rule.empty_alternative.is_some() {
                    continue;
                }
                let is_empty = |step: &Step| match *step {
                    Step::Leaf(leaf) => self.leaves[leaf.index()].is_nullable,
                    Step::Rule(id) => match self.rule(id) {
                        Rule { body: RuleBody::Repeat { .. }, is_nullable, .. } => *is_nullable,
                        Rule { empty_alternative, .. } => empty_alternative.is_some(),
                    },
                };
                let chosen = alternatives.iter().position(|steps| steps.iter().all(is_empty));
                found |= chosen.is_some();
                self.rules[index].empty_alternative = chosen;
            }
            if !found {
                return;
            }
        }
    }

    /// The rules in the alternatives by which a rule can be empty.
    fn empty_by(&self, rule: &Rule) -> Vec<usize> {
        let RuleBody::Alternatives(alternatives) = &rule.body else { return Vec::new() };
        let empty = alternatives.iter().filter(|steps| steps.iter().all(|&step| self.is_nullable(step)));
        let inner = empty.flatten().filter_map(|step| match step {
            Step::Rule(id) => Some(id.index()),
            Step::Leaf(_) => None,
        });
        inner.collect()
    }
}

/// Ids that are given out while the skeleton is made.
struct Building<'a> {
    leads: &'a [bool],
    part_of: &'a [Option<PartId>],
    derivability: &'a Derivability,
    rule_ids: Vec<Option<RuleId>>,
    rules: usize,
    leaf_ids: FxHashMap<Symbol, LeafId>,
    leaf_symbols: Vec<Symbol>,
    leaves: Vec<Leaf>,
}

impl Building<'_> {
    fn step(&mut self, symbol: Symbol) -> Step {
        let mut part = None;
        if let Symbol::Nonterminal(id) = symbol {
            if let Some(rule) = self.rule_ids[id.index()].filter(|_| self.leads[id.index()]) {
                return Step::Rule(rule);
            }
            part = self.part_of[id.index()];
        }
        let next = LeafId::new(self.leaves.len());
        Step::Leaf(match self.leaf_ids.entry(symbol) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.leaf_symbols.push(symbol);
                self.leaves.push(Leaf { part, is_nullable: self.derivability.finite(symbol).empty });
                *new.insert(next)
            }
        })
    }
}

/// For each rule whether a part stands somewhere below it; not whether it is one. What selections are made of has names
/// that no user wrote, so these are leaves.
fn leads_to_parts(productions: &Productions, part_of: &[Option<PartId>]) -> Vec<bool> {
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); productions.rules.len()];
    for (index, rule) in productions.rules.iter().enumerate() {
        for symbol in rule.body.symbols().filter(|_| !matches!(rule.body, Body::Selection { .. })) {
            if let Symbol::Nonterminal(id) = symbol {
                users[id.index()].push(index);
            }
        }
    }
    let mut leads = vec![false; productions.rules.len()];
    let mut pending: Vec<usize> = (0..leads.len()).filter(|&rule| part_of[rule].is_some()).collect();
    while let Some(rule) = pending.pop() {
        for &user in &users[rule] {
            if !std::mem::replace(&mut leads[user], true) {
                pending.push(user);
            }
        }
    }
    leads
}

/// An index as 32 bits; grammars are smaller than that by `Limits::grammar_size`.
pub(super) fn index_u32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
