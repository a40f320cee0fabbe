//! Lower and upper bounds of a language, obtained by changing the bounds of its repetitions.
//!
//! Union, intersection, concatenation and repetition are monotone: raising a maximum never removes a word. So a
//! language with large maxima includes the language with small maxima, and is included in the language without
//! maxima. If these two have the same mask, every language between them has it, whatever its maxima are.

use rustc_hash::FxHashMap;

use crate::term::arena::{Term, TermId, Terms};

/// Number of subterms above which a term is not analysed: the analysis would cost more than it saves.
const MAX_SUBTERMS: usize = 512;

/// A maximum is large if its first excess word is longer than this number of bytes: few tokens are as long.
const MAX_NEAR_BYTES: u32 = 32;

/// A lower and an upper bound of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanguageBounds {
    pub lower: TermId,
    pub upper: TermId,
}

/// An upper bound of a language that is exact for short words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpperBound {
    pub term: TermId,
    /// The two languages have the same words up to this length, in bytes.
    pub exact_up_to_bytes: u32,
}

impl Terms {
    /// The bounds of a language in which the maxima above `copies` are replaced by `copies`, and removed. `None` if
    /// there are no such maxima outside complements and first matches, or the term is large.
    pub fn clamp_maxima(&mut self, term: TermId, copies: u32) -> Option<LanguageBounds> {
        let is_large = |_: &Self, _, min, max| min <= copies && max > copies;
        let upper = self.rebound(term, is_large, None)?;
        let lower = self.rebound(term, is_large, Some(copies))?;
        Some(LanguageBounds { lower, upper }).filter(|bounds| bounds.lower != bounds.upper)
    }

    /// The language without its large maxima, if it has some.
    ///
    /// A word of n bytes contains at most n / m nonempty copies of a language with words of at least m bytes, and empty
    /// copies can be omitted, since the minimum of a nullable repetition is 0. So the removal of a maximum changes
    /// longer words only.
    pub fn without_large_bounds(&mut self, term: TermId) -> Option<UpperBound> {
        if !self.has_large_bounds(term) {
            return None;
        }
        let mut exact_up_to_bytes = u32::MAX;
        let is_large = |terms: &Self, term, min, max| {
            let bound = terms.effective_length(term, min, Some(max));
            exact_up_to_bytes = exact_up_to_bytes.min(bound.unwrap_or(u32::MAX));
            bound.is_some()
        };
        let unbounded = self.rebound(term, is_large, None)?;
        (unbounded != term).then_some(UpperBound { term: unbounded, exact_up_to_bytes })
    }

    /// The length of words, in bytes, up to which the maximum of a repetition has no effect, if the maximum is large.
    pub(crate) fn effective_length(&self, term: TermId, min: u32, max: Option<u32>) -> Option<u32> {
        let one = self.min_length_by_form(term).max(1);
        let too_long = max?.saturating_add(1).saturating_mul(one);
        (min <= MAX_NEAR_BYTES && too_long > MAX_NEAR_BYTES + 1).then(|| too_long - 1)
    }

    /// The language in which `bound` replaces all maxima for which `is_large(operand, min, max)` holds. `None` if the
    /// term has too many subterms.
    fn rebound(
        &mut self,
        term: TermId,
        mut is_large: impl FnMut(&Self, TermId, u32, u32) -> bool,
        bound: Option<u32>,
    ) -> Option<TermId> {
        let mut rebound_terms: FxHashMap<TermId, TermId> = FxHashMap::default();
        let mut stack = vec![(term, false)];
        while let Some((current, is_visited)) = stack.pop() {
            if rebound_terms.contains_key(&current) {
                continue;
            }
            let parts: Vec<TermId> = match self.get(current) {
                Term::Concat(head, tail) => vec![*head, *tail],
                Term::Union(parts) | Term::Intersection(parts) => parts.to_vec(),
                Term::Repeat { term, .. } => vec![*term],
                // The other operations are not monotone, or have no operands.
                _ => Vec::new(),
            };
            if !is_visited && !parts.is_empty() {
                if rebound_terms.len() + stack.len() + parts.len() > MAX_SUBTERMS {
                    return None;
                }
                stack.push((current, true));
                stack.extend(parts.iter().map(|&part| (part, false)));
                continue;
            }
            let parts: Vec<TermId> = parts.iter().map(|part| rebound_terms[part]).collect();
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
            rebound_terms.insert(current, rebound);
        }
        rebound_terms.get(&term).copied()
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
        let with_max = |terms: &mut Terms, max| {
            let many = terms.repeat(a, 1, max);
            let many = terms.concat(&[many, b]);
            let words = terms.repeat(many, 0, max);
            let few = terms.repeat(b, 2, Some(4));
            let not = terms.repeat(b, 0, Some(70));
            let not = terms.complement(not);
            let both = terms.concat(&[words, few]);
            terms.intersection(&[both, not])
        };
        let (term, lower) = (with_max(&mut terms, Some(90)), with_max(&mut terms, Some(6)));
        let upper = with_max(&mut terms, None);
        assert_eq!(terms.clamp_maxima(term, 6), Some(LanguageBounds { lower, upper }));
        assert_eq!(terms.clamp_maxima(upper, 6), None);
        assert_eq!(terms.clamp_maxima(b, 6), None);
        assert!(terms.has_large_bounds(term) && !terms.has_large_bounds(upper));
        let unbounded = terms.without_large_bounds(term);
        assert_eq!(unbounded, Some(UpperBound { term: upper, exact_up_to_bytes: 90 }));
        assert_eq!(terms.without_large_bounds(upper), None);
    }

    /// Without large maxima there are more words, but no short ones.
    #[test]
    fn short_words_do_not_change() {
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
                let UpperBound { term: wider, exact_up_to_bytes } =
                    terms.without_large_bounds(term).expect("the term has large maxima");
                assert!(exact_up_to_bytes > MAX_NEAR_BYTES);
                let mut automata = Automata::new(terms.clone(), 100_000);
                let [narrow, wide] = [term, wider].map(|term| automata.start(term).expect("within limits"));
                // The pairs of states after all words of some length.
                let mut pairs = vec![(narrow, wide)];
                for length in 0..exact_up_to_bytes + 30 {
                    for &(narrow, wide) in &pairs {
                        let [narrow, wide] = [narrow, wide]
                            .map(|state| state.is_some_and(|state| automata.is_accepting(state)));
                        assert!(!narrow || wide, "{pattern}");
                        assert!(narrow == wide || length > exact_up_to_bytes, "{pattern} {length}");
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
        assert!(found > 100, "{found} pairs of states differ for longer words");
    }
}
