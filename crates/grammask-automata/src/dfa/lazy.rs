//! A lazy DFA over terms.
//!
//! A state is a term. Bytes that the term does not distinguish share a class, and the derivative by a class is computed
//! when a byte of it is first read; from then on a step is two table lookups. Steps into dead states are not taken:
//! liveness is decided when a state is first reached (see [`super::liveness`]).

use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use crate::term::arena::{TermId, Terms};
use grammask_collections::byte_set::ByteSet;
use grammask_collections::incremental_hash_table::IncrementalHashTable;
use grammask_collections::reserve::{reserve, reserve_one};
use grammask_diagnostics::LimitExceeded;

/// A live state of [`Automata`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateId(u32);

impl StateId {
    /// The state with an index that [`StateId::index`] returned.
    pub fn new(index: usize) -> Self {
        Self(index as u32)
    }

    /// Position in the table of states.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The targets of two states over bytes that neither of them distinguishes.
#[derive(Clone, Copy, Debug)]
pub struct JointStep {
    pub bytes: ByteSet,
    pub left: Option<StateId>,
    pub right: Option<StateId>,
}

/// Whether an accepting state is reachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    Unknown,
    Live,
    Dead,
}

#[derive(Clone, Debug)]
struct LazyState {
    term: TermId,
    liveness: Liveness,
    transitions: MemoTransitions,
    /// The bytes with a transition to a live state, once computed.
    first_bytes: Option<Box<ByteSet>>,
}

/// The memoised transitions of a state.
#[derive(Clone, Copy, Debug)]
enum MemoTransitions {
    None,
    /// The transition of a state whose term begins with a word or a range of bytes, or the first one taken from a state
    /// of a table, over the bytes from `low` to `high`. Most table states use only one. A row, with cells and classes,
    /// takes up to 400 bytes.
    Single {
        low: u8,
        high: u8,
        target: StateId,
    },
    Row(TransitionRow),
}

/// The transitions of a state: one cell per class, starting at `cells[start]`.
#[derive(Clone, Copy, Debug)]
struct TransitionRow {
    classes: u32,
    start: u32,
}

impl TransitionRow {
    fn cell(self, class: usize) -> usize {
        self.start as usize + class
    }
}

/// The memoised transition of one class of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LazyTransition {
    /// Not computed.
    Unknown,
    /// There is no live target.
    Dead,
    /// The target is live.
    Live(StateId),
    /// The target is not known to be live.
    Candidate(StateId),
}

/// A [`LazyTransition`] in 4 bytes, since an automaton has several per state: 0 is unknown, 1 is dead, and the number of
/// a target, plus one, is above the bit of the live ones.
#[derive(Clone, Copy, Debug)]
struct MemoCell(u32);

/// Maximum number of states whose numbers fit into a [`MemoCell`].
const MAX_CELL_STATES: usize = (u32::MAX >> 1) as usize;

impl MemoCell {
    const UNKNOWN: Self = Self(0);

    fn new(transition: LazyTransition) -> Self {
        Self(match transition {
            LazyTransition::Unknown => 0,
            LazyTransition::Dead => 1,
            LazyTransition::Candidate(target) => (target.0 + 1) << 1,
            LazyTransition::Live(target) => (target.0 + 1) << 1 | 1,
        })
    }

    #[inline]
    fn transition(self) -> LazyTransition {
        match self.0 {
            0 => LazyTransition::Unknown,
            1 => LazyTransition::Dead,
            target if target & 1 == 1 => LazyTransition::Live(StateId((target >> 1) - 1)),
            target => LazyTransition::Candidate(StateId((target >> 1) - 1)),
        }
    }
}

/// The byte classes of all states with one set of boundaries.
#[derive(Debug)]
struct BoundaryClasses {
    boundaries: ByteSet,
    class_of: [u8; 256],
    /// The first byte of each class.
    starts: Box<[u8]>,
}

