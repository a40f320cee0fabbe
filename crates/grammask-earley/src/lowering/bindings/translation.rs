//! The translation of a scope.
//!
//! The result for a node is one node for each state of the names after it. The nodes are visited with an explicit stack;
//! a visit that lacks the result for a part is continued when the part was visited.

use std::rc::Rc;
use std::sync::Arc;

use grammask_automata::TermId;
use grammask_diagnostics::{Code, Diagnostic, LimitExceeded, Limits, Span};
use grammask_grammar::{
    Binding, BindingKind, Grammar, GrammarBuilder, Node, NodeId, NonterminalId, Terminal, ValueCondition,
    ValueEquality, ValueKind, ValueSupply,
};
use rustc_hash::FxHashMap;

use super::analysis::FreeBindings;
use super::languages::{Operand, OperandLanguages, no_text_left};
use super::limit;

/// The names of a scope.
#[derive(Debug, Default)]
pub(super) struct ScopeNames(Vec<ScopeName>);

#[derive(Debug)]
struct ScopeName {
    name: Arc<str>,
    /// Its number in the grammar.
    number: u16,
    /// The texts that it may be bound to.
    language: TermId,
}

impl ScopeNames {
    /// Maximum number of names of a scope: as many as an assignment has room for.
    pub(super) const MAX: usize = 32;

    pub(super) fn add(&mut self, name: Arc<str>, number: u16, language: TermId) {
        self.0.push(ScopeName { name, number, language });
    }
}

/// The states of all names of a scope, two bits each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Assignment(u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameState {
    Unbound,
    Empty,
    Nonempty,
}

impl Assignment {
    const UNBOUND: Self = Self(0);

    fn get(self, name: usize) -> NameState {
        match self.0 >> (2 * name) & 3 {
            0 => NameState::Unbound,
            1 => NameState::Empty,
            _ => NameState::Nonempty,
        }
    }

    fn with(self, name: usize, state: NameState) -> Self {
        Self(self.0 & !(3 << (2 * name)) | (state as u64) << (2 * name))
    }
}

/// A node for each state after it.
type Variants = Vec<(Assignment, NodeId)>;

/// Maximum number of states after a node.
const MAX_VARIANTS: usize = 64;

/// A node or a rule, and the states before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum BindingTask {
    Node(NodeId, Assignment),
    Rule(NonterminalId, Assignment),
}

/// A visit that is in progress.
struct TranslationVisit {
    task: BindingTask,
    /// The number of parts that are done.
    position: usize,
    /// What the parts that are done derive.
    done: Variants,
}

/// A part without a result, or an error.
enum TranslationPause {
    Missing(BindingTask),
    Failed(Box<Diagnostic>),
}

impl From<Box<Diagnostic>> for TranslationPause {
    fn from(diagnostic: Box<Diagnostic>) -> Self {
        Self::Failed(diagnostic)
    }
}

pub(super) struct BindingTranslation<'a> {
    grammar: &'a Grammar,
    free: &'a FreeBindings,
    languages: &'a mut OperandLanguages,
    builder: &'a mut GrammarBuilder,
    names: ScopeNames,
    limits: &'a Limits,
    results: FxHashMap<BindingTask, Rc<Variants>>,
}

impl<'a> BindingTranslation<'a> {
    pub(super) fn new(
        grammar: &'a Grammar,
        free: &'a FreeBindings,
        languages: &'a mut OperandLanguages,
        builder: &'a mut GrammarBuilder,
        names: ScopeNames,
        limits: &'a Limits,
    ) -> Self {
        Self { grammar, free, languages, builder, names, limits, results: FxHashMap::default() }
    }

