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
}

fn lower(lowest: &mut FxHashMap<StateId, usize>, state: StateId, reached: usize) {
    let known = lowest.entry(state).or_insert(reached);
    *known = (*known).min(reached);
}
