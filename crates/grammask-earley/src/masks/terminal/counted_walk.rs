//! Repetitions of a prefix code below a set of trie nodes, by one walk for all bounds.
//!
//! No word of a prefix code is a prefix of another, so a path of the trie splits into copies in one way: the walk
//! restarts the automaton after each copy and counts. A token needs as many copies as begin in it; a node ends as many
//! as end on the way to it. For any bounds, the summary is then a union of the tokens and nodes by their counts.
//!
//! Where all characters below a node are copies, as in text of limited length, the number of copies is the number of
//! characters, which the trie stores, so the subtree is not visited.

use grammask_automata::{Automata, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{CountedSummary, CountedSummaryBuilder, NodeSet, Vocabulary, WhichNodes};

use super::super::tuning::MIN_SKIPPED_NODES;
use super::dense_transitions::Subtree;
use super::self_loops::SelfLoops;

/// An automaton whose words split into copies of a unit.
pub(crate) trait CopyAutomaton {
    /// A state of the automaton.
    type State: Copy;

    /// The state after a byte.
    fn step(
        &mut self,
        automata: &mut Automata,
        state: Self::State,
        byte: u8,
    ) -> Result<CopyStep<Self::State>, LimitExceeded>;

    /// Whether the texts below a node, whose characters are copies, all return to the state.
    fn loops_below(
        &mut self,
        automata: &mut Automata,
        state: Self::State,
        below: Subtree,
    ) -> Result<bool, LimitExceeded>;
}

/// The result of a step.
pub(crate) enum CopyStep<S> {
    /// No word passes through the node.
    Dead,
    /// The walk takes too long.
    GiveUp,
    Live(CopyState<S>),
}

/// A state with its position among the copies.
#[derive(Clone, Copy)]
pub(crate) struct CopyState<S> {
    pub(crate) state: S,
    /// Whether it is between two copies, so that the next byte begins a copy.
    pub(crate) is_between: bool,
    pub(crate) is_word: bool,
    /// Minimum number of copies that begin on a path from here to the end of a word.
    pub(crate) copies_to_end: u32,
}

/// Walks the words of a copy automaton below `nodes`, beginning in the state `start` between or inside copies of the
/// prefix code with start state `unit`. Returns the counts and the number of visited nodes; `None` if the automaton
/// gave up.
///
/// # Errors
/// When the automaton exceeds its limit.
pub(crate) fn walk_copies<A: CopyAutomaton>(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    language: &mut A,
    start: CopyState<A::State>,
    unit: StateId,
    nodes: &NodeSet,
) -> Result<Option<(CountedSummary, usize)>, LimitExceeded> {
    let trie = vocabulary.trie();
    let columns = trie.columns();
    // The characters that are copies.
    let characters = SelfLoops::of_code(automata, unit)?;
    let mut counts = CountedSummaryBuilder::default();
    // The state after each node of the path to the current one, by depth, with the number of copies begun.
    let mut path = vec![(start, 0); trie.max_depth() + 1];
    let mut work = 0;
    for node in nodes.iter() {
        let end = columns.subtree_ends[node.index()] as usize;
        path[usize::from(columns.depths[node.index()])] = (start, 0);
        let mut current = node.index() + 1;
        while current < end {
            work += 1;
            let depth = usize::from(columns.depths[current]);
            let (before, begun) = path[depth - 1];
            let after = columns.subtree_ends[current] as usize;
            let entered = match language.step(automata, before.state, columns.bytes[current])? {
                CopyStep::Live(entered) => entered,
                CopyStep::Dead => {
                    current = after;
                    continue;
                }
                CopyStep::GiveUp => return Ok(None),
            };
            let begun = begun + u32::from(before.is_between);
            let difference = begun as i32 - i32::from(columns.characters[current]);
            let needed = difference + entered.copies_to_end as i32;
            if entered.is_between && after - current >= MIN_SKIPPED_NODES {
                let (groups, first_byte) = (columns.groups_below[current], columns.bytes[current + 1]);
                let below = Subtree { groups, first_byte, nodes: after - current };
                if let Some(characters) = characters
                    && let Some(which) = characters.cover(groups)
                    && language.loops_below(automata, entered.state, below)?
                {
                    counts.add_tokens(current..after, needed);
                    if entered.is_word {
                        counts.add_ends(trie, current..after, difference, which);
                    }
                    work += (after - current) / 4;
                    current = after;
                    continue;
                }
            }
            counts.add_tokens(current..current + 1, needed);
            if entered.is_word {
                counts.add_ends(trie, current..current + 1, difference, WhichNodes::All);
            }
            path[depth] = (entered, begun);
            current += 1;
        }
    }
    Ok(Some((counts.finish(vocabulary), work)))
}
