//! Decomposition of terms for masks: the operand of an intersection that limits the length, excluded words, and
//! prefixes.
//!
//! A string with a pattern and a maximum length is `pattern & unit{a,b}`. Masks compute a summary of `pattern &
//! unit{a,}` once, for all `b`, and then remove the tokens that need more than the remaining units. Likewise the
//! summary of an intersection with complements is that of the other operands with a correction.

use crate::term::arena::{Term, TermId, Terms};
use grammask_collections::byte_set::ByteSet;

/// Number of subterms that [`Terms::possible_first_bytes`] visits before it gives up.
const MAX_FIRST_BYTE_SUBTERMS: usize = 64;

/// An intersection, split into a limit on the number of units and the rest. Its words are those of `unlimited` that
/// consist of a word of `unit_rest` and at most `max_units` words of `unit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LengthLimit {
    /// The intersection without the limit.
    pub unlimited: TermId,
    /// The remaining part of the current unit; the empty word between two units.
    pub unit_rest: TermId,
    /// The counted language.
    pub unit: TermId,
    /// Maximum number of further units.
    pub max_units: u32,
}

/// A concatenation that begins with an intersection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadingIntersection {
    /// The first element.
    pub intersection: TermId,
    /// Whether the words of the tail alone are words, too.
    pub is_optional: bool,
    /// The part after the intersection.
    pub tail: TermId,
}

/// A concatenation whose first element is an intersection with complements: the words of `head` that are in none of
/// `excluded`, followed by `tail`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// The concatenation of `head` and `tail`: an upper bound. After a string that is not a prefix of an excluded word,
    /// it has the same derivatives as the term.
    pub wider: TermId,
    /// The intersection of the operands that are not complements.
    pub head: TermId,
    /// The operands of the complements.
    pub excluded: Vec<TermId>,
    /// The part after the intersection.
    pub tail: TermId,
}

impl Terms {
    /// Splits the intersection at the head of a concatenation; it may be optional there. An intersection alone has an
    /// empty tail.
    pub fn leading_intersection(&self, term: TermId) -> Option<LeadingIntersection> {
        let (head, tail) = self.split_head(term);
        let (intersection, is_optional) = match *self.get(head) {
            Term::Repeat { term, min: 0, max: Some(1) } if tail != TermId::EPSILON => (term, true),
            _ => (head, false),
        };
        let found = LeadingIntersection { intersection, is_optional, tail };
        matches!(self.get(intersection), Term::Intersection(_)).then_some(found)
    }

    /// Splits the intersection at the head of a concatenation. `None` unless it has both complements and other
    /// operands.
    pub fn exclusion(&mut self, term: TermId) -> Option<Exclusion> {
        let (head, tail) = self.split_head(term);
        let Term::Intersection(operands) = self.get(head) else { return None };
        let (mut others, mut excluded) = (Vec::new(), Vec::new());
        for &operand in &operands[..] {
            match *self.get(operand) {
                Term::Complement(words) => excluded.push(words),
                _ => others.push(operand),
            }
        }
        if others.is_empty() || excluded.is_empty() {
            return None;
        }
        let head = self.intersection(&others);
        let wider = self.concat(&[head, tail]);
        Some(Exclusion { wider, head, excluded, tail })
    }

    /// Whether [`Self::exclusion`] returns a value.
    pub fn has_exclusion(&self, term: TermId) -> bool {
        let Term::Intersection(operands) = self.get(self.split_head(term).0) else { return false };
        let is_exclusion = |&operand: &TermId| matches!(self.get(operand), Term::Complement(_));
        operands.iter().any(is_exclusion) && !operands.iter().all(is_exclusion)
    }

