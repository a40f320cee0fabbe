//! The states of an automaton in the order in which random walks are likely to reach them.
//!
//! A walk goes on from a state to each target with a probability that grows with the logarithm of the number of symbols
//! that lead there, so that a quote ends a string after some characters although a hundred others continue it. States
//! are visited in the order of the expected number of arrivals, as far as the states visited before tell.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::byte_set::ByteSet;

/// What a byte that texts rarely contain counts, relative to a printable one.
const RARE: f64 = 0.01;

/// Number of bytes of a set, those that texts rarely contain counted less.
#[must_use]
pub fn common_bytes(bytes: ByteSet) -> f64 {
    let is_common = |byte: u8| byte.is_ascii_graphic() || byte == b' ' || byte == b'\n';
    bytes.iter().map(|byte| if is_common(byte) { 1.0 } else { RARE }).sum()
}

/// The states that are discovered and not yet visited.
#[derive(Debug)]
pub struct LikelyFirst<S> {
    /// The expected number of arrivals at each discovered state; `None` if it was visited.
    arrivals: FxHashMap<S, Option<f64>>,
    /// Discovered states by arrivals, as bits of a positive number, and in the order of discovery. An entry with fewer
    /// arrivals than its state has is out of date.
    queue: BinaryHeap<(u64, Reverse<usize>, S)>,
}

impl<S: Copy + Eq + Hash + Ord> LikelyFirst<S> {
    /// Walks that begin in each of some states equally often.
    pub fn new(starts: impl IntoIterator<Item = S>) -> Self {
        let mut walks = Self { arrivals: FxHashMap::default(), queue: BinaryHeap::new() };
        starts.into_iter().for_each(|start| walks.arrive(start, 1.0));
        walks
    }

    /// Number of states discovered so far.
    #[must_use]
    pub fn discovered(&self) -> usize {
        self.arrivals.len()
    }

    /// The next state to visit.
    pub fn peek(&mut self) -> Option<S> {
        while let Some(&(arrivals, _, state)) = self.queue.peek() {
            if self.arrivals[&state].is_some_and(|known| known.to_bits() == arrivals) {
                return Some(state);
            }
            self.queue.pop();
        }
        None
    }

    /// Visits a state: discovers its targets, each with the number of symbols that lead there. A target can occur several
    /// times.
    pub fn visit(&mut self, state: S, targets: impl IntoIterator<Item = (S, f64)>) {
        let Some(arrivals) = self.arrivals.insert(state, None).flatten() else { return };
        let mut shares: Vec<(S, f64)> = Vec::new();
        // A walk that stays in the state leaves it sooner or later.
        for (target, symbols) in targets.into_iter().filter(|(target, _)| *target != state) {
            match shares.iter_mut().find(|(known, _)| *known == target) {
                Some((_, known)) => *known += symbols,
                None => shares.push((target, symbols)),
            }
        }
        shares.iter_mut().for_each(|(_, share)| *share = share.ln_1p());
        let total: f64 = shares.iter().map(|(_, share)| share).sum();
        shares.into_iter().for_each(|(target, share)| self.arrive(target, arrivals * share / total));
    }

    /// Adds arrivals at a state, unless it was visited.
    fn arrive(&mut self, state: S, more: f64) {
        let order = Reverse(self.arrivals.len());
        if let Some(arrivals) = self.arrivals.entry(state).or_insert(Some(0.0)) {
            *arrivals += more;
            self.queue.push((arrivals.to_bits(), order, state));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(starts: &[u8], edges: &[(u8, u8, f64)]) -> Vec<u8> {
        let mut walks = LikelyFirst::new(starts.iter().copied());
        let mut order = Vec::new();
        while let Some(state) = walks.peek() {
            order.push(state);
            let of_state = edges.iter().filter(|(from, _, _)| *from == state);
            walks.visit(state, of_state.map(|&(_, to, symbols)| (to, symbols)));
        }
        assert_eq!(walks.discovered(), order.len(), "each discovered state is visited once");
        order
    }

    #[test]
    fn likely_states_come_first() {
        let branches = [(0, 1, 2.0), (0, 2, 50.0), (2, 3, 1.0), (2, 2, 99.0), (1, 4, 1.0)];
        assert_eq!(order(&[0], &branches), [0, 2, 3, 1, 4], "what follows a loop is as likely as the loop");
        let joins = [(0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.0), (2, 4, 1.0), (3, 4, 1.0)];
        assert_eq!(order(&[0], &joins), [0, 1, 2, 3, 4], "equally likely ones in the order of discovery");
        assert_eq!(
            order(&[0], &[(0, 1, 3.0), (0, 2, 1.0), (0, 1, 0.0), (1, 2, 1.0), (1, 3, 1.0)]),
            [0, 1, 2, 3]
        );
        assert_eq!(order(&[0], &[(0, 0, 1.0)]), [0]);
        assert_eq!(order(&[5, 4], &[]), [5, 4]);
    }
}
