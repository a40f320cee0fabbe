//! Inclusion of languages and last bytes of their words, as far as the form of their terms shows them. Cost: linear in
//! the operands of one term, without a search.

use crate::term::arena::{Term, TermId, Terms};
use grammask_collections::byte_set::ByteSet;

impl Terms {
    /// Whether `larger` certainly includes `smaller`: both have the same tail, and the inclusion of their first
    /// elements follows from the operands of unions and intersections.
    pub fn includes_by_form(&self, larger: TermId, smaller: TermId) -> bool {
        let ((larger, larger_tail), (smaller, smaller_tail)) =
            (self.split_head(larger), self.split_head(smaller));
        larger_tail == smaller_tail
            && self
                .operands(&larger)
                .iter()
                .all(|&part| self.operands(&smaller).iter().any(|&other| self.operand_includes(part, other)))
    }

    /// The operands of an intersection; any other term is its own operand.
    fn operands<'a>(&'a self, term: &'a TermId) -> &'a [TermId] {
        match self.get(*term) {
            Term::Intersection(parts) => parts,
            _ => std::slice::from_ref(term),
        }
    }

    /// Inclusion of two operands of intersections.
    fn operand_includes(&self, larger: TermId, smaller: TermId) -> bool {
        match (self.get(larger), self.get(smaller)) {
            _ if larger == smaller || larger == TermId::ANYTHING => true,
            (Term::Complement(larger), Term::Complement(smaller)) => self.union_includes(*smaller, *larger),
            _ => self.union_includes(larger, smaller),
        }
    }

    /// Inclusion of two unions: each operand of the smaller one is an operand of the larger one.
    fn union_includes(&self, larger: TermId, smaller: TermId) -> bool {
        let larger = self.alternatives(&larger);
        self.alternatives(&smaller).iter().all(|part| larger.contains(part))
    }

    /// The operands of a union; any other term is its own operand.
    fn alternatives<'a>(&'a self, term: &'a TermId) -> &'a [TermId] {
        match self.get(*term) {
            Term::Union(parts) => parts,
            _ => std::slice::from_ref(term),
        }
    }

    /// The last bytes of the words of `term`, if its last element is a byte set or a literal; then it is not nullable.
    pub fn last_bytes_by_form(&self, term: TermId) -> Option<ByteSet> {
        let mut rest = term;
        loop {
            let (head, tail) = self.split_head(rest);
            if tail != TermId::EPSILON {
                rest = tail;
                continue;
            }
            return match self.get(head) {
                Term::Bytes(set) => Some(*set),
                Term::Literal(chunk) => chunk.as_slice().last().copied().map(ByteSet::single),
                _ => None,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Automata, regex};
    use grammask_diagnostics::Limits;

    /// Checks all pairs of states of some patterns.
    #[test]
    fn facts_from_the_form_are_true() {
        let mut terms = Terms::new();
        let term = |terms: &mut Terms, pattern: &str| {
            regex::term(terms, pattern, &Limits::default()).expect("a pattern")
        };
        let text = term(&mut terms, "[a-z]*");
        let mut starts = Vec::new();
        for pattern in ["[a-z]*(aab|bab)[a-z]*", "(ab|ba|[a-z]{2}c)+", "[a-z]*a[ab]{3}"] {
            let pattern = term(&mut terms, pattern);
            let other = terms.complement(pattern);
            for operand in [pattern, other] {
                let both = terms.intersection(&[text, operand]);
                let quote = terms.literal(b"\"");
                starts.extend([both, terms.concat(&[both, quote])]);
            }
        }
        let mut automata = Automata::new(terms, 10_000);
        let mut states = Vec::new();
        for start in starts {
            let first = states.len();
            states.push(automata.start(start).expect("within limits").expect("not empty"));
            let mut next = first;
            while let Some(&state) = states.get(next) {
                next += 1;
                for (_, target) in automata.successors(state).expect("within limits") {
                    if !states[first..].contains(&target) {
                        states.push(target);
                    }
                }
            }
        }
        let mut inclusions = 0;
        for &larger in &states {
            let words_end_with = automata.terms().last_bytes_by_form(automata.term(larger));
            if let Some(bytes) = words_end_with {
                assert!(!automata.is_accepting(larger));
                for (over, target) in automata.successors(larger).expect("within limits") {
                    assert!(!automata.is_accepting(target) || !over.intersection(bytes).is_empty());
                }
            }
            for &smaller in &states {
                let terms = [larger, smaller].map(|state| automata.term(state));
                if larger == smaller || !automata.terms().includes_by_form(terms[0], terms[1]) {
                    continue;
                }
                inclusions += 1;
                let outside = automata.terms_mut().complement(terms[0]);
                let missing = automata.terms_mut().intersection(&[terms[1], outside]);
                assert_eq!(automata.start(missing), Ok(None), "the larger language includes the smaller one");
            }
        }
        assert!(inclusions > 20, "{inclusions} pairs");
    }
}
