//! Builds a [`Grammar`] bottom up: terminals and nodes are interned as they are made.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{
    Definition, Grammar, Node, NodeId, NonterminalDefinition, NonterminalId, Span, Terminal,
    TerminalDefinition, TerminalId,
};
use crate::automata::Terms;

/// Collects definitions; [`finish`](GrammarBuilder::finish) makes the grammar.
///
/// ```
/// use grammask::grammar::{GrammarBuilder, Span};
/// let mut builder = GrammarBuilder::new("");
/// let start = builder.nonterminal("start", Span::default());
/// let a = builder.literal(b"a", Span::default());
/// let many = builder.repeat(a, 1, None, Span::default());
/// builder.define(start, many, Span::default());
/// assert_eq!(builder.finish(start).to_string(), "start ::= \"a\"+;\n");
/// ```
#[derive(Debug)]
pub struct GrammarBuilder {
    terms: Terms,
    terminals: Vec<TerminalDefinition>,
    terminal_ids: FxHashMap<Terminal, TerminalId>,
    nonterminals: Vec<NonterminalDefinition>,
    nonterminal_ids: FxHashMap<Arc<str>, NonterminalId>,
    nodes: Vec<Node>,
    spans: Vec<Span>,
    definitions: Vec<Definition>,
    source: Arc<str>,
}

impl GrammarBuilder {
    /// A builder for a grammar written in `source`.
    #[must_use]
    pub fn new(source: &str) -> Self {
        Self::with_terms(source, Terms::new())
    }

    /// A builder for a grammar written in `source`, some of whose languages have been made already.
    #[must_use]
    pub fn with_terms(source: &str, terms: Terms) -> Self {
        Self {
            terms,
            terminals: Vec::new(),
            terminal_ids: FxHashMap::default(),
            nonterminals: Vec::new(),
            nonterminal_ids: FxHashMap::default(),
            nodes: Vec::new(),
            spans: Vec::new(),
            definitions: Vec::new(),
            source: Arc::from(source),
        }
    }

    /// The arena in which the regular languages of terminals are made.
    pub fn terms(&mut self) -> &mut Terms {
        &mut self.terms
    }

    /// How many nodes there are; front ends compare it with [`Limits::grammar_size`](crate::Limits).
    #[must_use]
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// The nonterminal called `name`, new on first use.
    pub fn nonterminal(&mut self, name: &str, span: Span) -> NonterminalId {
        if let Some(&id) = self.nonterminal_ids.get(name) {
            return id;
        }
        let id = NonterminalId::new(self.nonterminals.len());
        let name: Arc<str> = Arc::from(name);
        self.nonterminals.push(NonterminalDefinition { name: name.clone(), span, defined: false });
        self.nonterminal_ids.insert(name, id);
        id
    }

    /// Adds `lhs ::= body`.
    pub fn define(&mut self, lhs: NonterminalId, body: NodeId, span: Span) {
        let definition = &mut self.nonterminals[lhs.index()];
        if !definition.defined {
            definition.defined = true;
            definition.span = span;
        }
        self.definitions.push(Definition { lhs, body, span });
    }

    /// A leaf that matches `terminal`, written `label` in the grammar.
    pub fn terminal(&mut self, terminal: Terminal, label: &str, span: Span) -> NodeId {
        let id = *self.terminal_ids.entry(terminal.clone()).or_insert_with(|| {
            self.terminals.push(TerminalDefinition { terminal, label: Arc::from(label) });
            TerminalId::new(self.terminals.len() - 1)
        });
        self.node(Node::Terminal(id), span)
    }

    /// A leaf that matches exactly `bytes`.
    pub fn literal(&mut self, bytes: &[u8], span: Span) -> NodeId {
        let label = super::quote_bytes(bytes);
        self.terminal(Terminal::Literal(bytes.into()), &label, span)
    }

    /// A reference to a nonterminal.
    pub fn reference(&mut self, nonterminal: NonterminalId, span: Span) -> NodeId {
        self.node(Node::Nonterminal(nonterminal), span)
    }

    /// All of `parts` in order; a single part is itself.
    pub fn sequence(&mut self, parts: Vec<NodeId>, span: Span) -> NodeId {
        match parts[..] {
            [only] => only,
            _ => self.node(Node::Sequence(parts.into()), span),
        }
    }

    /// One of `parts`, of which there is at least one; a single part is itself.
    pub fn choice(&mut self, parts: Vec<NodeId>, span: Span) -> NodeId {
        match parts[..] {
            [only] => only,
            _ => self.node(Node::Choice(parts.into()), span),
        }
    }

    /// `min` to `max` copies of `node`.
    pub fn repeat(&mut self, node: NodeId, min: u32, max: Option<u32>, span: Span) -> NodeId {
        self.node(Node::Repeat { node, min, max }, span)
    }

    fn node(&mut self, node: Node, span: Span) -> NodeId {
        self.nodes.push(node);
        self.spans.push(span);
        NodeId::new(self.nodes.len() - 1)
    }

    /// The grammar with start symbol `start`. Undefined symbols are found by lowering, which reports them all.
    #[must_use]
    pub fn finish(self, start: NonterminalId) -> Grammar {
        Grammar {
            terms: self.terms,
            terminals: self.terminals,
            nonterminals: self.nonterminals,
            nodes: self.nodes,
            spans: self.spans,
            definitions: self.definitions,
            start,
            source: self.source,
        }
    }
}
