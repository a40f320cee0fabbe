//! A grammar as rules with at most two symbols on the right-hand side, and the words of its terminals.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_automata::{Automata, StateId, TermId};
use grammask_grammar::{Grammar, Node, NodeId, Terminal, TerminalId, quote_bytes, repetition_suffix};

/// Maximum number of copies of a repetition.
const MAX_COPIES: u32 = 8;
/// Maximum number of states of the automata of terminals.
const MAX_AUTOMATON_STATES: usize = 50_000;
/// Code of the first token of the vocabulary; smaller codes are bytes.
const FIRST_TOKEN_CODE: u16 = 256;

/// The letters of the words that a search compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordAlphabet {
    /// Bytes.
    Bytes,
    /// The terminals of the grammar.
    Terminals,
}

/// A symbol of binary rules: a terminal, a rule of the grammar, or a part of a right-hand side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SymbolIndex(pub(super) usize);

/// A right-hand side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum BinaryBody {
    Empty,
    Unit(SymbolIndex),
    Pair(SymbolIndex, SymbolIndex),
}

/// `lhs` derives `body`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BinaryRule {
    pub(super) lhs: SymbolIndex,
    pub(super) body: BinaryBody,
}

/// The kind of a symbol, for trees.
#[derive(Clone, Debug)]
pub(super) enum SymbolKind {
    /// A terminal, with its label.
    Terminal(Arc<str>),
    /// A rule of the grammar.
    Rule(Arc<str>),
    /// A part of a right-hand side, with its notation.
    Part(Arc<str>),
}

/// The words of a terminal, by increasing length.
#[derive(Debug)]
pub(super) enum TerminalWords {
    One(Box<[u16]>),
    /// Words of a regular language, of which one byte per class is used.
    Regular(TermId),
}

/// A grammar as binary rules. Only symbols that the start symbol reaches have rules.
#[derive(Debug)]
pub(super) struct BinaryRules {
    alphabet: WordAlphabet,
    pub(super) kinds: Vec<SymbolKind>,
    pub(super) rules: Vec<BinaryRule>,
    /// The terminals, by symbol.
    pub(super) terminals: Vec<(SymbolIndex, TerminalWords)>,
    /// One byte of each byte class.
    pub(super) representatives: Vec<u8>,
    labels: Vec<Arc<str>>,
    automata: Automata,
    is_whole: bool,
}

impl BinaryRules {
    pub(super) fn new(grammar: &Grammar, alphabet: WordAlphabet) -> Self {
        let mut terms = grammar.terms.clone();
        let mut languages = Vec::new();
        for definition in &grammar.terminals {
            match &definition.terminal {
                Terminal::Literal(bytes) => languages.push(terms.literal(bytes)),
                Terminal::Regular(term) | Terminal::Limited { term, .. } => languages.push(*term),
                _ => {}
            }
        }
        let class_of_byte = terms.byte_classes(&languages);
        let mut translation = Translation {
            grammar,
            binary: Self {
                alphabet,
                kinds: Vec::new(),
                rules: Vec::new(),
                terminals: Vec::new(),
                representatives: representatives(&class_of_byte),
                labels: grammar.terminals.iter().map(|definition| definition.label.clone()).collect(),
                automata: Automata::new(terms, MAX_AUTOMATON_STATES),
                is_whole: true,
            },
            node_symbols: FxHashMap::default(),
            terminal_symbols: FxHashMap::default(),
            dispensable: match alphabet {
                WordAlphabet::Terminals => interchangeable(grammar),
                WordAlphabet::Bytes => FxHashSet::default(),
            },
        };
        translation.run();
        let mut binary = translation.binary;
        let mut distinct = FxHashSet::default();
        binary.rules.retain(|rule| distinct.insert(*rule));
        binary
    }

    /// The name of a symbol: that of a rule, the label of a terminal, or the notation of a part.
    pub(super) fn name(&self, symbol: SymbolIndex) -> &Arc<str> {
        match &self.kinds[symbol.0] {
            SymbolKind::Terminal(name) | SymbolKind::Rule(name) | SymbolKind::Part(name) => name,
        }
    }

    /// Whether no part of the grammar was left out.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The notation of a word.
    pub(super) fn text_of(&self, word: &[u16]) -> String {
        match self.alphabet {
            WordAlphabet::Terminals => {
                let labels: Vec<&str> =
                    word.iter().map(|&letter| &*self.labels[usize::from(letter)]).collect();
                labels.join(" ")
            }
            WordAlphabet::Bytes => {
                let mut parts: Vec<String> = Vec::new();
                for run in word.chunk_by(|a, b| (*a < FIRST_TOKEN_CODE) == (*b < FIRST_TOKEN_CODE)) {
                    if run[0] < FIRST_TOKEN_CODE {
                        parts.push(quote_bytes(&run.iter().map(|&letter| letter as u8).collect::<Vec<u8>>()));
                    } else {
                        let label =
                            |letter: &u16| self.labels[usize::from(letter - FIRST_TOKEN_CODE)].to_string();
                        parts.extend(run.iter().map(label));
                    }
                }
                if parts.is_empty() { "\"\"".to_owned() } else { parts.join(" ") }
            }
        }
    }

