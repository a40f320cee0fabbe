//! Constructors of terms: every law that is cheap to apply is applied here, once, when a term is made.
//!
//! The normal form is weak: equal terms are equal languages, and the derivatives of a term stay few
//! (associativity, commutativity and idempotence of union are what Brzozowski's "Derivatives of regular
//! expressions", 1964, needs; the laws of counters are in [`super::repetition_counts`]). Nothing here recurses: a law
//! looks at the first element of a chain, never into the depth of a term.

use crate::byte_set::ByteSet;
use crate::term::arena::{Chunk, Term, TermId, Terms};
use crate::term::repetition_counts::{Counts, ONCE, add_counts, multiply_counts};

impl Terms {
    /// The empty language.
    #[must_use]
    pub fn nothing(&self) -> TermId {
        TermId::NOTHING
    }

    /// The language of the empty word only.
    #[must_use]
    pub fn epsilon(&self) -> TermId {
        TermId::EPSILON
    }

    /// One byte of `set`.
    pub fn bytes(&mut self, set: ByteSet) -> TermId {
        if set.is_empty() { TermId::NOTHING } else { self.intern(Term::Bytes(set)) }
    }

    /// Exactly the word `bytes`. Cost: a chain of one node for each 30 bytes.
    pub fn literal(&mut self, bytes: &[u8]) -> TermId {
        bytes.rchunks(Chunk::CAPACITY).fold(TermId::EPSILON, |tail, chunk| {
            let head = self.short_literal(chunk);
            self.followed_by(head, tail)
        })
    }

    /// A literal of at most one chunk.
    pub(crate) fn short_literal(&mut self, bytes: &[u8]) -> TermId {
        match *bytes {
            [] => TermId::EPSILON,
            [byte] => self.intern(Term::Bytes(ByteSet::single(byte))),
            _ => self.intern(Term::Literal(Chunk::new(bytes))),
        }
    }

    /// Words of all `parts` in order.
    pub fn concat(&mut self, parts: &[TermId]) -> TermId {
        parts.iter().rev().fold(TermId::EPSILON, |tail, &part| self.chained(part, tail))
    }

    /// `head` and then `tail`, where `head` may be a chain.
    pub(crate) fn chained(&mut self, head: TermId, tail: TermId) -> TermId {
        if tail == TermId::EPSILON {
            return head;
        }
        let mut elements = Vec::new();
        let mut rest = head;
        while let Term::Concat(first, next) = *self.get(rest) {
            elements.push(first);
            rest = next;
        }
        let last = self.followed_by(rest, tail);
        elements.into_iter().rev().fold(last, |tail, element| self.followed_by(element, tail))
    }

    /// `head`, which is no chain, and then `tail`.
    fn followed_by(&mut self, mut head: TermId, mut tail: TermId) -> TermId {
        loop {
            match (head, tail) {
                (TermId::NOTHING, _) | (_, TermId::NOTHING) => return TermId::NOTHING,
                (TermId::EPSILON, other) | (other, TermId::EPSILON) => return other,
                (other, TermId::ANYTHING) | (TermId::ANYTHING, other) if self.is_nullable(other) => {
                    return TermId::ANYTHING;
                }
                _ => {}
            }
            // Each round makes the chain shorter, or moves bytes between two chunks for good.
            match self.merge_neighbours(head, tail) {
                Some(merged) => (head, tail) = merged,
                None => return self.intern(Term::Concat(head, tail)),
            }
        }
    }

    /// The same as `head tail` where `head` and the first element of `tail` are parts of one literal or counts
    /// of one repetition.
    fn merge_neighbours(&mut self, head: TermId, tail: TermId) -> Option<(TermId, TermId)> {
        let (next, rest) = self.split(tail);
        let ((term, counts), (next_term, next_counts)) = (self.counted(head), self.counted(next));
        let (repeated, sum) = if term == next_term {
            (term, add_counts(counts, next_counts)?)
        } else if term == next {
            (term, add_counts(counts, ONCE)?)
        } else if next_term == head {
            (head, add_counts(ONCE, next_counts)?)
        } else {
            return self.merge_literals(head, next, rest);
        };
        if counts == ONCE && next_counts == ONCE {
            // Two equal neighbours stay as they were written.
            return self.merge_literals(head, next, rest);
        }
        Some((self.repeat(repeated, sum.0, sum.1), rest))
    }

