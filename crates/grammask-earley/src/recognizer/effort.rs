//! A budget for the work of one step, so that no step takes long however its set is knotted.
//!
//! The items of a set are bounded, but not the ways in which they arise: n symbols that begin each other and can
//! each end the other's rule hand n times n copies of what follows to each other before duplicates fall away.

use grammask_diagnostics::{LimitExceeded, Limits};

/// Entries that a step may look at for each item that a set may have.
const ENTRIES_PER_ITEM: usize = 64;

/// What is left of the budget of a step.
#[derive(Debug)]
pub(crate) struct Effort {
    left: usize,
    set_items: usize,
}

impl Effort {
    /// The budget of one step.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { left: limits.set_items.saturating_mul(ENTRIES_PER_ITEM), set_items: limits.set_items }
    }

    /// A budget that does not end, for what was bounded before.
    pub(super) fn unlimited() -> Self {
        Self { left: usize::MAX, set_items: usize::MAX }
    }

    /// Takes `entries` from the budget.
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
