//! Runs terms as deterministic automata that are built on demand.
//!
//! A state is a term. Bytes that the term cannot tell apart share one class, and the derivative of a class is
//! taken when a byte of it is first read; from then on a step is two table lookups. A step never leads to a
//! dead state: whether a state is live is decided when it is first reached (see [`super::liveness`]).

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::byte_set::ByteSet;
use crate::dfa::table::TableState;
use crate::term::arena::{TableId, TermId, Terms};
use grammask_diagnostics::LimitExceeded;

/// A live state of [`Automata`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateId(u32);

impl StateId {
    /// The state at a position that [`StateId::index`] gave.
    pub fn new(index: usize) -> Self {
        Self(index as u32)
    }

    /// Position in the table of states.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What two states lead to over the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct StepOfBoth {
    pub bytes: ByteSet,
    pub left: Option<StateId>,
    pub right: Option<StateId>,
}

/// Whether an accepting state can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Unknown,
    Live,
    Dead,
}

#[derive(Clone, Debug)]
struct State {
    term: TermId,
    life: Life,
    row: Option<Row>,
    /// The first transition that was taken from a state of a table. Most of them are left in one way only, and need no row.
    only: Option<Range>,
    /// The bytes that lead to a live state, once they were asked for.
    first_bytes: Option<Box<ByteSet>>,
}

/// A transition over the bytes from `low` to `high`.
#[derive(Clone, Copy, Debug)]
struct Range {
    low: u8,
    high: u8,
    target: StateId,
}

/// Where the transitions of a state are: one cell per class, from `cells[start]` on.
#[derive(Clone, Copy, Debug)]
struct Row {
    partition: u32,
    start: u32,
}

impl Row {
    fn cell(self, class: usize) -> usize {
        self.start as usize + class
    }
}

/// The transition of one class of bytes.
#[derive(Clone, Copy, Debug)]
enum Cell {
    /// Not known yet.
    Open,
    /// To no live state.
    Dead,
    /// To a live state.
    Live(StateId),
    /// To a state that may be dead.
    Candidate(StateId),
}

/// Classes of bytes: what the states with one set of boundaries cannot tell apart.
#[derive(Clone, Debug)]
struct Partition {
    class_of: Box<[u8; 256]>,
    /// The first byte of each class.
    starts: Box<[u8]>,
}

impl Partition {
    fn new(boundaries: ByteSet) -> Self {
        let mut starts = vec![0];
        starts.extend(boundaries.iter().filter(|&byte| byte > 0));
        let mut class_of = Box::new([0; 256]);
        for (class, &start) in starts.iter().enumerate().skip(1) {
            // A class has one byte at least, so there are at most 256.
            class_of[usize::from(start)..].fill(class as u8);
        }
        Self { class_of, starts: starts.into() }
    }

    fn bytes(&self, class: usize) -> ByteSet {
        let end = self.starts.get(class + 1).map_or(u8::MAX, |next| next - 1);
        ByteSet::range(self.starts[class], end)
    }
}

/// A lazy DFA over all terms of one arena.
#[derive(Clone, Debug)]
pub struct Automata {
    terms: Terms,
    max_states: usize,
    states: Vec<State>,
    /// The state of each term, if it has one.
    state_of: Vec<Option<StateId>>,
    cells: Vec<Cell>,
    partitions: Vec<Partition>,
    partition_of: FxHashMap<ByteSet, u32>,
    /// The last ways that led to live states.
    ways: Vec<Arc<[u8]>>,
}

impl Automata {
    /// No state yet; there will be at most `max_states`, dead ones included.
    #[must_use]
    pub fn new(terms: Terms, max_states: usize) -> Self {
        Self {
            terms,
            // State ids are 32 bits wide.
            max_states: max_states.min(u32::MAX as usize),
            states: Vec::new(),
            state_of: Vec::new(),
            cells: Vec::new(),
            partitions: Vec::new(),
            partition_of: FxHashMap::default(),
            ways: Vec::new(),
        }
    }

    /// The arena of the terms, which has grown by those of all states.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The arena, for making more terms.
    pub fn terms_mut(&mut self) -> &mut Terms {
        &mut self.terms
    }

