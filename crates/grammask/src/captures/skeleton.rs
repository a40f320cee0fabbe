//! The skeleton of a grammar: the rules from which named parts are reachable. All other symbols are leaves.

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
    /// A symbol that is read without back pointers.
    LeafId
}

/// A symbol of the skeleton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum SkeletonSymbol {
    Leaf(LeafId),
    Rule(RuleId),
}

/// A position in an alternative of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Dot {
    pub(super) rule: RuleId,
    pub(super) alternative: u32,
    /// Number of symbols before the dot; in an unbounded repetition at most the minimum number of copies.
    pub(super) read: u32,
}

#[derive(Clone, Debug)]
enum RuleBody {
    Alternatives(Vec<Box<[SkeletonSymbol]>>),
    Repeat { unit: SkeletonSymbol, min: u32, max: Option<u32> },
}

#[derive(Clone, Debug)]
struct SkeletonRule {
    body: RuleBody,
    part: Option<PartId>,
    is_nullable: bool,
    /// The alternative by which it derives the empty text, selected so that these derivations have no cycle.
    empty_alternative: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct SkeletonLeaf {
    part: Option<PartId>,
    is_nullable: bool,
}

/// The skeleton of a grammar. See the documentation of the module.
#[derive(Clone, Debug)]
pub(super) struct Skeleton {
    rules: Vec<SkeletonRule>,
    leaves: Vec<SkeletonLeaf>,
    /// A rule whose only alternative is the start symbol.
    pub(super) start: RuleId,
    /// Whether some rule is a scope or a value, without its condition.
    pub(super) has_values: bool,
    /// For each rule its strongly connected component in the relation "can begin with".
    beginnings: Vec<usize>,
    /// For each rule its strongly connected component in the relation "can derive alone".
    units: Vec<usize>,
}

impl Skeleton {
    /// The skeleton of `productions`, in which all symbols are productive, and the symbols of its leaves.
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
        let has_parts = have_parts_below(productions, &part_of);
        let mut builder = SkeletonBuilder {
            has_parts: &has_parts,
            part_of: &part_of,
            derivability: &derivability,
            rule_ids: vec![None; productions.rules.len()],
            rules: 0,
            leaf_ids: FxHashMap::default(),
            leaf_symbols: Vec::new(),
            leaves: Vec::new(),
        };
        let order: Vec<usize> = (0..has_parts.len()).filter(|&rule| has_parts[rule]).collect();
        for &rule in &order {
            builder.rule_ids[rule] = Some(RuleId::new(builder.rules));
            builder.rules += 1;
        }
        let mut has_values = false;
        let mut rules: Vec<SkeletonRule> = Vec::with_capacity(order.len() + 1);
        for &index in &order {
            let body = match &productions.rules[index].body {
                Body::Alternatives(alternatives) => RuleBody::Alternatives(
                    alternatives
                        .iter()
                        .map(|symbols| symbols.iter().map(|&symbol| builder.symbol(symbol)).collect())
                        .collect(),
                ),
                Body::Scope(symbol) | Body::Value { symbol, .. } => {
                    has_values = true;
                    RuleBody::Alternatives(vec![Box::new([builder.symbol(*symbol)])])
                }
                // No part is reachable from a selection.
                Body::Selection { .. } => RuleBody::Alternatives(Vec::new()),
                Body::Repeat { symbol, min, max } => {
                    let min = if derivability.finite(*symbol).empty { 0 } else { *min };
                    RuleBody::Repeat { unit: builder.symbol(*symbol), min, max: *max }
                }
            };
            let symbol = Symbol::Nonterminal(grammask_grammar::NonterminalId::new(index));
            let is_nullable = derivability.finite(symbol).empty;
            rules.push(SkeletonRule { body, part: part_of[index], is_nullable, empty_alternative: None });
        }
        let start = builder.symbol(Symbol::Nonterminal(productions.start));
        let (leaves, leaf_symbols) = (builder.leaves, builder.leaf_symbols);
        let is_nullable = derivability.finite(Symbol::Nonterminal(productions.start)).empty;
        let body = RuleBody::Alternatives(vec![Box::new([start])]);
        rules.push(SkeletonRule { body, part: None, is_nullable, empty_alternative: None });
        let start = RuleId::new(rules.len() - 1);
        let (beginnings, units) = Default::default();
        let mut skeleton = Self { rules, leaves, start, has_values, beginnings, units };
        skeleton.find_empty_alternatives();
        let (beginnings, units) = skeleton.relations();
        skeleton.beginnings = strongly_connected_components(&beginnings).of_node;
        skeleton.units = strongly_connected_components(&units).of_node;
        Ok((skeleton, leaf_symbols))
    }

