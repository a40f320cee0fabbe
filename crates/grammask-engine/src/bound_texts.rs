//! Bound texts: states that texts of different bound texts share.
//!
//! A text that is bound to a name has to be repeated later, so each of its prefixes has a state of its own. For the costs
//! of the tokens inside it only the number of tokens counts that can spell it: where that alone is known, the text is
//! *unknown*.

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_vocabulary::Vocabulary;

use crate::SetId;

/// The states with unknown texts of an engine whose grammar binds texts to names.
pub trait BoundTexts {
    /// The state in which the texts are unknown that the text is inside of and that are being bound; the state itself if
    /// there are none. No byte leads on from it that ends such a text.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn with_unknown_texts(&self, set: SetId, vocabulary: &Vocabulary) -> Result<SetId, LimitExceeded>;

    /// An upper bound of the tokens that finish the text of a state, without an end token; `None` if there is none.
    ///
    /// - If it is `n` and not zero, some token leads to a state with a smaller bound, also where the text before the token
    ///   is unknown.
    /// - The bound of a state is at most that of a state with unknown texts that stands for it.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn finishing_tokens(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded>;
}
