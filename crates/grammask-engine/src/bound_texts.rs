//! Bound texts: states that texts of different bound texts share.
//!
//! A text that is bound to a name has to be repeated later, so each of its prefixes has a state of its own. For the costs
//! of the tokens inside it only the number of tokens counts that can spell it: where that alone is known, the text is
//! *unknown*.

use std::fmt;

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_vocabulary::Vocabulary;

use crate::SetId;

/// Why no upper bound of the tokens that finish a text is known, where texts have to repeat others, or to differ from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnboundedText {
    /// Values must repeat others, or must differ in a grammar that also binds texts to names.
    Values,
    /// The texts are those of a part that an engine of its own reads.
    InsidePart,
    /// A byte of some token is no token by itself.
    MissingBytes,
    /// A part may need more tokens than it may have.
    CountedTokens,
    /// Texts are compared decoded.
    Decoded,
    /// A bound text, or one that must differ from it, is no regular language.
    NotRegular,
    /// A text that follows has no upper bound that holds for all bound texts.
    Rest,
}

impl fmt::Display for UnboundedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Values => "some of its values must repeat others, or must differ while other texts are bound to names",
            Self::InsidePart => {
                "texts are bound to names, or compared, inside a part with a maximum number of tokens or a delimited \
                 terminal, and many tokens can be parts of them"
            }
            Self::MissingBytes => {
                "it binds texts to names, and some byte of the tokens is not a token by itself"
            }
            Self::CountedTokens => {
                "it binds texts to names, and a part may need more tokens than its maximum"
            }
            Self::Decoded => "texts that are bound to names are compared decoded",
            Self::NotRegular => "a text that is bound to a name, or compared with one, is not a regular language",
            Self::Rest => "a text that follows a bound one has no upper bound that holds for all bound texts",
        })
    }
}

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
