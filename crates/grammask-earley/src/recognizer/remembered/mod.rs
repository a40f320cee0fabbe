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
//! | `encoded` | values of encoded texts |
//! | `beginnings` | which values can begin with a prefix |
//! | `scopes` | the scopes of a grammar: which values are ahead of a position |
//! | `environment` | the remembered values of a continuation, and what follows it after one more |
//! | `stepping` | steps of items inside values |
//! | `frontier` | the search through the texts of values, for `liveness` and `counting` |
//! | `liveness` | whether a value can still be completed as its condition demands |
//! | `open` | the open values of a set, for its mask |
//! | `abundance` | which symbols have more values than any text can take from them |
//! | `counting` | how many different values other symbols have |
//! | `anonymous` | sets whose values are unknown, for the costs of tokens |
//! | `unknown` | sets whose bound texts are unknown, for the costs of tokens |
//! | `viability` | whether enough different values are left for what must follow an item |
//!
//! **Invariant: an item inside a value is live.** Some completion of it satisfies the condition in some environment.
//! A step checks that: at once if no remembered value can begin with the prefix, else by a search that leaves all
//! remembered values.

mod abundance;
mod anonymous;
mod beginnings;
mod chains;
mod counting;
mod encoded;
mod environment;
mod frontier;
mod json;
mod liveness;
mod number;
mod open;
mod scopes;
mod stepping;
mod string;
mod unknown;
mod value_set;
mod viability;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_automata::ByteSet;

use crate::lowering::{DotId, NormalForm, RightHandSide, Symbol};
use grammask_engine::SetId;
use grammask_grammar::{ValueCondition, ValueEquality, ValueKind, ValueSupply};
use grammask_vocabulary::TrieNode;

use super::continuation::ContinuationId;
use super::index_u32;
use super::kernel::ItemState;
use chains::ChainId;
use counting::ValueCounts;
use environment::Environments;
use json::{Token, Value, ValueId, Values};
use liveness::LivenessMemo;
use scopes::Scopes;
use value_set::RememberedSets;
use viability::ViabilityMemo;

