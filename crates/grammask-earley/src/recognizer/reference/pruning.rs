//! Removes the productions that derive no text at all, finite or infinite.
//!
//! Let F be the symbols that derive a finite text, the least set such that a symbol with a production all in F is
//! in F. A *walk* goes from A through a production A ::= X1 … Xn to some Xi with X1 … Xi-1 all in F; it reads what
//! X1 … Xi-1 derive. An infinite text is read by an infinite walk that reads something again and again, that is,
//! by one that comes to a cycle with a step that can read a nonempty finite text.
//!
//! The symbols that derive some text are the greatest set P of which each member is in F or begins such a walk
//! through productions all in P. So `A ::= A "x"` derives nothing, and `A ::= "x" A B; B ::= B` neither. The
//! productions that stay are those all in P.

use super::Language;
use super::productions::{PlainGrammar, PlainNonterminal, Production, Symbol};

/// `grammar` without the productions that derive nothing, and which kinds of text its start symbol derives.
/// `leaves` says which kinds each terminal derives.
pub(super) fn prune(grammar: &PlainGrammar, leaves: &[Language]) -> (PlainGrammar, Language) {
    let finite =
        Symbols::least(grammar, leaves, |leaf| leaf.empty || leaf.nonempty, |rhs| rhs.iter().all(|&x| x));
    let finite_nonempty = {
        let only_finite = grammar.filtered(|id| finite.hold_all(&grammar.productions[id.index()].rhs));
        Symbols::least(&only_finite, leaves, |leaf| leaf.nonempty, |rhs| rhs.iter().any(|&x| x))
    };
    let mut possible = Symbols::all(grammar, &finite);
    loop {
        let kept = grammar.filtered(|id| possible.hold_all(&grammar.productions[id.index()].rhs));
        let endless = endless(&kept, &finite, &finite_nonempty);
        let mut smaller = finite.clone();
        for (member, endless) in smaller.nonterminals.iter_mut().zip(endless) {
            *member |= endless;
        }
        if smaller == possible {
            let empty = Symbols::least(&kept, leaves, |leaf| leaf.empty, |rhs| rhs.iter().all(|&x| x));
            let nonempty = Symbols::least(&kept, leaves, |leaf| leaf.nonempty, |rhs| rhs.iter().any(|&x| x));
            let start = Symbol::Nonterminal(kept.start);
            let language = Language { empty: empty.hold(start), nonempty: nonempty.hold(start) };
            return (kept, language);
        }
        possible = smaller;
    }
}

/// A set of symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Symbols {
    terminals: Vec<bool>,
    nonterminals: Vec<bool>,
}

impl Symbols {
    /// The terminals of `finite` and all nonterminals.
    fn all(grammar: &PlainGrammar, finite: &Self) -> Self {
        Self { terminals: finite.terminals.clone(), nonterminals: vec![true; grammar.by_lhs.len()] }
    }

    /// The least set with the terminals that `leaf` says and the nonterminals with a production of which `member`
    /// says so, given for each symbol of its right-hand side whether that is in the set.
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
            for Production { lhs, rhs } in &grammar.productions {
                let held: Vec<bool> = rhs.iter().map(|&symbol| set.hold(symbol)).collect();
                if !set.nonterminals[lhs.index()] && member(&held) {
                    set.nonterminals[lhs.index()] = true;
                    changed = true;
                }
            }
            if !changed {
                return set;
            }
        }
    }

    fn hold(&self, symbol: Symbol) -> bool {
        match symbol {
            Symbol::Terminal(id) => self.terminals[id.index()],
            Symbol::Nonterminal(id) => self.nonterminals[id.index()],
        }
    }

    fn hold_all(&self, symbols: &[Symbol]) -> bool {
        symbols.iter().all(|&symbol| self.hold(symbol))
    }
}

/// One step of a walk.
struct Step {
    from: PlainNonterminal,
    to: PlainNonterminal,
    /// Whether it can read a nonempty finite text.
    reads: bool,
}

/// For each nonterminal whether a walk that reads an infinite text begins there.
fn endless(grammar: &PlainGrammar, finite: &Symbols, finite_nonempty: &Symbols) -> Vec<bool> {
    let mut steps = Vec::new();
    for Production { lhs, rhs } in &grammar.productions {
        let mut reads = false;
        for &symbol in rhs {
            if let Symbol::Nonterminal(to) = symbol {
                steps.push(Step { from: *lhs, to, reads });
            }
            if !finite.hold(symbol) {
                break;
            }
            reads |= finite_nonempty.hold(symbol);
        }
    }
    let mut graph = Graph::new(grammar.by_lhs.len());
    let mut reversed = Graph::new(grammar.by_lhs.len());
    for step in &steps {
        graph.successors[step.from.index()].push(step.to);
        reversed.successors[step.to.index()].push(step.from);
    }
    // A step that reads lies on a cycle if its end leads back to its beginning.
    let mut cyclic: Vec<PlainNonterminal> = Vec::new();
    for step in steps.iter().filter(|step| step.reads) {
        if cyclic.last() != Some(&step.from) && graph.reachable(&[step.to])[step.from.index()] {
            cyclic.push(step.from);
        }
    }
    reversed.reachable(&cyclic)
}

/// Where steps lead.
struct Graph {
    successors: Vec<Vec<PlainNonterminal>>,
}

impl Graph {
    fn new(nonterminals: usize) -> Self {
        Self { successors: vec![Vec::new(); nonterminals] }
    }

    /// For each nonterminal whether steps lead to it from one of `roots`; no step is needed for a root itself.
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
