//! The lengths of the shortest sentences of nonterminals, in bytes, with the separators between their lexemes.
//!
//! The cost of a sentence is the length of its shortest lexemes and of the separators that adjacent terminals need.
//! What stands next to a sentence matters by the class of its first terminal and of its last one, so a nonterminal has
//! a matrix of costs. D. Knuth, "A Generalization of Dijkstra's Algorithm" (1977), computes the case of one number; the
//! matrices are the least fixpoint of the same equations, by a worklist over productions.
//!
//! In a language with indentation the separator after a newline is the white space up to the column of the block. A
//! *level* has the number of these bytes in the block of the sentence and in blocks inside it, and each level has its
//! own matrices.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::completion::lexeme_costs::{AFTER_NEWLINE, CLASSES, LexemeCosts};
use crate::completion::{UNREACHABLE, sum};
use crate::definition::grammar::{Indentation, LexedGrammar, LexedSymbol};
use grammask_collections::id_type;
use grammask_grammar::{NonterminalId, TerminalId};

id_type! {
    /// An interned [`Level`].
    LevelId
}

/// Costs by class.
pub(crate) type ClassCosts = [u32; CLASSES];

/// The number of bytes of white space after a newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Level {
    /// In the block of the sentence.
    pub(crate) own: u32,
    /// In blocks inside it, at least.
    pub(crate) inner: u32,
}

/// The costs of the sentences of a symbol or of a sequence of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SentenceCost {
    /// Of sentences with text, by the right class of the first terminal and the left class of the last one.
    with_text: [ClassCosts; CLASSES],
    /// Whether a sentence has no text: it is empty, or only ends or begins blocks.
    may_lack_text: bool,
}

impl SentenceCost {
    const NONE: Self = Self { with_text: [[UNREACHABLE; CLASSES]; CLASSES], may_lack_text: false };
    const EMPTY: Self = Self { may_lack_text: true, ..Self::NONE };

    /// Takes the minimum with `other`; returns whether a cost decreased.
    fn minimise(&mut self, other: &Self) -> bool {
        let before = *self;
        minimise(&mut self.with_text, &other.with_text);
        self.may_lack_text |= other.may_lack_text;
        *self != before
    }
}

fn minimise(costs: &mut [ClassCosts; CLASSES], other: &[ClassCosts; CLASSES]) {
    for (row, other) in costs.iter_mut().zip(other) {
        for (cost, &other) in row.iter_mut().zip(other) {
            *cost = other.min(*cost);
        }
    }
}

/// Adds the costs of a text of this cost, whose last terminal has the class `left`, and a rest after it.
fn prepend(
    cost: u32,
    left: usize,
    rest: &SentenceCost,
    separated: &[ClassCosts; CLASSES],
    row: &mut ClassCosts,
) {
    for (target, &separated) in row.iter_mut().zip(&separated[left]) {
        *target = sum(cost, separated).min(*target);
    }
    if rest.may_lack_text {
        row[left] = cost.min(row[left]);
    }
}

/// The matrices of a level.
#[derive(Debug)]
struct LevelCosts {
    level: Level,
    /// The level of blocks inside.
    inner: LevelId,
    nonterminals: Vec<SentenceCost>,
}

/// A symbol by its cost.
enum SymbolCost<'a> {
    /// A terminal with text: its length, right class and left class.
    Lexeme {
        length: u32,
        right: usize,
        left: usize,
    },
    /// A terminal without text.
    Textless,
    Nonterminal(&'a SentenceCost),
}

/// The costs of all nonterminals, for each level.
#[derive(Debug)]
pub(crate) struct SentenceCosts {
    grammar: Arc<LexedGrammar>,
    lexemes: Arc<LexemeCosts>,
    levels: Vec<LevelCosts>,
    level_ids: FxHashMap<Level, LevelId>,
    /// For each nonterminal: the productions that use it.
    used_in: Vec<Vec<usize>>,
    /// Whether the sentences of each nonterminal depend on the level.
    has_newline: Vec<bool>,
}

