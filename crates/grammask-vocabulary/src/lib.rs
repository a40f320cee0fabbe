//! Vocabularies: the tokens of a model, the trie over their bytes, sets of tokens and trie nodes, and cached summaries.
//!
//! A [`Vocabulary`] is immutable and built once per model; all grammars share it through an `Arc`. It assigns each id
//! to exactly one class:
//!
//! - a *token with text*: matched by its bytes, and a path of the [`TokenTrie`];
//! - a *special token*: has a name and no text, and matches only where a grammar names it, whatever bytes its
//!   tokenizer spells it with;
//! - an *end token*: ends the text. A special token may be one; a token with bytes loses them when it is declared an
//!   end token;
//! - *without text*: an id that no grammar can match, such as padding of the model's logits to a round number.
//!
//! Several ids may have the same bytes. They share a node of the trie and are legal together.
//!
//! | folder or module | contents |
//! |---|---|
//! | `tokens` | [`Vocabulary`] and its files, [`TokenId`], [`TokenTexts`] (the bytes of all tokens in two allocations) |
//! | `trie` | [`TokenTrie`]: flat arrays in preorder, with facts by which walks skip subtrees ([`ByteGroups`]) |
//! | `sets` | [`TokenSet`] (bitset in the mask layout), [`LiveTokens`] (list, bitset or delta), [`NodeSet`], [`Mask`] |
//! | `summary_cache` | [`SummaryCache`]: summaries of terminals, interned sets, unions, masks; for all grammars |
//! | `counted_summary` | [`CountedSummary`]: summaries of a repeated prefix code, for all numbers of copies |
//! | `column` | arrays with memory of their own or in an image, the bytes of a file that is mapped into memory |
//! | `saved_file`, `word_hash` | the frame of saved files, [`ByteReader`], and [`WordHash`], their checksum |
//! | `derivative_groups` | [`DerivativeGroups`]: tokens by the derivative of a terminal |
//!
//! **Invariant: tables are keyed by identities.** Shared sets carry an id ([`NodeSetId`], [`TokenSetId`]) that is
//! never reused; no table depends on the address of a set or on which sets are alive.
#![forbid(unsafe_code)]

mod column;
mod counted_summary;
mod derivative_groups;
mod saved_file;
mod sets;
mod sharded_map;
mod summary_cache;
mod tokens;
mod trie;
mod word_hash;

pub use column::SharedBytes;
pub use counted_summary::{CountedSummary, CountedSummaryBuilder};
pub use derivative_groups::{DerivativeGroup, DerivativeGroups, LeavingSubtree, LeavingTokens};
pub use saved_file::{ByteReader, FrameDefect, framed, unframed};
pub use sets::{
    BitOrder, GrowingNodeSet, LiveTokens, LiveTokensIter, Mask, NodeSet, NodeSetId, NodeSetRef, TokenRanges,
    TokenSet, TokenSetId, TokenSetRef, ones, words_of,
};
pub use summary_cache::{CopyBounds, Repetition, SummaryCache, TerminalSummary};
pub use tokens::{
    PairMerge, PairMerges, SavedVocabularyError, TokenId, TokenTexts, TokenTextsBuilder, Vocabulary,
    VocabularyError,
};
pub use trie::{
    ByteGroups, Character, Children, ChildrenByByte, Edge, TokenTrie, TrieColumns, TrieNode, WhichNodes,
};
pub use word_hash::WordHash;
