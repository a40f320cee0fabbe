//! Terminals as explicit automata, for definitions that regular expressions cannot express.

use rustc_hash::FxHashMap;

use grammask_automata::{Table, TableBuilder, TableState, TermId, Terms};
use grammask_diagnostics::{Code, Deadline, Diagnostic, LimitExceeded};

use crate::definition::source::TerminalPattern;

/// A state of a deterministic automaton over bytes. The first state of a list is the start state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AutomatonState {
    /// Whether the state accepts.
    pub accepting: bool,
    /// Transitions: first and last byte of a range, and the index of the target state. Ranges are ascending and
    /// disjoint.
    pub edges: Vec<(u8, u8, u32)>,
}

impl AutomatonState {
    /// The states of a table in breadth-first order; one state that does not accept if the language is empty.
    #[must_use]
    pub fn of_table(table: &Table) -> Vec<Self> {
        let Some(start) = table.start() else { return vec![Self::default()] };
        let mut positions: FxHashMap<TableState, u32> = FxHashMap::from_iter([(start, 0)]);
        let mut reached = vec![start];
        let mut states = Vec::new();
        while let Some(&state) = reached.get(states.len()) {
            let mut edges = Vec::new();
            for (low, high, target) in table.edges(state) {
                let position = *positions.entry(target).or_insert_with(|| {
                    reached.push(target);
                    u32::try_from(reached.len() - 1).expect("a table has fewer than four billion states")
                });
                edges.push((low, high, position));
            }
            states.push(Self { accepting: table.is_accepting(state), edges });
        }
        states
    }
}

/// The minimal automaton of a term; `None` if its language is empty.
///
/// # Errors
/// If determinisation exceeds `max_states` states, or the deadline passes.
pub(super) fn states(
    terms: &Terms,
    term: TermId,
    max_states: usize,
    deadline: &Deadline,
) -> Result<Option<Vec<AutomatonState>>, LimitExceeded> {
    let table = terms.determinize_until(term, max_states, deadline)?;
    Ok(table.map(|table| AutomatonState::of_table(&table)))
}

/// The pattern of the terminal `name` with the language of `term`.
///
/// # Errors
/// If the terminal matches the empty text or no text, its automaton exceeds the limit, or the deadline passes.
pub(super) fn terminal_pattern(
    terms: &Terms,
    term: TermId,
    name: &str,
    max_states: usize,
    deadline: &Deadline,
) -> Result<TerminalPattern, Box<Diagnostic>> {
    if terms.is_nullable(term) {
        let message = format!("the terminal `{name}` matches the empty text");
        return Err(Box::new(
            Diagnostic::error(Code::EmptyTerminal, message)
                .help("a lexeme has at least one byte; make the terminal optional in the rules instead"),
        ));
    }
    if let Some(text) = terms.word(term) {
        return Ok(TerminalPattern::Literal(text));
    }
    match states(terms, term, max_states, deadline) {
        Ok(Some(states)) => Ok(TerminalPattern::Automaton(states)),
        Ok(None) => {
            let message = format!("the terminal `{name}` matches nothing");
            Err(Box::new(Diagnostic::error(Code::EmptyLanguage, message)))
        }
        Err(limit) => Err(Box::new(limit.diagnostic().found(format!("the terminal `{name}`")))),
    }
}

/// The language of an automaton; `None` if the list is empty or a transition is malformed.
pub(crate) fn term(terms: &mut Terms, states: &[AutomatonState]) -> Option<TermId> {
    let mut builder = TableBuilder::new();
    let ids: Vec<TableState> = states.iter().map(|_| builder.add_state()).collect();
    for (state, &id) in states.iter().zip(&ids) {
        if state.accepting {
            builder.accept(id);
        }
        let mut min_low = 0;
        for &(low, high, target) in &state.edges {
            if low > high || u16::from(low) < min_low {
                return None;
            }
            min_low = u16::from(high) + 1;
            builder.transition(id, low, high, *ids.get(target as usize)?);
        }
    }
    Some(terms.table(builder.finish(*ids.first()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::checks::accepts;
    use grammask_automata::{Automata, regex};
    use grammask_diagnostics::{Deadline, Limits};
    use std::time::Duration;

    #[test]
    fn automata_keep_the_language() {
        let mut terms = Terms::new();
        let regex = regex::term(&mut terms, "/\\*[^x]*\\*/", &Limits::default()).expect("it is a regex");
        let comment = terms.first_match(regex);
        let deadline = Deadline::after(Duration::from_secs(60));
        let plain = states(&terms, comment, 1000, &deadline).expect("it is small").expect("it has words");
        assert!(states(&terms, comment, 2, &deadline).is_err());
        let made = term(&mut terms, &plain).expect("it was made from a term");
        let mut automata = Automata::new(terms, 1000);
        for text in ["/**/", "/***/", "/* */ */", "/*/", "/*x*/", ""] {
            let expected = accepts(&mut automata, comment, text.as_bytes()).expect("it is small");
            assert_eq!(
                accepts(&mut automata, made, text.as_bytes()).expect("it is small"),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_automaton_is_refused() {
        let mut terms = Terms::new();
        let mut with_edges = |edges| term(&mut terms, &[AutomatonState { accepting: true, edges }]);
        assert!(with_edges(vec![(0, 1, 0), (2, 255, 0)]).is_some());
        for edges in
            [vec![(1, 0, 0)], vec![(0, 0, 1)], vec![(0, 5, 0), (5, 6, 0)], vec![(5, 255, 0), (0, 1, 0)]]
        {
            assert!(with_edges(edges).is_none());
        }
        assert!(term(&mut terms, &[]).is_none());
    }
}
