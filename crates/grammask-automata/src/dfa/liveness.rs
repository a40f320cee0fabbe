//! Liveness: decides whether an accepting state is reachable.
//!
//! Only terms with intersections or complements need a search; the form of all others shows it. Three searches run in
//! order of cost:
//!
//! 1. The paths that earlier searches found to live states.
//! 2. A best-first search over a few states, since most states have a live state nearby.
//! 3. A depth-first search with Tarjan's algorithm for strongly connected components ("Depth-first search and linear
//!    graph algorithms", 1972), which decides every state that it visits: a finished component without an edge to a
//!    live state is dead, and if a live state is found, all states of unfinished components reach it. So each state is
//!    searched at most once. Depth first, because a counted repetition has long paths whose inner states decide
//!    nothing. When it has visited many states, an upper bound is tried, in which all words over the bytes of a large
//!    table stand for the table: that of dates has thousands of states, but no word with an X, whatever precedes it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::dfa::lazy::{Automata, Liveness, StateId};
use grammask_diagnostics::LimitExceeded;

/// A state on the path of the depth-first search.
struct SearchFrame {
    state: StateId,
    next_class: usize,
}

impl Automata {
    /// Whether an accepting state is reachable from `state`.
    pub(crate) fn is_live(&mut self, state: StateId) -> Result<bool, LimitExceeded> {
        if self.liveness(state) == Liveness::Unknown && !self.is_live_by_recent_path(state)? {
            self.search_nearby(state)?;
        }
        match self.liveness(state) {
            Liveness::Live => Ok(true),
            Liveness::Dead => Ok(false),
            Liveness::Unknown => self.search_depth_first(state),
        }
    }

    /// Decides whether an accepting state is reachable from `start`.
    fn search_depth_first(&mut self, start: StateId) -> Result<bool, LimitExceeded> {
        let mut path = vec![SearchFrame { state: start, next_class: 0 }];
        // Tarjan's stack: the states of unfinished components, and their lowlinks as positions in it.
        let mut unfinished = vec![start];
        let mut lowlinks = FxHashMap::from_iter([(start, 0)]);
        while let Some(frame) = path.last_mut() {
            let (state, class) = (frame.state, frame.next_class);
            if class < self.class_count(state) {
                frame.next_class += 1;
                let Some(target) = self.step_class_unchecked(state, class)? else { continue };
                match self.liveness(target) {
                    Liveness::Dead => {}
                    Liveness::Live => {
                        for state in unfinished {
                            self.set_liveness(state, Liveness::Live);
                        }
                        return Ok(true);
                    }
                    Liveness::Unknown => match lowlinks.get(&target) {
                        Some(&lowlink_position) => lower_lowlink(&mut lowlinks, state, lowlink_position),
                        None => {
                            lowlinks.insert(target, unfinished.len());
                            unfinished.push(target);
                            path.push(SearchFrame { state: target, next_class: 0 });
                            if lowlinks.len() == MANY_STATES && self.is_dead_by_bytes(start)? {
                                unfinished
                                    .into_iter()
                                    .for_each(|state| self.set_liveness(state, Liveness::Dead));
                                return Ok(false);
                            }
                        }
                    },
                }
            } else {
                path.pop();
                let lowlink_position = lowlinks[&state];
                if unfinished.get(lowlink_position) == Some(&state) {
                    for state in unfinished.drain(lowlink_position..) {
                        self.set_liveness(state, Liveness::Dead);
                    }
                } else if let Some(parent) = path.last() {
                    lower_lowlink(&mut lowlinks, parent.state, lowlink_position);
                }
            }
        }
        Ok(false)
    }

