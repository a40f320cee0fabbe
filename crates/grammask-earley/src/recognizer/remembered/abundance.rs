//! Which symbols are abundant: they have more values than any text can take from them.

use std::ops::RangeInclusive;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lowering::{NormalForm, RightHandSide, Symbol};
use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{TerminalId, ValueEquality, ValueSupply};

use super::super::ItemState;

/// Maximum number of states of a terminal in which a self-loop is looked for, or whose words are counted.
const MAX_STATES: usize = 256;
/// Number of values of which none can be missing, so that they need not be counted. Remembered values have ids of 32
/// bits; the fresh values ahead are counted with 32 bits, and a token has fewer bytes than that.
const MIN_ABUNDANT: u64 = 1 << 36;
/// Maximum length of the words that are counted.
const MAX_WORD: usize = 40;
/// Bytes of which different words make different values, next to the same bytes: of letters or of digits in a string,
/// and of digits in a number, before or after its point. A text with `0` may be another spelling of the same number.
const LETTERS: [RangeInclusive<u8>; 2] = [b'a'..=b'z', b'"'..=b'"'];
const DIGITS: [RangeInclusive<u8>; 2] = [b'1'..=b'9', b'"'..=b'"'];

/// For each condition on values of a grammar whether its symbol is abundant, where the terminals have these initial
/// states.
///
/// # Errors
/// When the number of states of automata exceeds its limit.
pub(in super::super) fn abundant_values(
    form: &NormalForm,
    automata: &mut Automata,
    starts: &[ItemState],
) -> Result<Vec<bool>, LimitExceeded> {
    let mut abundance = Abundance::new(form, automata, starts);
    let conditions = form.values().iter();
    conditions
        .map(|&(dot, ref condition)| match condition.supply {
            ValueSupply::Unknown => abundance.is_abundant(form.symbol_after(dot), condition.equality),
            ValueSupply::AtLeast(min) => Ok(min == u32::MAX),
            ValueSupply::Inexhaustible => Ok(true),
        })
        .collect()
}

/// The analysis of a grammar: a symbol is abundant if a terminal of it has at least [`MIN_ABUNDANT`] texts, or a
/// self-loop, that change the value. In JSON, that is a loop on a letter, which is in a string or literal, or on a
/// digit other than 0 outside of exponents.
struct Abundance<'a> {
    form: &'a NormalForm,
    automata: &'a mut Automata,
    starts: &'a [ItemState],
    /// Memo table of terminals, and whether their values are those of JSON.
    of_terminal: FxHashMap<(TerminalId, bool), bool>,
}

impl<'a> Abundance<'a> {
    /// For a grammar whose terminals have these start states.
    fn new(form: &'a NormalForm, automata: &'a mut Automata, starts: &'a [ItemState]) -> Self {
        Self { form, automata, starts, of_terminal: FxHashMap::default() }
    }

    /// Whether a symbol is abundant.
    ///
    /// # Errors
    /// When the number of states of automata exceeds its limit.
    fn is_abundant(&mut self, symbol: Symbol, equality: ValueEquality) -> Result<bool, LimitExceeded> {
        let mut reached: FxHashSet<Symbol> = FxHashSet::from_iter([symbol]);
        let mut stack = vec![symbol];
        while let Some(symbol) = stack.pop() {
            let nonterminal = match symbol {
                Symbol::Terminal(id) if self.is_terminal_abundant(id, equality)? => return Ok(true),
                Symbol::Terminal(_) => continue,
                Symbol::Nonterminal(id) => id,
            };
            for production in self.form.productions_of(nonterminal) {
                let symbols: &[Symbol] = match &production.rhs {
                    RightHandSide::Sequence(symbols) => symbols,
                    RightHandSide::Repeat { symbol, max, .. } => {
                        if let &Symbol::Terminal(copied) = symbol
                            && let Some(start) = self.starts[copied.index()].automaton_state()
                            && has_many_copies(self.automata, start, *max)?
                        {
                            return Ok(true);
                        }
                        std::slice::from_ref(symbol)
                    }
                    RightHandSide::Scope(symbol) | RightHandSide::Value { symbol, .. } => {
                        std::slice::from_ref(symbol)
                    }
                    RightHandSide::Selection { parts, .. } => parts,
                };
                stack.extend(symbols.iter().copied().filter(|&symbol| reached.insert(symbol)));
            }
        }
        Ok(false)
    }

    fn is_terminal_abundant(
        &mut self,
        terminal: TerminalId,
        equality: ValueEquality,
    ) -> Result<bool, LimitExceeded> {
        let Some(start) = self.starts[terminal.index()].automaton_state() else { return Ok(false) };
        let key = (terminal, equality == ValueEquality::Json);
        if let Some(&known) = self.of_terminal.get(&key) {
            return Ok(known);
        }
        let is_abundant = has_loop(self.automata, start, equality)? || has_many_words(self.automata, start)?;
        self.of_terminal.insert(key, is_abundant);
        Ok(is_abundant)
    }
}

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
    let accepting: Vec<u64> = ids.iter().map(|&id| u64::from(automata.is_accepting(id))).collect();
    Ok([&LETTERS, &DIGITS].into_iter().any(|alphabet| has_many_words_of(alphabet, &steps, &accepting)))
}

/// Whether an automaton has at least [`MIN_ABUNDANT`] words over an alphabet, from its state 0 on. `steps` has the
/// successors of each state, and `accepting` is 1 for accepting states.
fn has_many_words_of(
    alphabet: &[RangeInclusive<u8>],
    steps: &[Vec<(ByteSet, usize)>],
    accepting: &[u64],
) -> bool {
    let counted = |step: &Vec<(ByteSet, usize)>| {
        let edges = step.iter().map(|&(bytes, target)| (count_of(bytes, alphabet), target));
        edges.filter(|&(count, _)| count > 0).collect::<Vec<(u64, usize)>>()
    };
    let edges: Vec<Vec<(u64, usize)>> = steps.iter().map(counted).collect();
    // The words of each length from each state on.
    let mut words = accepting.to_vec();
    let mut total: u64 = 0;
    for _ in 0..MAX_WORD {
        let longer = |edges: &Vec<(u64, usize)>| {
            edges
                .iter()
                .fold(0_u64, |sum, &(count, target)| sum.saturating_add(count.saturating_mul(words[target])))
        };
        words = edges.iter().map(longer).collect();
        total = total.saturating_add(words[0]);
        if total >= MIN_ABUNDANT || words.iter().all(|&count| count == 0) {
            break;
        }
    }
    total >= MIN_ABUNDANT
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

/// The number of bytes of a set in an alphabet of disjoint ranges.
fn count_of(bytes: ByteSet, alphabet: &[RangeInclusive<u8>]) -> u64 {
    let in_range =
        |range: &RangeInclusive<u8>| bytes.intersection(ByteSet::range(*range.start(), *range.end())).len();
    alphabet.iter().map(in_range).sum::<usize>() as u64
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
                ValueEquality::Named(_) => true,
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
