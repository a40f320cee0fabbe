//! Converts a grammar to plain productions, with one nonterminal per node.
//!
//! A repetition becomes `min` copies followed by a loop or by a chain of optional copies: linear in its bounds, which
//! is too expensive for the fast path and simple enough for an oracle.

use std::collections::HashMap;
use std::ops::Range;

use grammask_collections::id_type;
use grammask_grammar::{Grammar, Node, PartId, Selection, TerminalId};

id_type! {
    /// A nonterminal of a [`PlainGrammar`].
    PlainNonterminal
}
id_type! {
    /// A production of a [`PlainGrammar`].
    ProductionId
}

/// A symbol of a right-hand side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PlainSymbol {
    Terminal(TerminalId),
    Nonterminal(PlainNonterminal),
}

/// `lhs ::= rhs`.
#[derive(Clone, Debug)]
pub(super) struct PlainProduction {
    pub(super) lhs: PlainNonterminal,
    pub(super) rhs: Box<[PlainSymbol]>,
}

/// A context-free grammar as in textbooks.
#[derive(Clone, Debug)]
pub(super) struct PlainGrammar {
    pub(super) start: PlainNonterminal,
    pub(super) productions: Vec<PlainProduction>,
    /// The productions of each nonterminal.
    pub(super) by_lhs: Vec<Vec<ProductionId>>,
    /// The nonterminals that are the states of each selection.
    pub(super) selections: Vec<Range<usize>>,
}

impl PlainGrammar {
    pub(super) fn new(grammar: &Grammar) -> Self {
        // The nonterminals of the grammar keep their numbers.
        let mut plain = Self {
            start: PlainNonterminal::new(grammar.start().index()),
            productions: Vec::new(),
            by_lhs: vec![Vec::new(); grammar.nonterminals().len()],
            selections: Vec::new(),
        };
        let mut symbols: Vec<PlainSymbol> = Vec::new();
        for node in grammar.nodes() {
            let symbol = match node {
                Node::Terminal(terminal) => PlainSymbol::Terminal(*terminal),
                Node::Nonterminal(id) => PlainSymbol::Nonterminal(PlainNonterminal::new(id.index())),
                Node::Sequence(parts) => {
                    plain.derived([parts.iter().map(|part| symbols[part.index()]).collect()])
                }
                Node::Choice(parts) => plain.derived(parts.iter().map(|part| vec![symbols[part.index()]])),
                Node::Scope(node) | Node::Value { node, .. } => plain.derived([vec![symbols[node.index()]]]),
                Node::Binding(binding) => {
                    plain.derived(binding.node.iter().map(|node| vec![symbols[node.index()]]))
                }
                Node::Repeat { node, min, max } => plain.repetition(symbols[node.index()], *min, *max),
                Node::Selection { selection, parts, separator } => {
                    let parts = parts.iter().map(|part| symbols[part.index()]).collect();
                    plain.selection(selection, parts, symbols[separator.index()])
                }
            };
            symbols.push(symbol);
        }
        for definition in grammar.definitions() {
            let lhs = PlainNonterminal::new(definition.lhs.index());
            plain.produce(lhs, vec![symbols[definition.body.index()]]);
        }
        plain
    }

    /// The grammar with the productions for which `keep` returns true.
    pub(super) fn filtered(&self, keep: impl Fn(ProductionId) -> bool) -> Self {
        let mut filtered = Self {
            start: self.start,
            productions: Vec::new(),
            by_lhs: vec![Vec::new(); self.by_lhs.len()],
            selections: self.selections.clone(),
        };
        for (index, production) in self.productions.iter().enumerate() {
            if keep(ProductionId::new(index)) {
                filtered.produce(production.lhs, production.rhs.to_vec());
            }
        }
        filtered
    }

    fn produce(&mut self, lhs: PlainNonterminal, rhs: Vec<PlainSymbol>) {
        self.by_lhs[lhs.index()].push(ProductionId::new(self.productions.len()));
        self.productions.push(PlainProduction { lhs, rhs: rhs.into() });
    }

    /// A new nonterminal with these right-hand sides.
    fn derived(&mut self, alternatives: impl IntoIterator<Item = Vec<PlainSymbol>>) -> PlainSymbol {
        let lhs = PlainNonterminal::new(self.by_lhs.len());
        self.by_lhs.push(Vec::new());
        for rhs in alternatives {
            self.produce(lhs, rhs);
        }
        PlainSymbol::Nonterminal(lhs)
    }

    /// A nonterminal for each set of parts that have been read: exponential, and without regard to whether the end
    /// can be reached from it, which [`prune`](super::pruning::prune) decides.
    fn selection(
        &mut self,
        selection: &Selection,
        parts: Vec<PlainSymbol>,
        separator: PlainSymbol,
    ) -> PlainSymbol {
        let first = self.reserve();
        let mut pending = vec![(Vec::new(), 0, first)];
        let mut states: HashMap<(Vec<PartId>, usize), PlainNonterminal> = HashMap::new();
        while let Some((read, last, lhs)) = pending.pop() {
            for (index, &part) in parts.iter().enumerate() {
                let mut with: Vec<PartId> = read.clone();
                with.push(PartId::new(index));
                with.sort_unstable();
                if !selection.may_repeat(&with) || selection.is_listed() && index < last {
                    continue;
                }
                if selection.allows(&with) {
                    self.produce(lhs, vec![part]);
                }
                selection.shorten(&mut with);
                let state = (with.clone(), if selection.is_listed() { index } else { 0 });
                let next = match states.get(&state) {
                    Some(&next) => next,
                    None => {
                        let next = self.reserve();
                        states.insert(state, next);
                        pending.push((with, index, next));
                        next
                    }
                };
                self.produce(lhs, vec![part, separator, PlainSymbol::Nonterminal(next)]);
            }
        }
        self.selections.push(first.index()..self.by_lhs.len());
        PlainSymbol::Nonterminal(first)
    }

    fn reserve(&mut self) -> PlainNonterminal {
        self.by_lhs.push(Vec::new());
        PlainNonterminal::new(self.by_lhs.len() - 1)
    }

    fn repetition(&mut self, unit: PlainSymbol, min: u32, max: Option<u32>) -> PlainSymbol {
        let mut rhs = vec![unit; min as usize];
        match max {
            None => {
                let many = PlainNonterminal::new(self.by_lhs.len());
                self.derived([vec![], vec![unit, PlainSymbol::Nonterminal(many)]]);
                rhs.push(PlainSymbol::Nonterminal(many));
            }
            // No number of copies satisfies the bounds.
            Some(max) if max < min => return self.derived([]),
            Some(max) => {
                let mut optional = None;
                for _ in min..max {
                    let mut once_more = vec![unit];
                    once_more.extend(optional);
                    optional = Some(self.derived([vec![], once_more]));
                }
                rhs.extend(optional);
            }
        }
        self.derived([rhs])
    }
}
