//! The LR(0) automaton of a grammar: states as item sets, and the transitions between them.
//!
//! D. Knuth, "On the Translation of Languages from Left to Right" (1965). The start production `S' → S` is the last
//! one. The states after the first terminals of [ignored rules](crate::definition::lexical_rules) are roots of their
//! own: a text of such a rule may begin in every state, and the parser returns to this state after it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::definition::grammar::{LexedGrammar, LexedProduction, LexedSymbol};
use grammask_collections::id_type;
use grammask_diagnostics::{Deadline, LimitExceeded, Limits};
use grammask_grammar::{NonterminalId, TerminalId};

/// The number of states that are expanded between two checks of the deadline.
const STATES_PER_CHECK: usize = 64;

id_type! {
    /// A state of the parser.
    LrState
}

impl LrState {
    /// The start state.
    pub(crate) const START: Self = Self(0);
}

/// A dotted production: the index of the production, and the number of symbols before the dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LrItem {
    pub(crate) production: u32,
    pub(crate) dot: u32,
}

/// The LR(0) automaton of a grammar.
#[derive(Clone, Debug)]
pub(crate) struct LrAutomaton {
    /// The productions of the grammar, then the start production.
    pub(crate) productions: Vec<LexedProduction>,
    pub(crate) productions_of: Vec<Vec<usize>>,
    pub(crate) kernels: Vec<Box<[LrItem]>>,
    /// The transitions of each state, sorted by symbol.
    pub(crate) transitions: Vec<Vec<(LexedSymbol, LrState)>>,
    /// The symbol of the transitions into each state; `None` for the start state.
    pub(crate) entered_by: Vec<Option<LexedSymbol>>,
    /// The state from which each state was first reached, which lies on a shortest path to it.
    pub(crate) first_predecessor: Vec<LrState>,
    /// The first terminals of ignored rules, and the states after them.
    pub(crate) ignored_entries: Vec<(TerminalId, LrState)>,
}

impl LrAutomaton {
    /// Constructs the automaton.
    ///
    /// # Errors
    /// When there are more than [`Limits::automaton_states`] states, or it takes more than [`Limits::time`].
    pub(crate) fn of(grammar: &LexedGrammar, limits: &Limits) -> Result<Self, LimitExceeded> {
        let max_states = limits.automaton_states;
        let deadline = Deadline::of(limits);
        let mut productions = grammar.productions.clone();
        let start = NonterminalId::new(grammar.nonterminals.len());
        let start_rhs = Box::new([LexedSymbol::Nonterminal(grammar.start)]);
        productions.push(LexedProduction { lhs: start, rhs: start_rhs, priority: 0 });
        let mut productions_of = vec![Vec::new(); grammar.nonterminals.len() + 1];
        for (index, production) in productions.iter().enumerate() {
            productions_of[production.lhs.index()].push(index);
        }
        let first = LrItem { production: (productions.len() - 1) as u32, dot: 0 };
        let mut automaton = Self {
            productions,
            productions_of,
            kernels: vec![Box::new([first])],
            transitions: Vec::new(),
            entered_by: vec![None],
            first_predecessor: vec![LrState::START],
            ignored_entries: Vec::new(),
        };
        let mut ids: FxHashMap<Box<[LrItem]>, LrState> = FxHashMap::default();
        ids.insert(automaton.kernels[0].clone(), LrState::START);
        for (terminal, kernel) in automaton.ignored_kernels(&grammar.lexical.ignored) {
            let entry = LrState::new(automaton.kernels.len());
            ids.insert(kernel.clone(), entry);
            automaton.kernels.push(kernel);
            automaton.entered_by.push(Some(LexedSymbol::Terminal(terminal)));
            automaton.first_predecessor.push(LrState::START);
            automaton.ignored_entries.push((terminal, entry));
        }
        // The items after each symbol of a state, and the symbols that have items.
        let symbol_index = |symbol| match symbol {
            LexedSymbol::Terminal(terminal) => terminal.index(),
            LexedSymbol::Nonterminal(nonterminal) => grammar.terminals.len() + nonterminal.index(),
        };
        let mut items_after: Vec<Vec<LrItem>> =
            vec![Vec::new(); grammar.terminals.len() + automaton.productions_of.len()];
        let mut symbols: Vec<LexedSymbol> = Vec::new();
        while automaton.transitions.len() < automaton.kernels.len() {
            let from = LrState::new(automaton.transitions.len());
            if from.index().is_multiple_of(STATES_PER_CHECK) {
                deadline.check()?;
            }
            for item in automaton.closure(from) {
                let Some(symbol) = automaton.symbol_after(item) else { continue };
                let items = &mut items_after[symbol_index(symbol)];
                if items.is_empty() {
                    symbols.push(symbol);
                }
                items.push(LrItem { dot: item.dot + 1, ..item });
            }
            symbols.sort_unstable();
            let mut transitions = Vec::with_capacity(symbols.len());
            for symbol in symbols.drain(..) {
                let kernel = &mut items_after[symbol_index(symbol)];
                kernel.sort_unstable();
                let next = match ids.get(&kernel[..]) {
                    Some(&cached) => cached,
                    None => {
                        let next = LrState::new(automaton.kernels.len());
                        if next.index() >= max_states {
                            return Err(LimitExceeded::new("automaton_states", max_states));
                        }
                        automaton.kernels.push(kernel[..].into());
                        automaton.entered_by.push(Some(symbol));
                        automaton.first_predecessor.push(from);
                        ids.insert(kernel[..].into(), next);
                        next
                    }
                };
                kernel.clear();
                transitions.push((symbol, next));
            }
            automaton.transitions.push(transitions);
        }
        Ok(automaton)
    }

