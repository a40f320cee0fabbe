//! Words that no string and no name may contain.
//!
//! They are about texts, not about values: a word is excluded as it is written, and `\u0061` has no `a`. So what a schema says of
//! values, negations included, is worked out without them, and they are taken out of each language of strings where
//! that becomes a part of a rule. What has no spelling left then is left out, and with it what needs it.

use rustc_hash::FxHashMap;

use crate::values::scalar_languages::ScalarLanguages;
use grammask_automata::{TermId, Terms};
use grammask_diagnostics::LimitExceeded;

/// The words, and what was found out about languages of strings.
#[derive(Debug, Default)]
pub(crate) struct ExcludedWords {
    /// The byte strings that contain one of the words, and those that contain none; nothing if there are no words.
    sides: Option<(TermId, TermId)>,
    left: FxHashMap<TermId, Option<TermId>>,
}

impl ExcludedWords {
    /// These words.
    pub(crate) fn new(terms: &mut Terms, words: &[String]) -> Self {
        if words.is_empty() {
            return Self::default();
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let word = terms.literals(&words);
        let anything = terms.anything();
        let containing = terms.concat(&[anything, word, anything]);
        Self { sides: Some((containing, terms.complement(containing))), left: FxHashMap::default() }
    }
}

impl ScalarLanguages {
    /// What may be written of a language of strings, without quotes, which is not empty; none if nothing may.
    pub(crate) fn written(&mut self, strings: TermId) -> Result<Option<TermId>, LimitExceeded> {
        let Some((containing, others)) = self.excluded_words.sides else { return Ok(Some(strings)) };
        if let Some(&known) = self.excluded_words.left.get(&strings) {
            return Ok(known);
        }
        // A language that loses nothing keeps its own form, which may be a word.
        let left = if self.are_disjoint(strings, containing)? {
            strings
        } else {
            self.automata.terms_mut().intersection(&[strings, others])
        };
        let left = (!self.is_empty(left)?).then_some(left);
        self.excluded_words.left.insert(strings, left);
        Ok(left)
    }
}
