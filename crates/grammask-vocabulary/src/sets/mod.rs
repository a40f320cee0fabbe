//! Sets of tokens and of trie nodes, and masks.

mod bit_order;
mod bit_range;
mod identity;
mod live_tokens;
mod mask;
mod node_set;
mod token_ranges;
mod token_set;

pub use bit_order::BitOrder;
pub use bit_range::words_of;
pub use identity::{NodeSetId, NodeSetRef, TokenSetId, TokenSetRef};
pub use live_tokens::{LiveTokens, LiveTokensIter};
pub use mask::Mask;
pub use node_set::{GrowingNodeSet, NodeSet, ones};
pub use token_ranges::TokenRanges;
pub use token_set::TokenSet;
