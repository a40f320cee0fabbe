//! Shortest words of states, spelled with a subset of the bytes.
//!
//! Automata may have many states, such as those of a length limit or of a complement, of which few are near a word. So
//! distances are searched when they are needed, by A* (Hart, Nilsson and Raphael 1968). Its heuristic is a lower bound
//! of the distance of each state, which a search raises for all states that it expands (Adaptive A*, Koenig and
//! Likhachev 2006): after a word of length n, a state that was expanded after g bytes is at least n - g bytes from
//! acceptance. Where no search came, the heuristic is the length of the words that the form of the term shows. It need not be
//! consistent, so a state may be expanded again when a shorter path to it is found. Later searches only leave the
//! shortest path where others may be as short.
//!
//! An intersection with finite languages, such as limits of lengths, has a state per position and state of the other
//! operands. The smallest of the shortest words of the other operands alone is that of the intersection, if it is one
//! of its words, and mostly it is far from the limits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::analysis::word_bounds::KnownWordBounds;
use crate::dfa::lazy::{Automata, StateId};
use grammask_collections::byte_set::ByteSet;
use grammask_collections::graph::{AdjacencyList, components_of};
use grammask_diagnostics::{Deadline, LimitExceeded};

/// Number of expanded states between two checks of the deadline.
const STATES_PER_CHECK: usize = 256;
/// Maximum length of a word of some operands of an intersection that is compared with the others.
const MAX_FOLLOWED: usize = 64;

/// The shortest nonempty word of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShortestWord {
    /// Its length in bytes.
    pub length: u32,
    /// The smallest byte with which a word of this length begins.
    pub first: u8,
}

impl ShortestWord {
    /// This word, followed by `bytes` more.
    pub(crate) fn longer(self, bytes: u32) -> Self {
        Self { length: self.length.saturating_add(bytes), ..self }
    }
}

/// The distance of a state to acceptance, as far as searches have found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distance {
    AtLeast(u32),
    Exactly(u32),
    /// No word can be spelled from the state.
    Infinite,
}

/// Distances of the states of one [`Automata`] to acceptance, over some bytes; filled by searches.
#[derive(Debug)]
pub struct ShortestWords {
    bytes: ByteSet,
    /// By state; states beyond the end have not been searched.
    distances: Vec<Distance>,
    words: FxHashMap<StateId, Option<ShortestWord>>,
    /// Bounds of the completions of terms.
    bounds: KnownWordBounds,
    /// Bounds of the shortest words of terms.
    shortest: KnownWordBounds,
}

/// A visited state of a search: its distance from the start, and its predecessor.
#[derive(Clone, Copy, Debug)]
struct Visit {
    depth: u32,
    predecessor: Option<StateId>,
}

/// The queue of a search.
#[derive(Debug, Default)]
struct Search {
    visits: FxHashMap<StateId, Visit>,
    /// States with a lower bound of the length of a word through them and their depth; the deepest of the least first.
    open: BinaryHeap<(Reverse<u32>, u32, Reverse<StateId>)>,
    expanded: Vec<StateId>,
}

impl ShortestWords {
    /// No distances yet; words are spelled with `bytes`.
    #[must_use]
    pub fn new(bytes: ByteSet) -> Self {
        Self {
            bytes,
            distances: Vec::new(),
            words: FxHashMap::default(),
            bounds: KnownWordBounds::default(),
            shortest: KnownWordBounds::only_shortest(),
        }
    }

    /// The bytes with which words are spelled.
    #[must_use]
    pub fn bytes(&self) -> ByteSet {
        self.bytes
    }

