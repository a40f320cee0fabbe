//! The rests of productions: the lengths of their shortest texts, and the terminals with which these begin.
//!
//! Both are computed without separators and without the white space of blocks, which only add to the lengths.

use crate::completion::lexeme_costs::LexemeCosts;
use crate::completion::plan_costs::ShortestSentences;
use crate::completion::{UNREACHABLE, sum};
use crate::definition::grammar::{LexedGrammar, LexedSymbol};
use crate::parser::lr_automaton::LrItem;
use crate::parser::terminal_set::TerminalSet;
use grammask_grammar::TerminalId;

/// The rest of a production after a dot.
#[derive(Debug)]
struct ProductionRest {
    length: u32,
    /// The terminals of positive length with which its shortest texts begin; none if these are empty.
    begin: TerminalSet,
}

/// The rests of all productions.
#[derive(Debug)]
pub(crate) struct ProductionRests {
    /// By production, then by dot.
    after_dot: Vec<Box<[ProductionRest]>>,
    /// By terminal, the least length of the rest of a production after it.
    after_terminal: Box<[u32]>,
    /// For the production of the start, which is none of the grammar.
    nothing: TerminalSet,
    /// The number of dots.
    count: usize,
}

impl ProductionRests {
    pub(crate) fn new(grammar: &LexedGrammar, lexemes: &LexemeCosts) -> Self {
        let shortest = ShortestSentences::new(grammar, lexemes);
        let begin_of = nonterminals_begin(grammar, &shortest);
        let mut after_terminal = vec![UNREACHABLE; grammar.terminals.len()];
        let after_dot = grammar.productions.iter().map(|production| {
            let mut length = 0;
            let mut begin = TerminalSet::new(grammar.terminals.len());
            let mut rests = vec![ProductionRest { length, begin: begin.clone() }];
            for &symbol in production.rhs.iter().rev() {
                if let LexedSymbol::Terminal(terminal) = symbol {
                    let least = &mut after_terminal[terminal.index()];
                    *least = length.min(*least);
                }
                let of_symbol = shortest.of(symbol);
                length = sum(length, of_symbol);
                if of_symbol > 0 {
                    begin = symbol_begins(symbol, &begin_of, grammar.terminals.len());
                }
                rests.push(ProductionRest { length, begin: begin.clone() });
            }
            rests.reverse();
            rests.into()
        });
        let after_dot: Vec<Box<[ProductionRest]>> = after_dot.collect();
        let count = after_dot.iter().map(|rests| rests.len()).sum();
        let nothing = TerminalSet::new(grammar.terminals.len());
        Self { after_dot, after_terminal: after_terminal.into(), nothing, count }
    }

    /// The length of the symbols after the dot of an item; zero in the production of the start.
    pub(crate) fn of_item(&self, item: LrItem) -> u32 {
        self.after_dot.get(item.production as usize).map_or(0, |rests| rests[item.dot as usize].length)
    }

    /// The terminals with which the shortest texts of these symbols begin.
    pub(crate) fn begin_of_item(&self, item: LrItem) -> &TerminalSet {
        let rests = self.after_dot.get(item.production as usize);
        rests.map_or(&self.nothing, |rests| &rests[item.dot as usize].begin)
    }

    /// The least length of the rest of a production after a terminal.
    pub(crate) fn after_terminal(&self, terminal: TerminalId) -> u32 {
        self.after_terminal[terminal.index()]
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        let terminals = self.after_terminal.len();
        self.after_dot.len() * size_of::<Box<[ProductionRest]>>()
            + self.count * (size_of::<ProductionRest>() + terminals.div_ceil(8))
            + size_of_val(&*self.after_terminal)
    }
}

/// The terminals with which the shortest texts of each nonterminal begin: the least fixpoint over the productions.
fn nonterminals_begin(grammar: &LexedGrammar, shortest: &ShortestSentences<'_>) -> Vec<TerminalSet> {
    let count = grammar.terminals.len();
    let mut begin_of = vec![TerminalSet::new(count); grammar.nonterminals.len()];
    loop {
        let mut has_changed = false;
        for production in &grammar.productions {
            let lengths = production.rhs.iter().map(|&symbol| shortest.of(symbol));
            if lengths.fold(0, sum) > shortest.of(LexedSymbol::Nonterminal(production.lhs)) {
                continue;
            }
            if let Some(&first) = production.rhs.iter().find(|&&symbol| shortest.of(symbol) > 0) {
                let begin = symbol_begins(first, &begin_of, count);
                has_changed |= begin_of[production.lhs.index()].union_with(&begin);
            }
        }
        if !has_changed {
            return begin_of;
        }
    }
}

/// The terminals with which the shortest texts of a symbol begin.
fn symbol_begins(symbol: LexedSymbol, begin_of: &[TerminalSet], count: usize) -> TerminalSet {
    match symbol {
        LexedSymbol::Nonterminal(nonterminal) => begin_of[nonterminal.index()].clone(),
        LexedSymbol::Terminal(terminal) => {
            let mut begin = TerminalSet::new(count);
            begin.insert(terminal);
            begin
        }
    }
}
