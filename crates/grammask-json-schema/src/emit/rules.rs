//! The rules of a schema, before they become a grammar without unproductive rules.
//!
//! A grammar may derive infinite texts, and the recogniser accepts their prefixes. JSON values are finite, so only
//! rules that derive a finite text are kept: the productive ones, computed as a least fixpoint with a worklist (reduced
//! grammars of Y. Bar-Hillel, M. Perles and E. Shamir, 1961), in linear time.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::options::MediaGrammar;
use grammask_automata::{TermId, Terms};
use grammask_collections::graph::AdjacencyList;
use grammask_diagnostics::{LimitExceeded, Limits, Span};
use grammask_grammar::{
    EmbeddedId, EmbeddedTexts, Grammar, GrammarBuilder, NodeId, NonterminalId, PartId, Selection, Terminal,
    ValueCondition, ValueEquality, ValueKind, ValueSupply,
};

/// A rule in [`Rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RuleId(u32);

impl RuleId {
    fn index(self) -> usize {
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
    /// The prefix of the rule's name.
    kind: &'static str,
    alternatives: Vec<PartSequence>,
    /// The body, in place of alternatives.
    selection: Option<SelectionBody>,
}

/// A selection with the texts of its parts.
#[derive(Debug)]
struct SelectionBody {
    selection: Selection,
    /// The texts, by [`PartId`].
    parts: Vec<PartSequence>,
    /// The text between two parts.
    separator: RulePart,
}

impl SelectionBody {
    /// Whether the selection derives a finite text, given the productive rules.
    fn is_productive(&self, productive: &[bool]) -> bool {
        self.selection.is_satisfiable_with(|part| is_productive(&self.parts[part.index()], productive))
    }
}

/// A grammar of emitted rules.
#[derive(Debug)]
pub(crate) struct EmittedGrammar {
    pub(crate) grammar: Grammar,
    /// The contents of strings, by [`EmbeddedId`].
    pub(crate) contents: Vec<EmittedContent>,
}

/// The texts that strings hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EmittedContent {
    /// Those of a grammar of the options.
    Media(usize),
    /// Those of a rule.
    Json(RuleId),
}

/// The emitted rules.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    rules: Vec<EmittedRule>,
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
        self.rules.push(EmittedRule { kind, alternatives: Vec::new(), selection: None });
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
        media_grammars: &[MediaGrammar],
        limits: &Limits,
    ) -> Result<Option<EmittedGrammar>, LimitExceeded> {
        let productive = self.productive();
        if !productive[start.index()] {
            return Ok(None);
        }
        let mut builder = GrammarBuilder::with_terms(source, terms);
        let span = Span::default();
        let mut nonterminals: Vec<Option<NonterminalId>> = vec![None; self.rules.len()];
        let mut pending = vec![start];
        let new_nonterminal = |rule: RuleId, builder: &mut GrammarBuilder| {
            let kind = self.rules[rule.index()].kind;
            let name = if rule == start { "start".to_owned() } else { numbered(kind, rule.0) };
            builder.nonterminal(&name, span)
        };
        let first = new_nonterminal(start, &mut builder);
        nonterminals[start.index()] = Some(first);
        let mut terminals = TerminalNodes {
            rules: self,
            media_grammars,
            by_term: FxHashMap::default(),
            by_markup: FxHashMap::default(),
            contents: Vec::new(),
        };
        while let Some(rule) = pending.pop() {
            let Some(nonterminal) = nonterminals[rule.index()] else { continue };
            let mut choices = Vec::new();
            let emitted = &self.rules[rule.index()];
            let separator = emitted.selection.as_ref().map(|body| vec![body.separator]);
            let selected = emitted.selection.iter().flat_map(|body| &body.parts).chain(&separator);
            for parts in emitted.alternatives.iter().chain(selected) {
                if !is_productive(parts, &productive) {
                    continue;
                }
                let mut nodes: Vec<NodeId> = Vec::with_capacity(parts.len());
                let mut markup = Vec::new();
                for part in parts {
                    if let RulePart::Markup(term) = *part {
                        markup.push(term);
                        continue;
                    }
                    nodes.extend(terminals.take_markup(&mut builder, &mut markup));
                    let mut reference = |rule: RuleId, builder: &mut GrammarBuilder| {
                        let nonterminal = *nonterminals[rule.index()].get_or_insert_with(|| {
                            pending.push(rule);
                            new_nonterminal(rule, builder)
                        });
                        builder.reference(nonterminal, span)
                    };
                    match *part {
                        RulePart::Text(term) | RulePart::Markup(term) => {
                            nodes.push(terminals.terminal(&mut builder, term));
                        }
                        RulePart::Limited { term, tokens } => {
                            let label = format!("text of at most {tokens} tokens");
                            let terminal = Terminal::Limited { term, tokens };
                            nodes.push(builder.terminal(terminal, &label, span));
                        }
                        RulePart::Media { grammar, tokens } => {
                            let content = EmittedContent::Media(grammar);
                            nodes.push(terminals.content(&mut builder, content, tokens));
                        }
                        RulePart::Json { rule, tokens } => {
                            let content = EmittedContent::Json(rule);
                            nodes.push(terminals.content(&mut builder, content, tokens));
                        }
                        RulePart::Rule(rule) => nodes.push(reference(rule, &mut builder)),
                        RulePart::Scope(rule) => {
                            let node = reference(rule, &mut builder);
                            nodes.push(builder.scope(node, span));
                        }
                        RulePart::Value { rule, kind, supply } => {
                            let node = reference(rule, &mut builder);
                            let condition = ValueCondition::plain(kind, ValueEquality::Json, supply);
                            nodes.push(builder.value(node, condition, span));
                        }
                        RulePart::Repeat { rule, .. } if !productive[rule.index()] => {}
                        RulePart::Repeat { rule, min, max } => {
                            let node = reference(rule, &mut builder);
                            nodes.push(builder.repeat(node, min, max, span));
                        }
                    }
                }
                nodes.extend(terminals.take_markup(&mut builder, &mut markup));
                choices.push(builder.sequence(nodes, span));
            }
            let body = match &emitted.selection {
                None => builder.choice(choices, span),
                Some(body) => {
                    let keeps = |part: PartId| is_productive(&body.parts[part.index()], &productive);
                    let exceeded = || LimitExceeded::new("grammar_size", limits.grammar_size);
                    let (selection, _) = body.selection.restricted(keeps).ok_or_else(exceeded)?;
                    // The separator is the last choice; a productive selection has parts too.
                    match choices.pop() {
                        Some(separator) => builder.selection(Arc::new(selection), choices, separator, span),
                        None => builder.choice(choices, span),
                    }
                }
            };
            builder.define(nonterminal, body, span);
        }
        let contents = std::mem::take(&mut terminals.contents);
        Ok(Some(EmittedGrammar { grammar: builder.finish(first), contents }))
    }
}

