//! One step over a byte: prediction, the automata of terminals, and the continuations of productions that end.
//!
//! The code is generic over how continuations are interned ([`InternContinuations`]): it never inspects a
//! continuation except through that trait. So the same code executes steps and records traces of them (see
//! [`super::trace`]).

use rustc_hash::FxHashMap;

use crate::lowering::NormalForm;
use grammask_automata::{Automata, StateId};
use grammask_diagnostics::{LimitExceeded, Limits};

use super::continuation::{Content, ContinuationId, InternContinuations};
use super::embedded::{EmbeddedStates, TerminalReader};
use super::index_u32;
use super::kernel::{Item, ItemState, Kernel};
use super::prediction::{ByteWithClass, PredictionContext, Predictor};
use super::step_budget::StepBudget;
use super::token_ends::TokenEnds;

/// The result of stepping a terminal over a byte.
#[derive(Clone, Copy, Debug)]
struct TerminalStep {
    state: ItemState,
    is_accepting: bool,
    /// Whether the terminal can continue.
    continues: bool,
}

/// The state of a terminal that counts tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TokenLimitedState {
    /// The state as if the terminal did not count tokens.
    pub(super) state: ItemState,
    /// Number of further tokens that may contribute a byte.
    pub(super) tokens_left: u32,
    /// Whether the current token has contributed.
    pub(super) is_counted: bool,
}

/// Executes steps; the continuations are passed in.
#[derive(Debug)]
pub(super) struct Stepper {
    pub(super) automata: Automata,
    pub(super) embedded: EmbeddedStates,
    pub(super) predictor: Predictor,
    pub(super) limited: Vec<TokenLimitedState>,
    limited_ids: FxHashMap<TokenLimitedState, u32>,
    /// Decides after each token which terminals can still end; `None` without a vocabulary.
    pub(super) token_ends: Option<TokenEnds>,
    limits: Limits,
    /// Direct-mapped cache of recent automaton steps, by state and class.
    recent: Box<[Option<RecentStep>]>,
    /// The items before and inside values that the last step did not read: that is up to the caller.
    pub(super) value_items: Vec<Item>,
    /// Scratch: items that the byte can advance, continuations of productions that end, and the contents of these.
    scans: Vec<Item>,
    ended: Vec<ContinuationId>,
    content: Content,
}

/// A cached automaton step: a grammar enters the same few terminals frequently.
#[derive(Clone, Copy, Debug)]
struct RecentStep {
    state: StateId,
    class: u32,
    /// The result of [`Stepper::step_terminal`].
    after: Option<TerminalStep>,
}

/// Number of entries of the cache of automaton steps.
const RECENT_STEPS: usize = 64;

