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
    /// Cost: linear in the size of the terms and tables, and 256 steps per different byte set in them.
    #[must_use]
    pub fn byte_classes(&self, terms: &[TermId]) -> [u8; 256] {
        let mut class_of = [0_u16; 256];
        let mut count = 1_u16;
        for set in self.byte_sets(terms) {
            // Members of a class that is split move to a new class, one per old class.
            let mut moved = [u16::MAX; 256];
            let mut left = [false; 256];
            for byte in (0..=u8::MAX).filter(|&byte| !set.contains(byte)) {
                left[usize::from(class_of[usize::from(byte)])] = true;
            }
            for byte in set.iter() {
                let class = &mut class_of[usize::from(byte)];
                if left[usize::from(*class)] {
                    let new = &mut moved[usize::from(*class)];
                    if *new == u16::MAX {
                        *new = count;
                        count += 1;
                    }
                    *class = *new;
                }
            }
        }
        in_order_of_first_bytes(&class_of)
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
