//! Embedded grammars: terminals whose words another engine recognises.
//!
//! An engine with interned states is an automaton with lazily made, possibly infinitely many states, so an item inside
//! such a terminal holds a state of the engine, as it holds an automaton state elsewhere. States are numbered here in
//! the order in which they are reached, so that an item stays two numbers and a continuation. Equal states of the
//! engine are equal futures of the word, hence the sets that contain them stay interned.
//!
//! The word of the terminal ends wherever the engine's text is complete. The item stays as well if the word can
//! continue: all ends are followed. Embedded grammars name no tokens, so every step inside them is a byte.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use grammask_automata::{Automata, ByteSet};
use grammask_diagnostics::LimitExceeded;
use grammask_engine::{Engine, SetId, Steps};
use grammask_grammar::EmbeddedId;

use super::kernel::{Item, ItemState, Kernel};
use super::{Recognizer, index_u32};

/// A state of the engine of an embedded grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EmbeddedState {
    pub(crate) grammar: EmbeddedId,
    pub(crate) set: SetId,
}

/// The engines of the embedded grammars, and the states that were reached, by the index that items hold.
#[derive(Debug, Default)]
pub(crate) struct EmbeddedStates {
    engines: Vec<Arc<dyn Engine>>,
    list: Vec<EmbeddedState>,
    ids: FxHashMap<EmbeddedState, u32>,
    /// Whether a word can continue from each state, once it was asked for.
    continues: Vec<Option<bool>>,
}

/// The automata of terminals and the engines of embedded grammars, which read a terminal from its item's state.
pub(crate) struct TerminalReader<'a> {
    pub(crate) automata: &'a mut Automata,
    pub(crate) embedded: &'a mut EmbeddedStates,
}

impl EmbeddedStates {
    pub(super) fn new(engines: Vec<Arc<dyn Engine>>) -> Self {
        Self { engines, ..Self::default() }
    }

    pub(super) fn engines(&self) -> &[Arc<dyn Engine>] {
        &self.engines
    }

    /// Whether there are embedded grammars.
    pub(super) fn is_empty(&self) -> bool {
        self.engines.is_empty()
    }

    /// The engine of a grammar.
    pub(crate) fn engine(&self, grammar: EmbeddedId) -> &dyn Engine {
        &*self.engines[grammar.index()]
    }

    /// The state before the first byte of a grammar's text.
    pub(super) fn start(&mut self, grammar: EmbeddedId) -> ItemState {
        let set = self.engine(grammar).start();
        self.item_state(EmbeddedState { grammar, set })
    }

    /// The engine's state of an item; `None` for items that are not inside an embedded grammar. Items that count tokens
    /// are passed as if they did not.
    pub(crate) fn get(&self, state: ItemState) -> Option<EmbeddedState> {
        state.embedded_index().map(|index| self.list[index])
    }

    /// The state of an item.
    pub(crate) fn item_state(&mut self, state: EmbeddedState) -> ItemState {
        let next = index_u32(self.list.len());
        let index = *self.ids.entry(state).or_insert(next);
        if index == next {
            self.list.push(state);
            self.continues.push(None);
        }
        ItemState(ItemState::FIRST_EMBEDDED + index)
    }

    /// The state after the end of a token.
    pub(super) fn end_token(&mut self, state: ItemState) -> Result<Option<ItemState>, LimitExceeded> {
        let Some(EmbeddedState { grammar, set }) = self.get(state) else { return Ok(Some(state)) };
        let next = self.engine(grammar).end_token(set)?;
        Ok(next.map(|set| self.item_state(EmbeddedState { grammar, set })))
    }

    fn step(&mut self, state: EmbeddedState, byte: u8) -> Result<Option<ItemState>, LimitExceeded> {
        let next = self.engine(state.grammar).step(state.set, byte)?;
        Ok(next.map(|set| self.item_state(EmbeddedState { set, ..state })))
    }

    /// Whether a word can continue: a state whose text is not complete has a completion.
    fn continues(&mut self, index: usize) -> Result<bool, LimitExceeded> {
        if let Some(known) = self.continues[index] {
            return Ok(known);
        }
        let EmbeddedState { grammar, set } = self.list[index];
        let engine = self.engine(grammar);
        let mut continues = !engine.is_complete(set);
        let mut bytes = engine.byte_of_class().iter();
        while !continues && let Some(&byte) = bytes.next() {
            continues = engine.step(set, byte)?.is_some();
        }
        self.continues[index] = Some(continues);
        Ok(continues)
    }

