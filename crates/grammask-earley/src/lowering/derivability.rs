//! Analysis: which symbols derive some text, finite or infinite, and of which kinds.
//!
//! A text may be infinite where a grammar says so: `start ::= "A" start` is a legal constraint that never
//! ends. What derives no text at all must never be entered, or a mask would lead into a dead end. Three
//! questions, in this order:
//!
//! 1. Which symbols derive a finite text, an empty one or a nonempty one? Least fixpoints, linear.
//! 2. Which derive an infinite text? An infinite leftmost derivation reads infinitely much: from the symbol, a
//!    path over edges `A -> Xi` (of productions `A -> X1 ... Xn` with `X1 ... Xi-1` finite) reaches a cycle with
//!    an edge whose skipped part `X1 ... Xi-1` can be nonempty. `A ::= A "x"` has no such cycle.
//! 3. A production with a symbol that derives nothing derives nothing itself; removing it may take the answer
//!    to question 2 away from others, so 2 and 3 alternate until nothing changes.
//!
//! Where all alternatives derive finite texts, and no symbol the empty one alone, questions 2 and 3 are not asked.

use std::borrow::Cow;

use grammask_collections::graph::{AdjacencyList, components_of};
use grammask_diagnostics::LimitExceeded;

use super::productions::{Body, Productions, Shape, Symbol};

/// What the symbols of a grammar derive.
#[derive(Clone, Debug)]
pub struct Derivability {
    terminals: Vec<Shape>,
    nonterminals: Vec<Shape>,
    derives: Vec<bool>,
    /// Whether each derives an infinite text; nothing where nobody needs to know.
    infinite: Vec<bool>,
}

impl Derivability {
    /// Analyses `productions`.
    ///
    /// # Errors
    /// When an automaton passes the limit on states.
    pub fn of(productions: &mut Productions) -> Result<Self, LimitExceeded> {
        let terminals = (0..productions.terminals.len())
            .map(|index| productions.terminal_shape(grammask_grammar::TerminalId::new(index)))
            .collect::<Result<Vec<_>, _>>()?;
        let alternatives = Alternatives::of(productions);
        let nonterminals = finite_shapes(&alternatives, &terminals, productions.rules.len());
        let derives_finite = |shape: &Shape| shape.empty || shape.nonempty;
        let derives = nonterminals.iter().map(derives_finite).collect();
        let mut analysis = Self { terminals, nonterminals, derives, infinite: Vec::new() };
        let is_finite = |symbols: &[Symbol]| symbols.iter().all(|&symbol| analysis.is_finite(symbol));
        let is_plain = !analysis.nonterminals.iter().any(|shape| shape.empty && !shape.nonempty)
            && alternatives.list.iter().all(|(_, symbols)| is_finite(symbols));
        if !is_plain {
            analysis.derives.fill(true);
            analysis.remove_underivable(&alternatives);
        }
        Ok(analysis)
    }

    /// Which finite texts the symbol derives.
    #[must_use]
    pub fn finite(&self, symbol: Symbol) -> Shape {
        match symbol {
            Symbol::Terminal(id) => self.terminals[id.index()],
            Symbol::Nonterminal(id) => self.nonterminals[id.index()],
        }
    }

    /// Whether the symbol derives any finite text.
    #[must_use]
    pub fn is_finite(&self, symbol: Symbol) -> bool {
        let shape = self.finite(symbol);
        shape.empty || shape.nonempty
    }

    /// Whether the symbol derives the empty text and no other, finite or infinite.
    #[must_use]
    pub fn is_only_empty(&self, symbol: Symbol) -> bool {
        let Shape { empty, nonempty } = self.finite(symbol);
        empty && !nonempty && !matches!(symbol, Symbol::Nonterminal(id) if self.infinite[id.index()])
    }

