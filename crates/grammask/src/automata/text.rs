//! Languages of texts: valid UTF-8, and what a text must not contain.

use super::term::{TermId, Terms};

impl Terms {
    /// All valid UTF-8 texts, the empty one included.
    pub fn text(&mut self) -> TermId {
        let character = self.characters(&[('\0', char::MAX)]);
        self.repeat(character, 0, None)
    }

    /// All byte strings.
    #[must_use]
    pub fn anything(&self) -> TermId {
        TermId::ANYTHING
    }

    /// The nonempty valid UTF-8 texts that are not in `term`.
    pub fn texts_outside(&mut self, term: TermId) -> TermId {
        let character = self.characters(&[('\0', char::MAX)]);
        let nonempty = self.repeat(character, 1, None);
        let outside = self.complement(term);
        self.intersection(&[nonempty, outside])
    }

    /// The nonempty valid UTF-8 texts that contain no word of `term`. Every text contains the empty word.
    pub fn without_match(&mut self, term: TermId) -> TermId {
        let containing = self.concat(&[TermId::ANYTHING, term, TermId::ANYTHING]);
        self.texts_outside(containing)
    }
}
