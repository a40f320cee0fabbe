//! Terminals of the definition: the symbols that directives declare, and the strings and patterns in rules.
//!
//! A declared terminal has the language of its rule and of those that it refers to, which must not be recursive. Rules with
//! bindings define a delimited terminal. Equal strings and patterns in rules are one terminal.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::delimited_terminals::DelimitedTexts;
use crate::definition::grammar::LexedSymbol;
use crate::definition::source::{TerminalPattern, TerminalRole};
use crate::definition::terminal_automaton::terminal_pattern;
use grammask_automata::TermId;
use grammask_diagnostics::{Code, Diagnostic, Span};
use grammask_grammar::{GrammarBuilder, Node, NodeId, NonterminalId, Terminal, TerminalId, quote_bytes};

use super::operators::Alternatives;
use super::{InlinePatterns, RuleTranslation};

/// A terminal of the definition under construction.
pub(super) struct TerminalDraft {
    pub(super) name: Arc<str>,
    pub(super) pattern: TerminalPattern,
    pub(super) priority: i32,
    pub(super) role: TerminalRole,
    /// Whether a rule uses it.
    pub(super) is_used: bool,
}

/// The terminals so far, with indices by symbol, string and language.
#[derive(Default)]
pub(super) struct TerminalTable {
    pub(super) list: Vec<TerminalDraft>,
    by_symbol: FxHashMap<NonterminalId, TerminalId>,
    by_text: FxHashMap<Vec<u8>, TerminalId>,
    by_term: FxHashMap<TermId, TerminalId>,
    /// The names of the terminals of an owner, which are labels of patterns and not distinct.
    names: FxHashSet<Arc<str>>,
}