    /// An upper bound of a language: the intersection at the head of a concatenation without its finite operands, and
    /// the tail. `None` unless there are finite and other operands.
    pub(crate) fn without_finite_operands(&mut self, term: TermId) -> Option<TermId> {
        let (head, tail) = self.split_head(term);
        let Term::Intersection(operands) = self.get(head) else { return None };
        let is_other = |operand: &&TermId| !self.is_finite_by_form(**operand);
        let others: Vec<TermId> = operands.iter().filter(is_other).copied().collect();
        if others.is_empty() || others.len() == operands.len() {
            return None;
        }
        let head = self.intersection(&others);
        Some(self.concat(&[head, tail]))
    }

    /// The terms with unions replaced by their operands; `None` unless all of them are known to be finite.
    pub fn finite_operands(&self, terms: &[TermId]) -> Option<Vec<TermId>> {
        let mut parts = Vec::with_capacity(terms.len());
        for &term in terms {
            if !self.is_finite_by_form(term) {
                return None;
            }
            match self.get(term) {
                Term::Union(operands) => parts.extend_from_slice(operands),
                _ => parts.push(term),
            }
        }
        Some(parts)
    }

    /// A superset of the first bytes of the words of `term`. `None` if its form does not show them, or is large.
    pub fn possible_first_bytes(&self, term: TermId) -> Option<ByteSet> {
        let mut bytes = ByteSet::EMPTY;
        let mut stack = vec![term];
        let mut budget = MAX_FIRST_BYTE_SUBTERMS;
        while let Some(term) = stack.pop() {
            budget = budget.checked_sub(1)?;
            match self.get(term) {
                Term::Nothing | Term::Epsilon => {}
                Term::Bytes(set) => bytes = bytes.union(*set),
                Term::Literal(chunk) => bytes.insert(chunk.as_slice()[0]),
                Term::Table { table, state } => {
                    for (low, high, _) in self.get_table(*table).edges(*state) {
                        bytes = bytes.union(ByteSet::range(low, high));
                    }
                }
                Term::Union(parts) => stack.extend_from_slice(parts),
                Term::Concat(head, tail) => {
                    stack.push(*head);
                    if self.is_nullable(*head) {
                        stack.push(*tail);
                    }
                }
                Term::Repeat { term, .. } => stack.push(*term),
                Term::Intersection(_) | Term::Complement(_) | Term::FirstMatch(_) => return None,
            }
        }
        Some(bytes)
    }

    /// The first bytes of the words of a nonempty language, if the first element of its term shows them.
    pub(crate) fn first_bytes_by_form(&self, term: TermId) -> Option<ByteSet> {
        match self.get(self.split_head(term).0) {
            Term::Bytes(set) => Some(*set),
            Term::Literal(chunk) => Some(ByteSet::single(chunk.as_slice()[0])),
            Term::Table { table, state } => {
                let table = self.get_table(*table);
                // If the table accepts the empty word, words can also begin in the tail.
                if table.is_accepting(*state) && !matches!(self.get(term), Term::Table { .. }) {
                    return None;
                }
                let ranges = table.edges(*state).map(|(low, high, _)| ByteSet::range(low, high));
                Some(ranges.fold(ByteSet::EMPTY, ByteSet::union))
            }
            _ => None,
        }
    }

    /// The first bytes of all words, from the first to the last one, if the term begins with a word or with one byte of
    /// a range. The derivatives by these bytes are equal.
    pub(crate) fn leading_range(&self, term: TermId) -> Option<(u8, u8)> {
        match self.get(self.split_head(term).0) {
            Term::Literal(chunk) => Some((chunk.as_slice()[0], chunk.as_slice()[0])),
            Term::Bytes(set) => {
                let mut ranges = set.ranges();
                ranges.next().filter(|_| ranges.next().is_none())
            }
            _ => None,
        }
    }

    /// The first `max_bytes` or more bytes of the word of a language of one word, and whether they are the whole word.
    /// `None` if the form of the term shows no common prefix of that length.
    pub fn word_prefix(&self, term: TermId, max_bytes: usize) -> Option<(Vec<u8>, bool)> {
        let mut word = Vec::new();
        let mut rest = term;
        loop {
            let (head, tail) = self.split_head(rest);
            match self.get(head) {
                Term::Literal(chunk) => word.extend_from_slice(chunk.as_slice()),
                Term::Bytes(set) => word.push(set.only()?),
                _ => return None,
            }
            if tail == TermId::EPSILON || word.len() > max_bytes {
                return Some((word, tail == TermId::EPSILON));
            }
            rest = tail;
        }
    }

