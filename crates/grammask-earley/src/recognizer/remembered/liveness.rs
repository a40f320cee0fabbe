//! Whether a value can still be completed as its condition demands.
//!
//! If no remembered value can begin with the prefix of a fresh or different value, every completion of it is one.
//! Otherwise a search through the texts that remembered values begin with looks for a way out: a complete value that
//! satisfies the condition, or for fresh values a prefix with which no remembered value begins. The search visits pairs
//! of a set and a prefix, so it is bounded by the lengths of the remembered values; usually the first byte leads out.

use rustc_hash::FxHashMap;

use grammask_automata::ByteSet;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::ValueKind;

use super::super::continuation::ContinuationId;
use super::super::{Builder, Recognizer};
use super::ValueState;
use super::environment::ScopeEnd;
use super::frontier::Frontier;
use super::json::{PrefixId, Values};
use super::value_set::ValueSetId;

/// Only one in this many of the states of a search may be inside numbers with more zeros than remembered numbers have
/// digits: inside values that are remembered in turn, each number of zeros is a state of its own.
const SHORTENED_SHARE: usize = 50;

/// The condition on the rest of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct ValueGoal {
    /// Before or inside the value.
    pub(in super::super) state: ValueState,
    pub(in super::super) remembered: ValueSetId,
    pub(in super::super) kind: ValueKind,
}

/// Results of searches.
#[derive(Debug, Default)]
pub(super) struct LivenessMemo(FxHashMap<ValueGoal, bool>);

impl LivenessMemo {
    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.0.capacity() * (size_of::<(ValueGoal, bool)>() + 1)
    }
}

impl Builder {
    /// Whether an item inside a value, by its number, can be completed by more bytes.
    pub(super) fn is_live(
        &mut self,
        recognizer: &Recognizer,
        continuation: ContinuationId,
        state: ValueState,
        number: usize,
    ) -> Result<bool, LimitExceeded> {
        let is_inexhaustible = self.remembered.is_inexhaustible(number);
        if is_inexhaustible && !self.has_scarce_values() {
            return Ok(true);
        }
        let kind = recognizer.form.values()[number].1.kind;
        if kind == ValueKind::Bound {
            return Ok(true);
        }
        let value = self.remembered.scopes.value(number as u32);
        for ScopeEnd { remembered, ahead } in &*self.scope_ends(recognizer, continuation) {
            if (is_inexhaustible || self.can_satisfy(recognizer, state, *remembered, kind)?)
                && self.has_enough_values(recognizer, &value.then(ahead), *remembered)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a value inside of which the text is can be completed by more bytes, so that it satisfies the condition.
    pub(super) fn can_satisfy(
        &mut self,
        recognizer: &Recognizer,
        state: ValueState,
        remembered: ValueSetId,
        kind: ValueKind,
    ) -> Result<bool, LimitExceeded> {
        if let Some(known) = self.is_decided(state, remembered, kind) {
            return Ok(known);
        }
        let key = ValueGoal { state, remembered, kind };
        if let Some(&known) = self.remembered.liveness.0.get(&key) {
            return Ok(known);
        }
        let found = self.search(recognizer, state, remembered, kind)?;
        self.remembered.liveness.0.insert(key, found);
        Ok(found)
    }

    /// Whether all completions of a value satisfy the condition, or none; `None` if that depends on them.
    pub(in super::super) fn is_decided(
        &self,
        state: ValueState,
        remembered: ValueSetId,
        kind: ValueKind,
    ) -> Option<bool> {
        if kind == ValueKind::Bound {
            return Some(true);
        }
        let tables = &self.remembered;
        if kind == ValueKind::Unprefixed && tables.has_prefix(remembered, state.prefix) {
            return Some(false);
        }
        (!tables.can_repeat(state.prefix, remembered)).then_some(kind != ValueKind::Repeated)
    }

    /// The bytes after which a value may still satisfy the condition.
    pub(in super::super) fn decisive_bytes(
        &self,
        state: ValueState,
        remembered: ValueSetId,
        kind: ValueKind,
    ) -> ByteSet {
        match kind {
            ValueKind::Repeated => self.repeating_bytes(state.prefix, remembered),
            _ => ByteSet::ALL,
        }
    }

    /// The bytes after which a value may still become a remembered one; all others exclude it.
    pub(in super::super) fn repeating_bytes(&self, prefix: PrefixId, remembered: ValueSetId) -> ByteSet {
        let tables = &self.remembered;
        // No value becomes an anonymous one.
        let known = tables.sets.values(remembered).filter(|&value| value != Values::ANONYMOUS);
        known.map(|value| tables.values.next_bytes(prefix, value)).fold(ByteSet::EMPTY, ByteSet::union)
    }

    /// Whether a remembered value can begin with the text of a value so far.
    pub(in super::super) fn can_repeat(&self, state: ValueState, remembered: ValueSetId) -> bool {
        self.remembered.can_repeat(state.prefix, remembered)
    }

    fn search(
        &mut self,
        recognizer: &Recognizer,
        from: ValueState,
        remembered: ValueSetId,
        kind: ValueKind,
    ) -> Result<bool, LimitExceeded> {
        let mut max_digits = None;
        let mut frontier = Frontier::new(from);
        let (mut has_exponents, mut is_incomplete, mut shortened) = (false, false, 0);
        while let Some(state) = frontier.next() {
            if frontier.len() > self.limits.set_items || shortened > self.limits.set_items / SHORTENED_SHARE {
                return Err(LimitExceeded::new("set_items", self.limits.set_items));
            }
            let bytes = self.decisive_bytes(state, remembered, kind);
            for byte in bytes_by_preference().filter(|&byte| bytes.contains(byte)) {
                let Some(next) = self.step_value(recognizer, state, byte)? else { continue };
                has_exponents |= self.remembered.values.is_in_exponent(next.prefix);
                let set = &recognizer.set(next.set).data;
                let (ends, is_final) = (set.ends(), set.is_final());
                if ends {
                    let value = self.remembered.values.finish(next.prefix);
                    if self.remembered.satisfies(kind, remembered, value, next.prefix) {
                        return Ok(true);
                    }
                }
                if is_final {
                    continue;
                }
                match self.is_decided(next, remembered, kind) {
                    Some(true) => return Ok(true),
                    Some(false) => continue,
                    None => {}
                }
                let prefix = self.remembered.values.saturated(next.prefix, || {
                    *max_digits.get_or_insert_with(|| self.remembered.digits(remembered).saturating_add(1))
                });
                let is_shortened = prefix != self.remembered.values.prefix(next.prefix);
                is_incomplete |= self.remembered.values.has_fewer_integer_zeros(prefix, next.prefix);
                let is_new = frontier.discover(next, (next.set, prefix));
                shortened += usize::from(is_shortened && is_new);
            }
        }
        if is_incomplete && has_exponents {
            // An exponent might take back the zeros that were not followed.
            return Err(LimitExceeded::new("set_items", self.limits.set_items));
        }
        Ok(false)
    }
}

/// All bytes. A depth-first search follows the last one first: those that end strings, arrays and objects, then those
/// that lead most directly to the end of a value, not white space, escapes, other spellings of numbers, or further
/// members and levels.
pub(super) fn bytes_by_preference() -> impl Iterator<Item = u8> {
    const DETOURS: &[u8] = b" \t\r\n\\+eE.0[{,";
    const ENDS: &[u8] = b"}]\"";
    let direct = (0..=u8::MAX).filter(|byte| !DETOURS.contains(byte) && !ENDS.contains(byte));
    DETOURS.iter().copied().chain(direct).chain(ENDS.iter().copied())
}
