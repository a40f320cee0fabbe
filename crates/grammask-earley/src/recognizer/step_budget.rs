//! Bounds the work of one step, regardless of cycles in the item set.
//!
//! A limit bounds the items of a set, but not the derivations of each item: n nonterminals that begin each other, each at the
//! end of the other's rule, pass n² copies of their contents around before duplicates are removed.

use grammask_diagnostics::{LimitExceeded, Limits};

/// Entries that a step may read, for each item that a set may have.
const ENTRIES_PER_ITEM: usize = 64;

/// The remaining work of a step, in entries of contents.
#[derive(Debug)]
pub(crate) struct StepBudget {
    left: usize,
    set_items: usize,
}

impl StepBudget {
    /// The budget of one step.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { left: limits.set_items.saturating_mul(ENTRIES_PER_ITEM), set_items: limits.set_items }
    }

    /// An unlimited budget, for work that was bounded when it was recorded.
    pub(super) fn unlimited() -> Self {
        Self { left: usize::MAX, set_items: usize::MAX }
    }

    /// Spends `entries`.
    pub(crate) fn spend(&mut self, entries: usize) -> Result<(), LimitExceeded> {
        match self.left.checked_sub(entries) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(LimitExceeded::new("set_items", self.set_items)),
        }
    }
}
