//! Adjacency of terminals: which terminals follow each other in a sentence of the grammar, and which begin one.
//!
//! In a grammar without useless productions, T and U are adjacent if a production has symbols X and Y, separated by
//! nullable symbols only, such that T is a last terminal of X and U is a first terminal of Y. The relation ignores
//! all other context. It serves the Earley parser's tables and follow cache, and the streamlining report; its
//! [`FirstLastSets`] also serve the checks of indentation. Cost: a fixpoint over the productions.

use crate::definition::grammar::{LexedGrammar, LexedSymbol};
use crate::parser::terminal_set::TerminalSet;
use grammask_grammar::TerminalId;

/// The adjacency relation of a grammar.
#[derive(Debug)]
pub(crate) struct Adjacency {
    /// For each terminal: the terminals that can follow it.
    after: Vec<TerminalSet>,
    first_terminals: TerminalSet,
}

impl Adjacency {
    pub(crate) fn of(grammar: &LexedGrammar) -> Self {
        let sets = FirstLastSets::of(grammar);
        let mut after = vec![TerminalSet::new(sets.width); grammar.terminals.len()];
        for production in &grammar.productions {
            for (position, &left) in production.rhs.iter().enumerate() {
                let mut following = TerminalSet::new(sets.width);
                for &right in &production.rhs[position + 1..] {
                    following.union_with(&sets.first(right));
                    if !sets.is_nullable(right) {
                        break;
                    }
                }
                for last in sets.last(left).iter() {
                    after[last.index()].union_with(&following);
                }
            }
        }
        Self { after, first_terminals: sets.first(LexedSymbol::Nonterminal(grammar.start)) }
    }

    /// The terminals that can follow a terminal.
    pub(crate) fn after(&self, terminal: TerminalId) -> &TerminalSet {
        &self.after[terminal.index()]
    }

    /// The terminals that can begin a text.
    pub(crate) fn first_terminals(&self) -> &TerminalSet {
        &self.first_terminals
    }

    pub(crate) fn are_adjacent(&self, first: TerminalId, second: TerminalId) -> bool {
        self.after[first.index()].contains(second)
    }

    pub(crate) fn can_begin(&self, terminal: TerminalId) -> bool {
        self.first_terminals.contains(terminal)
    }
}

/// For each nonterminal: whether it is nullable, and the terminals that begin, end and occur in its derivations.
pub(crate) struct FirstLastSets {
    nullable: Vec<bool>,
    first: Vec<TerminalSet>,
    last: Vec<TerminalSet>,
    contained: Vec<TerminalSet>,
    width: usize,
}

impl FirstLastSets {
    pub(crate) fn of(grammar: &LexedGrammar) -> Self {
        let width = grammar.terminals.len() + 1;
        let empty = vec![TerminalSet::new(width); grammar.nonterminals.len()];
        let mut sets = Self {
            nullable: vec![false; grammar.nonterminals.len()],
            first: empty.clone(),
            last: empty.clone(),
            contained: empty,
            width,
        };
        loop {
            let mut changed = false;
            for production in &grammar.productions {
                let lhs = production.lhs.index();
                let mut is_nullable = true;
                for &symbol in &production.rhs {
                    let first = sets.first(symbol);
                    changed |= sets.first[lhs].union_with(&first);
                    is_nullable &= sets.is_nullable(symbol);
                    if !is_nullable {
                        break;
                    }
                }
                for &symbol in production.rhs.iter().rev() {
                    let last = sets.last(symbol);
                    changed |= sets.last[lhs].union_with(&last);
                    if !sets.is_nullable(symbol) {
                        break;
                    }
                }
                for &symbol in &production.rhs {
                    let contained = sets.set(symbol, &sets.contained);
                    changed |= sets.contained[lhs].union_with(&contained);
                }
                changed |= is_nullable && !sets.nullable[lhs];
                sets.nullable[lhs] |= is_nullable;
            }
            if !changed {
                return sets;
            }
        }
    }

    pub(crate) fn is_nullable(&self, symbol: LexedSymbol) -> bool {
        match symbol {
            LexedSymbol::Terminal(_) => false,
            LexedSymbol::Nonterminal(nonterminal) => self.nullable[nonterminal.index()],
        }
    }

    pub(crate) fn first(&self, symbol: LexedSymbol) -> TerminalSet {
        self.set(symbol, &self.first)
    }

    pub(crate) fn last(&self, symbol: LexedSymbol) -> TerminalSet {
        self.set(symbol, &self.last)
    }

    pub(crate) fn contains(&self, symbol: LexedSymbol, terminal: TerminalId) -> bool {
        self.set(symbol, &self.contained).contains(terminal)
    }

    fn set(&self, symbol: LexedSymbol, sets: &[TerminalSet]) -> TerminalSet {
        match symbol {
            LexedSymbol::Terminal(terminal) => {
                let mut set = TerminalSet::new(self.width);
                set.insert(terminal);
                set
            }
            LexedSymbol::Nonterminal(nonterminal) => sets[nonterminal.index()].clone(),
        }
    }
}
