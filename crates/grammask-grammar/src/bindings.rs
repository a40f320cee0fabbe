//! Bindings: a text that is bound to a name, and texts that are compared with it.
//!
//! ```text
//! scope("<" bind(tag, name) ">" content "</" same(tag) ">")
//! ```
//!
//! A name belongs to the innermost scope around it; each scope begins without bound texts. Lowering replaces bindings by
//! [values](super::values): it follows which names are unbound, or bound to the empty text, and the recogniser remembers
//! the other texts.

use std::sync::Arc;

use super::NodeId;

/// A node that binds a name, or refers to the text that is bound to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// The operation.
    pub kind: BindingKind,
    /// The name.
    pub name: Arc<str>,
    /// The texts of the node, a regular language; `None` for [`BindingKind::Same`], and only there.
    pub node: Option<NodeId>,
}

/// The operation of a [`Binding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindingKind {
    /// A text of the node, which the name is bound to from there on, in place of another text.
    Bind,
    /// The bound text.
    Same,
    /// A text of the node other than the bound one.
    Other,
    /// A text of the node that does not begin with the bound one.
    WithoutPrefix,
}

impl BindingKind {
    /// All operations.
    pub const ALL: [Self; 4] = [Self::Bind, Self::Same, Self::Other, Self::WithoutPrefix];

    /// The word of the operation, which all notations share; KBNF and GBNF write it with `!`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Bind => "bind",
            Self::Same => "same",
            Self::Other => "other",
            Self::WithoutPrefix => "without_prefix",
        }
    }

    /// The operation with this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The notation, for messages.
    #[must_use]
    pub fn notation(self) -> &'static str {
        match self {
            Self::Bind => "`bind!(name, ...)`",
            Self::Same => "`same!(name)`",
            Self::Other => "`other!(name, ...)`",
            Self::WithoutPrefix => "`without_prefix!(name, ...)`",
        }
    }
}
