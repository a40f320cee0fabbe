//! How much longer a value may be that differs from remembered ones.
//!
//! The shortest text of a value, or the shortest rest of one, may be remembered. In a terminal with a self-loop on `n` bytes that
//! change the value, `k` values are avoided by log(k + 1) / log(n) more bytes; from a state without such a loop ahead
//! there are finitely many texts, and at least one of them is legal, since states inside values are live. So a value
//! that derives a bounded number of terminals has a longest shortest text, whatever at most [`MAX_REMEMBERED`] values are.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_engine::SetId;
use grammask_grammar::{NonterminalId, TerminalId, ValueEquality, ValueKind};

use crate::lowering::{NormalForm, RightHandSide, Symbol};

use super::super::Builder;
use super::shortest::Length;
use super::with_values::CompletionContext;

/// Number of remembered values that the bound takes into account.
const MAX_REMEMBERED: usize = 1 << 18;
/// Maximum number of states of a terminal.
const MAX_STATES: usize = 1 << 10;
/// Maximum length of a value that is known to suffice.
const MAX_ADDED: u64 = 1 << 12;
/// Maximum number of copies of several symbols that are taken one by one.
const MAX_COPIES: u32 = 64;
/// The length that is added to values for which no bound is known: a guess that prefers completions with few values.
const GUESSED_LENGTH: u64 = 8;

/// The length that is added to the text of each value.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct ValueEscapes {
    added: Length,
    /// Whether that suffices to differ from [`MAX_REMEMBERED`] values.
    is_bound: bool,
}

/// The texts of a terminal that differ from remembered ones.
#[derive(Clone, Copy, Debug)]
struct TerminalEscape {
    /// The maximum over all states of the shortest text that differs from all remembered values, or of the longest one
    /// if there are finitely many.
    length: u64,
    /// Whether two bytes are words that make different values.
    has_letters: bool,
}

/// By terminal, and by which of its texts are equal.
type TerminalEscapes = FxHashMap<(TerminalId, ValueEquality), Option<TerminalEscape>>;

/// A state of a terminal.
struct TerminalState {
    is_accepting: bool,
    successors: Vec<usize>,
    /// Number of bytes, needed in a self-loop, that differ from all remembered values.
    loop_bytes: Option<u64>,
}

impl Builder {
    /// The length that is added to values.
    pub(super) fn added_value_length(
        &mut self,
        context: CompletionContext<'_>,
    ) -> Result<Length, LimitExceeded> {
        Ok(self.value_escapes(context)?.added)
    }

    /// The same, for the completion of a set: a value may have to repeat the longest named one that the scopes around its
    /// items remember, or to be longer. It is at most twice that length, so that there are few tables.
    pub(super) fn added_in_set(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
    ) -> Result<Length, LimitExceeded> {
        let added = self.added_value_length(context)?;
        let longest = self.longest_named_value(context.recognizer, set);
        if longest == 0 {
            return Ok(added);
        }
        let sum = added.plus(Length::new(longest as u64)).finite();
        Ok(sum.map_or(Length::INFINITE, |sum| Length::new(u64::from(sum).next_power_of_two())))
    }

    /// Whether lengthened values differ from all values that a text remembers, after `bytes` more bytes.
    pub(super) fn lengthens_values(
        &mut self,
        context: CompletionContext<'_>,
        bytes: usize,
    ) -> Result<bool, LimitExceeded> {
        let is_bound = self.value_escapes(context)?.is_bound && !self.has_scarce_values();
        Ok(is_bound && self.remembered.largest_set().saturating_add(bytes) < MAX_REMEMBERED)
    }

