//! How many different values a symbol has: whether enough of them are left for the values that a scope still needs.
//!
//! The values of symbols that are not [abundant](super::abundance) are enumerated, as many of them as were asked for.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lowering::{NormalForm, RightHandSide, Symbol};
use grammask_automata::{Automata, ByteSet};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{ValueKind, ValueSupply};

use super::super::{Builder, ItemState, Recognizer};
use super::frontier::Frontier;
use super::json::ValueId;
use super::liveness::bytes_by_preference;
use super::scopes::Ahead;
use super::value_set::ValueSetId;

/// Zeros of numbers that are enumerated as different prefixes. Only the values count, so this is sound.
const MAX_ZEROS: u32 = 64;

/// What is known of the values of each symbol.
#[derive(Debug, Default)]
pub(super) struct ValueCounts {
    /// By the number of the value.
    of_value: FxHashMap<u32, ValueCount>,
    /// Whether a symbol has a value, by the number of the value.
    members: FxHashMap<(u32, ValueId), bool>,
}

#[derive(Clone, Debug)]
enum ValueCount {
    /// The values of a symbol inside its own values count as enough while they are enumerated: where that is wrong, a
    /// text goes on for ever inside them.
    InProgress,
    Enumerated(Box<Enumeration>),
}

/// The values that a search has found so far.
#[derive(Clone, Debug)]
struct Enumeration {
    frontier: Frontier,
    found: FxHashSet<ValueId>,
}

impl ValueCounts {
    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let enumerated = self.of_value.values().map(|count| match count {
            ValueCount::InProgress => 32,
            ValueCount::Enumerated(values) => values.frontier.memory_bytes() + values.found.capacity() * 5,
        });
        enumerated.sum::<usize>() + self.members.capacity() * 16
    }
}

impl Builder {
    /// Whether the values ahead can differ from the remembered ones and from each other.
    ///
    /// # Errors
    /// When a limit is exceeded, or that depends on how finitely many values are shared by several symbols.
    pub(super) fn has_enough_values(
        &mut self,
        recognizer: &Recognizer,
        ahead: &Ahead,
        remembered: ValueSetId,
    ) -> Result<bool, LimitExceeded> {
        if ahead.fresh == 0 {
            return Ok(true);
        }
        let form = &recognizer.form;
        let scopes = &self.remembered.scopes;
        let fresh: Vec<u32> =
            ahead.values.iter().copied().filter(|&number| scopes.is_scarce(number)).collect();
        for &number in &fresh {
            let needed = ahead.fresh as usize;
            let size = self.remembered.sets.len(remembered);
            if self.has_values(recognizer, number, size + needed)? {
                continue;
            }
            let own = self.remembered_values_of(recognizer, number, remembered)?;
            if self.has_values(recognizer, number, own + needed)? {
                continue;
            }
            let symbol = |number: u32| form.symbol_after(form.values()[number as usize].0);
            if fresh.iter().all(|&other| symbol(other) == symbol(number)) {
                return Ok(false);
            }
            return Err(LimitExceeded::new("set_items", self.limits.set_items));
        }
        Ok(true)
    }