    /// Estimated memory in bytes, with that of the engines.
    pub(super) fn memory_bytes(&self) -> usize {
        let of_engines: usize = self.engines.iter().map(|engine| engine.memory_bytes()).sum();
        of_engines
            + self.list.capacity() * (size_of::<EmbeddedState>() + size_of::<Option<bool>>())
            + self.ids.capacity() * (size_of::<(EmbeddedState, u32)>() + 1)
    }
}

/// A set with one item inside an embedded grammar.
pub(crate) struct InsideEmbedded {
    pub(crate) state: EmbeddedState,
    item: Item,
    /// The set of the other items, if there are any.
    pub(crate) others: Option<SetId>,
    /// The bytes that can follow the word of the item.
    pub(crate) next_bytes: ByteSet,
}

impl Recognizer {
    /// A set as one inside an embedded grammar; `None` if it is not inside exactly one, or if states depend on more than
    /// bytes.
    pub(crate) fn inside_embedded(&self, set: SetId) -> Result<Option<InsideEmbedded>, LimitExceeded> {
        if self.counts_tokens || self.has_values() || self.has_embedded_values {
            return Ok(None);
        }
        let mut guard = self.lock();
        let builder = &mut *guard;
        let mut items = builder.items(self.set(set));
        let embedded: Vec<usize> =
            (0..items.len()).filter(|&index| builder.stepper.is_embedded(items[index].state)).collect();
        let [index] = embedded[..] else { return Ok(None) };
        let item = items.remove(index);
        let Some(state) = builder.stepper.embedded.get(item.state) else { return Ok(None) };
        let others = match items.is_empty() {
            true => None,
            false => Some(builder.intern(&self.sets, &mut Kernel { ends: false, items })?),
        };
        let (mut after, mut ended) = (Kernel::default(), Vec::new());
        after.advance(&self.form, item, &mut ended);
        builder.stepper.resume(&self.form, &mut after, &mut ended, &mut builder.continuations)?;
        let after = match after.items.is_empty() {
            true => None,
            false => Some(builder.intern(&self.sets, &mut after)?),
        };
        drop(guard);
        let mut next_bytes = ByteSet::EMPTY;
        if let Some(after) = after {
            for byte in 0..=u8::MAX {
                if self.step(after, byte)?.is_some() {
                    next_bytes.insert(byte);
                }
            }
        }
        Ok(Some(InsideEmbedded { state, item, others, next_bytes }))
    }

    /// The sets after bytes that only the item inside the embedded grammar reads, given the states of its engine.
    pub(crate) fn sets_inside_embedded(
        &self,
        inside: &InsideEmbedded,
        states: impl Iterator<Item = SetId>,
    ) -> Result<Vec<SetId>, LimitExceeded> {
        let mut guard = self.lock();
        let builder = &mut *guard;
        let mut sets = Vec::new();
        let (mut kernel, mut ended) = (Kernel::default(), Vec::new());
        for set in states {
            kernel.clear();
            ended.clear();
            let state = builder.stepper.embedded.item_state(EmbeddedState { set, ..inside.state });
            builder.stepper.enter_state(&self.form, inside.item, state, &mut kernel, &mut ended)?;
            builder.stepper.resume(&self.form, &mut kernel, &mut ended, &mut builder.continuations)?;
            sets.push(builder.intern(&self.sets, &mut kernel)?);
        }
        Ok(sets)
    }
}

impl TerminalReader<'_> {
    /// The same reader, for a call that takes one.
    pub(super) fn reborrow(&mut self) -> TerminalReader<'_> {
        TerminalReader { automata: &mut *self.automata, embedded: &mut *self.embedded }
    }

    /// The state after a byte; `None` if the terminal cannot read it. The state does not count tokens.
    pub(super) fn step(&mut self, state: ItemState, byte: u8) -> Result<Option<ItemState>, LimitExceeded> {
        if let Some(state) = self.embedded.get(state) {
            return self.embedded.step(state, byte);
        }
        let Some(state) = state.automaton_state() else { return Ok(None) };
        Ok(self.automata.step(state, byte)?.map(ItemState::of_automaton))
    }

    /// Whether the word of a state is complete.
    pub(super) fn is_accepting(&self, state: ItemState) -> bool {
        match self.embedded.get(state) {
            Some(EmbeddedState { grammar, set }) => self.embedded.engine(grammar).is_complete(set),
            None => state.automaton_state().is_some_and(|state| self.automata.is_accepting(state)),
        }
    }

    /// Whether the word of a state can continue.
    pub(super) fn continues(&mut self, state: ItemState) -> Result<bool, LimitExceeded> {
        match (state.embedded_index(), state.automaton_state()) {
            (Some(index), _) => self.embedded.continues(index),
            (None, Some(state)) => self.automata.continues(state),
            (None, None) => Ok(false),
        }
    }
}
