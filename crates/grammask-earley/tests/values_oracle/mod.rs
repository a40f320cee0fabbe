//! The oracle for remembered values and bindings: all leftmost derivations of a text, each with its environments.
//!
//! It follows the definition: a derivation is a stack of what is still to be read, with a set of values for each open
//! scope and the text of each open value. A text is a viable prefix if a search from one of its derivations finds a
//! complete text. Nothing is shared with the recogniser but the derivatives of terminals. The grammars must not be left
//! recursive.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

use grammask_automata::{TermId, Terms};
use grammask_grammar::{BindingKind, Grammar, Node, NodeId, PartId, Terminal, ValueEquality, ValueKind};

/// What is still to be read, in a derivation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Goal {
    Node(NodeId),
    Copies(NodeId, u32, Option<u32>),
    /// The rest of a selection, after these parts.
    Parts(NodeId, Vec<PartId>),
    Word(TermId),
    EndScope,
    EndValue(NodeId),
    /// The end of the operand of a binding.
    EndOperand(NodeId),
}

/// What a scope remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct ScopeMemory {
    values: BTreeSet<String>,
    bound: BTreeMap<Arc<str>, Vec<u8>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Derivation {
    /// The next goal last.
    goals: Vec<Goal>,
    scopes: Vec<ScopeMemory>,
    values: Vec<Vec<u8>>,
}

/// A grammar with values.
pub struct ValueOracle<'g> {
    grammar: &'g Grammar,
    terms: RefCell<Terms>,
    bytes: Vec<u8>,
    live: RefCell<HashMap<Derivation, bool>>,
    words: RefCell<HashMap<TermId, bool>>,
    max_search: usize,
    /// Whether some search took too long, so that the results are not reliable.
    pub has_given_up: Cell<bool>,
}

/// The search assumes that each viable prefix has a completion of at most this number of bytes, and of a multiple of the
/// open and bound texts.
const MAX_COMPLETION: usize = 48;

/// The derivations of a text, before their next byte.
#[derive(Clone)]
pub struct Derivations(BTreeSet<Derivation>);