    /// The items of ignored rules after each first terminal, ascending.
    fn ignored_kernels(&self, ignored: &[NonterminalId]) -> BTreeMap<TerminalId, Box<[LrItem]>> {
        let mut kernels: BTreeMap<TerminalId, Vec<LrItem>> = BTreeMap::new();
        for &production in ignored.iter().flat_map(|rule| &self.productions_of[rule.index()]) {
            if let Some(&LexedSymbol::Terminal(first)) = self.productions[production].rhs.first() {
                kernels.entry(first).or_default().push(LrItem { production: production as u32, dot: 1 });
            }
        }
        let sorted = |(first, mut kernel): (TerminalId, Vec<LrItem>)| {
            kernel.sort_unstable();
            (first, kernel.into_boxed_slice())
        };
        kernels.into_iter().map(sorted).collect()
    }

    /// Whether a state is entered by the first terminal of an ignored rule.
    pub(crate) fn is_ignored_entry(&self, state: LrState) -> bool {
        self.ignored_entries.iter().any(|&(_, entry)| entry == state)
    }

    pub(crate) fn state_count(&self) -> usize {
        self.kernels.len()
    }

    /// The symbol after the dot.
    pub(crate) fn symbol_after(&self, item: LrItem) -> Option<LexedSymbol> {
        self.productions[item.production as usize].rhs.get(item.dot as usize).copied()
    }

    /// The closure of a state's kernel.
    pub(crate) fn closure(&self, state: LrState) -> Vec<LrItem> {
        let mut items = self.kernels[state.index()].to_vec();
        let mut is_predicted = vec![false; self.productions_of.len()];
        let mut next = 0;
        while let Some(&item) = items.get(next) {
            next += 1;
            if let Some(LexedSymbol::Nonterminal(nonterminal)) = self.symbol_after(item)
                && !std::mem::replace(&mut is_predicted[nonterminal.index()], true)
            {
                let predicted = self.productions_of[nonterminal.index()].iter();
                items.extend(predicted.map(|&index| LrItem { production: index as u32, dot: 0 }));
            }
        }
        items
    }

    /// The state after a symbol.
    pub(crate) fn step(&self, state: LrState, symbol: LexedSymbol) -> Option<LrState> {
        Some(self.transitions[state.index()][self.position(state, symbol)?].1)
    }

    /// The index of the transition over a symbol among the transitions of a state.
    pub(crate) fn position(&self, state: LrState, symbol: LexedSymbol) -> Option<usize> {
        self.transitions[state.index()].binary_search_by_key(&symbol, |&(symbol, _)| symbol).ok()
    }

    /// The symbols on a shortest path to a state.
    pub(crate) fn symbols_to(&self, state: LrState) -> Vec<LexedSymbol> {
        let mut way = Vec::new();
        let mut current = state;
        while let Some(symbol) = self.entered_by[current.index()] {
            way.push(symbol);
            current = self.first_predecessor[current.index()];
        }
        way.reverse();
        way
    }
}
