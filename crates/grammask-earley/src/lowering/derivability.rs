//! Analysis: productivity with infinite texts. Which symbols derive an empty, a nonempty finite or an infinite text?
//!
//! A text may be infinite: `start ::= "A" start` is a legal constraint that never ends. The recogniser must not predict
//! an unproductive symbol, or a mask would contain tokens that lead to a dead end. The analysis has three parts:
//!
//! 1. The symbols that derive an empty, or a nonempty, finite text. Least fixpoints, linear.
//! 2. The symbols that derive an infinite text. An infinite leftmost derivation reads infinitely many bytes: from the
//!    symbol, a path over edges `A -> Xi` (of productions `A -> X1 ... Xn` with `X1 ... Xi-1` finite) reaches a cycle
//!    with an edge whose skipped part `X1 ... Xi-1` can be nonempty. `A ::= A "x"` has no such cycle.
//! 3. Removal of the productions with an unproductive symbol. It can break derivations of part 2, so both alternate up
//!    to a fixpoint: the greatest one.
//!
//! If all alternatives derive finite texts, and no symbol derives the empty text only, parts 2 and 3 are skipped.

use std::borrow::Cow;

use grammask_collections::graph::{AdjacencyList, components_of};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::TerminalId;

use super::productions::{Body, Productions, Symbol, TextKinds};

/// The kinds of text that each symbol derives.
#[derive(Clone, Debug)]
pub struct Derivability {
    terminals: Vec<TextKinds>,
    nonterminals: Vec<TextKinds>,
    derives: Vec<bool>,
    /// Whether each nonterminal derives an infinite text; empty if parts 2 and 3 were skipped.
    infinite: Vec<bool>,
}

impl Derivability {
    /// Analyses `productions`.
    ///
    /// # Errors
    /// When an automaton exceeds the limit on states.
    pub fn of(productions: &mut Productions) -> Result<Self, LimitExceeded> {
        let terminals = (0..productions.terminals.len())
            .map(|index| productions.terminal_kinds(TerminalId::new(index)))
            .collect::<Result<Vec<_>, _>>()?;
        let alternatives = Alternatives::of(productions);
        let nonterminals = finite_kinds(&alternatives, &terminals, productions.rules.len());
        let derives_finite = |kinds: &TextKinds| kinds.empty || kinds.nonempty;
        let derives = nonterminals.iter().map(derives_finite).collect();
        let mut analysis = Self { terminals, nonterminals, derives, infinite: Vec::new() };
        let is_finite = |symbols: &[Symbol]| symbols.iter().all(|&symbol| analysis.is_finite(symbol));
        let is_plain = !analysis.nonterminals.iter().any(|kinds| kinds.empty && !kinds.nonempty)
            && alternatives.list.iter().all(|(_, symbols)| is_finite(symbols));
        if !is_plain {
            analysis.derives.fill(true);
            analysis.remove_underivable(&alternatives);
        }
        Ok(analysis)
    }

    /// The kinds of finite text that a symbol derives.
    #[must_use]
    pub fn finite(&self, symbol: Symbol) -> TextKinds {
        match symbol {
            Symbol::Terminal(id) => self.terminals[id.index()],
            Symbol::Nonterminal(id) => self.nonterminals[id.index()],
        }
    }

    /// Whether a symbol derives a finite text.
    #[must_use]
    pub fn is_finite(&self, symbol: Symbol) -> bool {
        let kinds = self.finite(symbol);
        kinds.empty || kinds.nonempty
    }

    /// Whether a symbol derives the empty text and no other, finite or infinite.
    #[must_use]
    pub fn is_only_empty(&self, symbol: Symbol) -> bool {
        let TextKinds { empty, nonempty } = self.finite(symbol);
        empty && !nonempty && !matches!(symbol, Symbol::Nonterminal(id) if self.infinite[id.index()])
    }

    /// Whether a symbol derives a text, finite or infinite.
    #[must_use]
    pub fn derives(&self, symbol: Symbol) -> bool {
        match symbol {
            Symbol::Terminal(_) => self.is_finite(symbol),
            Symbol::Nonterminal(id) => self.derives[id.index()],
        }
    }

