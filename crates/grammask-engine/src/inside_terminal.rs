//! States inside a terminal.
//!
//! The texts inside a terminal are a language of their own, which occurs at many places of many grammars. A state inside
//! one is described by that language, so that facts about its tokens are shared.

use crate::SetId;

/// A state that is inside one terminal, or inside the copies of one.
///
/// Such a state reads on inside until a word ends (of copies: until they can go on no longer), or a byte begins what
/// follows the copies. States of equal `language`, in any grammars, and with the same first bytes of `after`, stay
/// inside for the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsideTerminal {
    /// Content hash of what is left of the terminal or the copies, up to differences that no token of the vocabulary
    /// reaches.
    pub language: u128,
    /// The place: a step to a state of another place leaves the terminal.
    pub place: u64,
    /// The state after copies; `None` inside a single terminal.
    pub after: Option<SetId>,
    /// Whether the copies may end here, so that a byte may belong to what follows them.
    pub may_end: bool,
}
