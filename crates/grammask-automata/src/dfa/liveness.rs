//! Decides whether a state can reach an accepting one.
//!
//! Only terms with intersections or complements leave the question open. A depth-first search then looks for a
//! live state, and Tarjan's algorithm for strongly connected components ("Depth-first search and linear graph
//! algorithms", 1972) settles every state it meets: a finished component without a way out to a live state is
//! dead, and when a live state is found, all states of unfinished components reach it. So each state is
//! searched once, whatever is asked. Depth first, because a counted repetition has long paths and few states
//! that are worth seeing before the end of one; but first a few ways that led others to a live state are tried, and the
//! nearest states, since most states are live soon.

use rustc_hash::FxHashMap;

use crate::dfa::lazy::{Automata, Life, StateId};
use grammask_diagnostics::LimitExceeded;

/// A state on the path of the search.
struct Frame {
    state: StateId,
    next_class: usize,
}

impl Automata {
    /// Whether an accepting state can be reached from `state`.
    pub(crate) fn is_live(&mut self, state: StateId) -> Result<bool, LimitExceeded> {
        match self.life(state) {
            Life::Live => return Ok(true),
            Life::Dead => return Ok(false),
            Life::Unknown => {}
        }
        if self.is_live_like_others(state)? || self.is_live_soon(state)? {
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

    /// Whether a live state is near, by a look at the nearest states. The way there is remembered.
    fn is_live_soon(&mut self, state: StateId) -> Result<bool, LimitExceeded> {
        /// A state, the one before it by its position, and the byte between them.
        struct Step {
            state: StateId,
            before: usize,
            byte: u8,
        }
        let mut steps = vec![Step { state, before: 0, byte: 0 }];
        let mut next = 0;
        while let Some(&Step { state, .. }) = steps.get(next) {
            for class in 0..self.class_count(state) {
                let Some(target) = self.candidate_step(state, class)? else { continue };
                match self.life(target) {
                    Life::Dead => {}
                    Life::Live => {
                        let mut way = vec![self.first_of_class(state, class)];
                        let mut at = next;
                        while at > 0 {
                            way.push(steps[at].byte);
                            self.set_life(steps[at].state, Life::Live);
                            at = steps[at].before;
                        }
                        self.set_life(steps[0].state, Life::Live);
                        way.reverse();
                        let ways = self.ways_mut();
                        if ways.len() >= MOST_WAYS {
                            ways.remove(0);
                        }
                        ways.push(way.into());
                        return Ok(true);
                    }
                    Life::Unknown if steps.iter().any(|step| step.state == target) => {}
                    Life::Unknown => {
                        let byte = self.first_of_class(state, class);
                        steps.push(Step { state: target, before: next, byte });
                    }
                }
            }
            next += 1;
            if steps.len() > MOST_NEAR {
                break;
            }
        }
        Ok(false)
    }
}

/// Ways to live states that are remembered.
const MOST_WAYS: usize = 3;
/// States that are near enough.
const MOST_NEAR: usize = 64;

fn lower(lowest: &mut FxHashMap<StateId, usize>, state: StateId, reached: usize) {
    let known = lowest.entry(state).or_insert(reached);
    *known = (*known).min(reached);
}
