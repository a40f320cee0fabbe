//! Takes out of an intersection what masks look at apart: the operand that limits how long its words may be, and what it excludes.
//!
//! A text with a pattern and a largest length is `pattern & unit{a,b}`. What the pattern says does not depend on how many units
//! are left, and what a limit excludes does not depend on the pattern but for the units that a word still needs; so masks
//! look at `pattern & unit{a,}` once, for all `b`.

use crate::byte_set::ByteSet;
use crate::term::arena::{Term, TermId, Terms};

/// Subterms in which a word may begin after which a term is too large to be looked at.
const MOST_BEGINNINGS: usize = 64;

/// An intersection, and the limit that is taken out of it: its words are those of `unlimited` that begin at most `most` copies
/// of `unit` after `rest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthLimit {
    /// The intersection without the limit.
    pub unlimited: TermId,
    /// What ends the copy that has begun; the empty word between two copies.
    pub rest: TermId,
    /// What is counted.
    pub unit: TermId,
    /// The most copies.
    pub most: u32,
}

/// A term that begins with an intersection, some operands of which are complements: its words are those of `wider` that do not
/// begin with an excluded word in place of one of `head`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// The term with nothing excluded: `head` and then `tail`. It goes on alike once a word has left what is excluded.
    pub wider: TermId,
    /// The other operands.
    pub head: TermId,
    /// What words of the head must not be.
    pub excluded: Vec<TermId>,
    /// What follows the intersection.
    pub tail: TermId,
}

impl Terms {
    /// An intersection at the beginning of `term`, and what follows it; none if there is no intersection.
    pub fn leading_intersection(&self, term: TermId) -> Option<(TermId, TermId)> {
        let (head, tail) = self.split(term);
        matches!(self.get(head), Term::Intersection(_)).then_some((head, tail))
    }

