//! Minimisation of deterministic automata.
//!
//! Hopcroft's algorithm for partial automata as described by Valmari ("Fast brief practical DFA minimization", 2012):
//! *blocks* of states and *cords* of transitions (same label, same target block) refine each other, and the smaller
//! part of a split set gets the new number. O(m log m) for m transitions, after byte ranges are cut at all range
//! bounds.
//!
//! In automata without cycles, such as those of strings with a maximum length, states are equivalent if their rows are
//! equal, targets first (Revuz, "Minimisation of acyclic deterministic automata in linear time", 1992). So they are in
//! automata whose only cycles are self-loops, the partially ordered ones (Brzozowski and Fich, "Languages of R-trivial
//! monoids", 1980), such as those of bounds on numbers, if a transition to the own class is equal to a self-loop.

use rustc_hash::FxHashMap;

use crate::dfa::table::{StateRows, TableEdge, TableState};
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
    /// The partition into sets of elements with equal keys, by a counting sort.
    fn by_key(count: usize, key: impl Fn(usize) -> u8) -> Self {
        let mut starts = [0; 257];
        for element in 0..count {
            starts[usize::from(key(element)) + 1] += 1;
        }
        let (mut bounds, mut set_of_key) = (Vec::new(), [0; 256]);
        for key in 0..256 {
            starts[key + 1] += starts[key];
            if starts[key] < starts[key + 1] {
                set_of_key[key] = bounds.len();
                bounds.push((starts[key], starts[key + 1]));
            }
        }
        let mut partition = Self {
            elements: vec![0; count],
            positions: vec![0; count],
            set_of: vec![0; count],
            marked: vec![0; bounds.len()],
            touched: Vec::new(),
            bounds,
        };
        let mut free = starts;
        for element in 0..count {
            let key = usize::from(key(element));
            partition.elements[free[key]] = element;
            partition.positions[element] = free[key];
            partition.set_of[element] = set_of_key[key];
            free[key] += 1;
        }
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
    match rows.reverse_topological_order() {
        Some(order) => classes_of_equal_rows(rows, &order),
        None => refine(rows),
    }
}

/// The equivalence classes of the states of an automaton whose only cycles are self-loops, by the rows with classes as
/// targets.
fn classes_of_equal_rows(rows: &StateRows, order: &[usize]) -> Vec<usize> {
    /// The class of the state itself, as a target.
    const OWN: usize = u32::MAX as usize;
    let mut classes = vec![OWN; rows.len()];
    let mut class_of_row: FxHashMap<Box<[TableEdge]>, usize> = FxHashMap::default();
    let mut has_self_loop: Vec<bool> = Vec::new();
    let (mut row, mut row_in_class) = (Vec::new(), Vec::new());
    for &state in order {
        let write_row = |row: &mut Vec<TableEdge>, own: usize| {
            row.clear();
            for edge in rows.edges(state) {
                // The state itself has no class yet.
                let class = classes[edge.target.index()];
                let target = TableState::new(if class == own { OWN } else { class });
                match row.last_mut() {
                    Some(last) if last.high + 1 == edge.low && last.target == target => last.high = edge.high,
                    _ => row.push(TableEdge { target, ..*edge }),
                }
            }
            if rows.is_accepting(state) {
                row.push(TableEdge { low: 1, high: 0, target: TableState::new(OWN) });
            }
        };
        write_row(&mut row, OWN);
        let known = class_of_row.get(&row[..]).copied().or_else(|| {
            // Classes with self-loops that the state leads to: it is in one if its transitions to it are self-loops.
            row.iter().map(|edge| edge.target.index()).find(|&class| {
                class != OWN && has_self_loop[class] && {
                    write_row(&mut row_in_class, class);
                    class_of_row.get(&row_in_class[..]) == Some(&class)
                }
            })
        });
        classes[state] = known.unwrap_or_else(|| {
            let new = class_of_row.len();
            has_self_loop.push(row.iter().any(|edge| edge.target.index() == OWN && edge.low <= edge.high));
            class_of_row.insert(row[..].into(), new);
            new
        });
    }
    classes
}

/// The equivalence classes of the states, by Hopcroft's algorithm.
fn refine(rows: &StateRows) -> Vec<usize> {
    let transitions = atomic_transitions(rows);
    let mut blocks = RefinablePartition::by_key(rows.len(), |state| u8::from(rows.is_accepting(state)));
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

    use super::{minimize, refine};
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
            cycles in 0usize..3,
        ) {
            let mut rows = StateRows::default();
            for (state, (accepting, steps)) in states.iter().enumerate() {
                rows.begin_row(*accepting);
                let mut low = 0;
                // No cycles, only self-loops, or any cycles: edges to earlier states, also to the own one, or to all.
                let targets = [state, state + 1, states.len()][cycles];
                for &(width, target) in steps.iter().filter(|_| targets > 0) {
                    rows.push_edge(low, low + width, TableState::new(target % targets));
                    low += width + 1;
                }
            }
            let slow = classes_by_rounds(&rows);
            // The automaton is not trimmed here; the algorithms distinguish dead states from missing transitions.
            for fast in [minimize(&rows), refine(&rows)] {
                for one in 0..rows.len() {
                    for other in 0..rows.len() {
                        prop_assert_eq!(fast[one] == fast[other], slow[one] == slow[other]);
                    }
                }
            }
        }
    }
}
