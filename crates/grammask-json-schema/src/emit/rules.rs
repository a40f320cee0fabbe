//! The rules that a schema becomes, before they are a grammar: what derives no finite text is dropped here.
//!
//! The recogniser allows texts that never end, where a grammar says so; JSON values are finite, so a rule counts only
//! if it derives a finite text (the least fixpoint of Bar-Hillel, Perles and Shamir's construction of reduced grammars,
//! with a worklist, linear).

use std::sync::Arc;

use rustc_hash::FxHashMap;

use grammask_automata::{TermId, Terms};
use grammask_diagnostics::Span;
use grammask_grammar::{Grammar, GrammarBuilder, NodeId, NonterminalId, PartId, Selection, Terminal};

/// A rule in [`Rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RuleId(u32);

impl RuleId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A part of an alternative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// A word of a regular language that is not empty: a number, a string, the name of a member.
    Text(TermId),
    /// The same, where it is punctuation. Marks in a row become one terminal.
    Mark(TermId),
    /// A word of a rule.
    Rule(RuleId),
    /// So many words of a rule.
    Repeat(RuleId, u32, Option<u32>),
}

/// Parts in a row.
pub(crate) type Parts = Vec<Part>;

#[derive(Debug)]
struct Rule {
    kind: &'static str,
    alternatives: Vec<Parts>,
    /// What it derives, in place of alternatives.
    chosen: Option<Chosen>,
}

/// Some of several things, with a separator between each two.
#[derive(Debug)]
struct Chosen {
    selection: Selection,
    /// The things.
    things: Vec<Parts>,
    separator: Part,
}

impl Chosen {
    /// Whether it derives something where the rules that do are these.
    fn derives(&self, productive: &[bool]) -> bool {
        self.selection.is_satisfiable_with(|thing| is_productive(&self.things[thing.index()], productive))
    }
}

/// Rules by id.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    rules: Vec<Rule>,
    size: usize,
    /// How people read the languages of marks.
    labels: FxHashMap<TermId, Box<str>>,
}

impl Rules {
    /// Says how people read a language.
    pub(crate) fn label(&mut self, term: TermId, label: impl FnOnce() -> String) {
        self.labels.entry(term).or_insert_with(|| label().into());
    }

