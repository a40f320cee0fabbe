//! Arithmetic of repetition counts, and the union laws that keep counted repetitions small.
//!
//! After some bytes of `(a|aa){0,1000}` the derivatives are the same repetition with many ranges of remaining
//! counts. Where two operands of a union differ in one range only, and the ranges overlap or touch, the union
//! is one operand with the hull of both ranges; so such a term keeps a handful of operands, whatever the
//! bounds are. The counting sets of Turoňová et al., "Regex matching with counting-set automata" (2020),
//! exploit the same structure.

use crate::term::arena::{Term, TermId, Terms};

/// The fewest and the most copies; no most is any number.
pub(crate) type Counts = (u32, Option<u32>);

/// Exactly one copy.
pub(crate) const ONCE: Counts = (1, Some(1));

/// The counts of one repetition after the other; none where they do not fit.
pub(crate) fn add_counts(first: Counts, second: Counts) -> Option<Counts> {
    let max = match (first.1, second.1) {
        (Some(one), Some(other)) => Some(one.checked_add(other)?),
        _ => None,
    };
    Some((first.0.checked_add(second.0)?, max))
}

/// The counts of `inner`, repeated `outer` times, where all sums of them form one range that fits.
pub(crate) fn multiply_counts(inner: Counts, outer: Counts) -> Option<Counts> {
    if outer.1 == Some(0) || inner.1 == Some(0) {
        return Some((0, Some(0)));
    }
    // The ranges of k and k + 1 copies meet for every k from outer.0 on, if they meet for k = outer.0.
    let has_gap = inner.1.is_some_and(|most| {
        u64::from(outer.0) * u64::from(most) + 1 < (u64::from(outer.0) + 1) * u64::from(inner.0)
    }) || (inner.1.is_none() && outer.0 == 0 && inner.0 > 1);
    if has_gap && outer.1 != Some(outer.0) {
        return None;
    }
    let max = match (inner.1, outer.1) {
        (Some(most), Some(times)) => Some(most.checked_mul(times)?),
        _ => None,
    };
    Some((inner.0.checked_mul(outer.0)?, max))
}

/// Elements of a chain that are looked at.
const WINDOW: usize = 12;

/// An operand of a union, cut at one of its repetitions.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cut {
    place: Place,
    counts: (u64, u64),
    operand: TermId,
}

/// What stands around the counts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    prefix: Vec<TermId>,
    repeated: TermId,
    tail: TermId,
}

const UNBOUNDED: u64 = u64::MAX;

impl Terms {
    /// Merges operands of a union that differ in one range of counts. `epsilon` says that the empty word is
    /// an operand too. Returns whether anything changed; the result depends on the set of operands only.
    pub(crate) fn merge_counters(&mut self, operands: &mut Vec<TermId>, epsilon: bool) -> bool {
        if operands.len() + usize::from(epsilon) < 2 {
            return false;
        }
        let mut changed = false;
        for nth in 0.. {
            let mut cuts: Vec<Cut> = operands.iter().filter_map(|&operand| self.cut(operand, nth)).collect();
            if cuts.is_empty() {
                break;
            }
            cuts.sort_unstable();
            let (mut removed, mut added) = (Vec::new(), Vec::new());
            for group in cuts.chunk_by(|one, other| one.place == other.place) {
                self.merge_group(group, operands, epsilon, &mut removed, &mut added);
            }
            if !added.is_empty() {
                operands.retain(|operand| !removed.contains(operand));
                operands.extend(added);
                changed = true;
            }
        }
        changed
    }

    /// Finds the maximal ranges of a group of operands that differ in one range only.
    fn merge_group(
        &mut self,
        group: &[Cut],
        operands: &[TermId],
        epsilon: bool,
        removed: &mut Vec<TermId>,
        added: &mut Vec<TermId>,
    ) {
        let place = &group[0].place;
        let mut ranges: Vec<_> = group.iter().map(|cut| (cut.counts, cut.operand)).collect();
        if place.prefix.is_empty() {
            let is_operand = |term| operands.contains(&term) || term == TermId::EPSILON && epsilon;
            if is_operand(place.tail) {
                ranges.push(((0, 0), place.tail));
            }
            if place.tail == TermId::EPSILON && is_operand(place.repeated) {
                ranges.push(((1, 1), place.repeated));
            }
        }
        ranges.sort_unstable();
        let mut rest = &ranges[..];
        while let [((min, first_max), first), others @ ..] = rest {
            let (mut joined, mut max) = (0, *first_max);
            for ((low, high), _) in others {
                if *low > max.saturating_add(1) {
                    break;
                }
                max = max.max(*high);
                joined += 1;
            }
            if joined > 0 {
                removed.push(*first);
                removed.extend(others[..joined].iter().map(|(_, operand)| *operand));
                added.push(self.uncut(place, (*min, max)));
            }
            rest = &others[joined..];
        }
    }

    /// The operand cut at its `nth` repetition.
    fn cut(&self, operand: TermId, nth: usize) -> Option<Cut> {
        let (mut rest, mut prefix, mut seen) = (operand, Vec::new(), 0);
        for _ in 0..WINDOW {
            let (head, tail) = self.split(rest);
            match *self.get(head) {
                // Options are no counters.
                Term::Repeat { max: Some(1), .. } => {}
                Term::Repeat { .. } if seen < nth => seen += 1,
                Term::Repeat { term, min, max } => {
                    let counts = (u64::from(min), max.map_or(UNBOUNDED, u64::from));
                    return Some(Cut { place: Place { prefix, repeated: term, tail }, counts, operand });
                }
                _ => {}
            }
            if tail == TermId::EPSILON {
                return None;
            }
            prefix.push(head);
            rest = tail;
        }
        None
    }

    fn uncut(&mut self, place: &Place, counts: (u64, u64)) -> TermId {
        let bound = |count: u64| u32::try_from(count).expect("a bound of one of the merged ranges");
        let max = (counts.1 != UNBOUNDED).then(|| bound(counts.1));
        let repeat = self.repeat(place.repeated, bound(counts.0), max);
        let mut parts = place.prefix.clone();
        parts.extend([repeat, place.tail]);
        self.concat(&parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_ranges_are_ranges_or_refused() {
        for (low, high) in [(0, 0), (0, 1), (0, 3), (1, 1), (1, 2), (2, 2), (2, 3), (3, 7)] {
            for (min, max) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 3), (2, 2), (2, 4), (5, 6)] {
                let mut sums = std::collections::BTreeSet::new();
                for times in min..=max {
                    sums.extend(times * low..=times * high);
                }
                let (first, last) = (*sums.first().unwrap(), *sums.last().unwrap());
                let is_range = sums.len() == (last - first + 1) as usize;
                let expected = is_range.then_some((first, Some(last)));
                let product = multiply_counts((low, Some(high)), (min, Some(max)));
                assert_eq!(product, expected, "{low},{high} times {min},{max}");
            }
        }
        assert_eq!(multiply_counts((2, None), (0, Some(3))), None);
        assert_eq!(multiply_counts((1, None), (0, None)), Some((0, None)));
        assert_eq!(multiply_counts((2, None), (3, Some(4))), Some((6, None)));
        assert_eq!(multiply_counts((1 << 20, Some(1 << 20)), (1 << 20, Some(1 << 20))), None);
    }
}
