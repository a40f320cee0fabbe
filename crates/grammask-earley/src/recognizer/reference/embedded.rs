//! Embedded grammars of the reference recogniser, each given by its own oracle.

use std::fmt;

use super::Language;

/// Whether the last of some tokens has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastPiece {
    /// Further bytes of the token may follow.
    Open,
    /// The token has ended.
    Ended,
}

/// The meaning of some pieces of text for an embedded grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceReading {
    /// They are a prefix of a text, or a text.
    pub is_prefix: bool,
    /// They are a text.
    pub is_text: bool,
}

/// The oracle of an embedded grammar. Texts are given in pieces, the nonempty parts of consecutive tokens that belong to
/// the text, so that an embedded grammar may count tokens itself.
pub trait EmbeddedReference: fmt::Debug {
    /// The kinds of text of the grammar.
    fn language(&self) -> Language;

    /// Reads pieces. All but the last one have ended.
    fn read(&self, pieces: &[&[u8]], last: LastPiece) -> PieceReading;

    /// The number of tokens that spell the smallest of the shortest completions of pieces that have ended and are no
    /// text, over the bytes that are tokens by themselves; `None` if there is none.
    fn min_tokens(&self, pieces: &[&[u8]]) -> Option<u32>;
}
