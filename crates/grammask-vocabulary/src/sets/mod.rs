//! Sets of tokens and of trie nodes, and masks.

mod bit_order;
mod bit_range;
mod live_tokens;
mod mask;
mod node_set;
mod token_ranges;
mod token_set;

pub use bit_order::BitOrder;
pub use bit_range::words_of;
pub use live_tokens::{LiveTokens, Near, Tokens};
pub use mask::Mask;
pub use node_set::{GrowingNodeSet, NodeSet, ones};
pub use token_ranges::TokenRanges;
pub use token_set::TokenSet;
