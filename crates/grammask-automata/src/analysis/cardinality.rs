//! Whether a language has only so many words or infinitely many, as far as the shape of its term says so.
//!
//! Infinitely many words without only so many of them are infinitely many: so what excludes a few words from free text is never
//! empty, and nobody needs to search it for a word.

use crate::term::arena::{Term, TermId, Terms};

impl Terms {
    /// Whether a term, whose parts are in the arena, has only so many words. If not, nothing is known.
    pub(crate) fn is_finite(&self, term: &Term) -> bool {
        let is_finite = |&part: &TermId| self.is_finite_by_shape(part);
        match term {
            Term::Nothing | Term::Epsilon | Term::Bytes(_) | Term::Literal(_) => true,
            Term::Concat(head, tail) => is_finite(head) && is_finite(tail),
            Term::Union(parts) => parts.iter().all(is_finite),
            Term::Intersection(parts) => parts.iter().any(is_finite),
            Term::Complement(_) => false,
            Term::Repeat { term, max, .. } => max.is_some() && is_finite(term),
            Term::FirstMatch(part) => is_finite(part),
            Term::Table { table, .. } => self.get_table(*table).is_acyclic(),
        }
    }

    /// Whether a term, whose parts are in the arena, has infinitely many words. If not, nothing is known.
    pub(crate) fn is_infinite(&self, term: &Term) -> bool {
        let is_infinite = |&part: &TermId| self.is_infinite_by_shape(part);
        match term {
            Term::Nothing | Term::Epsilon | Term::Bytes(_) | Term::Literal(_) => false,
            Term::Concat(head, tail) => {
                let are_inhabited = self.is_known_inhabited(*head) && self.is_known_inhabited(*tail);
                are_inhabited && (is_infinite(head) || is_infinite(tail))
            }
            Term::Union(parts) => parts.iter().any(is_infinite),
            // Words of one operand, and none of the words that the others exclude.
            Term::Intersection(parts) => {
                let is_exclusion = |part: &&TermId| matches!(self.get(**part), Term::Complement(_));
                parts.iter().all(is_infinite) && parts.iter().filter(is_exclusion).count() + 1 >= parts.len()
            }
            Term::Complement(part) => self.is_finite_by_shape(*part),
            Term::Repeat { term, max, .. } => {
                is_infinite(term) || max.is_none() && self.extends_by_shape(*term)
            }
            // From a state of a table with cycles there may be none on the way; and what follows a first match is left out.
            Term::FirstMatch(_) | Term::Table { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sketch::sketch;
    use crate::{Automata, StateId};

    /// Whether some state can be reached again, by leaving out one state after the other that leads to no other.
    fn has_cycle(automata: &mut Automata, start: StateId) -> bool {
        let mut open: Vec<(StateId, Vec<StateId>)> = Vec::new();
        let mut found = vec![start];
        let mut next = 0;
        while let Some(&state) = found.get(next) {
            next += 1;
            let successors = automata.successors(state).expect("within limits");
            let targets: Vec<StateId> = successors.into_iter().map(|(_, target)| target).collect();
            found.extend_from_slice(&targets);
            open.push((state, targets));
            let mut met = rustc_hash::FxHashSet::default();
            found.retain(|state| met.insert(*state));
        }
        loop {
            let before = open.len();
            let left: Vec<StateId> = open.iter().map(|&(state, _)| state).collect();
            open.retain(|(_, targets)| targets.iter().any(|target| left.contains(target)));
            if open.len() == before {
                return before > 0;
            }
        }
    }

    proptest! {
        /// Live states with a cycle have infinitely many words, those without have not.
        #[test]
        fn what_the_shape_says_is_so(sketch in sketch()) {
            let mut terms = Terms::new();
            let term = sketch.term(&mut terms);
            let (finite, infinite) = (terms.is_finite_by_shape(term), terms.is_infinite_by_shape(term));
            prop_assert!(!(finite && infinite));
            let inhabited = terms.is_known_inhabited(term);
            let mut automata = Automata::new(terms, 10_000);
            let start = automata.start(term).expect("within limits");
            let is_infinite = start.is_some_and(|start| has_cycle(&mut automata, start));
            prop_assert!(!finite || !is_infinite);
            prop_assert!(!infinite || is_infinite);
            // By a search that trusts no shape: some word is found, or all states are seen.
            if inhabited {
                let (mut states, mut next) = (vec![term], 0);
                let found = loop {
                    let Some(&state) = states.get(next) else { break false };
                    next += 1;
                    if automata.terms().is_nullable(state) {
                        break true;
                    }
                    for letter in *b"abc" {
                        let state = automata.terms_mut().derivative(state, letter);
                        if !states.contains(&state) {
                            states.push(state);
                        }
                    }
                };
                prop_assert!(found);
            }
        }
    }
}
