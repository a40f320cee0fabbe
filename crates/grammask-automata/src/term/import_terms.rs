//! Makes terms of one arena again in another, where grammars are joined.
//!
//! The forms of terms do not depend on the arena (operands are sorted by content), so each term is interned as it is.
//! Cost: linear in the terms below the wanted ones; ready-made automata are shared.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::term::arena::{TableId, Term, TermId, Terms};

impl Terms {
    /// Makes `wanted`, which are terms of `source`, here; returns their ids in both arenas.
    pub fn adopt(&mut self, source: &Self, wanted: &[TermId]) -> FxHashMap<TermId, TermId> {
        let mut tables: FxHashMap<TableId, TableId> = FxHashMap::default();
        let mut adopted: FxHashMap<TermId, TermId> = FxHashMap::default();
        for term in source.below(wanted) {
            let new = match self.with_hash(source.content_hash(term)) {
                Some(known) => known,
                None => {
                    let form = match source.get(term) {
                        Term::Table { table, state } => {
                            let shared = tables
                                .entry(*table)
                                .or_insert_with(|| self.keep_table(source.shared_table(*table).clone()));
                            Term::Table { table: *shared, state: *state }
                        }
                        form => form.with_parts(|part| adopted[&part]),
                    };
                    self.intern(form)
                }
            };
            adopted.insert(term, new);
        }
        adopted
    }

    /// The terms that `wanted` are made of and themselves, parts first.
    fn below(&self, wanted: &[TermId]) -> Vec<TermId> {
        let mut found: FxHashSet<TermId> = FxHashSet::default();
        let mut stack: Vec<TermId> = wanted.to_vec();
        while let Some(term) = stack.pop() {
            if found.insert(term) {
                let _ = self.get(term).with_parts(|part| {
                    stack.push(part);
                    part
                });
            }
        }
        let mut found: Vec<TermId> = found.into_iter().collect();
        // A term is interned after its parts.
        found.sort_unstable();
        found
    }
}

impl Term {
    /// The same term with other parts.
    fn with_parts(&self, mut replace: impl FnMut(TermId) -> TermId) -> Self {
        match self {
            Self::Concat(head, tail) => Self::Concat(replace(*head), replace(*tail)),
            Self::Union(parts) => Self::Union(parts.iter().map(|&part| replace(part)).collect()),
            Self::Intersection(parts) => {
                Self::Intersection(parts.iter().map(|&part| replace(part)).collect())
            }
            Self::Complement(part) => Self::Complement(replace(*part)),
            Self::FirstMatch(part) => Self::FirstMatch(replace(*part)),
            &Self::Repeat { term, min, max } => Self::Repeat { term: replace(term), min, max },
            Self::Nothing | Self::Epsilon | Self::Bytes(_) | Self::Literal(_) | Self::Table { .. } => {
                self.clone()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ByteSet;

    #[test]
    fn adopted_terms_have_the_same_content() {
        let mut source = Terms::new();
        let words = source.literals(&["ab", "ac", "b"]);
        let digits = source.bytes(ByteSet::range(b'0', b'9'));
        let number = source.repeat(digits, 1, Some(3));
        let both = source.concat(&[words, number]);
        let outside = source.complement(both);
        let first = source.first_match(both);
        let union = source.union(&[first, number]);
        let text = source.text();
        let all = source.intersection(&[outside, text]);
        let mut target = Terms::new();
        target.literal(b"something that shifts the ids");
        let adopted = target.adopt(&source, &[union, all, words]);
        for term in [union, all, words] {
            assert_eq!(target.content_hash(adopted[&term]), source.content_hash(term));
            assert_eq!(target.display(adopted[&term]), source.display(term));
        }
        assert_eq!(target.adopt(&source, &[union])[&union], adopted[&union]);
    }
}
