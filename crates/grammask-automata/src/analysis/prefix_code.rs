//! Recognises prefix codes by a search over the states of the lazy DFA.

use rustc_hash::FxHashSet;

use crate::{Automata, TermId};
use grammask_diagnostics::LimitExceeded;

impl Automata {
    /// Whether `term` is certainly a nonempty *prefix code*: no word is a proper prefix of another. Also `false` for
    /// terms with more than `max_states` states.
    ///
    /// # Errors
    /// If the number of states exceeds its limit.
    pub fn is_prefix_code(&mut self, term: TermId, max_states: usize) -> Result<bool, LimitExceeded> {
        let Some(start) = self.start(term)? else { return Ok(false) };
        let mut states = vec![start];
        let mut is_visited = FxHashSet::from_iter([start]);
        let mut next = 0;
        while let Some(&state) = states.get(next) {
            next += 1;
            let successors = self.successors(state)?;
            if self.is_accepting(state) && (state == start || !successors.is_empty()) {
                return Ok(false);
            }
            for (_, target) in successors {
                if is_visited.insert(target) {
                    states.push(target);
                }
            }
            if states.len() > max_states {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