    /// The shortest nonempty word of `state`; `None` if none can be spelled. All calls take the same `automata`.
    ///
    /// Cost: memoised; otherwise linear in the term if its form shows the word, or a search, which makes the states that it
    /// visits.
    ///
    /// # Errors
    /// When the number of states exceeds its limit, or the deadline has passed.
    pub fn shortest_word(
        &mut self,
        automata: &mut Automata,
        state: StateId,
        deadline: &Deadline,
    ) -> Result<Option<ShortestWord>, LimitExceeded> {
        if let Some(&word) = self.words.get(&state) {
            return Ok(word);
        }
        if self.bytes == ByteSet::ALL {
            let bound = automata.terms().word_bounds(automata.term(state), &mut self.shortest);
            if let Some(bound) = bound.filter(|bound| bound.is_exact) {
                self.words.insert(state, bound.nonempty);
                return Ok(bound.nonempty);
            }
        }
        match self.word_without_limits(automata, state, deadline)? {
            Some(word) => Ok(Some(word)),
            None => self.search_word(automata, state, deadline),
        }
    }

    /// The shortest word of an intersection without its finite operands, if all operands have it. Memoised for the
    /// states on the way.
    fn word_without_limits(
        &mut self,
        automata: &mut Automata,
        state: StateId,
        deadline: &Deadline,
    ) -> Result<Option<ShortestWord>, LimitExceeded> {
        let term = automata.term(state);
        let Some(wider) = automata.terms_mut().without_finite_operands(term) else { return Ok(None) };
        // It includes the language of the state, which is live.
        automata.record_inhabited(wider)?;
        let Some(mut wider) = automata.start(wider)? else { return Ok(None) };
        let mut path: Vec<(StateId, ShortestWord)> = Vec::new();
        let mut here = state;
        while path.len() < MAX_FOLLOWED {
            let Some(word) = self.search_word(automata, wider, deadline)? else { return Ok(None) };
            let (Some(next), Some(next_wider)) =
                (automata.step(here, word.first)?, automata.step(wider, word.first)?)
            else {
                return Ok(None);
            };
            path.push((here, word));
            if word.length == 1 {
                if !automata.is_accepting(next) {
                    return Ok(None);
                }
                let first = path[0].1;
                self.words.extend(path.into_iter().map(|(state, word)| (state, Some(word))));
                return Ok(Some(first));
            }
            (here, wider) = (next, next_wider);
        }
        Ok(None)
    }

    /// The shortest nonempty word of a state, by a search.
    pub(crate) fn search_word(
        &mut self,
        automata: &mut Automata,
        state: StateId,
        deadline: &Deadline,
    ) -> Result<Option<ShortestWord>, LimitExceeded> {
        if let Some(&word) = self.words.get(&state) {
            return Ok(word);
        }
        let successors = self.successors(automata, state)?;
        let mut word = None;
        let targets: Vec<StateId> = successors.iter().map(|&(_, target)| target).collect();
        if let Some(distance) = self.search(automata, &targets, u32::MAX, deadline)? {
            for (first, target) in successors {
                if self.search(automata, &[target], distance, deadline)?.is_some() {
                    word = Some(ShortestWord { length: distance.saturating_add(1), first });
                    break;
                }
            }
        }
        self.words.insert(state, word);
        Ok(word)
    }

    /// For each of `starts` an upper bound of the number of bytes to acceptance, over the states that nonempty words reach
    /// with any bytes; `None` for a start from which a word begins that cannot be completed. `None` for all if there are
    /// more than `max_states` states. Their number is subtracted from it. The bound is exact where states are counted.
    ///
    /// Cost: linear in the terms if their form shows a bound and words have all bytes; otherwise in the states and their
    /// transitions, which are made.
    ///
    /// # Errors
    /// When the number of states exceeds its limit, or the deadline has passed.
    pub fn longest_completions(
        &mut self,
        automata: &mut Automata,
        starts: &[StateId],
        max_states: &mut usize,
        deadline: &Deadline,
    ) -> Result<Option<Vec<Option<u32>>>, LimitExceeded> {
        let mut longest: Vec<Option<u32>> = vec![None; starts.len()];
        if self.bytes == ByteSet::ALL {
            for (longest, &start) in longest.iter_mut().zip(starts) {
                let bound = automata.terms().word_bounds(automata.term(start), &mut self.bounds);
                *longest = bound.map(|bound| bound.longest);
            }
        }
        let unknown: Vec<usize> = (0..starts.len()).filter(|&start| longest[start].is_none()).collect();
        if unknown.is_empty() {
            return Ok(Some(longest));
        }
        let states: Vec<StateId> = unknown.iter().map(|&start| starts[start]).collect();
        let Some(explored) = self.explored_completions(automata, &states, max_states, deadline)? else {
            return Ok(None);
        };
        for (start, explored) in unknown.into_iter().zip(explored) {
            longest[start] = explored;
        }
        Ok(Some(longest))
    }

