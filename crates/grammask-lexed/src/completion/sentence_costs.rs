//! The lengths of the shortest sentences of nonterminals, in bytes, with the separators between their lexemes.
//!
//! The cost of a sentence is the length of its shortest lexemes and of the separators that adjacent terminals need.
//! What stands next to a sentence matters by the class of its first terminal and of its last one, so a nonterminal has
//! a matrix of costs. D. Knuth, "A Generalization of Dijkstra's Algorithm" (1977), computes the case of one number; the
//! matrices are the least fixpoint of the same equations, by a worklist over productions.

use std::sync::Arc;

use crate::completion::lexeme_costs::{CLASSES, LexemeCosts};
use crate::completion::{UNREACHABLE, sum};
use crate::definition::grammar::{LexedGrammar, LexedSymbol};
use grammask_grammar::TerminalId;

/// Costs by class.
pub(crate) type ClassCosts = [u32; CLASSES];

/// The costs of the sentences of a symbol or of a sequence of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SentenceCost {
    /// Of sentences with text, by the right class of the first terminal and the left class of the last one.
    with_text: [ClassCosts; CLASSES],
    /// Of sentences without text: the empty one, and those of the ends of blocks.
    without_text: u32,
}

impl SentenceCost {
    const NONE: Self = Self { with_text: [[UNREACHABLE; CLASSES]; CLASSES], without_text: UNREACHABLE };
    const EMPTY: Self = Self { without_text: 0, ..Self::NONE };

    /// Takes the minimum with `other`; returns whether a cost decreased.
    fn minimise(&mut self, other: &Self) -> bool {
        let before = *self;
        for (row, other) in self.with_text.iter_mut().zip(&other.with_text) {
            for (cost, &other) in row.iter_mut().zip(other) {
                *cost = other.min(*cost);
            }
        }
        self.without_text = other.without_text.min(self.without_text);
        *self != before
    }
}

/// A symbol by its cost.
enum SymbolCost<'a> {
    /// A terminal with text: its length, right class and left class.
    Lexeme(u32, usize, usize),
    /// A terminal without text.
    Textless(u32),
    Nonterminal(&'a SentenceCost),
}

/// The costs of all nonterminals.
#[derive(Debug)]
pub(crate) struct SentenceCosts {
    lexemes: Arc<LexemeCosts>,
    /// For terminals without text: their cost.
    textless: Vec<Option<u32>>,
    nonterminals: Vec<SentenceCost>,
}

impl SentenceCosts {
    /// Computes the costs. Cost: about linear in the size of the grammar.
    pub(crate) fn new(grammar: &LexedGrammar, lexemes: Arc<LexemeCosts>) -> Self {
        let mut textless = vec![None; grammar.terminals.len()];
        if let Some(indentation) = &grammar.indentation {
            textless[indentation.dedent.index()] = Some(0);
            // A block begins at a larger column, so its newline is longer than a line break alone.
            let is_line_break = lexemes.shortest(indentation.newline) == 1;
            textless[indentation.indent.index()] = Some(u32::from(is_line_break));
        }
        let mut costs =
            Self { lexemes, textless, nonterminals: vec![SentenceCost::NONE; grammar.nonterminals.len()] };
        let mut used_in: Vec<Vec<usize>> = vec![Vec::new(); grammar.nonterminals.len()];
        for (index, production) in grammar.productions.iter().enumerate() {
            for symbol in &production.rhs {
                if let LexedSymbol::Nonterminal(nonterminal) = symbol
                    && used_in[nonterminal.index()].last() != Some(&index)
                {
                    used_in[nonterminal.index()].push(index);
                }
            }
        }
        let mut pending: std::collections::VecDeque<usize> = (0..grammar.productions.len()).collect();
        let mut is_pending = vec![true; grammar.productions.len()];
        while let Some(index) = pending.pop_front() {
            is_pending[index] = false;
            let production = &grammar.productions[index];
            let cost = costs.of_sequence(&production.rhs);
            if costs.nonterminals[production.lhs.index()].minimise(&cost) {
                for &user in &used_in[production.lhs.index()] {
                    if !std::mem::replace(&mut is_pending[user], true) {
                        pending.push_back(user);
                    }
                }
            }
        }
        costs
    }