    /// The translation of the body of a scope.
    pub(super) fn scope(&mut self, scope: NodeId, body: NodeId) -> Result<NodeId, Box<Diagnostic>> {
        let first = BindingTask::Node(body, Assignment::UNBOUND);
        let mut stack = vec![TranslationVisit { task: first, position: 0, done: Vec::new() }];
        while let Some(visit) = stack.last_mut() {
            if self.builder.size() > self.limits.grammar_size {
                return Err(Box::new(limit(self.limits, self.grammar.span(scope))));
            }
            match self.visit(visit) {
                Ok(variants) => {
                    self.results.insert(visit.task, Rc::new(variants));
                    stack.pop();
                }
                Err(TranslationPause::Missing(task)) => {
                    stack.push(TranslationVisit { task, position: 0, done: Vec::new() });
                }
                Err(TranslationPause::Failed(diagnostic)) => return Err(diagnostic),
            }
        }
        let bodies: Vec<NodeId> = self.results[&first].iter().map(|&(_, node)| node).collect();
        self.any_of(bodies, scope).ok_or_else(|| {
            let message = "no text matches the scope: a name is used where nothing has bound it";
            Box::new(
                Diagnostic::error(Code::InvalidBinding, message)
                    .at(self.grammar.span(scope))
                    .help("bind the name before it is used"),
            )
        })
    }

    fn result(&self, task: BindingTask) -> Result<Rc<Variants>, TranslationPause> {
        if let BindingTask::Node(node, before) = task
            && !self.free.has(node)
        {
            return Ok(Rc::new(vec![(before, node)]));
        }
        self.results.get(&task).cloned().ok_or(TranslationPause::Missing(task))
    }

    fn visit(&mut self, visit: &mut TranslationVisit) -> Result<Variants, TranslationPause> {
        let grammar = self.grammar;
        let (node, before) = match visit.task {
            BindingTask::Rule(rule, before) => return self.rule(visit, rule, before),
            BindingTask::Node(node, before) => (node, before),
        };
        match &grammar.nodes()[node.index()] {
            Node::Sequence(parts) => self.sequence(visit, node, parts),
            Node::Choice(parts) => self.choice(visit, parts, before, node),
            Node::Repeat { node: inner, min, max } => self.repeat(node, *inner, before, *min, *max),
            Node::Nonterminal(rule) => Ok(Variants::clone(&*self.result(BindingTask::Rule(*rule, before))?)),
            Node::Binding(binding) => Ok(self.binding(node, binding, before)?),
            Node::Selection { .. } | Node::Value { .. } => {
                let message =
                    "a part of an object or array of a schema cannot refer to a name that is bound around it";
                let diagnostic = Diagnostic::error(Code::UnsupportedGrammar, message);
                Err(TranslationPause::Failed(Box::new(diagnostic.at(grammar.span(node)))))
            }
            // Not free.
            Node::Terminal(_) | Node::Scope(_) => Ok(vec![(before, node)]),
        }
    }

    fn rule(
        &mut self,
        visit: &mut TranslationVisit,
        rule: NonterminalId,
        before: Assignment,
    ) -> Result<Variants, TranslationPause> {
        let bodies = self.free.bodies(rule);
        let Some(&first) = bodies.first() else { return Ok(Vec::new()) };
        let variants = self.choice(visit, bodies, before, first)?;
        let name = self.grammar.nonterminals()[rule.index()].name.clone();
        let span = self.grammar.nonterminals()[rule.index()].span;
        let mut copies = Vec::with_capacity(variants.len());
        for (after, body) in variants {
            let copy = self.builder.fresh_nonterminal(&name, span);
            self.builder.define(copy, body, span);
            copies.push((after, self.builder.reference(copy, span)));
        }
        Ok(copies)
    }

    fn sequence(
        &mut self,
        visit: &mut TranslationVisit,
        node: NodeId,
        parts: &[NodeId],
    ) -> Result<Variants, TranslationPause> {
        let BindingTask::Node(_, before) = visit.task else { return Ok(Vec::new()) };
        if visit.position == 0 {
            visit.done = vec![(before, self.builder.sequence(Vec::new(), self.grammar.span(node)))];
        }
        while let Some(&part) = parts.get(visit.position) {
            let mut next: Variants = Vec::new();
            for &(before, prefix) in &visit.done {
                for &(after, part) in &*self.result(BindingTask::Node(part, before))? {
                    next.push((after, self.appended(prefix, part, node)));
                }
            }
            visit.done = self.united(next, node)?;
            visit.position += 1;
        }
        Ok(std::mem::take(&mut visit.done))
    }

