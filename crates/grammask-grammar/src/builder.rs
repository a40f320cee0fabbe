//! Builds a [`Grammar`] bottom up. Terminals and nonterminals are interned.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{
    Binding, BindingKind, Definition, EmbeddedId, EmbeddedTexts, Grammar, Node, NodeId,
    NonterminalDefinition, NonterminalId, Selection, Span, Terminal, TerminalDefinition, TerminalId,
    ValueCondition, ValueEquality, ValueKind, ValueSupply,
};
use grammask_automata::{TermId, Terms};

/// Builder of a [`Grammar`]; [`finish`](GrammarBuilder::finish) returns it.
///
/// ```
/// use grammask_diagnostics::Span;
/// use grammask_grammar::GrammarBuilder;
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
    embedded: Vec<EmbeddedTexts>,
    source: Arc<str>,
    /// The source texts of grafted grammars.
    grafted: String,
    /// The last suffix that made each name unique.
    name_suffixes: FxHashMap<Arc<str>, usize>,
}

impl GrammarBuilder {
    /// A builder for a grammar with the source text `source`.
    #[must_use]
    pub fn new(source: &str) -> Self {
        Self::with_terms(source, Terms::new())
    }

    /// A builder for a grammar with the source text `source`, with an existing arena of terms.
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
            embedded: Vec::new(),
            source: Arc::from(source),
            grafted: String::new(),
            name_suffixes: FxHashMap::default(),
        }
    }

    /// The arena of the terminals' languages.
    pub fn terms(&mut self) -> &mut Terms {
        &mut self.terms
    }

    /// The arena of the terminals' languages, for reading.
    #[must_use]
    pub fn terms_so_far(&self) -> &Terms {
        &self.terms
    }

    /// Number of nodes, which front ends compare with [`Limits::grammar_size`](grammask_diagnostics::Limits).
    #[must_use]
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// The nonterminal called `name`; made on first use.
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

    /// A node of `terminal`, whose notation in the grammar is `label`.
    pub fn terminal(&mut self, terminal: Terminal, label: &str, span: Span) -> NodeId {
        let id = *self.terminal_ids.entry(terminal.clone()).or_insert_with(|| {
            self.terminals.push(TerminalDefinition { terminal, label: Arc::from(label) });
            TerminalId::new(self.terminals.len() - 1)
        });
        self.node(Node::Terminal(id), span)
    }

    /// A node of the terminal `bytes`.
    pub fn literal(&mut self, bytes: &[u8], span: Span) -> NodeId {
        let label = super::quote_bytes(bytes);
        self.terminal(Terminal::Literal(bytes.into()), &label, span)
    }

    /// A new embedded grammar. Embedded grammars are numbered in the order in which they are added, here or by grafts.
    pub fn embed(&mut self, texts: EmbeddedTexts) -> EmbeddedId {
        self.embedded.push(texts);
        EmbeddedId::new(self.embedded.len() - 1)
    }

    /// A reference to a nonterminal.
    pub fn reference(&mut self, nonterminal: NonterminalId, span: Span) -> NodeId {
        self.node(Node::Nonterminal(nonterminal), span)
    }

    /// The sequence of `parts`; the part itself if there is one.
    pub fn sequence(&mut self, parts: Vec<NodeId>, span: Span) -> NodeId {
        match parts[..] {
            [only] => only,
            _ => self.node(Node::Sequence(parts.into()), span),
        }
    }

    /// The choice of `parts`, which must not be empty; the part itself if there is one.
    pub fn choice(&mut self, parts: Vec<NodeId>, span: Span) -> NodeId {
        match parts[..] {
            [only] => only,
            _ => self.node(Node::Choice(parts.into()), span),
        }
    }

    /// `min` to `max` name_suffixes of `node`.
    pub fn repeat(&mut self, node: NodeId, min: u32, max: Option<u32>, span: Span) -> NodeId {
        self.node(Node::Repeat { node, min, max }, span)
    }

    /// A selection of `parts`, with `separator` between them. Each of them must derive a finite text and not the
    /// empty one.
    pub fn selection(
        &mut self,
        selection: Arc<Selection>,
        parts: Vec<NodeId>,
        separator: NodeId,
        span: Span,
    ) -> NodeId {
        self.node(Node::Selection { selection, parts: parts.into(), separator }, span)
    }

    /// A text of `node` with a set of remembered values of its own. See [`values`](super::values).
    pub fn scope(&mut self, node: NodeId, span: Span) -> NodeId {
        self.node(Node::Scope(node), span)
    }

    /// A text of `node` whose value is not remembered in the innermost scope, and is from there on. See
    /// [`values`](super::values).
    pub fn fresh(&mut self, node: NodeId, equality: ValueEquality, span: Span) -> NodeId {
        self.value(node, ValueCondition::plain(ValueKind::Fresh, equality, ValueSupply::Unknown), span)
    }

    /// A text of `node` whose value is remembered in the innermost scope. See [`values`](super::values).
    pub fn repeated(&mut self, node: NodeId, equality: ValueEquality, span: Span) -> NodeId {
        self.value(node, ValueCondition::plain(ValueKind::Repeated, equality, ValueSupply::Unknown), span)
    }

    /// A text of `node` whose value satisfies the condition. See [`values`](super::values).
    pub fn value(&mut self, node: NodeId, condition: ValueCondition, span: Span) -> NodeId {
        self.node(Node::Value { node, condition }, span)
    }

    /// A text of `node`, the operand, that is bound to a name of the innermost scope, or compared with the bound one. See
    /// [`bindings`](super::bindings).
    pub fn binding(&mut self, kind: BindingKind, name: &str, node: Option<NodeId>, span: Span) -> NodeId {
        self.node(Node::Binding(Binding { kind, name: Arc::from(name), node }), span)
    }

    /// A scope around `node` if it binds names outside of inner scopes and rules.
    pub fn scope_of_bindings(&mut self, node: NodeId, span: Span) -> NodeId {
        let mut stack = vec![node];
        while let Some(inner) = stack.pop() {
            match self.node_at(inner) {
                Node::Binding(Binding { kind: BindingKind::Bind, .. }) => return self.scope(node, span),
                Node::Scope(_) | Node::Binding(_) => {}
                inner => stack.extend(inner.children()),
            }
        }
        node
    }

    /// A new nonterminal called `name`, with a full stop and a number if the name is taken.
    pub fn fresh_nonterminal(&mut self, name: &str, span: Span) -> NonterminalId {
        if !self.nonterminal_ids.contains_key(name) {
            return self.nonterminal(name, span);
        }
        let mut name_suffixes = self.name_suffixes.get(name).copied().unwrap_or(1);
        let distinct = loop {
            name_suffixes += 1;
            let distinct = format!("{name}.{name_suffixes}");
            if !self.nonterminal_ids.contains_key(&*distinct) {
                break distinct;
            }
        };
        self.name_suffixes.insert(Arc::from(name), name_suffixes);
        self.nonterminal(&distinct, span)
    }

    /// Adds a copy of `grammar` with fresh nonterminals; returns a reference to its start symbol.
    ///
    /// Its source text is appended to this one, and its spans are shifted accordingly. Its embedded grammars are
    /// numbered after those added so far. Cost: linear in the grammar.
    pub fn graft(&mut self, grammar: &Grammar) -> NodeId {
        let shift = self.append_source(grammar.source());
        let moved = |span: Span| Span::new(span.start + shift, span.end + shift);
        let roots: Vec<TermId> = grammar
            .terminals()
            .iter()
            .filter_map(|definition| match definition.terminal {
                Terminal::Regular(term) | Terminal::Limited { term, .. } => Some(term),
                _ => None,
            })
            .collect();
        let terms = self.terms.import_terms(grammar.terms(), &roots);
        let nonterminals: Vec<NonterminalId> = grammar
            .nonterminals()
            .iter()
            .map(|definition| self.fresh_nonterminal(&definition.name, moved(definition.span)))
            .collect();
        let first = self.nodes.len();
        let first_embedded = self.embedded.len();
        self.embedded.extend_from_slice(&grammar.embedded);
        let shifted = |node: NodeId| NodeId::new(node.index() + first);
        for (node, &span) in grammar.nodes().iter().zip(&grammar.spans) {
            let span = moved(span);
            match node {
                Node::Terminal(id) => {
                    let TerminalDefinition { terminal, label } = &grammar.terminals()[id.index()];
                    let terminal = match terminal {
                        Terminal::Regular(term) => Terminal::Regular(terms[term]),
                        &Terminal::Limited { term, tokens } => {
                            Terminal::Limited { term: terms[&term], tokens }
                        }
                        &Terminal::Embedded { grammar, tokens } => Terminal::Embedded {
                            grammar: EmbeddedId::new(grammar.index() + first_embedded),
                            tokens,
                        },
                        other => other.clone(),
                    };
                    self.terminal(terminal, label, span);
                }
                Node::Nonterminal(id) => {
                    self.reference(nonterminals[id.index()], span);
                }
                _ => {
                    self.node(node.map_children(shifted), span);
                }
            }
        }
        for definition in grammar.definitions() {
            self.define(
                nonterminals[definition.lhs.index()],
                shifted(definition.body),
                moved(definition.span),
            );
        }
        let start = nonterminals[grammar.start().index()];
        self.reference(start, self.nonterminals[start.index()].span)
    }

    /// Appends the source text of a grafted grammar on a new line; returns its offset.
    fn append_source(&mut self, text: &str) -> usize {
        if !(self.grafted.is_empty() && self.source.is_empty()) {
            self.grafted.push('\n');
        }
        let start = self.source.len() + self.grafted.len();
        self.grafted.push_str(text);
        start
    }

    /// The definitions added so far.
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// The node with this id.
    #[must_use]
    pub fn node_at(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    /// The terminal with this id.
    #[must_use]
    pub fn terminal_at(&self, terminal: TerminalId) -> &Terminal {
        &self.terminals[terminal.index()].terminal
    }

    /// The terminal with this id, and its label.
    pub(crate) fn definition_of(&self, terminal: TerminalId) -> &TerminalDefinition {
        &self.terminals[terminal.index()]
    }

    /// The name of a nonterminal.
    pub(crate) fn rule_name(&self, rule: NonterminalId) -> &str {
        &self.nonterminals[rule.index()].name
    }

    /// The texts of an embedded grammar.
    pub(crate) fn texts_of(&self, embedded: EmbeddedId) -> EmbeddedTexts {
        self.embedded[embedded.index()]
    }

    fn node(&mut self, node: Node, span: Span) -> NodeId {
        self.nodes.push(node);
        self.spans.push(span);
        NodeId::new(self.nodes.len() - 1)
    }

    /// The grammar with start symbol `start`. Lowering reports undefined symbols, all together.
    #[must_use]
    pub fn finish(self, start: NonterminalId) -> Grammar {
        Grammar {
            terms: self.terms,
            terminals: self.terminals,
            nonterminals: self.nonterminals,
            nodes: self.nodes,
            spans: self.spans,
            definitions: self.definitions,
            embedded: self.embedded,
            start,
            places: None,
            source: match self.grafted.is_empty() {
                true => self.source,
                false => Arc::from(format!("{}{}", self.source, self.grafted)),
            },
        }
    }
}
