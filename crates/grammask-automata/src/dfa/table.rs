//! Tables: trimmed deterministic automata, with all transitions in one array of sorted byte ranges.
//!
//! A table is the result of a construction other than derivatives (a word list, the substrings of a text, a pattern
//! with assertions); each of its states is a term. A fingerprint identifies a state across tables. In an acyclic
//! table it is a hash of the state's language, so equal states of different tables are the same term. Otherwise it is a
//! hash of the whole table, whose numbering is canonical, with the state's number.

use std::sync::OnceLock;

use crate::byte_ranges::ByteRanges;
use crate::dfa::minimize::minimize;
use crate::term::content_hash::ContentHasher;
use grammask_collections::byte_set::ByteSet;
use grammask_collections::graph::AdjacencyList;

/// A state of a [`Table`] or a [`TableBuilder`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableState(u32);

impl TableState {
    /// The state with number `index`.
    pub(crate) fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("memory ends before four billion states"))
    }

    /// Position in the table.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A transition over the bytes from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableEdge {
    pub(crate) low: u8,
    pub(crate) high: u8,
    pub(crate) target: TableState,
}

/// States with their transitions, in order of their numbers. Grows by one state at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct StateRows {
    starts: Vec<usize>,
    edges: Vec<TableEdge>,
    accepting: Vec<bool>,
}

impl StateRows {
    /// Adds a state. Its transitions must be added before those of the next one.
    pub(crate) fn begin_row(&mut self, accepting: bool) -> TableState {
        self.starts.push(self.edges.len());
        self.accepting.push(accepting);
        TableState::new(self.starts.len() - 1)
    }

    /// Adds a transition to the last state, over bytes above those of its other transitions.
    pub(crate) fn push_edge(&mut self, low: u8, high: u8, target: TableState) {
        let row_start = self.starts.last().copied().unwrap_or(0);
        if let Some(last) = self.edges[row_start..].last_mut() {
            assert!(last.high < low, "the transitions of a state must not overlap");
            if last.high + 1 == low && last.target == target {
                last.high = high;
                return;
            }
        }
        self.edges.push(TableEdge { low, high, target });
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(crate) fn is_accepting(&self, state: usize) -> bool {
        self.accepting[state]
    }

    pub(crate) fn edges(&self, state: usize) -> &[TableEdge] {
        let end = self.starts.get(state + 1).copied().unwrap_or(self.edges.len());
        &self.edges[self.starts[state]..end]
    }

    /// The sources of the transitions into each state from another one.
    fn sources(&self) -> AdjacencyList {
        let mut pairs = Vec::with_capacity(self.edges.len());
        for state in 0..self.len() {
            pairs.extend(self.edges_to_others(state).map(|edge| (edge.target.0, state as u32)));
        }
        AdjacencyList::from_pairs(self.len(), &pairs)
    }

    fn edges_to_others(&self, state: usize) -> impl Iterator<Item = &TableEdge> {
        self.edges(state).iter().filter(move |edge| edge.target.index() != state)
    }

    /// Whether a state has a transition to itself.
    fn has_self_loop(&self) -> bool {
        (0..self.len()).any(|state| self.edges(state).iter().any(|edge| edge.target.index() == state))
    }

    /// The states, the targets of a state before it except for the state itself; `None` if there is a longer cycle.
    pub(crate) fn reverse_topological_order(&self) -> Option<Vec<usize>> {
        let sources = self.sources();
        let mut missing_targets: Vec<usize> =
            (0..self.len()).map(|state| self.edges_to_others(state).count()).collect();
        let mut order: Vec<usize> = (0..self.len()).filter(|&state| missing_targets[state] == 0).collect();
        let mut next = 0;
        while let Some(&state) = order.get(next) {
            next += 1;
            for &source in sources.of(state) {
                missing_targets[source as usize] -= 1;
                if missing_targets[source as usize] == 0 {
                    order.push(source as usize);
                }
            }
        }
        (order.len() == self.len()).then_some(order)
    }
}

/// The identity of the states of a table, across tables.
#[derive(Clone, Debug)]
pub(crate) enum Fingerprints {
    /// Acyclic: a hash of the language of each state.
    Contents(Box<[u128]>),
    /// A hash of the whole table; its numbering must be canonical.
    Table(u128),
}

/// The identity of one state, across tables.
pub(crate) enum StateFingerprint {
    /// A hash of the state's language.
    Content(u128),
    /// A hash of the table, and the state's number.
    Position(u128, usize),
}

/// A deterministic automaton over bytes without dead states.
#[derive(Clone, Debug)]
pub struct Table {
    start: Option<TableState>,
    starts: Box<[u32]>,
    edges: Box<[TableEdge]>,
    accepting: Box<[u64]>,
    fingerprints: Fingerprints,
    /// As [`Table::ranges`] returns them.
    ranges: OnceLock<Box<[(u8, u8)]>>,
    /// As [`Table::shortest_lengths`] returns them.
    shortest_lengths: OnceLock<Box<[u32]>>,
}

impl Table {
    /// A table of live states.
    pub(crate) fn new(rows: StateRows, start: TableState, fingerprints: Fingerprints) -> Self {
        let edge_index =
            |index: usize| u32::try_from(index).expect("memory ends before four billion transitions");
        let mut starts: Vec<u32> = rows.starts.iter().map(|&start| edge_index(start)).collect();
        starts.push(edge_index(rows.edges.len()));
        let mut accepting = vec![0; rows.accepting.len().div_ceil(64)];
        for (state, _) in rows.accepting.iter().enumerate().filter(|(_, accepting)| **accepting) {
            accepting[state / 64] |= 1 << (state % 64);
        }
        Self {
            start: Some(start),
            starts: starts.into(),
            edges: rows.edges.into(),
            accepting: accepting.into(),
            fingerprints,
            ranges: OnceLock::new(),
            shortest_lengths: OnceLock::new(),
        }
    }

