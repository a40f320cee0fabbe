//! Which terminals stand side by side in some sentence of the rules, and which ones begin a sentence.
//!
//! In grammars without useless rules these are the pairs of a last terminal of one symbol and a first terminal of a later one with
//! nothing but empty derivations between them. Cost: a fixpoint over the productions.

use crate::definition::grammar::{LexedGrammar, Symbol};
use crate::parser::terminal_set::TerminalSet;
use grammask_grammar::TerminalId;

/// See the module.
#[derive(Debug)]
pub(crate) struct Neighbours {
    /// For each terminal those that can follow it.
    after: Vec<TerminalSet>,
    beginnings: TerminalSet,
}

impl Neighbours {
    pub(crate) fn of(grammar: &LexedGrammar) -> Self {
        let edges = Edges::of(grammar);
        let mut after = vec![TerminalSet::new(edges.width); grammar.terminals.len()];
        for production in &grammar.productions {
            for (position, &left) in production.rhs.iter().enumerate() {
                let mut following = TerminalSet::new(edges.width);
                for &right in &production.rhs[position + 1..] {
                    following.union_with(&edges.first(right));
                    if !edges.is_nullable(right) {
                        break;
                    }
                }
                for last in edges.last(left).iter() {
                    after[last.index()].union_with(&following);
                }
            }
        }
        Self { after, beginnings: edges.first(Symbol::Nonterminal(grammar.start)) }
    }

    /// The terminals that can follow one.
    pub(crate) fn after(&self, terminal: TerminalId) -> &TerminalSet {
        &self.after[terminal.index()]
    }

    /// The terminals that texts begin with.
    pub(crate) fn beginnings(&self) -> &TerminalSet {
        &self.beginnings
    }

    pub(crate) fn are(&self, first: TerminalId, second: TerminalId) -> bool {
        self.after[first.index()].contains(second)
    }

    pub(crate) fn can_begin(&self, terminal: TerminalId) -> bool {
        self.beginnings.contains(terminal)
    }
}

/// The terminals that texts of each nonterminal begin and end with, and that occur in them.
pub(crate) struct Edges {
    nullable: Vec<bool>,
    first: Vec<TerminalSet>,
    last: Vec<TerminalSet>,
    all: Vec<TerminalSet>,
    width: usize,
}

impl Edges {
    pub(crate) fn of(grammar: &LexedGrammar) -> Self {
        let width = grammar.terminals.len() + 1;
        let empty = vec![TerminalSet::new(width); grammar.nonterminals.len()];
        let mut edges = Self {
            nullable: vec![false; grammar.nonterminals.len()],
            first: empty.clone(),
            last: empty.clone(),
            all: empty,
            width,
        };
        loop {
            let mut changed = false;
            for production in &grammar.productions {
                let lhs = production.lhs.index();
                let mut is_nullable = true;
                for &symbol in &production.rhs {
                    let first = edges.first(symbol);
                    changed |= edges.first[lhs].union_with(&first);
                    is_nullable &= edges.is_nullable(symbol);
                    if !is_nullable {
                        break;
                    }
                }
                for &symbol in production.rhs.iter().rev() {
                    let last = edges.last(symbol);
                    changed |= edges.last[lhs].union_with(&last);
                    if !edges.is_nullable(symbol) {
                        break;
                    }
                }
                for &symbol in &production.rhs {
                    let all = edges.set(symbol, &edges.all);
                    changed |= edges.all[lhs].union_with(&all);
                }
                changed |= is_nullable && !edges.nullable[lhs];
                edges.nullable[lhs] |= is_nullable;
            }
            if !changed {
                return edges;
            }
        }
    }

    pub(crate) fn is_nullable(&self, symbol: Symbol) -> bool {
        match symbol {
            Symbol::Terminal(_) => false,
            Symbol::Nonterminal(nonterminal) => self.nullable[nonterminal.index()],
        }
    }

    pub(crate) fn first(&self, symbol: Symbol) -> TerminalSet {
        self.set(symbol, &self.first)
    }

    pub(crate) fn last(&self, symbol: Symbol) -> TerminalSet {
        self.set(symbol, &self.last)
    }

    pub(crate) fn contains(&self, symbol: Symbol, terminal: TerminalId) -> bool {
        self.set(symbol, &self.all).contains(terminal)
    }

    fn set(&self, symbol: Symbol, sets: &[TerminalSet]) -> TerminalSet {
        match symbol {
            Symbol::Terminal(terminal) => {
                let mut set = TerminalSet::new(self.width);
                set.insert(terminal);
                set
            }
            Symbol::Nonterminal(nonterminal) => sets[nonterminal.index()].clone(),
        }
    }
}