    fn of_symbol(&self, symbol: LexedSymbol) -> SymbolCost<'_> {
        match symbol {
            LexedSymbol::Nonterminal(nonterminal) => SymbolCost::Nonterminal(&self.nonterminals[nonterminal.index()]),
            LexedSymbol::Terminal(terminal) => self.of_terminal(terminal),
        }
    }

    fn of_terminal(&self, terminal: TerminalId) -> SymbolCost<'_> {
        match self.textless[terminal.index()] {
            Some(cost) => SymbolCost::Textless(cost),
            None => SymbolCost::Lexeme(
                self.lexemes.shortest(terminal),
                self.lexemes.right_class(terminal),
                self.lexemes.left_class(terminal),
            ),
        }
    }

    fn of_sequence(&self, symbols: &[LexedSymbol]) -> SentenceCost {
        let separators = self.lexemes.separators();
        let mut rest = SentenceCost::EMPTY;
        for &symbol in symbols.iter().rev() {
            let mut cost = SentenceCost::NONE;
            let skip = match self.of_symbol(symbol) {
                SymbolCost::Lexeme(length, right, left) => {
                    let row = &mut cost.with_text[right];
                    row[left] = sum(length, rest.without_text);
                    for (next, rest) in rest.with_text.iter().enumerate() {
                        let before = sum(length, separators[left][next]);
                        for (cost, &rest) in row.iter_mut().zip(rest) {
                            *cost = sum(before, rest).min(*cost);
                        }
                    }
                    UNREACHABLE
                }
                SymbolCost::Textless(own) => own,
                SymbolCost::Nonterminal(own) => {
                    let mut separated = [[UNREACHABLE; CLASSES]; CLASSES];
                    for (row, separators) in separated.iter_mut().zip(separators) {
                        for (&separator, rest) in separators.iter().zip(&rest.with_text) {
                            for (cost, &rest) in row.iter_mut().zip(rest) {
                                *cost = sum(separator, rest).min(*cost);
                            }
                        }
                    }
                    for (row, own) in cost.with_text.iter_mut().zip(&own.with_text) {
                        for (left, &own) in own.iter().enumerate() {
                            if own == UNREACHABLE {
                                continue;
                            }
                            row[left] = sum(own, rest.without_text).min(row[left]);
                            for (cost, &rest) in row.iter_mut().zip(&separated[left]) {
                                *cost = sum(own, rest).min(*cost);
                            }
                        }
                    }
                    own.without_text
                }
            };
            if skip < UNREACHABLE {
                for (row, rest) in cost.with_text.iter_mut().zip(&rest.with_text) {
                    for (cost, &rest) in row.iter_mut().zip(rest) {
                        *cost = sum(skip, rest).min(*cost);
                    }
                }
            }
            cost.without_text = sum(skip, rest.without_text);
            rest = cost;
        }
        rest
    }

    /// The costs of `symbols` and what follows them, by the left class of the terminal before them. `after` has the
    /// costs of what follows, by the left class before it.
    pub(crate) fn before(&self, symbols: &[LexedSymbol], mut after: ClassCosts) -> ClassCosts {
        let separators = self.lexemes.separators();
        for &symbol in symbols.iter().rev() {
            let mut costs = [UNREACHABLE; CLASSES];
            match self.of_symbol(symbol) {
                SymbolCost::Lexeme(length, right, left) => {
                    let with_rest = sum(length, after[left]);
                    for (cost, separators) in costs.iter_mut().zip(separators) {
                        *cost = sum(separators[right], with_rest);
                    }
                }
                SymbolCost::Textless(own) => {
                    for (cost, &after) in costs.iter_mut().zip(&after) {
                        *cost = sum(own, after);
                    }
                }
                SymbolCost::Nonterminal(own) => {
                    for (cost, &after) in costs.iter_mut().zip(&after) {
                        *cost = sum(own.without_text, after);
                    }
                    for (right, own) in own.with_text.iter().enumerate() {
                        let ends = own.iter().zip(&after).map(|(&own, &after)| sum(own, after));
                        let with_rest = ends.min().unwrap_or(UNREACHABLE);
                        for (cost, separators) in costs.iter_mut().zip(separators) {
                            *cost = sum(separators[right], with_rest).min(*cost);
                        }
                    }
                }
            }
            after = costs;
        }
        after
    }

    /// The class of costs that apply directly after a terminal.
    pub(crate) fn left_class(&self, terminal: TerminalId) -> usize {
        self.lexemes.left_class(terminal)
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.nonterminals.capacity() * size_of::<SentenceCost>() + self.textless.capacity() * 8
    }
}