    fn empty() -> Self {
        Self {
            start: None,
            starts: Box::new([0]),
            edges: Box::default(),
            accepting: Box::default(),
            fingerprints: Fingerprints::Contents(Box::default()),
            ranges: OnceLock::new(),
            shortest_lengths: OnceLock::new(),
        }
    }

    /// The start state; `None` if the language is empty.
    #[must_use]
    pub fn start(&self) -> Option<TableState> {
        self.start
    }

    /// Number of states.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// All states.
    pub fn states(&self) -> impl Iterator<Item = TableState> + use<> {
        (0..self.len()).map(TableState::new)
    }

    /// Whether there is no state: the language is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the state accepts.
    #[must_use]
    pub fn is_accepting(&self, state: TableState) -> bool {
        self.accepting[state.index() / 64] >> (state.index() % 64) & 1 == 1
    }

    /// The state after a byte; `None` if no word continues with it.
    #[must_use]
    pub fn next(&self, state: TableState, byte: u8) -> Option<TableState> {
        self.edge(state, byte).map(|(_, _, target)| target)
    }

    /// The transition over `byte`: first and last byte of its range, and its target.
    pub(crate) fn edge(&self, state: TableState, byte: u8) -> Option<(u8, u8, TableState)> {
        let row = self.row(state);
        let edge = row.get(row.partition_point(|edge| edge.high < byte))?;
        (edge.low <= byte).then_some((edge.low, edge.high, edge.target))
    }

    /// The transitions of a state in ascending order: first and last byte, and target.
    pub fn edges(&self, state: TableState) -> impl Iterator<Item = (u8, u8, TableState)> {
        self.row(state).iter().map(|edge| (edge.low, edge.high, edge.target))
    }

    /// The distinct byte ranges of all transitions. Memoised, since many grammars share a table.
    pub(crate) fn ranges(&self) -> &[(u8, u8)] {
        self.ranges.get_or_init(|| {
            let mut known = ByteRanges::default();
            let new = self.edges.iter().filter(|edge| known.insert(edge.low, edge.high));
            new.map(|edge| (edge.low, edge.high)).collect()
        })
    }

