//! Anonymous values: states that texts with different values share.
//!
//! Where values must differ, each text inside a value has a state of its own, although nearly all of them can be completed
//! alike. In a state with an *anonymous* value, that value is unknown, and equals no other. It stands for the states of
//! all texts in which no value begins as a remembered one, so that costs are computed once for all of them.

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_vocabulary::{TokenId, Vocabulary};

use crate::SetId;

grammask_collections::id_type! {
    /// An interned value of an engine.
    EngineValueId
}

/// How the completion of a state depends on its anonymous values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionDependence {
    /// Not at all.
    None,
    /// The text is inside anonymous values, and the completion holds if none of them is one of these.
    Avoids(Box<[EngineValueId]>),
    /// In another way.
    Other,
}

/// The states with anonymous values of an engine whose states depend on the values of a text.
pub trait AnonymousValues {
    /// The state in which all values are anonymous that the text is inside of, or that begin next; `None` if there are no
    /// such values, or if the tokens that lead to states of equal costs are few.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn with_anonymous_values(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
    ) -> Result<Option<SetId>, LimitExceeded>;

    /// A state with the same completion, in which the values that the text is inside of are anonymous, if there is one.
    /// Otherwise the state itself.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn representative(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<SetId, LimitExceeded>;

    /// Whether the state after a byte depends on an anonymous value: whether the byte belongs to another value that must
    /// differ from it.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn is_conditional_step(&self, set: SetId, byte: u8) -> Result<bool, LimitExceeded>;

    /// How the shortest completion of a state depends on its anonymous values.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn completion_dependence(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<CompletionDependence, LimitExceeded>;

    /// The tokens in which a value that the text is inside of, or that begins next, can become a remembered one or one
    /// of `values`, or is one before they go on; `None` if they are too many.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn repeating_tokens(
        &self,
        set: SetId,
        values: &[EngineValueId],
        vocabulary: &Vocabulary,
    ) -> Result<Option<Vec<TokenId>>, LimitExceeded>;
}