    /// Whether one of the recent paths reaches a live state from here too. States of one automaton often share their
    /// suffixes: a counter has a state per byte, and from each the same short path to an accepting state.
    fn is_live_by_recent_path(&mut self, state: StateId) -> Result<bool, LimitExceeded> {
        for number in (0..self.live_paths().len()).rev() {
            let path = self.live_paths()[number].clone();
            let mut visited = vec![state];
            for &byte in &path[..] {
                let class = self.class_of(visited[visited.len() - 1], byte);
                let Some(target) = self.step_class_unchecked(visited[visited.len() - 1], class)? else {
                    break;
                };
                match self.liveness(target) {
                    Liveness::Dead => break,
                    Liveness::Unknown => visited.push(target),
                    Liveness::Live => {
                        visited.into_iter().for_each(|state| self.set_liveness(state, Liveness::Live));
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Whether even an upper bound without large tables is dead.
    fn is_dead_by_bytes(&mut self, state: StateId) -> Result<bool, LimitExceeded> {
        let term = self.term(state);
        let Some(wider) = self.terms_mut().without_large_tables(term) else { return Ok(false) };
        let Some(wider) = self.intern_state(wider)? else { return Ok(true) };
        if self.liveness(wider) == Liveness::Unknown {
            self.search_nearby(wider)?;
        }
        Ok(self.liveness(wider) == Liveness::Dead)
    }

    /// Searches the nearest states for a live one, and records the path to it; if there are no further states, all of
    /// them are dead. The next state is the one whose path, with the lower bound on what completes it, is shortest (A*:
    /// Hart, Nilsson and Raphael, "A formal basis for the heuristic determination of minimum cost paths", 1968): without
    /// bounds, a breadth-first search.
    fn search_nearby(&mut self, state: StateId) -> Result<(), LimitExceeded> {
        let mut found = vec![Discovery { state, predecessor: 0, byte: 0, depth: 0 }];
        let mut queue = BinaryHeap::from([(Reverse(0), 0)]);
        while let Some((_, current)) = queue.pop() {
            let Discovery { state, depth, .. } = found[current];
            for class in 0..self.class_count(state) {
                let Some(target) = self.step_class_unchecked(state, class)? else { continue };
                let byte = self.first_of_class(state, class);
                match self.liveness(target) {
                    Liveness::Dead => {}
                    Liveness::Live => {
                        self.record_live_path(&found, current, byte);
                        return Ok(());
                    }
                    Liveness::Unknown if found.iter().any(|discovery| discovery.state == target) => {}
                    Liveness::Unknown => {
                        let bound = self.terms().min_length_by_form(self.term(target));
                        queue.push((Reverse(bound.saturating_add(depth + 1)), found.len()));
                        found.push(Discovery { state: target, predecessor: current, byte, depth: depth + 1 });
                    }
                }
            }
            if found.len() > MAX_NEARBY_STATES {
                return Ok(());
            }
        }
        found.iter().for_each(|discovery| self.set_liveness(discovery.state, Liveness::Dead));
        Ok(())
    }

    /// Records that the states on the path to a discovered state are live, and keeps the path, which `last` continues to a
    /// live state.
    fn record_live_path(&mut self, found: &[Discovery], mut current: usize, last: u8) {
        let mut path = vec![last];
        while current > 0 {
            path.push(found[current].byte);
            self.set_liveness(found[current].state, Liveness::Live);
            current = found[current].predecessor;
        }
        self.set_liveness(found[0].state, Liveness::Live);
        path.reverse();
        let live_paths = self.live_paths_mut();
        if live_paths.len() >= MAX_LIVE_PATHS {
            live_paths.remove(0);
        }
        live_paths.push(path.into());
    }
}

/// A state in order of discovery, with the position of its predecessor and the byte between them.
struct Discovery {
    state: StateId,
    predecessor: usize,
    byte: u8,
    /// Number of bytes from the first state.
    depth: u32,
}

/// Number of recent paths that are kept.
const MAX_LIVE_PATHS: usize = 3;
/// Number of states of the best-first search.
const MAX_NEARBY_STATES: usize = 64;
/// Number of states after which the depth-first search tries an upper bound.
const MANY_STATES: usize = 64;

/// Lowers the lowlink of a state.
fn lower_lowlink(lowlinks: &mut FxHashMap<StateId, usize>, state: StateId, lowlink_position: usize) {
    let lowlink = lowlinks.entry(state).or_insert(lowlink_position);
    *lowlink = (*lowlink).min(lowlink_position);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use crate::{Automata, ByteSet, StateId, Table, TableBuilder, TableState, TermId, Terms};

    /// Of two million pairs of a remainder and a number of digits, the search makes those on shortest paths.
    #[test]
    fn a_multiple_is_found_along_the_shortest_words() {
        const DIVISOR: usize = 99_991;
        let mut builder = TableBuilder::new();
        let remainders: Vec<_> = (0..DIVISOR).map(|_| builder.add_state()).collect();
        builder.accept(remainders[0]);
        for (remainder, &state) in remainders.iter().enumerate() {
            for digit in 0..10 {
                let next = remainders[(10 * remainder + digit) % DIVISOR];
                builder.transition(state, b'0' + digit as u8, b'0' + digit as u8, next);
            }
        }
        let mut terms = Terms::new();
        let multiples = terms.table(builder.finish_minimal(remainders[1]));
        let digit = terms.bytes(ByteSet::range(b'0', b'9'));
        let digits = terms.repeat(digit, 0, Some(20));
        let term = terms.intersection(&[multiples, digits]);
        let mut automata = Automata::new(terms, 1000);
        let start = automata.start(term).expect("within limits").expect("there are multiples");
        assert_eq!(automata.first_bytes(start).expect("within limits").len(), 10);
    }

    /// A table of three parts of 30 states each, from random targets of `b` and `c` and the states that accept. A third of
    /// the states continues with `c`, none of the last part, so that the bound without large tables decides some states.
    fn table(rows: &[(usize, usize, bool)]) -> Table {
        let mut builder = TableBuilder::new();
        let states: Vec<_> = rows.iter().map(|_| builder.add_state()).collect();
        for (from, &(after_b, after_c, is_accepting)) in rows.iter().enumerate() {
            let part = from / 30 * 30;
            let next = (from + 1).min(rows.len() - 1);
            builder.transition(states[from], b'a', b'a', states[next]);
            builder.transition(states[from], b'b', b'b', states[part + after_b]);
            if part < 60 && after_c < 30 {
                builder.transition(states[from], b'c', b'c', states[part + after_c]);
            }
            if is_accepting || from == next {
                builder.accept(states[from]);
            }
        }
        builder.finish_minimal(states[0])
    }

    /// Whether the table and the other automaton accept a common word, by a search of all pairs of states.
    fn have_common_word(table: &Table, state: TableState, automata: &mut Automata, start: StateId) -> bool {
        let mut found = HashSet::from([(state, start)]);
        let mut stack = vec![(state, start)];
        while let Some((in_table, other)) = stack.pop() {
            if table.is_accepting(in_table) && automata.is_accepting(other) {
                return true;
            }
            for letter in b'a'..=b'c' {
                let next = automata.step(other, letter).expect("within limits");
                let pair = table.next(in_table, letter).zip(next);
                stack.extend(pair.filter(|&pair| found.insert(pair)));
            }
        }
        false
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn intersections_with_large_tables_are_live_if_a_pair_accepts(
            rows in vec((0..30_usize, 0..90_usize, prop::bool::weighted(0.05)), 90),
            wanted in vec(b'a'..=b'd', 1..5),
        ) {
            let table = table(&rows);
            let mut terms = Terms::new();
            let letter = terms.bytes(ByteSet::range(b'a', b'd'));
            let any = terms.repeat(letter, 0, None);
            let wanted: Vec<TermId> =
                wanted.iter().flat_map(|&letter| [any, terms.bytes(ByteSet::single(letter))]).collect();
            let wanted = terms.concat(&wanted);
            let mut others = Automata::new(terms.clone(), usize::MAX);
            let start = others.start(wanted).expect("within limits").expect("there are words");
            let of_table = terms.table(table.clone());
            let (id, _) = terms.as_table_state(of_table).expect("it is a table");
            let mut automata = Automata::new(terms, usize::MAX);
            for state in table.states() {
                let terms = automata.terms_mut();
                let in_table = terms.table_state(id, state);
                let both = terms.intersection(&[in_table, wanted]);
                let is_live = have_common_word(&table, state, &mut others, start);
                if let Some(both) = automata.intern_state(both).expect("within limits") {
                    prop_assert!(!(is_live && automata.is_dead_by_bytes(both).expect("within limits")));
                }
                prop_assert_eq!(automata.start(both).expect("within limits").is_some(), is_live);
            }
        }
    }
}