    /// A term as a repetition: once itself, if it is none.
    fn counted(&self, term: TermId) -> (TermId, Counts) {
        match *self.get(term) {
            Term::Repeat { term, min, max } => (term, (min, max)),
            _ => (term, ONCE),
        }
    }

    fn merge_literals(&mut self, head: TermId, next: TermId, rest: TermId) -> Option<(TermId, TermId)> {
        let (head, next) = (self.as_word(head)?, self.as_word(next)?);
        let (head, next) = (head.as_slice(), next.as_slice());
        let mut word = [0; 2 * Chunk::CAPACITY];
        let word = &mut word[..head.len() + next.len()];
        word[..head.len()].copy_from_slice(head);
        word[head.len()..].copy_from_slice(next);
        let (first, chunk) = word.split_at(word.len().saturating_sub(Chunk::CAPACITY));
        if first.len() == head.len() {
            return None;
        }
        let chunk = self.short_literal(chunk);
        if first.is_empty() {
            return Some((chunk, rest));
        }
        let tail = if rest == TermId::EPSILON { chunk } else { self.intern(Term::Concat(chunk, rest)) };
        Some((self.short_literal(first), tail))
    }

    /// The only word of `term`, if its form shows that there is just one.
    #[must_use]
    pub fn word(&self, term: TermId) -> Option<Vec<u8>> {
        let mut word = Vec::new();
        let mut rest = term;
        while let Term::Concat(first, next) = *self.get(rest) {
            word.extend_from_slice(self.as_word(first)?.as_slice());
            rest = next;
        }
        word.extend_from_slice(self.as_word(rest)?.as_slice());
        Some(word)
    }

    /// The word of a literal chunk or of a set of one byte.
    pub(crate) fn as_word(&self, term: TermId) -> Option<Chunk> {
        match self.get(term) {
            Term::Literal(chunk) => Some(*chunk),
            Term::Bytes(set) => set.only().map(|byte| Chunk::new(&[byte])),
            _ => None,
        }
    }

    /// Words of any of `parts`.
    pub fn union(&mut self, parts: &[TermId]) -> TermId {
        match *parts {
            [] => return TermId::NOTHING,
            // A term is in normal form already.
            [only] => return only,
            _ => {}
        }
        let mut children = Vec::with_capacity(parts.len());
        let mut bytes = ByteSet::EMPTY;
        let mut epsilon = false;
        let mut stack: Vec<TermId> = parts.to_vec();
        while let Some(part) = stack.pop() {
            match self.get(part) {
                Term::Nothing => {}
                Term::Epsilon => epsilon = true,
                Term::Bytes(set) => bytes = bytes.union(*set),
                Term::Union(nested) => stack.extend_from_slice(nested),
                Term::Repeat { term, min: 0, max: Some(1) } => {
                    epsilon = true;
                    stack.push(*term);
                }
                _ if part == TermId::ANYTHING => return TermId::ANYTHING,
                _ => children.push(part),
            }
        }
        if !bytes.is_empty() {
            children.push(self.bytes(bytes));
        }
        self.sort_by_content(&mut children);
        if self.merge_counters(&mut children, epsilon) {
            self.sort_by_content(&mut children);
        }
        if children.contains(&TermId::ANYTHING) || self.has_opposites(&children) {
            return TermId::ANYTHING;
        }
        if epsilon && !children.iter().any(|&child| self.is_nullable(child)) {
            match children[..] {
                [] => return TermId::EPSILON,
                [only] => return self.intern(Term::Repeat { term: only, min: 0, max: Some(1) }),
                _ => {
                    children.push(TermId::EPSILON);
                    self.sort_by_content(&mut children);
                }
            }
        }
        match children[..] {
            [] => TermId::NOTHING,
            [only] => only,
            _ => self.intern(Term::Union(children.into())),
        }
    }

