//! The operands of terms, and values that follow from those of the operands.

use rustc_hash::FxHashMap;

use crate::term::arena::{Term, TermId, Terms};

impl Term {
    /// The operands, in order.
    pub(crate) fn operands(&self) -> impl Iterator<Item = TermId> + '_ {
        let (pair, list): ([Option<TermId>; 2], &[TermId]) = match self {
            Self::Nothing | Self::Epsilon | Self::Bytes(_) | Self::Literal(_) | Self::Table { .. } => {
                ([None, None], &[])
            }
            &Self::Concat(head, tail) => ([Some(head), Some(tail)], &[]),
            &(Self::Complement(term) | Self::Repeat { term, .. } | Self::FirstMatch(term)) => {
                ([Some(term), None], &[])
            }
            Self::Union(parts) | Self::Intersection(parts) => ([None, None], parts),
        };
        pair.into_iter().flatten().chain(list.iter().copied())
    }
}

impl Terms {
    /// The value of a term, computed from those of its operands, which `compute` finds in the map. `known` has the values
    /// of other terms of this arena, and is extended.
    ///
    /// Cost: linear in the subterms that are not known.
    pub(crate) fn fold<T: Copy>(
        &self,
        term: TermId,
        known: &mut FxHashMap<TermId, T>,
        compute: impl Fn(TermId, &FxHashMap<TermId, T>) -> T,
    ) -> T {
        // Not recursive, since terms may be deep.
        let mut pending = vec![term];
        while let Some(&term) = pending.last() {
            let before = pending.len();
            if !known.contains_key(&term) {
                pending.extend(self.get(term).operands().filter(|part| !known.contains_key(part)));
                if pending.len() > before {
                    continue;
                }
                known.insert(term, compute(term, known));
            }
            pending.pop();
        }
        known[&term]
    }
}
