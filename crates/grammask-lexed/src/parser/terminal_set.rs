//! Bitsets of terminals, including the end of the text.

use grammask_collections::graph::strongly_connected_components;
use grammask_grammar::TerminalId;

/// A set of terminals. Operands of one operation have the same width.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TerminalSet {
    words: Box<[u64]>,
}

impl TerminalSet {
    /// The empty set over `count` terminals.
    pub(crate) fn new(count: usize) -> Self {
        Self { words: vec![0; count.div_ceil(64)].into() }
    }

    /// Adds a terminal; returns whether it was absent.
    pub(crate) fn insert(&mut self, terminal: TerminalId) -> bool {
        let word = &mut self.words[terminal.index() / 64];
        let bit = 1 << (terminal.index() % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Removes a terminal.
    pub(crate) fn remove(&mut self, terminal: TerminalId) {
        self.words[terminal.index() / 64] &= !(1 << (terminal.index() % 64));
    }

    pub(crate) fn contains(&self, terminal: TerminalId) -> bool {
        self.words[terminal.index() / 64] >> (terminal.index() % 64) & 1 == 1
    }

    /// Adds all members of `other`; returns whether the set grew.
    pub(crate) fn union_with(&mut self, other: &Self) -> bool {
        let mut grew = false;
        for (word, &more) in self.words.iter_mut().zip(&other.words) {
            grew |= more & !*word != 0;
            *word |= more;
        }
        grew
    }

    /// Whether the sets have a common member.
    pub(crate) fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(&word, &more)| word & more != 0)
    }

    /// The set difference.
    pub(crate) fn without(&self, other: &Self) -> Self {
        Self { words: self.words.iter().zip(&other.words).map(|(&word, &less)| word & !less).collect() }
    }

    /// The terminals, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = TerminalId> {
        let mut index = 0;
        let mut rest = self.words.first().copied().unwrap_or(0);
        std::iter::from_fn(move || {
            while rest == 0 {
                index += 1;
                rest = *self.words.get(index)?;
            }
            let bit = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some(TerminalId::new(index * 64 + bit))
        })
    }
}

/// Replaces each set by the union of the sets of all nodes reachable along `successors`. Cost: linear in the edges.
pub(crate) fn union_over_reachable(sets: &mut [TerminalSet], successors: &[Vec<usize>]) {
    // Components are in reverse topological order.
    for members in strongly_connected_components(successors).members() {
        let Some((&first, others)) = members.split_first() else { continue };
        let mut union = std::mem::take(&mut sets[first]);
        for &member in &members {
            union.union_with(&sets[member]);
            for &next in &successors[member] {
                union.union_with(&sets[next]);
            }
        }
        for &member in others {
            sets[member] = union.clone();
        }
        sets[first] = union;
    }
}