/// The terminal nodes of a grammar, each created once.
struct TerminalNodes<'r> {
    rules: &'r Rules,
    media_grammars: &'r [MediaGrammar],
    by_term: FxHashMap<TermId, NodeId>,
    /// By sequence of markup; `None` if the sequence is the empty text.
    by_markup: FxHashMap<Box<[TermId]>, Option<NodeId>>,
    /// The contents so far, by [`EmbeddedId`].
    contents: Vec<EmittedContent>,
}

impl TerminalNodes<'_> {
    /// Clears `markup` and returns its terminal; `None` if it is the empty text.
    fn take_markup(&mut self, builder: &mut GrammarBuilder, markup: &mut Vec<TermId>) -> Option<NodeId> {
        let node = match markup[..] {
            [] => None,
            _ => match self.by_markup.get(&markup[..]) {
                Some(cached) => *cached,
                None => {
                    let node = self.new_markup(builder, markup);
                    self.by_markup.insert(markup[..].into(), node);
                    node
                }
            },
        };
        markup.clear();
        node
    }

    fn new_markup(&mut self, builder: &mut GrammarBuilder, markup: &[TermId]) -> Option<NodeId> {
        let term = builder.terms().concat(markup);
        if term == builder.terms().epsilon() {
            return None;
        }
        if builder.terms().word(term).is_some() {
            return Some(self.terminal(builder, term));
        }
        let label: String =
            markup.iter().filter_map(|part| self.rules.labels.get(part)).map(|label| &**label).collect();
        Some(builder.terminal(Terminal::Regular(term), &label, Span::default()))
    }

    /// The terminal of a content with a maximum number of tokens.
    fn content(
        &mut self,
        builder: &mut GrammarBuilder,
        content: EmittedContent,
        tokens: Option<u32>,
    ) -> NodeId {
        let grammar = match self.contents.iter().position(|other| *other == content) {
            Some(index) => EmbeddedId::new(index),
            None => {
                self.contents.push(content);
                // The caller knows the texts of contents.
                builder.embed(EmbeddedTexts { empty: false, nonempty: true })
            }
        };
        let media_type = match content {
            EmittedContent::Media(index) => self.media_grammars.get(index),
            EmittedContent::Json(_) => None,
        };
        let label = match media_type {
            Some(grammar) => format!("a text of `{}`", grammar.media_type),
            None => "a text of JSON".to_owned(),
        };
        builder.terminal(Terminal::Embedded { grammar, tokens }, &label, Span::default())
    }

    fn terminal(&mut self, builder: &mut GrammarBuilder, term: TermId) -> NodeId {
        if let Some(&cached) = self.by_term.get(&term) {
            return cached;
        }
        let span = Span::default();
        let node = if let Some(word) = builder.terms().word(term) {
            builder.literal(&word, span)
        } else {
            let label = match self.rules.labels.get(&term) {
                Some(label) => label.clone().into_string(),
                None => format!("#\"{}\"", builder.terms().display(term)),
            };
            builder.terminal(Terminal::Regular(term), &label, span)
        };
        self.by_term.insert(term, node);
        node
    }
}

/// A name followed by a number. Formatting would be most of the time of naming a rule.
fn numbered(name: &str, number: u32) -> String {
    let mut numbered = String::with_capacity(name.len() + 10);
    numbered.push_str(name);
    let mut scale = 10_u32.pow(number.checked_ilog10().unwrap_or(0));
    while scale > 0 {
        numbered.push(char::from(b'0' + (number / scale % 10) as u8));
        scale /= 10;
    }
    numbered
}

/// Whether all required rules of `parts` are productive.
fn is_productive(parts: &[RulePart], productive: &[bool]) -> bool {
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