impl RuleTranslation<'_> {
    /// Creates the terminals that directives declare, in the order of their definitions.
    pub(super) fn declared_terminals(&mut self) {
        let mut symbols: Vec<NonterminalId> = self.declared.keys().copied().collect();
        symbols.sort_unstable_by_key(|symbol| self.grammar.nonterminals()[symbol.index()].span.start);
        for symbol in symbols {
            let (name, span) =
                (self.name(symbol).to_owned(), self.grammar.nonterminals()[symbol.index()].span);
            let declared = self.declared[&symbol];
            let priority = declared.priority.unwrap_or(0);
            if declared.is_declared {
                let pattern = TerminalPattern::Declared;
                let id = self.add_terminal(Arc::from(name), pattern, priority, declared.role);
                self.terminals.by_symbol.insert(symbol, id);
                continue;
            }
            if self.refers_to_bindings(symbol) {
                if let Some(pattern) = self.delimited_pattern(symbol, &name, span) {
                    let id = self.add_terminal(Arc::from(name), pattern, priority, declared.role);
                    self.terminals.by_symbol.insert(symbol, id);
                }
                continue;
            }
            let Some(term) = self.language(symbol, span) else { continue };
            let Some(pattern) = self.terminal_pattern(term, &name, span) else { continue };
            let id = self.add_terminal(Arc::from(name), pattern, priority, declared.role);
            self.terminals.by_symbol.insert(symbol, id);
            let winner = self.terminals.by_term.entry(term).or_insert(id);
            if priority > self.terminals.list[winner.index()].priority {
                *winner = id;
            }
        }
    }

    /// Whether a rule, or one that it refers to, has bindings.
    fn refers_to_bindings(&self, symbol: NonterminalId) -> bool {
        let mut reached = FxHashSet::from_iter([symbol]);
        let mut pending = vec![symbol];
        while let Some(rule) = pending.pop() {
            for node in self.subtree(&self.bodies[rule.index()]) {
                match self.grammar.nodes()[node.index()] {
                    Node::Binding(_) => return true,
                    Node::Nonterminal(next) if reached.insert(next) => pending.push(next),
                    _ => {}
                }
            }
        }
        false
    }

    /// The pattern of a delimited terminal; `None`, after a report, if its rules define none.
    fn delimited_pattern(
        &mut self,
        symbol: NonterminalId,
        name: &str,
        span: Span,
    ) -> Option<TerminalPattern> {
        let mut builder = GrammarBuilder::new("");
        // Rules keep their numbers: those of the first grafted grammar are the first.
        builder.graft(self.grammar);
        let rule = builder.reference(symbol, span);
        let texts = match builder.extract(rule) {
            Ok(rules) => DelimitedTexts::new(&rules.grammar, self.limits, &self.deadline),
            Err(reason) => {
                let message = reason.reason().to_owned();
                Err(Diagnostic::error(Code::UnsupportedGrammar, message).into())
            }
        };
        let error = match texts {
            Ok(texts) => return Some(TerminalPattern::Delimited(texts)),
            Err(error) => error,
        };
        let of_terminal = error.diagnostics().iter().map(|diagnostic| {
            let message = format!("the terminal `{name}`: {}", diagnostic.message);
            Diagnostic { message, ..diagnostic.clone() }.at(span)
        });
        self.diagnostics.extend(of_terminal);
        None
    }

    fn add_terminal(
        &mut self,
        name: Arc<str>,
        pattern: TerminalPattern,
        priority: i32,
        role: TerminalRole,
    ) -> TerminalId {
        let id = TerminalId::new(self.terminals.list.len());
        let name = match self.owner {
            Some(owner) => self.distinct_name(format!("{owner} {name}")),
            None => name,
        };
        if let TerminalPattern::Literal(text) = &pattern {
            // A string in a rule refers to the terminal of highest priority.
            let winner = self.terminals.by_text.entry(text.clone()).or_insert(id);
            if self.terminals.list.get(winner.index()).is_some_and(|winner| winner.priority < priority) {
                *winner = id;
            }
        }
        self.terminals.list.push(TerminalDraft { name, pattern, priority, role, is_used: false });
        id
    }

    /// The name, with a number if another terminal has it.
    fn distinct_name(&mut self, name: String) -> Arc<str> {
        let mut distinct: Arc<str> = Arc::from(&*name);
        let mut count = 1;
        while !self.terminals.names.insert(distinct.clone()) {
            count += 1;
            distinct = Arc::from(format!("{name} ({count})"));
        }
        distinct
    }

    /// The language of a terminal or of a rule that a terminal refers to.
    fn language(&mut self, symbol: NonterminalId, span: Span) -> Option<TermId> {
        enum Visit {
            Enter(NonterminalId, Span),
            Leave(NonterminalId),
        }
        let mut open: FxHashSet<NonterminalId> = FxHashSet::default();
        let mut stack = vec![Visit::Enter(symbol, span)];
        while let Some(visit) = stack.pop() {
            match visit {
                Visit::Enter(part, _) if self.languages.contains_key(&part) => {}
                Visit::Enter(part, span) => {
                    if self.declared.get(&part).is_some_and(|declared| declared.is_declared) {
                        let (own, other) = (self.name(symbol), self.name(part));
                        let message =
                            format!("the terminal `{own}` refers to the declared terminal `{other}`");
                        let help = "use declared terminals in rules";
                        self.report(Code::UnsupportedGrammar, message, span, help);
                        return None;
                    }
                    if !open.insert(part) {
                        let message = format!("the terminal `{}` refers to itself", self.name(symbol));
                        self.report(
                            Code::UnsupportedGrammar,
                            message,
                            span,
                            "a terminal is a regular language: write a repetition, `x*`, in place of the recursion",
                        );
                        return None;
                    }
                    stack.push(Visit::Leave(part));
                    for node in self.subtree(&self.bodies[part.index()]) {
                        if let Node::Nonterminal(next) = self.grammar.nodes()[node.index()] {
                            stack.push(Visit::Enter(next, self.grammar.span(node)));
                        }
                    }
                }
                Visit::Leave(part) => {
                    open.remove(&part);
                    let term = self.term_of_bodies(&self.bodies[part.index()].clone())?;
                    self.languages.insert(part, term);
                }
            }
        }
        self.languages.get(&symbol).copied()
    }

    /// The union of the languages of `roots`. The languages of all references must be in `languages`.
    fn term_of_bodies(&mut self, roots: &[NodeId]) -> Option<TermId> {
        let mut of_node: FxHashMap<NodeId, TermId> = FxHashMap::default();
        for node in self.subtree(roots) {
            let parts =
                |parts: &[NodeId]| -> Vec<TermId> { parts.iter().map(|part| of_node[part]).collect() };
            let term = match &self.grammar.nodes()[node.index()] {
                Node::Terminal(id) => match &self.grammar.terminals()[id.index()].terminal {
                    Terminal::Literal(text) => self.terms.literal(text),
                    &Terminal::Regular(term) => term,
                    _ => {
                        self.report_unsupported_terminal(*id, node);
                        return None;
                    }
                },
                Node::Nonterminal(symbol) => self.languages[symbol],
                Node::Sequence(nodes) => self.terms.concat(&parts(nodes)),
                Node::Choice(nodes) => self.terms.union(&parts(nodes)),
                &Node::Repeat { node, min, max } => self.terms.repeat(of_node[&node], min, max),
                Node::Selection { .. } | Node::Scope(_) | Node::Value { .. } | Node::Binding(_) => {
                    self.diagnostics.push(*self.selection_error(node));
                    return None;
                }
            };
            of_node.insert(node, term);
        }
        let alternatives: Vec<TermId> = roots.iter().map(|root| of_node[root]).collect();
        Some(self.terms.union(&alternatives))
    }

    /// Reports a terminal that is neither a string nor a pattern.
    fn report_unsupported_terminal(&mut self, id: TerminalId, node: NodeId) {
        let (message, help) = match self.grammar.terminals()[id.index()].terminal {
            Terminal::Embedded { .. } => (
                "a grammar with a lexer cannot contain another one, or a part with a maximum number of tokens",
                "put it into a composition with the grammar",
            ),
            Terminal::Limited { .. } => (
                "a grammar with a lexer cannot contain a part with a maximum number of tokens",
                "limit a part of a composition",
            ),
            _ => (
                "a grammar with a lexer cannot contain tokens of the vocabulary",
                "the lexer cuts texts independently of their tokens",
            ),
        };
        self.report(Code::UnsupportedGrammar, message.to_owned(), self.grammar.span(node), help);
    }

    /// The pattern of a terminal with the given language.
    fn terminal_pattern(&mut self, term: TermId, name: &str, span: Span) -> Option<TerminalPattern> {
        match terminal_pattern(&self.terms, term, name, self.limits.automaton_states, &self.deadline) {
            Ok(pattern) => Some(pattern),
            Err(diagnostic) => {
                self.diagnostics.push(diagnostic.at(span));
                None
            }
        }
    }

    /// The terminal of a declared symbol in a rule; `None`, after a report, if the parser does not receive it.
    pub(super) fn declared_at(&mut self, symbol: NonterminalId, node: NodeId) -> Option<TerminalId> {
        let id = *self.terminals.by_symbol.get(&symbol)?;
        self.use_at(id, node)
    }

    fn use_at(&mut self, id: TerminalId, node: NodeId) -> Option<TerminalId> {
        let TerminalDraft { name, role, .. } = &self.terminals.list[id.index()];
        if role.is_for_parser() {
            self.terminals.list[id.index()].is_used = true;
            return Some(id);
        }
        let what = if *role == TerminalRole::Ignored { "ignored" } else { "refused" };
        let message = format!("the terminal `{name}` is {what}, and a rule uses it");
        let help = "the parser receives neither ignored nor refused terminals; remove it from the rule";
        self.report(Code::UnsupportedGrammar, message, self.grammar.span(node), help);
        None
    }

    /// The alternatives of a string or pattern in a rule; none, after a report, if it is not supported.
    pub(super) fn terminal_alternatives(&mut self, id: TerminalId, node: NodeId) -> Alternatives {
        let nonempty = match self.grammar.terminals()[id.index()].terminal {
            Terminal::Regular(term) if self.owner.is_some() && self.terms.is_nullable(term) => {
                let empty = self.terms.epsilon();
                let not_empty = self.terms.complement(empty);
                Some(self.terms.intersection(&[term, not_empty]))
            }
            _ => None,
        };
        let terminal = match nonempty {
            Some(term) => self.pattern_at(term, id, node),
            None => self.terminal_at(id, node),
        };
        let written = terminal.map(|terminal| vec![LexedSymbol::Terminal(terminal)]);
        written.into_iter().chain(nonempty.map(|_| Vec::new())).collect()
    }

    /// The terminal for a string or pattern in a rule; `None`, after a report, if it is not supported.
    fn terminal_at(&mut self, id: TerminalId, node: NodeId) -> Option<TerminalId> {
        let definition = &self.grammar.terminals()[id.index()];
        match &definition.terminal {
            Terminal::Literal(text) => {
                if let Some(&id) = self.terminals.by_text.get(&**text) {
                    return self.use_at(id, node);
                }
                let name = Arc::from(quote_bytes(text));
                let id =
                    self.add_terminal(name, TerminalPattern::Literal(text.to_vec()), 0, TerminalRole::Parsed);
                self.use_at(id, node)
            }
            &Terminal::Regular(term) => self.pattern_at(term, id, node),
            _ => {
                self.report_unsupported_terminal(id, node);
                None
            }
        }
    }

    /// The terminal for a pattern in a rule with the language of `term`.
    fn pattern_at(&mut self, term: TermId, id: TerminalId, node: NodeId) -> Option<TerminalId> {
        if let Some(&id) = self.terminals.by_term.get(&term) {
            return self.use_at(id, node);
        }
        let label = self.grammar.terminals()[id.index()].label.clone();
        let span = self.grammar.span(node);
        if self.options.inline_patterns == InlinePatterns::Refuse {
            let message = format!("the characters `{label}` occur outside of terminals");
            let help = "declare the rule for the lexeme with `%terminal`";
            self.report(Code::UnsupportedGrammar, message, span, help);
            return None;
        }
        let pattern = self.terminal_pattern(term, &label, span)?;
        let id = match &pattern {
            TerminalPattern::Literal(text) => self.terminals.by_text.get(text).copied(),
            _ => None,
        };
        let id = id.unwrap_or_else(|| self.add_terminal(label, pattern, 0, TerminalRole::Parsed));
        self.terminals.by_term.insert(term, id);
        self.use_at(id, node)
    }

    /// Warnings about terminals that occur in no rule.
    pub(super) fn unused_terminals(&self) -> Vec<Diagnostic> {
        let mut warnings: Vec<Diagnostic> = Vec::new();
        for (&symbol, &id) in &self.terminals.by_symbol {
            let TerminalDraft { name, role, .. } = &self.terminals.list[id.index()];
            if *role == TerminalRole::Parsed && !self.terminals.list[id.index()].is_used {
                let message = format!("no rule uses the terminal `{name}`, so the lexer does not match it");
                let help = format!("remove it, or write `%refuse {name}` if no text may have it");
                let warning = Diagnostic::warning(Code::UnusedRule, message);
                warnings.push(warning.at(self.declared[&symbol].span).help(help));
            }
        }
        warnings.sort_by_key(|warning| warning.span.map_or(usize::MAX, |span| span.start));
        warnings
    }
}
