//! The oracle for remembered values: all leftmost derivations of a text, each with its environments.
//!
//! It follows the definition: a derivation is a stack of what is still to be read, with a set of values for each open
//! scope and the text of each open value. A text is a viable prefix if a search from one of its derivations finds a
//! complete text. Nothing is shared with the recogniser but the derivatives of terminals. The grammars must not be left
//! recursive.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use grammask_automata::{TermId, Terms};
use grammask_grammar::{Grammar, Node, NodeId, Terminal, ValueCondition, ValueEquality, ValueKind};

/// What is still to be read, in a derivation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Goal {
    Node(NodeId),
    Copies(NodeId, u32, Option<u32>),
    Word(TermId),
    EndScope,
    EndValue(ValueCondition),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Derivation {
    /// The next goal last.
    goals: Vec<Goal>,
    scopes: Vec<BTreeSet<String>>,
    values: Vec<Vec<u8>>,
}

/// A grammar with values.
pub struct ValueOracle<'g> {
    grammar: &'g Grammar,
    terms: RefCell<Terms>,
    bytes: Vec<u8>,
    live: RefCell<HashMap<Derivation, bool>>,
    max_search: usize,
}

/// The derivations of a text, before their next byte.
#[derive(Clone)]
pub struct Derivations(BTreeSet<Derivation>);

impl<'g> ValueOracle<'g> {
    /// An oracle for texts of these bytes.
    pub fn new(grammar: &'g Grammar, bytes: &[u8], max_search: usize) -> Self {
        let terms = RefCell::new(grammar.terms().clone());
        Self { grammar, terms, bytes: bytes.to_vec(), live: RefCell::default(), max_search }
    }

    pub fn start(&self) -> Derivations {
        let goals = self.bodies(self.grammar.start().index());
        let starts = goals.map(|body| Derivation { goals: vec![Goal::Node(body)], ..Derivation::default() });
        Derivations(self.expand(starts.collect()))
    }

    pub fn is_complete(&self, derivations: &Derivations) -> bool {
        derivations.0.iter().any(|derivation| derivation.goals.is_empty())
    }

    /// The derivations after a byte; `None` if the text is no viable prefix.
    pub fn step(&self, derivations: &Derivations, byte: u8) -> Option<Derivations> {
        let next = self.read(&derivations.0, byte);
        let next: BTreeSet<Derivation> = next.into_iter().filter(|next| self.is_live(next)).collect();
        (!next.is_empty()).then_some(Derivations(next))
    }

    fn read(&self, derivations: &BTreeSet<Derivation>, byte: u8) -> BTreeSet<Derivation> {
        let mut next = Vec::new();
        for derivation in derivations {
            let mut derivation = derivation.clone();
            let Some(Goal::Word(term)) = derivation.goals.pop() else { continue };
            let after = self.terms.borrow_mut().derivative(term, byte);
            derivation.goals.push(Goal::Word(after));
            derivation.values.iter_mut().for_each(|text| text.push(byte));
            next.push(derivation);
        }
        self.expand(next)
    }

    /// A breadth-first search for a complete text.
    fn is_live(&self, derivation: &Derivation) -> bool {
        if let Some(&known) = self.live.borrow().get(derivation) {
            return known;
        }
        let mut visited = HashSet::from([derivation.clone()]);
        let mut level = BTreeSet::from([derivation.clone()]);
        let mut found = false;
        while !level.is_empty() && !found {
            let mut next_level = BTreeSet::new();
            for derivation in &level {
                if derivation.goals.is_empty() || self.live.borrow().get(derivation) == Some(&true) {
                    found = true;
                    break;
                }
                for &byte in &self.bytes {
                    for next in self.read(&BTreeSet::from([derivation.clone()]), byte) {
                        if visited.insert(next.clone()) {
                            next_level.insert(next);
                        }
                    }
                }
            }
            assert!(visited.len() < self.max_search, "the search of the oracle is too long");
            level = next_level;
        }
        self.live.borrow_mut().insert(derivation.clone(), found);
        found
    }

