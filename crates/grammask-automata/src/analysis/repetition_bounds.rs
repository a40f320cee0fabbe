//! Bounds a language from below and from above by its repetitions: with few copies, and with any number of them.
//!
//! Union, intersection, concatenation and repetition are monotone: more copies of an operand never take a word away. So a language
//! with large bounds lies between the one in which they are small and the one in which there are none. Where masks
//! cannot tell these two apart, they cannot tell it from them either, whatever its bounds are.

use rustc_hash::FxHashMap;

use crate::term::arena::{Term, TermId, Terms};

/// Subterms after which a term is too large to be worth it.
const MOST_SUBTERMS: usize = 512;

/// Bounds above this are distant: few tokens are as long.
const DISTANT: u32 = 32;

/// A language below and one above another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    pub lower: TermId,
    pub upper: TermId,
}

/// A language that contains another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unbounded {
    pub term: TermId,
    /// Words of no more bytes than this are in both or in neither.
    pub alike_up_to: u32,
}

impl Terms {
    /// The languages in which the bounds of all repetitions that may have more than `copies` are `copies`, and none. None
    /// where there are no such repetitions but below complements and first matches, or the term is large.
    pub fn clamp(&mut self, term: TermId, copies: u32) -> Option<Between> {
        let is_large = |_: &Self, _, min, max| min <= copies && max > copies;
        let upper = self.rebound(term, is_large, None)?;
        let lower = self.rebound(term, is_large, Some(copies))?;
        Some(Between { lower, upper }).filter(|between| between.lower != between.upper)
    }

    /// The language without its distant bounds, if it has some.
    ///
    /// A word has no more copies of anything than their shortest words fit into it; those that are empty can be left out, since
    /// what can be empty has no least count. So a word is in both languages, or in neither, if all bounds that
    /// were taken away are beyond its length.
    pub fn without_distant_bounds(&mut self, term: TermId) -> Option<Unbounded> {
        if !self.has_distant_bounds(term) {
            return None;
        }
        let mut alike_up_to = u32::MAX;
        let is_distant = |terms: &Self, term, min, max| {
            let bound = terms.distant_bound(term, min, Some(max));
            alike_up_to = alike_up_to.min(bound.unwrap_or(u32::MAX));
            bound.is_some()
        };
        let unbounded = self.rebound(term, is_distant, None)?;
        (unbounded != term).then_some(Unbounded { term: unbounded, alike_up_to })
    }

    /// How long a word can be without having too many copies of `term`, if the bound `max` is distant.
    pub(crate) fn distant_bound(&self, term: TermId, min: u32, max: Option<u32>) -> Option<u32> {
        let one = self.shortest_by_shape(term).max(1);
        let too_long = max?.saturating_add(1).saturating_mul(one);
        (min <= DISTANT && too_long > DISTANT + 1).then(|| too_long - 1)
    }

    /// The language in which the bounds of repetitions are `bound` where they are large for what is repeated, the least count and them.
    /// None where the term is large.
    fn rebound(
        &mut self,
        term: TermId,
        mut is_large: impl FnMut(&Self, TermId, u32, u32) -> bool,
        bound: Option<u32>,
    ) -> Option<TermId> {
        let mut made: FxHashMap<TermId, TermId> = FxHashMap::default();
        let mut stack = vec![(term, false)];
        while let Some((current, is_visited)) = stack.pop() {
            if made.contains_key(&current) {
                continue;
            }
            let parts: Vec<TermId> = match self.get(current) {
                Term::Concat(head, tail) => vec![*head, *tail],
                Term::Union(parts) | Term::Intersection(parts) => parts.to_vec(),
                Term::Repeat { term, .. } => vec![*term],
                // What is below these may not be monotone.
                _ => Vec::new(),
            };
            if !is_visited && !parts.is_empty() {
                if made.len() + stack.len() + parts.len() > MOST_SUBTERMS {
                    return None;
                }
                stack.push((current, true));
                stack.extend(parts.iter().map(|&part| (part, false)));
                continue;
            }
            let parts: Vec<TermId> = parts.iter().map(|part| made[part]).collect();
            let rebound = match *self.get(current) {
                Term::Concat(..) => self.concat(&parts),
                Term::Union(_) => self.union(&parts),
                Term::Intersection(_) => self.intersection(&parts),
                Term::Repeat { min, max, .. } => {
                    let is_large = max.is_some_and(|max| is_large(self, parts[0], min, max));
                    self.repeat(parts[0], min, if is_large { bound } else { max })
                }
                _ => current,
            };
            made.insert(current, rebound);
        }
        made.get(&term).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Automata, ByteSet, StateId, regex};
    use grammask_diagnostics::Limits;

