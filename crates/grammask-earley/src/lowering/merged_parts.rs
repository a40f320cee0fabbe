//! The parts of merged terminals, for messages: of `"a" digit` a state knows whether it is in `"a"` or in `digit`.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use grammask_automata::TermId;

/// Maximum depth of merges in merges whose parts are told apart; deeper ones are one part.
const MAX_DEPTH: usize = 64;

/// Maximum number of parts that are told apart: parts of parts may be shared, so their number can be exponential.
const MAX_PARTS: usize = 64;

/// A part of a merged terminal.
#[derive(Clone, Debug)]
pub struct MergedPart {
    /// Its language.
    pub term: TermId,
    /// Its notation in the grammar.
    pub label: Arc<str>,
}

/// How the language of a terminal was made.
#[derive(Clone, Debug)]
pub enum Merge {
    /// As the concatenation of two languages.
    Neighbours([MergedPart; 2]),
    /// As the union of languages.
    Alternatives(Vec<MergedPart>),
}

/// The merged languages of a grammar.
#[derive(Clone, Debug, Default)]
pub struct Merges {
    by_term: FxHashMap<TermId, Merge>,
}

impl Merges {
    /// Records how a language was made, unless it is one of the parts. Of equal languages the first counts.
    pub fn record(&mut self, whole: TermId, merge: Merge) {
        let parts = match &merge {
            Merge::Neighbours(parts) => &parts[..],
            Merge::Alternatives(parts) => parts,
        };
        if parts.iter().all(|part| part.term != whole) {
            self.by_term.entry(whole).or_insert(merge);
        }
    }

    /// The parts of a language, if it was merged from a few.
    pub(super) fn parts_of(&self, whole: TermId) -> Option<PartSequence> {
        self.by_term.get(&whole)?;
        let mut sequence = PartSequence::default();
        let whole = MergedPart { term: whole, label: Arc::from("") };
        sequence.first = self.add_parts(&mut sequence, &whole, &[], MAX_DEPTH);
        (sequence.parts.len() < MAX_PARTS).then_some(sequence)
    }

    /// Adds the parts of a language before those at `after`, and returns the first ones.
    fn add_parts(
        &self,
        sequence: &mut PartSequence,
        part: &MergedPart,
        after: &[usize],
        depth: usize,
    ) -> Vec<usize> {
        match self.by_term.get(&part.term).filter(|_| depth > 0 && sequence.parts.len() < MAX_PARTS) {
            Some(Merge::Neighbours([left, right])) => {
                let right = self.add_parts(sequence, right, after, depth - 1);
                self.add_parts(sequence, left, &right, depth - 1)
            }
            Some(Merge::Alternatives(parts)) => {
                parts.iter().flat_map(|part| self.add_parts(sequence, part, after, depth - 1)).collect()
            }
            None => {
                sequence.parts.push(part.clone());
                sequence.after.push(after.to_vec());
                vec![sequence.parts.len() - 1]
            }
        }
    }
}

/// The parts of a merged terminal in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartSequence {
    /// The parts.
    pub(crate) parts: Vec<MergedPart>,
    /// The indices of the parts with which a text can begin.
    pub(crate) first: Vec<usize>,
    /// For each part, the indices of those that can follow it.
    pub(crate) after: Vec<Vec<usize>>,
}