    /// Whether the symbol derives any text, finite or infinite.
    #[must_use]
    pub fn derives(&self, symbol: Symbol) -> bool {
        match symbol {
            Symbol::Terminal(_) => self.is_finite(symbol),
            Symbol::Nonterminal(id) => self.derives[id.index()],
        }
    }

    /// Greatest fixpoint of questions 2 and 3.
    fn remove_underivable(&mut self, alternatives: &Alternatives<'_>) {
        let mut valid: Vec<bool> = alternatives
            .list
            .iter()
            .map(|(_, symbols)| symbols.iter().all(|&symbol| self.derives(symbol)))
            .collect();
        let mut remaining = vec![0_u32; self.derives.len()];
        for (&(lhs, _), _) in alternatives.list.iter().zip(&valid).filter(|&(_, &valid)| valid) {
            remaining[lhs] += 1;
        }
        let mut removed: Vec<usize> = (0..self.derives.len()).filter(|&nt| remaining[nt] == 0).collect();
        loop {
            // Question 3: spread "derives nothing" to whatever needs it.
            while let Some(nonterminal) = removed.pop() {
                if !std::mem::replace(&mut self.derives[nonterminal], false) {
                    continue;
                }
                for &index in alternatives.users.of(nonterminal) {
                    if std::mem::replace(&mut valid[index as usize], false) {
                        let lhs = alternatives.list[index as usize].0;
                        remaining[lhs] -= 1;
                        if remaining[lhs] == 0 {
                            removed.push(lhs);
                        }
                    }
                }
            }
            // Question 2.
            self.infinite = self.derive_infinitely(alternatives, &valid);
            removed = (0..self.derives.len())
                .filter(|&nt| {
                    let shape = self.nonterminals[nt];
                    self.derives[nt] && !self.infinite[nt] && !shape.empty && !shape.nonempty
                })
                .collect();
            if removed.is_empty() {
                return;
            }
        }
    }

    /// Which nonterminals derive an infinite text through the valid alternatives.
    fn derive_infinitely(&self, alternatives: &Alternatives<'_>, valid: &[bool]) -> Vec<bool> {
        let count = self.derives.len();
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut reading: Vec<(usize, usize)> = Vec::new();
        for ((lhs, symbols), _) in alternatives.list.iter().zip(valid).filter(|&(_, &valid)| valid) {
            let mut has_read = false;
            for &symbol in &symbols[..] {
                if let Symbol::Nonterminal(next) = symbol {
                    pairs.push((*lhs as u32, next.as_u32()));
                    if has_read {
                        reading.push((*lhs, next.index()));
                    }
                }
                if !self.is_finite(symbol) {
                    break;
                }
                has_read |= self.finite(symbol).nonempty;
            }
        }
        let successors = AdjacencyList::from_pairs(count, &pairs);
        let components = components_of(&successors);
        let mut endless = vec![false; components.count];
        for (from, to) in reading {
            if components.of_node[from] == components.of_node[to] {
                endless[components.of_node[from]] = true;
            }
        }
        // Successors have lower component numbers, so one pass upwards spreads the answer.
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_unstable_by_key(|&node| components.of_node[node]);
        for node in order {
            let component = components.of_node[node];
            endless[component] = endless[component]
                || successors.of(node).iter().any(|&next| endless[components.of_node[next as usize]]);
        }
        components.of_node.iter().map(|&component| endless[component]).collect()
    }
}

/// All alternatives of all rules in one list; a repetition is written out as far as the questions need.
struct Alternatives<'a> {
    list: Vec<(usize, Cow<'a, [Symbol]>)>,
    /// For each nonterminal the alternatives that it occurs in, once per occurrence.
    users: AdjacencyList,
}