impl BoundaryClasses {
    fn new(boundaries: ByteSet) -> Self {
        let mut starts = vec![0];
        starts.extend(boundaries.iter().filter(|&byte| byte > 0));
        let mut class_of = [0; 256];
        for (class, &start) in starts.iter().enumerate().skip(1) {
            // Each class has at least one byte, so there are at most 256.
            class_of[usize::from(start)..].fill(class as u8);
        }
        Self { boundaries, class_of, starts: starts.into() }
    }

    fn bytes(&self, class: usize) -> ByteSet {
        let end = self.starts.get(class + 1).map_or(u8::MAX, |next| next - 1);
        ByteSet::range(self.starts[class], end)
    }
}

/// The state of a term, if it has one, in 4 bytes: the number plus one.
#[derive(Clone, Copy, Debug)]
struct TermState(u32);

impl TermState {
    const NONE: Self = Self(0);

    fn new(state: StateId) -> Self {
        Self(state.0 + 1)
    }

    fn get(self) -> Option<StateId> {
        self.0.checked_sub(1).map(StateId)
    }
}

/// A lazy DFA over the terms of one arena.
#[derive(Clone, Debug)]
pub struct Automata {
    terms: Terms,
    max_states: usize,
    states: Vec<LazyState>,
    /// The state of each term, if it has one.
    state_of: Vec<TermState>,
    cells: Vec<MemoCell>,
    /// Shared by the copies of an automaton.
    byte_classes: Vec<Arc<BoundaryClasses>>,
    byte_classes_of: IncrementalHashTable,
    /// The last paths that the liveness search found to live states.
    live_paths: Vec<Arc<[u8]>>,
}

impl Automata {
    /// A DFA without states, for at most `max_states` states, dead ones included.
    #[must_use]
    pub fn new(terms: Terms, max_states: usize) -> Self {
        Self {
            terms,
            max_states: max_states.min(MAX_CELL_STATES),
            states: Vec::new(),
            state_of: Vec::new(),
            cells: Vec::new(),
            byte_classes: Vec::new(),
            byte_classes_of: IncrementalHashTable::default(),
            live_paths: Vec::new(),
        }
    }

    /// The arena, including the terms of all states.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The arena, for making terms.
    pub fn terms_mut(&mut self) -> &mut Terms {
        &mut self.terms
    }

    /// The arena; drops the states.
    #[must_use]
    pub fn into_terms(self) -> Terms {
        self.terms
    }

    /// The state of `term`; `None` if the language is empty.
    ///
    /// # Errors
    /// If the search for a word exceeds the limit on states.
    pub fn start(&mut self, term: TermId) -> Result<Option<StateId>, LimitExceeded> {
        match self.intern_state(term)? {
            Some(state) => Ok(self.is_live(state)?.then_some(state)),
            None => Ok(None),
        }
    }

    /// Records that the language of `term` has a word, which the caller knows, so that no search looks for one.
    ///
    /// # Errors
    /// If the number of states exceeds its limit.
    pub fn record_inhabited(&mut self, term: TermId) -> Result<(), LimitExceeded> {
        if let Some(state) = self.intern_state(term)? {
            self.set_liveness(state, Liveness::Live);
        }
        Ok(())
    }

    /// The state after a byte; `None` if no word continues with the byte. Amortised cost: two table lookups.
    ///
    /// # Errors
    /// If the number of states exceeds its limit.
    #[inline]
    pub fn step(&mut self, state: StateId, byte: u8) -> Result<Option<StateId>, LimitExceeded> {
        match self.states[state.index()].transitions {
            MemoTransitions::Row(row) => {
                let class = self.byte_classes[row.classes as usize].class_of[usize::from(byte)];
                match self.cells[row.cell(usize::from(class))].transition() {
                    LazyTransition::Live(target) => Ok(Some(target)),
                    LazyTransition::Dead => Ok(None),
                    LazyTransition::Unknown | LazyTransition::Candidate(_) => {
                        self.step_class(state, usize::from(class))
                    }
                }
            }
            MemoTransitions::Single { low, high, target } if (low..=high).contains(&byte) => Ok(Some(target)),
            MemoTransitions::Single { .. } | MemoTransitions::None => self.step_without_row(state, byte),
        }
    }

