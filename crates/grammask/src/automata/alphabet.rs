//! The bytes that a set of languages cannot tell apart, as classes: what makes transition tables narrow.
//!
//! Derivatives are built from the same byte sets, words and tables as their terms, so classes that hold for
//! the terms hold for every state that they reach.

use rustc_hash::{FxHashMap, FxHashSet};

use super::byte_set::ByteSet;
use super::term::{Term, TermId, Terms};

impl Terms {
    /// A class for each byte, numbered from 0 in order of first bytes; bytes of one class are interchangeable
    /// in all words of `terms`.
    ///
    /// Cost: linear in the size of the terms and tables, and for each different byte set in them a step per run of bytes
    /// that all sets treat alike.
    #[must_use]
    pub fn byte_classes(&self, terms: &[TermId]) -> [u8; 256] {
        let (sets, single) = self.byte_sets(terms);
        // Between two boundaries of all sets bytes are alike, so one byte of each interval is enough.
        let boundaries = sets.iter().fold(ByteSet::single(0), |all, set| all.union(set.boundaries()));
        let boundaries =
            single.iter().fold(boundaries, |all, byte| all.union(ByteSet::single(byte).boundaries()));
        let starts: Vec<u8> = boundaries.iter().collect();
        // In which of the sets each interval is, as bits; then bytes that are told apart from all others.
        let words = (sets.len() + 1).div_ceil(64) + 1;
        let mut membership = vec![0_u64; starts.len() * words];
        for (index, set) in sets.iter().enumerate() {
            for (&start, row) in starts.iter().zip(membership.chunks_exact_mut(words)) {
                row[index / 64] |= u64::from(set.contains(start)) << (index % 64);
            }
        }
        for (&start, row) in starts.iter().zip(membership.chunks_exact_mut(words)) {
            row[words - 1] = if single.contains(start) { u64::from(start) + 1 } else { 0 };
        }
        let mut known: FxHashMap<&[u64], u8> = FxHashMap::default();
        let mut classes = [0; 256];
        for (&start, row) in starts.iter().zip(membership.chunks_exact(words)) {
            // There are at most 256 intervals.
            let next = known.len() as u8;
            classes[usize::from(start)..].fill(*known.entry(row).or_insert(next));
        }
        classes
    }

    /// All different byte sets that the terms and their tables test for; those of one byte together.
    fn byte_sets(&self, terms: &[TermId]) -> (FxHashSet<ByteSet>, ByteSet) {
        let mut single = ByteSet::EMPTY;
        let mut sets = FxHashSet::default();
        // The ranges of tables, as a set of bits.
        let mut ranges = vec![0_u64; 1024];
        let mut tables = FxHashSet::default();
        let mut seen: FxHashSet<TermId> = terms.iter().copied().collect();
        let mut stack: Vec<TermId> = terms.to_vec();
        while let Some(term) = stack.pop() {
            let children: &[TermId] = match self.get(term) {
                Term::Nothing | Term::Epsilon => &[],
                Term::Bytes(set) => {
                    match set.only() {
                        Some(byte) => single.insert(byte),
                        None => {
                            sets.insert(*set);
                        }
                    }
                    &[]
                }
                Term::Literal(chunk) => {
                    chunk.as_slice().iter().for_each(|&byte| single.insert(byte));
                    &[]
                }
                Term::Table { table, .. } => {
                    if tables.insert(table.index()) {
                        for (low, high) in self.get_table(*table).ranges() {
                            if low == high {
                                single.insert(low);
                            } else {
                                let bit = usize::from(low) << 8 | usize::from(high);
                                if ranges[bit / 64] >> (bit % 64) & 1 == 0 {
                                    ranges[bit / 64] |= 1 << (bit % 64);
                                    sets.insert(ByteSet::range(low, high));
                                }
                            }
                        }
                    }
                    &[]
                }
                Term::Concat(first, second) => &[*first, *second],
                Term::Union(parts) | Term::Intersection(parts) => parts,
                Term::Complement(term) | Term::Repeat { term, .. } | Term::FirstMatch(term) => &[*term],
            };
            stack.extend(children.iter().filter(|&&child| seen.insert(child)));
        }
        (sets, single)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_the_coarsest() {
        let mut terms = Terms::new();
        let mut vowels = ByteSet::EMPTY;
        for byte in *b"aeiou" {
            vowels.insert(byte);
        }
        let vowels = terms.bytes(vowels);
        let ab = terms.literal(b"ab");
        let both = terms.concat(&[vowels, ab]);
        let classes = terms.byte_classes(&[both]);
        let class = |byte: u8| classes[usize::from(byte)];
        assert_eq!(class(b'e'), class(b'u'));
        assert_ne!(class(b'a'), class(b'e'));
        assert_ne!(class(b'b'), class(b'c'));
        assert_eq!(class(b'c'), class(0xff));
        assert_eq!(classes.iter().max(), Some(&3));
        assert_eq!(terms.byte_classes(&[]), [0; 256]);
    }

    #[test]
    fn all_bytes_may_be_different() {
        let mut terms = Terms::new();
        let mut all = Vec::new();
        for byte in 0..=u8::MAX {
            all.push(terms.bytes(ByteSet::single(byte)));
            all.push(terms.bytes(ByteSet::range(0, byte)));
        }
        let expected: Vec<u8> = (0..=u8::MAX).collect();
        assert_eq!(terms.byte_classes(&all)[..], expected);
    }
}