impl SentenceCosts {
    /// No level is computed yet.
    pub(crate) fn new(grammar: Arc<LexedGrammar>, lexemes: Arc<LexemeCosts>) -> Self {
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
        let mut has_newline = vec![false; grammar.nonterminals.len()];
        if let Some(Indentation { newline, .. }) = grammar.indentation {
            let mut pending: Vec<NonterminalId> = Vec::new();
            for production in &grammar.productions {
                if production.rhs.contains(&LexedSymbol::Terminal(newline)) {
                    pending.push(production.lhs);
                }
            }
            while let Some(nonterminal) = pending.pop() {
                if !std::mem::replace(&mut has_newline[nonterminal.index()], true) {
                    let users = &used_in[nonterminal.index()];
                    pending.extend(users.iter().map(|&user| grammar.productions[user].lhs));
                }
            }
        }
        Self { grammar, lexemes, levels: Vec::new(), level_ids: FxHashMap::default(), used_in, has_newline }
    }

    /// The id of a level, whose costs are computed if it is new. Cost: about linear in the size of the grammar for the
    /// first level, and in the size of the productions with newlines for others.
    pub(crate) fn level(&mut self, level: Level) -> LevelId {
        if let Some(&cached) = self.level_ids.get(&level) {
            return cached;
        }
        let is_uniform = level.own == level.inner;
        let inner = match is_uniform {
            true => LevelId::new(self.levels.len()),
            false => self.level(Level { own: level.inner, ..level }),
        };
        let id = LevelId::new(self.levels.len());
        let nonterminals = match self.levels.first() {
            None => vec![SentenceCost::NONE; self.grammar.nonterminals.len()],
            Some(first) => {
                let costs = first.nonterminals.iter().zip(&self.has_newline);
                costs.map(|(&cost, &is_new)| if is_new { SentenceCost::NONE } else { cost }).collect()
            }
        };
        let is_first = self.levels.is_empty();
        self.levels.push(LevelCosts { level, inner, nonterminals });
        self.level_ids.insert(level, id);
        let grammar = self.grammar.clone();
        let is_new = |&index: &usize| is_first || self.has_newline[grammar.productions[index].lhs.index()];
        let mut pending: VecDeque<usize> = (0..grammar.productions.len()).filter(is_new).collect();
        let mut is_pending: Vec<bool> = vec![false; grammar.productions.len()];
        for &index in &pending {
            is_pending[index] = true;
        }
        let mut levels = Vec::new();
        while let Some(index) = pending.pop_front() {
            is_pending[index] = false;
            let production = &grammar.productions[index];
            self.levels_of(&production.rhs, id, &mut |_| id, &mut levels);
            let cost = self.of_sequence(&production.rhs, &levels);
            if self.levels[id.index()].nonterminals[production.lhs.index()].minimise(&cost) {
                for &user in &self.used_in[production.lhs.index()] {
                    if !std::mem::replace(&mut is_pending[user], true) {
                        pending.push_back(user);
                    }
                }
            }
        }
        id
    }

    /// The level of each of some symbols: blocks inside have the inner level, and `outside` returns the level after
    /// this number of ends of blocks that began before the symbols.
    pub(crate) fn levels_of(
        &self,
        symbols: &[LexedSymbol],
        first: LevelId,
        outside: &mut dyn FnMut(usize) -> LevelId,
        levels: &mut Vec<LevelId>,
    ) {
        levels.clear();
        let Some(Indentation { indent, dedent, .. }) = self.grammar.indentation else {
            levels.resize(symbols.len(), first);
            return;
        };
        let mut enclosing: Vec<LevelId> = Vec::new();
        let mut ended = 0;
        let mut level = first;
        for &symbol in symbols {
            if symbol == LexedSymbol::Terminal(indent) {
                enclosing.push(level);
                level = self.levels[level.index()].inner;
            } else if symbol == LexedSymbol::Terminal(dedent) {
                level = enclosing.pop().unwrap_or_else(|| {
                    ended += 1;
                    outside(ended)
                });
            }
            levels.push(level);
        }
    }

