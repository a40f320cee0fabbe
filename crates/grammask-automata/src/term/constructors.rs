//! Smart constructors of terms: they apply every cheap algebraic law once, when a term is made.
//!
//! The normal form is weak: equal terms denote equal languages, but not conversely. It is strong enough to keep the
//! number of derivatives finite, for which associativity, commutativity and idempotence of union suffice (Brzozowski,
//! "Derivatives of regular expressions", 1964; Owens, Reppy and Turon, "Regular-expression derivatives
//! re-examined", 2009). [`super::repetition_counts`] has the laws of counted repetition. Nothing here recurses: a law
//! inspects the first element of a chain, never the depth of a term.

use crate::term::arena::{LiteralChunk, Term, TermId, Terms};
use crate::term::repetition_counts::{Counts, ONCE, add_counts, multiply_counts};
use grammask_collections::byte_set::ByteSet;

impl Terms {
    /// The empty language.
    #[must_use]
    pub fn nothing(&self) -> TermId {
        TermId::NOTHING
    }

    /// The language that contains only the empty word.
    #[must_use]
    pub fn epsilon(&self) -> TermId {
        TermId::EPSILON
    }

    /// The words of one byte that is in `set`.
    pub fn bytes(&mut self, set: ByteSet) -> TermId {
        if set.is_empty() { TermId::NOTHING } else { self.intern(Term::Bytes(set)) }
    }

    /// The language of the word `bytes`. Cost: one term per 30 bytes.
    pub fn literal(&mut self, bytes: &[u8]) -> TermId {
        bytes.rchunks(LiteralChunk::CAPACITY).fold(TermId::EPSILON, |tail, chunk| {
            let head = self.short_literal(chunk);
            self.concat_element(head, tail)
        })
    }

    /// The language of a word of at most one chunk.
    pub(crate) fn short_literal(&mut self, bytes: &[u8]) -> TermId {
        match *bytes {
            [] => TermId::EPSILON,
            [byte] => self.intern(Term::Bytes(ByteSet::single(byte))),
            _ => self.intern(Term::Literal(LiteralChunk::new(bytes))),
        }
    }

    /// The concatenation of `parts`.
    pub fn concat(&mut self, parts: &[TermId]) -> TermId {
        parts.iter().rev().fold(TermId::EPSILON, |tail, &part| self.concat_two(part, tail))
    }

    /// The concatenation of two terms.
    pub(crate) fn concat_two(&mut self, head: TermId, tail: TermId) -> TermId {
        if tail == TermId::EPSILON {
            return head;
        }
        let mut elements = Vec::new();
        let mut rest = head;
        while let Term::Concat(first, next) = *self.get(rest) {
            elements.push(first);
            rest = next;
        }
        let last = self.concat_element(rest, tail);
        elements.into_iter().rev().fold(last, |tail, element| self.concat_element(element, tail))
    }

    /// The concatenation of `head`, which is not a `Concat`, and `tail`.
    fn concat_element(&mut self, mut head: TermId, mut tail: TermId) -> TermId {
        loop {
            match (head, tail) {
                (TermId::NOTHING, _) | (_, TermId::NOTHING) => return TermId::NOTHING,
                (TermId::EPSILON, other) | (other, TermId::EPSILON) => return other,
                (other, TermId::ANYTHING) | (TermId::ANYTHING, other) if self.is_nullable(other) => {
                    return TermId::ANYTHING;
                }
                _ => {}
            }
            // Terminates: a round shortens the chain, or fills the second chunk with bytes of the first.
            match self.merge_adjacent(head, tail) {
                Some(merged) => (head, tail) = merged,
                None => return self.intern(Term::Concat(head, tail)),
            }
        }
    }

    /// Merges `head` with the first element of `tail`, if both are parts of one literal or repetitions of one term.
    fn merge_adjacent(&mut self, head: TermId, tail: TermId) -> Option<(TermId, TermId)> {
        let (next, rest) = self.split_head(tail);
        let ((term, counts), (next_term, next_counts)) = (self.as_repetition(head), self.as_repetition(next));
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
            // Two equal elements are not turned into a repetition.
            return self.merge_literals(head, next, rest);
        }
        Some((self.repeat(repeated, sum.0, sum.1), rest))
    }

    /// The operand and counts of a repetition; any other term is one copy of itself.
    fn as_repetition(&self, term: TermId) -> (TermId, Counts) {
        match *self.get(term) {
            Term::Repeat { term, min, max } => (term, (min, max)),
            _ => (term, ONCE),
        }
    }

    fn merge_literals(&mut self, head: TermId, next: TermId, rest: TermId) -> Option<(TermId, TermId)> {
        let (head, next) = (self.as_word(head)?, self.as_word(next)?);
        let (head, next) = (head.as_slice(), next.as_slice());
        let mut word = [0; 2 * LiteralChunk::CAPACITY];
        let word = &mut word[..head.len() + next.len()];
        word[..head.len()].copy_from_slice(head);
        word[head.len()..].copy_from_slice(next);
        let (first, chunk) = word.split_at(word.len().saturating_sub(LiteralChunk::CAPACITY));
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

    /// The word of a language of one word, if the form of the term shows it.
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

    /// The word of a literal chunk or of a one-byte set.
    pub(crate) fn as_word(&self, term: TermId) -> Option<LiteralChunk> {
        match self.get(term) {
            Term::Literal(chunk) => Some(*chunk),
            Term::Bytes(set) => set.only().map(|byte| LiteralChunk::new(&[byte])),
            _ => None,
        }
    }

    /// The union of `parts`.
    pub fn union(&mut self, parts: &[TermId]) -> TermId {
        match *parts {
            [] => return TermId::NOTHING,
            // Terms in the arena are in normal form.
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
        if self.merge_repetitions(&mut children, epsilon) {
            self.sort_by_content(&mut children);
        }
        if children.contains(&TermId::ANYTHING) || self.contain_complements(&children) {
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

    /// The intersection of `parts`; all words if there is none.
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
        if self.contain_complements(&children) {
            return TermId::NOTHING;
        }
        if self.intersect_counts(&mut children) {
            // Further laws may apply to the new operand. Terminates: there are fewer operands than before.
            return self.intersection(&children);
        }
        match children[..] {
            [] => TermId::ANYTHING,
            [only] => only,
            _ => self.intern(Term::Intersection(children.into())),
        }
    }

    /// The byte strings that are not in `term`.
    pub fn complement(&mut self, term: TermId) -> TermId {
        match *self.get(term) {
            Term::Nothing => TermId::ANYTHING,
            Term::Complement(positive) => positive,
            _ if term == TermId::ANYTHING => TermId::NOTHING,
            _ => self.intern(Term::Complement(term)),
        }
    }

    /// `min` to `max` consecutive words of `term`; without `max` the count is unbounded. Empty if `min > max`.
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

    /// The term without the empty word where that is an alternative of its own.
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

    /// The nonempty words of `term` that have no shorter nonempty prefix in `term`.
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

    /// Whether the sorted operands contain a term and its complement.
    fn contain_complements(&self, children: &[TermId]) -> bool {
        let find = |hash| children.binary_search_by_key(&hash, |&child| self.content_hash(child)).is_ok();
        children.iter().any(|&child| match self.get(child) {
            Term::Complement(positive) => find(self.content_hash(*positive)),
            _ => false,
        })
    }
}