    /// The symbol after `dot`; `None` at the end.
    pub(super) fn next(&self, dot: Dot) -> Option<SkeletonSymbol> {
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

    /// The dot after the next symbol.
    pub(super) fn after(&self, dot: Dot) -> Dot {
        match &self.rule(dot.rule).body {
            RuleBody::Repeat { min, max: None, .. } if dot.read >= *min => dot,
            _ => Dot { read: dot.read + 1, ..dot },
        }
    }

    /// The dots at the beginning of `rule`.
    pub(super) fn first_dots(&self, rule: RuleId) -> impl Iterator<Item = Dot> + use<> {
        let count = match &self.rule(rule).body {
            RuleBody::Alternatives(alternatives) => alternatives.len(),
            RuleBody::Repeat { .. } => 1,
        };
        (0..count).map(move |alternative| Dot { rule, alternative: index_u32(alternative), read: 0 })
    }

    /// Whether the symbol after `dot` is nullable there. Copies of a repetition are not empty.
    pub(super) fn may_skip(&self, dot: Dot) -> bool {
        let is_sequence = matches!(self.rule(dot.rule).body, RuleBody::Alternatives(_));
        is_sequence && self.next(dot).is_some_and(|symbol| self.is_nullable(symbol))
    }

    /// Whether each rule can begin with the other.
    pub(super) fn begin_with_each_other(&self, one: RuleId, other: RuleId) -> bool {
        self.beginnings[one.index()] == self.beginnings[other.index()]
    }

    /// Whether each rule can derive the other alone.
    pub(super) fn derive_each_other(&self, one: RuleId, other: RuleId) -> bool {
        self.units[one.index()] == self.units[other.index()]
    }

    pub(super) fn part_of(&self, symbol: SkeletonSymbol) -> Option<PartId> {
        match symbol {
            SkeletonSymbol::Leaf(leaf) => self.leaves[leaf.index()].part,
            SkeletonSymbol::Rule(rule) => self.rule(rule).part,
        }
    }

    /// The symbols by which `rule` derives the empty text.
    pub(super) fn empty_symbols(&self, rule: RuleId) -> &[SkeletonSymbol] {
        let rule = self.rule(rule);
        match (&rule.body, rule.empty_alternative) {
            (RuleBody::Alternatives(alternatives), Some(index)) => &alternatives[index],
            _ => &[],
        }
    }

    fn rule(&self, rule: RuleId) -> &SkeletonRule {
        &self.rules[rule.index()]
    }

    fn is_nullable(&self, symbol: SkeletonSymbol) -> bool {
        match symbol {
            SkeletonSymbol::Leaf(leaf) => self.leaves[leaf.index()].is_nullable,
            SkeletonSymbol::Rule(rule) => self.rule(rule).is_nullable,
        }
    }

    /// For each rule the rules that it can begin with, and those that it can derive alone.
    fn relations(&self) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
        let mut beginnings = vec![Vec::new(); self.rules.len()];
        let mut units = vec![Vec::new(); self.rules.len()];
        for (index, rule) in self.rules.iter().enumerate() {
            let copies: [Box<[SkeletonSymbol]>; 1];
            let alternatives = match &rule.body {
                RuleBody::Alternatives(alternatives) => &alternatives[..],
                RuleBody::Repeat { unit, min, .. } => {
                    // The first copy, and one that must follow it.
                    copies = [Box::from(if *min > 1 { vec![*unit; 2] } else { vec![*unit] })];
                    &copies
                }
            };
            for symbols in alternatives {
                let needed = symbols.iter().filter(|&&symbol| !self.is_nullable(symbol)).count();
                let mut is_beginning = true;
                for &symbol in symbols {
                    let is_needed = !self.is_nullable(symbol);
                    if let SkeletonSymbol::Rule(other) = symbol {
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

    /// Selects for each nullable rule the first alternative of rules that have a selected alternative already. Rules
    /// are visited after those in their nullable alternatives, so only cyclic alternatives are skipped.
    fn find_empty_alternatives(&mut self) {
        let successors: Vec<Vec<usize>> = self.rules.iter().map(|rule| self.empty_by(rule)).collect();
        let components = strongly_connected_components(&successors);
        let mut order: Vec<usize> = (0..self.rules.len()).collect();
        order.sort_by_key(|&rule| components.of_node[rule]);
        loop {
            let mut changed = false;
            for &index in &order {
                let rule = &self.rules[index];
                let RuleBody::Alternatives(alternatives) = &rule.body else { continue };
                if !rule.is_nullable || rule.empty_alternative.is_some() {
                    continue;
                }
                let is_empty = |symbol: &SkeletonSymbol| match *symbol {
                    SkeletonSymbol::Leaf(leaf) => self.leaves[leaf.index()].is_nullable,
                    SkeletonSymbol::Rule(id) => match self.rule(id) {
                        SkeletonRule { body: RuleBody::Repeat { .. }, is_nullable, .. } => *is_nullable,
                        SkeletonRule { empty_alternative, .. } => empty_alternative.is_some(),
                    },
                };
                let selected = alternatives.iter().position(|symbols| symbols.iter().all(is_empty));
                changed |= selected.is_some();
                self.rules[index].empty_alternative = selected;
            }
            if !changed {
                return;
            }
        }
    }

    /// The rules in the nullable alternatives of a rule.
    fn empty_by(&self, rule: &SkeletonRule) -> Vec<usize> {
        let RuleBody::Alternatives(alternatives) = &rule.body else { return Vec::new() };
        let empty =
            alternatives.iter().filter(|symbols| symbols.iter().all(|&symbol| self.is_nullable(symbol)));
        let inner = empty.flatten().filter_map(|symbol| match symbol {
            SkeletonSymbol::Rule(id) => Some(id.index()),
            SkeletonSymbol::Leaf(_) => None,
        });
        inner.collect()
    }
}

/// The ids assigned so far while a skeleton is built.
struct SkeletonBuilder<'a> {
    has_parts: &'a [bool],
    part_of: &'a [Option<PartId>],
    derivability: &'a Derivability,
    rule_ids: Vec<Option<RuleId>>,
    rules: usize,
    leaf_ids: FxHashMap<Symbol, LeafId>,
    leaf_symbols: Vec<Symbol>,
    leaves: Vec<SkeletonLeaf>,
}

impl SkeletonBuilder<'_> {
    fn symbol(&mut self, symbol: Symbol) -> SkeletonSymbol {
        let mut part = None;
        if let Symbol::Nonterminal(id) = symbol {
            if let Some(rule) = self.rule_ids[id.index()].filter(|_| self.has_parts[id.index()]) {
                return SkeletonSymbol::Rule(rule);
            }
            part = self.part_of[id.index()];
        }
        let next = LeafId::new(self.leaves.len());
        SkeletonSymbol::Leaf(match self.leaf_ids.entry(symbol) {
            Entry::Occupied(id) => *id.get(),
            Entry::Vacant(new) => {
                self.leaf_symbols.push(symbol);
                self.leaves.push(SkeletonLeaf { part, is_nullable: self.derivability.finite(symbol).empty });
                *new.insert(next)
            }
        })
    }
}

/// Whether a rule is a leaf whatever it contains.
fn is_leaf(body: &Body) -> bool {
    matches!(body, Body::Selection { .. })
}

/// For each rule whether a part is reachable from it in at least one step. Rules inside selections have generated names,
/// so these are leaves.
fn have_parts_below(productions: &Productions, part_of: &[Option<PartId>]) -> Vec<bool> {
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); productions.rules.len()];
    for (index, rule) in productions.rules.iter().enumerate() {
        for symbol in rule.body.symbols().filter(|_| !is_leaf(&rule.body)) {
            if let Symbol::Nonterminal(id) = symbol {
                users[id.index()].push(index);
            }
        }
    }
    let mut has_parts = vec![false; productions.rules.len()];
    let mut pending: Vec<usize> = (0..has_parts.len()).filter(|&rule| part_of[rule].is_some()).collect();
    while let Some(rule) = pending.pop() {
        for &user in &users[rule] {
            if !std::mem::replace(&mut has_parts[user], true) {
                pending.push(user);
            }
        }
    }
    has_parts
}

/// An index as 32 bits, which suffice by `Limits::grammar_size`.
pub(super) fn index_u32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