    /// A rule without alternatives yet; `kind` becomes part of its name.
    pub(crate) fn reserve(&mut self, kind: &'static str) -> RuleId {
        self.rules.push(Rule { kind, alternatives: Vec::new(), chosen: None });
        self.size += 1;
        RuleId(u32::try_from(self.rules.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds alternatives to a rule.
    pub(crate) fn define(&mut self, rule: RuleId, alternatives: impl IntoIterator<Item = Parts>) {
        for parts in alternatives {
            self.size += parts.len() + 1;
            self.rules[rule.index()].alternatives.push(parts);
        }
    }

    /// A rule with these alternatives.
    pub(crate) fn add(
        &mut self,
        kind: &'static str,
        alternatives: impl IntoIterator<Item = Parts>,
    ) -> RuleId {
        let rule = self.reserve(kind);
        self.define(rule, alternatives);
        rule
    }

    /// A rule of some of `things`, each of which reads something, with `separator` between each two.
    pub(crate) fn select(
        &mut self,
        kind: &'static str,
        selection: Selection,
        things: Vec<Parts>,
        separator: Part,
    ) -> RuleId {
        let rule = self.reserve(kind);
        self.size += things.iter().map(|parts| parts.len() + 1).sum::<usize>();
        self.rules[rule.index()].chosen = Some(Chosen { selection, things, separator });
        rule
    }

    /// Rules, alternatives and their parts, all together.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Which rules derive a finite text.
    fn productive(&self) -> Vec<bool> {
        // How many needed rules of each alternative are not yet known to be productive, and who waits for whom.
        let mut waiting: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.rules.len()];
        let mut missing: Vec<Vec<usize>> = Vec::with_capacity(self.rules.len());
        let mut productive = vec![false; self.rules.len()];
        let mut found = Vec::new();
        for (index, rule) in self.rules.iter().enumerate() {
            let mut counts = Vec::with_capacity(rule.alternatives.len());
            for (alternative, parts) in rule.alternatives.iter().enumerate() {
                let needed = parts.iter().filter_map(|part| needed_rule(*part));
                let count = needed.map(|rule| waiting[rule.index()].push((index, alternative))).count();
                counts.push(count);
                if count == 0 && !productive[index] {
                    productive[index] = true;
                    found.push(index);
                }
            }
            missing.push(counts);
        }
        let chosen = |index: &usize| self.rules[*index].chosen.as_ref();
        let mut selections: Vec<usize> =
            (0..self.rules.len()).filter(|index| chosen(index).is_some()).collect();
        loop {
            while let Some(index) = found.pop() {
                for (rule, alternative) in std::mem::take(&mut waiting[index]) {
                    missing[rule][alternative] -= 1;
                    if missing[rule][alternative] == 0 && !productive[rule] {
                        productive[rule] = true;
                        found.push(rule);
                    }
                }
            }
            selections.retain(|index| {
                let derives = chosen(index).is_some_and(|chosen| chosen.derives(&productive));
                found.extend(derives.then_some(*index));
                !derives
            });
            if found.is_empty() {
                return productive;
            }
            found.iter().for_each(|&index| productive[index] = true);
        }
    }

    /// Whether `rule` derives a finite text.
    pub(crate) fn derives_something(&self, rule: RuleId) -> bool {
        self.productive()[rule.index()]
    }

    /// The grammar that starts with `start`; none if that derives no finite text.
    pub(crate) fn into_grammar(self, terms: Terms, start: RuleId, source: &str) -> Option<Grammar> {
        let productive = self.productive();
        if !productive[start.index()] {
            return None;
        }
        let mut builder = GrammarBuilder::with_terms(source, terms);
        let span = Span::default();
        let mut nonterminals: Vec<Option<NonterminalId>> = vec![None; self.rules.len()];
        let mut pending = vec![start];
        let name = |rule: RuleId, builder: &mut GrammarBuilder| {
            let kind = self.rules[rule.index()].kind;
            let name = if rule == start { "start".to_owned() } else { format!("{kind}{}", rule.0) };
            builder.nonterminal(&name, span)
        };
        let first = name(start, &mut builder);
        nonterminals[start.index()] = Some(first);
        let mut leaves = Leaves { rules: &self, of_text: FxHashMap::default(), of_row: FxHashMap::default() };
        while let Some(rule) = pending.pop() {
            let Some(own) = nonterminals[rule.index()] else { continue };
            let mut choices = Vec::new();
            let made = &self.rules[rule.index()];
            let separator = made.chosen.as_ref().map(|chosen| vec![chosen.separator]);
            let things = made.chosen.iter().flat_map(|chosen| &chosen.things).chain(&separator);
            for parts in made.alternatives.iter().chain(things) {
                if !is_productive(parts, &productive) {
                    continue;
                }
                let mut nodes: Vec<NodeId> = Vec::with_capacity(parts.len());
                let mut marks = Vec::new();
                for part in parts {
                    if let Part::Mark(term) = *part {
                        marks.push(term);
                        continue;
                    }
                    nodes.extend(leaves.marked(&mut builder, &mut marks));
                    let mut reference = |rule: RuleId, builder: &mut GrammarBuilder| {
                        let nonterminal = *nonterminals[rule.index()].get_or_insert_with(|| {
                            pending.push(rule);
                            name(rule, builder)
                        });
                        builder.reference(nonterminal, span)
                    };
                    match *part {
                        Part::Text(term) | Part::Mark(term) => {
                            nodes.push(leaves.terminal(&mut builder, term))
                        }
                        Part::Rule(rule) => nodes.push(reference(rule, &mut builder)),
                        Part::Repeat(rule, ..) if !productive[rule.index()] => {}
                        Part::Repeat(rule, min, max) => {
                            let node = reference(rule, &mut builder);
                            nodes.push(builder.repeat(node, min, max, span));
                        }
                    }
                }
                nodes.extend(leaves.marked(&mut builder, &mut marks));
                choices.push(builder.sequence(nodes, span));
            }
            let body = match &made.chosen {
                None => builder.choice(choices, span),
                Some(chosen) => {
                    let keeps = |thing: PartId| is_productive(&chosen.things[thing.index()], &productive);
                    let (selection, _) = chosen.selection.restricted(keeps);
                    // What comes last is the separator; a rule that derives something has things too.
                    match choices.pop() {
                        Some(separator) => builder.selection(Arc::new(selection), choices, separator, span),
                        None => builder.choice(choices, span),
                    }
                }
            };
            builder.define(own, body, span);
        }
        Some(builder.finish(first))
    }
}

/// The leaves of a grammar, each made once.
struct Leaves<'r> {
    rules: &'r Rules,
    of_text: FxHashMap<TermId, NodeId>,
    /// Leaves of rows of marks; none where they are all empty.
    of_row: FxHashMap<Box<[TermId]>, Option<NodeId>>,
}

impl Leaves<'_> {
    /// One terminal for a row of marks; none if they are all empty.
    fn marked(&mut self, builder: &mut GrammarBuilder, marks: &mut Vec<TermId>) -> Option<NodeId> {
        let leaf = match marks[..] {
            [] => None,
            _ => match self.of_row.get(&marks[..]) {
                Some(known) => *known,
                None => {
                    let made = self.make_row(builder, marks);
                    self.of_row.insert(marks[..].into(), made);
                    made
                }
            },
        };
        marks.clear();
        leaf
    }

    fn make_row(&mut self, builder: &mut GrammarBuilder, row: &[TermId]) -> Option<NodeId> {
        let term = builder.terms().concat(row);
        if term == builder.terms().epsilon() {
            return None;
        }
        if builder.terms().word(term).is_some() {
            return Some(self.terminal(builder, term));
        }
        let labels: String =
            row.iter().filter_map(|mark| self.rules.labels.get(mark)).map(|label| &**label).collect();
        Some(builder.terminal(Terminal::Regular(term), &labels, Span::default()))
    }

    fn terminal(&mut self, builder: &mut GrammarBuilder, term: TermId) -> NodeId {
        if let Some(&known) = self.of_text.get(&term) {
            return known;
        }
        let span = Span::default();
        let leaf = if let Some(word) = builder.terms().word(term) {
            builder.literal(&word, span)
        } else {
            let label = match self.rules.labels.get(&term) {
                Some(label) => label.clone().into_string(),
                None => format!("#\"{}\"", builder.terms().display(term)),
            };
            builder.terminal(Terminal::Regular(term), &label, span)
        };
        self.of_text.insert(term, leaf);
        leaf
    }
}

/// Whether all parts derive something, where the rules that do are these.
fn is_productive(parts: &[Part], productive: &[bool]) -> bool {
    !parts.iter().any(|part| needed_rule(*part).is_some_and(|rule| !productive[rule.index()]))
}

/// The rule without which `part` derives nothing.
fn needed_rule(part: Part) -> Option<RuleId> {
    match part {
        Part::Rule(rule) => Some(rule),
        Part::Repeat(rule, min, _) if min > 0 => Some(rule),
        _ => None,
    }
}