    /// The operands of an intersection that limit a number of units, each split off.
    pub fn length_limits(&mut self, intersection: TermId) -> Vec<LengthLimit> {
        let Term::Intersection(operands) = self.get(intersection) else { return Vec::new() };
        let operands = operands.clone();
        let mut limits = Vec::new();
        for (position, &operand) in operands.iter().enumerate() {
            let Some((unit_rest, unit, min, max_units)) = self.limited_operand(operand) else { continue };
            let unlimited = self.repeat(unit, min, None);
            let unlimited = self.concat(&[unit_rest, unlimited]);
            let mut others = operands.to_vec();
            others[position] = unlimited;
            let unlimited = self.intersection(&others);
            limits.push(LengthLimit { unlimited, unit_rest, unit, max_units });
        }
        limits
    }

    /// Splits `rest unit{min,max}`.
    fn limited_operand(&mut self, operand: TermId) -> Option<(TermId, TermId, u32, u32)> {
        let mut before = Vec::new();
        let mut last = operand;
        while let Term::Concat(first, next) = *self.get(last) {
            before.push(first);
            last = next;
        }
        match *self.get(last) {
            Term::Repeat { term, min, max: Some(max) } if max > 1 => {
                Some((self.concat(&before), term, min, max))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ByteSet;

    #[test]
    fn intersections_are_split() {
        let mut terms = Terms::new();
        let letter = terms.bytes(ByteSet::range(b'a', b'z'));
        let unit = terms.concat(&[letter, letter]);
        let words = terms.literal(b"abc");
        let pattern = terms.repeat(words, 0, None);
        let counted = terms.repeat(unit, 3, Some(9));
        let quote = terms.literal(b"\"");
        let both = terms.intersection(&[pattern, counted]);
        let quoted = terms.concat(&[both, quote]);
        let leading = LeadingIntersection { intersection: both, is_optional: false, tail: quote };
        assert_eq!(terms.leading_intersection(quoted), Some(leading));
        let optional = terms.union(&[both, TermId::EPSILON]);
        let quoted_optional = terms.concat(&[optional, quote]);
        let leading = LeadingIntersection { is_optional: true, ..leading };
        assert_eq!(terms.leading_intersection(quoted_optional), Some(leading));
        for none in [optional, pattern] {
            assert_eq!(terms.leading_intersection(none), None);
        }
        let without = terms.repeat(unit, 3, None);
        let unlimited = terms.intersection(&[pattern, without]);
        let expected = LengthLimit { unlimited, unit_rest: TermId::EPSILON, unit, max_units: 9 };
        assert_eq!(terms.length_limits(both), [expected]);
        let inside = terms.derivative(both, b'a');
        let [limit] = terms.length_limits(inside)[..] else { panic!("one limit") };
        assert_eq!((limit.unit_rest, limit.unit, limit.max_units), (letter, unit, 8));
        assert_eq!(limit.unlimited, terms.derivative(unlimited, b'a'));
        assert!(terms.length_limits(counted).is_empty());
        let excluded = terms.complement(words);
        let others = terms.intersection(&[pattern, excluded, counted]);
        let others = terms.concat(&[others, quote]);
        let exclusion = Exclusion { wider: quoted, head: both, excluded: vec![words], tail: quote };
        assert_eq!(terms.exclusion(others), Some(exclusion));
        assert!(terms.has_exclusion(others));
        assert_eq!(terms.word_prefix(words, 9), Some((b"abc".to_vec(), true)));
        assert_eq!(terms.word_prefix(quoted, 9), None);
        for none in [quoted, excluded] {
            assert_eq!(terms.exclusion(none), None);
            assert!(!terms.has_exclusion(none));
        }
    }
}