    #[test]
    fn bounds_are_replaced_where_that_is_monotone() {
        let mut terms = Terms::new();
        let (a, b) = (terms.literal(b"a"), terms.literal(b"b"));
        let between = |terms: &mut Terms, max| {
            let many = terms.repeat(a, 1, max);
            let many = terms.concat(&[many, b]);
            let words = terms.repeat(many, 0, max);
            let few = terms.repeat(b, 2, Some(4));
            let not = terms.repeat(b, 0, Some(70));
            let not = terms.complement(not);
            let both = terms.concat(&[words, few]);
            terms.intersection(&[both, not])
        };
        let (term, lower) = (between(&mut terms, Some(90)), between(&mut terms, Some(6)));
        let upper = between(&mut terms, None);
        assert_eq!(terms.clamp(term, 6), Some(Between { lower, upper }));
        assert_eq!(terms.clamp(upper, 6), None);
        assert_eq!(terms.clamp(b, 6), None);
        assert!(terms.has_distant_bounds(term) && !terms.has_distant_bounds(upper));
        let unbounded = terms.without_distant_bounds(term);
        assert_eq!(unbounded, Some(Unbounded { term: upper, alike_up_to: 90 }));
        assert_eq!(terms.without_distant_bounds(upper), None);
    }

    /// Without distant bounds there are more words, but none that is short.
    #[test]
    fn short_words_are_alike() {
        let mut found = 0;
        for pattern in [
            "[ab]{1,40}",
            "(a{1,35}b){0,50}(ab|b{2,5})",
            "(a|ab){3,34}b?",
            "(a{0,33}b?){0,20}",
            "(a{2,3}b){1,11}(b|a{1,60}){0,40}",
            "(aa|(bb?){0,70}a){1,33}",
        ] {
            let mut terms = Terms::new();
            let term = regex::term(&mut terms, pattern, &Limits::default()).expect("a pattern");
            let any = terms.bytes(ByteSet::range(b'a', b'b'));
            let few = terms.repeat(any, 0, Some(45));
            let excluded = terms.literal(b"aab");
            let excluded = terms.complement(excluded);
            let both = terms.intersection(&[term, few, excluded]);
            for term in [term, both] {
                let Unbounded { term: wider, alike_up_to } =
                    terms.without_distant_bounds(term).expect("it has distant bounds");
                assert!(alike_up_to > DISTANT);
                let mut automata = Automata::new(terms.clone(), 100_000);
                let [narrow, wide] = [term, wider].map(|term| automata.start(term).expect("within limits"));
                // All pairs of states that words up to some length lead to.
                let mut pairs = vec![(narrow, wide)];
                for length in 0..alike_up_to + 30 {
                    for &(narrow, wide) in &pairs {
                        let [narrow, wide] = [narrow, wide]
                            .map(|state| state.is_some_and(|state| automata.is_accepting(state)));
                        assert!(!narrow || wide, "{pattern}");
                        assert!(narrow == wide || length > alike_up_to, "{pattern} {length}");
                        found += u32::from(narrow != wide);
                    }
                    let mut next = Vec::new();
                    for (narrow, wide) in pairs {
                        for byte in [b'a', b'b'] {
                            let mut step = |state: Option<StateId>| {
                                state.and_then(|state| automata.step(state, byte).expect("within limits"))
                            };
                            next.push((step(narrow), step(wide)));
                        }
                    }
                    next.sort_unstable();
                    next.dedup();
                    pairs = next;
                }
            }
        }
        assert!(found > 100, "{found} pairs of states differ beyond");
    }
}