impl<'g> ValueOracle<'g> {
    /// An oracle for texts of these bytes.
    pub fn new(grammar: &'g Grammar, bytes: &[u8], max_search: usize) -> Self {
        let terms = RefCell::new(grammar.terms().clone());
        Self {
            grammar,
            terms,
            bytes: bytes.to_vec(),
            live: RefCell::default(),
            words: RefCell::default(),
            max_search,
            has_given_up: Cell::new(false),
        }
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
            if !self.has_words(after) {
                continue;
            }
            derivation.goals.push(Goal::Word(after));
            derivation.values.iter_mut().for_each(|text| text.push(byte));
            next.push(derivation);
        }
        self.expand(next)
    }

    /// A search for a complete text; derivations with few goals are followed first.
    fn is_live(&self, derivation: &Derivation) -> bool {
        if let Some(&known) = self.live.borrow().get(derivation) {
            return known;
        }
        let mut visited = HashSet::from([derivation.clone()]);
        let mut queue = BinaryHeap::from([Reverse((0, 0, derivation.clone()))]);
        let mut found = false;
        let bound = derivation.scopes.iter().flat_map(|scope| scope.bound.values());
        let texts: usize = derivation.values.iter().chain(bound).map(Vec::len).sum();
        let max_length = MAX_COMPLETION + 8 * texts;
        while let Some(Reverse((_, length, current))) = queue.pop() {
            if current.goals.is_empty() || self.live.borrow().get(&current) == Some(&true) {
                found = true;
                break;
            }
            if length == max_length {
                continue;
            }
            for &byte in &self.bytes {
                for next in self.read(&BTreeSet::from([current.clone()]), byte) {
                    if visited.insert(next.clone()) {
                        queue.push(Reverse((length + 1 + 4 * next.goals.len(), length + 1, next)));
                    }
                }
            }
            if visited.len() > self.max_search {
                self.has_given_up.set(true);
                break;
            }
        }
        self.live.borrow_mut().insert(derivation.clone(), found);
        found
    }

    /// Whether a language is not empty.
    fn has_words(&self, term: TermId) -> bool {
        if let Some(&known) = self.words.borrow().get(&term) {
            return known;
        }
        let (mut visited, mut stack) = (HashSet::from([term]), vec![term]);
        let mut found = false;
        while let Some(term) = stack.pop()
            && !found
        {
            found = self.terms.borrow().is_nullable(term);
            for &byte in &self.bytes {
                let next = self.terms.borrow_mut().derivative(term, byte);
                if visited.insert(next) {
                    stack.push(next);
                }
            }
        }
        self.words.borrow_mut().insert(term, found);
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
                Goal::Parts(node, occurred) => self.expand_parts(node, &occurred, derivation, &mut agenda),
                Goal::EndScope => {
                    derivation.scopes.pop();
                    agenda.push(derivation);
                }
                Goal::EndValue(node) => {
                    let Node::Value { condition, .. } = &self.grammar.nodes()[node.index()] else {
                        unreachable!("the goal is that of a value");
                    };
                    let text = derivation.values.pop().expect("a value was begun");
                    let value = value_of(&text, condition.equality);
                    let scope = derivation.scopes.last_mut().expect("values are in scopes");
                    let is_allowed = match condition.kind {
                        ValueKind::Fresh => scope.values.insert(value),
                        ValueKind::Repeated => scope.values.contains(&value),
                        ValueKind::Bound | ValueKind::Different | ValueKind::Unprefixed => {
                            unreachable!("the generated grammars have bindings in their place")
                        }
                    };
                    if is_allowed {
                        agenda.push(derivation);
                    }
                }
                Goal::EndOperand(node) => {
                    let text = derivation.values.pop().expect("an operand was begun");
                    let scope = derivation.scopes.last_mut().expect("bindings are in scopes");
                    let Node::Binding(binding) = &self.grammar.nodes()[node.index()] else {
                        unreachable!("the goal is that of a binding");
                    };
                    let bound = scope.bound.get(&binding.name);
                    let is_allowed = match binding.kind {
                        BindingKind::Same | BindingKind::Bind => true,
                        BindingKind::Other => bound.is_some_and(|bound| *bound != text),
                        BindingKind::WithoutPrefix => bound.is_some_and(|bound| !text.starts_with(bound)),
                    };
                    if binding.kind == BindingKind::Bind {
                        scope.bound.insert(binding.name.clone(), text);
                    }
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
                derivation.scopes.push(ScopeMemory::default());
                agenda.push(derivation);
            }
            Node::Value { node: inside, .. } => {
                derivation.goals.extend([Goal::EndValue(node), Goal::Node(*inside)]);
                derivation.values.push(Vec::new());
                agenda.push(derivation);
            }
            Node::Binding(binding) => match binding.node {
                Some(operand) => {
                    derivation.goals.extend([Goal::EndOperand(node), Goal::Node(operand)]);
                    derivation.values.push(Vec::new());
                    agenda.push(derivation);
                }
                None => {
                    let bound =
                        derivation.scopes.last().expect("bindings are in scopes").bound.get(&binding.name);
                    if let Some(bound) = bound {
                        let word = self.terms.borrow_mut().literal(bound);
                        derivation.goals.push(Goal::Word(word));
                        agenda.push(derivation);
                    }
                }
            },
            Node::Selection { parts, .. } => {
                for part in (0..parts.len()).map(PartId::new) {
                    let mut derivation = derivation.clone();
                    derivation.goals.extend([Goal::Parts(node, vec![part]), Goal::Node(parts[part.index()])]);
                    agenda.push(derivation);
                }
            }
        }
    }

    /// What can follow some parts of a selection: its end, or a separator and another part.
    fn expand_parts(
        &self,
        node: NodeId,
        occurred: &[PartId],
        derivation: Derivation,
        agenda: &mut Vec<Derivation>,
    ) {
        let Node::Selection { selection, parts, separator } = &self.grammar.nodes()[node.index()] else {
            unreachable!("the goal is that of a selection");
        };
        if selection.allows(occurred) {
            agenda.push(derivation.clone());
        }
        for part in (0..parts.len()).map(PartId::new) {
            let mut derivation = derivation.clone();
            if selection.is_listed() && occurred.last() > Some(&part) {
                continue;
            }
            let mut occurred: Vec<PartId> = occurred.iter().copied().chain([part]).collect();
            occurred.sort_unstable();
            if !selection.may_repeat(&occurred) {
                continue;
            }
            let next = Goal::Node(parts[part.index()]);
            derivation.goals.extend([Goal::Parts(node, occurred), next, Goal::Node(*separator)]);
            agenda.push(derivation);
        }
    }

    fn bodies(&self, nonterminal: usize) -> impl Iterator<Item = NodeId> {
        let definitions = self.grammar.definitions().iter();
        definitions
            .filter(move |definition| definition.lhs.index() == nonterminal)
            .map(|definition| definition.body)
    }
}

