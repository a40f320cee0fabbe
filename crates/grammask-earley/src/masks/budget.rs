//! The budget of one mask: its work, its deadline, and why it was not composed.

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::Effort;

use super::tuning::{MAX_IMMEDIATE_WORK, MAX_SETBACKS, MAX_WORK, WORK_PER_DEADLINE_CHECK};

/// The reason why a mask was not composed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComposeError {
    /// A limit of the grammar was exceeded.
    Limit(LimitExceeded),
    /// The budget does not suffice, or the nesting is too deep: a walk along the trie is exact and bounded.
    TooMuchWork,
}

impl From<LimitExceeded> for ComposeError {
    fn from(limit: LimitExceeded) -> Self {
        Self::Limit(limit)
    }
}

/// The result of a computation; `None` if it took too much work.
pub(super) fn within_budget<T>(result: Result<T, ComposeError>) -> Result<Option<T>, LimitExceeded> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(ComposeError::TooMuchWork) => Ok(None),
        Err(ComposeError::Limit(limit)) => Err(limit),
    }
}

/// The work of one mask, in visited trie nodes.
pub(super) struct WorkBudget<'a> {
    deadline: &'a Deadline,
    effort: Effort,
    spent: usize,
    max_work: usize,
    /// Work at which the deadline and the maximum are checked next.
    next_check: usize,
}

impl<'a> WorkBudget<'a> {
    /// The budget of a mask after `setbacks` (see [`setbacks_after`]).
    pub(super) fn new(effort: Effort, setbacks: u32, deadline: &'a Deadline) -> Self {
        let max_work = match effort {
            Effort::Full => MAX_WORK >> setbacks,
            Effort::Immediate => MAX_IMMEDIATE_WORK,
        };
        Self { deadline, effort, spent: 0, max_work, next_check: max_work.min(WORK_PER_DEADLINE_CHECK) }
    }

    pub(super) fn effort(&self) -> Effort {
        self.effort
    }

    pub(super) fn deadline(&self) -> &'a Deadline {
        self.deadline
    }

    pub(super) fn spent(&self) -> usize {
        self.spent
    }

    /// Adds work that the next [`Self::spend`] checks.
    #[inline]
    pub(super) fn add(&mut self, work: usize) {
        self.spent += work;
    }

    /// Adds work.
    ///
    /// # Errors
    /// When the maximum or the deadline is exceeded.
    #[inline]
    pub(super) fn spend(&mut self, work: usize) -> Result<(), ComposeError> {
        self.spent += work;
        if self.spent >= self.next_check { self.check() } else { Ok(()) }
    }

    #[cold]
    fn check(&mut self) -> Result<(), ComposeError> {
        self.deadline.check()?;
        if self.spent > self.max_work {
            return Err(ComposeError::TooMuchWork);
        }
        self.next_check = self.spent + WORK_PER_DEADLINE_CHECK;
        Ok(())
    }

    /// Gives up if only cached summaries and short walks are affordable.
    pub(super) fn require_full_effort(&self) -> Result<(), ComposeError> {
        if self.effort == Effort::Immediate { Err(ComposeError::TooMuchWork) } else { Ok(()) }
    }
}

/// The setbacks of a grammar after a mask: each mask that exceeds its budget reduces the next budgets to a quarter,
/// until masks succeed again.
pub(super) fn setbacks_after<T>(setbacks: u32, effort: Effort, result: &Result<T, ComposeError>) -> u32 {
    match result {
        Err(ComposeError::TooMuchWork) if effort == Effort::Immediate => setbacks,
        Err(ComposeError::TooMuchWork) => (setbacks + 2).min(MAX_SETBACKS),
        _ => setbacks.saturating_sub(1),
    }
}
