//! Bound texts: states that texts of different bound texts share.
//!
//! A text that is bound to a name has to be repeated later, so each of its prefixes has a state of its own. For the costs
//! of the tokens inside it only the number of tokens counts that can spell it: where that alone is known, the text is
//! *unknown*.

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_vocabulary::Vocabulary;

use crate::SetId;

/// The states with unknown texts of an engine whose grammar binds texts to names.
///
/// An unknown text began before the present token, or inside it. No byte leads on from such a state that ends the text.
pub trait BoundTexts {
    /// The state before a token in which the texts are unknown that are being bound; the state itself if there are none.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn before_token(&self, set: SetId, vocabulary: &Vocabulary) -> Result<SetId, LimitExceeded>;

    /// The same for a state inside a token, where texts are known that began inside it.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn inside_token(&self, set: SetId, vocabulary: &Vocabulary) -> Result<SetId, LimitExceeded>;

    /// An upper bound of the tokens that finish the text of a state, without an end token; `None` if there is none.
    ///
    /// - If it is `n` and not zero, some token leads to a state with a smaller bound, also where the texts are unknown that
    ///   are being bound.
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
