//! States inside a terminal.
//!
//! The texts inside a terminal are a language of their own, which occurs at many places of many grammars. A state inside
//! one is described by that language, so that facts about its tokens are shared.

use crate::SetId;
use grammask_collections::byte_set::ByteSet;

/// The state after a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowingState {
    /// The state.
    pub set: SetId,
    /// The bytes that it reads, and possibly others, as a bitset; `None` if steps have to show them.
    pub first_bytes: Option<ByteSet>,
}

/// A state that is inside one terminal, or inside the copies of one.
///
/// A state without `after` reads on inside until a word ends. A state with `after` is inside copies, or at the end of a
/// word that longer words begin with. It reads on inside past such ends, until the terminal or the copies can go on no
/// longer, or a byte begins what follows. States of equal `language`, in any grammars, and with the same first bytes of
/// `after`, stay inside for the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsideTerminal {
    /// Content hash of what is left of the terminal or the copies, up to differences that no token of the vocabulary
    /// reaches.
    pub language: u128,
    /// The place: a step to a state of another place leaves the terminal.
    pub place: u64,
    /// What follows the copies, or the word that ends here; `None` inside a word.
    pub after: Option<FollowingState>,
    /// Whether the copies or the terminal may end here, so that a byte may belong to what follows.
    pub may_end: bool,
}