    /// All derivations whose next goal is a nonempty word, or that are complete.
    fn expand(&self, mut agenda: Vec<Derivation>) -> BTreeSet<Derivation> {
        let mut expanded = BTreeSet::new();
        while let Some(mut derivation) = agenda.pop() {
            let Some(goal) = derivation.goals.pop() else {
                expanded.insert(derivation);
                continue;
            };
            match goal {
                Goal::Word(term) => {
                    let terms = self.terms.borrow();
                    if terms.is_nullable(term) {
                        agenda.push(derivation.clone());
                    }
                    derivation.goals.push(goal);
                    expanded.insert(derivation);
                }
                Goal::Copies(node, min, max) => {
                    if min == 0 {
                        agenda.push(derivation.clone());
                    }
                    if max != Some(0) {
                        let rest = Goal::Copies(node, min.saturating_sub(1), max.map(|max| max - 1));
                        derivation.goals.extend([rest, Goal::Node(node)]);
                        agenda.push(derivation);
                    }
                }
                Goal::EndScope => {
                    derivation.scopes.pop();
                    agenda.push(derivation);
                }
                Goal::EndValue(condition) => {
                    let text = derivation.values.pop().expect("a value was begun");
                    let value = value_of(&text, condition.equality);
                    let scope = derivation.scopes.last_mut().expect("values are in scopes");
                    let is_allowed = match condition.kind {
                        ValueKind::Fresh => scope.insert(value),
                        ValueKind::Repeated => scope.contains(&value),
                    };
                    if is_allowed {
                        agenda.push(derivation);
                    }
                }
                Goal::Node(node) => self.expand_node(node, derivation, &mut agenda),
            }
        }
        expanded
    }

    fn expand_node(&self, node: NodeId, mut derivation: Derivation, agenda: &mut Vec<Derivation>) {
        match &self.grammar.nodes()[node.index()] {
            Node::Terminal(id) => {
                let term = match &self.grammar.terminals()[id.index()].terminal {
                    Terminal::Literal(bytes) => self.terms.borrow_mut().literal(bytes),
                    Terminal::Regular(term) => *term,
                    other => unreachable!("no generated grammar has {other:?}"),
                };
                derivation.goals.push(Goal::Word(term));
                agenda.push(derivation);
            }
            Node::Nonterminal(id) => {
                for body in self.bodies(id.index()) {
                    let mut derivation = derivation.clone();
                    derivation.goals.push(Goal::Node(body));
                    agenda.push(derivation);
                }
            }
            Node::Sequence(parts) => {
                derivation.goals.extend(parts.iter().rev().map(|&part| Goal::Node(part)));
                agenda.push(derivation);
            }
            Node::Choice(parts) => {
                for &part in parts {
                    let mut derivation = derivation.clone();
                    derivation.goals.push(Goal::Node(part));
                    agenda.push(derivation);
                }
            }
            Node::Repeat { node, min, max } => {
                derivation.goals.push(Goal::Copies(*node, *min, *max));
                agenda.push(derivation);
            }
            Node::Scope(node) => {
                derivation.goals.extend([Goal::EndScope, Goal::Node(*node)]);
                derivation.scopes.push(BTreeSet::new());
                agenda.push(derivation);
            }
            Node::Value { node, condition } => {
                derivation.goals.extend([Goal::EndValue(*condition), Goal::Node(*node)]);
                derivation.values.push(Vec::new());
                agenda.push(derivation);
            }
            Node::Selection { .. } => unreachable!("no generated grammar has a selection"),
        }
    }

    fn bodies(&self, nonterminal: usize) -> impl Iterator<Item = NodeId> {
        let definitions = self.grammar.definitions().iter();
        definitions.filter(move |definition| definition.lhs.index() == nonterminal).map(|definition| definition.body)
    }
}

/// A text that equal values have in common.
fn value_of(text: &[u8], equality: ValueEquality) -> String {
    match equality {
        ValueEquality::Bytes => format!("{text:?}"),
        ValueEquality::Json => match serde_json::from_slice(text) {
            Ok(value) => canonical(&value),
            Err(_) => format!("text {text:?}"),
        },
    }
}

fn canonical(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Number(number) => format!("{:?}", number.as_f64().expect("a finite number") + 0.0),
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(members) => {
            let mut members: Vec<String> =
                members.iter().map(|(name, value)| format!("{name:?}:{}", canonical(value))).collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_string(),
    }
}
