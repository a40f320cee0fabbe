//! Lower and upper bounds of a language, obtained by changing its repetitions and tables.
//!
//! Union, intersection, concatenation and repetition are monotone: raising a maximum never removes a word. So a
//! language with large maxima includes the language with small maxima, and is included in the language without
//! maxima. If these two have the same mask, every language between them has it, whatever its maxima are. Likewise the
//! language of a table is included in all words over its bytes.

use rustc_hash::FxHashMap;

use crate::term::arena::{Term, TermId, Terms};

/// Number of subterms above which a term is not analysed: the analysis would cost more than it saves.
const MAX_SUBTERMS: usize = 512;
/// Number of subterms that a scan without a set of visited terms visits.
const MAX_SCANNED_SUBTERMS: usize = 64;
/// Number of states of a table from which [`Terms::without_large_tables`] replaces it.
const LARGE_TABLE_STATES: usize = 64;

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
        let is_large = |_: &Self, _, min, max| min <= copies && max > copies;
        let upper = self.change_maxima(term, is_large, None)?;
        let lower = self.change_maxima(term, is_large, Some(copies))?;
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
        let is_large = |terms: &Self, copy, min, max: u32| {
            let is_large = min <= copies && max > copies;
            if is_large {
                length = length.min(max.saturating_mul(terms.min_length_by_form(copy).max(1)));
            }
            is_large
        };
        let wider = self.change_maxima(term, is_large, None)?;
        (wider != term).then_some((wider, length))
    }

    /// An upper bound of a language: tables with many states are replaced by all words over the bytes that occur in the
    /// words of their state. `None` if there are no such tables outside complements and first matches, or the term is
    /// large.
    pub(crate) fn without_large_tables(&mut self, term: TermId) -> Option<TermId> {
        let wider = self.rebuild(term, |terms, part, copy| match (terms.get(part), copy) {
            (&Term::Repeat { min, max, .. }, Some(copy)) => terms.repeat(copy, min, max),
            (&Term::Table { table, state }, _) if terms.get_table(table).len() >= LARGE_TABLE_STATES => {
                let bytes = terms.get_table(table).bytes_of_words(state);
                let byte = terms.bytes(bytes);
                terms.repeat(byte, 0, None)
            }
            _ => part,
        })?;
        (wider != term).then_some(wider)
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

    /// The language in which `bound` replaces all maxima for which `is_large(terms, copy, min, max)` holds. `None` if the
    /// term has too many subterms.
    fn change_maxima(
        &mut self,
        term: TermId,
        mut is_large: impl FnMut(&Self, TermId, u32, u32) -> bool,
        bound: Option<u32>,
    ) -> Option<TermId> {
        self.rebuild(term, |terms, part, copy| match (terms.get(part), copy) {
            (&Term::Repeat { min, max, .. }, Some(copy)) => {
                let is_large = max.is_some_and(|max| is_large(terms, copy, min, max));
                terms.repeat(copy, min, if is_large { bound } else { max })
            }
            _ => part,
        })
    }

    /// The language in which `change` replaces the repetitions, with their changed operand, and the leaves; complements
    /// and first matches, which are not monotone, are leaves. `None` if the term has too many subterms.
    fn rebuild(
        &mut self,
        term: TermId,
        mut change: impl FnMut(&mut Self, TermId, Option<TermId>) -> TermId,
    ) -> Option<TermId> {
        let mut rebuilt_terms: FxHashMap<TermId, TermId> = FxHashMap::default();
        let mut stack = vec![(term, false)];
        while let Some((current, is_visited)) = stack.pop() {
            if rebuilt_terms.contains_key(&current) {
                continue;
            }
            let parts: Vec<TermId> = match self.get(current) {
                Term::Complement(_) | Term::FirstMatch(_) => Vec::new(),
                term => term.operands().collect(),
            };
            if !is_visited && !parts.is_empty() {
                if rebuilt_terms.len() + stack.len() + parts.len() > MAX_SUBTERMS {
                    return None;
                }
                stack.push((current, true));
                stack.extend(parts.iter().map(|&part| (part, false)));
                continue;
            }
            let parts: Vec<TermId> = parts.iter().map(|part| rebuilt_terms[part]).collect();
            let rebuilt = match self.get(current) {
                Term::Concat(..) => self.concat(&parts),
                Term::Union(_) => self.union(&parts),
                Term::Intersection(_) => self.intersection(&parts),
                _ => change(self, current, parts.first().copied()),
            };
            rebuilt_terms.insert(current, rebuilt);
        }
        rebuilt_terms.get(&term).copied()
    }
}
