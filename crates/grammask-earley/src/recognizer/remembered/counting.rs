//! How many different values a symbol has: whether enough of them are left for the values that a scope still needs.
//!
//! Almost all symbols are *abundant*: they have infinitely many values, which a self-loop inside a string shows, or more than
//! any text can remember. The values of others are enumerated, as many of them as were asked for.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lowering::{NormalForm, RightHandSide, Symbol};
use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_engine::SetId;
use grammask_grammar::{ValueEquality, ValueKind, ValueSupply};

use super::super::{Builder, ItemState, Recognizer};
use super::ValueState;
use super::json::{Prefix, ValueId};
use super::liveness::bytes_by_preference;
use super::scopes::Ahead;
use super::value_set::ValueSetId;

/// Maximum number of states of a terminal in which a self-loop is looked for, or whose words are counted.
const MAX_STATES: usize = 256;
/// Number of values of which none can be missing, so that they need not be counted. Remembered values have ids of 32 bits;
/// the fresh values ahead are counted with 32 bits, and a token has fewer bytes than that.
const MIN_ABUNDANT: u64 = 1 << 36;
/// Maximum length of the words that are counted.
const MAX_WORD: usize = 40;
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

/// A search for values: two searches in turns, breadth first over all states and depth first from some of them.
#[derive(Clone, Debug, Default)]
struct Enumeration {
    /// The states in order of discovery. Those that the other search has expanded are skipped.
    queue: VecDeque<ValueState>,
    /// States that the depth-first search has discovered.
    stack: Vec<ValueState>,
    discovered: FxHashSet<(SetId, Prefix)>,
    expanded: FxHashSet<ValueState>,
    found: FxHashSet<ValueId>,
    is_depth_first: bool,
}

impl Enumeration {
    fn new(start: ValueState) -> Self {
        Self { queue: VecDeque::from([start]), ..Self::default() }
    }

    /// The next state to expand; the searches alternate.
    fn next(&mut self) -> Option<ValueState> {
        self.is_depth_first = !self.is_depth_first;
        loop {
            let next = if self.is_depth_first { self.stack.pop() } else { None };
            let next = next.or_else(|| self.queue.pop_front())?;
            if self.expanded.insert(next) {
                return Some(next);
            }
        }
    }

    /// Adds a state after the one that `next` returned; `key` identifies it.
    fn discover(&mut self, state: ValueState, key: (SetId, Prefix)) {
        if self.discovered.insert(key) {
            self.queue.push_back(state);
            if self.is_depth_first {
                self.stack.push(state);
            }
        }
    }
}

