//! An intersection with a limit on its length, below a set of trie nodes, by one walk for all limits.
//!
//! A word of `pattern & unit{a,b}` is one of `pattern & unit{a,}` that holds at most `b` copies of the unit. So a token is
//! live exactly if the copies that begin in it, and the fewest that end a word after it, are at most `b`: the walk goes
//! through the intersection without its limit, counts, and asks each state that it meets for its shortest way to an end. The
//! unit is a code, so a path splits into copies in one way.
//!
//! Without the limit most of a text stays in one state, and such parts of the trie are known as a whole, as in
//! [`super::walk`] and [`super::counted_walk`].

use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{CountedSummary, CountedSummaryBuilder, NodeSet, TrieNode, Vocabulary, WhichNodes};

use super::closed_alphabet::counts;
use super::dense_transitions::Rows;
use super::self_loops::Loops;

/// Transitions that are looked at in one walk for shortest ways to an end, after which it is given up.
const MOST_TRANSITIONS: usize = 1 << 15;

/// New states of the automaton after which too, where no walk of the grammar was given up before.
const MOST_NEW_STATES: usize = 512;

/// States of the intersection after which too: where it counts by itself, its own limits are no less trouble.
const MOST_STATES: usize = 96;

/// Where a limited intersection stands.
#[derive(Clone, Copy, Debug)]
pub(in crate::masks) struct LimitedState {
    /// The intersection without its limit.
    pub(in crate::masks) unlimited: StateId,
    /// The beginning of a copy.
    pub(in crate::masks) unit: StateId,
    /// The copy that has begun; none between two copies.
    pub(in crate::masks) inside: Option<StateId>,
}

/// Walks the words of an intersection below `nodes`. A token counts the fewest copies in a word that it begins, a node those
/// that have ended. Also says how many nodes it looked at. None where shortest words are too hard to find.
///
/// # Errors
/// When the automaton passes its limit.
pub(in crate::masks) fn walk_limited(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    state: LimitedState,
    nodes: &NodeSet,
    setbacks: u32,
) -> Result<Option<(CountedSummary, usize)>, LimitExceeded> {
    if counts(automata, state.unlimited)? {
        return Ok(None);
    }
    let (mut heads, mut copies) = (Rows::default(), Rows::default());
    let head = heads.of_state(automata, state.unlimited);
    let unit = copies.of_state(automata, state.unit);
    let (copy, is_between) = match state.inside {
        Some(inside) => (copies.of_state(automata, inside), false),
        None => (unit, true),
    };
    let first = Place { head, copy, begun: 0, is_between };
    let mut walk = Walk {
        characters: Loops::of_code(automata, state.unit)?,
        vocabulary,
        heads,
        copies,
        unit,
        path: vec![first; vocabulary.trie().max_depth() + 1],
        found: CountedSummaryBuilder::default(),
        ends: ShortestEnds {
            unit: state.unit,
            known: FxHashMap::default(),
            last: None,
            transitions: 0,
            most_states: automata.len() + (MOST_NEW_STATES >> (2 * setbacks.min(4))),
            edges: FxHashMap::default(),
        },
    };
    let mut work = 0;
    for node in nodes.iter() {
        match walk.below(automata, node, first)? {
            Some(more) => work += more,
            None => return Ok(None),
        }
    }
    work += walk.ends.transitions;
    Ok(Some((walk.found.finish(vocabulary), work)))
}

struct Walk<'a> {
    vocabulary: &'a Vocabulary,
    /// Of the intersection without its limit.
    heads: Rows,
    /// Of one copy.
    copies: Rows,
    /// The cell of the beginning of a copy.
    unit: u32,
    /// The characters that are copies.
    characters: Option<Loops>,
    /// Where the path to the current node stands, by depth.
    path: Vec<Place>,
    found: CountedSummaryBuilder,
    ends: ShortestEnds,
}

/// Where the path to a node stands.
#[derive(Clone, Copy)]
struct Place {
    head: u32,
    /// The state inside a copy, or the beginning of one.
    copy: u32,
    /// Copies begun.
    begun: u32,
    is_between: bool,
}