    /// The length of the shortest word of each state. Memoised, since many grammars share a table.
    ///
    /// Cost: linear in the states and transitions.
    pub(crate) fn shortest_lengths(&self) -> &[u32] {
        self.shortest_lengths.get_or_init(|| {
            let edges =
                self.states().flat_map(|state| self.edges(state).map(move |edge| (edge.2.0, state.0)));
            let sources = AdjacencyList::from_pairs(self.len(), &edges.collect::<Vec<_>>());
            // Backwards from the accepting states, breadth first. No state is dead.
            let mut lengths = vec![u32::MAX; self.len()];
            let mut queue: Vec<TableState> =
                self.states().filter(|&state| self.is_accepting(state)).collect();
            queue.iter().for_each(|state| lengths[state.index()] = 0);
            let mut next = 0;
            while let Some(&state) = queue.get(next) {
                for &source in sources.of(state.index()) {
                    if lengths[source as usize] == u32::MAX {
                        lengths[source as usize] = lengths[state.index()] + 1;
                        queue.push(TableState(source));
                    }
                }
                next += 1;
            }
            lengths.into()
        })
    }

    /// The bytes that occur in the words of a state. Cost: linear in the states and transitions.
    pub(crate) fn bytes_of_words(&self, state: TableState) -> ByteSet {
        let mut bytes = ByteSet::EMPTY;
        let mut is_found = vec![false; self.len()];
        is_found[state.index()] = true;
        let mut pending = vec![state];
        while let Some(state) = pending.pop() {
            for (low, high, target) in self.edges(state) {
                bytes = bytes.union(ByteSet::range(low, high));
                if !std::mem::replace(&mut is_found[target.index()], true) {
                    pending.push(target);
                }
            }
        }
        bytes
    }

    /// Whether the language of the state is the empty word.
    pub(crate) fn is_final(&self, state: TableState) -> bool {
        self.row(state).is_empty()
    }

    /// Whether the table is known to have no cycle; its language is then finite.
    pub(crate) fn is_acyclic(&self) -> bool {
        matches!(self.fingerprints, Fingerprints::Contents(_))
    }

    /// The value of a state, computed from whether it accepts, and from its transitions with the values of their targets;
    /// `None` if the table may have a cycle.
    ///
    /// Cost: linear in the states and transitions.
    pub(crate) fn fold<T: Copy>(
        &self,
        start: TableState,
        compute: impl Fn(bool, &[(u8, u8, T)]) -> T,
    ) -> Option<T> {
        if !self.is_acyclic() {
            return None;
        }
        let mut known: Vec<Option<T>> = vec![None; self.len()];
        let (mut pending, mut edges) = (vec![start], Vec::new());
        while let Some(&state) = pending.last() {
            let before = pending.len();
            edges.clear();
            for (low, high, target) in self.edges(state) {
                match known[target.index()] {
                    Some(value) => edges.push((low, high, value)),
                    None => pending.push(target),
                }
            }
            if pending.len() == before {
                known[state.index()] = Some(compute(self.is_accepting(state), &edges));
                pending.pop();
            }
        }
        known[start.index()]
    }

