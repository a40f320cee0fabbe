//! Values that a text must not repeat, or must repeat: the part of the recogniser that is not context-free.
//!
//! An item before or inside a *value* (see [`grammask_grammar::values`]) is like an item of a terminal. Its state is a
//! set of its own, reached from the symbol of the value, and the prefix of the value's text. When that set is complete,
//! the condition on the value is checked, and the item's continuation is rewritten: at the *end* of the nearest scope,
//! the remembered set gets the value. So environments are part of continuations, equal futures are equal states, and
//! the text inside a scope but outside of its values is read as if there were no scope.
//!
//! | module | contents |
//! |---|---|
//! | `chains`, `value_set` | interned lists and sets |
//! | `json`, `string`, `number` | values of texts, read byte by byte |
//! | `beginnings` | which values can begin with a prefix |
//! | `scopes` | the scopes of a grammar: which values are ahead of a position |
//! | `environment` | the remembered values of a continuation, and what follows it after one more |
//! | `stepping` | steps of items inside values |
//! | `liveness` | whether a value can still be completed as its condition demands |
//! | `open` | the open values of a set, for its mask |
//! | `counting` | how many different values a symbol has |
//! | `anonymous` | sets whose values are unknown, for the costs of tokens |
//! | `viability` | whether enough different values are left for what must follow an item |
//!
//! **Invariant: an item inside a value is live.** Some completion of it satisfies the condition in some environment.
//! A step checks that: at once if no remembered value can begin with the prefix, else by a search that leaves all
//! remembered values.

mod anonymous;
mod beginnings;
mod chains;
mod counting;
mod environment;
mod json;
mod liveness;
mod number;
mod open;
mod scopes;
mod stepping;
mod string;
mod value_set;
mod viability;

use rustc_hash::FxHashMap;

use crate::lowering::{DotId, NormalForm};
use grammask_engine::SetId;
use grammask_grammar::{ValueCondition, ValueEquality, ValueKind};

use super::continuation::ContinuationId;
use super::index_u32;
use super::kernel::ItemState;
use counting::ValueCounts;
use environment::Environments;
use json::{PrefixId, Values};
use liveness::LivenessMemo;
use scopes::Scopes;
use value_set::RememberedSets;
use viability::ViabilityMemo;

pub(super) use anonymous::AnonymousSets;
pub(super) use counting::is_infinite;
pub(crate) use open::OpenValue;
pub(super) use value_set::ValueSetId;

/// Maximum number of values that are open inside each other. A step descends into each of them.
pub(super) const MAX_OPEN_VALUES: usize = 64;

/// The state of an item inside a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ValueState {
    /// The set inside the value.
    pub(super) set: SetId,
    /// What has been read of its text.
    pub(super) prefix: PrefixId,
}

/// The tables of remembered values of one recogniser.
#[derive(Debug)]
pub(super) struct Remembered {
    scopes: Scopes,
    /// Whether some fresh value may run out of values.
    has_scarce_values: bool,
    environments: Environments,
    values: Values,
    sets: RememberedSets,
    states: Vec<ValueState>,
    state_ids: FxHashMap<ValueState, u32>,
    /// The index of the state before each value, by number.
    starts: Vec<usize>,
    liveness: LivenessMemo,
    counts: ValueCounts,
    viability: ViabilityMemo,
    /// The number of values that the current step has descended into.
    pub(super) open: usize,
}

impl Remembered {
    /// The tables for a grammar; `infinite` says of each value, by number, whether it surely has infinitely many texts
    /// that differ.
    pub(super) fn new(form: &NormalForm, infinite: &[bool]) -> Self {
        let scopes = Scopes::new(form, infinite);
        Self {
            has_scarce_values: scopes.have_scarce_values(),
            scopes,
            environments: Environments::default(),
            values: Values::default(),
            sets: RememberedSets::default(),
            states: Vec::new(),
            state_ids: FxHashMap::default(),
            starts: Vec::new(),
            liveness: LivenessMemo::default(),
            counts: ValueCounts::default(),
            viability: ViabilityMemo::default(),
            open: 0,
        }
    }

    /// The state before the next value, in the order of their numbers, which begins with this set.
    pub(super) fn add_start(&mut self, set: SetId, condition: ValueCondition) -> ItemState {
        let prefix = match condition.equality {
            ValueEquality::Bytes => Values::EMPTY_TEXT,
            ValueEquality::Json => Values::EMPTY_JSON,
        };
        let state = self.intern_state(ValueState { set, prefix });
        self.starts.push((state.0 - ItemState::FIRST_VALUE) as usize);
        state
    }

    /// The state of an item inside a value.
    pub(super) fn state(&self, state: ItemState) -> ValueState {
        self.states[(state.0 - ItemState::FIRST_VALUE) as usize]
    }

    /// The number of values of the largest set that was remembered.
    pub(super) fn largest_set(&self) -> usize {
        self.sets.largest()
    }

    /// The number of values of a set.
    pub(super) fn set_len(&self, set: ValueSetId) -> usize {
        self.sets.len(set)
    }

    /// The state before the value with this number.
    fn start_state(&self, number: u32) -> ValueState {
        self.states[self.starts[number as usize]]
    }

    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.values.memory_bytes()
            + self.sets.memory_bytes()
            + self.environments.memory_bytes()
            + self.states.capacity() * size_of::<ValueState>()
            + self.state_ids.capacity() * (size_of::<(ValueState, u32)>() + 1)
            + self.liveness.memory_bytes()
            + self.counts.memory_bytes()
            + self.viability.memory_bytes()
    }

    fn intern_state(&mut self, state: ValueState) -> ItemState {
        let next = index_u32(self.states.len());
        let index = *self.state_ids.entry(state).or_insert(next);
        if index == next {
            self.states.push(state);
        }
        ItemState(ItemState::FIRST_VALUE + index)
    }
}

/// The number and the condition of the value after a dot.
fn value_at(form: &NormalForm, dot: DotId) -> Option<(usize, ValueCondition)> {
    let number = form.values().binary_search_by_key(&dot, |&(dot, _)| dot).ok()?;
    Some((number, form.values()[number].1))
}

/// Whether a value is as its condition demands.
fn satisfies(kind: ValueKind, is_remembered: bool) -> bool {
    match kind {
        ValueKind::Fresh => !is_remembered,
        ValueKind::Repeated => is_remembered,
    }
}

/// The remembered values at the end of a scope, and the continuation of the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Environment {
    set: ValueSetId,
    after_scope: ContinuationId,
}
