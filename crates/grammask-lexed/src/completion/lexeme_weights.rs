//! What each lexeme adds to the cost of completing a parser stack.
//!
//! The plan completes the symbols of a stack item by item; an item costs what is written after its symbols, and in the
//! chain that follows. Its symbols pay for that with the weights of terminals that are in all of their texts. If the
//! weights pay for every cycle of items, then only the lexemes of a text and a constant bound the costs of its symbols.
//!
//! There are many such weights. Brackets should pay, which are few in a text, and neither names nor operators: weights are
//! given to the items that can be nested in themselves at once, then to the remaining cycles, and last those that are not
//! needed are removed.

use rustc_hash::FxHashMap;

use crate::completion;
use crate::completion::longest_paths::{PathEdge, Unbounded, longest_paths};
use crate::definition::grammar::{LexedGrammar, LexedSymbol};
use crate::parser::lr_automaton::LrItem;
use crate::parser::terminal_set::TerminalSet;
use grammask_grammar::TerminalId;

/// Maximum number of cycles that are paid for one by one.
const MAX_CYCLES: usize = 256;

/// The weights of terminals.
pub(crate) struct LexemeWeights<'a> {
    grammar: &'a LexedGrammar,
    /// By terminal.
    weights: Vec<u32>,
    /// For each item the terminals that are in every text of the symbols below its topmost one.
    payers: Vec<Vec<TerminalId>>,
    /// Edges between items, with the maximum of their costs.
    edges: Vec<PathEdge>,
}

impl<'a> LexemeWeights<'a> {
    /// The weights for some items and the costs from one to the next; `None` if no weights are found that suffice.
    pub(crate) fn new(
        grammar: &'a LexedGrammar,
        items: Vec<LrItem>,
        edges: impl Iterator<Item = PathEdge>,
    ) -> Option<Self> {
        let present = PresentTerminals::new(grammar);
        let has_lexemes = |terminal: &TerminalId| grammar.terminals[terminal.index()].term.is_some();
        let payers = items.iter().map(|item| {
            // The production of the start is none of the grammar, and pays for nothing.
            let Some(production) = grammar.productions.get(item.production as usize) else {
                return Vec::new();
            };
            let popped = present.in_all(&production.rhs[..(item.dot as usize).saturating_sub(1)]);
            popped.iter().filter(has_lexemes).collect()
        });
        let payers = payers.collect();
        let mut costs: FxHashMap<(usize, usize), i64> = FxHashMap::default();
        for edge in edges {
            let cost = costs.entry((edge.from, edge.to)).or_insert(edge.weight);
            *cost = edge.weight.max(*cost);
        }
        let mut edges: Vec<PathEdge> =
            costs.into_iter().map(|((from, to), weight)| PathEdge { from, to, weight }).collect();
        edges.sort_unstable_by_key(|edge| (edge.from, edge.to));
        let mut weights = Self { grammar, weights: vec![0; grammar.terminals.len()], payers, edges };
        weights.pay_for_nesting();
        weights.pay_for_cycles()?;
        weights.remove_unneeded();
        Some(weights)
    }

    /// What the symbols of an item pay.
    pub(crate) fn of_item(&self, item: usize) -> u32 {
        let weights = self.payers[item].iter().map(|terminal| self.weights[terminal.index()]);
        weights.fold(0, completion::sum)
    }

    /// The terminals of positive weight, ascending.
    pub(crate) fn positive(&self) -> Vec<(TerminalId, u32)> {
        let weights = self.weights.iter().enumerate().filter(|&(_, &weight)| weight > 0);
        weights.map(|(index, &weight)| (TerminalId::new(index), weight)).collect()
    }

    /// Pays for the items that follow themselves, those with the fewest payers first.
    fn pay_for_nesting(&mut self) {
        let mut nested: Vec<PathEdge> =
            self.edges.iter().copied().filter(|edge| edge.from == edge.to).collect();
        nested.sort_by_key(|edge| (self.payers[edge.from].len(), std::cmp::Reverse(edge.weight)));
        for PathEdge { from, weight, .. } in nested {
            self.raise([from], weight - i64::from(self.of_item(from)));
        }
    }