impl Walk<'_> {
    fn below(
        &mut self,
        automata: &mut Automata,
        node: TrieNode,
        first: Place,
    ) -> Result<Option<usize>, LimitExceeded> {
        let trie = self.vocabulary.trie();
        let columns = trie.columns();
        let end = columns.subtree_ends[node.index()] as usize;
        self.path[usize::from(columns.depths[node.index()])] = first;
        let mut current = node.index() + 1;
        let mut work = 0;
        while current < end {
            work += 1;
            if self.heads.len() > MOST_STATES {
                return Ok(None);
            }
            let depth = usize::from(columns.depths[current]);
            let before = self.path[depth - 1];
            let byte = columns.bytes[current];
            let below = columns.subtree_ends[current] as usize;
            let head = self.heads.next(automata, before.head, byte)?;
            // What is counted is a part of the intersection, so it goes on wherever that does.
            let copy =
                if head == Rows::DEAD { head } else { self.copies.next(automata, before.copy, byte)? };
            if copy == Rows::DEAD {
                current = below;
                continue;
            }
            let begun = before.begun + u32::from(before.is_between);
            let is_between = copy & 1 == 1;
            let copy = if is_between { self.unit } else { copy };
            let inside = (!is_between).then(|| self.copies.state(copy));
            let Some(more) = self.ends.copies_to_end(automata, self.heads.state(head), inside)? else {
                return Ok(None);
            };
            let difference = begun as i32 - i32::from(columns.characters[current]);
            let is_word = head & 1 == 1;
            if is_between && below - current >= Rows::WORTH_SKIPPING {
                let groups = columns.groups_below[current];
                let next_byte = columns.bytes[current + 1];
                if let Some(characters) = self.characters
                    && let Some(which) = characters.kept(groups)
                    && self.heads.kept(automata, head, (next_byte, groups))?.is_some()
                {
                    self.found.add_tokens(current..below, difference + more as i32);
                    if is_word {
                        self.found.add_ends(trie, current..below, difference, which);
                    }
                    work += (below - current) / 4;
                    current = below;
                    continue;
                }
            }
            self.found.add_tokens(current..current + 1, difference + more as i32);
            if is_word {
                self.found.add_ends(trie, current..current + 1, difference, WhichNodes::All);
            }
            self.path[depth] = Place { head, copy, begun, is_between };
            current += 1;
        }
        Ok(Some(work))
    }
}

/// A state of the intersection without its limit, and the one inside a copy; none between two.
type Position = (StateId, Option<StateId>);

/// Bytes, and the states inside a copy that they lead to; none for its end.
type CopyEdges = Rc<[(ByteSet, Option<StateId>)]>;

/// How many copies must begin until a word ends.
struct ShortestEnds {
    unit: StateId,
    known: FxHashMap<Position, u32>,
    /// What was asked for last.
    last: Option<(Position, u32)>,
    /// Transitions of the states inside copies, without those that lead to the same state.
    edges: FxHashMap<StateId, CopyEdges>,
    /// Transitions that were looked at.
    transitions: usize,
    /// States of the automaton after which it is given up.
    most_states: usize,
}

impl ShortestEnds {
    /// The fewest copies that begin on a way from a position to the end of a word: a breadth-first search in which only
    /// the beginning of a copy takes a step. What is known of the positions that it meets is used.
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
        let mut queue = VecDeque::from([Step { position: start, begun: 0, before: None }]);
        // The first steps that led to positions, and the best way that ends in a position of which the end is known.
        let mut taken: Vec<Step> = Vec::new();
        let mut seen: FxHashSet<Position> = FxHashSet::default();
        let mut best: Option<(u32, usize)> = None;
        while let Some(step) = queue.pop_front() {
            if best.is_some_and(|(least, _)| step.begun >= least) {
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
                if best.is_none_or(|(least, _)| total < least) {
                    best = Some((total, taken.len() - 1));
                }
                continue;
            }
            let edges = self.edges_from(automata, copy.unwrap_or(self.unit))?;
            for &(bytes, target) in &targets(automata, state)? {
                for &(own, next) in &edges[..] {
                    self.transitions += 1;
                    if bytes.intersection(own) == ByteSet::EMPTY {
                        continue;
                    }
                    let (position, before) = ((target, next), Some(taken.len() - 1));
                    match copy {
                        None => queue.push_back(Step { position, begun: step.begun + 1, before }),
                        Some(_) => queue.push_front(Step { position, begun: step.begun, before }),
                    }
                }
            }
            if self.transitions > MOST_TRANSITIONS || automata.len() > self.most_states {
                return Ok(None);
            }
        }
        let Some((total, mut at)) = best else { return Ok(None) };
        // The rest of a shortest way is one too.
        loop {
            let step = taken[at];
            self.known.insert(step.position, total - step.begun);
            match step.before {
                Some(before) => at = before,
                None => return Ok(Some(total)),
            }
        }
    }

    /// The transitions from a state of a copy.
    fn edges_from(&mut self, automata: &mut Automata, from: StateId) -> Result<CopyEdges, LimitExceeded> {
        if let Some(known) = self.edges.get(&from) {
            return Ok(known.clone());
        }
        let mut edges: Vec<(ByteSet, Option<StateId>)> = Vec::new();
        for (bytes, target) in targets(automata, from)? {
            let target = (!automata.is_accepting(target)).then_some(target);
            match edges.iter_mut().find(|(_, known)| *known == target) {
                Some((known, _)) => *known = known.union(bytes),
                None => edges.push((bytes, target)),
            }
        }
        let edges: CopyEdges = edges.into();
        self.edges.insert(from, edges.clone());
        Ok(edges)
    }
}

/// A step of a search.
#[derive(Clone, Copy)]
struct Step {
    position: Position,
    /// Copies begun on the way.
    begun: u32,
    /// The step before it.
    before: Option<usize>,
}

/// The states after a state, each once, with the bytes that lead there.
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