impl ValueCounts {
    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let enumerated = self.of_value.values().map(|count| match count {
            ValueCount::InProgress => 32,
            ValueCount::Enumerated(values) => {
                values.discovered.capacity() * 32
                    + (values.queue.capacity() + values.stack.capacity()) * 8
                    + values.expanded.capacity() * 9
                    + values.found.capacity() * 5
            }
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
        let known = remembered
            .counts
            .of_value
            .entry(number)
            .or_insert_with(|| ValueCount::Enumerated(Box::new(Enumeration::new(start))));
        let ValueCount::Enumerated(mut values) = std::mem::replace(known, ValueCount::InProgress) else {
            return Ok(true);
        };
        let is_known = values.found.len() >= count || values.queue.is_empty();
        let result = if is_known { Ok(()) } else { self.enumerate(recognizer, &mut values, count) };
        let has_enough = values.found.len() >= count;
        self.remembered.counts.of_value.insert(number, ValueCount::Enumerated(values));
        result.map(|()| has_enough)
    }

    /// Searches until `count` values are found. Breadth first, so that loops do not divert it, and depth first, because
    /// there may be too many prefixes of long values.
    fn enumerate(
        &mut self,
        recognizer: &Recognizer,
        values: &mut Enumeration,
        count: usize,
    ) -> Result<(), LimitExceeded> {
        while values.found.len() < count {
            if values.discovered.len() > self.limits.set_items {
                return Err(LimitExceeded::new("set_items", self.limits.set_items));
            }
            let Some(state) = values.next() else { return Ok(()) };
            for byte in bytes_by_preference() {
                let Some(next) = self.step_value(recognizer, state, byte)? else { continue };
                let set = &recognizer.set(next.set).data;
                let (ends, is_final) = (set.ends(), set.is_final());
                if ends {
                    let value = self.remembered.values.finish(next.prefix);
                    values.found.insert(value);
                }
                let prefix = self.remembered.values.saturated(next.prefix, MAX_ZEROS);
                if !is_final {
                    values.discover(next, (next.set, prefix));
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

/// Whether a symbol has more values than any text can take from it: infinitely many, or at least [`MIN_ABUNDANT`]. It does
/// if a terminal of it has so many texts, or a self-loop, that change the value. In JSON, that is a loop on a letter, which
/// is in a string or literal, or on a digit other than 0 outside of exponents.
pub(in super::super) fn is_abundant(
    form: &NormalForm,
    automata: &mut Automata,
    starts: &[ItemState],
    symbol: Symbol,
    equality: ValueEquality,
) -> Result<bool, LimitExceeded> {
    let mut reached: FxHashSet<Symbol> = FxHashSet::from_iter([symbol]);
    let mut stack = vec![symbol];
    while let Some(symbol) = stack.pop() {
        match symbol {
            Symbol::Terminal(id) => {
                let Some(start) = starts[id.index()].automaton_state() else { continue };
                if has_loop(automata, start, equality)? || has_many_words(automata, start)? {
                    return Ok(true);
                }
            }
            Symbol::Nonterminal(id) => {
                for production in form.productions_of(id) {
                    if let RightHandSide::Repeat { symbol: Symbol::Terminal(copied), max, .. } =
                        &production.rhs
                        && let Some(start) = starts[copied.index()].automaton_state()
                        && has_many_copies(automata, start, *max)?
                    {
                        return Ok(true);
                    }
                    let symbols: Vec<Symbol> = match &production.rhs {
                        RightHandSide::Sequence(symbols) => symbols.to_vec(),
                        RightHandSide::Repeat { symbol, .. }
                        | RightHandSide::Scope(symbol)
                        | RightHandSide::Value { symbol, .. } => vec![*symbol],
                        RightHandSide::Selection { parts, .. } => parts.to_vec(),
                    };
                    stack.extend(symbols.into_iter().filter(|&symbol| reached.insert(symbol)));
                }
            }
        }
    }
    Ok(false)
}

/// Bytes of which different words make different values, next to the same bytes: of letters or of digits in a string, and
/// of digits in a number, before or after its point. A text with `0` may be another spelling of the same number.
const LETTERS: [std::ops::RangeInclusive<u8>; 2] = [b'a'..=b'z', b'"'..=b'"'];
const DIGITS: [std::ops::RangeInclusive<u8>; 2] = [b'1'..=b'9', b'"'..=b'"'];

/// Whether a terminal has at least [`MIN_ABUNDANT`] words of letters, or of digits.
fn has_many_words(automata: &mut Automata, start: StateId) -> Result<bool, LimitExceeded> {
    let mut positions: FxHashMap<StateId, usize> = FxHashMap::from_iter([(start, 0)]);
    let mut ids = vec![start];
    let mut steps: Vec<Vec<(ByteSet, usize)>> = Vec::new();
    // Words through further states are not counted.
    while let Some(&id) = ids.get(steps.len()) {
        let mut from_state = Vec::new();
        for (bytes, target) in automata.successors(id)? {
            if !positions.contains_key(&target) && ids.len() < MAX_STATES {
                positions.insert(target, ids.len());
                ids.push(target);
            }
            from_state.extend(positions.get(&target).map(|&position| (bytes, position)));
        }
        steps.push(from_state);
    }
    let has_many = |alphabet: &[std::ops::RangeInclusive<u8>]| {
        let mut words: Vec<u64> = ids.iter().map(|&id| u64::from(automata.is_accepting(id))).collect();
        let mut total: u64 = 0;
        for _ in 0..MAX_WORD {
            let longer = |steps: &Vec<(ByteSet, usize)>| {
                steps.iter().fold(0_u64, |sum, &(bytes, target)| {
                    sum.saturating_add(count_of(bytes, alphabet).saturating_mul(words[target]))
                })
            };
            words = steps.iter().map(longer).collect();
            total = total.saturating_add(words[0]);
        }
        total >= MIN_ABUNDANT
    };
    Ok(has_many(&LETTERS) || has_many(&DIGITS))
}

/// Whether the copies of a terminal, which are words of one letter or digit, have at least [`MIN_ABUNDANT`] texts.
fn has_many_copies(automata: &mut Automata, start: StateId, max: Option<u32>) -> Result<bool, LimitExceeded> {
    let mut counts = [0_u64; 2];
    for (bytes, target) in automata.successors(start)? {
        if automata.is_accepting(target) {
            counts[0] += count_of(bytes, &LETTERS[..1]);
            counts[1] += count_of(bytes, &DIGITS[..1]);
        }
    }
    let max = max.unwrap_or(u32::MAX);
    Ok(counts.into_iter().any(|count| count.saturating_pow(max) >= MIN_ABUNDANT))
}

/// The number of bytes of a set in an alphabet.
fn count_of(bytes: ByteSet, alphabet: &[std::ops::RangeInclusive<u8>]) -> u64 {
    alphabet.iter().cloned().flatten().filter(|&byte| bytes.contains(byte)).count() as u64
}

fn has_loop(automata: &mut Automata, start: StateId, equality: ValueEquality) -> Result<bool, LimitExceeded> {
    // The states, and whether a text without exponents reaches them. Depth first, because loops are far from the start
    // where a list of words comes before them.
    let mut visited: FxHashSet<(StateId, bool)> = FxHashSet::from_iter([(start, true)]);
    let mut stack = vec![(start, true)];
    while let Some((state, is_plain)) = stack.pop() {
        for (bytes, target) in automata.successors(state)? {
            let has = |mut range: std::ops::RangeInclusive<u8>| range.any(|byte| bytes.contains(byte));
            let changes_value = match equality {
                ValueEquality::Bytes | ValueEquality::Named(_) => true,
                ValueEquality::Json => has(b'a'..=b'z') || is_plain && has(b'1'..=b'9'),
            };
            if target == state && changes_value {
                return Ok(true);
            }
            let is_plain = is_plain && bytes.iter().any(|byte| !matches!(byte, b'e' | b'E'));
            if visited.len() < MAX_STATES && visited.insert((target, is_plain)) {
                stack.push((target, is_plain));
            }
        }
    }
    Ok(false)
}
