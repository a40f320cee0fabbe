//! Sets of code points as sorted ranges, and the partition of all code points that distinguishes some sets.

use rustc_hash::FxHashMap;

use grammask_collections::id_type;

/// The last code point.
const LAST: u32 = 0x10_FFFF;
/// First and last surrogate.
const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);

/// A set of code points without surrogates, which no UTF-8 text contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CodePointSet {
    /// First and last code point of each range; ascending and disjoint. Two ranges are adjacent only around the
    /// surrogates.
    ranges: Box<[(u32, u32)]>,
}

impl CodePointSet {
    /// The union of ranges (first and last code point), which may overlap, in any order. Code points above U+10FFFF
    /// are ignored.
    #[must_use]
    pub fn from_ranges(ranges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut sorted: Vec<(u32, u32)> = ranges
            .into_iter()
            .map(|(first, last)| (first, last.min(LAST)))
            .filter(|(first, last)| first <= last)
            .collect();
        sorted.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(sorted.len());
        for (first, last) in sorted {
            match merged.last_mut() {
                Some(previous) if first <= previous.1 + 1 => previous.1 = previous.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        let around_surrogates = merged.into_iter().flat_map(|(first, last)| {
            [(first, last.min(SURROGATES.0 - 1)), (first.max(SURROGATES.1 + 1), last)]
        });
        Self { ranges: around_surrogates.filter(|(first, last)| first <= last).collect() }
    }

    /// First and last code point of each range, in ascending order.
    #[must_use]
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether the set contains a code point.
    #[must_use]
    pub fn contains(&self, code_point: u32) -> bool {
        let next = self.ranges.partition_point(|&(first, _)| first <= code_point);
        next > 0 && code_point <= self.ranges[next - 1].1
    }

    /// The code points in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let (mut left, mut right) = (0, 0);
        let mut common = Vec::new();
        while let (Some(one), Some(another)) = (self.ranges.get(left), other.ranges.get(right)) {
            let (first, last) = (one.0.max(another.0), one.1.min(another.1));
            if first <= last {
                common.push((first, last));
            }
            if one.1 < another.1 {
                left += 1;
            } else {
                right += 1;
            }
        }
        Self { ranges: common.into() }
    }

    /// Whether the sets have a common code point.
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        let (mut left, mut right) = (0, 0);
        while let (Some(one), Some(another)) = (self.ranges.get(left), other.ranges.get(right)) {
            if one.1 < another.0 {
                left += 1;
            } else if another.1 < one.0 {
                right += 1;
            } else {
                return true;
            }
        }
        false
    }

    /// The code points that are not in the set.
    #[must_use]
    pub fn complement(&self) -> Self {
        let mut gaps = Vec::with_capacity(self.ranges.len() + 1);
        let mut next_free = 0;
        for &(first, last) in &self.ranges {
            if next_free < first {
                gaps.push((next_free, first - 1));
            }
            next_free = last + 1;
        }
        gaps.push((next_free, LAST));
        Self::from_ranges(gaps)
    }

    /// The code points of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.intersection(&other.complement())
    }

    /// The set as a character class in the syntax of [`regex`](crate::regex).
    pub(super) fn class_text(&self) -> String {
        use std::fmt::Write;
        if self.is_empty() {
            return "[a&&b]".to_owned();
        }
        let mut text = String::from("[");
        for &(first, last) in &self.ranges {
            let written = if first == last {
                write!(text, "\\x{{{first:X}}}")
            } else {
                write!(text, "\\x{{{first:X}}}-\\x{{{last:X}}}")
            };
            written.expect("a string accepts all text");
        }
        text.push(']');
        text
    }
}

id_type! {
    /// A part of a [`CodePointPartition`].
    CodePointPart
}

id_type! {
    /// One of the sets that a [`CodePointPartition`] distinguishes.
    DistinguishedSet
}

/// The coarsest partition of all code points in which each of some sets is a union of parts.
#[derive(Debug)]
pub(super) struct CodePointPartition {
    /// The parts, all nonempty, in the order of their first code points.
    pub(super) parts: Vec<CodePointSet>,
    sets: FxHashMap<CodePointSet, DistinguishedSet>,
    /// For each set, whether it includes each part.
    members: Vec<Box<[bool]>>,
}

