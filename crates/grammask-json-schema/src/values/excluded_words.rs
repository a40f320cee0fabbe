//! Literals that no string and no name may contain.
//!
//! They constrain encoded text, not values: a literal is excluded as a byte sequence, so `\u0061` contains no `a`.
//! Constraints on values, including negations, are therefore computed without them; they are subtracted from each
//! language of strings when it becomes part of a rule. A value without a remaining encoding is unsatisfiable, and with
//! it everything that requires it.

use rustc_hash::FxHashMap;

use crate::values::scalar_languages::ScalarLanguages;
use grammask_automata::{TermId, Terms};
use grammask_diagnostics::LimitExceeded;

/// The literals, and a memo table of string languages without them.
#[derive(Debug, Default)]
pub(crate) struct ExcludedWords {
    /// The byte strings that contain one of the literals, and those that contain none; `None` if there are no literals.
    partition: Option<(TermId, TermId)>,
    allowed: FxHashMap<TermId, Option<TermId>>,
}

impl ExcludedWords {
    /// Whether there are literals.
    pub(crate) fn are_some(&self) -> bool {
        self.partition.is_some()
    }

    /// The byte strings with and without `words`.
    pub(crate) fn new(terms: &mut Terms, words: &[String]) -> Self {
        if words.is_empty() {
            return Self::default();
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let word = terms.literals(&words);
        let anything = terms.anything();
        let containing = terms.concat(&[anything, word, anything]);
        Self { partition: Some((containing, terms.complement(containing))), allowed: FxHashMap::default() }
    }
}

impl ScalarLanguages {
    /// The part of a nonempty language of strings, without quotes, that may be emitted; `None` if it is empty.
    pub(crate) fn without_excluded_words(
        &mut self,
        strings: TermId,
    ) -> Result<Option<TermId>, LimitExceeded> {
        let Some((containing, others)) = self.excluded_words.partition else { return Ok(Some(strings)) };
        if let Some(&allowed) = self.excluded_words.allowed.get(&strings) {
            return Ok(allowed);
        }
        // A language without exclusions keeps its term, which may be a literal.
        let allowed = if self.are_disjoint(strings, containing)? {
            strings
        } else {
            self.automata.terms_mut().intersection(&[strings, others])
        };
        let allowed = (!self.is_empty(allowed)?).then_some(allowed);
        self.excluded_words.allowed.insert(strings, allowed);
        Ok(allowed)
    }
}