    /// What the intersection at the beginning of `term` excludes; none if nothing is excluded, or nothing else is said.
    pub fn exclusion(&mut self, term: TermId) -> Option<Exclusion> {
        let (head, tail) = self.split(term);
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

    /// Whether [`Self::exclusion`] finds something.
    pub fn has_exclusion(&self, term: TermId) -> bool {
        let Term::Intersection(operands) = self.get(self.split(term).0) else { return false };
        let is_exclusion = |&operand: &TermId| matches!(self.get(operand), Term::Complement(_));
        operands.iter().any(is_exclusion) && !operands.iter().all(is_exclusion)
    }

    /// Terms with the same words together, none of them a union; none if these may be infinitely many words.
    pub fn finite_parts(&self, terms: &[TermId]) -> Option<Vec<TermId>> {
        let mut parts = Vec::with_capacity(terms.len());
        for &term in terms {
            if !self.is_finite_by_shape(term) {
                return None;
            }
            match self.get(term) {
                Term::Union(operands) => parts.extend_from_slice(operands),
                _ => parts.push(term),
            }
        }
        Some(parts)
    }

    /// The bytes over which `term` may go on otherwise than it does without its [exclusion](Self::exclusion);
    /// none where its form does not tell.
    pub fn bytes_of_exclusions(&self, term: TermId) -> Option<ByteSet> {
        let (head, tail) = self.split(term);
        let Term::Intersection(operands) = self.get(head) else { return None };
        let mut bytes = ByteSet::EMPTY;
        for &operand in &operands[..] {
            if let Term::Complement(excluded) = *self.get(operand) {
                bytes = bytes.union(self.possible_first_bytes(excluded)?);
                // Where the head may not end any more, what follows it may not begin.
                if self.is_nullable(excluded) {
                    bytes = bytes.union(self.possible_first_bytes(tail)?);
                }
            }
        }
        Some(bytes)
    }

    /// The bytes with which a word of `term` may begin, and possibly more; none where its form does not tell, or is large.
    pub fn possible_first_bytes(&self, term: TermId) -> Option<ByteSet> {
        let mut bytes = ByteSet::EMPTY;
        let mut stack = vec![term];
        let mut budget = MOST_BEGINNINGS;
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

    /// The bytes with which the words of a language begin that is not empty, where its form says so at once.
    pub(crate) fn first_bytes_by_shape(&self, term: TermId) -> Option<ByteSet> {
        match self.get(self.split(term).0) {
            Term::Bytes(set) => Some(*set),
            Term::Literal(chunk) => Some(ByteSet::single(chunk.as_slice()[0])),
            Term::Table { table, state } => {
                let table = self.get_table(*table);
                // Behind a word that is empty the tail would count too.
                if table.is_accepting(*state) && !matches!(self.get(term), Term::Table { .. }) {
                    return None;
                }
                let ranges = table.edges(*state).map(|(low, high, _)| ByteSet::range(low, high));
                Some(ranges.fold(ByteSet::EMPTY, ByteSet::union))
            }
            _ => None,
        }
    }

    /// The first bytes of the only word of `term`, up to `most` of them, and whether that is all of it; none where the form does not
    /// show that its words begin alike.
    pub fn word_up_to(&self, term: TermId, most: usize) -> Option<(Vec<u8>, bool)> {
        let mut word = Vec::new();
        let mut rest = term;
        loop {
            let (head, tail) = self.split(rest);
            match self.get(head) {
                Term::Literal(chunk) => word.extend_from_slice(chunk.as_slice()),
                Term::Bytes(set) => word.push(set.only()?),
                _ => return None,
            }
            if tail == TermId::EPSILON || word.len() > most {
                return Some((word, tail == TermId::EPSILON));
            }
            rest = tail;
        }
    }

    /// The longest beginning that all words of `term` share by its form, which is not all of it, and what follows; none if there is
    /// none.
    pub fn leading_word(&self, term: TermId) -> Option<(Vec<u8>, TermId)> {
        let mut word = Vec::new();
        let mut rest = term;
        while let Term::Concat(head, tail) = *self.get(rest) {
            let Some(part) = self.as_word(head) else { break };
            word.extend_from_slice(part.as_slice());
            rest = tail;
        }
        (!word.is_empty() && self.as_word(rest).is_none()).then_some((word, rest))
    }

    /// The limits on the number of copies of something that the operands of an intersection are.
    pub fn length_limits(&mut self, intersection: TermId) -> Vec<LengthLimit> {
        let Term::Intersection(operands) = self.get(intersection) else { return Vec::new() };
        let operands = operands.clone();
        let mut limits = Vec::new();
        for (position, &operand) in operands.iter().enumerate() {
            let Some((rest, unit, min, most)) = self.limited_operand(operand) else { continue };
            let unlimited = self.repeat(unit, min, None);
            let unlimited = self.concat(&[rest, unlimited]);
            let mut others = operands.to_vec();
            others[position] = unlimited;
            let unlimited = self.intersection(&others);
            limits.push(LengthLimit { unlimited, rest, unit, most });
        }
        limits
    }

    /// Splits `rest unit{min,most}`.
    fn limited_operand(&mut self, operand: TermId) -> Option<(TermId, TermId, u32, u32)> {
        let mut before = Vec::new();
        let mut last = operand;
        while let Term::Concat(first, next) = *self.get(last) {
            before.push(first);
            last = next;
        }
        match *self.get(last) {
            Term::Repeat { term, min, max: Some(most) } if most > 1 => {
                Some((self.concat(&before), term, min, most))
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
    fn limits_are_taken_out() {
        let mut terms = Terms::new();
        let letter = terms.bytes(ByteSet::range(b'a', b'z'));
        let unit = terms.concat(&[letter, letter]);
        let words = terms.literal(b"abc");
        let pattern = terms.repeat(words, 0, None);
        let counted = terms.repeat(unit, 3, Some(9));
        let quote = terms.literal(b"\"");
        let both = terms.intersection(&[pattern, counted]);
        let quoted = terms.concat(&[both, quote]);
        assert_eq!(terms.leading_intersection(quoted), Some((both, quote)));
        assert_eq!(terms.leading_intersection(pattern), None);
        let without = terms.repeat(unit, 3, None);
        let unlimited = terms.intersection(&[pattern, without]);
        let expected = LengthLimit { unlimited, rest: TermId::EPSILON, unit, most: 9 };
        assert_eq!(terms.length_limits(both), [expected]);
        let inside = terms.derivative(both, b'a');
        let [limit] = terms.length_limits(inside)[..] else { panic!("one limit") };
        assert_eq!((limit.rest, limit.unit, limit.most), (letter, unit, 8));
        assert_eq!(limit.unlimited, terms.derivative(unlimited, b'a'));
        assert!(terms.length_limits(counted).is_empty());
        let excluded = terms.complement(words);
        let others = terms.intersection(&[pattern, excluded, counted]);
        let others = terms.concat(&[others, quote]);
        let exclusion = Exclusion { wider: quoted, head: both, excluded: vec![words], tail: quote };
        assert_eq!(terms.exclusion(others), Some(exclusion));
        assert!(terms.has_exclusion(others));
        let spaced = terms.literal(b" ");
        let spaced = terms.concat(&[spaced, quote, others]);
        assert_eq!(terms.leading_word(spaced), Some((b" \"".to_vec(), others)));
        assert_eq!(terms.leading_word(others), None);
        assert_eq!(terms.leading_word(words), None);
        let first = |bytes: &[u8]| bytes.iter().fold(ByteSet::EMPTY, |set, &b| set.union(ByteSet::single(b)));
        assert_eq!(terms.bytes_of_exclusions(others), Some(first(b"a")));
        // The empty word is excluded too, so what follows may not begin.
        let excluded_all = terms.complement(pattern);
        let others = terms.intersection(&[excluded_all, counted]);
        let others = terms.concat(&[others, quote]);
        assert_eq!(terms.bytes_of_exclusions(others), Some(first(b"a\"")));
        assert_eq!(terms.bytes_of_exclusions(quoted), Some(ByteSet::EMPTY));
        assert_eq!(terms.bytes_of_exclusions(quote), None);
        assert_eq!(terms.word_up_to(words, 9), Some((b"abc".to_vec(), true)));
        assert_eq!(terms.word_up_to(quoted, 9), None);
        for none in [quoted, excluded] {
            assert_eq!(terms.exclusion(none), None);
            assert!(!terms.has_exclusion(none));
        }
    }
}
