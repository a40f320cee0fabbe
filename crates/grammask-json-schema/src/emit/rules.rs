//! The rules of a schema, before they become a grammar without unproductive rules.
//!
//! A grammar may derive infinite texts, and the recogniser accepts their prefixes. JSON values are finite, so only
//! rules that derive a finite text are kept: the productive ones, computed as a least fixpoint with a worklist (reduced
//! grammars of Y. Bar-Hillel, M. Perles and E. Shamir, 1961), in linear time.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::grammar_emitter::{EmittedGrammar, GrammarEmitter};
use crate::document::resources::Location;
use crate::values::schema_reader::SchemaReader;
use grammask_automata::{TermId, Terms};
use grammask_collections::graph::AdjacencyList;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{Selection, ValueKind, ValueSupply};

/// A rule in [`Rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RuleId(u32);

impl RuleId {
    /// Position among the rules.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kind of the rules of value sets.
pub(crate) const VALUE: &str = "value";

/// Bound on the passes over all rules for the message about an unsatisfiable schema.
const MAX_PASSES: usize = 64;

/// A part of a right-hand side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RulePart {
    /// A nonempty language: numbers, strings, undeclared member names.
    Text(TermId),
    /// A language whose words take a maximum number of tokens.
    Limited { term: TermId, tokens: u32 },
    /// The texts of a grammar of the options, as the content of a string.
    Media { grammar: usize, tokens: Option<u32> },
    /// The texts of a rule, as the content of a string.
    Json { rule: RuleId, tokens: Option<u32> },
    /// Punctuation or a declared member name; adjacent markup is merged into one terminal.
    Markup(TermId),
    /// A rule.
    Rule(RuleId),
    /// A rule with an empty set of remembered values.
    Scope(RuleId),
    /// A rule whose value is compared with the remembered ones.
    Value { rule: RuleId, kind: ValueKind, supply: ValueSupply },
    /// `min` to `max` repetitions of a rule.
    Repeat { rule: RuleId, min: u32, max: Option<u32> },
}

/// A right-hand side, or a piece of one.
pub(crate) type PartSequence = Vec<RulePart>;

#[derive(Debug)]
struct EmittedRule {
    /// The texts that the rule derives, for its name.
    kind: &'static str,
    /// The schema of the value to which the texts belong.
    place: Option<Location>,
    alternatives: Vec<PartSequence>,
    /// The body, in place of alternatives.
    selection: Option<SelectionBody>,
}

/// A selection with the texts of its parts.
#[derive(Debug)]
pub(super) struct SelectionBody {
    pub(super) selection: Selection,
    /// The texts, by `PartId`.
    pub(super) parts: Vec<PartSequence>,
    /// The text between two parts.
    pub(super) separator: RulePart,
}

impl SelectionBody {
    /// Whether the selection derives a finite text, given the productive rules.
    fn is_productive(&self, productive: &[bool]) -> bool {
        self.selection.is_satisfiable_with(|part| is_productive(&self.parts[part.index()], productive))
    }
}

/// The emitted rules.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    rules: Vec<EmittedRule>,
    /// The place of new rules.
    place: Option<Location>,
    size: usize,
    /// Display texts of languages, for the names of terminals.
    labels: FxHashMap<TermId, Box<str>>,
}

/// The number and the size of rules at some time.
#[derive(Debug)]
pub(crate) struct RulesCheckpoint {
    count: usize,
    size: usize,
}

