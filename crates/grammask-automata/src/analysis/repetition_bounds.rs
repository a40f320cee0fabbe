//! Lower and upper bounds of a language, obtained by changing the bounds of its repetitions.
//!
//! Union, intersection, concatenation and repetition are monotone: raising a maximum never removes a word. So a
//! language with large maxima includes the language with small maxima, and is included in the language without
//! maxima. If these two have the same mask, every language between them has it, whatever its maxima are.

use rustc_hash::FxHashMap;

use crate::term::arena::{Term, TermId, Terms};

/// Number of subterms above which a term is not analysed: the analysis would cost more than it saves.
const MAX_SUBTERMS: usize = 512;

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
        let is_large = |min, max| min <= copies && max > copies;
        let upper = self.rebound(term, is_large, None)?;
        let lower = self.rebound(term, is_large, Some(copies))?;
        Some(LanguageBounds { lower, upper }).filter(|bounds| bounds.lower != bounds.upper)
    }

    /// The language in which `bound` replaces all maxima for which `is_large(min, max)` holds. `None` if the
    /// term has too many subterms.
    fn rebound(
        &mut self,
        term: TermId,
        is_large: impl Fn(u32, u32) -> bool,
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
                    let is_large = max.is_some_and(|max| is_large(min, max));
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
    }
}
