//! Arithmetic of repetition counts, and the law of union that bounds the derivatives of counted repetitions.
//!
//! The derivatives of `(a|aa){0,1000}` are unions of the same repetition with different ranges of remaining counts. If
//! two operands of a union differ in one range only, and the ranges overlap or are adjacent, one operand with the
//! hull of both ranges replaces them. The number of operands is then independent of the bounds. Turoňová et al.,
//! "Regex matching with counting-set automata" (2020), exploit the same structure with counting sets.

use crate::term::arena::{Term, TermId, Terms};

/// Minimum and maximum number of copies; `None` is unbounded.
pub(crate) type Counts = (u32, Option<u32>);

/// Exactly one copy.
pub(crate) const ONCE: Counts = (1, Some(1));

/// The counts of the concatenation of two repetitions of one term; `None` on overflow.
pub(crate) fn add_counts(first: Counts, second: Counts) -> Option<Counts> {
    let max = match (first.1, second.1) {
        (Some(one), Some(other)) => Some(one.checked_add(other)?),
        _ => None,
    };
    Some((first.0.checked_add(second.0)?, max))
}

/// The counts of a repetition of a repetition; `None` on overflow, and if the possible counts do not form one range.
pub(crate) fn multiply_counts(inner: Counts, outer: Counts) -> Option<Counts> {
    if outer.1 == Some(0) || inner.1 == Some(0) {
        return Some((0, Some(0)));
    }
    // The ranges for k and for k + 1 outer copies are contiguous for every k >= outer.0 if they are for k = outer.0.
    let has_gap = inner.1.is_some_and(|max| {
        u64::from(outer.0) * u64::from(max) + 1 < (u64::from(outer.0) + 1) * u64::from(inner.0)
    }) || (inner.1.is_none() && outer.0 == 0 && inner.0 > 1);
    if has_gap && outer.1 != Some(outer.0) {
        return None;
    }
    let max = match (inner.1, outer.1) {
        (Some(max), Some(times)) => Some(max.checked_mul(times)?),
        _ => None,
    };
    Some((inner.0.checked_mul(outer.0)?, max))
}

/// Only the first elements of a chain are searched for repetitions: the cost of a union is linear in this number.
const MAX_ELEMENTS: usize = 12;

/// An operand of a union, split at one of its repetitions.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SplitOperand {
    context: CountContext,
    counts: (u64, u64),
    operand: TermId,
}

/// The parts of an operand other than the counts: equal for operands that can be merged.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CountContext {
    prefix: Vec<TermId>,
    repeated: TermId,
    tail: TermId,
}

const UNBOUNDED: u64 = u64::MAX;

impl Terms {
    /// Merges operands of a union that differ in one range of counts. `epsilon`: the empty word is an operand too.
    /// Returns whether the operands changed. The result depends on the set of operands, not on their order.
    pub(crate) fn merge_repetitions(&mut self, operands: &mut Vec<TermId>, epsilon: bool) -> bool {
        if operands.len() + usize::from(epsilon) < 2 {
            return false;
        }
        let mut changed = false;
        for nth in 0.. {
            let mut splits: Vec<SplitOperand> =
                operands.iter().filter_map(|&operand| self.split_at_repetition(operand, nth)).collect();
            if splits.is_empty() {
                break;
            }
            splits.sort_unstable();
            let (mut removed, mut added) = (Vec::new(), Vec::new());
            for group in splits.chunk_by(|one, other| one.context == other.context) {
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

    /// Merges the ranges of a group of operands with one context into maximal ranges.
    fn merge_group(
        &mut self,
        group: &[SplitOperand],
        operands: &[TermId],
        epsilon: bool,
        removed: &mut Vec<TermId>,
        added: &mut Vec<TermId>,
    ) {
        let context = &group[0].context;
        let mut ranges: Vec<_> = group.iter().map(|split| (split.counts, split.operand)).collect();
        if context.prefix.is_empty() {
            let is_operand = |term| operands.contains(&term) || term == TermId::EPSILON && epsilon;
            if is_operand(context.tail) {
                ranges.push(((0, 0), context.tail));
            }
            if context.tail == TermId::EPSILON && is_operand(context.repeated) {
                ranges.push(((1, 1), context.repeated));
            }
        }
        ranges.sort_unstable();
        let mut rest = &ranges[..];
        while let [((min, first_max), first), others @ ..] = rest {
            let (mut overlapping, mut max) = (0, *first_max);
            for ((low, high), _) in others {
                if *low > max.saturating_add(1) {
                    break;
                }
                max = max.max(*high);
                overlapping += 1;
            }
            if overlapping > 0 {
                removed.push(*first);
                removed.extend(others[..overlapping].iter().map(|(_, operand)| *operand));
                added.push(self.join_operand(context, (*min, max)));
            }
            rest = &others[overlapping..];
        }
    }

    /// The operand, split at its `nth` repetition.
    fn split_at_repetition(&self, operand: TermId, nth: usize) -> Option<SplitOperand> {
        let (mut rest, mut prefix, mut seen) = (operand, Vec::new(), 0);
        for _ in 0..MAX_ELEMENTS {
            let (head, tail) = self.split_head(rest);
            match *self.get(head) {
                // Optional elements are not counters.
                Term::Repeat { max: Some(1), .. } => {}
                Term::Repeat { .. } if seen < nth => seen += 1,
                Term::Repeat { term, min, max } => {
                    let counts = (u64::from(min), max.map_or(UNBOUNDED, u64::from));
                    return Some(SplitOperand {
                        context: CountContext { prefix, repeated: term, tail },
                        counts,
                        operand,
                    });
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

    /// The operand with this context and these counts.
    fn join_operand(&mut self, context: &CountContext, counts: (u64, u64)) -> TermId {
        let bound = |count: u64| u32::try_from(count).expect("a bound of one of the merged ranges");
        let max = (counts.1 != UNBOUNDED).then(|| bound(counts.1));
        let repeat = self.repeat(context.repeated, bound(counts.0), max);
        let mut parts = context.prefix.clone();
        parts.extend([repeat, context.tail]);
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
