//! Pass: groups, options and repetitions inside a right-hand side become nonterminals of their own.
//!
//! `list ::= "a" ("," "a")*;` becomes `list ::= "a" list.repeat1; list.repeat1 ::= list.group1*;
//! list.group1 ::= "," "a";`. Generated names contain a full stop, which names of
//! the user do not.

use std::collections::VecDeque;
use std::sync::Arc;

use super::merged_parts::Merges;
use super::productions::{Body, LoweredRule, Productions, Symbol};
use grammask_automata::Automata;
use grammask_grammar::{Grammar, Node, NodeId, NonterminalId};

/// Converts right-hand sides to productions. All definitions of a nonterminal must be grouped.
#[must_use]
pub fn flatten_nesting(grammar: &Grammar, automaton_states: usize) -> Productions {
    let rules = grammar
        .nonterminals
        .iter()
        .map(|definition| LoweredRule { name: definition.name.clone(), body: Body::Alternatives(Vec::new()) })
        .collect();
    let productions = Productions {
        automata: Automata::new(grammar.terms.clone(), automaton_states),
        terminals: grammar.terminals.clone(),
        merges: Merges::default(),
        embedded: grammar.embedded.clone(),
        rules,
        start: grammar.start,
        start_is_nullable: false,
    };
    let count = productions.rules.len();
    let mut flattener = NestingFlattener {
        nodes: &grammar.nodes,
        symbols: vec![None; grammar.nodes.len()],
        productions,
        owners: (0..count).map(NonterminalId::new).collect(),
        generated: vec![0; count],
        pending: VecDeque::new(),
    };
    for definition in &grammar.definitions {
        flattener.flatten(definition.lhs, definition.body);
        while let Some((lhs, body)) = flattener.pending.pop_front() {
            flattener.flatten(lhs, body);
        }
    }
    flattener.productions
}

struct NestingFlattener<'a> {
    nodes: &'a [Node],
    /// The symbol of each node that has one.
    symbols: Vec<Option<Symbol>>,
    productions: Productions,
    /// For each nonterminal the user's nonterminal from which it was generated.
    owners: Vec<NonterminalId>,
    /// Number of generated names for each of the user's nonterminals.
    generated: Vec<u32>,
    pending: VecDeque<(NonterminalId, NodeId)>,
}

impl NestingFlattener<'_> {
    /// Sets the body of `lhs` to that of `node`.
    fn flatten(&mut self, lhs: NonterminalId, node: NodeId) {
        let owner = self.owners[lhs.index()];
        let body = match &self.nodes[node.index()] {
            Node::Repeat { node, min, max } => {
                Body::Repeat { symbol: self.symbol(*node, owner), min: *min, max: *max }
            }
            Node::Choice(parts) => {
                Body::Alternatives(parts.iter().map(|&part| self.sequence(part, owner)).collect())
            }
            Node::Selection { selection, parts, separator } => Body::Selection {
                selection: selection.clone(),
                parts: parts.iter().map(|&part| self.symbol(part, owner)).collect(),
                separator: self.symbol(*separator, owner),
            },
            Node::Scope(node) => Body::Scope(self.symbol(*node, owner)),
            Node::Value { node, condition } => {
                Body::Value { symbol: self.symbol(*node, owner), condition: condition.clone() }
            }
            _ => Body::Alternatives(vec![self.sequence(node, owner)]),
        };
        self.productions.rules[lhs.index()].body = body;
    }

    fn sequence(&mut self, node: NodeId, owner: NonterminalId) -> Vec<Symbol> {
        match &self.nodes[node.index()] {
            Node::Sequence(parts) => parts.iter().map(|&part| self.symbol(part, owner)).collect(),
            _ => vec![self.symbol(node, owner)],
        }
    }

    fn symbol(&mut self, node: NodeId, owner: NonterminalId) -> Symbol {
        if let Some(symbol) = self.symbols[node.index()] {
            return symbol;
        }
        let kind = match &self.nodes[node.index()] {
            Node::Terminal(id) => return Symbol::Terminal(*id),
            Node::Nonterminal(id) => return Symbol::Nonterminal(*id),
            Node::Sequence(_) | Node::Choice(_) | Node::Binding(_) => "group",
            Node::Repeat { min: 0, max: Some(1), .. } => "option",
            Node::Repeat { .. } => "repeat",
            Node::Selection { .. } => "selection",
            Node::Scope(_) => "scope",
            Node::Value { .. } => "value",
        };
        let number = &mut self.generated[owner.index()];
        *number += 1;
        let name: Arc<str> = format!("{}.{kind}{number}", self.productions.rules[owner.index()].name).into();
        let id = self.productions.add_rule(name, Body::Alternatives(Vec::new()));
        self.owners.push(owner);
        self.pending.push_back((id, node));
        let symbol = Symbol::Nonterminal(id);
        self.symbols[node.index()] = Some(symbol);
        symbol
    }
}