    /// Whether the symbols of the values ahead may run out of values within a token of at most `reach` bytes.
    pub(super) fn is_scarce(
        &mut self,
        recognizer: &Recognizer,
        ahead: &Ahead,
        remembered: ValueSetId,
        reach: usize,
    ) -> Result<bool, LimitExceeded> {
        let needed = self.remembered.sets.len(remembered) + ahead.fresh as usize + reach;
        for &number in &*ahead.values {
            if self.remembered.scopes.is_scarce(number) && !self.has_values(recognizer, number, needed)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The number of remembered values that the symbol of a value has.
    fn remembered_values_of(
        &mut self,
        recognizer: &Recognizer,
        number: u32,
        remembered: ValueSetId,
    ) -> Result<usize, LimitExceeded> {
        let values: Vec<ValueId> = self.remembered.sets.values(remembered).collect();
        let mut count = 0;
        for value in values {
            let known = self.remembered.counts.members.get(&(number, value)).copied();
            let is_member = match known {
                Some(known) => known,
                None => {
                    let only = self.remembered.sets.with(ValueSetId::EMPTY, value);
                    let start = self.remembered.start_state(number);
                    let is_member = self.can_satisfy(recognizer, start, only, ValueKind::Repeated)?;
                    self.remembered.counts.members.insert((number, value), is_member);
                    is_member
                }
            };
            count += usize::from(is_member);
        }
        Ok(count)
    }

    /// Whether the symbol of a value has at least `count` values.
    fn has_values(
        &mut self,
        recognizer: &Recognizer,
        number: u32,
        count: usize,
    ) -> Result<bool, LimitExceeded> {
        if let ValueSupply::AtLeast(min) = recognizer.form.values()[number as usize].1.supply
            && count <= min as usize
        {
            return Ok(true);
        }
        let Self { remembered, .. } = self;
        let start = remembered.start_state(number);
        let known = remembered.counts.of_value.entry(number).or_insert_with(|| {
            let values = Enumeration { frontier: Frontier::new(start), found: FxHashSet::default() };
            ValueCount::Enumerated(Box::new(values))
        });
        let ValueCount::Enumerated(mut values) = std::mem::replace(known, ValueCount::InProgress) else {
            return Ok(true);
        };
        let is_known = values.found.len() >= count || values.frontier.is_exhausted();
        let result = if is_known { Ok(()) } else { self.enumerate(recognizer, &mut values, count) };
        let has_enough = values.found.len() >= count;
        self.remembered.counts.of_value.insert(number, ValueCount::Enumerated(values));
        result.map(|()| has_enough)
    }

    /// Searches until `count` values are found.
    fn enumerate(
        &mut self,
        recognizer: &Recognizer,
        values: &mut Enumeration,
        count: usize,
    ) -> Result<(), LimitExceeded> {
        while values.found.len() < count {
            if values.frontier.len() > self.limits.set_items {
                return Err(LimitExceeded::new("set_items", self.limits.set_items));
            }
            let Some(state) = values.frontier.next() else { return Ok(()) };
            for byte in bytes_by_preference() {
                let Some(next) = self.step_value(recognizer, state, byte)? else { continue };
                let set = &recognizer.set(next.set).data;
                let (ends, is_final) = (set.ends(), set.is_final());
                if ends {
                    let value = self.remembered.values.finish(next.prefix);
                    values.found.insert(value);
                }
                let prefix = self.remembered.values.saturated(next.prefix, || MAX_ZEROS);
                if !is_final {
                    values.frontier.discover(next, (next.set, prefix));
                }
            }
        }
        Ok(())
    }
}

/// The bytes with which the values of a grammar can begin.
pub(in super::super) fn first_bytes(
    form: &NormalForm,
    automata: &mut Automata,
    starts: &[ItemState],
) -> Result<ByteSet, LimitExceeded> {
    let mut reached: FxHashSet<Symbol> =
        form.values().iter().map(|&(dot, _)| form.symbol_after(dot)).collect();
    let mut stack: Vec<Symbol> = reached.iter().copied().collect();
    let mut bytes = ByteSet::EMPTY;
    while let Some(symbol) = stack.pop() {
        match symbol {
            Symbol::Terminal(id) => {
                if let Some(start) = starts[id.index()].automaton_state() {
                    bytes = bytes.union(automata.first_bytes(start)?);
                }
            }
            Symbol::Nonterminal(id) => {
                for production in form.productions_of(id) {
                    let first: &[Symbol] = match &production.rhs {
                        RightHandSide::Sequence(symbols) => &symbols[..1],
                        RightHandSide::Selection { parts, .. } => parts,
                        RightHandSide::Repeat { symbol, .. }
                        | RightHandSide::Scope(symbol)
                        | RightHandSide::Value { symbol, .. } => std::slice::from_ref(symbol),
                    };
                    stack.extend(first.iter().copied().filter(|&symbol| reached.insert(symbol)));
                }
            }
        }
    }
    Ok(bytes)
}
