//! Conversion of a term to a minimal table, by exploring all states of the lazy DFA.

use rustc_hash::FxHashMap;

use crate::{Automata, StateId, Table, TableBuilder, TableState, TermId, Terms};
use grammask_diagnostics::{Deadline, LimitExceeded};

/// The number of states that are expanded between two checks of the deadline.
const STATES_PER_CHECK: usize = 64;

impl Terms {
    /// The minimal automaton of `term`. `None` if the language is empty, or if there are more than `max_states` states
    /// before minimisation. Cost: some microseconds per state.
    #[must_use]
    pub fn determinize(&self, term: TermId, max_states: usize) -> Option<Table> {
        self.determinize_until(term, max_states, &Deadline::unbounded()).ok()?
    }

    /// The minimal automaton of `term`. `None` if the language is empty.
    ///
    /// # Errors
    /// If there are more than `max_states` states before minimisation, or the deadline passes before it.
    pub fn determinize_until(
        &self,
        term: TermId,
        max_states: usize,
        deadline: &Deadline,
    ) -> Result<Option<Table>, LimitExceeded> {
        let mut automata = Automata::new(self.clone(), max_states);
        let Some(first) = automata.start(term)? else { return Ok(None) };
        let mut builder = TableBuilder::new();
        let start = builder.add_state();
        let mut states: FxHashMap<StateId, TableState> = FxHashMap::from_iter([(first, start)]);
        let mut stack = vec![(first, start)];
        let mut expanded = 0;
        while let Some((state, from)) = stack.pop() {
            if expanded % STATES_PER_CHECK == 0 {
                deadline.check()?;
            }
            expanded += 1;
            if automata.is_accepting(state) {
                builder.accept(from);
            }
            for (bytes, next) in automata.successors(state)? {
                let to = *states.entry(next).or_insert_with(|| {
                    let to = builder.add_state();
                    stack.push((next, to));
                    to
                });
                let mut run: Option<(u8, u8)> = None;
                for byte in bytes.iter() {
                    run = match run {
                        Some((low, high)) if high + 1 == byte => Some((low, byte)),
                        Some((low, high)) => {
                            builder.transition(from, low, high, to);
                            Some((byte, byte))
                        }
                        None => Some((byte, byte)),
                    };
                }
                if let Some((low, high)) = run {
                    builder.transition(from, low, high, to);
                }
            }
        }
        Ok(Some(builder.finish(start)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Automata, Terms, regex};
    use grammask_diagnostics::Limits;

    #[test]
    fn keeps_the_language() {
        let mut terms = Terms::new();
        let term = regex::term(&mut terms, "(a|b)*abb|[x-z]{2,3}", &Limits::default()).unwrap();
        assert!(terms.determinize(term, 2).is_none());
        let table = terms.determinize(term, 100).unwrap();
        let determinized_term = terms.table(table);
        let mut automata = Automata::new(terms, 1000);
        for text in ["abb", "ababb", "ab", "xy", "xyz", "xyzx", "", "abbx"] {
            let mut ends = [term, determinized_term].map(|term| automata.start(term).unwrap());
            for byte in text.bytes() {
                ends = ends.map(|state| state.and_then(|state| automata.step(state, byte).unwrap()));
            }
            let [one, other] = ends.map(|state| state.is_some_and(|state| automata.is_accepting(state)));
            assert_eq!(one, other, "{text}");
        }
    }
}