    /// The state after `bytes`, for a table state from which no proper prefix of `bytes` is accepted. `None` for
    /// other states, and if no word continues with `bytes`. Makes no intermediate states.
    ///
    /// # Errors
    /// If the number of states exceeds its limit.
    pub fn run_in_table(&mut self, state: StateId, bytes: &[u8]) -> Result<Option<StateId>, LimitExceeded> {
        let Some((table, mut at)) = self.terms.as_table_state(self.term(state)) else { return Ok(None) };
        let states = self.terms.get_table(table);
        for (index, &byte) in bytes.iter().enumerate() {
            match states.next(at, byte) {
                Some(next) if index + 1 == bytes.len() || !states.is_accepting(next) => at = next,
                _ => return Ok(None),
            }
        }
        let target = self.terms.table_state(table, at);
        self.start(target)
    }

    /// Whether the state accepts.
    #[must_use]
    pub fn is_accepting(&self, state: StateId) -> bool {
        self.terms.is_nullable(self.term(state))
    }

    /// Whether the state has a transition to a live state.
    ///
    /// # Errors
    /// If the number of states exceeds its limit.
    pub fn continues(&mut self, state: StateId) -> Result<bool, LimitExceeded> {
        if self.terms.has_nonempty_word_by_form(self.term(state)) {
            return Ok(true);
        }
        for class in 0..self.class_count(state) {
            if self.step_class(state, class)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The bytes with a transition to a live state. Memoised.
    ///
    /// # Errors
    /// If the number of states exceeds its limit.
    pub fn first_bytes(&mut self, state: StateId) -> Result<ByteSet, LimitExceeded> {
        if let Some(known) = self.memoised_first_bytes(state) {
            return Ok(known);
        }
        // The state is live, so the first element of its chain can be entered and the chain completed.
        if self.liveness(state) == Liveness::Live
            && let Some(bytes) = self.terms.first_bytes_by_form(self.term(state))
        {
            self.states[state.index()].first_bytes = Some(Box::new(bytes));
            return Ok(bytes);
        }
        let mut bytes = ByteSet::EMPTY;
        for class in 0..self.class_count(state) {
            if self.step_class(state, class)?.is_some() {
                let row = self.row(state);
                bytes = bytes.union(self.byte_classes[row.classes as usize].bytes(class));
            }
        }
        self.states[state.index()].first_bytes = Some(Box::new(bytes));
        Ok(bytes)
    }

    /// The memoised result of [`first_bytes`](Self::first_bytes), if there is one.
    pub fn memoised_first_bytes(&self, state: StateId) -> Option<ByteSet> {
        self.states[state.index()].first_bytes.as_deref().copied()
    }

    /// The transitions to live states, one per byte class; a target can occur several times.
    ///
    /// # Errors
    /// If the number of states exceeds its limit.
    pub fn successors(&mut self, state: StateId) -> Result<Vec<(ByteSet, StateId)>, LimitExceeded> {
        let mut successors = Vec::new();
        for class in 0..self.class_count(state) {
            if let Some(target) = self.step_class(state, class)? {
                let row = self.row(state);
                successors.push((self.byte_classes[row.classes as usize].bytes(class), target));
            }
        }
        Ok(successors)
    }

    /// The common refinement of the transitions of two states: byte ranges that neither of them distinguishes, with
    /// both targets. Ranges without a live target are omitted.
    ///
    /// # Errors
    /// If the number of states exceeds its limit.
    pub fn joint_steps(&mut self, left: StateId, right: StateId) -> Result<Vec<JointStep>, LimitExceeded> {
        let mut starts = ByteSet::EMPTY;
        for state in [left, right] {
            let row = self.row(state);
            for &start in &self.byte_classes[row.classes as usize].starts {
                starts.insert(start);
            }
        }
        let mut starts = starts.iter().peekable();
        let mut steps = Vec::new();
        while let Some(first) = starts.next() {
            let (left, right) = (self.step(left, first)?, self.step(right, first)?);
            if left.is_some() || right.is_some() {
                let last = starts.peek().map_or(u8::MAX, |next| next - 1);
                steps.push(JointStep { bytes: ByteSet::range(first, last), left, right });
            }
        }
        Ok(steps)
    }

    /// The term of `state`.
    #[must_use]
    pub fn term(&self, state: StateId) -> TermId {
        self.states[state.index()].term
    }

    /// Number of states, dead ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there is no state.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Estimated memory of the states and the arena, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let per_classes = size_of::<BoundaryClasses>() + size_of::<Arc<BoundaryClasses>>() + 16;
        self.terms.memory_bytes()
            + self.states.capacity() * size_of::<LazyState>()
            + self.state_of.capacity() * size_of::<TermState>()
            + self.cells.capacity() * size_of::<MemoCell>()
            + self.byte_classes.len() * per_classes
            + self.byte_classes_of.memory_bytes()
    }

    /// A step that is not memoised, from a state without a row. Makes one unless the form of the term shows the step.
    #[cold]
    fn step_without_row(&mut self, state: StateId, byte: u8) -> Result<Option<StateId>, LimitExceeded> {
        let term = self.term(state);
        let (low, high, target) = if let Some((low, high)) = self.terms.leading_range(term) {
            if !(low..=high).contains(&byte) {
                return Ok(None);
            }
            (low, high, self.terms.derivative(term, byte))
        } else if let (Some((table, from)), MemoTransitions::None) =
            (self.terms.as_table_state(term), self.states[state.index()].transitions)
        {
            // Tables have no dead states.
            let Some((low, high, to)) = self.terms.get_table(table).edge(from, byte) else { return Ok(None) };
            (low, high, self.terms.table_state(table, to))
        } else {
            let class = self.class_of(state, byte);
            return self.step_class(state, class);
        };
        let target = self.start(target)?;
        if let Some(target) = target {
            self.states[state.index()].transitions = MemoTransitions::Single { low, high, target };
        }
        Ok(target)
    }

    /// The live target of a byte class.
    fn step_class(&mut self, state: StateId, class: usize) -> Result<Option<StateId>, LimitExceeded> {
        let target = match self.step_class_unchecked(state, class)? {
            Some(target) => self.is_live(target)?.then_some(target),
            None => None,
        };
        let cell = self.row(state).cell(class);
        self.cells[cell] = MemoCell::new(target.map_or(LazyTransition::Dead, LazyTransition::Live));
        Ok(target)
    }

    /// The target of a byte class, possibly dead.
    pub(crate) fn step_class_unchecked(
        &mut self,
        state: StateId,
        class: usize,
    ) -> Result<Option<StateId>, LimitExceeded> {
        let row = self.row(state);
        match self.cells[row.cell(class)].transition() {
            LazyTransition::Dead => Ok(None),
            LazyTransition::Live(target) | LazyTransition::Candidate(target) => Ok(Some(target)),
            LazyTransition::Unknown => {
                let byte = self.byte_classes[row.classes as usize].starts[class];
                let derivative = self.terms.derivative(self.states[state.index()].term, byte);
                let target = self.intern_state(derivative)?;
                self.cells[row.cell(class)] = MemoCell::new(match target {
                    Some(target) if self.liveness(target) == Liveness::Live => LazyTransition::Live(target),
                    Some(target) => LazyTransition::Candidate(target),
                    None => LazyTransition::Dead,
                });
                Ok(target)
            }
        }
    }

    pub(crate) fn liveness(&self, state: StateId) -> Liveness {
        self.states[state.index()].liveness
    }

    pub(crate) fn set_liveness(&mut self, state: StateId, liveness: Liveness) {
        self.states[state.index()].liveness = liveness;
        let term = self.term(state);
        match liveness {
            Liveness::Unknown => {}
            Liveness::Live => self.terms.record_inhabited(term, true),
            Liveness::Dead => self.terms.record_inhabited(term, false),
        }
    }

    /// Number of byte classes of a state.
    pub(crate) fn class_count(&mut self, state: StateId) -> usize {
        let row = self.row(state);
        self.byte_classes[row.classes as usize].starts.len()
    }

    /// The class of a byte.
    pub(crate) fn class_of(&mut self, state: StateId, byte: u8) -> usize {
        let row = self.row(state);
        usize::from(self.byte_classes[row.classes as usize].class_of[usize::from(byte)])
    }

    /// The first byte of a class.
    pub(crate) fn first_of_class(&mut self, state: StateId, class: usize) -> u8 {
        let row = self.row(state);
        self.byte_classes[row.classes as usize].starts[class]
    }

    /// The paths that the liveness search tries first.
    pub(crate) fn live_paths(&self) -> &[Arc<[u8]>] {
        &self.live_paths
    }

    pub(crate) fn live_paths_mut(&mut self) -> &mut Vec<Arc<[u8]>> {
        &mut self.live_paths
    }

    /// The state of `term`, possibly dead; `None` if the language is known to be empty.
    pub(crate) fn intern_state(&mut self, term: TermId) -> Result<Option<StateId>, LimitExceeded> {
        if term == self.terms.nothing() || self.terms.is_known_empty(term) {
            return Ok(None);
        }
        if let Some(state) = self.state_of.get(term.index()).and_then(|state| state.get()) {
            return Ok(Some(state));
        }
        if self.states.len() >= self.max_states {
            return Err(LimitExceeded::new("automaton_states", self.max_states));
        }
        let liveness = if self.terms.is_known_inhabited(term) { Liveness::Live } else { Liveness::Unknown };
        let state = StateId(self.states.len() as u32);
        reserve_one(&mut self.states);
        self.states.push(LazyState { term, liveness, transitions: MemoTransitions::None, first_bytes: None });
        if self.state_of.len() <= term.index() {
            reserve(&mut self.state_of, term.index() + 1);
            self.state_of.resize(term.index() + 1, TermState::NONE);
        }
        self.state_of[term.index()] = TermState::new(state);
        Ok(Some(state))
    }

    /// The transitions of `state`; allocates them on first use.
    fn row(&mut self, state: StateId) -> TransitionRow {
        if let MemoTransitions::Row(row) = self.states[state.index()].transitions {
            return row;
        }
        let boundaries = self.terms.boundaries(self.term(state));
        let hash = FxBuildHasher.hash_one(boundaries);
        let known = self.byte_classes_of.find(hash, |id| self.byte_classes[id].boundaries == boundaries);
        let classes = known.unwrap_or_else(|| {
            let id = self.byte_classes.len();
            self.byte_classes.push(Arc::new(BoundaryClasses::new(boundaries)));
            self.byte_classes_of.insert(hash, id);
            id
        }) as u32;
        let start = u32::try_from(self.cells.len()).expect("memory ends before four billion transitions");
        let row = TransitionRow { classes, start };
        let class_count = self.byte_classes[classes as usize].starts.len();
        reserve(&mut self.cells, row.cell(class_count));
        self.cells.resize(row.cell(class_count), MemoCell::UNKNOWN);
        self.states[state.index()].transitions = MemoTransitions::Row(row);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_inside_words_and_before_ranges_have_no_row() {
        let mut terms = Terms::new();
        let (word, range) = (terms.literal(b"abc"), terms.bytes(ByteSet::range(b'0', b'9')));
        let gap = terms.bytes(ByteSet::single(b'x').union(ByteSet::single(b'z')));
        let language = terms.concat(&[word, range, gap]);
        let mut automata = Automata::new(terms, 100);
        let mut state = automata.start(language).unwrap().unwrap();
        for byte in *b"abc7" {
            for other in
                (0..=u8::MAX).filter(|&other| !(other == byte || byte == b'7' && other.is_ascii_digit()))
            {
                assert_eq!(automata.step(state, other), Ok(None));
            }
            let next = automata.step(state, byte).unwrap().unwrap();
            assert_eq!(automata.step(state, byte), Ok(Some(next)));
            state = next;
        }
        assert!(automata.cells.is_empty() && automata.byte_classes.is_empty());
        assert_eq!(automata.step(state, b'y'), Ok(None));
        let end = automata.step(state, b'z').unwrap().unwrap();
        assert!(automata.is_accepting(end) && !automata.cells.is_empty());
        assert_eq!(automata.step(state, b'x'), Ok(Some(end)));
    }
}
