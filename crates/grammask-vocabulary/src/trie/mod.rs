//! The prefix tree of all tokens, and its columns of precomputed facts.

mod bit_sliced;
mod byte_groups;
mod character;
mod token_trie;

pub use byte_groups::ByteGroups;
pub use character::Character;
pub use token_trie::{Children, ChildrenByByte, TokenTrie, TrieColumns, TrieNode, WhichNodes};
