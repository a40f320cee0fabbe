//! Transitions of a lazy automaton copied into dense rows of 256 cells, for walks through much of the trie: a step is
//! one load.
//!
//! Also the test whether a subtree of the trie can be skipped: with all bytes below a node the state loops to itself
//! ([`super::self_loops`]), or reaches only states that accept all of these bytes too ([`super::closed_alphabet`]).

use rustc_hash::FxHashMap;

use grammask_automata::{Automata, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{ByteGroups, Character, WhichNodes};

use super::super::ablation::{Technique, is_enabled};
use super::super::tuning::{MAX_ALPHABET_FAILURES, MIN_ALPHABET_NODES};
use super::closed_alphabet::{FirstCharacters, closed_alphabet};
use super::self_loops::SelfLoops;
use super::walk::Wanted;

/// The transitions of the states that a walk visits, numbered in the order of their visits.
///
/// A cell is twice the number of the target state, plus one if that is accepting.
pub(crate) struct DenseTransitions {
    wanted: Wanted,
    numbers: FxHashMap<StateId, u32>,
    states: Vec<StateId>,
    /// 256 cells per state.
    cells: Vec<u32>,
    /// Self-loops of each state, computed on demand.
    self_loops: Vec<Option<SelfLoops>>,
    /// Closed alphabet of each state, searched on demand.
    alphabets: Vec<AlphabetSearch>,
    /// Number of states for which no closed alphabet was found.
    failures: usize,
}

/// The state of the search for a closed alphabet.
#[derive(Clone, Copy)]
enum AlphabetSearch {
    NotBegun,
    /// A superset of any closed alphabet.
    Bounded(FirstCharacters),
    Done(Option<ByteGroups>),
}

/// The part of the trie below a node.
#[derive(Clone, Copy)]
pub(crate) struct Subtree {
    /// Bytes that occur below the node.
    pub(crate) groups: ByteGroups,
    /// Byte of the first child.
    pub(crate) first_byte: u8,
    /// Number of nodes, the top one included.
    pub(crate) nodes: usize,
}

impl DenseTransitions {
    /// The target of a missing transition.
    pub(crate) const DEAD: u32 = u32::MAX;
    /// A transition that was not copied yet.
    const UNKNOWN: u32 = u32::MAX - 1;

    /// Without states.
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            numbers: FxHashMap::default(),
            states: Vec::new(),
            cells: Vec::new(),
            self_loops: Vec::new(),
            alphabets: Vec::new(),
            failures: 0,
        }
    }

    /// The cell of transitions to a state.
    pub(crate) fn cell_to(&mut self, automata: &Automata, state: StateId) -> u32 {
        let next = self.states.len() as u32;
        let number = *self.numbers.entry(state).or_insert(next);
        if number == next {
            self.states.push(state);
            self.self_loops.push(None);
            self.alphabets.push(AlphabetSearch::NotBegun);
            self.cells.resize(self.states.len() * 256, Self::UNKNOWN);
        }
        number << 1 | u32::from(automata.is_accepting(state))
    }

    /// Number of visited states.
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// The target of a transition.
    pub(crate) fn state(&self, cell: u32) -> StateId {
        self.states[(cell >> 1) as usize]
    }

    /// The cell of the transition over `byte` from the target of `cell`.
    #[inline]
    pub(crate) fn next(
        &mut self,
        automata: &mut Automata,
        cell: u32,
        byte: u8,
    ) -> Result<u32, LimitExceeded> {
        let next = self.cells[Self::index(cell, byte)];
        if next == Self::UNKNOWN { self.copy(automata, cell, byte) } else { Ok(next) }
    }

    fn index(cell: u32, byte: u8) -> usize {
        (cell >> 1) as usize * 256 + usize::from(byte)
    }

    #[cold]
    fn copy(&mut self, automata: &mut Automata, cell: u32, byte: u8) -> Result<u32, LimitExceeded> {
        let target = match automata.step(self.states[(cell >> 1) as usize], byte)? {
            Some(state) => self.cell_to(automata, state),
            None => Self::DEAD,
        };
        self.cells[Self::index(cell, byte)] = target;
        Ok(target)
    }

    /// Whether all tokens below a node that is entered over `cell` are live, and, if ends are wanted, either all nodes
    /// that it returns are ends or none: then the subtree can be skipped.
    #[inline]
    pub(crate) fn uniform_below(
        &mut self,
        automata: &mut Automata,
        cell: u32,
        below: Subtree,
    ) -> Result<Option<WhichNodes>, LimitExceeded> {
        if let Some(nodes) = self.looping_below(automata, cell, below)? {
            return Ok(Some(nodes));
        }
        let is_closed = self.is_closed_below(automata, cell, below)?;
        Ok(is_closed.then_some(WhichNodes::WholeCharacters))
    }

    /// The nodes of a subtree at which the walk is in the target of `cell`, if that state is never left in the subtree.
    #[inline]
    pub(crate) fn looping_below(
        &mut self,
        automata: &mut Automata,
        cell: u32,
        below: Subtree,
    ) -> Result<Option<WhichNodes>, LimitExceeded> {
        if !is_enabled(Technique::SelfLoops) {
            return Ok(None);
        }
        let Subtree { groups, first_byte, .. } = below;
        let number = (cell >> 1) as usize;
        let next = self.next(automata, cell, first_byte)?;
        if next != cell {
            let may_be_character = first_byte >= 0x80 && next != Self::DEAD && !groups.is_broken();
            let is_left = self.self_loops[number].is_some_and(|loops| loops.is_left_on(first_byte));
            if !may_be_character || is_left || !self.returns(automata, cell, first_byte)? {
                return Ok(None);
            }
        }
        let mut loops = match self.self_loops[number] {
            Some(known) => known,
            None => self.find_self_loops(automata, number)?,
        };
        let covered = loops.cover(groups);
        if covered.is_some() || groups.is_broken() || !groups.intersects(ByteGroups::ALL_LEADS) {
            return Ok(covered);
        }
        loops.examine(automata, self.states[number], groups)?;
        self.self_loops[number] = Some(loops);
        Ok(loops.cover(groups))
    }

    /// Whether some character that begins with `first_byte` returns to the target of `cell`. A counting state is left
    /// by every character, which this finds with a few loads instead of all transitions of the state.
    fn returns(&mut self, automata: &mut Automata, cell: u32, first_byte: u8) -> Result<bool, LimitExceeded> {
        let (mut character, mut byte, mut at) = (Character::Boundary, first_byte, cell);
        loop {
            character = character.step(byte);
            at = self.next(automata, at, byte)?;
            if at == Self::DEAD || character == Character::Broken {
                return Ok(false);
            }
            if character == Character::Boundary {
                return Ok(at == cell);
            }
            byte = if character.step(0xa0) == Character::Broken { 0x80 } else { 0xa0 };
        }
    }

    #[cold]
    fn find_self_loops(
        &mut self,
        automata: &mut Automata,
        number: usize,
    ) -> Result<SelfLoops, LimitExceeded> {
        let loops = SelfLoops::of(automata, self.states[number])?;
        self.self_loops[number] = Some(loops);
        Ok(loops)
    }

    /// Whether the bytes of a subtree are in a closed alphabet of the target of `cell`.
    fn is_closed_below(
        &mut self,
        automata: &mut Automata,
        cell: u32,
        below: Subtree,
    ) -> Result<bool, LimitExceeded> {
        let Subtree { groups, nodes, .. } = below;
        let number = (cell >> 1) as usize;
        if groups.is_broken() || !is_enabled(Technique::ClosedAlphabets) {
            return Ok(false);
        }
        let mut first = match self.alphabets[number] {
            AlphabetSearch::Done(found) => {
                return Ok(found.is_some_and(|alphabet| groups.is_within(alphabet)));
            }
            _ if nodes < MIN_ALPHABET_NODES || self.failures >= MAX_ALPHABET_FAILURES => return Ok(false),
            AlphabetSearch::NotBegun => FirstCharacters::of(automata, self.states[number])?,
            AlphabetSearch::Bounded(first) => first,
        };
        let may_be_closed = first.include(automata, self.states[number], groups)?;
        self.alphabets[number] = AlphabetSearch::Bounded(first);
        Ok(may_be_closed
            && self.find_alphabet(automata, number)?.is_some_and(|alphabet| groups.is_within(alphabet)))
    }

    #[cold]
    fn find_alphabet(
        &mut self,
        automata: &mut Automata,
        number: usize,
    ) -> Result<Option<ByteGroups>, LimitExceeded> {
        let found = closed_alphabet(automata, self.states[number], self.wanted)?;
        self.failures += usize::from(found.is_none());
        let groups = found.as_ref().map(|found| found.groups);
        self.alphabets[number] = AlphabetSearch::Done(groups);
        // The alphabet is closed for every state that it reaches; some may have a larger one.
        for &state in found.iter().flat_map(|found| &found.states) {
            let other = (self.cell_to(automata, state) >> 1) as usize;
            if !matches!(self.alphabets[other], AlphabetSearch::Done(_)) {
                self.alphabets[other] = AlphabetSearch::Done(groups);
            }
        }
        Ok(groups)
    }
}