    /// The same, exactly, by way of all states.
    pub(crate) fn explored_completions(
        &self,
        automata: &mut Automata,
        starts: &[StateId],
        max_states: &mut usize,
        deadline: &Deadline,
    ) -> Result<Option<Vec<Option<u32>>>, LimitExceeded> {
        // The starts are nodes of their own before all states, since nonempty words need not reach them again.
        let mut states: Vec<StateId> = starts.to_vec();
        let mut nodes: FxHashMap<StateId, usize> = FxHashMap::default();
        let mut successors = AdjacencyList::with_capacity(starts.len());
        // Pairs of target and source, over the bytes with which words are spelled.
        let mut spelled: Vec<(u32, u32)> = Vec::new();
        let mut node = 0;
        while let Some(&state) = states.get(node) {
            if states.len() - starts.len() > *max_states {
                *max_states = 0;
                return Ok(None);
            }
            if node.is_multiple_of(STATES_PER_CHECK) {
                deadline.check()?;
            }
            for (bytes, target) in automata.successors(state)? {
                let target = *nodes.entry(target).or_insert_with(|| {
                    states.push(target);
                    states.len() - 1
                });
                successors.push(target);
                if !bytes.intersection(self.bytes).is_empty() {
                    spelled.push((target as u32, node as u32));
                }
            }
            successors.end_node();
            node += 1;
        }
        *max_states -= states.len() - starts.len();
        let sources = AdjacencyList::from_pairs(states.len(), &spelled);
        let mut distances: Vec<Option<u32>> = vec![None; states.len()];
        let mut reached: Vec<usize> =
            (0..states.len()).filter(|&node| automata.is_accepting(states[node])).collect();
        reached.iter().for_each(|&node| distances[node] = Some(0));
        let mut next = 0;
        while let Some(&node) = reached.get(next) {
            next += 1;
            for &source in sources.of(node) {
                if distances[source as usize].is_none() {
                    distances[source as usize] = distances[node].map(|distance| distance + 1);
                    reached.push(source as usize);
                }
            }
        }
        // Successors have lower component numbers, so one ascending pass suffices.
        let components = components_of(&successors);
        let mut longest: Vec<Option<u32>> = vec![Some(0); components.count];
        let mut order: Vec<usize> = (starts.len()..states.len()).collect();
        order.sort_unstable_by_key(|&node| components.of_node[node]);
        let greater = |left: Option<u32>, right: Option<u32>| Some(left?.max(right?));
        for node in order {
            let component = components.of_node[node];
            longest[component] = greater(longest[component], distances[node]);
            for &next in successors.of(node) {
                let next = longest[components.of_node[next as usize]];
                longest[component] = greater(longest[component], next);
            }
        }
        let of_start = |start: usize| {
            let targets = successors.of(start).iter();
            targets
                .map(|&next| longest[components.of_node[next as usize]])
                .try_fold(0, |all, own| Some(own?.max(all)))
        };
        Ok(Some((0..starts.len()).map(of_start).collect()))
    }

