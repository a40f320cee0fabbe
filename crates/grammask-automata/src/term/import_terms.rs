//! Import of terms from another arena, for grammars that become parts of others.
//!
//! The normal form of a term does not depend on the arena (operands are sorted by content hash), so the smart
//! constructors are not needed: each subterm is interned with its operands replaced. Cost: linear in the number of
//! subterms. Tables are shared, not copied. What searches have established about a term is imported with it.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::term::arena::{TableId, Term, TermId, Terms};

impl Terms {
    /// Imports terms of another arena with their subterms; returns the new id of each.
    pub fn import_terms(&mut self, source: &Self, roots: &[TermId]) -> FxHashMap<TermId, TermId> {
        let mut tables: FxHashMap<TableId, TableId> = FxHashMap::default();
        let mut imported: FxHashMap<TermId, TermId> = FxHashMap::default();
        for term in source.subterms(roots) {
            let new = match self.find_by_hash(source.content_hash(term)) {
                Some(existing) => existing,
                None => {
                    // The content hash is known, so `intern` would only compute it again.
                    let form = match source.get(term) {
                        Term::Table { table, state } => {
                            let shared = tables
                                .entry(*table)
                                .or_insert_with(|| self.add_table(source.shared_table(*table).clone()));
                            Term::Table { table: *shared, state: *state }
                        }
                        form => form.map_operands(|part| imported[&part]),
                    };
                    self.push(form, source.content_hash(term))
                }
            };
            self.adopt_facts(new, source, term);
            imported.insert(term, new);
        }
        for code in &source.prefix_codes {
            if let Some(&code) = imported.get(code) {
                self.record_prefix_code(code);
            }
        }
        imported
    }

    /// The subterms of `roots`, operands first.
    fn subterms(&self, roots: &[TermId]) -> Vec<TermId> {
        let mut seen: FxHashSet<TermId> = roots.iter().copied().collect();
        let mut found: Vec<TermId> = seen.iter().copied().collect();
        let mut visited = 0;
        while let Some(&term) = found.get(visited) {
            visited += 1;
            self.get(term).for_each_operand(|part| {
                if seen.insert(part) {
                    found.push(part);
                }
            });
        }
        // A term has a higher id than its operands.
        found.sort_unstable();
        found
    }
}

impl Term {
    fn for_each_operand(&self, mut visit: impl FnMut(TermId)) {
        match self {
            &Self::Concat(head, tail) => {
                visit(head);
                visit(tail);
            }
            Self::Union(parts) | Self::Intersection(parts) => parts.iter().copied().for_each(visit),
            &(Self::Complement(term) | Self::FirstMatch(term) | Self::Repeat { term, .. }) => visit(term),
            Self::Nothing | Self::Epsilon | Self::Bytes(_) | Self::Literal(_) | Self::Table { .. } => {}
        }
    }

    /// The same operation with other operands.
    fn map_operands(&self, mut replace: impl FnMut(TermId) -> TermId) -> Self {
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
    fn imported_terms_have_the_same_content() {
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
        let imported = target.import_terms(&source, &[union, all, words]);
        for term in [union, all, words] {
            assert_eq!(target.content_hash(imported[&term]), source.content_hash(term));
            assert_eq!(target.display(imported[&term]), source.display(term));
        }
        assert_eq!(target.import_terms(&source, &[union])[&union], imported[&union]);
    }
}
