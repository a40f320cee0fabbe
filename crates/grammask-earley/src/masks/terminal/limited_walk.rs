//! An intersection with a limit on its length, below a set of trie nodes, by one walk for all limits.
//!
//! A word of `pattern & unit{a,b}` is a word of `pattern & unit{a,}` with at most `b` copies of the unit. So a token is
//! live exactly if the copies that begin in it, and the minimum number that completes a word after it, are at most `b`:
//! the walk steps the intersection without its limit, counts, and searches the shortest completion of each state that
//! it visits. The unit is a prefix code, so a path splits into copies in one way. Without the limit, most texts stay in
//! one state, so subtrees can be skipped.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{CountedSummary, CountedSummaryBuilder, NodeSet, Vocabulary, WhichNodes};

use super::super::budget::{ComposeError, within_budget};
use super::super::summary::Wanted;
use super::super::tuning::{MAX_ALPHABET_STEPS, MAX_ANALYSED_STATES, MAX_SMALL_WALK, MAX_UNBOUNDED_STATES};
use super::counted_walk::{Copies, CopyState};
use super::dense_transitions::{Cell, DenseTransitions};
use super::subtree_walk::{PathAutomaton, Subtree, SubtreeWalk};

/// A state of an intersection with a length limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitedState {
    /// The state of the intersection without its limit.
    pub(crate) unlimited: StateId,
    /// The start state of a copy.
    pub(crate) unit: StateId,
    /// The state inside the current copy; `None` between two copies.
    pub(crate) inside: Option<StateId>,
}

/// Walks the words of an intersection below `nodes`. A token is counted by the minimum number of copies in a word that
/// it begins, a node by those that have ended. Also returns the number of visited nodes. `None` where shortest
/// completions take too long to find: the more `setbacks` of this kind a grammar had, the earlier.
///
/// # Errors
/// When the automaton exceeds its limit.
pub(crate) fn walk_limited(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    state: LimitedState,
    nodes: &NodeSet,
    setbacks: u32,
) -> Result<Option<(CountedSummary, usize)>, LimitExceeded> {
    if is_counting(automata, state.unlimited)? {
        return Ok(None);
    }
    let mut heads = DenseTransitions::new(Wanted::LiveAndEnds);
    let mut copies = Copies::new(automata, state.unit)?;
    let head = heads.cell_to(automata, state.unlimited);
    let copy = copies.cell(automata, state.inside);
    let start = CopyState::start((head, copy), state.inside.is_none(), head.is_accepting());
    let ends = ShortestEnds {
        unit: state.unit,
        known: FxHashMap::default(),
        last: None,
        transitions: 0,
        max_states: automata.len() + (MAX_UNBOUNDED_STATES >> (2 * setbacks.min(4))),
    };
    let language = LimitedCopies { heads, copies, ends };
    let mut walk = SubtreeWalk::new(language, CountedSummaryBuilder::default());
    let work = within_budget(walk.run_below(automata, vocabulary.trie(), nodes, start))?;
    Ok(work.map(|work| (walk.sink.finish(vocabulary), work + walk.automaton.ends.transitions)))
}

