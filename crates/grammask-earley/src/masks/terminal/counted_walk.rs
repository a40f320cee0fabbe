//! Repetitions of a prefix code below a set of trie nodes, by one walk for all bounds.
//!
//! No word of a prefix code is a prefix of another, so a path of the trie splits into copies in one way: the walk
//! restarts the automaton after each copy and counts. A token needs as many copies as begin in it; a node ends as many
//! as end on the way to it. For any bounds, the summary is then a union of the tokens and nodes by their counts.
//!
//! Where all characters below a node are copies, as in text of limited length, the number of copies is the number of
//! characters, which the trie stores, so the subtree is not visited.

use std::ops::Range;

use grammask_automata::{Automata, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{CountedSummaryBuilder, TokenTrie, WhichNodes};

use super::super::summary::Wanted;
use super::dense_transitions::{Cell, DenseTransitions};
use super::self_loops::LeadingCharacters;
use super::subtree_walk::{PathAutomaton, Subtree, SummarySink};

/// A state of an automaton whose words split into copies of a unit.
#[derive(Clone, Copy)]
pub(crate) struct CopyState<S> {
    pub(crate) state: S,
    /// Number of copies that began on the path.
    pub(crate) begun: u32,
    /// Whether it is between two copies, so that the next byte begins a copy.
    pub(crate) is_between: bool,
    pub(crate) is_word: bool,
    /// Minimum number of copies that begin on a path from here to the end of a word.
    pub(crate) copies_to_end: u32,
}

impl<S> CopyState<S> {
    /// A state before the first byte.
    pub(crate) fn start(state: S, is_between: bool, is_word: bool) -> Self {
        Self { state, begun: 0, is_between, is_word, copies_to_end: 0 }
    }

    /// The state after a byte.
    #[inline]
    pub(crate) fn after<T>(
        self,
        state: T,
        is_between: bool,
        is_word: bool,
        copies_to_end: u32,
    ) -> CopyState<T> {
        CopyState {
            state,
            begun: self.begun + u32::from(self.is_between),
            is_between,
            is_word,
            copies_to_end,
        }
    }
}

impl<S> SummarySink<CopyState<S>> for CountedSummaryBuilder {
    #[inline]
    fn visit(&mut self, trie: &TokenTrie, node: usize, state: CopyState<S>, is_word: bool) {
        let _ = self.skip(trie, node..node + 1, state, is_word, WhichNodes::All);
    }

    #[inline]
    fn skip(
        &mut self,
        trie: &TokenTrie,
        nodes: Range<usize>,
        state: CopyState<S>,
        is_word: bool,
        which: WhichNodes,
    ) -> usize {
        let work = nodes.len() / 4;
        let difference = state.begun as i32 - i32::from(trie.columns().characters[nodes.start]);
        self.add_tokens(nodes.clone(), difference + state.copies_to_end as i32);
        if is_word {
            self.add_ends(trie, nodes, difference, which);
        }
        work
    }
}

/// Any number of copies of a prefix code; a state is a cell of the unit's transitions.
pub(crate) struct Copies {
    transitions: DenseTransitions,
    /// The cell of the start state.
    unit: Cell,
    /// The characters that are copies.
    characters: Option<LeadingCharacters>,
}

impl Copies {
    /// # Errors
    /// When the automaton exceeds its limit.
    pub(crate) fn new(automata: &mut Automata, unit: StateId) -> Result<Self, LimitExceeded> {
        let characters = LeadingCharacters::of_code(automata, unit)?;
        let mut transitions = DenseTransitions::new(Wanted::LiveAndEnds);
        let unit = transitions.cell_to(automata, unit);
        Ok(Self { transitions, unit, characters })
    }

    /// The cell of a state inside a copy, or of the start state.
    pub(crate) fn cell(&mut self, automata: &Automata, inside: Option<StateId>) -> Cell {
        inside.map_or(self.unit, |inside| self.transitions.cell_to(automata, inside))
    }

    /// The state inside a copy.
    pub(crate) fn state(&self, cell: Cell) -> StateId {
        self.transitions.state(cell)
    }

    /// The cell after a byte, and whether it is between two copies.
    #[inline]
    pub(crate) fn next(
        &mut self,
        automata: &mut Automata,
        cell: Cell,
        byte: u8,
    ) -> Result<Option<(Cell, bool)>, LimitExceeded> {
        let next = self.transitions.step(automata, cell, byte)?;
        Ok(next.map(|cell| if cell.is_accepting() { (self.unit, true) } else { (cell, false) }))
    }

    /// The ends of copies in a subtree that is entered in `state`, if all its characters are copies.
    #[inline]
    pub(crate) fn ends_below<S>(&self, state: CopyState<S>, below: Subtree) -> Option<WhichNodes> {
        self.characters.filter(|_| state.is_between)?.cover(below.groups)
    }
}

impl PathAutomaton for Copies {
    type State = CopyState<Cell>;
    type Error = LimitExceeded;

    #[inline]
    fn step(
        &mut self,
        automata: &mut Automata,
        before: CopyState<Cell>,
        byte: u8,
    ) -> Result<Option<CopyState<Cell>>, LimitExceeded> {
        let next = self.next(automata, before.state, byte)?;
        Ok(next.map(|(state, is_between)| before.after(state, is_between, is_between, 0)))
    }

    #[inline]
    fn is_accepting(&self, _: &Automata, state: CopyState<Cell>) -> bool {
        state.is_word
    }

    #[inline]
    fn skip(
        &mut self,
        _: &mut Automata,
        state: CopyState<Cell>,
        below: Subtree,
    ) -> Result<Option<WhichNodes>, LimitExceeded> {
        Ok(self.ends_below(state, below))
    }
}
