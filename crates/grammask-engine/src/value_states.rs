//! States of texts in which some values must differ from others, or repeat them.

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_vocabulary::Vocabulary;

use crate::{AnonymousValues, BoundTexts, UnboundedText};

/// What an engine knows of values that must differ from others, or repeat them. By default its grammar has none.
pub trait ValueStates {
    /// The states with unknown bound texts of a grammar that binds texts to names, or why some state has no known upper
    /// bound of the tokens that finish its text.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn bound_texts(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Result<&dyn BoundTexts, UnboundedText>, LimitExceeded> {
        let _ = (vocabulary, deadline);
        Ok(Err(UnboundedText::InsidePart))
    }

    /// The states with anonymous values, if states depend on the values that a text has.
    fn anonymous_values(&self) -> Option<&dyn AnonymousValues> {
        None
    }

    /// Whether some values of a text cannot be anonymous: those of scopes with bound names, or with values that must
    /// repeat others, and those inside embedded grammars. Then each text inside one has its own state and its own cost.
    fn depends_on_all_values(&self) -> bool {
        false
    }

    /// Whether from each state at most `max` prefixes of tokens are texts inside values that cannot be anonymous, as far as
    /// that can be told from the beginnings of these values.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn has_few_texts_of_values(&self, vocabulary: &Vocabulary, max: usize) -> Result<bool, LimitExceeded> {
        let _ = (vocabulary, max);
        Ok(!self.depends_on_all_values())
    }
}
