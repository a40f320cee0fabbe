//! Lower and upper bounds of a language, obtained by changing the bounds of its repetitions.
//!
//! Union, intersection, concatenation and repetition are monotone: raising a maximum never removes a word. So a
//! language with large maxima includes the language with small maxima, and is included in the language without
//! maxima. If these two have the same mask, every language between them has it, whatever its maxima are.

use rustc_hash::FxHashMap;

use crate::term::arena::{Term, TermId, Terms};

/// Number of subterms above which a term is not analysed: the analysis would cost more than it saves.
const MAX_SUBTERMS: usize = 512;
/// Number of subterms that a scan without a set of visited terms visits.
const MAX_SCANNED_SUBTERMS: usize = 64;

/// A lower and an upper bound of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanguageBounds {
    pub lower: TermId,
    pub upper: TermId,
}

impl Terms {
    /// The bounds of a language in which the maxima above `copies` are replaced by `copies`, and removed. `None` if
    /// there are no such maxima outside complements and first matches, or the term is large.
    pub fn clamp_maxima(&mut self, term: TermId, copies: u32) -> Option<LanguageBounds> {
        let is_large = |min, max, _| min <= copies && max > copies;
        let upper = self.rebound(term, is_large, None)?;
        let lower = self.rebound(term, is_large, Some(copies))?;
        Some(LanguageBounds { lower, upper }).filter(|bounds| bounds.lower != bounds.upper)
    }

    /// The language without the maxima above `copies`, and the length of words in bytes up to which they have no effect:
    /// since words need no empty copies, the least product of a maximum and the length of its copies. `None` as for
    /// [`clamp_maxima`](Self::clamp_maxima).
    pub fn without_large_maxima(&mut self, term: TermId, copies: u32) -> Option<(TermId, u32)> {
        if !self.may_have_maximum(term, copies) {
            return None;
        }
        let mut length = u32::MAX;
        let is_large = |min, max: u32, copy_length: u32| {
            let is_large = min <= copies && max > copies;
            length = if is_large { length.min(max.saturating_mul(copy_length.max(1))) } else { length };
            is_large
        };
        let wider = self.rebound(term, is_large, None)?;
        (wider != term).then_some((wider, length))
    }

    /// Whether a subterm is a repetition with a maximum above `copies`; also true if the subterms are many.
    fn may_have_maximum(&self, term: TermId, copies: u32) -> bool {
        let mut stack = vec![term];
        let mut visited = 0;
        while let Some(term) = stack.pop() {
            let term = self.get(term);
            visited += 1;
            if visited > MAX_SCANNED_SUBTERMS
                || matches!(term, Term::Repeat { max: Some(max), .. } if *max > copies)
            {
                return true;
            }
            stack.extend(term.operands());
        }
        false
    }

    /// The language in which `bound` replaces all maxima for which `is_large(min, max, copy_length)` holds, with a lower
    /// bound on the length of copies. `None` if the term has too many subterms.
    fn rebound(
        &mut self,
        term: TermId,
        mut is_large: impl FnMut(u32, u32, u32) -> bool,
        bound: Option<u32>,
    ) -> Option<TermId> {
        let mut rebound_terms: FxHashMap<TermId, TermId> = FxHashMap::default();
        let mut stack = vec![(term, false)];
        while let Some((current, is_visited)) = stack.pop() {
            if rebound_terms.contains_key(&current) {
                continue;
            }
            let parts: Vec<TermId> = match self.get(current) {
                // These operations are not monotone.
                Term::Complement(_) | Term::FirstMatch(_) => Vec::new(),
                term => term.operands().collect(),
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
                    let copy_length = self.min_length_by_form(parts[0]);
                    let is_large = max.is_some_and(|max| is_large(min, max, copy_length));
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
    use crate::{Automata, ByteSet, regex};
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
        assert_eq!(terms.without_large_maxima(term, 6), Some((upper, 90)));
        assert_eq!(terms.without_large_maxima(term, 90), None);
        assert_eq!(terms.without_large_maxima(upper, 6), None);
    }

    /// A language without its large maxima has more words, but no short ones.
    #[test]
    fn short_words_need_no_large_maxima() {
        let mut found = 0;
        for pattern in [
            "[ab]{1,20}",
            "(a{1,17}b){0,30}(ab|b{2,5})",
            "(a|ab){3,18}b?",
            "(a{0,19}b?){0,20}",
            "(aa|(bb?){0,40}a){1,18}",
        ] {
            let mut terms = Terms::new();
            let term = regex::term(&mut terms, pattern, &Limits::default()).expect("a pattern");
            let any = terms.bytes(ByteSet::range(b'a', b'b'));
            let few = terms.repeat(any, 0, Some(25));
            let excluded = terms.literal(b"aab");
            let excluded = terms.complement(excluded);
            let both = terms.intersection(&[term, few, excluded]);
            for term in [term, both] {
                let (wider, equal_up_to) = terms.without_large_maxima(term, 16).expect("a large maximum");
                assert!(equal_up_to > 16);
                let mut automata = Automata::new(terms.clone(), 100_000);
                let start = [term, wider].map(|term| automata.start(term).expect("within limits"));
                // The pairs of states that texts of each length reach.
                let mut pairs = vec![start];
                for length in 0..equal_up_to + 15 {
                    let mut next = Vec::new();
                    for pair in pairs {
                        let [is_word, is_wider_word] =
                            pair.map(|state| state.is_some_and(|state| automata.is_accepting(state)));
                        assert!(!is_word || is_wider_word, "{pattern}");
                        assert!(is_word == is_wider_word || length > equal_up_to, "{pattern} {length}");
                        found += u32::from(is_word != is_wider_word);
                        for byte in [b'a', b'b'] {
                            next.push(pair.map(|state| {
                                state.and_then(|state| automata.step(state, byte).expect("within limits"))
                            }));
                        }
                    }
                    next.sort_unstable();
                    next.dedup();
                    pairs = next;
                }
            }
        }
        assert!(found > 50, "{found} pairs of states differ after longer texts");
    }
}