    /// Pays for all cycles; `None` if one has no payer.
    fn pay_for_cycles(&mut self) -> Option<()> {
        for _ in 0..MAX_CYCLES {
            match self.unpaid() {
                Ok(()) => return Some(()),
                Err(Unbounded::TooLong) => return None,
                Err(Unbounded::Cycle(cycle)) => {
                    let unpaid = |edge: &PathEdge| edge.weight - i64::from(self.of_item(edge.from));
                    let missing = cycle.iter().map(|&edge| unpaid(&self.edges[edge])).sum();
                    let items: Vec<usize> = cycle.iter().map(|&edge| self.edges[edge].from).collect();
                    if !self.raise(items, missing) {
                        return None;
                    }
                }
            }
        }
        None
    }

    /// Removes weights without which all cycles are paid for, those of names and small ones first.
    fn remove_unneeded(&mut self) {
        let mut terminals = self.positive();
        terminals
            .sort_by_key(|&(terminal, weight)| (self.grammar.terminals[terminal.index()].is_literal, weight));
        for (terminal, weight) in terminals {
            self.weights[terminal.index()] = 0;
            if self.unpaid().is_err() {
                self.weights[terminal.index()] = weight;
            }
        }
    }

    /// A cycle that is not paid for.
    fn unpaid(&self) -> Result<(), Unbounded> {
        let paid: Vec<i64> = (0..self.payers.len()).map(|item| i64::from(self.of_item(item))).collect();
        let edges = self.edges.iter().map(|edge| PathEdge { weight: edge.weight - paid[edge.from], ..*edge });
        longest_paths(&vec![0; self.payers.len()], &edges.collect::<Vec<_>>()).map(|_| ())
    }

    /// Adds to the weight of one of the payers of some items, a literal or else the heaviest; returns whether there is one.
    fn raise(&mut self, items: impl IntoIterator<Item = usize>, bytes: i64) -> bool {
        let payers = items.into_iter().flat_map(|item| &self.payers[item]);
        let payer = payers.max_by_key(|terminal| {
            let index = terminal.index();
            (self.grammar.terminals[index].is_literal, self.weights[index], index)
        });
        let Some(payer) = payer.copied() else { return false };
        let weight = &mut self.weights[payer.index()];
        *weight = completion::sum(*weight, u32::try_from(bytes.max(0)).unwrap_or(completion::UNREACHABLE));
        true
    }
}

/// The terminals that are in every sentence of a nonterminal.
struct PresentTerminals {
    nonterminals: Vec<TerminalSet>,
    count: usize,
}

impl PresentTerminals {
    /// The greatest fixpoint over the productions. Those of a nonterminal without sentences are all terminals.
    fn new(grammar: &LexedGrammar) -> Self {
        let count = grammar.terminals.len();
        let mut all = TerminalSet::new(count);
        for terminal in (0..count).map(TerminalId::new) {
            all.insert(terminal);
        }
        let mut present = Self { nonterminals: vec![all; grammar.nonterminals.len()], count };
        loop {
            let mut has_changed = false;
            for production in &grammar.productions {
                let in_production = present.in_all(&production.rhs);
                let known = &mut present.nonterminals[production.lhs.index()];
                let kept = known.without(&known.without(&in_production));
                has_changed |= kept != *known;
                *known = kept;
            }
            if !has_changed {
                return present;
            }
        }
    }

    /// The terminals that are in every sentence of a sequence of symbols.
    fn in_all(&self, symbols: &[LexedSymbol]) -> TerminalSet {
        let mut union = TerminalSet::new(self.count);
        for symbol in symbols {
            match *symbol {
                LexedSymbol::Terminal(terminal) => {
                    union.insert(terminal);
                }
                LexedSymbol::Nonterminal(nonterminal) => {
                    union.union_with(&self.nonterminals[nonterminal.index()]);
                }
            }
        }
        union
    }
}