impl Stepper {
    pub(super) fn new(
        automata: Automata,
        embedded: EmbeddedStates,
        predictor: Predictor,
        limited: Vec<TokenLimitedState>,
        limits: &Limits,
    ) -> Self {
        let limited_ids =
            limited.iter().enumerate().map(|(index, &state)| (state, index_u32(index))).collect();
        Self {
            automata,
            embedded,
            predictor,
            limited,
            limited_ids,
            token_ends: None,
            limits: limits.clone(),
            recent: vec![None; RECENT_STEPS].into(),
            value_items: Vec::new(),
            scans: Vec::new(),
            ended: Vec::new(),
            content: Content::default(),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.automata.memory_bytes()
            + self.embedded.memory_bytes()
            + self.predictor.memory_bytes()
            + self.limited.len() * 3 * size_of::<TokenLimitedState>()
            + self.token_ends.as_ref().map_or(0, TokenEnds::memory_bytes)
    }

    /// Adds to `scans` the items of a kernel before or inside a terminal, predicted ones included. With a byte, items
    /// that cannot read it may be left out. `items` is sorted.
    pub(super) fn scans(
        &mut self,
        form: &NormalForm,
        items: &[Item],
        byte: Option<ByteWithClass>,
        continuations: &mut impl InternContinuations,
        scans: &mut Vec<Item>,
    ) -> Result<(), LimitExceeded> {
        // Fresh items sort last, since their state is the maximum.
        let fresh = items.partition_point(|item| item.state != ItemState::FRESH);
        let (inside, fresh) = items.split_at(fresh);
        let fresh = fresh.iter().map(|item| (item.dot, item.continuation));
        scans.extend_from_slice(inside);
        let mut budget = StepBudget::new(&self.limits);
        let terminals = TerminalReader { automata: &mut self.automata, embedded: &mut self.embedded };
        let context = PredictionContext { form, terminals, continuations };
        self.predictor.predict(context, fresh, byte, &mut budget, scans)
    }

    /// Adds the items after a byte to an empty kernel, in any order. Items before and inside values are left in
    /// `value_items`.
    pub(super) fn step(
        &mut self,
        form: &NormalForm,
        items: &[Item],
        byte: ByteWithClass,
        continuations: &mut impl InternContinuations,
        kernel: &mut Kernel,
    ) -> Result<(), LimitExceeded> {
        let (mut scans, mut ended) = (std::mem::take(&mut self.scans), std::mem::take(&mut self.ended));
        scans.clear();
        ended.clear();
        self.value_items.clear();
        self.scans(form, items, Some(byte), continuations, &mut scans)?;
        for &item in &scans {
            if item.state.is_in_value() {
                self.value_items.push(item);
                continue;
            }
            let Some(after) = self.step_item(item.state, byte)? else { continue };
            add_item(form, item, after, kernel, &mut ended);
        }
        self.resume(form, kernel, &mut ended, continuations)?;
        (self.scans, self.ended) = (scans, ended);
        Ok(())
    }

    /// Adds the items after several bytes to an empty kernel, if the only item is inside a terminal that cannot end
    /// before the last byte. Returns false, and adds nothing, otherwise, or if that would take long to decide.
    pub(super) fn run(
        &mut self,
        form: &NormalForm,
        item: Item,
        bytes: &[u8],
        continuations: &mut impl InternContinuations,
        kernel: &mut Kernel,
    ) -> Result<bool, LimitExceeded> {
        let Some(state) = item.state.automaton_state() else { return Ok(false) };
        let Some(next) = self.automata.run_in_table(state, bytes)? else { return Ok(false) };
        let after = TerminalStep {
            state: ItemState::of_automaton(next),
            is_accepting: self.automata.is_accepting(next),
            continues: self.automata.continues(next)?,
        };
        let mut ended = std::mem::take(&mut self.ended);
        ended.clear();
        add_item(form, item, after, kernel, &mut ended);
        self.resume(form, kernel, &mut ended, continuations)?;
        self.ended = ended;
        Ok(true)
    }

    /// Adds the successors of an item whose terminal is in a state after a byte.
    pub(super) fn enter_state(
        &mut self,
        form: &NormalForm,
        item: Item,
        state: ItemState,
        kernel: &mut Kernel,
        ended: &mut Vec<ContinuationId>,
    ) -> Result<(), LimitExceeded> {
        let mut terminals = self.terminals();
        let is_accepting = terminals.is_accepting(state);
        let after = TerminalStep { state, is_accepting, continues: terminals.continues(state)? };
        add_item(form, item, after, kernel, ended);
        Ok(())
    }

    /// As `step_terminal`, through the cache.
    fn step_item(
        &mut self,
        state: ItemState,
        byte: ByteWithClass,
    ) -> Result<Option<TerminalStep>, LimitExceeded> {
        let Some(automaton_state) = state.automaton_state() else {
            return self.step_terminal(state, byte.byte);
        };
        let slot = (automaton_state.index() * 31 + byte.class) % RECENT_STEPS;
        if let Some(RecentStep { state, class, after }) = self.recent[slot]
            && state == automaton_state
            && class as usize == byte.class
        {
            return Ok(after);
        }
        let after = self.step_terminal(state, byte.byte)?;
        let class = index_u32(byte.class);
        self.recent[slot] = Some(RecentStep { state: automaton_state, class, after });
        Ok(after)
    }

    /// Adds the contents of the continuations in `ended`.
    pub(super) fn resume(
        &mut self,
        form: &NormalForm,
        kernel: &mut Kernel,
        ended: &mut Vec<ContinuationId>,
        continuations: &mut impl InternContinuations,
    ) -> Result<(), LimitExceeded> {
        let mut budget = StepBudget::new(&self.limits);
        if ended.is_empty() {
            return Ok(());
        }
        ended.sort_unstable();
        ended.dedup();
        let mut next = 0;
        while let Some(&continuation) = ended.get(next) {
            next += 1;
            self.content.clear();
            budget.spend(continuations.add_to(&mut self.content, continuation))?;
            kernel.ends |= self.content.ends;
            for &(dot, continuation) in &self.content.entries {
                if !form.is_scope_end(dot) {
                    kernel.items.push(Item { dot, state: ItemState::FRESH, continuation });
                } else if !ended.contains(&continuation) {
                    ended.push(continuation);
                }
            }
        }
        Ok(())
    }

    /// Steps a terminal over a byte; `None` if it cannot read it.
    fn step_terminal(&mut self, state: ItemState, byte: u8) -> Result<Option<TerminalStep>, LimitExceeded> {
        if state == ItemState::TOKEN {
            return Ok(None);
        }
        let (inside, limited) = match self.token_limited(state) {
            None => (state, None),
            Some(mut limited) => {
                if !limited.is_counted {
                    match limited.tokens_left.checked_sub(1) {
                        Some(left) => limited.tokens_left = left,
                        None => return Ok(None),
                    }
                    limited.is_counted = true;
                }
                (limited.state, Some(limited))
            }
        };
        let mut terminals = self.terminals();
        let Some(next) = terminals.step(inside, byte)? else { return Ok(None) };
        let is_accepting = terminals.is_accepting(next);
        let continues = terminals.continues(next)?;
        let state = match limited {
            None => next,
            Some(limited) => self.limited_state(TokenLimitedState { state: next, ..limited }),
        };
        Ok(Some(TerminalStep { state, is_accepting, continues }))
    }

    /// Whether a text can begin in a terminal: all of it, or a beginning that is a word.
    pub(super) fn begins(&mut self, state: ItemState, text: &[u8]) -> Result<bool, LimitExceeded> {
        if state.is_in_value() {
            return Ok(true);
        }
        let mut state = state;
        for &byte in text {
            match self.step_terminal(state, byte)? {
                Some(step) if step.is_accepting => return Ok(true),
                Some(step) => state = step.state,
                None => return Ok(false),
            }
        }
        Ok(!text.is_empty())
    }

    /// Reads terminals by the states of items.
    pub(super) fn terminals(&mut self) -> TerminalReader<'_> {
        TerminalReader { automata: &mut self.automata, embedded: &mut self.embedded }
    }

