//! Repetitions of a code below a set of trie nodes, by one walk for all bounds.
//!
//! No word of a code begins another, so a path through the trie splits into words in one way: the walk restarts
//! the automaton after each word and counts. A token needs as many copies as words begin in it; a node ends so many
//! copies as words end on the way to it. Whatever the bounds are, the summary is then a union by count.
//!
//! Where all that is below a node are characters and each is a word, as in text of a limited length, copies are characters,
//! and the trie knows how many there are.

use grammask_automata::{Automata, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{CountedSummary, CountedSummaryBuilder, NodeSet, TrieNode, Vocabulary, WhichNodes};

use super::dense_transitions::Rows;
use super::self_loops::Loops;

/// Walks all repetitions of the code that `start` begins below `nodes`. Also says how many nodes it looked at.
///
/// # Errors
/// When the automaton passes its limit.
pub(in crate::masks) fn walk_counted(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    start: StateId,
    nodes: &NodeSet,
) -> Result<(CountedSummary, usize), LimitExceeded> {
    let mut rows = Rows::default();
    let start_cell = rows.of_state(automata, start);
    let first = Place { cell: start_cell, begun: 0, is_between_words: true };
    let mut walk = Walk {
        characters: Loops::of_code(automata, start)?,
        automata,
        vocabulary,
        rows,
        path: vec![first; vocabulary.trie().max_depth() + 1],
        found: CountedSummaryBuilder::default(),
    };
    let mut work = 0;
    for node in nodes.iter() {
        work += walk.below(node, first)?;
    }
    Ok((walk.found.finish(vocabulary), work))
}

struct Walk<'a> {
    automata: &'a mut Automata,
    vocabulary: &'a Vocabulary,
    rows: Rows,
    /// The characters that are words.
    characters: Option<Loops>,
    /// Where the path to the current node stands, by depth.
    path: Vec<Place>,
    found: CountedSummaryBuilder,
}

/// Where the path to a node stands.
#[derive(Clone, Copy)]
struct Place {
    /// The cell that leads to the state inside a word, or to the start between words.
    cell: u32,
    /// Words begun.
    begun: u32,
    is_between_words: bool,
}

impl Walk<'_> {
    fn below(&mut self, node: TrieNode, first: Place) -> Result<usize, LimitExceeded> {
        let trie = self.vocabulary.trie();
        let columns = trie.columns();
        let end = columns.subtree_ends[node.index()] as usize;
        self.path[usize::from(columns.depths[node.index()])] = first;
        let mut current = node.index() + 1;
        let mut work = 0;
        while current < end {
            work += 1;
            let depth = usize::from(columns.depths[current]);
            let before = self.path[depth - 1];
            let byte = columns.bytes[current];
            let mut cell = self.rows.cells[Rows::cell(before.cell, byte)];
            if cell == Rows::OPEN {
                cell = self.rows.fill(self.automata, before.cell, byte)?;
            }
            let below = columns.subtree_ends[current] as usize;
            if cell == Rows::DEAD {
                current = below;
                continue;
            }
            let begun = before.begun + u32::from(before.is_between_words);
            let difference = begun as i32 - i32::from(columns.characters[current]);
            let is_between_words = cell & 1 == 1;
            if is_between_words
                && below - current >= Rows::WORTH_SKIPPING
                && let Some(characters) = self.characters
                && let Some(which) = characters.kept(columns.groups_below[current])
            {
                self.found.add_tokens(current..below, difference);
                self.found.add_ends(trie, current..below, difference, which);
                work += (below - current) / 4;
                current = below;
                continue;
            }
            self.found.add_tokens(current..current + 1, difference);
            if is_between_words {
                self.found.add_ends(trie, current..current + 1, difference, WhichNodes::All);
            }
            let cell = if is_between_words { first.cell } else { cell };
            self.path[depth] = Place { cell, begun, is_between_words };
            current += 1;
        }
        Ok(work)
    }
}