impl Rules {
    /// The kind of a rule's texts.
    pub(super) fn kind(&self, rule: RuleId) -> &'static str {
        self.rules[rule.index()].kind
    }

    /// The schema of the value to which the texts of a rule belong. Rules that values share have that of the first one.
    pub(super) fn place(&self, rule: RuleId) -> Option<Location> {
        self.rules[rule.index()].place
    }

    /// Sets the place of a rule, and of all rules that are added before the next call.
    pub(super) fn enter(&mut self, rule: RuleId, place: Option<Location>) {
        self.rules[rule.index()].place = place;
        self.place = place;
    }

    /// Calls `add` to add rules without a place.
    pub(super) fn without_place<T>(&mut self, add: impl FnOnce(&mut Self) -> T) -> T {
        let place = self.place.take();
        let added = add(self);
        self.place = place;
        added
    }

    /// The alternatives of a rule; none if it has a selection.
    pub(super) fn alternatives(&self, rule: RuleId) -> &[PartSequence] {
        &self.rules[rule.index()].alternatives
    }

    /// The selection of a rule, if it has one.
    pub(super) fn selection(&self, rule: RuleId) -> Option<&SelectionBody> {
        self.rules[rule.index()].selection.as_ref()
    }

    /// The display text of a language, if it has one.
    pub(super) fn label_of(&self, term: TermId) -> Option<&str> {
        self.labels.get(&term).map(|label| &**label)
    }

    /// The number and the size of the rules.
    pub(crate) fn checkpoint(&self) -> RulesCheckpoint {
        RulesCheckpoint { count: self.rules.len(), size: self.size }
    }

    /// Drops the rules that were added since a checkpoint.
    pub(crate) fn restore(&mut self, checkpoint: RulesCheckpoint) {
        self.rules.truncate(checkpoint.count);
        self.size = checkpoint.size;
    }

    /// Whether the rule was not dropped.
    pub(crate) fn contains(&self, rule: RuleId) -> bool {
        rule.index() < self.rules.len()
    }

    /// Sets the display text of a language, unless it has one.
    pub(crate) fn label(&mut self, term: TermId, label: impl FnOnce() -> String) {
        self.labels.entry(term).or_insert_with(|| label().into());
    }

    /// A new rule without alternatives.
    pub(crate) fn reserve(&mut self, kind: &'static str) -> RuleId {
        self.rules.push(EmittedRule { kind, place: self.place, alternatives: Vec::new(), selection: None });
        self.size += 1;
        RuleId(u32::try_from(self.rules.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds alternatives to a rule.
    pub(crate) fn define(&mut self, rule: RuleId, alternatives: impl IntoIterator<Item = PartSequence>) {
        for parts in alternatives {
            self.size += parts.len() + 1;
            self.rules[rule.index()].alternatives.push(parts);
        }
    }

    /// A new rule with these alternatives.
    pub(crate) fn add(
        &mut self,
        kind: &'static str,
        alternatives: impl IntoIterator<Item = PartSequence>,
    ) -> RuleId {
        let rule = self.reserve(kind);
        self.define(rule, alternatives);
        rule
    }

    /// A new rule for a selection of `parts`, none of which derives the empty text.
    pub(crate) fn select(
        &mut self,
        kind: &'static str,
        selection: Selection,
        parts: Vec<PartSequence>,
        separator: RulePart,
    ) -> RuleId {
        let rule = self.reserve(kind);
        self.size += parts.iter().map(|parts| parts.len() + 1).sum::<usize>();
        self.rules[rule.index()].selection = Some(SelectionBody { selection, parts, separator });
        rule
    }

    /// The number of rules, alternatives and parts.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// For each rule, whether it derives a finite text.
    fn productive(&self) -> Vec<bool> {
        self.productive_with(&[])
    }

    /// For each rule, whether an alternative of it derives a finite text, where those in `assumed` do inside of others.
    fn productive_with(&self, assumed: &[bool]) -> Vec<bool> {
        // By alternative: its rule, and the number of required rules that are not yet productive.
        let mut alternatives: Vec<(usize, u32)> = Vec::with_capacity(self.rules.len() * 2);
        // Rules and the alternatives that require them.
        let mut uses: Vec<(u32, u32)> = Vec::with_capacity(self.rules.len() * 2);
        let mut productive = vec![false; self.rules.len()];
        let mut worklist = Vec::new();
        let is_assumed = |rule: RuleId| assumed.get(rule.index()).is_some_and(|&assumed| assumed);
        for (index, rule) in self.rules.iter().enumerate() {
            for parts in &rule.alternatives {
                let required = parts.iter().filter_map(|part| required_rule(*part));
                let required = required.filter(|&rule| !is_assumed(rule));
                let known = uses.len();
                uses.extend(required.map(|rule| (rule.0, alternatives.len() as u32)));
                alternatives.push((index, (uses.len() - known) as u32));
                if uses.len() == known && !productive[index] {
                    productive[index] = true;
                    worklist.push(index);
                }
            }
        }
        let dependents = AdjacencyList::from_pairs(self.rules.len(), &uses);
        let selection = |index: &usize| self.rules[*index].selection.as_ref();
        let mut selections: Vec<usize> =
            (0..self.rules.len()).filter(|index| selection(index).is_some()).collect();
        loop {
            while let Some(index) = worklist.pop() {
                for &alternative in dependents.of(index) {
                    let (rule, missing) = &mut alternatives[alternative as usize];
                    *missing -= 1;
                    if *missing == 0 && !productive[*rule] {
                        productive[*rule] = true;
                        worklist.push(*rule);
                    }
                }
            }
            let derived: Cow<'_, [bool]> = match assumed {
                [] => Cow::Borrowed(&productive),
                _ => productive.iter().zip(assumed).map(|(derives, assumed)| derives | assumed).collect(),
            };
            selections.retain(|index| {
                let derives = selection(index).is_some_and(|body| body.is_productive(&derived));
                worklist.extend(derives.then_some(*index));
                !derives
            });
            if worklist.is_empty() {
                return productive;
            }
            worklist.iter().for_each(|&index| productive[index] = true);
        }
    }

    /// Whether a value of `rule` would be nested without end: the greatest fixpoint over the rules of values, with
    /// texts of arrays and objects that are finite except for the values in them. `false` if it is not reached after
    /// some passes.
    pub(crate) fn nests_without_end(&self, rule: RuleId) -> bool {
        let mut nests: Vec<bool> = self.rules.iter().map(|rule| rule.kind == VALUE).collect();
        for _ in 0..MAX_PASSES {
            let derives = self.productive_with(&nests);
            let is_stable = (0..nests.len()).all(|index| !nests[index] || derives[index]);
            if is_stable {
                return nests[rule.index()];
            }
            nests.iter_mut().zip(derives).for_each(|(nests, derives)| *nests &= derives);
        }
        false
    }

    /// Whether `rule` derives a finite text.
    pub(crate) fn is_productive(&self, rule: RuleId) -> bool {
        self.productive()[rule.index()]
    }

    /// The grammar with the start rule `start`; `None` if it derives no finite text.
    ///
    /// # Errors
    /// If the choices of a selection are hard to decide without the parts that derive no text.
    pub(crate) fn to_grammar(
        &self,
        terms: Terms,
        start: RuleId,
        source: &str,
        reader: &SchemaReader<'_>,
    ) -> Result<Option<EmittedGrammar>, LimitExceeded> {
        let productive = self.productive();
        match productive[start.index()] {
            true => {
                let emitter = GrammarEmitter::new(self, productive, start, terms, source, reader);
                emitter.emit().map(Some)
            }
            false => Ok(None),
        }
    }
}

/// Whether all required rules of `parts` are productive.
pub(super) fn is_productive(parts: &[RulePart], productive: &[bool]) -> bool {
    !parts.iter().any(|part| required_rule(*part).is_some_and(|rule| !productive[rule.index()]))
}

/// The rule without which `part` derives nothing.
fn required_rule(part: RulePart) -> Option<RuleId> {
    match part {
        RulePart::Rule(rule)
        | RulePart::Scope(rule)
        | RulePart::Value { rule, .. }
        | RulePart::Json { rule, .. } => Some(rule),
        RulePart::Repeat { rule, min, .. } if min > 0 => Some(rule),
        _ => None,
    }
}
