//! The mask by its definition: each token is tried on its own. The oracle of all other ways.
//!
//! Cost: one run of the textbook recogniser per token.

use crate::recognizer::reference::Chart;
use grammask_vocabulary::{TokenId, TokenSet, Vocabulary};

/// The tokens of `vocabulary` that may follow the text of `chart`, which was made for that vocabulary.
///
/// An end token is in it only where the grammar names it; where else a text may end is the matcher's part.
#[must_use]
pub fn mask(chart: &Chart<'_>, vocabulary: &Vocabulary) -> TokenSet {
    let mut mask = TokenSet::new(vocabulary.size());
    for id in 0..vocabulary.size() {
        // A vocabulary has at most `Vocabulary::MAX_SIZE` ids, which is below 2^32.
        let token = TokenId(id as u32);
        if chart.clone().accept_token(token) {
            mask.insert(token);
        }
    }
    mask
}