    /// Words that are in each of `parts`; all words where there is no part.
    pub fn intersection(&mut self, parts: &[TermId]) -> TermId {
        let mut children = Vec::with_capacity(parts.len());
        let mut bytes = None;
        let mut epsilon = false;
        let mut stack: Vec<TermId> = parts.to_vec();
        while let Some(part) = stack.pop() {
            match self.get(part) {
                Term::Nothing => return TermId::NOTHING,
                Term::Epsilon => epsilon = true,
                Term::Bytes(set) => bytes = Some(bytes.unwrap_or(ByteSet::ALL).intersection(*set)),
                Term::Intersection(nested) => stack.extend_from_slice(nested),
                _ if part == TermId::ANYTHING => {}
                _ => children.push(part),
            }
        }
        if epsilon {
            let nullable = bytes.is_none() && children.iter().all(|&child| self.is_nullable(child));
            return if nullable { TermId::EPSILON } else { TermId::NOTHING };
        }
        if let Some(set) = bytes {
            children.push(self.bytes(set));
            if set.is_empty() {
                return TermId::NOTHING;
            }
        }
        self.sort_by_content(&mut children);
        if self.has_opposites(&children) {
            return TermId::NOTHING;
        }
        if self.intersect_counts(&mut children) {
            // What came out may be simpler than any operand; it is one operand, so this ends.
            return self.intersection(&children);
        }
        match children[..] {
            [] => TermId::ANYTHING,
            [only] => only,
            _ => self.intern(Term::Intersection(children.into())),
        }
    }

    /// Every byte string that is not in `term`.
    pub fn complement(&mut self, term: TermId) -> TermId {
        match *self.get(term) {
            Term::Nothing => TermId::ANYTHING,
            Term::Complement(positive) => positive,
            _ if term == TermId::ANYTHING => TermId::NOTHING,
            _ => self.intern(Term::Complement(term)),
        }
    }

    /// `min` to `max` words of `term` in a row; any number above `min` if there is no `max`. Nothing where
    /// `min` is above `max`.
    pub fn repeat(&mut self, term: TermId, min: u32, max: Option<u32>) -> TermId {
        if max.is_some_and(|max| min > max) {
            return TermId::NOTHING;
        }
        let min = if self.is_nullable(term) { 0 } else { min };
        let term = self.without_explicit_epsilon(term);
        match (term, min, max) {
            (_, _, Some(0)) | (TermId::EPSILON, _, _) | (TermId::NOTHING, 0, _) => return TermId::EPSILON,
            (TermId::NOTHING, _, _) => return TermId::NOTHING,
            _ => {}
        }
        let (mut repeated, mut counts) = (term, (min, max));
        if let Term::Repeat { term: nested, min: low, max: high } = *self.get(term)
            && let Some(product) = multiply_counts((low, high), counts)
        {
            (repeated, counts) = (nested, product);
        }
        match counts {
            ONCE => repeated,
            (0, Some(1)) => self.union(&[repeated, TermId::EPSILON]),
            (min, max) => self.intern(Term::Repeat { term: repeated, min, max }),
        }
    }

    /// The same language, or the same less the empty word where that is a part of its own.
    fn without_explicit_epsilon(&mut self, term: TermId) -> TermId {
        match self.get(term) {
            Term::Union(parts) if parts.contains(&TermId::EPSILON) => {
                let parts: Vec<TermId> =
                    parts.iter().copied().filter(|&part| part != TermId::EPSILON).collect();
                self.union(&parts)
            }
            Term::Repeat { term, min: 0, max: Some(1) } => *term,
            _ => term,
        }
    }

    /// The nonempty words of `term` of which no shorter nonempty prefix is in `term`.
    pub fn first_match(&mut self, term: TermId) -> TermId {
        let term = self.without_explicit_epsilon(term);
        match self.get(term) {
            Term::Nothing | Term::Epsilon => TermId::NOTHING,
            Term::Bytes(_) | Term::Literal(_) | Term::FirstMatch(_) => term,
            _ => self.intern(Term::FirstMatch(term)),
        }
    }

    fn sort_by_content(&self, children: &mut Vec<TermId>) {
        children.sort_unstable_by_key(|&child| self.content_hash(child));
        children.dedup();
    }

    /// Whether a term and its complement are both there.
    fn has_opposites(&self, children: &[TermId]) -> bool {
        let find = |hash| children.binary_search_by_key(&hash, |&child| self.content_hash(child)).is_ok();
        children.iter().any(|&child| match self.get(child) {
            Term::Complement(positive) => find(self.content_hash(*positive)),
            _ => false,
        })
    }
}