impl CodePointPartition {
    pub(super) fn new<'a>(sets: impl IntoIterator<Item = &'a CodePointSet>) -> Self {
        let mut ids: FxHashMap<CodePointSet, DistinguishedSet> = FxHashMap::default();
        let mut distinct: Vec<&CodePointSet> = Vec::new();
        for set in sets {
            if !ids.contains_key(set) {
                ids.insert(set.clone(), DistinguishedSet::new(distinct.len()));
                distinct.push(set);
            }
        }
        let bounds =
            distinct.iter().flat_map(|set| set.ranges.iter().flat_map(|range| [range.0, range.1 + 1]));
        let mut starts: Vec<u32> = bounds.chain([0]).filter(|&start| start <= LAST).collect();
        starts.sort_unstable();
        starts.dedup();
        // Segments with the same containing sets form one part.
        let mut numbers: FxHashMap<Vec<usize>, usize> = FxHashMap::default();
        let mut segments: Vec<Vec<(u32, u32)>> = Vec::new();
        let mut cursors = vec![0; distinct.len()];
        for (index, &start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).map_or(LAST, |next| next - 1);
            let mut containing = Vec::new();
            for (number, (set, cursor)) in distinct.iter().zip(&mut cursors).enumerate() {
                while set.ranges.get(*cursor).is_some_and(|range| range.1 < start) {
                    *cursor += 1;
                }
                if set.ranges.get(*cursor).is_some_and(|range| range.0 <= start) {
                    containing.push(number);
                }
            }
            let number = *numbers.entry(containing).or_insert(segments.len());
            if number == segments.len() {
                segments.push(Vec::new());
            }
            segments[number].push((start, end));
        }
        let mut containing = vec![Vec::new(); segments.len()];
        for (sets, number) in numbers {
            containing[number] = sets;
        }
        let (parts, containing): (Vec<CodePointSet>, Vec<Vec<usize>>) = segments
            .into_iter()
            .map(CodePointSet::from_ranges)
            .zip(containing)
            .filter(|(part, _)| !part.is_empty())
            .unzip();
        let mut members = vec![vec![false; parts.len()].into_boxed_slice(); distinct.len()];
        for (part, sets) in containing.iter().enumerate() {
            sets.iter().for_each(|&set| members[set][part] = true);
        }
        Self { parts, sets: ids, members }
    }

    /// The id of one of the sets that the partition was constructed from.
    pub(super) fn set(&self, set: &CodePointSet) -> DistinguishedSet {
        self.sets[set]
    }

    /// Whether a set includes a part.
    pub(super) fn includes(&self, set: DistinguishedSet, part: CodePointPart) -> bool {
        self.members[set.index()][part.index()]
    }

    /// All parts.
    pub(super) fn ids(&self) -> impl Iterator<Item = CodePointPart> + use<> {
        (0..self.parts.len()).map(CodePointPart::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_no_surrogates() {
        let all = CodePointSet::default().complement();
        assert_eq!(all.ranges(), [(0, 0xD7FF), (0xE000, LAST)]);
        assert!(all.complement().is_empty());
        let surrogate = CodePointSet::from_ranges([(0xDC80, 0xDC80)]);
        assert!(surrogate.is_empty() && surrogate.complement() == all);
    }

    #[test]
    fn operations_are_those_of_sets() {
        let left = CodePointSet::from_ranges([(10, 20), (30, 40), (21, 22)]);
        let right = CodePointSet::from_ranges([(15, 35)]);
        assert_eq!(left.ranges(), [(10, 22), (30, 40)]);
        assert_eq!(left.intersection(&right).ranges(), [(15, 22), (30, 35)]);
        assert_eq!(left.difference(&right).ranges(), [(10, 14), (36, 40)]);
        assert!(left.intersects(&right) && !left.intersects(&CodePointSet::from_ranges([(23, 29)])));
        for code_point in 0..60 {
            assert_eq!(left.contains(code_point), !left.complement().contains(code_point));
        }
    }

    #[test]
    fn sets_are_unions_of_parts() {
        let sets = [[(1, 5), (8, 9)], [(4, 8), (0x1_0000, LAST)], [(4, 5), (8, 8)]];
        let sets = sets.map(CodePointSet::from_ranges);
        let partition = CodePointPartition::new(&sets);
        for set in &sets {
            let id = partition.set(set);
            let own = partition.ids().filter(|&part| partition.includes(id, part));
            let ranges = own.flat_map(|part| partition.parts[part.index()].ranges().to_vec());
            assert_eq!(&CodePointSet::from_ranges(ranges), set);
        }
        // The parts are: outside of all sets; only the first; all; only the second.
        assert_eq!(partition.parts.len(), 4);
    }
}