impl<'a> Alternatives<'a> {
    fn of(productions: &'a Productions) -> Self {
        let mut list = Vec::new();
        for (lhs, rule) in productions.rules.iter().enumerate() {
            match &rule.body {
                Body::Alternatives(alternatives) => {
                    list.extend(alternatives.iter().map(|symbols| (lhs, Cow::Borrowed(&symbols[..]))));
                }
                // All parts derive finite texts, so a part is found to be finite before a selection that it is in only
                // where it does not need the selection; which parts the selection needs does not matter.
                Body::Selection { parts, .. } => {
                    list.extend(parts.iter().map(|part| (lhs, Cow::Borrowed(std::slice::from_ref(part)))));
                }
                Body::Repeat { symbol, min, max } => {
                    if *min == 0 {
                        list.push((lhs, Cow::Borrowed(&[][..])));
                    }
                    match max {
                        Some(0) => {}
                        Some(1) => list.push((lhs, Cow::Borrowed(std::slice::from_ref(symbol)))),
                        _ => list.push((lhs, Cow::Owned(vec![*symbol; 2]))),
                    }
                }
            }
        }
        let mut uses: Vec<(u32, u32)> = Vec::with_capacity(list.len());
        for (index, (_, symbols)) in list.iter().enumerate() {
            for symbol in &symbols[..] {
                if let Symbol::Nonterminal(id) = symbol {
                    uses.push((id.as_u32(), index as u32));
                }
            }
        }
        let users = AdjacencyList::from_pairs(productions.rules.len(), &uses);
        Self { list, users }
    }
}

/// Least fixpoints of question 1.
fn finite_shapes(alternatives: &Alternatives<'_>, terminals: &[Shape], rules: usize) -> Vec<Shape> {
    let finite = |predicate: &dyn Fn(Shape) -> bool| {
        // `derived[nt]`: the nonterminal derives a text all of whose leaves satisfy the predicate.
        let mut derived = vec![false; rules];
        let mut missing: Vec<usize> = Vec::with_capacity(alternatives.list.len());
        let mut found: Vec<usize> = Vec::new();
        for (lhs, symbols) in &alternatives.list {
            let count = symbols
                .iter()
                .filter(|symbol| match symbol {
                    Symbol::Terminal(id) => !predicate(terminals[id.index()]),
                    Symbol::Nonterminal(_) => true,
                })
                .count();
            missing.push(count);
            if count == 0 {
                found.push(*lhs);
            }
        }
        while let Some(nonterminal) = found.pop() {
            if std::mem::replace(&mut derived[nonterminal], true) {
                continue;
            }
            for &index in alternatives.users.of(nonterminal) {
                let index = index as usize;
                missing[index] -= 1;
                if missing[index] == 0 {
                    found.push(alternatives.list[index].0);
                }
            }
        }
        derived
    };
    let empty = finite(&|shape| shape.empty);
    let any = finite(&|shape| shape.empty || shape.nonempty);
    let is_finite = |symbol: &Symbol| match symbol {
        Symbol::Terminal(id) => terminals[id.index()].empty || terminals[id.index()].nonempty,
        Symbol::Nonterminal(id) => any[id.index()],
    };
    let mut nonempty = vec![false; rules];
    let mut found: Vec<usize> = Vec::new();
    let all_finite: Vec<bool> =
        alternatives.list.iter().map(|(_, symbols)| symbols.iter().all(is_finite)).collect();
    for ((lhs, symbols), _) in alternatives.list.iter().zip(&all_finite).filter(|&(_, &all)| all) {
        if symbols
            .iter()
            .any(|symbol| matches!(symbol, Symbol::Terminal(id) if terminals[id.index()].nonempty))
        {
            found.push(*lhs);
        }
    }
    while let Some(nonterminal) = found.pop() {
        if !std::mem::replace(&mut nonempty[nonterminal], true) {
            let users = alternatives.users.of(nonterminal).iter().map(|&index| index as usize);
            found.extend(users.filter(|&index| all_finite[index]).map(|index| alternatives.list[index].0));
        }
    }
    empty.into_iter().zip(nonempty).map(|(empty, nonempty)| Shape { empty, nonempty }).collect()
}
