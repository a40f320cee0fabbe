//! Which of several languages have words in common: the sets of languages that some word belongs to.
//!
//! The languages are read at once, as in the product construction, but a state holds only the languages that are still
//! alive. Constants and words with different beginnings are separated in one walk over their common trie, where
//! comparing each pair reads common beginnings once per pair.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::values::scalar_languages::ScalarLanguages;
use grammask_automata::{StateId, TermId};
use grammask_diagnostics::LimitExceeded;

/// Bound on the number of joint states.
const MAX_JOINT_STATES: usize = 20_000;

/// The languages by index, in ascending order.
pub(crate) type LanguageSet = Box<[u32]>;

impl ScalarLanguages {
    /// For each word of a language: the languages of `terms` that it belongs to, without duplicates. `None` if this takes too
    /// many states, or there are more than `max_sets` of them.
    pub(crate) fn joint_membership(
        &mut self,
        terms: &[TermId],
        max_sets: usize,
    ) -> Result<Option<FxHashSet<LanguageSet>>, LimitExceeded> {
        let mut first: Vec<(u32, StateId)> = Vec::new();
        for (index, &term) in (0..).zip(terms) {
            first.extend(self.automata.start(term)?.map(|state| (index, state)));
        }
        let mut found: FxHashSet<LanguageSet> = FxHashSet::default();
        let mut visited: FxHashSet<Box<[(u32, StateId)]>> = FxHashSet::default();
        let mut pending: Vec<Box<[(u32, StateId)]>> = vec![first.into()];
        while let Some(joint) = pending.pop() {
            if joint.is_empty() || visited.contains(&joint) {
                continue;
            }
            if visited.len() >= MAX_JOINT_STATES {
                return Ok(None);
            }
            let accepting = joint.iter().filter(|&&(_, state)| self.automata.is_accepting(state));
            let accepting: LanguageSet = accepting.map(|&(index, _)| index).collect();
            if !accepting.is_empty() {
                found.insert(accepting);
                if found.len() > max_sets {
                    return Ok(None);
                }
            }
            let mut by_byte: FxHashMap<u8, Vec<(u32, StateId)>> = FxHashMap::default();
            for &(index, state) in &joint {
                for (bytes, target) in self.automata.successors(state)? {
                    for byte in bytes.iter() {
                        by_byte.entry(byte).or_default().push((index, target));
                    }
                }
            }
            let targets: FxHashSet<Box<[(u32, StateId)]>> = by_byte.into_values().map(Into::into).collect();
            pending.extend(targets);
            visited.insert(joint);
        }
        Ok(Some(found))
    }
}