    /// The state of a language at the beginning of a word; `None` if it has no word, or the limit on states is exceeded.
    pub(super) fn start(&mut self, term: TermId) -> Option<StateId> {
        self.automata.start(term).ok().flatten()
    }
}

/// A byte of each class, a letter, digit or other printable character if the class has one.
fn representatives(class_of_byte: &[u8; 256]) -> Vec<u8> {
    let preference = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'0'..=b'9' => 1,
        b'!'..=b'~' => 2,
        b' ' => 3,
        _ => 4,
    };
    let mut bytes: Vec<u8> = (0..=u8::MAX).collect();
    bytes.sort_by_key(|&byte| preference(byte));
    let mut classes = FxHashSet::default();
    bytes.retain(|&byte| classes.insert(class_of_byte[usize::from(byte)]));
    bytes
}

/// The terminals that occur once, as an alternative of a rule or choice that has another such terminal before it: a
/// derivation with one of them is a derivation with the other.
fn interchangeable(grammar: &Grammar) -> FxHashSet<TerminalId> {
    let mut occurrences: FxHashMap<TerminalId, usize> = FxHashMap::default();
    for node in &grammar.nodes {
        if let Node::Terminal(id) = node {
            *occurrences.entry(*id).or_default() += 1;
        }
    }
    let single = |node: NodeId| match &grammar.nodes[node.index()] {
        Node::Terminal(id) if occurrences[id] == 1 => Some(*id),
        _ => None,
    };
    let mut dispensable = FxHashSet::default();
    for node in &grammar.nodes {
        if let Node::Choice(parts) = node {
            dispensable.extend(parts.iter().filter_map(|&part| single(part)).skip(1));
        }
    }
    let mut seen = FxHashSet::default();
    for definition in &grammar.definitions {
        if let Some(id) = single(definition.body)
            && !seen.insert(definition.lhs)
        {
            dispensable.insert(id);
        }
    }
    dispensable
}

/// The translation of the rules that the start symbol reaches.
struct Translation<'g> {
    grammar: &'g Grammar,
    binary: BinaryRules,
    node_symbols: FxHashMap<NodeId, SymbolIndex>,
    terminal_symbols: FxHashMap<TerminalId, SymbolIndex>,
    /// Terminals that are left out.
    dispensable: FxHashSet<TerminalId>,
}

impl Translation<'_> {
    fn run(&mut self) {
        let mut bodies: Vec<Vec<NodeId>> = vec![Vec::new(); self.grammar.nonterminals.len()];
        for definition in &self.grammar.definitions {
            bodies[definition.lhs.index()].push(definition.body);
        }
        let mut rule_symbols: Vec<Option<SymbolIndex>> = vec![None; bodies.len()];
        let start = self.grammar.start.index();
        let mut reach = |binary: &mut BinaryRules, rule: usize, pending: &mut Vec<usize>| {
            *rule_symbols[rule].get_or_insert_with(|| {
                pending.push(rule);
                let name = self.grammar.nonterminals[rule].name.clone();
                binary.add(SymbolKind::Rule(name))
            })
        };
        let mut pending = Vec::new();
        reach(&mut self.binary, start, &mut pending);
        while let Some(rule) = pending.pop() {
            let lhs = reach(&mut self.binary, rule, &mut pending);
            for &body in &bodies[rule] {
                let mut nodes = vec![body];
                // Children have smaller ids, so ascending order translates them first.
                let mut reached: FxHashSet<NodeId> = FxHashSet::from_iter([body]);
                while let Some(node) = nodes.pop() {
                    for child in self.children(node) {
                        if !self.node_symbols.contains_key(&child) && reached.insert(child) {
                            nodes.push(child);
                        }
                    }
                }
                let mut reached: Vec<NodeId> = reached.into_iter().collect();
                reached.sort_unstable();
                for node in reached {
                    if self.node_symbols.contains_key(&node) {
                        continue;
                    }
                    let symbol = match &self.grammar.nodes[node.index()] {
                        Node::Nonterminal(id) => reach(&mut self.binary, id.index(), &mut pending),
                        _ => translate(
                            self.grammar,
                            &mut self.binary,
                            &self.node_symbols,
                            &mut self.terminal_symbols,
                            node,
                        ),
                    };
                    self.node_symbols.insert(node, symbol);
                }
                let is_dispensable = matches!(&self.grammar.nodes[body.index()],
                    Node::Terminal(id) if self.dispensable.contains(id));
                if !is_dispensable {
                    self.binary.rule(lhs, BinaryBody::Unit(self.node_symbols[&body]));
                }
            }
        }
        let omitted: FxHashSet<SymbolIndex> =
            self.dispensable.iter().filter_map(|id| self.terminal_symbols.get(id)).copied().collect();
        self.binary.terminals.retain(|(symbol, _)| !omitted.contains(symbol));
    }

    fn children(&self, node: NodeId) -> Vec<NodeId> {
        match &self.grammar.nodes[node.index()] {
            Node::Sequence(parts) | Node::Choice(parts) => parts.to_vec(),
            Node::Repeat { node, .. } => vec![*node],
            _ => Vec::new(),
        }
    }
}

