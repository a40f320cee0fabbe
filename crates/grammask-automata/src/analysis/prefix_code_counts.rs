//! Intersections of repetitions of one prefix code, by arithmetic on counts.
//!
//! A byte string has at most one factorisation into words of a prefix code, so intersection and complement of
//! repetitions act on the number of words: `x{4,255}` without `x{0,64}` is `x{65,255}`. The derivatives of the
//! unsimplified intersection would have a state per count. Such intersections come from string lengths and `oneOf` in
//! JSON Schema.

use crate::term::arena::{Term, TermId, Terms};
use crate::term::repetition_counts::Counts;

/// Ranges of counts, both ends included; the last one may end with [`UNBOUNDED`].
type CountRanges = Vec<(u64, u64)>;

const UNBOUNDED: u64 = u64::MAX;

impl Terms {
    /// Records that `term` is a prefix code, as proved by
    /// [`Automata::is_prefix_code`](crate::Automata::is_prefix_code).
    pub fn record_prefix_code(&mut self, term: TermId) {
        if !self.prefix_codes.contains(&term) {
            self.prefix_codes.push(term);
            // Memoised intersections may now have a simpler form.
            self.memo.clear_results();
        }
    }

    /// Merges the operands of an intersection that are counts of one prefix code or complements of such counts, if at
    /// least one is not a complement. Returns whether the operands changed.
    pub(crate) fn intersect_counts(&mut self, operands: &mut Vec<TermId>) -> bool {
        for index in 0..self.prefix_codes.len() {
            let code = self.prefix_codes[index];
            if !self.has_two_counts(code, operands) {
                continue;
            }
            let mut possible: CountRanges = vec![(0, UNBOUNDED)];
            let mut others = Vec::new();
            for &operand in operands.iter() {
                match self.ranges_within(code, operand).or_else(|| self.ranges_without(code, operand)) {
                    Some(ranges) => possible = intersection(&possible, &ranges),
                    None => others.push(operand),
                }
            }
            // The count does not fit into a term.
            let is_too_large = possible.iter().any(|&(first, _)| first > u64::from(u32::MAX));
            if is_too_large {
                continue;
            }
            let bound = |count: u64| u32::try_from(count).expect("a bound of an operand, plus or minus one");
            let parts: Vec<TermId> = possible
                .into_iter()
                .map(|(min, max)| self.repeat(code, bound(min), (max != UNBOUNDED).then(|| bound(max))))
                .collect();
            others.push(self.union(&parts));
            *operands = others;
            return true;
        }
        false
    }

    /// Whether two operands are counts of `code` or complements of counts, at least one of them not a complement.
    fn has_two_counts(&self, code: TermId, operands: &[TermId]) -> bool {
        let is_within = |term| {
            let is_range = |part| self.range_of(code, part).is_some();
            is_range(term)
                || matches!(self.get(term), Term::Union(parts) if parts.iter().all(|&part| is_range(part)))
        };
        let is_without = |term| matches!(*self.get(term), Term::Complement(excluded) if is_within(excluded));
        let within = operands.iter().filter(|&&operand| is_within(operand)).count();
        within > 0 && within + operands.iter().filter(|&&operand| is_without(operand)).count() > 1
    }

    /// The counts of `code` of which `term` is the union.
    fn ranges_within(&self, code: TermId, term: TermId) -> Option<CountRanges> {
        if let Some(range) = self.range_of(code, term) {
            return Some(vec![range]);
        }
        let Term::Union(parts) = self.get(term) else { return None };
        let mut ranges =
            parts.iter().map(|&part| self.range_of(code, part)).collect::<Option<CountRanges>>()?;
        ranges.sort_unstable();
        Some(ranges)
    }

    /// The counts of `code` that `term` does not exclude, if `term` is the complement of counts.
    fn ranges_without(&self, code: TermId, term: TermId) -> Option<CountRanges> {
        let Term::Complement(excluded) = *self.get(term) else { return None };
        let mut others = CountRanges::new();
        let mut from = 0;
        for (first, last) in self.ranges_within(code, excluded)? {
            if from < first {
                others.push((from, first - 1));
            }
            if last == UNBOUNDED {
                return Some(others);
            }
            from = from.max(last + 1);
        }
        others.push((from, UNBOUNDED));
        Some(others)
    }

