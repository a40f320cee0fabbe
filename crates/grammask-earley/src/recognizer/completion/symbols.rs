//! The shortest text of each symbol.
//!
//! Knuth's generalisation of Dijkstra's algorithm ("A generalization of Dijkstra's algorithm", 1977): a nonterminal is
//! settled when the shortest text of one of its productions is the least of all unsettled ones. The order is that of
//! [`Shortest`], in which a sequence is greater than each of its parts, and grows with each of them. O(n log n) for a
//! grammar of n symbols.
//!
//! A selection stands for a production per allowed sequence of parts. It is evaluated when a part has been settled,
//! once for all parts of one length, by minimising over the first part; the parts that must follow are those of a
//! least model ([`Selection::min_cost`]).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::lowering::{NormalForm, RightHandSide, Symbol};
use grammask_collections::graph::AdjacencyList;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_grammar::{NonterminalId, Selection, SelectionState, ValueCondition, ValueEquality, ValueKind};

use super::shortest::{Length, Shortest};

/// Number of events between two checks of the deadline.
const EVENTS_PER_CHECK: usize = 1024;

/// The shortest text of each symbol of a grammar.
#[derive(Debug)]
pub(super) struct ShortestTexts {
    terminals: Box<[Shortest]>,
    nonterminals: Box<[Shortest]>,
    values: ValueTexts,
}

/// How long the texts of values are.
#[derive(Clone, Debug)]
pub(super) enum ValueTexts {
    /// Longer than those of their symbols by this length.
    Lengthened(Length),
    /// Those of values with names.
    Named(NamedTexts),
}

/// The lengths of values with names, in tokens.
#[derive(Clone, Debug)]
pub(super) struct NamedTexts {
    /// An upper bound of the bound texts.
    pub(super) bound: Length,
    /// The texts of each symbol that must differ from a bound text, or not begin with it.
    pub(super) others: Arc<[OtherText]>,
}

/// The length with which a text satisfies a condition, whatever text is bound to the name.
#[derive(Clone, Copy, Debug)]
pub(super) struct OtherText {
    pub(super) symbol: Symbol,
    pub(super) kind: ValueKind,
    pub(super) equality: ValueEquality,
    pub(super) length: Length,
}

/// The symbols of a selection.
#[derive(Clone, Copy, Debug)]
pub(super) struct SelectionSymbols<'a> {
    pub(super) selection: &'a Selection,
    pub(super) parts: &'a [Symbol],
    pub(super) separator: Symbol,
}

/// An event of the algorithm. Of two events at the same text the lesser one comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A nonterminal derives the text.
    Derives(NonterminalId),
    /// A symbol of this production, a selection, was settled.
    Evaluate(u32),
}

impl ShortestTexts {
    /// No texts.
    pub(super) fn none() -> Self {
        let values = ValueTexts::Lengthened(Length::ZERO);
        Self { terminals: Box::default(), nonterminals: Box::default(), values }
    }

    /// The shortest texts, given those of the terminals and how long values are.
    ///
    /// # Errors
    /// When the deadline has passed.
    pub(super) fn new(
        form: &NormalForm,
        terminals: Box<[Shortest]>,
        values: ValueTexts,
        deadline: &Deadline,
    ) -> Result<Self, LimitExceeded> {
        let nonterminals = vec![Shortest::NONE; form.nonterminal_count()].into();
        let mut texts = Self { terminals, nonterminals, values };
        let mut queue: BinaryHeap<Reverse<(Shortest, Event)>> = BinaryHeap::new();
        // The productions in which each nonterminal occurs, once per occurrence.
        let mut uses: Vec<(u32, u32)> = Vec::new();
        // For each production the number of occurrences of nonterminals that are not settled.
        let mut unsettled: Vec<u32> = vec![0; form.productions.len()];
        for (index, production) in form.productions.iter().enumerate() {
            // There are fewer productions than dots, whose numbers have 32 bits.
            let index = index as u32;
            for symbol in production.rhs.symbols() {
                if let Symbol::Nonterminal(id) = symbol {
                    uses.push((id.as_u32(), index));
                    unsettled[index as usize] += 1;
                }
            }
            let is_selection = matches!(production.rhs, RightHandSide::Selection { .. });
            if unsettled[index as usize] == 0 && !is_selection {
                queue.push(Reverse((texts.of_production(&production.rhs), Event::Derives(production.lhs))));
            }
        }
        let uses = AdjacencyList::from_pairs(form.nonterminal_count(), &uses);
        let mut is_queued = vec![false; form.productions.len()];
        let mut events: usize = 0;
        while let Some(Reverse((text, event))) = queue.pop() {
            events += 1;
            if events.is_multiple_of(EVENTS_PER_CHECK) {
                deadline.check()?;
            }
            if text == Shortest::NONE {
                break;
            }
            match event {
                Event::Derives(nonterminal) => {
                    let settled = &mut texts.nonterminals[nonterminal.index()];
                    if *settled != Shortest::NONE {
                        continue;
                    }
                    *settled = text;
                    for &index in uses.of(nonterminal.index()) {
                        let production = &form.productions[index as usize];
                        if let RightHandSide::Selection { .. } = production.rhs {
                            if !std::mem::replace(&mut is_queued[index as usize], true) {
                                queue.push(Reverse((text, Event::Evaluate(index))));
                            }
                            continue;
                        }
                        unsettled[index as usize] -= 1;
                        if unsettled[index as usize] == 0 {
                            let derived = texts.of_production(&production.rhs);
                            queue.push(Reverse((derived, Event::Derives(production.lhs))));
                        }
                    }
                }
                Event::Evaluate(index) => {
                    is_queued[index as usize] = false;
                    let production = &form.productions[index as usize];
                    if texts.nonterminals[production.lhs.index()] == Shortest::NONE {
                        let derived = texts.of_production(&production.rhs);
                        queue.push(Reverse((derived, Event::Derives(production.lhs))));
                    }
                }
            }
        }
        Ok(texts)
    }