    fn value_escapes(&mut self, context: CompletionContext<'_>) -> Result<ValueEscapes, LimitExceeded> {
        if let Some(known) = self.value_escapes {
            return Ok(known);
        }
        let form = &context.recognizer.form;
        let mut added = GUESSED_LENGTH;
        let mut is_bound = true;
        let mut terminals: TerminalEscapes = FxHashMap::default();
        for &(dot, ref condition) in form.values() {
            let symbol = form.symbol_after(dot);
            let equality = condition.equality;
            for terminal in terminals_of(form, symbol) {
                let Entry::Vacant(entry) = terminals.entry((terminal, equality)) else { continue };
                let (_, starts) = self.stepper.predictor.parts();
                let start = starts[terminal.index()].automaton_state();
                let automata = &mut self.stepper.automata;
                entry.insert(match start {
                    Some(start) => terminal_escape(automata, start, equality, context.bytes())?,
                    None => None,
                });
            }
            let of_terminal = |terminal| terminals.get(&(terminal, equality)).copied().flatten();
            let length = match condition.kind {
                ValueKind::Fresh => escape_of_symbol(form, of_terminal, symbol),
                ValueKind::Bound | ValueKind::Repeated | ValueKind::Different | ValueKind::Unprefixed => None,
            };
            match length.filter(|&length| length <= MAX_ADDED) {
                Some(length) => added = added.max(length),
                None => is_bound = false,
            }
        }
        let escapes = ValueEscapes { added: Length::new(added), is_bound };
        self.value_escapes = Some(escapes);
        Ok(escapes)
    }
}

/// The terminals in the texts of a symbol, outside of scopes inside them.
pub(super) fn terminals_of(form: &NormalForm, symbol: Symbol) -> Vec<TerminalId> {
    let mut terminals = Vec::new();
    let mut reached: FxHashSet<Symbol> = FxHashSet::from_iter([symbol]);
    let mut stack = vec![symbol];
    while let Some(symbol) = stack.pop() {
        let id = match symbol {
            Symbol::Terminal(id) => {
                terminals.push(id);
                continue;
            }
            Symbol::Nonterminal(id) => id,
        };
        for production in form.productions_of(id) {
            let symbols: &[Symbol] = match &production.rhs {
                RightHandSide::Sequence(symbols) => symbols,
                RightHandSide::Repeat { symbol, .. } => std::slice::from_ref(symbol),
                RightHandSide::Scope(_) | RightHandSide::Value { .. } | RightHandSide::Selection { .. } => {
                    &[]
                }
            };
            stack.extend(symbols.iter().copied().filter(|&symbol| reached.insert(symbol)));
        }
    }
    terminals
}

/// The number of bytes, each one of `count`, of more texts than there are remembered values.
fn bytes_for(count: usize) -> Option<u64> {
    if count < 2 {
        return None;
    }
    let (mut length, mut texts) = (0, 1_usize);
    while texts <= MAX_REMEMBERED {
        (length, texts) = (length + 1, texts * count);
    }
    Some(length)
}

/// The texts of a terminal that differ from remembered ones; `None` if their lengths have no bound.
fn terminal_escape(
    automata: &mut Automata,
    start: StateId,
    equality: ValueEquality,
    spelled: ByteSet,
) -> Result<Option<TerminalEscape>, LimitExceeded> {
    let mut has_letters = false;
    let mut positions: FxHashMap<StateId, usize> = FxHashMap::from_iter([(start, 0)]);
    let mut ids = vec![start];
    let mut states: Vec<TerminalState> = Vec::new();
    while let Some(&id) = ids.get(states.len()) {
        let mut state = TerminalState {
            is_accepting: automata.is_accepting(id),
            successors: Vec::new(),
            loop_bytes: None,
        };
        for (bytes, target) in automata.successors(id)? {
            let next = ids.len();
            let position = *positions.entry(target).or_insert(next);
            if position == next {
                ids.push(target);
            }
            let count = bytes.iter().filter(|&byte| spelled.contains(byte)).count();
            if count > 0 {
                state.successors.push(position);
            }
            let of_range = |range: std::ops::RangeInclusive<u8>| {
                range.filter(|&byte| bytes.contains(byte) && spelled.contains(byte)).count()
            };
            let changing = match equality {
                ValueEquality::Named(_) => count,
                ValueEquality::Json => of_range(b'a'..=b'z').max(of_range(b'1'..=b'9')),
            };
            has_letters |= id == start && changing >= 2 && automata.is_accepting(target);
            if target == id {
                let own = bytes_for(changing);
                state.loop_bytes = [state.loop_bytes, own].into_iter().flatten().min();
            }
        }
        states.push(state);
        if ids.len() > MAX_STATES {
            return Ok(None);
        }
    }
    // The shortest word, and the shortest one through a self-loop.
    let shortest = shortest_paths(&states, |_, state| state.is_accepting.then_some(0));
    let escapes = shortest_paths(&states, |position, state| Some(state.loop_bytes? + shortest[position]?));
    // The longest word from states without a loop ahead.
    let mut longest: Vec<u64> = vec![0; states.len()];
    for _ in 0..=states.len() {
        let mut is_stable = true;
        for position in 0..states.len() {
            if escapes[position].is_some() {
                continue;
            }
            let next = states[position].successors.iter().map(|&next| longest[next] + 1).max().unwrap_or(0);
            if next != longest[position] {
                (longest[position], is_stable) = (next, false);
            }
        }
        if is_stable {
            let has_end = |position: usize| shortest[position].is_some();
            let own = |position: usize| escapes[position].unwrap_or(longest[position]);
            let all_end = (0..states.len()).all(has_end);
            let length = (0..states.len()).map(own).max().unwrap_or(0);
            return Ok(all_end.then_some(TerminalEscape { length, has_letters }));
        }
    }
    Ok(None)
}

