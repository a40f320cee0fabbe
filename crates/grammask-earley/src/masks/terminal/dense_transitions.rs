//! Transitions of a lazy automaton copied into plain rows, for walks through much of the trie: a step is one load.

use rustc_hash::FxHashMap;

use grammask_automata::{Automata, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{ByteGroups, Character, WhichNodes};

use super::closed_alphabet::{Ends, Onward, home};
use super::self_loops::Loops;

/// How often no home is found for a state before no other is looked for.
const MOST_HOMELESS: usize = 2;

/// Transitions of the states that a walk meets, numbered as they are met. A cell holds twice the number of the
/// state that it leads to, plus one if that is accepting.
#[derive(Default)]
pub(in crate::masks) struct Rows {
    numbers: FxHashMap<StateId, u32>,
    states: Vec<StateId>,
    /// 256 cells per state.
    pub(in crate::masks) cells: Vec<u32>,
    /// What keeps each state, as far as it was asked for.
    loops: Vec<Option<Loops>>,
    homes: Vec<KnownHome>,
    /// How many states have none.
    homeless: usize,
}

/// What is known of the home of a state.
#[derive(Clone, Copy)]
enum KnownHome {
    Nothing,
    /// What cannot be in it.
    Within(Onward),
    /// What it is, or that none was found.
    All(Option<ByteGroups>),
}

impl Rows {
    /// Trie nodes at and below a node from which it is worth asking whether a state is left there.
    pub(in crate::masks) const WORTH_SKIPPING: usize = 4;
    /// The same from which it is worth finding the home of a state.
    const WORTH_A_HOME: usize = 64;
    /// No word goes on so.
    pub(in crate::masks) const DEAD: u32 = u32::MAX;
    /// Not known yet.
    pub(in crate::masks) const OPEN: u32 = u32::MAX - 1;

    /// The cell that leads to a state.
    pub(in crate::masks) fn of_state(&mut self, automata: &Automata, state: StateId) -> u32 {
        let next = self.states.len() as u32;
        let number = *self.numbers.entry(state).or_insert(next);
        if number == next {
            self.states.push(state);
            self.loops.push(None);
            self.homes.push(KnownHome::Nothing);
            self.cells.resize(self.states.len() * 256, Self::OPEN);
        }
        number << 1 | u32::from(automata.is_accepting(state))
    }

    /// At which nodes of a subtree the state that `cell` leads to holds, if it is not left below the first of them; `first` is
    /// the first byte of what is below it.
    #[inline]
    pub(in crate::masks) fn kept(
        &mut self,
        automata: &mut Automata,
        cell: u32,
        (first, below): (u8, ByteGroups),
    ) -> Result<Option<WhichNodes>, LimitExceeded> {
        let number = (cell >> 1) as usize;
        let mut next = self.cells[Self::cell(cell, first)];
        if next == Self::OPEN {
            next = self.fill(automata, cell, first)?;
        }
        if next != cell {
            let may_be_character = first >= 0x80 && next != Self::DEAD && !below.is_broken();
            let is_left = self.loops[number].is_some_and(|loops| loops.is_left_by(first));
            if !may_be_character || is_left || !self.leads_back(automata, cell, first)? {
                return Ok(None);
            }
        }
        let mut loops = match self.loops[number] {
            Some(known) => known,
            None => self.find_loops(automata, number)?,
        };
        let kept = loops.kept(below);
        if kept.is_some() || below.is_broken() || !below.intersects(ByteGroups::ALL_LEADS) {
            return Ok(kept);
        }
        loops.look_at(automata, self.states[number], below)?;
        self.loops[number] = Some(loops);
        Ok(loops.kept(below))
    }

    /// Whether some character that begins with the byte `first` leads back to the state that `cell` leads to: a state that
    /// counts is left by each, and costs a few loads in place of all its transitions.
    fn leads_back(&mut self, automata: &mut Automata, cell: u32, first: u8) -> Result<bool, LimitExceeded> {
        let (mut character, mut byte, mut at) = (Character::Boundary, first, cell);
        loop {
            character = character.step(byte);
            let next = self.cells[Self::cell(at, byte)];
            at = if next == Self::OPEN { self.fill(automata, at, byte)? } else { next };
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
    fn find_loops(&mut self, automata: &mut Automata, number: usize) -> Result<Loops, LimitExceeded> {
        let loops = Loops::of(automata, self.states[number])?;
        self.loops[number] = Some(loops);
        Ok(loops)
    }

    /// Whether all that is below a node, so many nodes with it, is in the home of the state that `cell` leads to.
    pub(in crate::masks) fn is_at_home(
        &mut self,
        automata: &mut Automata,
        cell: u32,
        (below, nodes): (ByteGroups, usize),
        ends: Ends,
    ) -> Result<bool, LimitExceeded> {
        let number = (cell >> 1) as usize;
        if below.is_broken() {
            return Ok(false);
        }
        let mut onward = match self.homes[number] {
            KnownHome::All(home) => return Ok(home.is_some_and(|home| below.is_within(home))),
            _ if nodes < Self::WORTH_A_HOME || self.homeless >= MOST_HOMELESS => return Ok(false),
            KnownHome::Nothing => Onward::of(automata, self.states[number])?,
            KnownHome::Within(onward) => onward,
        };
        let goes_on = onward.goes_on(automata, self.states[number], below)?;
        self.homes[number] = KnownHome::Within(onward);
        Ok(goes_on && self.find_home(automata, number, ends)?.is_some_and(|home| below.is_within(home)))
    }

    #[cold]
    fn find_home(
        &mut self,
        automata: &mut Automata,
        number: usize,
        ends: Ends,
    ) -> Result<Option<ByteGroups>, LimitExceeded> {
        let found = home(automata, self.states[number], ends)?;
        self.homeless += usize::from(found.is_none());
        let groups = found.as_ref().map(|found| found.groups);
        self.homes[number] = KnownHome::All(groups);
        // The other states that are met have the same home, if not a larger one.
        for &state in found.iter().flat_map(|found| &found.states) {
            let other = (self.of_state(automata, state) >> 1) as usize;
            if !matches!(self.homes[other], KnownHome::All(_)) {
                self.homes[other] = KnownHome::All(groups);
            }
        }
        Ok(groups)
    }

    /// How many states were met.
    pub(in crate::masks) fn len(&self) -> usize {
        self.states.len()
    }

    /// The state that a cell leads to.
    pub(in crate::masks) fn state(&self, cell: u32) -> StateId {
        self.states[(cell >> 1) as usize]
    }

    /// The cell of the transition over `byte` from the state that `cell` leads to.
    #[inline]
    pub(in crate::masks) fn next(
        &mut self,
        automata: &mut Automata,
        cell: u32,
        byte: u8,
    ) -> Result<u32, LimitExceeded> {
        let next = self.cells[Self::cell(cell, byte)];
        if next == Self::OPEN { self.fill(automata, cell, byte) } else { Ok(next) }
    }

    /// Where the transition over `byte` is, from the state that `cell` leads to.
    pub(in crate::masks) fn cell(cell: u32, byte: u8) -> usize {
        (cell >> 1) as usize * 256 + usize::from(byte)
    }

    #[cold]
    pub(in crate::masks) fn fill(
        &mut self,
        automata: &mut Automata,
        before: u32,
        byte: u8,
    ) -> Result<u32, LimitExceeded> {
        let target = match automata.step(self.states[(before >> 1) as usize], byte)? {
            Some(state) => self.of_state(automata, state),
            None => Self::DEAD,
        };
        self.cells[Self::cell(before, byte)] = target;
        Ok(target)
    }
}