    fn of_symbol(&self, symbol: LexedSymbol, level: LevelId) -> SymbolCost<'_> {
        match symbol {
            LexedSymbol::Nonterminal(nonterminal) => {
                SymbolCost::Nonterminal(&self.levels[level.index()].nonterminals[nonterminal.index()])
            }
            LexedSymbol::Terminal(terminal) if self.is_textless(terminal) => SymbolCost::Textless,
            LexedSymbol::Terminal(terminal) => SymbolCost::Lexeme {
                length: self.lexemes.shortest(terminal),
                right: self.lexemes.right_class(terminal),
                left: self.lexemes.left_class(terminal),
            },
        }
    }

    fn is_textless(&self, terminal: TerminalId) -> bool {
        let indentation = self.grammar.indentation.as_ref();
        indentation.is_some_and(|blocks| terminal == blocks.indent || terminal == blocks.dedent)
    }

    /// The cost of a separator before a symbol at a level.
    fn separator(&self, left: usize, right: usize, level: LevelId) -> u32 {
        match left {
            AFTER_NEWLINE if self.grammar.indentation.is_some() => self.levels[level.index()].level.own,
            _ => self.lexemes.separators()[left][right],
        }
    }

    /// The cost of a sequence of symbols, given the level of each.
    fn of_sequence(&self, symbols: &[LexedSymbol], levels: &[LevelId]) -> SentenceCost {
        let mut rest = SentenceCost::EMPTY;
        // The costs of the rest with the separator before it, by the left class before the separator.
        let mut separated = [[UNREACHABLE; CLASSES]; CLASSES];
        for (&symbol, &level) in symbols.iter().zip(levels).rev() {
            // Sentences whose first terminal is of this symbol.
            let mut beginning = [[UNREACHABLE; CLASSES]; CLASSES];
            let mut may_lack_text = false;
            match self.of_symbol(symbol, level) {
                SymbolCost::Textless => continue,
                SymbolCost::Lexeme { length, right, left } => {
                    prepend(length, left, &rest, &separated, &mut beginning[right]);
                }
                SymbolCost::Nonterminal(own) => {
                    may_lack_text = own.may_lack_text;
                    for (row, own) in beginning.iter_mut().zip(&own.with_text) {
                        for (left, &own) in own.iter().enumerate().filter(|&(_, &own)| own < UNREACHABLE) {
                            prepend(own, left, &rest, &separated, row);
                        }
                    }
                }
            }
            if !may_lack_text {
                rest = SentenceCost::NONE;
                separated = rest.with_text;
            }
            for (left, row) in separated.iter_mut().enumerate() {
                for (right, beginning) in beginning.iter().enumerate() {
                    let separator = self.separator(left, right, level);
                    for (cost, &beginning) in row.iter_mut().zip(beginning) {
                        *cost = sum(separator, beginning).min(*cost);
                    }
                }
            }
            minimise(&mut rest.with_text, &beginning);
        }
        rest
    }

    /// The costs of `symbols` and what follows them, by the left class of the terminal before them, given the level of
    /// each symbol. `after` has the costs of what follows, by the left class before it.
    pub(crate) fn before(
        &self,
        symbols: &[LexedSymbol],
        levels: &[LevelId],
        mut after: ClassCosts,
    ) -> ClassCosts {
        for (&symbol, &level) in symbols.iter().zip(levels).rev() {
            let mut costs = [UNREACHABLE; CLASSES];
            match self.of_symbol(symbol, level) {
                SymbolCost::Lexeme { length, right, left } => {
                    let with_rest = sum(length, after[left]);
                    for (left, cost) in costs.iter_mut().enumerate() {
                        *cost = sum(self.separator(left, right, level), with_rest);
                    }
                }
                SymbolCost::Textless => continue,
                SymbolCost::Nonterminal(own) => {
                    if own.may_lack_text {
                        costs = after;
                    }
                    for (right, own) in own.with_text.iter().enumerate() {
                        let ends = own.iter().zip(&after).map(|(&own, &after)| sum(own, after));
                        let with_rest = ends.min().unwrap_or(UNREACHABLE);
                        if with_rest < UNREACHABLE {
                            for (left, cost) in costs.iter_mut().enumerate() {
                                *cost = sum(self.separator(left, right, level), with_rest).min(*cost);
                            }
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
        self.levels.len() * (self.grammar.nonterminals.len() * size_of::<SentenceCost>() + 64)
            + self.grammar.productions.len() * 16
    }
}
