//! Bounds a language from below and from above by its repetitions: with few copies, and with any number of them.
//!
//! Union, intersection, concatenation and repetition are monotone: more copies of an operand never take a word away. So a language
//! with large bounds lies between the one in which they are small and the one in which there are none. Where masks
//! cannot tell these two apart, they cannot tell it from them either, whatever its bounds are.

use rustc_hash::FxHashMap;

use super::term::{Term, TermId, Terms};

/// Subterms after which a term is too large to be worth it.
const MOST_SUBTERMS: usize = 512;

/// A language below and one above another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Between {
    pub(crate) lower: TermId,
    pub(crate) upper: TermId,
}

impl Terms {
    /// The languages in which the bounds of all repetitions that may have more than `copies` are `copies`, and none. None
    /// where there are no such repetitions but below complements and first matches, or the term is large.
    pub(crate) fn clamp(&mut self, term: TermId, copies: u32) -> Option<Between> {
        let mut clamped: FxHashMap<TermId, Between> = FxHashMap::default();
        let mut stack = vec![(term, false)];
        while let Some((current, is_visited)) = stack.pop() {
            if clamped.contains_key(&current) {
                continue;
            }
            let parts: Vec<TermId> = match self.get(current) {
                Term::Concat(head, tail) => vec![*head, *tail],
                Term::Union(parts) | Term::Intersection(parts) => parts.to_vec(),
                Term::Repeat { term, .. } => vec![*term],
                // What is below these may not be monotone; as it is it is between itself.
                _ => Vec::new(),
            };
            if !is_visited && !parts.is_empty() {
                if clamped.len() + stack.len() + parts.len() > MOST_SUBTERMS {
                    return None;
                }
                stack.push((current, true));
                stack.extend(parts.iter().map(|&part| (part, false)));
                continue;
            }
            let side = |side: fn(Between) -> TermId| -> Vec<TermId> {
                parts.iter().map(|part| side(clamped[part])).collect()
            };
            let (lower, upper) = (side(|between| between.lower), side(|between| between.upper));
            let between = match *self.get(current) {
                Term::Concat(..) => Between { lower: self.concat(&lower), upper: self.concat(&upper) },
                Term::Union(_) => Between { lower: self.union(&lower), upper: self.union(&upper) },
                Term::Intersection(_) => {
                    Between { lower: self.intersection(&lower), upper: self.intersection(&upper) }
                }
                Term::Repeat { min, max, .. } => {
                    let is_large = min <= copies && max.is_some_and(|max| max > copies);
                    let (fewer, more) = if is_large { (Some(copies), None) } else { (max, max) };
                    Between {
                        lower: self.repeat(lower[0], min, fewer),
                        upper: self.repeat(upper[0], min, more),
                    }
                }
                _ => Between { lower: current, upper: current },
            };
            clamped.insert(current, between);
        }
        clamped.get(&term).copied().filter(|between| between.lower != between.upper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
