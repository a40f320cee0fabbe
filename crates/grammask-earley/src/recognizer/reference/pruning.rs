//! Removes the productions that derive no text, finite or infinite.
//!
//! Let F be the set of symbols that derive a finite text: the least set that contains each symbol with a production of
//! symbols in F. A *leftmost edge* leads from A, by a production A ::= X1 … Xn, to an Xi with X1 … Xi-1 in F; it reads
//! the texts of X1 … Xi-1. An infinite text has a leftmost derivation along an infinite path that reads infinitely many
//! bytes, that is, a path to a cycle with an edge that can read a nonempty finite text.
//!
//! The productive symbols are the greatest set P of which each member is in F, or has such a path through productions
//! of symbols in P. So `A ::= A "x"` is unproductive, and so is A in `A ::= "x" A B; B ::= B`. The remaining
//! productions are those whose symbols are all in P.
//!
//! A selection has finitely many parts, although one of them may be infinite: a state of a selection is in P only if
//! further parts in P complete the selection.

use super::Language;
use super::productions::{PlainGrammar, PlainNonterminal, PlainProduction, PlainSymbol};

/// `grammar` without unproductive productions, and the kinds of text that its start symbol derives. `leaves` holds
/// the kinds of text of each terminal.
pub(super) fn prune(grammar: &PlainGrammar, leaves: &[Language]) -> (PlainGrammar, Language) {
    let finite =
        SymbolSet::least(grammar, leaves, |leaf| leaf.empty || leaf.nonempty, |rhs| rhs.iter().all(|&x| x));
    let finite_nonempty = {
        let only_finite = grammar.filtered(|id| finite.contains_all(&grammar.productions[id.index()].rhs));
        SymbolSet::least(&only_finite, leaves, |leaf| leaf.nonempty, |rhs| rhs.iter().any(|&x| x))
    };
    let mut possible = SymbolSet::all(grammar, &finite);
    loop {
        let remaining = grammar.filtered(|id| possible.contains_all(&grammar.productions[id.index()].rhs));
        let endless = endless(&remaining, &finite, &finite_nonempty);
        let mut smaller = finite.clone();
        let completable = completable(&remaining);
        for (index, member) in smaller.nonterminals.iter_mut().enumerate() {
            *member = completable[index] && (*member || endless[index]);
        }
        if smaller == possible {
            let empty = SymbolSet::least(&remaining, leaves, |leaf| leaf.empty, |rhs| rhs.iter().all(|&x| x));
            let nonempty =
                SymbolSet::least(&remaining, leaves, |leaf| leaf.nonempty, |rhs| rhs.iter().any(|&x| x));
            let start = PlainSymbol::Nonterminal(remaining.start);
            let language = Language { empty: empty.contains(start), nonempty: nonempty.contains(start) };
            return (remaining, language);
        }
        possible = smaller;
    }
}

/// A set of symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SymbolSet {
    terminals: Vec<bool>,
    nonterminals: Vec<bool>,
}

impl SymbolSet {
    /// The terminals of `finite` and all nonterminals.
    fn all(grammar: &PlainGrammar, finite: &Self) -> Self {
        Self { terminals: finite.terminals.clone(), nonterminals: vec![true; grammar.by_lhs.len()] }
    }

    /// The least set of the terminals for which `leaf` holds and the nonterminals with a production for which
    /// `member` holds, given the membership of the symbols of its right-hand side.
    fn least(
        grammar: &PlainGrammar,
        leaves: &[Language],
        leaf: impl Fn(&Language) -> bool,
        member: impl Fn(&[bool]) -> bool,
    ) -> Self {
        let mut set = Self {
            terminals: leaves.iter().map(leaf).collect(),
            nonterminals: vec![false; grammar.by_lhs.len()],
        };
        loop {
            let mut changed = false;
            for PlainProduction { lhs, rhs } in &grammar.productions {
                let membership: Vec<bool> = rhs.iter().map(|&symbol| set.contains(symbol)).collect();
                if !set.nonterminals[lhs.index()] && member(&membership) {
                    set.nonterminals[lhs.index()] = true;
                    changed = true;
                }
            }
            if !changed {
                return set;
            }
        }
    }

    fn contains(&self, symbol: PlainSymbol) -> bool {
        match symbol {
            PlainSymbol::Terminal(id) => self.terminals[id.index()],
            PlainSymbol::Nonterminal(id) => self.nonterminals[id.index()],
        }
    }

    fn contains_all(&self, symbols: &[PlainSymbol]) -> bool {
        symbols.iter().all(|&symbol| self.contains(symbol))
    }
}

/// Whether each nonterminal is a state from which finitely many parts complete its selection, or is no such state.
fn completable(grammar: &PlainGrammar) -> Vec<bool> {
    let mut completable = vec![true; grammar.by_lhs.len()];
    for states in &grammar.selections {
        completable[states.clone()].fill(false);
    }
    loop {
        let mut changed = false;
        for PlainProduction { lhs, rhs } in &grammar.productions {
            // A part alone ends the selection; a separator and the next state may follow it.
            let completes = match rhs[..] {
                [_, _, PlainSymbol::Nonterminal(next)] => completable[next.index()],
                _ => true,
            };
            if completes && !std::mem::replace(&mut completable[lhs.index()], true) {
                changed = true;
            }
        }
        if !changed {
            return completable;
        }
    }
}

/// A leftmost edge.
struct LeftmostEdge {
    from: PlainNonterminal,
    to: PlainNonterminal,
    /// Whether it can read a nonempty finite text.
    reads: bool,
}

/// Whether each nonterminal has a path that reads an infinite text.
fn endless(grammar: &PlainGrammar, finite: &SymbolSet, finite_nonempty: &SymbolSet) -> Vec<bool> {
    let mut edges = Vec::new();
    for PlainProduction { lhs, rhs } in &grammar.productions {
        let mut reads = false;
        for &symbol in rhs {
            if let PlainSymbol::Nonterminal(to) = symbol {
                edges.push(LeftmostEdge { from: *lhs, to, reads });
            }
            if !finite.contains(symbol) {
                break;
            }
            reads |= finite_nonempty.contains(symbol);
        }
    }
    let mut graph = LeftmostGraph::new(grammar.by_lhs.len());
    let mut reversed = LeftmostGraph::new(grammar.by_lhs.len());
    for edge in &edges {
        graph.successors[edge.from.index()].push(edge.to);
        reversed.successors[edge.to.index()].push(edge.from);
    }
    // An edge that reads is on a cycle if its source is reachable from its target.
    let mut cyclic: Vec<PlainNonterminal> = Vec::new();
    for edge in edges.iter().filter(|edge| edge.reads) {
        if cyclic.last() != Some(&edge.from) && graph.reachable(&[edge.to])[edge.from.index()] {
            cyclic.push(edge.from);
        }
    }
    reversed.reachable(&cyclic)
}

/// The successors of each nonterminal along leftmost edges, or their predecessors.
struct LeftmostGraph {
    successors: Vec<Vec<PlainNonterminal>>,
}

impl LeftmostGraph {
    fn new(nonterminals: usize) -> Self {
        Self { successors: vec![Vec::new(); nonterminals] }
    }

    /// Whether each nonterminal is reachable from one of `roots`. The roots are.
    fn reachable(&self, roots: &[PlainNonterminal]) -> Vec<bool> {
        let mut reached = vec![false; self.successors.len()];
        let mut stack = roots.to_vec();
        while let Some(nonterminal) = stack.pop() {
            if !std::mem::replace(&mut reached[nonterminal.index()], true) {
                stack.extend(&self.successors[nonterminal.index()]);
            }
        }
        reached
    }
}
