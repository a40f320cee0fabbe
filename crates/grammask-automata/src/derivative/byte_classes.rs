//! Byte classes: an equivalence relation on bytes that no term of a set distinguishes. They keep transition tables
//! narrow.
//!
//! A derivative consists of byte sets, words and tables of its term, so the classes of a term are valid for every
//! state that it reaches.

use rustc_hash::FxHashSet;

use crate::byte_ranges::ByteRanges;
use crate::term::arena::{Term, TermId, Terms};
use grammask_collections::byte_set::ByteSet;

impl Terms {
    /// The class of each byte, numbered from 0 in order of first bytes. Bytes of one class are interchangeable in all
    /// words of `terms`.
    ///
    /// Cost: linear in the number of subterms, and number of distinct byte sets times number of classes. Tables are
    /// scanned once and memoise their ranges.
    #[must_use]
    pub fn byte_classes(&self, terms: &[TermId]) -> [u8; 256] {
        let (sets, single) = self.byte_sets(terms);
        // No set distinguishes bytes between two boundaries, so the first byte of each interval represents it.
        let boundaries = sets.iter().fold(ByteSet::single(0), |all, set| all.union(set.boundaries()));
        let starts = boundaries.union(single).union(single.boundaries());
        // Refines the partition of the other starts until each set is a union of blocks. There are at most 256 blocks.
        let mut blocks = vec![starts.without(single)];
        for set in sets {
            for index in 0..blocks.len() {
                let (inside, outside) = (blocks[index].intersection(set), blocks[index].without(set));
                if !inside.is_empty() && !outside.is_empty() {
                    blocks[index] = inside;
                    blocks.push(outside);
                }
            }
        }
        let mut block_of = [None; 256];
        for (index, block) in blocks.iter().enumerate() {
            block.iter().for_each(|start| block_of[usize::from(start)] = Some(index));
        }
        let mut class_of_block = vec![None; blocks.len()];
        // There are at most 256 intervals, hence at most 256 classes.
        let (mut classes, mut count) = ([0; 256], 0_u16);
        let mut new_class = || {
            count += 1;
            (count - 1) as u8
        };
        let (mut begin, mut class) = (0, 0);
        for start in starts.iter() {
            let start = usize::from(start);
            classes[begin..start].fill(class);
            begin = start;
            class = match block_of[start] {
                Some(block) => *class_of_block[block].get_or_insert_with(&mut new_class),
                None => new_class(),
            };
        }
        classes[begin..].fill(class);
        classes
    }

    /// The byte sets in the terms and their tables, mostly without duplicates, and the union of the one-byte sets.
    fn byte_sets(&self, terms: &[TermId]) -> (Vec<ByteSet>, ByteSet) {
        let mut single = ByteSet::EMPTY;
        let (mut sets, mut seen_sets) = (Vec::new(), FxHashSet::default());
        let mut ranges = ByteRanges::default();
        let mut tables = FxHashSet::default();
        let mut is_new = vec![true; self.len()];
        let mut stack: Vec<TermId> = terms.to_vec();
        while let Some(term) = stack.pop() {
            let term = self.get(term);
            match term {
                Term::Bytes(set) => match set.only() {
                    Some(byte) => single.insert(byte),
                    None => sets.extend(seen_sets.insert(*set).then_some(*set)),
                },
                Term::Literal(chunk) => chunk.as_slice().iter().for_each(|&byte| single.insert(byte)),
                Term::Table { table, .. } if tables.insert(table.index()) => {
                    for &(low, high) in self.get_table(*table).ranges() {
                        if low == high {
                            single.insert(low);
                        } else if ranges.insert(low, high) {
                            sets.push(ByteSet::range(low, high));
                        }
                    }
                }
                _ => {}
            }
            let mut is_unvisited = |part: &TermId| std::mem::replace(&mut is_new[part.index()], false);
            stack.extend(term.operands().filter(&mut is_unvisited));
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
    fn bytes_that_no_set_distinguishes_have_one_class() {
        let mut terms = Terms::new();
        let (mut all, mut sets) = (Vec::new(), Vec::new());
        for number in 0..24_u32 {
            let byte = |number: u32| u8::try_from(number % 256).expect("below 256");
            let low = byte(number * 37);
            let range = ByteSet::range(low, low.saturating_add(byte(number * 13 % 60)));
            let set = range.union(ByteSet::single(byte(number * 91)));
            all.push(terms.bytes(set));
            // A table whose edges have one byte each.
            let words = [[byte(number * 5), byte(number * 7)], [byte(number * 11), 0]];
            all.push(terms.literals(&words));
            sets.push(set);
            sets.extend(words.as_flattened().iter().map(|&byte| ByteSet::single(byte)));
            let classes = terms.byte_classes(&all);
            let mut count = 0;
            for byte in 0..=u8::MAX {
                let class = classes[usize::from(byte)];
                assert!(class <= count, "classes are numbered in order of their first bytes");
                count = count.max(class + 1);
                for other in 0..byte {
                    let are_equivalent = sets.iter().all(|set| set.contains(byte) == set.contains(other));
                    assert_eq!(class == classes[usize::from(other)], are_equivalent, "{byte} and {other}");
                }
            }
        }
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
