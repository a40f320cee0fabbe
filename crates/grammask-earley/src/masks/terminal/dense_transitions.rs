//! Transitions of a lazy automaton copied into dense rows of 256 cells, for walks through much of the trie: a step is
//! one load.
//!
//! Also the test whether a subtree of the trie can be skipped: with all bytes below a node the state loops to itself
//! ([`super::self_loops`]), or reaches only states that accept all of these bytes too ([`super::closed_alphabet`]).

use rustc_hash::FxHashMap;

use grammask_automata::{Automata, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{ByteGroups, WhichNodes};

use super::super::ablation::{Technique, is_enabled};
use super::super::summary::Wanted;
use super::super::tuning::{MAX_ALPHABET_FAILURES, MIN_ALPHABET_NODES};
use super::closed_alphabet::closed_alphabet;
use super::self_loops::{Goal, LeadingCharacters};
use super::subtree_walk::{PathAutomaton, Subtree};

/// A live transition: twice the number of the target state, plus one if that is accepting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell(u32);

impl Cell {
    /// Whether the target is accepting.
    #[inline]
    pub(crate) fn is_accepting(self) -> bool {
        self.0 & 1 == 1
    }

    /// The number of the target state.
    #[inline]
    fn number(self) -> usize {
        (self.0 >> 1) as usize
    }
}

/// The transitions of the states that a walk visits, numbered in the order of their visits.
pub(crate) struct DenseTransitions {
    wanted: Wanted,
    numbers: FxHashMap<StateId, u32>,
    states: Vec<DenseState>,
    /// 256 cells per state, or [`Self::DEAD`] or [`Self::UNKNOWN`].
    cells: Vec<u32>,
    /// Number of states for which no closed alphabet was found.
    failures: usize,
}

/// A visited state.
struct DenseState {
    id: StateId,
    /// Computed on demand.
    self_loops: Option<LeadingCharacters>,
    alphabet: AlphabetSearch,
}

/// The state of the search for a closed alphabet.
#[derive(Clone, Copy)]
enum AlphabetSearch {
    NotBegun,
    /// What leads to a live state: a superset of any closed alphabet, so subtrees with other bytes need no search.
    Bounded(LeadingCharacters),
    Done(Option<ByteGroups>),
}

impl DenseTransitions {
    /// A missing transition.
    const DEAD: u32 = u32::MAX;
    /// A transition that was not copied yet.
    const UNKNOWN: u32 = u32::MAX - 1;

    /// Without states.
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self { wanted, numbers: FxHashMap::default(), states: Vec::new(), cells: Vec::new(), failures: 0 }
    }

    /// The cell of transitions to a state.
    pub(crate) fn cell_to(&mut self, automata: &Automata, state: StateId) -> Cell {
        let next = self.states.len() as u32;
        let number = *self.numbers.entry(state).or_insert(next);
        if number == next {
            let alphabet = AlphabetSearch::NotBegun;
            self.states.push(DenseState { id: state, self_loops: None, alphabet });
            self.cells.resize(self.states.len() * 256, Self::UNKNOWN);
        }
        Cell(number << 1 | u32::from(automata.is_accepting(state)))
    }

    /// Number of visited states.
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// The target of a transition.
    pub(crate) fn state(&self, cell: Cell) -> StateId {
        self.states[cell.number()].id
    }

    fn index(cell: Cell, byte: u8) -> usize {
        cell.number() * 256 + usize::from(byte)
    }

    #[cold]
    fn copy(&mut self, automata: &mut Automata, cell: Cell, byte: u8) -> Result<Option<Cell>, LimitExceeded> {
        let target = automata.step(self.state(cell), byte)?;
        let target = target.map(|state| self.cell_to(automata, state));
        self.cells[Self::index(cell, byte)] = target.map_or(Self::DEAD, |target| target.0);
        Ok(target)
    }

    /// The nodes of a subtree at which the walk is in the target of `cell`, if that state is never left in the subtree.
    #[inline]
    pub(crate) fn looping_below(
        &mut self,
        automata: &mut Automata,
        cell: Cell,
        below: Subtree,
    ) -> Result<Option<WhichNodes>, LimitExceeded> {
        if !is_enabled(Technique::SelfLoops) {
            return Ok(None);
        }
        let Subtree { groups, first_byte, .. } = below;
        let number = cell.number();
        let next = self.step(automata, cell, first_byte)?;
        if next != Some(cell) {
            let may_be_character = first_byte >= 0x80 && next.is_some() && !groups.is_broken();
            let is_left =
                self.states[number].self_loops.is_some_and(|loops| loops.exclude(ByteGroups::of(first_byte)));
            if !may_be_character || is_left {
                return Ok(None);
            }
        }
        let mut loops = match self.states[number].self_loops {
            Some(known) => known,
            None => self.find_self_loops(automata, number)?,
        };
        let covered = loops.cover(groups);
        if covered.is_some() || groups.is_broken() || !groups.intersects(ByteGroups::ALL_LEADS) {
            return Ok(covered);
        }
        let is_included = loops.include(automata, self.states[number].id, groups)?;
        self.states[number].self_loops = Some(loops);
        Ok(is_included.then_some(WhichNodes::WholeCharacters))
    }

    #[cold]
    fn find_self_loops(
        &mut self,
        automata: &mut Automata,
        number: usize,
    ) -> Result<LeadingCharacters, LimitExceeded> {
        let loops = LeadingCharacters::of(automata, self.states[number].id, Goal::Return)?;
        self.states[number].self_loops = Some(loops);
        Ok(loops)
    }

    /// Whether the bytes of a subtree are in a closed alphabet of the target of `cell`.
    fn is_closed_below(
        &mut self,
        automata: &mut Automata,
        cell: Cell,
        below: Subtree,
    ) -> Result<bool, LimitExceeded> {
        let Subtree { groups, nodes, .. } = below;
        let number = cell.number();
        if groups.is_broken() || !is_enabled(Technique::ClosedAlphabets) {
            return Ok(false);
        }
        let mut first = match self.states[number].alphabet {
            AlphabetSearch::Done(found) => {
                return Ok(found.is_some_and(|alphabet| groups.is_within(alphabet)));
            }
            _ if nodes < MIN_ALPHABET_NODES || self.failures >= MAX_ALPHABET_FAILURES => return Ok(false),
            AlphabetSearch::NotBegun => LeadingCharacters::of(automata, self.states[number].id, Goal::Live)?,
            AlphabetSearch::Bounded(first) => first,
        };
        let may_be_closed = first.include(automata, self.states[number].id, groups)?;
        self.states[number].alphabet = AlphabetSearch::Bounded(first);
        Ok(may_be_closed
            && self.find_alphabet(automata, number)?.is_some_and(|alphabet| groups.is_within(alphabet)))
    }

    #[cold]
    fn find_alphabet(
        &mut self,
        automata: &mut Automata,
        number: usize,
    ) -> Result<Option<ByteGroups>, LimitExceeded> {
        let found = closed_alphabet(automata, self.states[number].id, self.wanted)?;
        self.failures += usize::from(found.is_none());
        let groups = found.as_ref().map(|found| found.groups);
        self.states[number].alphabet = AlphabetSearch::Done(groups);
        // The alphabet is closed for every state that it reaches; some may have a larger one.
        for &state in found.iter().flat_map(|found| &found.states) {
            let other = self.cell_to(automata, state).number();
            if !matches!(self.states[other].alphabet, AlphabetSearch::Done(_)) {
                self.states[other].alphabet = AlphabetSearch::Done(groups);
            }
        }
        Ok(groups)
    }
}

impl PathAutomaton for DenseTransitions {
    type State = Cell;
    type Error = LimitExceeded;

    #[inline]
    fn step(&mut self, automata: &mut Automata, cell: Cell, byte: u8) -> Result<Option<Cell>, LimitExceeded> {
        match self.cells[Self::index(cell, byte)] {
            next if next < Self::UNKNOWN => Ok(Some(Cell(next))),
            Self::DEAD => Ok(None),
            _ => self.copy(automata, cell, byte),
        }
    }

    #[inline]
    fn is_accepting(&self, _: &Automata, cell: Cell) -> bool {
        cell.is_accepting()
    }

    /// If ends are not wanted, words may end at any nodes of a subtree that is skipped.
    #[inline]
    fn skip(
        &mut self,
        automata: &mut Automata,
        cell: Cell,
        below: Subtree,
    ) -> Result<Option<WhichNodes>, LimitExceeded> {
        if let Some(nodes) = self.looping_below(automata, cell, below)? {
            return Ok(Some(nodes));
        }
        let is_closed = self.is_closed_below(automata, cell, below)?;
        Ok(is_closed.then_some(WhichNodes::WholeCharacters))
    }
}