    /// The counts of a single repetition of `code`.
    fn range_of(&self, code: TermId, term: TermId) -> Option<(u64, u64)> {
        let (min, max): Counts = match *self.get(term) {
            Term::Epsilon => (0, Some(0)),
            Term::Repeat { term, min, max } if term == code => (min, max),
            _ if term == code => (1, Some(1)),
            _ => return None,
        };
        Some((u64::from(min), max.map_or(UNBOUNDED, u64::from)))
    }
}

/// The intersection of two sorted lists of ranges.
fn intersection(one: &[(u64, u64)], other: &[(u64, u64)]) -> CountRanges {
    let mut both = CountRanges::new();
    for &(first, last) in one {
        for &(other_first, other_last) in other {
            let (first, last) = (first.max(other_first), last.min(other_last));
            if first <= last {
                both.push((first, last));
            }
        }
    }
    both.sort_unstable();
    both
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Automata, ByteSet};

    /// Sets of counts, as terms: `x{1,3}`, `x*`, `x|x{4,}`, ...
    fn sets(terms: &mut Terms, code: TermId) -> Vec<TermId> {
        let mut sets = vec![terms.epsilon(), code];
        for (min, max) in [(0, None), (0, Some(1)), (0, Some(2)), (1, Some(3)), (2, None), (3, Some(3))] {
            sets.push(terms.repeat(code, min, max));
        }
        let (few, many) = (terms.repeat(code, 0, Some(1)), terms.repeat(code, 3, Some(5)));
        sets.push(terms.union(&[few, many]));
        sets
    }

    #[test]
    fn intersections_of_counts_are_the_intersections() {
        let mut plain = Terms::new();
        let (first, second) = (plain.bytes(ByteSet::range(b'a', b'b')), plain.literal(b"cc"));
        let code = plain.concat(&[first, second]);
        assert!(Automata::new(plain.clone(), 100).is_prefix_code(code, 10).unwrap());
        let mut known = plain.clone();
        known.record_prefix_code(code);
        let (plain_sets, known_sets) = (sets(&mut plain, code), sets(&mut known, code));
        let words: Vec<Vec<u8>> = (0..7)
            .flat_map(|count| [b"acc".repeat(count), [&b"bcc".repeat(count)[..], b"ac"].concat()])
            .collect();
        for choice in 0..plain_sets.len().pow(3) * 4 {
            let mut digits = choice;
            let pick = |terms: &mut Terms, sets: &[TermId], digits: &mut usize, negated: bool| {
                let set = sets[*digits % sets.len()];
                *digits /= sets.len();
                if negated { terms.complement(set) } else { set }
            };
            let negated = (choice / plain_sets.len().pow(3)) as u32;
            let mut make = |terms: &mut Terms, sets: &[TermId]| {
                let parts: Vec<TermId> = (0..3)
                    .map(|at| pick(terms, sets, &mut digits, at > 0 && negated >> (at - 1) & 1 == 1))
                    .collect();
                digits = choice;
                terms.intersection(&parts)
            };
            let (slow, fast) = (make(&mut plain, &plain_sets), make(&mut known, &known_sets));
            assert!(!known.display(fast).contains(['&', '!']), "{}", known.display(fast));
            for word in &words {
                let accepts = |terms: &Terms, term| {
                    let mut automata = Automata::new(terms.clone(), 10_000);
                    let mut state = automata.start(term).unwrap();
                    for &byte in word {
                        state = state.and_then(|state| automata.step(state, byte).unwrap());
                    }
                    state.is_some_and(|state| automata.is_accepting(state))
                };
                assert_eq!(accepts(&plain, slow), accepts(&known, fast), "{}", plain.display(slow));
            }
        }
    }

    #[test]
    fn words_outside_the_code_remain() {
        let mut terms = Terms::new();
        let code = terms.bytes(ByteSet::range(b'a', b'z'));
        terms.record_prefix_code(code);
        let (few, other) = (terms.repeat(code, 0, Some(3)), terms.literal(b"1234"));
        let outside = terms.complement(few);
        // Both operands are complements, so words outside the code belong to the intersection.
        let all = terms.repeat(code, 2, None);
        let not_all = terms.complement(all);
        let both = terms.intersection(&[outside, not_all]);
        let with_other = terms.intersection(&[both, other]);
        assert!(Automata::new(terms, 100).start(with_other).unwrap().is_some());
    }
}
