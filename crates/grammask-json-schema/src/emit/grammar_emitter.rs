//! The grammar of emitted rules, without those that derive no finite text.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::rules::{RuleId, RulePart, Rules, SelectionBody, is_productive};
use crate::document::resources::Location;
use crate::values::schema_reader::SchemaReader;
use grammask_automata::{TermId, Terms};
use grammask_diagnostics::{LimitExceeded, Span};
use grammask_grammar::{
    EmbeddedId, EmbeddedTexts, Grammar, GrammarBuilder, NodeId, NonterminalId, PartId, Terminal,
    ValueCondition, ValueEquality, quote_bytes,
};

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

/// Writes the rules that a start rule reaches into a grammar.
pub(super) struct GrammarEmitter<'r> {
    rules: &'r Rules,
    /// For each rule whether it derives a finite text.
    productive: Vec<bool>,
    start: RuleId,
    reader: &'r SchemaReader<'r>,
    builder: GrammarBuilder,
    /// The nonterminals of the rules reached so far.
    nonterminals: Vec<Option<NonterminalId>>,
    /// Reached rules that are not written yet.
    pending: Vec<RuleId>,
    terminals: FxHashMap<TermId, NodeId>,
    /// The terminals of sequences of markup; `None` if the sequence is the empty text.
    markup_terminals: FxHashMap<Box<[TermId]>, Option<NodeId>>,
    contents: Vec<EmittedContent>,
    /// Memo table of the places in names of rules.
    places: FxHashMap<Location, Box<str>>,
}

impl<'r> GrammarEmitter<'r> {
    /// The start rule must be productive.
    pub(super) fn new(
        rules: &'r Rules,
        productive: Vec<bool>,
        start: RuleId,
        terms: Terms,
        source: &str,
        reader: &'r SchemaReader<'r>,
    ) -> Self {
        Self {
            rules,
            start,
            reader,
            builder: GrammarBuilder::with_terms(source, terms),
            nonterminals: vec![None; productive.len()],
            productive,
            pending: Vec::new(),
            terminals: FxHashMap::default(),
            markup_terminals: FxHashMap::default(),
            contents: Vec::new(),
            places: FxHashMap::default(),
        }
    }

    /// # Errors
    /// If the choices of a selection are hard to decide without the parts that derive no text.
    pub(super) fn emit(mut self) -> Result<EmittedGrammar, LimitExceeded> {
        let start = self.nonterminal(self.start);
        while let Some(rule) = self.pending.pop() {
            let nonterminal = self.nonterminal(rule);
            let body = self.body(rule)?;
            self.builder.define(nonterminal, body, Span::default());
        }
        Ok(EmittedGrammar { grammar: self.builder.finish(start), contents: self.contents })
    }

    /// The nonterminal of a rule, which is written later if this is the first reference to it.
    fn nonterminal(&mut self, rule: RuleId) -> NonterminalId {
        if let Some(known) = self.nonterminals[rule.index()] {
            return known;
        }
        let place = match self.rules.place(rule) {
            Some(place) => self.places.entry(place).or_insert_with(|| place_in_names(self.reader, place)),
            None => "JSON",
        };
        let name = numbered(place, self.rules.kind(rule), rule.index());
        let nonterminal = self.builder.nonterminal(&name, Span::default());
        self.nonterminals[rule.index()] = Some(nonterminal);
        self.pending.push(rule);
        nonterminal
    }

    fn body(&mut self, rule: RuleId) -> Result<NodeId, LimitExceeded> {
        let rules = self.rules;
        let mut choices = Vec::new();
        for parts in rules.alternatives(rule) {
            choices.extend(self.sequence(parts));
        }
        match rules.selection(rule) {
            None => Ok(self.builder.choice(choices, Span::default())),
            Some(body) => self.selection(body),
        }
    }

    fn selection(&mut self, body: &SelectionBody) -> Result<NodeId, LimitExceeded> {
        let keeps = |part: PartId| is_productive(&body.parts[part.index()], &self.productive);
        let exceeded = || LimitExceeded::new("grammar_size", self.reader.limits.grammar_size);
        let (selection, _) = body.selection.restricted(keeps).ok_or_else(exceeded)?;
        let parts: Vec<NodeId> = body.parts.iter().filter_map(|parts| self.sequence(parts)).collect();
        let separator = self.sequence(&[body.separator]);
        let separator = separator.expect("the text between two parts is no rule");
        Ok(self.builder.selection(Arc::new(selection), parts, separator, Span::default()))
    }

    /// The texts of some parts one after the other; `None` if there are none.
    fn sequence(&mut self, parts: &[RulePart]) -> Option<NodeId> {
        if !is_productive(parts, &self.productive) {
            return None;
        }
        let mut nodes = Vec::with_capacity(parts.len());
        let mut markup = Vec::new();
        for part in parts {
            if let RulePart::Markup(term) = *part {
                markup.push(term);
                continue;
            }
            nodes.extend(self.take_markup(&mut markup));
            nodes.extend(self.part(*part));
        }
        nodes.extend(self.take_markup(&mut markup));
        Some(self.builder.sequence(nodes, Span::default()))
    }

