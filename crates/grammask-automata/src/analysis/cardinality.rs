//! Finiteness of languages, and the length of their longest words, as far as the form of their terms shows it.
//!
//! The difference of an infinite and a finite language is infinite. So free text without some words is known to be
//! nonempty, without a search.

use rustc_hash::FxHashMap;

use crate::dfa::table::{Table, TableState};
use crate::term::arena::{Term, TermId, Terms};

impl Terms {
    /// An upper bound of the length of the words, in bytes; `None` if the form of the term shows none.
    ///
    /// Cost: linear in the subterms, and in the states of their tables.
    #[must_use]
    pub fn max_length(&self, term: TermId) -> Option<u32> {
        if !self.is_finite_by_form(term) {
            return None;
        }
        self.fold(term, &mut FxHashMap::default(), |term, known| {
            let term = self.get(term);
            let mut lengths = term.operands().map(|part| known[&part]);
            match term {
                Term::Nothing | Term::Epsilon => Some(0),
                Term::Bytes(_) => Some(1),
                Term::Literal(chunk) => u32::try_from(chunk.as_slice().len()).ok(),
                Term::Concat(..) => lengths.try_fold(0_u32, |sum, length| sum.checked_add(length?)),
                Term::Union(_) => lengths.try_fold(0, |longest, length| Some(length?.max(longest))),
                Term::Intersection(_) => lengths.flatten().min(),
                Term::Repeat { max, .. } => {
                    lengths.next().flatten().zip(*max).and_then(|(one, max)| one.checked_mul(max))
                }
                Term::FirstMatch(_) => lengths.next().flatten(),
                Term::Table { table, state } => longest_word(self.get_table(*table), *state),
                Term::Complement(_) => None,
            }
        })
    }

    /// Whether the language of a term is certainly finite. Its operands are in the arena.
    pub(crate) fn is_finite(&self, term: &Term) -> bool {
        let is_finite = |&part: &TermId| self.is_finite_by_form(part);
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

    /// Whether the language of a term is certainly infinite. Its operands are in the arena.
    pub(crate) fn is_infinite(&self, term: &Term) -> bool {
        let is_infinite = |&part: &TermId| self.is_infinite_by_form(part);
        match term {
            Term::Nothing | Term::Epsilon | Term::Bytes(_) | Term::Literal(_) => false,
            Term::Concat(head, tail) => {
                let are_inhabited = self.is_known_inhabited(*head) && self.is_known_inhabited(*tail);
                are_inhabited && (is_infinite(head) || is_infinite(tail))
            }
            Term::Union(parts) => parts.iter().any(is_infinite),
            // The infinite language of one operand, without finitely many words: a complement is known to be infinite
            // only if its operand is finite.
            Term::Intersection(parts) => {
                let is_exclusion = |part: &&TermId| matches!(self.get(**part), Term::Complement(_));
                parts.iter().all(is_infinite) && parts.iter().filter(is_exclusion).count() + 1 >= parts.len()
            }
            Term::Complement(part) => self.is_finite_by_form(*part),
            Term::Repeat { term, max, .. } => {
                is_infinite(term) || max.is_none() && self.has_nonempty_word_by_form(*term)
            }
            // The cycles of a table may be unreachable from this state, and a first match can make a language finite.
            Term::FirstMatch(_) | Term::Table { .. } => false,
        }
    }
}

/// The length of the longest word of a state of a table; `None` if there may be infinitely many.
fn longest_word(table: &Table, start: TableState) -> Option<u32> {
    table.fold(start, |_, edges| {
        edges.iter().map(|&(_, _, length): &(u8, u8, u32)| length.saturating_add(1)).max().unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sketch::sketch;
    use crate::{Automata, StateId};

    /// The length of the longest path of live states; `None` if there is a cycle. Removes states without successors
    /// until a fixpoint.
    fn longest_path(automata: &mut Automata, start: StateId) -> Option<u32> {
        let mut successor_lists: Vec<(StateId, Vec<StateId>)> = Vec::new();
        let mut found = vec![start];
        let mut next = 0;
        while let Some(&state) = found.get(next) {
            next += 1;
            let successors = automata.successors(state).expect("within limits");
            let targets: Vec<StateId> = successors.into_iter().map(|(_, target)| target).collect();
            found.extend_from_slice(&targets);
            successor_lists.push((state, targets));
            let mut distinct = rustc_hash::FxHashSet::default();
            found.retain(|state| distinct.insert(*state));
        }
        let mut rounds = 0;
        loop {
            let before = successor_lists.len();
            let remaining: Vec<StateId> = successor_lists.iter().map(|&(state, _)| state).collect();
            successor_lists.retain(|(_, targets)| targets.iter().any(|target| remaining.contains(target)));
            if successor_lists.len() == before {
                return (before == 0).then(|| rounds - 1);
            }
            rounds += 1;
        }
    }

    proptest! {
        /// A language is infinite if and only if its live states have a cycle.
        #[test]
        fn facts_from_the_form_are_true(sketch in sketch()) {
            let mut terms = Terms::new();
            let term = sketch.term(&mut terms);
            let (finite, infinite) = (terms.is_finite_by_form(term), terms.is_infinite_by_form(term));
            prop_assert!(!(finite && infinite));
            let inhabited = terms.is_known_inhabited(term);
            let mut automata = Automata::new(terms, 10_000);
            let start = automata.start(term).expect("within limits");
            let max_length = automata.terms().max_length(term);
            prop_assert_eq!(max_length.is_some(), finite);
            let longest = start.map(|start| longest_path(&mut automata, start));
            let is_infinite = longest == Some(None);
            if let (Some(longest), Some(max_length)) = (longest, max_length) {
                prop_assert!(longest.is_some_and(|longest| longest <= max_length));
            }
            prop_assert!(!finite || !is_infinite);
            prop_assert!(!infinite || is_infinite);
            // A search by derivatives alone, independent of the facts.
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