    /// A sequence with one more part.
    fn appended(&mut self, prefix: NodeId, part: NodeId, origin: NodeId) -> NodeId {
        let is_empty = matches!(self.builder.node_at(prefix), Node::Sequence(parts) if parts.is_empty());
        if is_empty { part } else { self.builder.sequence(vec![prefix, part], self.grammar.span(origin)) }
    }

    fn choice(
        &mut self,
        visit: &mut TranslationVisit,
        parts: &[NodeId],
        before: Assignment,
        origin: NodeId,
    ) -> Result<Variants, TranslationPause> {
        while let Some(&part) = parts.get(visit.position) {
            let variants = self.result(BindingTask::Node(part, before))?;
            visit.done.extend_from_slice(&variants);
            visit.position += 1;
        }
        let done = std::mem::take(&mut visit.done);
        self.united(done, origin)
    }

    /// One node for each state.
    fn united(&mut self, variants: Variants, origin: NodeId) -> Result<Variants, TranslationPause> {
        let mut states: Vec<(Assignment, Vec<NodeId>)> = Vec::new();
        for (after, node) in variants {
            match states.iter_mut().find(|(other, _)| *other == after) {
                Some((_, nodes)) => nodes.push(node),
                None => states.push((after, vec![node])),
            }
        }
        if states.len() > MAX_VARIANTS {
            let message = "too many names of a scope may be unbound, or bound to the empty text";
            return Err(TranslationPause::Failed(Box::new(
                Diagnostic::error(Code::UnsupportedGrammar, message)
                    .at(self.grammar.span(origin))
                    .help("bind nonempty texts, or fewer names in one rule"),
            )));
        }
        let any = |(after, nodes)| Some((after, self.any_of(nodes, origin)?));
        Ok(states.into_iter().filter_map(any).collect())
    }

    fn any_of(&mut self, nodes: Vec<NodeId>, origin: NodeId) -> Option<NodeId> {
        (!nodes.is_empty()).then(|| self.builder.choice(nodes, self.grammar.span(origin)))
    }

    fn repeat(
        &mut self,
        origin: NodeId,
        inner: NodeId,
        before: Assignment,
        min: u32,
        max: Option<u32>,
    ) -> Result<Variants, TranslationPause> {
        let span = self.grammar.span(origin);
        let nothing = (before, self.builder.sequence(Vec::new(), span));
        if max == Some(0) {
            return Ok(vec![nothing]);
        }
        let first = self.result(BindingTask::Node(inner, before))?;
        if first.iter().all(|&(after, _)| after == before) {
            return Ok(match first.first() {
                Some(&(_, body)) => vec![(before, self.builder.repeat(body, min, max, span))],
                None if min == 0 => vec![nothing],
                None => Vec::new(),
            });
        }
        // The first copy changes the states; the others do not.
        let mut variants = if min == 0 { vec![nothing] } else { Vec::new() };
        for &(after, body) in &*first {
            if max == Some(1) {
                variants.push((after, body));
                continue;
            }
            let rest = self.result(BindingTask::Node(inner, after))?;
            match rest[..] {
                [] if min <= 1 => variants.push((after, body)),
                [] => {}
                [(same, rest)] if same == after && after != before => {
                    let rest = self.builder.repeat(rest, min.saturating_sub(1), max.map(|max| max - 1), span);
                    variants.push((after, self.builder.sequence(vec![body, rest], span)));
                }
                _ => {
                    let message = "a text that may be empty is bound in a repetition";
                    return Err(TranslationPause::Failed(Box::new(
                        Diagnostic::error(Code::UnsupportedGrammar, message)
                            .at(span)
                            .help("repeat a rule that binds the name: each of its texts is a scope"),
                    )));
                }
            }
        }
        self.united(variants, origin)
    }