    /// Parts 2 and 3: the greatest fixpoint.
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
            // Part 3: propagate unproductivity to the users of removed nonterminals.
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
            // Part 2.
            self.infinite = self.derive_infinitely(alternatives, &valid);
            removed = (0..self.derives.len())
                .filter(|&nt| {
                    let kinds = self.nonterminals[nt];
                    self.derives[nt] && !self.infinite[nt] && !kinds.empty && !kinds.nonempty
                })
                .collect();
            if removed.is_empty() {
                return;
            }
        }
    }

    /// The nonterminals that derive an infinite text through valid alternatives.
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
        // Successors have lower component numbers, so one ascending pass suffices.
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

/// The alternatives of all rules in one list; repetitions are expanded as far as the analysis needs.
struct Alternatives<'a> {
    list: Vec<(usize, Cow<'a, [Symbol]>)>,
    /// The alternatives in which each nonterminal occurs, once per occurrence.
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
                // All parts derive finite texts, so it does not matter for finiteness which of them a selection
                // requires.
                Body::Selection { parts, .. } => {
                    list.extend(parts.iter().map(|part| (lhs, Cow::Borrowed(std::slice::from_ref(part)))));
                }
                Body::Scope(symbol) | Body::Value { symbol, .. } => {
                    list.push((lhs, Cow::Borrowed(std::slice::from_ref(symbol))));
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

/// Part 1: least fixpoints.
fn finite_kinds(alternatives: &Alternatives<'_>, terminals: &[TextKinds], rules: usize) -> Vec<TextKinds> {
    let empty = derived_from(alternatives, rules, |terminal| terminals[terminal.index()].empty);
    let any = derived_from(alternatives, rules, |terminal| {
        let kinds = terminals[terminal.index()];
        kinds.empty || kinds.nonempty
    });
    let is_finite = |symbol: &Symbol| match symbol {
        Symbol::Terminal(id) => terminals[id.index()].empty || terminals[id.index()].nonempty,
        Symbol::Nonterminal(id) => any[id.index()],
    };
    let mut nonempty = vec![false; rules];
    let mut pending: Vec<usize> = Vec::new();
    let all_finite: Vec<bool> =
        alternatives.list.iter().map(|(_, symbols)| symbols.iter().all(is_finite)).collect();
    for ((lhs, symbols), _) in alternatives.list.iter().zip(&all_finite).filter(|&(_, &all)| all) {
        if symbols
            .iter()
            .any(|symbol| matches!(symbol, Symbol::Terminal(id) if terminals[id.index()].nonempty))
        {
            pending.push(*lhs);
        }
    }
    while let Some(nonterminal) = pending.pop() {
        if !std::mem::replace(&mut nonempty[nonterminal], true) {
            let users = alternatives.users.of(nonterminal).iter().map(|&index| index as usize);
            pending.extend(users.filter(|&index| all_finite[index]).map(|index| alternatives.list[index].0));
        }
    }
    empty.into_iter().zip(nonempty).map(|(empty, nonempty)| TextKinds { empty, nonempty }).collect()
}

/// Whether each nonterminal derives a text all of whose leaves satisfy the predicate.
fn derived_from(
    alternatives: &Alternatives<'_>,
    rules: usize,
    predicate: impl Fn(TerminalId) -> bool,
) -> Vec<bool> {
    let mut derived = vec![false; rules];
    let mut missing: Vec<u32> = Vec::with_capacity(alternatives.list.len());
    let mut pending: Vec<usize> = Vec::with_capacity(alternatives.list.len());
    for (lhs, symbols) in &alternatives.list {
        let is_missing = |symbol: &&Symbol| match symbol {
            Symbol::Terminal(id) => !predicate(*id),
            Symbol::Nonterminal(_) => true,
        };
        let count = symbols.iter().filter(is_missing).count();
        missing.push(count as u32);
        if count == 0 {
            pending.push(*lhs);
        }
    }
    while let Some(nonterminal) = pending.pop() {
        if std::mem::replace(&mut derived[nonterminal], true) {
            continue;
        }
        for &index in alternatives.users.of(nonterminal) {
            let index = index as usize;
            missing[index] -= 1;
            if missing[index] == 0 {
                pending.push(alternatives.list[index].0);
            }
        }
    }
    derived
}
