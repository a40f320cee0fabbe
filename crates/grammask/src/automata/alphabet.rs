//! The bytes that a set of languages cannot tell apart, as classes: what makes transition tables narrow.
//!
//! Derivatives are built from the same byte sets, words and tables as their terms, so classes that hold for
//! the terms hold for every state that they reach.

use rustc_hash::FxHashSet;

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
        let sets = self.byte_sets(terms);
        // Between two boundaries of all sets bytes are alike, so one byte of each interval is enough.
        let boundaries = sets.iter().fold(ByteSet::single(0), |all, set| all.union(set.boundaries()));
        let starts: Vec<u8> = boundaries.iter().collect();
        let mut class_of = vec![0_usize; starts.len()];
        let mut count = 1;
        // For each class the class of its members that are in the set, and whether others are left.
        let mut moved: Vec<Option<usize>> = Vec::new();
        let mut left: Vec<bool> = Vec::new();
        for set in sets {
            if count == starts.len() {
                break;
            }
            moved.clear();
            moved.resize(count, None);
            left.clear();
            left.resize(count, false);
            for (&start, &class) in starts.iter().zip(&class_of) {
                left[class] |= !set.contains(start);
            }
            for (&start, class) in starts.iter().zip(&mut class_of) {
                if set.contains(start) && left[*class] {
                    *class = *moved[*class].get_or_insert_with(|| {
                        count += 1;
                        count - 1
                    });
                }
            }
        }
        let mut classes = [0; 256];
        for (&start, class) in starts.iter().zip(class_of) {
            classes[usize::from(start)..].fill(class as u16);
        }
        in_order_of_first_bytes(&classes)
    }

    /// All different byte sets that the terms and their tables test for.
    fn byte_sets(&self, terms: &[TermId]) -> FxHashSet<ByteSet> {
        let mut sets = FxHashSet::default();
        let mut ranges = FxHashSet::default();
        let mut tables = FxHashSet::default();
        let mut seen: FxHashSet<TermId> = terms.iter().copied().collect();
        let mut stack: Vec<TermId> = terms.to_vec();
        while let Some(term) = stack.pop() {
            let children: &[TermId] = match self.get(term) {
                Term::Nothing | Term::Epsilon => &[],
                Term::Bytes(set) => {
                    sets.insert(*set);
                    &[]
                }
                Term::Literal(chunk) => {
                    ranges.extend(chunk.as_slice().iter().map(|&byte| (byte, byte)));
                    &[]
                }
                Term::Table { table, .. } => {
                    if tables.insert(table.index()) {
                        ranges.extend(self.get_table(*table).ranges());
                    }
                    &[]
                }
                Term::Concat(first, second) => &[*first, *second],
                Term::Union(parts) | Term::Intersection(parts) => parts,
                Term::Complement(term) | Term::Repeat { term, .. } | Term::FirstMatch(term) => &[*term],
            };
            stack.extend(children.iter().filter(|&&child| seen.insert(child)));
        }
        sets.extend(ranges.into_iter().map(|(low, high)| ByteSet::range(low, high)));
        sets
    }
}

fn in_order_of_first_bytes(class_of: &[u16; 256]) -> [u8; 256] {
    let mut names = [u16::MAX; 256];
    let mut count = 0;
    class_of.map(|class| {
        let name = &mut names[usize::from(class)];
        if *name == u16::MAX {
            *name = count;
            count += 1;
        }
        // There are at most 256 classes of bytes.
        *name as u8
    })
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
}
