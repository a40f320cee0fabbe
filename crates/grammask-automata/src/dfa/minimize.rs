//! Minimisation of deterministic automata.
//!
//! Hopcroft's algorithm for partial automata as described by Valmari ("Fast brief practical DFA minimization", 2012):
//! *blocks* of states and *cords* of transitions (same label, same target block) refine each other, and the smaller
//! part of a split set gets the new number. O(m log m) for m transitions, after byte ranges are cut at all range
//! bounds.

use crate::dfa::table::StateRows;
use grammask_collections::graph::AdjacencyList;

/// A refinable partition of `0..n`, after Valmari. Each set is a range of `elements`.
struct RefinablePartition {
    elements: Vec<usize>,
    positions: Vec<usize>,
    set_of: Vec<usize>,
    bounds: Vec<(usize, usize)>,
    marked: Vec<usize>,
    touched: Vec<usize>,
}

impl RefinablePartition {
    /// The partition into sets of elements with equal keys.
    fn by_key<K: Ord>(count: usize, key: impl Fn(usize) -> K) -> Self {
        let mut elements: Vec<usize> = (0..count).collect();
        elements.sort_by_key(|&element| key(element));
        let mut partition = Self {
            positions: vec![0; count],
            set_of: vec![0; count],
            bounds: Vec::new(),
            marked: Vec::new(),
            touched: Vec::new(),
            elements,
        };
        let mut start = 0;
        for position in 0..count {
            let element = partition.elements[position];
            if position > start && key(partition.elements[start]) != key(element) {
                partition.bounds.push((start, position));
                start = position;
            }
            partition.positions[element] = position;
            partition.set_of[element] = partition.bounds.len();
        }
        if count > 0 {
            partition.bounds.push((start, count));
        }
        partition.marked = vec![0; partition.bounds.len()];
        partition
    }

    fn len(&self) -> usize {
        self.bounds.len()
    }

    /// Marks an element: moves it to the marked elements at the front of its set.
    fn mark(&mut self, element: usize) {
        let set = self.set_of[element];
        let position = self.positions[element];
        let front = self.bounds[set].0 + self.marked[set];
        if position < front {
            return;
        }
        self.elements.swap(position, front);
        self.positions[self.elements[position]] = position;
        self.positions[element] = front;
        if self.marked[set] == 0 {
            self.touched.push(set);
        }
        self.marked[set] += 1;
    }

    /// Splits each set into its marked and unmarked elements; the smaller part becomes a new set.
    fn split(&mut self) {
        while let Some(set) = self.touched.pop() {
            let (start, end) = self.bounds[set];
            let middle = start + std::mem::take(&mut self.marked[set]);
            if middle == end {
                continue;
            }
            let new = if middle - start <= end - middle {
                self.bounds[set].0 = middle;
                (start, middle)
            } else {
                self.bounds[set].1 = middle;
                (middle, end)
            };
            for &element in &self.elements[new.0..new.1] {
                self.set_of[element] = self.bounds.len();
            }
            self.bounds.push(new);
            self.marked.push(0);
        }
    }
}

/// The number of the equivalence class of each state of a trimmed automaton.
pub(crate) fn minimize(rows: &StateRows) -> Vec<usize> {
    let transitions = atomic_transitions(rows);
    let mut blocks = RefinablePartition::by_key(rows.len(), |state| rows.is_accepting(state));
    let mut cords = RefinablePartition::by_key(transitions.len(), |index| transitions[index].label);
    let pairs = transitions.iter().zip(0_u32..).map(|(transition, index)| (transition.target as u32, index));
    let incoming = AdjacencyList::from_pairs(rows.len(), &pairs.collect::<Vec<_>>());
    // Block 0 need not split the cords: a transition that does not enter it enters another block, or does not exist,
    // and the cords distinguish missing transitions.
    let (mut next_block, mut next_cord) = (1, 0);
    while next_cord < cords.len() {
        let (start, end) = cords.bounds[next_cord];
        for &index in &cords.elements[start..end] {
            blocks.mark(transitions[index].source);
        }
        blocks.split();
        next_cord += 1;
        while next_block < blocks.len() {
            let (start, end) = blocks.bounds[next_block];
            for &state in &blocks.elements[start..end] {
                for &index in incoming.of(state) {
                    cords.mark(index as usize);
                }
            }
            cords.split();
            next_block += 1;
        }
    }
    blocks.set_of
}

/// A transition over one atomic byte range, which its first byte identifies.
struct AtomicTransition {
    source: usize,
    label: u8,
    target: usize,
}

/// All transitions, cut at the bounds of all ranges, so that two of them have equal or disjoint bytes.
fn atomic_transitions(rows: &StateRows) -> Vec<AtomicTransition> {
    let mut is_bound = [false; 257];
    for state in 0..rows.len() {
        for edge in rows.edges(state) {
            is_bound[usize::from(edge.low)] = true;
            is_bound[usize::from(edge.high) + 1] = true;
        }
    }
    let mut transitions = Vec::new();
    for source in 0..rows.len() {
        for edge in rows.edges(source) {
            let starts = (edge.low..=edge.high).filter(|&byte| is_bound[usize::from(byte)]);
            transitions.extend(starts.map(|label| AtomicTransition {
                source,
                label,
                target: edge.target.index(),
            }));
        }
    }
    transitions
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::minimize;
    use crate::dfa::table::{StateRows, TableState};

    /// Equivalence by definition: refines until a fixpoint (Moore's algorithm).
    fn classes_by_rounds(rows: &StateRows) -> Vec<usize> {
        let mut classes: Vec<usize> =
            (0..rows.len()).map(|state| usize::from(rows.is_accepting(state))).collect();
        loop {
            let signature = |state: usize| {
                let step = |byte: u8| {
                    let edge = rows.edges(state).iter().find(|edge| edge.low <= byte && byte <= edge.high);
                    edge.map(|edge| classes[edge.target.index()])
                };
                (classes[state], (0..16).map(step).collect::<Vec<_>>())
            };
            let signatures: Vec<_> = (0..rows.len()).map(signature).collect();
            let mut distinct = signatures.clone();
            distinct.sort();
            distinct.dedup();
            let refined: Vec<usize> =
                signatures.iter().map(|own| distinct.binary_search(own).unwrap()).collect();
            if refined == classes {
                return classes;
            }
            classes = refined;
        }
    }

    proptest! {
        #[test]
        fn finds_the_coarsest_equivalence(
            states in prop::collection::vec((any::<bool>(), prop::collection::vec((0u8..3, 0usize..12), 0..4)), 1..12),
        ) {
            let mut rows = StateRows::default();
            for (accepting, steps) in &states {
                rows.begin_row(*accepting);
                let mut low = 0;
                for &(width, target) in steps {
                    rows.push_edge(low, low + width, TableState::new(target % states.len()));
                    low += width + 1;
                }
            }
            let (fast, slow) = (minimize(&rows), classes_by_rounds(&rows));
            // The automaton is not trimmed here; both algorithms distinguish dead states from missing transitions.
            for one in 0..rows.len() {
                for other in 0..rows.len() {
                    prop_assert_eq!(fast[one] == fast[other], slow[one] == slow[other]);
                }
            }
        }
    }
}
