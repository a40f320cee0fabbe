//! Precomputation of the summaries of terminals, before any text is read.
//!
//! Where a mask of a new text is slow, a walk of the automaton of a terminal in a new state takes most of the time: a
//! pattern, a format, a comment. The number of these states does not depend on what surrounds the terminals, unlike that
//! of Earley sets, so they are computed first.

use std::sync::PoisonError;

use grammask_automata::StateId;
use grammask_collections::likely_first::{LikelyFirst, common_bytes};
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{Effort, PrecomputeBudget, Steps};

use super::budget::{WorkBudget, within_budget};
use super::computation::MaskSources;
use super::source::ContextFreeMasks;
use super::summary::Wanted;
use crate::recognizer::Machine;

/// Maximum number of states, unless the caller states another.
const MAX_STATES: usize = 1000;

impl ContextFreeMasks {
    /// Computes the summaries of the states of all terminals but literals, likely ones first, until the budget is spent or
    /// `proceed` returns false. Each takes the locks anew, so that masks that are wanted meanwhile wait for one only.
    /// Returns whether `proceed` has stopped it.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(super) fn precompute_terminals(
        &self,
        sources: MaskSources<'_>,
        budget: PrecomputeBudget,
        proceed: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<bool, LimitExceeded> {
        let start = self.recognizer().start();
        let max_bytes = sources.vocabulary.trie().max_depth();
        let mut states = LikelyFirst::new(starts(&self.recognizer().read(start).machine(), max_bytes));
        for _ in 0..budget.max_states.unwrap_or(MAX_STATES) {
            let Some(state) = states.peek() else { break };
            if !proceed(0, 1) {
                return Ok(true);
            }
            let mut summaries = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
            if summaries.memory_bytes() > budget.max_bytes {
                break;
            }
            let deadline = Deadline::after(budget.step_time);
            let work = WorkBudget::new(Effort::Full, summaries.setbacks, &deadline);
            let mut reader = self.recognizer().read(start);
            let mut computation = summaries.computation(&mut reader, sources, work, Vec::new());
            let root = computation.root;
            within_budget(computation.summary(state, root, Wanted::LiveAndEnds))?;
            let successors = computation.machine.automata.successors(state)?;
            states.visit(state, successors.into_iter().map(|(bytes, target)| (target, common_bytes(bytes))));
        }
        Ok(false)
    }
}

/// The initial states of the terminals that have more than one word, up to a length.
fn starts(machine: &Machine<'_>, max_bytes: usize) -> Vec<StateId> {
    let automata = &*machine.automata;
    let states = machine.starts.iter().filter_map(|start| start.automaton_state());
    states.filter(|&state| automata.terms().word_prefix(automata.term(state), max_bytes).is_none()).collect()
}
