//! Tokens that token terminals of a set match.

use crate::recognizer::SetReader;
use grammask_diagnostics::LimitExceeded;
use grammask_engine::TokenMatch;
use grammask_vocabulary::{LiveTokens, Vocabulary};

/// The tokens that token terminals of the set match, as sets to be united.
///
/// The end of such a token leaves only items before a symbol, so limits on the number of tokens do not exclude it.
pub(super) fn tokens_of_terminals(
    reader: &mut SetReader<'_>,
    vocabulary: &Vocabulary,
) -> Result<Vec<LiveTokens>, LimitExceeded> {
    let matches = reader.token_matches()?.into_iter().map(|token| match token {
        TokenMatch::Only(id) => LiveTokens::new(vec![id], vocabulary.size()),
        TokenMatch::AnyWithText => LiveTokens::from_shared(vocabulary.tokens_with_text().clone()),
        TokenMatch::OneOf(tokens) => LiveTokens::from_shared(tokens),
    });
    Ok(matches.collect())
}