/// Whether repeating one byte, of those with the most common target, reaches a new state each time.
fn is_counting(automata: &mut Automata, state: StateId) -> Result<bool, LimitExceeded> {
    let ascii = ByteSet::range(0, 0x7f);
    let successors = automata.successors(state)?;
    let widest =
        successors.iter().map(|(bytes, _)| bytes.intersection(ascii)).max_by_key(|bytes| bytes.len());
    let Some(byte) = widest.and_then(|bytes| bytes.iter().next()) else { return Ok(false) };
    let mut path = vec![state];
    for _ in 0..MAX_ALPHABET_STEPS {
        match automata.step(path[path.len() - 1], byte)? {
            Some(next) if !path.contains(&next) => path.push(next),
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// The intersection without its limit, with the unit in lockstep; a state is a cell of each.
struct LimitedCopies {
    heads: DenseTransitions,
    copies: Copies,
    ends: ShortestEnds,
}

impl PathAutomaton for LimitedCopies {
    type State = CopyState<(Cell, Cell)>;
    type Error = ComposeError;

    #[inline]
    fn step(
        &mut self,
        automata: &mut Automata,
        before: Self::State,
        byte: u8,
    ) -> Result<Option<Self::State>, ComposeError> {
        if self.heads.len() > MAX_ANALYSED_STATES {
            return Err(ComposeError::TooMuchWork);
        }
        let (head, copy) = before.state;
        let Some(head) = self.heads.step(automata, head, byte)? else { return Ok(None) };
        let Some((copy, is_between)) = self.copies.next(automata, copy, byte)? else { return Ok(None) };
        let inside = (!is_between).then(|| self.copies.state(copy));
        let copies_to_end = self.ends.copies_to_end(automata, self.heads.state(head), inside)?;
        let copies_to_end = copies_to_end.ok_or(ComposeError::TooMuchWork)?;
        Ok(Some(before.after((head, copy), is_between, head.is_accepting(), copies_to_end)))
    }

    #[inline]
    fn is_accepting(&self, _: &Automata, state: Self::State) -> bool {
        state.is_word
    }

    /// Skips copies that all return to the state of the intersection.
    #[inline]
    fn skip(
        &mut self,
        automata: &mut Automata,
        state: Self::State,
        below: Subtree,
    ) -> Result<Option<WhichNodes>, ComposeError> {
        let Some(which) = self.copies.ends_below(state, below) else { return Ok(None) };
        let looping = self.heads.looping_below(automata, state.state.0, below)?;
        Ok(looping.map(|_| which))
    }
}

/// A state of the intersection without its limit, and the state inside a copy; `None` between two.
type Position = (StateId, Option<StateId>);

/// The minimum number of copies from each position to the end of a word.
struct ShortestEnds {
    unit: StateId,
    known: FxHashMap<Position, u32>,
    /// The last result: consecutive nodes are often in the same position.
    last: Option<(Position, u32)>,
    /// Number of visited transitions.
    transitions: usize,
    /// States of the automaton above which the walk gives up.
    max_states: usize,
}

impl ShortestEnds {
    /// The minimum number of copies that begin on a path from a position to the end of a word, by a breadth-first
    /// search in which only the beginning of a copy has a cost. It stops at positions with a known minimum.
    fn copies_to_end(
        &mut self,
        automata: &mut Automata,
        head: StateId,
        inside: Option<StateId>,
    ) -> Result<Option<u32>, LimitExceeded> {
        let start = (head, inside);
        match self.last {
            Some((position, known)) if position == start => return Ok(Some(known)),
            _ => {}
        }
        let found = match self.known.get(&start) {
            Some(&known) => Some(known),
            None => self.search(automata, start)?,
        };
        self.last = found.map(|found| (start, found));
        Ok(found)
    }

    fn search(&mut self, automata: &mut Automata, start: Position) -> Result<Option<u32>, LimitExceeded> {
        let mut queue = VecDeque::from([SearchStep { position: start, begun: 0, before: None }]);
        // The first step to each position, and the cheapest path to a position with a known minimum.
        let mut taken: Vec<SearchStep> = Vec::new();
        let mut seen: FxHashSet<Position> = FxHashSet::default();
        let mut best: Option<(u32, usize)> = None;
        while let Some(step) = queue.pop_front() {
            if best.is_some_and(|(fewest, _)| step.begun >= fewest) {
                break;
            }
            let (state, copy) = step.position;
            if !seen.insert(step.position) {
                continue;
            }
            taken.push(step);
            let ends_here = copy.is_none() && automata.is_accepting(state);
            let known = if ends_here { Some(0) } else { self.known.get(&step.position).copied() };
            if let Some(known) = known {
                let total = step.begun + known;
                if best.is_none_or(|(fewest, _)| total < fewest) {
                    best = Some((total, taken.len() - 1));
                }
                continue;
            }
            let inside = targets(automata, copy.unwrap_or(self.unit))?;
            for &(bytes, target) in &targets(automata, state)? {
                for &(own, next) in &inside {
                    self.transitions += 1;
                    if bytes.intersection(own) == ByteSet::EMPTY {
                        continue;
                    }
                    // A copy ends in an accepting state.
                    let next = (!automata.is_accepting(next)).then_some(next);
                    let (position, before) = ((target, next), Some(taken.len() - 1));
                    match copy {
                        None => queue.push_back(SearchStep { position, begun: step.begun + 1, before }),
                        Some(_) => queue.push_front(SearchStep { position, begun: step.begun, before }),
                    }
                }
            }
            if self.transitions > 2 * MAX_SMALL_WALK || automata.len() > self.max_states {
                return Ok(None);
            }
        }
        let Some((total, mut at)) = best else { return Ok(None) };
        // Each suffix of a shortest path is a shortest path.
        loop {
            let step = taken[at];
            self.known.insert(step.position, total - step.begun);
            match step.before {
                Some(before) => at = before,
                None => return Ok(Some(total)),
            }
        }
    }
}

/// A step of a search for a shortest path.
#[derive(Clone, Copy)]
struct SearchStep {
    position: Position,
    /// Copies begun on the path.
    begun: u32,
    /// The step before it.
    before: Option<usize>,
}

/// The successors of a state, each once, with the bytes of its transitions.
fn targets(automata: &mut Automata, state: StateId) -> Result<Vec<(ByteSet, StateId)>, LimitExceeded> {
    let mut targets: Vec<(ByteSet, StateId)> = Vec::new();
    for (bytes, target) in automata.successors(state)? {
        match targets.iter_mut().find(|(_, known)| *known == target) {
            Some((known, _)) => *known = known.union(bytes),
            None => targets.push((bytes, target)),
        }
    }
    Ok(targets)
}