/// A text that equal values have in common.
fn value_of(text: &[u8], equality: ValueEquality) -> String {
    match equality {
        ValueEquality::Named(_) => format!("{text:?}"),
        ValueEquality::Json => {
            let mut reader = JsonReader { text, position: 0 };
            match reader.value() {
                Some(value) if reader.is_at_end() => value,
                _ => format!("text {text:?}"),
            }
        }
    }
}

/// A recursive reader of JSON, which writes values in one form: numbers as `f64`, members sorted.
struct JsonReader<'t> {
    text: &'t [u8],
    position: usize,
}

impl JsonReader<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.position) == Some(&b' ') {
            self.position += 1;
        }
        self.text.get(self.position).copied()
    }

    fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.position += 1)
    }

    fn value(&mut self) -> Option<String> {
        match self.peek()? {
            b'"' => self.string(),
            b'[' => Some(format!("[{}]", self.list(b'[', b']', Self::value)?.join(","))),
            b'{' => {
                let mut members = self.list(b'{', b'}', |reader| {
                    let name = reader.string()?;
                    reader.eat(b':')?;
                    Some(format!("{name}:{}", reader.value()?))
                })?;
                members.sort();
                Some(format!("{{{}}}", members.join(",")))
            }
            _ => {
                let rest = &self.text[self.position..];
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                let length = rest.iter().take_while(|byte| is_part(byte)).count();
                self.position += length;
                let token = std::str::from_utf8(&rest[..length]).ok()?;
                match token {
                    "true" | "false" | "null" => Some(token.to_owned()),
                    // Adding zero makes minus zero zero.
                    _ => Some(format!("{:?}", token.parse::<f64>().ok()? + 0.0)),
                }
            }
        }
    }

    fn list(
        &mut self,
        open: u8,
        close: u8,
        item: impl Fn(&mut Self) -> Option<String>,
    ) -> Option<Vec<String>> {
        self.eat(open)?;
        let mut items = Vec::new();
        while self.peek()? != close {
            if !items.is_empty() {
                self.eat(b',')?;
            }
            items.push(item(self)?);
        }
        self.eat(close)?;
        Some(items)
    }

    fn string(&mut self) -> Option<String> {
        self.eat(b'"')?;
        let mut decoded = String::new();
        loop {
            let byte = *self.text.get(self.position)?;
            self.position += 1;
            match byte {
                b'"' => return Some(format!("{decoded:?}")),
                b'\\' => {
                    let digits = self.text.get(self.position + 1..self.position + 5)?;
                    let code = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
                    decoded.push(char::from_u32(code)?);
                    self.position += 5;
                }
                other => decoded.push(char::from(other)),
            }
        }
    }
}