    fn binding(
        &mut self,
        node: NodeId,
        binding: &Binding,
        before: Assignment,
    ) -> Result<Variants, Box<Diagnostic>> {
        let span = self.grammar.span(node);
        let over = |limit: LimitExceeded| Box::new(limit.diagnostic().at(span));
        let Some(name) = self.names.0.iter().position(|own| own.name == binding.name) else {
            return Ok(Vec::new());
        };
        let ScopeName { number, language: bound, .. } = self.names.0[name];
        let state = before.get(name);
        let language = match binding.kind {
            BindingKind::Same => bound,
            _ => self.languages.of_binding(self.grammar, self.builder, binding)?,
        };
        let operand = self.languages.operand(self.builder, language).map_err(over)?;
        let Operand { nonempty, is_nullable } = operand;
        let empty = self.builder.sequence(Vec::new(), span);
        let label = self.label(binding);
        let kind = match (binding.kind, state) {
            (BindingKind::Bind, _) => {
                let mut variants = Vec::new();
                if is_nullable {
                    variants.push((before.with(name, NameState::Empty), empty));
                }
                if let Some(term) = nonempty {
                    let value = self.value(term, &label, ValueKind::Bound, number, span);
                    variants.push((before.with(name, NameState::Nonempty), value));
                }
                return Ok(variants);
            }
            (_, NameState::Unbound) | (BindingKind::WithoutPrefix, NameState::Empty) => return Ok(Vec::new()),
            (BindingKind::Same, NameState::Empty) => return Ok(vec![(before, empty)]),
            (BindingKind::Other, NameState::Empty) => {
                let terminal = |term| self.builder.terminal(Terminal::Regular(term), &label, span);
                return Ok(nonempty.map(terminal).map(|node| (before, node)).into_iter().collect());
            }
            (BindingKind::Same, NameState::Nonempty) => ValueKind::Repeated,
            (BindingKind::Other, NameState::Nonempty) => ValueKind::Different,
            (BindingKind::WithoutPrefix, NameState::Nonempty) => ValueKind::Unprefixed,
        };
        if kind == ValueKind::Repeated {
            let Some(term) = nonempty else { return Ok(Vec::new()) };
            return Ok(vec![(before, self.value(term, &label, kind, number, span))]);
        }
        let Some(term) = nonempty else {
            return Ok(is_nullable.then_some((before, empty)).into_iter().collect());
        };
        let value = self.value(term, &label, kind, number, span);
        if is_nullable {
            return Ok(vec![(before, self.builder.choice(vec![empty, value], span))]);
        }
        let bound = self.languages.operand(self.builder, bound).map_err(over)?.nonempty;
        let Some(bound) = bound else { return Ok(Vec::new()) };
        let is_left = match kind {
            ValueKind::Different => self.languages.has_another(self.builder, term, bound),
            _ => self.languages.has_unprefixed(self.builder, term, bound),
        };
        match is_left.map_err(over)? {
            true => Ok(vec![(before, value)]),
            false => Err(no_text_left(self.grammar, node, binding.kind.notation(), &binding.name)),
        }
    }

    fn value(&mut self, term: TermId, label: &str, kind: ValueKind, number: u16, span: Span) -> NodeId {
        let node = self.builder.terminal(Terminal::Regular(term), label, span);
        self.builder.value(
            node,
            ValueCondition::plain(kind, ValueEquality::Named(number), ValueSupply::Unknown),
            span,
        )
    }

    /// The notation of a binding, for explanations.
    fn label(&self, binding: &Binding) -> String {
        let (word, name) = (binding.kind.word(), &binding.name);
        match binding.node {
            Some(operand) => format!("{word}!({name}, {})", self.grammar.notation(operand)),
            None => format!("{word}!({name})"),
        }
    }
}