    /// Estimated memory, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.distances.capacity() * size_of::<Distance>()
            + self.words.capacity() * (size_of::<(StateId, Option<ShortestWord>)>() + 1)
            + self.bounds.memory_bytes()
            + self.shortest.memory_bytes()
    }

    /// The successors of a state over the bytes, each with its smallest byte, in the order of these.
    fn successors(
        &self,
        automata: &mut Automata,
        state: StateId,
    ) -> Result<Vec<(u8, StateId)>, LimitExceeded> {
        let successors = automata.successors(state)?.into_iter();
        let spelled = successors.filter_map(|(bytes, target)| {
            let first = bytes.intersection(self.bytes).iter().next()?;
            Some((first, target))
        });
        Ok(spelled.collect())
    }

    fn distance(&self, automata: &Automata, state: StateId) -> Distance {
        if automata.is_accepting(state) {
            return Distance::Exactly(0);
        }
        // A state that does not accept needs at least one byte.
        match self.distances.get(state.index()).copied().unwrap_or(Distance::AtLeast(1)) {
            Distance::AtLeast(bound) => {
                Distance::AtLeast(automata.terms().min_length_by_form(automata.term(state)).max(bound))
            }
            known => known,
        }
    }

    fn set_distance(&mut self, automata: &Automata, state: StateId, distance: Distance) {
        if self.distances.len() <= state.index() {
            self.distances.resize(automata.len(), Distance::AtLeast(1));
        }
        self.distances[state.index()] = distance;
    }

    /// Adds a state to the queue of a search, unless it was visited at the same or a lower depth.
    fn visit(&self, automata: &Automata, search: &mut Search, state: StateId, visit: Visit) {
        let (Distance::AtLeast(rest) | Distance::Exactly(rest)) = self.distance(automata, state) else {
            return;
        };
        if search.visits.get(&state).is_none_or(|other| other.depth > visit.depth) {
            search.visits.insert(state, visit);
            search.open.push((Reverse(visit.depth.saturating_add(rest)), visit.depth, Reverse(state)));
        }
    }

    /// The minimum distance of some states; `None` if it exceeds `max`.
    fn search(
        &mut self,
        automata: &mut Automata,
        starts: &[StateId],
        max: u32,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        let mut search = Search::default();
        for &start in starts {
            self.visit(automata, &mut search, start, Visit { depth: 0, predecessor: None });
        }
        let mut found = None;
        // A lower bound of the length of all words through the expanded states; infinite when the queue is empty.
        let mut least = None;
        while let Some((Reverse(length), depth, Reverse(state))) = search.open.pop() {
            if search.visits[&state].depth < depth {
                continue;
            }
            let is_exact = matches!(self.distance(automata, state), Distance::Exactly(_));
            if is_exact || length > max {
                least = Some(length);
                found = (length <= max).then_some(state);
                break;
            }
            if search.expanded.len().is_multiple_of(STATES_PER_CHECK) {
                deadline.check()?;
            }
            search.expanded.push(state);
            for (_, target) in self.successors(automata, state)? {
                let visit = Visit { depth: depth + 1, predecessor: Some(state) };
                self.visit(automata, &mut search, target, visit);
            }
        }
        for &state in &search.expanded {
            let depth = search.visits[&state].depth;
            let distance = match (least, self.distance(automata, state)) {
                (Some(least), Distance::AtLeast(bound)) => Distance::AtLeast(bound.max(least - depth)),
                (None, _) => Distance::Infinite,
                (_, exact) => exact,
            };
            self.set_distance(automata, state, distance);
        }
        let mut on_path = found;
        while let (Some(state), Some(least)) = (on_path, least) {
            let Visit { depth, predecessor } = search.visits[&state];
            if !automata.is_accepting(state) {
                self.set_distance(automata, state, Distance::Exactly(least - depth));
            }
            on_path = predecessor;
        }
        Ok(found.and(least))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};
    use std::time::Duration;

    use grammask_diagnostics::Deadline;
    use proptest::prelude::*;

    use crate::sketch::sketch;
    use crate::{Automata, ByteSet, ShortestWord, ShortestWords, StateId, Terms};

    /// All states that words of a state reach, in breadth-first order, with their transitions.
    fn explore(automata: &mut Automata, start: StateId) -> Vec<(StateId, Vec<(u8, StateId)>)> {
        let mut states = vec![start];
        let mut explored = Vec::new();
        while let Some(&state) = states.get(explored.len()) {
            let mut transitions = Vec::new();
            for byte in 0..=u8::MAX {
                if let Some(target) = automata.step(state, byte).unwrap() {
                    transitions.push((byte, target));
                    if !states.contains(&target) {
                        states.push(target);
                    }
                }
            }
            explored.push((state, transitions));
        }
        explored
    }

    /// The number of bytes to the nearest accepting state.
    fn distance(
        automata: &Automata,
        transitions: &HashMap<StateId, Vec<(u8, StateId)>>,
        bytes: ByteSet,
        start: StateId,
    ) -> Option<u32> {
        let mut distances = HashMap::from([(start, 0)]);
        let mut queue = VecDeque::from([start]);
        while let Some(state) = queue.pop_front() {
            let length = distances[&state];
            if automata.is_accepting(state) {
                return Some(length);
            }
            for &(byte, target) in &transitions[&state] {
                if bytes.contains(byte) && !distances.contains_key(&target) {
                    distances.insert(target, length + 1);
                    queue.push_back(target);
                }
            }
        }
        None
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn equal_breadth_first_searches(
            sketch in sketch(),
            bytes in prop::sample::subsequence(b"abcd".to_vec(), 1..=4),
            order in any::<u64>(),
        ) {
            let mut terms = Terms::new();
            let term = sketch.term(&mut terms);
            let mut automata = Automata::new(terms, 100_000);
            let Some(start) = automata.start(term).unwrap() else { return Ok(()) };
            let bytes: ByteSet = bytes.into_iter().collect();
            let deadline = Deadline::after(Duration::from_secs(60));
            let mut words = ShortestWords::new(bytes);
            let mut explored = explore(&mut automata, start);
            let transitions: HashMap<_, _> = explored.iter().cloned().collect();
            let reached: Vec<StateId> = {
                let first: Vec<StateId> = explored[0].1.iter().map(|&(_, target)| target).collect();
                explored.iter().map(|(state, _)| *state).filter(|state| {
                    // The start is reached by a nonempty word if some state has a transition to it.
                    *state != start || first.contains(&start)
                        || explored.iter().any(|(_, next)| next.iter().any(|&(_, target)| target == start))
                }).collect()
            };
            let longest = reached.iter().map(|&state| distance(&automata, &transitions, bytes, state))
                .try_fold(0, |longest, distance| Some(longest.max(distance?)));
            let found = words.explored_completions(&mut automata, &[start], &mut 100_000, &deadline).unwrap();
            prop_assert_eq!(found, Some(vec![longest]));
            let count = explored.len();
            explored.rotate_left(order as usize % count);
            for (state, next) in &explored {
                let spelled = next.iter().filter(|(byte, _)| bytes.contains(*byte));
                let expected = spelled
                    .filter_map(|&(first, target)| {
                        let length = distance(&automata, &transitions, bytes, target)? + 1;
                        Some(ShortestWord { length, first })
                    })
                    .min_by_key(|word| (word.length, word.first));
                let found = words.shortest_word(&mut automata, *state, &deadline).unwrap();
                prop_assert_eq!(found, expected, "{:?} of {:?}", state, sketch);
            }
        }
    }

    /// The states that a search makes are those near the words, not all states of the automaton.
    #[test]
    fn searches_only_near_words() {
        let mut terms = Terms::new();
        let unit = terms.bytes(ByteSet::range(b'a', b'z'));
        let counted = terms.repeat(unit, 200, Some(5_000));
        let anything = terms.anything();
        let word = terms.literal(b"zz");
        let with_word = terms.concat(&[anything, word, anything]);
        let without_word = terms.complement(with_word);
        let both = terms.intersection(&[counted, without_word]);
        let mut automata = Automata::new(terms, 2_000);
        let start = automata.start(both).unwrap().unwrap();
        let mut words = ShortestWords::new(ByteSet::ALL);
        let deadline = Deadline::after(Duration::from_secs(60));
        let mut state = start;
        for read in 0..200 {
            let word = words.shortest_word(&mut automata, state, &deadline).unwrap();
            assert_eq!(word, Some(ShortestWord { length: 200 - read, first: b'a' }));
            state = automata.step(state, b'y').unwrap().unwrap();
        }
        assert!(automata.len() < 1_200, "{}", automata.len());
        assert_eq!(words.explored_completions(&mut automata, &[start], &mut 100, &deadline), Ok(None));
    }
}
