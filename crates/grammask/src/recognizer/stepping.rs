//! A step the long way: prediction, the terminals' automata, and what follows productions that end.
//!
//! It does not know the continuations that it handles: it puts them into sets, and has contents looked up and made. So
//! the same code takes steps and writes recipes of them (see `recipe`).

use rustc_hash::FxHashMap;

use crate::automata::{Automata, StateId};
use crate::lowering::NormalForm;
use crate::{LimitExceeded, Limits};

use super::continuation::{Content, ContinuationId, MakeContinuations};
use super::effort::Effort;
use super::index_u32;
use super::kernel::{Item, ItemState, Kernel};
use super::prediction::{ClassOfByte, Predictor};

/// The state of a terminal that counts tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LimitedState {
    pub(super) state: StateId,
    /// Tokens that may still begin to contribute.
    pub(super) tokens_left: u32,
    /// Whether the token that is being read has contributed already.
    pub(super) is_counted: bool,
}

/// What takes steps, apart from continuations.
#[derive(Debug)]
pub(super) struct Stepper {
    pub(super) automata: Automata,
    pub(super) predictor: Predictor,
    pub(super) limited: Vec<LimitedState>,
    limited_ids: FxHashMap<LimitedState, u32>,
    limits: Limits,
}

impl Stepper {
    pub(super) fn new(
        automata: Automata,
        predictor: Predictor,
        limited: Vec<LimitedState>,
        limits: &Limits,
    ) -> Self {
        let limited_ids =
            limited.iter().enumerate().map(|(index, &state)| (state, index_u32(index))).collect();
        Self { automata, predictor, limited, limited_ids, limits: limits.clone() }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.automata.memory_bytes()
            + self.predictor.memory_bytes()
            + self.limited.len() * 3 * size_of::<LimitedState>()
    }

    /// All items of a kernel before or inside a terminal; with a byte only those that it can begin or continue, and
    /// possibly some more. The items of the kernel are sorted.
    pub(super) fn scans(
        &mut self,
        form: &NormalForm,
        items: &[Item],
        byte: Option<ClassOfByte>,
        continuations: &mut impl MakeContinuations,
    ) -> Result<Vec<Item>, LimitExceeded> {
        // Fresh items sort last, because their state has the highest number.
        let fresh = items.partition_point(|item| item.state != ItemState::FRESH);
        let (inside, fresh) = items.split_at(fresh);
        let fresh = fresh.iter().map(|item| (item.dot, item.continuation));
        let mut scans = inside.to_vec();
        let mut effort = Effort::new(&self.limits);
        let grammar = (form, &mut self.automata, continuations);
        self.predictor.predict(grammar, fresh, byte, &mut effort, &mut scans)?;
        Ok(scans)
    }

    /// The items after a byte, in any order.
    pub(super) fn step(
        &mut self,
        form: &NormalForm,
        items: &[Item],
        byte: ClassOfByte,
        continuations: &mut impl MakeContinuations,
    ) -> Result<Kernel, LimitExceeded> {
        let mut kernel = Kernel::default();
        let mut ended = Vec::new();
        for item in self.scans(form, items, Some(byte), continuations)? {
            let Some((state, is_accepting, continues)) = self.step_terminal(item.state, byte.byte)? else {
                continue;
            };
            if is_accepting {
                kernel.advance(form, item, &mut ended);
            }
            if continues {
                kernel.items.push(Item { state, ..item });
            }
        }
        self.resume(&mut kernel, ended, continuations)?;
        Ok(kernel)
    }

    /// Adds what the continuations in `ended` hold.
    pub(super) fn resume(
        &self,
        kernel: &mut Kernel,
        mut ended: Vec<ContinuationId>,
        continuations: &mut impl MakeContinuations,
    ) -> Result<(), LimitExceeded> {
        let mut effort = Effort::new(&self.limits);
        ended.sort_unstable();
        ended.dedup();
        let mut content = Content::default();
        for continuation in ended {
            content.clear();
            effort.spend(continuations.add_to(&mut content, continuation))?;
            kernel.ends |= content.ends;
            let fresh = |&(dot, continuation): &_| Item { dot, state: ItemState::FRESH, continuation };
            kernel.items.extend(content.entries.iter().map(fresh));
        }
        Ok(())
    }

    /// The state of a terminal after a byte, whether its text can end there and whether it can go on.
    fn step_terminal(
        &mut self,
        state: ItemState,
        byte: u8,
    ) -> Result<Option<(ItemState, bool, bool)>, LimitExceeded> {
        if state == ItemState::TOKEN {
            return Ok(None);
        }
        let (automaton_state, limited) = match state.0.checked_sub(ItemState::FIRST_LIMITED) {
            None => (StateId::new(state.0 as usize), None),
            Some(index) => {
                let mut limited = self.limited[index as usize];
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
        let Some(next) = self.automata.step(automaton_state, byte)? else { return Ok(None) };
        let is_accepting = self.automata.is_accepting(next);
        let continues = self.automata.continues(next)?;
        let state = match limited {
            None => ItemState(index_u32(next.index())),
            Some(limited) => self.limited_state(LimitedState { state: next, ..limited }),
        };
        Ok(Some((state, is_accepting, continues)))
    }

    /// The state of a terminal after the end of a token; `None` if it has no token left.
    pub(super) fn end_token(&mut self, state: ItemState) -> Option<ItemState> {
        let Some(index) = state.0.checked_sub(ItemState::FIRST_LIMITED) else { return Some(state) };
        let limited = self.limited[index as usize];
        (limited.tokens_left > 0).then(|| self.limited_state(LimitedState { is_counted: false, ..limited }))
    }

    fn limited_state(&mut self, limited: LimitedState) -> ItemState {
        let next = index_u32(self.limited.len());
        let index = *self.limited_ids.entry(limited).or_insert(next);
        if index == next {
            self.limited.push(limited);
        }
        ItemState(ItemState::FIRST_LIMITED + index)
    }
}