    /// The state of a terminal after the end of a token; `None` if it cannot continue and end within its maximum number
    /// of tokens.
    pub(super) fn end_token(&mut self, state: ItemState) -> Result<Option<ItemState>, LimitExceeded> {
        let Some(limited) = self.token_limited(state) else { return self.embedded.end_token(state) };
        let Some(state) = self.embedded.end_token(limited.state)? else { return Ok(None) };
        let terminals = TerminalReader { automata: &mut self.automata, embedded: &mut self.embedded };
        let can_end = match &mut self.token_ends {
            Some(token_ends) => token_ends.can_end(terminals, state, limited.tokens_left)?,
            None => limited.tokens_left > 0,
        };
        Ok(can_end.then(|| self.limited_state(TokenLimitedState { state, is_counted: false, ..limited })))
    }

    /// Whether all regular terminals that count tokens have ample ones, as far as items in some states, and terminals that
    /// begin after them, decide. The first `start_count` counting states are those before terminals.
    pub(super) fn has_ample_tokens(
        &mut self,
        start_count: usize,
        states: impl Iterator<Item = ItemState>,
    ) -> Result<bool, LimitExceeded> {
        let Some(ends) = &mut self.token_ends else { return Ok(false) };
        let Some(ample) = ends.ample_tokens(&mut self.automata, &self.limited[..start_count])? else {
            return Ok(false);
        };
        let mut limited = states.filter_map(|state| self.token_limited(state));
        Ok(limited.all(|limited| self.embedded.get(limited.state).is_some() || limited.tokens_left >= ample))
    }

    /// The same of the embedded grammars that count tokens.
    pub(super) fn has_ample_tokens_inside_embedded(
        &mut self,
        start_count: usize,
        states: impl Iterator<Item = ItemState>,
    ) -> Result<bool, LimitExceeded> {
        let Some(mut ends) = self.token_ends.take() else { return Ok(false) };
        let inside = states.filter_map(|state| self.token_limited(state));
        let mut limited = self.limited[..start_count].iter().copied().chain(inside);
        let is_ample = limited.try_fold(true, |others, TokenLimitedState { state, tokens_left, .. }| {
            let Some(state) = self.embedded.get(state).filter(|_| others) else { return Ok(others) };
            ends.is_ample_inside(&self.embedded, state, tokens_left)
        });
        self.token_ends = Some(ends);
        is_ample
    }

    /// Whether a state is inside an embedded grammar, or at its beginning.
    pub(super) fn is_embedded(&self, state: ItemState) -> bool {
        let state = self.token_limited(state).map_or(state, |limited| limited.state);
        state.embedded_index().is_some()
    }

    /// The state of a terminal that counts tokens; `None` for other items.
    pub(super) fn token_limited(&self, state: ItemState) -> Option<TokenLimitedState> {
        if matches!(state, ItemState::FRESH | ItemState::TOKEN) || state.is_in_value() {
            return None;
        }
        Some(self.limited[state.0.checked_sub(ItemState::FIRST_LIMITED)? as usize])
    }

    fn limited_state(&mut self, limited: TokenLimitedState) -> ItemState {
        let next = index_u32(self.limited.len());
        let index = *self.limited_ids.entry(limited).or_insert(next);
        if index == next {
            self.limited.push(limited);
        }
        ItemState(ItemState::FIRST_LIMITED + index)
    }
}

/// Adds the successors of an item, given the state of its terminal after the bytes.
fn add_item(
    form: &NormalForm,
    item: Item,
    after: TerminalStep,
    kernel: &mut Kernel,
    ended: &mut Vec<ContinuationId>,
) {
    if after.is_accepting {
        kernel.advance(form, item, ended);
    }
    if after.continues {
        kernel.items.push(Item { state: after.state, ..item });
    }
}
