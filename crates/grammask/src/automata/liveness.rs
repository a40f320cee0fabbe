//! Decides whether a state can reach an accepting one.
//!
//! Only terms with intersections or complements leave the question open. A depth-first search then looks for a
//! live state, and Tarjan's algorithm for strongly connected components ("Depth-first search and linear graph
//! algorithms", 1972) settles every state it meets: a finished component without a way out to a live state is
//! dead, and when a live state is found, all states of unfinished components reach it. So each state is
//! searched once, whatever is asked. Depth first, because a counted repetition has long paths and few states
//! that are worth seeing before the end of one.

use rustc_hash::FxHashMap;

use super::lazy_dfa::{Automata, Life, StateId};
use crate::LimitExceeded;

/// A state on the path of the search.
struct Frame {
    state: StateId,
    next_class: usize,
}

impl Automata {
    /// Whether an accepting state can be reached from `state`.
    pub(super) fn is_live(&mut self, state: StateId) -> Result<bool, LimitExceeded> {
        match self.life(state) {
            Life::Live => return Ok(true),
            Life::Dead => return Ok(false),
            Life::Unknown => {}
        }
        if self.is_live_like_others(state)? {
            return Ok(true);
        }
        let mut path = vec![Frame { state, next_class: 0 }];
        // The states of unfinished components, and of each the earliest of them that it is known to reach.
        let mut unfinished = vec![state];
        let mut lowest = FxHashMap::from_iter([(state, 0)]);
        while let Some(frame) = path.last_mut() {
            let (state, class) = (frame.state, frame.next_class);
            if class < self.class_count(state) {
                frame.next_class += 1;
                let Some(target) = self.candidate_step(state, class)? else { continue };
                match self.life(target) {
                    Life::Dead => {}
                    Life::Live => {
                        let word: Vec<(StateId, usize)> =
                            path.iter().map(|frame| (frame.state, frame.next_class - 1)).collect();
                        self.remember_way(&word);
                        for state in unfinished {
                            self.set_life(state, Life::Live);
                        }
                        return Ok(true);
                    }
                    Life::Unknown => match lowest.get(&target) {
                        Some(&reached) => lower(&mut lowest, state, reached),
                        None => {
                            lowest.insert(target, unfinished.len());
                            unfinished.push(target);
                            path.push(Frame { state: target, next_class: 0 });
                        }
                    },
                }
            } else {
                path.pop();
                let reached = lowest[&state];
                if unfinished.get(reached) == Some(&state) {
                    for state in unfinished.drain(reached..) {
                        self.set_life(state, Life::Dead);
                    }
                } else if let Some(parent) = path.last() {
                    lower(&mut lowest, parent.state, reached);
                }
            }
        }
        Ok(false)
    }

    /// Whether one of the last ways that led states to live ones leads this one there too. States of one automaton mostly end
    /// alike: what counts, for one, has a new state at each byte, and the same short way out.
    fn is_live_like_others(&mut self, state: StateId) -> Result<bool, LimitExceeded> {
        for number in (0..self.ways().len()).rev() {
            let way = self.ways()[number].clone();
            let mut met = vec![state];
            for &byte in &way[..] {
                let class = self.class_of(met[met.len() - 1], byte);
                let Some(target) = self.candidate_step(met[met.len() - 1], class)? else { break };
                match self.life(target) {
                    Life::Dead => break,
                    Life::Unknown => met.push(target),
                    Life::Live => {
                        met.into_iter().for_each(|state| self.set_life(state, Life::Live));
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    fn remember_way(&mut self, way: &[(StateId, usize)]) {
        if way.len() > LONGEST_WAY {
            return;
        }
        let way = way.iter().map(|&(state, class)| self.first_of_class(state, class)).collect();
        let ways = self.ways_mut();
        if ways.len() >= MOST_WAYS {
            ways.remove(0);
        }
        ways.push(way);
    }
}

/// Ways to live states that are remembered.
const MOST_WAYS: usize = 3;
/// Bytes of a way that is remembered.
const LONGEST_WAY: usize = 6;

fn lower(lowest: &mut FxHashMap<StateId, usize>, state: StateId, reached: usize) {
    let known = lowest.entry(state).or_insert(reached);
    *known = (*known).min(reached);
}