    pub(crate) fn fingerprint(&self, state: TableState) -> StateFingerprint {
        match &self.fingerprints {
            Fingerprints::Contents(hashes) => StateFingerprint::Content(hashes[state.index()]),
            Fingerprints::Table(hash) => StateFingerprint::Position(*hash, state.index()),
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let fingerprints = match &self.fingerprints {
            Fingerprints::Contents(hashes) => size_of_val(&hashes[..]),
            Fingerprints::Table(_) => 0,
        };
        size_of_val(&self.starts[..])
            + size_of_val(&self.edges[..])
            + size_of_val(&self.accepting[..])
            + fingerprints
            + self.ranges.get().map_or(0, |ranges| size_of_val(&ranges[..]))
            + self.shortest_lengths.get().map_or(0, |lengths| size_of_val(&lengths[..]))
    }

    fn row(&self, state: TableState) -> &[TableEdge] {
        let index = state.index();
        &self.edges[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}

/// Builds a [`Table`] from states and transitions in any order.
#[derive(Clone, Debug, Default)]
pub struct TableBuilder {
    accepting: Vec<bool>,
    edges: Vec<(TableState, TableEdge)>,
}

impl TableBuilder {
    /// A builder without states.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a state, which does not accept.
    pub fn add_state(&mut self) -> TableState {
        self.accepting.push(false);
        TableState::new(self.accepting.len() - 1)
    }

    /// Makes `state` accept.
    pub fn accept(&mut self, state: TableState) {
        self.accepting[state.index()] = true;
    }

    /// Adds a transition over the bytes from `low` to `high`, both included.
    pub fn transition(&mut self, from: TableState, low: u8, high: u8, to: TableState) {
        self.edges.push((from, TableEdge { low, high, target: to }));
    }

    /// The minimal automaton of the language of `start`, numbered in breadth-first order.
    ///
    /// Cost: O(m log n) for n states and m transitions; linear if all cycles are self-loops.
    ///
    /// # Panics
    /// If two transitions of a state overlap.
    #[must_use]
    pub fn finish(self, start: TableState) -> Table {
        let rows = self.rows();
        let Some(live) = breadth_first(&rows, start, &live_states(&rows)) else { return Table::empty() };
        let blocks = minimize(&live);
        let quotient = quotient(&live, &blocks);
        let all = vec![true; quotient.len()];
        let rows = breadth_first(&quotient, TableState::new(blocks[0]), &all)
            .expect("the start of a trimmed automaton is live");
        let fingerprints = fingerprints(&rows);
        Table::new(rows, TableState::new(0), fingerprints)
    }

    /// As [`Self::finish`], for automata whose reachable states have distinct languages: skips minimisation.
    ///
    /// Cost: linear, after sorting the transitions.
    ///
    /// # Panics
    /// If two transitions of a state overlap.
    #[must_use]
    pub fn finish_minimal(self, start: TableState) -> Table {
        let rows = self.rows();
        let Some(rows) = breadth_first(&rows, start, &live_states(&rows)) else { return Table::empty() };
        let fingerprints = fingerprints(&rows);
        Table::new(rows, TableState::new(0), fingerprints)
    }

    fn rows(self) -> StateRows {
        // A counting sort by source; the transitions of one state are mostly sorted already.
        let mut ends = vec![0; self.accepting.len()];
        for (from, _) in &self.edges {
            ends[from.index()] += 1;
        }
        let mut end = 0;
        for slot in &mut ends {
            end += std::mem::replace(slot, end);
        }
        let mut edges = self.edges.iter().map(|(_, edge)| *edge).collect::<Vec<TableEdge>>();
        for &(from, edge) in &self.edges {
            edges[ends[from.index()]] = edge;
            ends[from.index()] += 1;
        }
        let mut rows = StateRows::default();
        let mut start = 0;
        for (accepting, end) in self.accepting.into_iter().zip(ends) {
            rows.begin_row(accepting);
            let own = &mut edges[start..end];
            own.sort_unstable_by_key(|edge| edge.low);
            own.iter().for_each(|edge| rows.push_edge(edge.low, edge.high, edge.target));
            start = end;
        }
        rows
    }
}

/// Whether each state is live.
fn live_states(rows: &StateRows) -> Vec<bool> {
    let sources = rows.sources();
    let mut live_states = rows.accepting.clone();
    let mut queue: Vec<usize> = (0..rows.len()).filter(|&state| live_states[state]).collect();
    while let Some(state) = queue.pop() {
        for &source in sources.of(state) {
            if !std::mem::replace(&mut live_states[source as usize], true) {
                queue.push(source as usize);
            }
        }
    }
    live_states
}

/// The states that are reachable from `start` through states in `kept`, renumbered in breadth-first order; `None` if
/// `start` is not kept.
fn breadth_first(rows: &StateRows, start: TableState, kept: &[bool]) -> Option<StateRows> {
    if !kept[start.index()] {
        return None;
    }
    let mut numbers = vec![None; rows.len()];
    numbers[start.index()] = Some(TableState::new(0));
    let mut order = vec![start];
    let mut renumbered = StateRows::default();
    let mut next = 0;
    while let Some(&state) = order.get(next) {
        next += 1;
        renumbered.begin_row(rows.is_accepting(state.index()));
        for edge in rows.edges(state.index()) {
            if kept[edge.target.index()] {
                let target = *numbers[edge.target.index()].get_or_insert_with(|| {
                    order.push(edge.target);
                    TableState::new(order.len() - 1)
                });
                renumbered.push_edge(edge.low, edge.high, target);
            }
        }
    }
    Some(renumbered)
}

/// The quotient automaton: one state for each block of equivalent states.
fn quotient(rows: &StateRows, blocks: &[usize]) -> StateRows {
    let count = blocks.iter().max().map_or(0, |last| last + 1);
    let mut representatives = vec![0; count];
    for (state, &block) in blocks.iter().enumerate() {
        representatives[block] = state;
    }
    let mut quotient = StateRows::default();
    for state in representatives {
        quotient.begin_row(rows.is_accepting(state));
        for edge in rows.edges(state) {
            quotient.push_edge(edge.low, edge.high, TableState::new(blocks[edge.target.index()]));
        }
    }
    quotient
}

/// The fingerprints of a canonically numbered automaton: by content if it has no cycle.
fn fingerprints(rows: &StateRows) -> Fingerprints {
    if let Some(order) = rows.reverse_topological_order().filter(|_| !rows.has_self_loop()) {
        let mut hashes = vec![0; rows.len()];
        for state in order {
            hashes[state] = content_of_row(rows.is_accepting(state), rows.edges(state), &hashes);
        }
        return Fingerprints::Contents(hashes.into());
    }
    let mut hasher = ContentHasher::new(2);
    hasher.write(rows.len() as u64);
    for state in 0..rows.len() {
        hasher.write(u64::from(rows.is_accepting(state)));
        hasher.write(rows.edges(state).len() as u64);
        for edge in rows.edges(state) {
            hasher.write(u64::from(edge.low) << 8 | u64::from(edge.high));
            hasher.write(edge.target.index() as u64);
        }
    }
    Fingerprints::Table(hasher.finish())
}

/// The content hash of a state whose targets have hashes.
pub(crate) fn content_of_row(accepting: bool, edges: &[TableEdge], hashes: &[u128]) -> u128 {
    let mut hasher = ContentHasher::new(1);
    hasher.write(u64::from(accepting));
    hasher.write(edges.len() as u64);
    for edge in edges {
        hasher.write(u64::from(edge.low) << 8 | u64::from(edge.high));
        hasher.write_hash(hashes[edge.target.index()]);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(table: &Table, word: &[u8]) -> bool {
        let start = table.start();
        let end = word.iter().fold(start, |state, &byte| table.next(state?, byte));
        end.is_some_and(|state| table.is_accepting(state))
    }

    #[test]
    fn finish_trims_and_minimises() {
        // (ab|cb)*, with a dead branch, an unreachable state and two equivalent middles.
        let mut builder = TableBuilder::new();
        let [dead, loose, start, after_a, after_c] = std::array::from_fn(|_| builder.add_state());
        builder.accept(start);
        builder.accept(loose);
        builder.transition(start, b'c', b'c', after_c);
        builder.transition(start, b'a', b'a', after_a);
        builder.transition(start, b'x', b'z', dead);
        builder.transition(after_a, b'b', b'b', start);
        builder.transition(after_c, b'b', b'b', start);
        let table = builder.finish(start);
        assert_eq!(table.len(), 2);
        assert!(accepts(&table, b"") && accepts(&table, b"abcb") && accepts(&table, b"cb"));
        assert!(!accepts(&table, b"a") && !accepts(&table, b"x") && !accepts(&table, b"bb"));
    }

    #[test]
    fn an_empty_language_has_no_state() {
        let mut builder = TableBuilder::new();
        let start = builder.add_state();
        builder.transition(start, 0, 255, start);
        assert!(builder.finish(start).is_empty());
    }
}
