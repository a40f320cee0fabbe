//! Items, and the kernel of an Earley set: its items without the predicted ones.

use crate::lowering::{DotId, NormalForm};
use grammask_automata::StateId;

use super::continuation::ContinuationId;

/// The position of an item inside the terminal after its dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ItemState(pub(crate) u32);

impl ItemState {
    /// Before the symbol after the dot; prediction is implied.
    pub(crate) const FRESH: Self = Self(u32::MAX);
    /// Before a token terminal.
    pub(crate) const TOKEN: Self = Self(u32::MAX - 1);
    /// Numbers from here on are indices of token-counting states.
    pub(crate) const FIRST_LIMITED: u32 = 1 << 31;
    /// Numbers from here on, and below those, are indices of states of embedded grammars; numbers below are automaton
    /// states.
    pub(crate) const FIRST_EMBEDDED: u32 = 1 << 30;
    /// Numbers from here on are indices of states inside values.
    pub(crate) const FIRST_VALUE: u32 = 7 << 29;

    /// Whether an item is before or inside a value.
    #[inline]
    pub(crate) fn is_in_value(self) -> bool {
        self.0 >= Self::FIRST_VALUE && self.0 < Self::TOKEN.0
    }

    /// The automaton state of an item inside a terminal that does not count tokens.
    pub(crate) fn automaton_state(self) -> Option<StateId> {
        (self.0 < Self::FIRST_EMBEDDED).then(|| StateId::new(self.0 as usize))
    }

    /// The index of the state of an item inside an embedded grammar that does not count tokens.
    pub(crate) fn embedded_index(self) -> Option<usize> {
        (Self::FIRST_EMBEDDED..Self::FIRST_LIMITED)
            .contains(&self.0)
            .then(|| (self.0 - Self::FIRST_EMBEDDED) as usize)
    }

    /// The state of an item inside a terminal that does not count tokens.
    pub(super) fn of_automaton(state: StateId) -> Self {
        Self(super::index_u32(state.index()))
    }
}

/// A dotted production, the state of the terminal after the dot, and the continuation of the production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Item {
    pub(crate) state: ItemState,
    pub(crate) dot: DotId,
    pub(crate) continuation: ContinuationId,
}

/// The kernel of an Earley set under construction: items in progress, and whether the text may be complete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Kernel {
    pub(crate) ends: bool,
    pub(crate) items: Vec<Item>,
}

impl Kernel {
    pub(super) fn clear(&mut self) {
        self.ends = false;
        self.items.clear();
    }

    /// Moves the dot of an item over its terminal. The continuation is pushed to `ended` if the production can end
    /// there.
    pub(super) fn advance(&mut self, form: &NormalForm, item: Item, ended: &mut Vec<ContinuationId>) {
        let advance = form.advance(item.dot);
        let fresh = |dot| Item { dot, state: ItemState::FRESH, continuation: item.continuation };
        self.items.extend(advance.next.map(fresh));
        if advance.completes {
            ended.push(item.continuation);
        }
    }

    /// Sorts and deduplicates the items.
    pub(crate) fn normalize(&mut self) {
        self.items.sort_unstable();
        self.items.dedup();
    }

    /// Whether no text continues from here, and none ends.
    pub(crate) fn is_dead(&self) -> bool {
        !self.ends && self.items.is_empty()
    }
}