    /// The shortest text of a symbol.
    pub(super) fn of(&self, symbol: Symbol) -> Shortest {
        match symbol {
            Symbol::Terminal(id) => self.terminals[id.index()],
            Symbol::Nonterminal(id) => self.nonterminals[id.index()],
        }
    }

    /// The text of a value with this symbol.
    pub(super) fn of_value(&self, symbol: Symbol, condition: &ValueCondition) -> Shortest {
        let text = self.of(symbol);
        let NamedTexts { bound, others } = match &self.values {
            ValueTexts::Lengthened(added) => return text.then(*added),
            ValueTexts::Named(named) => named,
        };
        let length = match condition.kind {
            ValueKind::Bound => return text,
            ValueKind::Repeated => *bound,
            ValueKind::Fresh => return Shortest::NONE,
            kind @ (ValueKind::Different | ValueKind::Unprefixed) => {
                let key = (symbol, kind, condition.equality);
                let other = others.iter().find(|other| (other.symbol, other.kind, other.equality) == key);
                other.map_or(Length::INFINITE, |other| other.length)
            }
        };
        if text == Shortest::NONE || length == Length::INFINITE {
            Shortest::NONE
        } else {
            Shortest { length, ..text }
        }
    }

    /// The length that is added to each value.
    pub(super) fn added(&self) -> Length {
        match self.values {
            ValueTexts::Lengthened(added) => added,
            ValueTexts::Named(_) => Length::ZERO,
        }
    }

    /// The length of the shortest text of each terminal.
    pub(super) fn terminal_lengths(&self) -> Vec<Length> {
        self.terminals.iter().map(|shortest| shortest.length).collect()
    }

    /// The shortest text of a right-hand side.
    fn of_production(&self, rhs: &RightHandSide) -> Shortest {
        match rhs {
            RightHandSide::Sequence(symbols) => {
                let rest = symbols[1..].iter().map(|&symbol| self.of(symbol).length);
                self.of(symbols[0]).then(rest.fold(Length::ZERO, Length::plus))
            }
            RightHandSide::Repeat { symbol, min, .. } => self.of(*symbol).times(*min),
            RightHandSide::Scope(symbol) => self.of(*symbol),
            RightHandSide::Value { symbol, condition } => self.of_value(*symbol, condition),
            RightHandSide::Selection { selection, parts, separator } => {
                let symbols = SelectionSymbols { selection, parts, separator: *separator };
                self.of_parts(symbols, &selection.start())
            }
        }
    }

    /// The shortest text of the parts that follow in a state of a selection, at least one of them.
    pub(super) fn of_parts(&self, symbols: SelectionSymbols<'_>, state: &SelectionState) -> Shortest {
        let SelectionSymbols { selection, parts, .. } = symbols;
        let texts = selection.choices(state).map(|part| {
            let first = self.of(parts[part.index()]);
            if first == Shortest::NONE {
                return Shortest::NONE;
            }
            first.then(self.after_part(symbols, &selection.after(state, part)))
        });
        texts.min().unwrap_or(Shortest::NONE)
    }

    /// The length of the shortest text of the parts that must follow after a part, with separators.
    pub(super) fn after_part(&self, symbols: SelectionSymbols<'_>, state: &SelectionState) -> Length {
        let separator = self.of(symbols.separator).length;
        let cost = |part: grammask_grammar::PartId| {
            let length = separator.plus(self.of(symbols.parts[part.index()]).length);
            length.finite().map(u64::from)
        };
        symbols.selection.min_cost(state, cost).map_or(Length::INFINITE, Length::new)
    }

    /// Memory in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        (self.terminals.len() + self.nonterminals.len()) * size_of::<Shortest>()
    }
}