pub(super) use abundance::abundant_values;
pub(super) use anonymous::AnonymousSets;
pub(super) use counting::first_bytes;
pub(crate) use json::PrefixId;
pub(super) use liveness::ValueGoal;
pub(crate) use open::{CompletedValue, CompletingNode, OpenValue, RepeatingNodes};
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
    /// Whether each value, by number, is fresh and inexhaustible.
    is_inexhaustible: Box<[bool]>,
    /// Whether each value, by number, is a terminal: no other value is inside of it.
    is_flat: Box<[bool]>,
    /// All values that were ever remembered.
    ever_remembered: FxHashSet<ValueId>,
    /// The prefixes of strings among them, decoded.
    beginnings: FxHashSet<ChainId>,
    /// Whether all of them are strings.
    are_strings: bool,
    /// The trie nodes at which values are complete, by the prefix before the root and the children of the root that were
    /// skipped.
    completing: FxHashMap<(PrefixId, ValueId, ByteSet), Arc<[TrieNode]>>,
    /// The nodes at which the values of a list are complete.
    completed_at: FxHashMap<Box<[CompletedValue]>, Arc<[CompletingNode]>>,
    /// Estimated memory of `completed_at`, in bytes.
    completed_at_bytes: usize,
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
    /// The tables for a grammar; `abundant` says of each value, by number, whether its symbol is
    /// abundant.
    pub(super) fn new(form: &NormalForm, abundant: &[bool]) -> Self {
        let scopes = Scopes::new(form, abundant);
        let is_inexhaustible = form.values().iter().map(|(_, condition)| {
            condition.kind == ValueKind::Fresh && condition.supply == ValueSupply::Inexhaustible
        });
        Self {
            has_scarce_values: scopes.have_scarce_values(),
            is_inexhaustible: is_inexhaustible.collect(),
            is_flat: form.values().iter().map(|&(dot, _)| is_flat(form, form.symbol_after(dot))).collect(),
            ever_remembered: FxHashSet::default(),
            beginnings: FxHashSet::default(),
            are_strings: true,
            completing: FxHashMap::default(),
            completed_at: FxHashMap::default(),
            completed_at_bytes: 0,
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
    pub(super) fn add_start(&mut self, set: SetId, condition: &ValueCondition) -> ItemState {
        let prefix = match condition.equality {
            ValueEquality::Named(name) => self.values.empty_named(name),
            ValueEquality::Json => Values::EMPTY_JSON,
        };
        let prefix = self.values.encoded(prefix, &condition.encodings);
        let state = self.intern_state(ValueState { set, prefix });
        self.starts.push((state.0 - ItemState::FIRST_VALUE) as usize);
        state
    }

    /// Records that a value was remembered. Amortised cost: the length of a string.
    fn record(&mut self, value: ValueId) {
        if !self.ever_remembered.insert(value) {
            return;
        }
        match *self.values.value(value) {
            Value::String(mut text) => {
                while self.beginnings.insert(text) && text != ChainId::EMPTY {
                    text = self.values.chains.prefix(text, self.values.chains.len(text) - 1);
                }
            }
            // It begins with no string.
            Value::Anonymous => {}
            _ => self.are_strings = false,
        }
    }

    /// Whether a value that was ever remembered can begin with a prefix. May be true where none can.
    fn may_begin(&self, prefix: PrefixId) -> bool {
        match self.values.prefix(prefix).token {
            Token::Encoded(inner, _) => self.may_begin(inner),
            Token::String(text, _) if self.are_strings => self.beginnings.contains(&text),
            _ => true,
        }
    }

    /// Whether infinitely many values begin with every prefix of a fresh value, by its number.
    fn is_inexhaustible(&self, number: usize) -> bool {
        self.is_inexhaustible[number]
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

    /// The different prefixes before the values of the grammar.
    fn first_prefixes(&self) -> Vec<PrefixId> {
        let mut prefixes: Vec<PrefixId> =
            self.starts.iter().map(|&start| self.states[start].prefix).collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        prefixes
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
            + self.ever_remembered.capacity() * (size_of::<ValueId>() + 1)
            + self.beginnings.capacity() * (size_of::<ChainId>() + 1)
            + self.completed_at_bytes
            + self.completing.capacity() * (size_of::<((PrefixId, ValueId, ByteSet), Arc<[TrieNode]>)>() + 17)
    }

    /// Whether a value, which is the whole text of a prefix, is as its condition demands.
    fn satisfies(&self, kind: ValueKind, remembered: ValueSetId, value: ValueId, text: PrefixId) -> bool {
        match kind {
            ValueKind::Bound => true,
            ValueKind::Fresh | ValueKind::Different => !self.sets.contains(remembered, value),
            ValueKind::Repeated => self.sets.contains(remembered, value),
            ValueKind::Unprefixed => !self.has_prefix(remembered, text),
        }
    }

    /// Whether a remembered value can begin with the text of a prefix. Cost: linear in their number where some string that
    /// was ever remembered can.
    fn can_repeat(&self, text: PrefixId, remembered: ValueSetId) -> bool {
        self.may_begin(text) && self.sets.values(remembered).any(|value| self.values.can_become(text, value))
    }

    /// The maximum of [`Values::digits`] of remembered values.
    fn digits(&self, remembered: ValueSetId) -> u32 {
        self.sets.values(remembered).map(|value| self.values.digits(value)).max().unwrap_or(0)
    }

    /// Whether a remembered value is a prefix of a text.
    fn has_prefix(&self, remembered: ValueSetId, text: PrefixId) -> bool {
        self.sets.values(remembered).any(|value| self.values.is_prefix(value, text))
    }

    /// The remembered values after one more.
    fn remember(&mut self, kind: ValueKind, remembered: ValueSetId, value: ValueId) -> ValueSetId {
        match kind {
            ValueKind::Fresh => {
                self.record(value);
                self.sets.with(remembered, value)
            }
            ValueKind::Bound => {
                let name = self.values.name(value);
                let others = self.sets.values(remembered).filter(|&other| self.values.name(other) != name);
                let others: Vec<ValueId> = others.collect();
                others
                    .into_iter()
                    .chain([value])
                    .fold(ValueSetId::EMPTY, |set, value| self.sets.with(set, value))
            }
            ValueKind::Repeated | ValueKind::Different | ValueKind::Unprefixed => remembered,
        }
    }

    /// The remembered values that values ahead refer to.
    fn referred(&mut self, form: &NormalForm, remembered: ValueSetId, ahead: &[u32]) -> ValueSetId {
        let is_referred = |name: Option<u16>| {
            ahead.iter().any(|&number| {
                let condition = &form.values()[number as usize].1;
                let own = match condition.equality {
                    ValueEquality::Named(name) => Some(name),
                    ValueEquality::Json => None,
                };
                condition.kind.is_conditional() && own == name
            })
        };
        let (mut referred, mut count) = (ValueSetId::EMPTY, 0);
        let all: Vec<ValueId> = self.sets.values(remembered).collect();
        for &value in &all {
            if is_referred(self.values.name(value)) {
                referred = self.sets.with(referred, value);
                count += 1;
            }
        }
        if count == all.len() { remembered } else { referred }
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

/// Whether a symbol surely contains no values: a terminal, or a name of terminals.
fn is_flat(form: &NormalForm, symbol: Symbol) -> bool {
    let is_terminal = |symbol: &Symbol| matches!(symbol, Symbol::Terminal(_));
    match symbol {
        Symbol::Terminal(_) => true,
        Symbol::Nonterminal(id) => form.productions_of(id).iter().all(|production| {
            matches!(&production.rhs, RightHandSide::Sequence(symbols) if symbols.iter().all(is_terminal))
        }),
    }
}

/// The number and the condition of the value after a dot.
fn value_at(form: &NormalForm, dot: DotId) -> Option<(usize, &ValueCondition)> {
    let number = form.values().binary_search_by_key(&dot, |&(dot, _)| dot).ok()?;
    Some((number, &form.values()[number].1))
}

/// The remembered values at the end of a scope, and the continuation of the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Environment {
    set: ValueSetId,
    after_scope: ContinuationId,
}