/// The symbol of a node whose children have symbols.
fn translate(
    grammar: &Grammar,
    binary: &mut BinaryRules,
    symbols: &FxHashMap<NodeId, SymbolIndex>,
    terminal_symbols: &mut FxHashMap<TerminalId, SymbolIndex>,
    node: NodeId,
) -> SymbolIndex {
    match &grammar.nodes[node.index()] {
        Node::Terminal(id) => *terminal_symbols.entry(*id).or_insert_with(|| binary.terminal(grammar, *id)),
        Node::Sequence(parts) => {
            let Some((first, rest)) = parts.split_first() else {
                let empty = binary.part("empty");
                binary.rule(empty, BinaryBody::Empty);
                return empty;
            };
            rest.iter().fold(symbols[first], |left, part| {
                let sequence = binary.part("sequence");
                binary.rule(sequence, BinaryBody::Pair(left, symbols[part]));
                sequence
            })
        }
        Node::Choice(parts) => {
            let choice = binary.part("choice");
            for (number, part) in parts.iter().enumerate() {
                // A part of its own, so that trees tell alternatives with equal contents apart.
                let alternative = binary.part(&format!("alternative {}", number + 1));
                binary.rule(alternative, BinaryBody::Unit(symbols[part]));
                binary.rule(choice, BinaryBody::Unit(alternative));
            }
            choice
        }
        Node::Repeat { node, min, max } => binary.repetition(symbols[node], *min, *max),
        Node::Nonterminal(_)
        | Node::Selection { .. }
        | Node::Scope(_)
        | Node::Value { .. }
        | Node::Binding(_) => {
            binary.is_whole = false;
            binary.part("part that is not searched")
        }
    }
}

impl BinaryRules {
    fn add(&mut self, kind: SymbolKind) -> SymbolIndex {
        self.kinds.push(kind);
        SymbolIndex(self.kinds.len() - 1)
    }

    fn part(&mut self, notation: &str) -> SymbolIndex {
        self.add(SymbolKind::Part(Arc::from(notation)))
    }

    fn rule(&mut self, lhs: SymbolIndex, body: BinaryBody) {
        self.rules.push(BinaryRule { lhs, body });
    }

    fn terminal(&mut self, grammar: &Grammar, id: TerminalId) -> SymbolIndex {
        let definition = &grammar.terminals[id.index()];
        let symbol = self.add(SymbolKind::Terminal(definition.label.clone()));
        let code = u16::try_from(id.index()).ok();
        let words = match (self.alphabet, &definition.terminal) {
            (WordAlphabet::Terminals, _) => code.map(|code| TerminalWords::One(Box::new([code]))),
            (WordAlphabet::Bytes, Terminal::Literal(bytes)) => {
                Some(TerminalWords::One(bytes.iter().map(|&byte| u16::from(byte)).collect()))
            }
            (WordAlphabet::Bytes, Terminal::Regular(term)) => Some(TerminalWords::Regular(*term)),
            (WordAlphabet::Bytes, Terminal::Token(_)) => code
                .and_then(|code| code.checked_add(FIRST_TOKEN_CODE))
                .map(|code| TerminalWords::One(Box::new([code]))),
            (WordAlphabet::Bytes, _) => None,
        };
        match words {
            Some(words) => self.terminals.push((symbol, words)),
            None => self.is_whole = false,
        }
        symbol
    }

    fn repetition(&mut self, item: SymbolIndex, min: u32, max: Option<u32>) -> SymbolIndex {
        let notation = format!("repetition {}", repetition_suffix(min, max));
        if min > MAX_COPIES || max.is_some_and(|max| max > MAX_COPIES) {
            self.is_whole = false;
        }
        // The part after the minimum number of copies.
        let mut rest = self.part(&notation);
        self.rule(rest, BinaryBody::Empty);
        match max {
            None => self.rule(rest, BinaryBody::Pair(item, rest)),
            Some(max) => {
                for _ in min..max.min(MAX_COPIES) {
                    let longer = self.part(&notation);
                    self.rule(longer, BinaryBody::Empty);
                    self.rule(longer, BinaryBody::Pair(item, rest));
                    rest = longer;
                }
            }
        }
        if min > MAX_COPIES {
            return self.part(&notation);
        }
        (0..min).fold(rest, |rest, _| {
            let longer = self.part(&notation);
            self.rule(longer, BinaryBody::Pair(item, rest));
            longer
        })
    }

    /// The transitions of a state by the representatives of byte classes.
    pub(super) fn steps(&mut self, state: StateId) -> Vec<(u8, StateId)> {
        let mut steps = Vec::new();
        for index in 0..self.representatives.len() {
            let byte = self.representatives[index];
            match self.automata.step(state, byte) {
                Ok(Some(target)) => steps.push((byte, target)),
                Ok(None) => {}
                Err(_) => self.is_whole = false,
            }
        }
        steps
    }

    /// Whether a word may end in a state.
    pub(super) fn is_accepting(&self, state: StateId) -> bool {
        self.automata.is_accepting(state)
    }
}
