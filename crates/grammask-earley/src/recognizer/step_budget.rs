//! Bounds the work of one step, regardless of cycles in the item set.
//!
//! `Limits::set_items` bounds the items of a set, but not the derivations of each item: n nonterminals in a cycle of
//! left corners with tail edges exchange n² copies of their contents before duplicates are removed.

use grammask_diagnostics::{LimitExceeded, Limits};

/// Maximum number of entries that a step reads, per item of `Limits::set_items`.
const ENTRIES_PER_ITEM: usize = 64;

/// The remaining work of a step, in entries of contents.
#[derive(Debug)]
pub(crate) struct StepBudget {
    remaining: usize,
    set_items: usize,
}

impl StepBudget {
    /// The budget of one step.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { remaining: limits.set_items.saturating_mul(ENTRIES_PER_ITEM), set_items: limits.set_items }
    }

    /// An unlimited budget, for work that was bounded when it was recorded.
    pub(super) fn unlimited() -> Self {
        Self { remaining: usize::MAX, set_items: usize::MAX }
    }

    /// Spends `entries`.
    pub(crate) fn spend(&mut self, entries: usize) -> Result<(), LimitExceeded> {
        match self.remaining.checked_sub(entries) {
            Some(remaining) => {
                self.remaining = remaining;
                Ok(())
            }
            None => Err(LimitExceeded::new("set_items", self.set_items)),
        }
    }
}