/// The lengths of the shortest paths to states with a length of their own.
fn shortest_paths(
    states: &[TerminalState],
    own: impl Fn(usize, &TerminalState) -> Option<u64>,
) -> Vec<Option<u64>> {
    let mut lengths: Vec<Option<u64>> =
        states.iter().enumerate().map(|(position, state)| own(position, state)).collect();
    loop {
        let mut is_stable = true;
        for position in (0..states.len()).rev() {
            let next = states[position].successors.iter().filter_map(|&next| lengths[next]).min();
            if let Some(through) = next.map(|next| next + 1)
                && lengths[position].is_none_or(|known| through < known)
            {
                (lengths[position], is_stable) = (Some(through), false);
            }
        }
        if is_stable {
            return lengths;
        }
    }
}

/// The length of a text of a symbol, or of the rest of one, that differs from all remembered values; `None` if no bound is
/// known.
fn escape_of_symbol(
    form: &NormalForm,
    escape_of: impl Fn(TerminalId) -> Option<TerminalEscape>,
    symbol: Symbol,
) -> Option<u64> {
    let of_terminal = |id: TerminalId| escape_of(id).map(|escape| escape.length);
    // `None` while a nonterminal is in progress.
    let mut known: FxHashMap<NonterminalId, Option<u64>> = FxHashMap::default();
    let first = match symbol {
        Symbol::Terminal(id) => return of_terminal(id),
        Symbol::Nonterminal(id) => id,
    };
    let mut stack = vec![first];
    while let Some(&nonterminal) = stack.last() {
        known.entry(nonterminal).or_insert(None);
        let mut missing = None;
        let mut longest = 0;
        for production in form.productions_of(nonterminal) {
            let mut of_symbol = |symbol: Symbol| match symbol {
                Symbol::Terminal(id) => of_terminal(id),
                Symbol::Nonterminal(id) => match known.get(&id) {
                    // A recursion has values of any length.
                    Some(length) => *length,
                    None => {
                        missing = Some(id);
                        Some(0)
                    }
                },
            };
            let length = match &production.rhs {
                RightHandSide::Sequence(symbols) => symbols
                    .iter()
                    .try_fold(0_u64, |sum, &symbol| Some(sum.saturating_add(of_symbol(symbol)?)))?,
                RightHandSide::Repeat { symbol, min, max } => {
                    let own = of_symbol(*symbol)?;
                    let copies = match (max, symbol) {
                        (Some(max), _) if *max <= MAX_COPIES => u64::from(*max),
                        (_, Symbol::Terminal(id)) if escape_of(*id)?.has_letters => {
                            u64::from(*min) + 1 + bytes_for(2)?
                        }
                        _ => return None,
                    };
                    own.saturating_mul(copies)
                }
                RightHandSide::Scope(_) | RightHandSide::Value { .. } | RightHandSide::Selection { .. } => {
                    return None;
                }
            };
            longest = longest.max(length);
        }
        match missing {
            Some(id) => stack.push(id),
            None => {
                known.insert(nonterminal, Some(longest));
                stack.pop();
            }
        }
    }
    known[&first]
}
