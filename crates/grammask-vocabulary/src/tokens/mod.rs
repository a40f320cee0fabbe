//! Tokens: their ids, their texts, and the [`Vocabulary`].

mod error;
mod longest_tokens;
mod pair_merges;
mod saved_vocabulary;
mod token_id;
mod token_texts;
mod vocabulary;

pub use error::VocabularyError;
pub use pair_merges::{PairMerge, PairMerges};
pub use saved_vocabulary::SavedVocabularyError;
pub use token_id::TokenId;
pub use token_texts::{TokenTexts, TokenTextsBuilder};
pub use vocabulary::Vocabulary;