    /// The arena, when no state is needed any more.
    #[must_use]
    pub fn into_terms(self) -> Terms {
        self.terms
    }

    /// The state of `term`; none if it is the empty language.
    ///
    /// # Errors
    /// If deciding that takes more states than there may be.
    pub fn start(&mut self, term: TermId) -> Result<Option<StateId>, LimitExceeded> {
        match self.candidate(term)? {
            Some(state) => self.if_live(state),
            None => Ok(None),
        }
    }

    /// The state after one more byte; none if no word goes on like that. Amortised cost: two table lookups.
    ///
    /// # Errors
    /// If there would be more states than there may be.
    #[inline]
    pub fn step(&mut self, state: StateId, byte: u8) -> Result<Option<StateId>, LimitExceeded> {
        if let Some(row) = self.states[state.index()].row {
            let class = self.partitions[row.partition as usize].class_of[usize::from(byte)];
            match self.cells[row.cell(usize::from(class))] {
                Cell::Live(target) => return Ok(Some(target)),
                Cell::Dead => return Ok(None),
                Cell::Open | Cell::Candidate(_) => {}
            }
        } else if let Some(Range { low, high, target }) = self.states[state.index()].only {
            if (low..=high).contains(&byte) {
                return Ok(Some(target));
            }
        } else if let Some((table, from)) = self.terms.whole_table(self.term(state)) {
            return self.step_table(state, (table, from), byte);
        }
        let class = self.class_of(state, byte);
        self.step_class(state, class)
    }

    /// The state after one more byte, from which there may be no word: who only passes through need not ask. None if its form says that
    /// there is none.
    ///
    /// # Errors
    /// If there would be more states than there may be.
    pub fn pass(&mut self, state: StateId, byte: u8) -> Result<Option<StateId>, LimitExceeded> {
        let class = self.class_of(state, byte);
        self.candidate_step(state, class)
    }

    /// The state if some word goes on from it, for one that was [passed](Self::pass).
    ///
    /// # Errors
    /// If there would be more states than there may be.
    pub fn if_live(&mut self, state: StateId) -> Result<Option<StateId>, LimitExceeded> {
        Ok(self.is_live(state)?.then_some(state))
    }

