//! The tokens of a model: their bytes, the special ones, the ones that end a text, and the trie over the rest.
//!
//! A [`Vocabulary`] is immutable and made once per model; all grammars share it behind an `Arc` without
//! copying. It sorts every id into exactly one class:
//!
//! - a *token with text*: matched by its bytes, found in the [`TokenTrie`];
//! - a *special token*: has a name and no text; only a grammar that names it can match it, whatever bytes its
//!   tokenizer spells it with;
//! - an *end token*: ends the text; a special token may be one, and a token with bytes that is made an end
//!   token loses them;
//! - *without text*: an id that the model has and no grammar can match, such as padding up to a round size.
//!
//! Several ids may have the same bytes: they share a node of the trie and are legal together.
#![forbid(unsafe_code)]

mod counted_summary;
mod sets;
mod sharded_map;
mod summary_cache;
mod tokens;
mod trie;

pub use counted_summary::{CountedSummary, CountedSummaryBuilder};
pub use sets::{
    BitOrder, GrowingNodeSet, LiveTokens, Mask, Near, NodeSet, TokenRanges, TokenSet, Tokens, ones, words_of,
};
pub use summary_cache::{NodeSetRef, Repetition, SummaryCache, TerminalSummary};
pub use tokens::{TokenId, TokenTexts, Vocabulary, VocabularyError};
pub use trie::{ByteGroups, Character, Children, ChildrenByByte, TokenTrie, TrieNode, WhichNodes};