    /// The texts of a part; `None` for the empty text.
    fn part(&mut self, part: RulePart) -> Option<NodeId> {
        let span = Span::default();
        Some(match part {
            RulePart::Text(term) | RulePart::Markup(term) => self.terminal(term),
            RulePart::Limited { term, tokens } => {
                let label = format!("text of at most {tokens} tokens");
                self.builder.terminal(Terminal::Limited { term, tokens }, &label, span)
            }
            RulePart::Media { grammar, tokens } => self.content(EmittedContent::Media(grammar), tokens),
            RulePart::Json { rule, tokens } => self.content(EmittedContent::Json(rule), tokens),
            RulePart::Rule(rule) => self.reference(rule),
            RulePart::Scope(rule) => {
                let node = self.reference(rule);
                self.builder.scope(node, span)
            }
            RulePart::Value { rule, kind, supply } => {
                let node = self.reference(rule);
                let condition = ValueCondition::plain(kind, ValueEquality::Json, supply);
                self.builder.value(node, condition, span)
            }
            RulePart::Repeat { rule, .. } if !self.productive[rule.index()] => return None,
            RulePart::Repeat { rule, min, max } => {
                let node = self.reference(rule);
                self.builder.repeat(node, min, max, span)
            }
        })
    }

    fn reference(&mut self, rule: RuleId) -> NodeId {
        let nonterminal = self.nonterminal(rule);
        self.builder.reference(nonterminal, Span::default())
    }

    /// Clears `markup` and returns its terminal; `None` if it is the empty text.
    fn take_markup(&mut self, markup: &mut Vec<TermId>) -> Option<NodeId> {
        let node = match markup[..] {
            [] => None,
            _ => match self.markup_terminals.get(&markup[..]) {
                Some(cached) => *cached,
                None => {
                    let node = self.new_markup(markup);
                    self.markup_terminals.insert(markup[..].into(), node);
                    node
                }
            },
        };
        markup.clear();
        node
    }

    fn new_markup(&mut self, markup: &[TermId]) -> Option<NodeId> {
        let term = self.builder.terms().concat(markup);
        if term == self.builder.terms().epsilon() {
            return None;
        }
        if let [_] = markup {
            return Some(self.terminal(term));
        }
        let terms = self.builder.terms_so_far();
        let label = |part: &TermId| match (terms.word(*part), self.rules.label_of(*part)) {
            (Some(word), _) => String::from_utf8_lossy(&word).into_owned(),
            (None, label) => label.unwrap_or_default().to_owned(),
        };
        let label: String = markup.iter().map(label).collect();
        Some(self.labelled(term, &label))
    }

    /// The terminal of a content with a maximum number of tokens.
    fn content(&mut self, content: EmittedContent, tokens: Option<u32>) -> NodeId {
        let grammar = match self.contents.iter().position(|other| *other == content) {
            Some(index) => EmbeddedId::new(index),
            None => {
                self.contents.push(content);
                // The caller knows the texts of contents.
                self.builder.embed(EmbeddedTexts { empty: false, nonempty: true })
            }
        };
        let media_type = match content {
            EmittedContent::Media(index) => self.reader.options.media_grammars.get(index),
            EmittedContent::Json(_) => None,
        };
        let label = match media_type {
            Some(grammar) => format!("a text of `{}`", grammar.media_type),
            None => "a text of JSON".to_owned(),
        };
        self.builder.terminal(Terminal::Embedded { grammar, tokens }, &label, Span::default())
    }

    /// The terminal of a term.
    fn terminal(&mut self, term: TermId) -> NodeId {
        if let Some(&cached) = self.terminals.get(&term) {
            return cached;
        }
        let label = match (self.rules.label_of(term), self.builder.terms().word(term)) {
            (Some(label), _) => label.to_owned(),
            (None, Some(word)) => quote_bytes(&word),
            (None, None) => "text".to_owned(),
        };
        let node = self.labelled(term, &label);
        self.terminals.insert(term, node);
        node
    }

    /// The terminal of a term, which people call `label`.
    fn labelled(&mut self, term: TermId, label: &str) -> NodeId {
        let terminal = match self.builder.terms().word(term) {
            Some(word) => Terminal::Literal(word.into()),
            None => Terminal::Regular(term),
        };
        self.builder.terminal(terminal, label, Span::default())
    }
}

/// The place of a schema in names of rules, where a full stop ends it.
fn place_in_names(reader: &SchemaReader<'_>, schema: Location) -> Box<str> {
    reader.places(schema).replace('.', "%2E").into()
}

/// The name of a rule of a kind of texts at a place. Formatting would be most of the time of naming a rule.
fn numbered(place: &str, kind: &str, number: usize) -> String {
    let mut numbered = String::with_capacity(place.len() + kind.len() + 10);
    numbered.push_str(place);
    numbered.push('.');
    numbered.push_str(kind);
    let mut scale = 10_usize.pow(number.checked_ilog10().unwrap_or(0));
    while scale > 0 {
        numbered.push(char::from(b'0' + (number / scale % 10) as u8));
        scale /= 10;
    }
    numbered
}
