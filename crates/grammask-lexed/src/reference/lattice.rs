//! Earley parsing over a lattice of lexemes, in its simplest form.
//!
//! A *lattice* has an edge for each possible lexeme. Item sets per position are iterated to a fixpoint, after J.
//! Earley (1970).

use std::collections::BTreeSet;

use crate::definition::grammar::{LexedGrammar, LexedSymbol};
use grammask_grammar::TerminalId;

/// A lexeme: start, end and terminal; `None` for ignored ones.
pub(super) type LexemeEdge = (usize, usize, Option<TerminalId>);

/// The index of a production, the position of the dot, and the position in the text where the item began.
type EarleyItem = (usize, usize, usize);

/// Whether a path through the lattice from 0 to `end` is a sentence.
pub(super) fn derives(grammar: &LexedGrammar, edges: &[LexemeEdge], end: usize) -> bool {
    let of = |nonterminal: usize, position: usize| {
        let productions = grammar.productions.iter().enumerate();
        productions
            .filter(move |(_, production)| production.lhs.index() == nonterminal)
            .map(move |(index, _)| (index, 0, position))
    };
    let start = grammar.start.index();
    let mut sets: Vec<BTreeSet<EarleyItem>> = vec![BTreeSet::new(); end + 1];
    sets[0].extend(of(start, 0));
    loop {
        let before: usize = sets.iter().map(BTreeSet::len).sum();
        for position in 0..=end {
            for (production, dot, origin) in sets[position].clone() {
                let lhs = grammar.productions[production].lhs.index();
                match grammar.productions[production].rhs.get(dot) {
                    None => {
                        let waiting = sets[origin].clone().into_iter().filter(|&(production, dot, _)| {
                            matches!(grammar.productions[production].rhs.get(dot),
                                Some(LexedSymbol::Nonterminal(next)) if next.index() == lhs)
                        });
                        sets[position]
                            .extend(waiting.map(|(production, dot, from)| (production, dot + 1, from)));
                    }
                    Some(LexedSymbol::Nonterminal(next)) => sets[position].extend(of(next.index(), position)),
                    Some(LexedSymbol::Terminal(terminal)) => {
                        for &(from, to, lexeme) in edges {
                            if from == position && lexeme == Some(*terminal) {
                                sets[to].insert((production, dot + 1, origin));
                            }
                        }
                    }
                }
            }
            for &(from, to, lexeme) in edges {
                if from == position && lexeme.is_none() {
                    let all = sets[position].clone();
                    sets[to].extend(all);
                }
            }
        }
        if sets.iter().map(BTreeSet::len).sum::<usize>() == before {
            break;
        }
    }
    sets[end].iter().any(|&(production, dot, origin)| {
        let production = &grammar.productions[production];
        production.lhs.index() == start && dot == production.rhs.len() && origin == 0
    })
}
