//! The places in its source that a front end names in messages about texts.

use std::fmt::Debug;

/// The place in the source of a grammar where the rest of a text is described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPlace {
    /// The place, in the notation of the source: for a schema a JSON pointer.
    pub place: String,
    /// What the author of the text or of the grammar can do.
    pub help: Option<String>,
}

/// Finds places of texts. A front end keeps what it needs to find them when somebody asks, so compiling costs nothing.
pub trait TextPlaces: Debug + Send + Sync {
    /// The place of the first byte that does not fit, at `position`, or of the end of a text that ends too early.
    fn place(&self, text: &[u8], position: usize) -> Option<TextPlace>;
}
