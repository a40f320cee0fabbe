//! A step the long way: prediction, the terminals' automata, and what follows productions that end.
//!
//! It does not know the continuations that it handles: it puts them into sets, and has contents looked up and made. So
//! the same code takes steps and writes recipes of them (see `recipe`).

use rustc_hash::FxHashMap;

use crate::lowering::NormalForm;
use grammask_automata::{Automata, StateId};
use grammask_diagnostics::{LimitExceeded, Limits};

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
    /// The last steps of automata, each at the place of its state and class.
    recent: Box<[Option<RecentStep>]>,
    /// Scratch: the items that a byte can advance, what follows productions that end, and what that holds.
    scans: Vec<Item>,
    ended: Vec<ContinuationId>,
    content: Content,
}

/// A step of an automaton. The same few terminals are begun again and again.
#[derive(Clone, Copy, Debug)]
struct RecentStep {
    state: StateId,
    class: u32,
    /// As [`Stepper::step_terminal`] returns it.
    after: Option<(ItemState, bool, bool)>,
}

/// How many steps of automata are kept at hand.
const RECENT_STEPS: usize = 256;

impl Stepper {
    pub(super) fn new(
        automata: Automata,
        predictor: Predictor,
        limited: Vec<LimitedState>,
        limits: &Limits,
    ) -> Self {
        let limited_ids =
            limited.iter().enumerate().map(|(index, &state)| (state, index_u32(index))).collect();
        Self {
            automata,
            predictor,
            limited,
            limited_ids,
            limits: limits.clone(),
            recent: vec![None; RECENT_STEPS].into(),
            scans: Vec::new(),
            ended: Vec::new(),
            content: Content::default(),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.automata.memory_bytes()
            + self.predictor.memory_bytes()
            + self.limited.len() * 3 * size_of::<LimitedState>()
    }

    /// All items of a kernel before or inside a terminal; with a byte only those that it can begin or continue, and
    /// possibly some more. The items of the kernel are sorted. Adds them to `scans`.
    pub(super) fn scans(
        &mut self,
        form: &NormalForm,
        items: &[Item],
        byte: Option<ClassOfByte>,
        continuations: &mut impl MakeContinuations,
        scans: &mut Vec<Item>,
    ) -> Result<(), LimitExceeded> {
        // Fresh items sort last, because their state has the highest number.
        let fresh = items.partition_point(|item| item.state != ItemState::FRESH);
        let (inside, fresh) = items.split_at(fresh);
        let fresh = fresh.iter().map(|item| (item.dot, item.continuation));
        scans.extend_from_slice(inside);
        let mut effort = Effort::new(&self.limits);
        let grammar = (form, &mut self.automata, continuations);
        self.predictor.predict(grammar, fresh, byte, &mut effort, scans)
    }

    /// Adds the items after a byte, in any order, to an empty kernel.
    pub(super) fn step(
        &mut self,
        form: &NormalForm,
        items: &[Item],
        byte: ClassOfByte,
        continuations: &mut impl MakeContinuations,
        kernel: &mut Kernel,
    ) -> Result<(), LimitExceeded> {
        let (mut scans, mut ended) = (std::mem::take(&mut self.scans), std::mem::take(&mut self.ended));
        scans.clear();
        ended.clear();
        self.scans(form, items, Some(byte), continuations, &mut scans)?;
        for &item in &scans {
            let Some(after) = self.step_item(item.state, byte)? else { continue };
            add_item(form, item, after, kernel, &mut ended);
        }
        self.resume(kernel, &mut ended, continuations)?;
        (self.scans, self.ended) = (scans, ended);
        Ok(())
    }

    /// Adds the items after several bytes to an empty kernel, where the only item before them is inside a terminal that cannot end
    /// before the last one. Returns false, and adds nothing, if that is not so, and where it is not easy to tell.
    pub(super) fn run(
        &mut self,
        form: &NormalForm,
        item: Item,
        bytes: &[u8],
        continuations: &mut impl MakeContinuations,
        kernel: &mut Kernel,
    ) -> Result<bool, LimitExceeded> {
        let Some(state) = item.state.automaton_state() else { return Ok(false) };
        let Some(next) = self.automata.run(state, bytes)? else { return Ok(false) };
        let after = (
            ItemState(index_u32(next.index())),
            self.automata.is_accepting(next),
            self.automata.continues(next)?,
        );
        let mut ended = std::mem::take(&mut self.ended);
        ended.clear();
        add_item(form, item, after, kernel, &mut ended);
        self.resume(kernel, &mut ended, continuations)?;
        self.ended = ended;
        Ok(true)
    }

    /// As `step_terminal`, with a look at recent steps before.
    fn step_item(
        &mut self,
        state: ItemState,
        byte: ClassOfByte,
    ) -> Result<Option<(ItemState, bool, bool)>, LimitExceeded> {
        let Some(automaton_state) = state.automaton_state() else {
            return self.step_terminal(state, byte.byte);
        };
        let place = (automaton_state.index() * 31 + byte.class) % RECENT_STEPS;
        if let Some(RecentStep { state, class, after }) = self.recent[place]
            && state == automaton_state
            && class as usize == byte.class
        {
            return Ok(after);
        }
        let after = self.step_terminal(state, byte.byte)?;
        let class = index_u32(byte.class);
        self.recent[place] = Some(RecentStep { state: automaton_state, class, after });
        Ok(after)
    }

    /// Adds what the continuations in `ended` hold.
    pub(super) fn resume(
        &mut self,
        kernel: &mut Kernel,
        ended: &mut Vec<ContinuationId>,
        continuations: &mut impl MakeContinuations,
    ) -> Result<(), LimitExceeded> {
        let mut effort = Effort::new(&self.limits);
        if ended.is_empty() {
            return Ok(());
        }
        ended.sort_unstable();
        ended.dedup();
        for &continuation in &*ended {
            self.content.clear();
            effort.spend(continuations.add_to(&mut self.content, continuation))?;
            kernel.ends |= self.content.ends;
            let fresh = |&(dot, continuation): &_| Item { dot, state: ItemState::FRESH, continuation };
            kernel.items.extend(self.content.entries.iter().map(fresh));
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

/// Adds what an item leads to, whose terminal has a state after the bytes, may end there and may go on.
fn add_item(
    form: &NormalForm,
    item: Item,
    (state, is_accepting, continues): (ItemState, bool, bool),
    kernel: &mut Kernel,
    ended: &mut Vec<ContinuationId>,
) {
    if is_accepting {
        kernel.advance(form, item, ended);
    }
    if continues {
        kernel.items.push(Item { state, ..item });
    }
}