    /// The state after all of `bytes`, if `state` is one of a table and no word ends before the last of them; none where that is not so,
    /// and where no word goes on like that. The states between are not made.
    ///
    /// # Errors
    /// If there would be more states than there may be.
    pub fn run(&mut self, state: StateId, bytes: &[u8]) -> Result<Option<StateId>, LimitExceeded> {
        let Some((table, mut at)) = self.terms.whole_table(self.term(state)) else { return Ok(None) };
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

    /// Whether the word that led to `state` is in the language.
    #[must_use]
    pub fn is_accepting(&self, state: StateId) -> bool {
        self.terms.is_nullable(self.term(state))
    }

    /// Whether some byte leads to a live state.
    ///
    /// # Errors
    /// If there would be more states than there may be.
    pub fn continues(&mut self, state: StateId) -> Result<bool, LimitExceeded> {
        if self.terms.extends_by_shape(self.term(state)) {
            return Ok(true);
        }
        for class in 0..self.class_count(state) {
            if self.step_class(state, class)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The bytes that lead to a live state. Remembered.
    ///
    /// # Errors
    /// If there would be more states than there may be.
    pub fn first_bytes(&mut self, state: StateId) -> Result<ByteSet, LimitExceeded> {
        if let Some(known) = self.known_first_bytes(state) {
            return Ok(known);
        }
        // A state is live, so whatever follows the first byte can be completed.
        if self.life(state) == Life::Live
            && let Some(bytes) = self.terms.first_bytes_by_shape(self.term(state))
        {
            self.states[state.index()].first_bytes = Some(Box::new(bytes));
            return Ok(bytes);
        }
        let mut bytes = ByteSet::EMPTY;
        for class in 0..self.class_count(state) {
            if self.step_class(state, class)?.is_some() {
                let row = self.row(state);
                bytes = bytes.union(self.partitions[row.partition as usize].bytes(class));
            }
        }
        self.states[state.index()].first_bytes = Some(Box::new(bytes));
        Ok(bytes)
    }

    /// The same, where it costs nothing.
    pub fn known_first_bytes(&self, state: StateId) -> Option<ByteSet> {
        self.states[state.index()].first_bytes.as_deref().copied()
    }

    /// The live states that one more byte leads to, each with some bytes that lead there; a state that several
    /// classes of bytes lead to comes several times.
    ///
    /// # Errors
    /// If there would be more states than there may be.
    pub fn successors(&mut self, state: StateId) -> Result<Vec<(ByteSet, StateId)>, LimitExceeded> {
        let mut successors = Vec::new();
        for class in 0..self.class_count(state) {
            if let Some(target) = self.step_class(state, class)? {
                let row = self.row(state);
                successors.push((self.partitions[row.partition as usize].bytes(class), target));
            }
        }
        Ok(successors)
    }

    /// Ranges of bytes that neither of two states tells apart, with what each state leads to over them. Ranges that neither
    /// goes on with are left out.
    ///
    /// # Errors
    /// If there would be more states than there may be.
    pub fn steps_of_both(&mut self, left: StateId, right: StateId) -> Result<Vec<StepOfBoth>, LimitExceeded> {
        let mut starts = ByteSet::EMPTY;
        for state in [left, right] {
            let row = self.row(state);
            for &start in &self.partitions[row.partition as usize].starts {
                starts.insert(start);
            }
        }
        let mut starts = starts.iter().peekable();
        let mut steps = Vec::new();
        while let Some(first) = starts.next() {
            let (left, right) = (self.step(left, first)?, self.step(right, first)?);
            if left.is_some() || right.is_some() {
                let last = starts.peek().map_or(u8::MAX, |next| next - 1);
                steps.push(StepOfBoth { bytes: ByteSet::range(first, last), left, right });
            }
        }
        Ok(steps)
    }

    /// Whether `term` is certainly a *code*: not empty, and no word of it begins another. Terms that take more
    /// than `most_states` states to tell are not.
    ///
    /// # Errors
    /// If there would be more states than there may be.
    pub fn is_code(&mut self, term: TermId, most_states: usize) -> Result<bool, LimitExceeded> {
        let Some(start) = self.start(term)? else { return Ok(false) };
        let mut states = vec![start];
        let mut next = 0;
        while let Some(&state) = states.get(next) {
            next += 1;
            let successors = self.successors(state)?;
            if self.is_accepting(state) && (state == start || !successors.is_empty()) {
                return Ok(false);
            }
            for (_, target) in successors {
                if !states.contains(&target) {
                    states.push(target);
                }
            }
            if states.len() > most_states {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The term of `state`: what may follow there.
    #[must_use]
    pub fn term(&self, state: StateId) -> TermId {
        self.states[state.index()].term
    }

    /// How many states there are, dead ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there is no state yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Estimate of the memory of the states and the arena, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let per_partition = size_of::<Partition>() + 256 + 16 + size_of::<(ByteSet, u32)>();
        self.terms.memory_bytes()
            + self.states.capacity() * size_of::<State>()
            + self.state_of.capacity() * size_of::<Option<StateId>>()
            + self.cells.capacity() * size_of::<Cell>()
            + self.partitions.len() * per_partition
    }

    /// The state after a byte from a state of a table, which has no dead states, and no row yet.
    #[cold]
    fn step_table(
        &mut self,
        state: StateId,
        (table, from): (TableId, TableState),
        byte: u8,
    ) -> Result<Option<StateId>, LimitExceeded> {
        let Some((low, high, target)) = self.terms.get_table(table).edge(from, byte) else { return Ok(None) };
        let target = self.terms.table_state(table, target);
        let target = self.start(target)?;
        self.states[state.index()].only = target.map(|target| Range { low, high, target });
        Ok(target)
    }

    /// The live state that a class of bytes leads to.
    fn step_class(&mut self, state: StateId, class: usize) -> Result<Option<StateId>, LimitExceeded> {
        let target = match self.candidate_step(state, class)? {
            Some(target) => self.if_live(target)?,
            None => None,
        };
        let cell = self.row(state).cell(class);
        self.cells[cell] = target.map_or(Cell::Dead, Cell::Live);
        Ok(target)
    }

    /// The state, possibly dead, that a class of bytes leads to.
    pub(crate) fn candidate_step(
        &mut self,
        state: StateId,
        class: usize,
    ) -> Result<Option<StateId>, LimitExceeded> {
        let row = self.row(state);
        match self.cells[row.cell(class)] {
            Cell::Dead => Ok(None),
            Cell::Live(target) | Cell::Candidate(target) => Ok(Some(target)),
            Cell::Open => {
                let byte = self.partitions[row.partition as usize].starts[class];
                let derivative = self.terms.derivative(self.states[state.index()].term, byte);
                let target = self.candidate(derivative)?;
                self.cells[row.cell(class)] = match target {
                    Some(target) if self.life(target) == Life::Live => Cell::Live(target),
                    Some(target) => Cell::Candidate(target),
                    None => Cell::Dead,
                };
                Ok(target)
            }
        }
    }

    pub(crate) fn life(&self, state: StateId) -> Life {
        self.states[state.index()].life
    }

    pub(crate) fn set_life(&mut self, state: StateId, life: Life) {
        self.states[state.index()].life = life;
        let term = self.term(state);
        match life {
            Life::Unknown => {}
            Life::Live => self.terms.record_inhabited(term, true),
            Life::Dead => self.terms.record_inhabited(term, false),
        }
    }

    /// How many classes of bytes `state` tells apart.
    pub(crate) fn class_count(&mut self, state: StateId) -> usize {
        let row = self.row(state);
        self.partitions[row.partition as usize].starts.len()
    }

    pub(crate) fn class_of(&mut self, state: StateId, byte: u8) -> usize {
        let row = self.row(state);
        usize::from(self.partitions[row.partition as usize].class_of[usize::from(byte)])
    }

    /// The first byte of a class.
    pub(crate) fn first_of_class(&mut self, state: StateId, class: usize) -> u8 {
        let row = self.row(state);
        self.partitions[row.partition as usize].starts[class]
    }

    pub(crate) fn ways(&self) -> &[Arc<[u8]>] {
        &self.ways
    }

    pub(crate) fn ways_mut(&mut self) -> &mut Vec<Arc<[u8]>> {
        &mut self.ways
    }

    /// The state of `term`, which is not known to be live; none for the term that is empty by its shape.
    fn candidate(&mut self, term: TermId) -> Result<Option<StateId>, LimitExceeded> {
        if term == self.terms.nothing() || self.terms.is_known_empty(term) {
            return Ok(None);
        }
        if let Some(&Some(state)) = self.state_of.get(term.index()) {
            return Ok(Some(state));
        }
        if self.states.len() >= self.max_states {
            return Err(LimitExceeded::new("automaton_states", self.max_states));
        }
        let life = if self.terms.is_known_inhabited(term) { Life::Live } else { Life::Unknown };
        let state = StateId(self.states.len() as u32);
        self.states.push(State { term, life, row: None, only: None, first_bytes: None });
        if self.state_of.len() <= term.index() {
            self.state_of.resize(term.index() + 1, None);
        }
        self.state_of[term.index()] = Some(state);
        Ok(Some(state))
    }

    /// The transitions of `state`, open ones if it has none yet.
    fn row(&mut self, state: StateId) -> Row {
        if let Some(row) = self.states[state.index()].row {
            return row;
        }
        let boundaries = self.terms.boundaries(self.term(state));
        let partition = *self.partition_of.entry(boundaries).or_insert_with(|| {
            self.partitions.push(Partition::new(boundaries));
            self.partitions.len() as u32 - 1
        });
        let start = u32::try_from(self.cells.len()).expect("memory ends before four billion transitions");
        let row = Row { partition, start };
        let classes = self.partitions[partition as usize].starts.len();
        self.cells.resize(row.cell(classes), Cell::Open);
        self.states[state.index()].row = Some(row);
        row
    }
}
