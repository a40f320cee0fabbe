//! The prefix tree of all tokens, and its columns of precomputed facts.

mod bit_sliced;
mod builder;
mod byte_groups;
mod character;
mod children;
mod indices;
mod token_trie;

pub(crate) use builder::{TrieBuilder, shared_prefix};
pub use byte_groups::ByteGroups;
pub use character::Character;
pub use children::ChildrenByByte;
pub use indices::Edge;
pub use token_trie::{Children, TokenTrie, TrieColumns, TrieNode, WhichNodes};
