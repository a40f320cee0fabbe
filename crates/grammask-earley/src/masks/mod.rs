//! Masks: which tokens can come next.
//!
//! Three ways to the same bits, which property tests compare.
//!
//! | way | how | for |
//! |---|---|---|
//! | [`brute_force`] | tries each token on the textbook recogniser | the oracle |
//! | [`walk`] | steps the interned recogniser along the token trie, depth first | cross-check; grammars that count tokens; masks that would take too much work otherwise |
//! | [`RuleSummaries`] | composes the mask from what is live in, and where ends, each symbol on sets of trie nodes | every day |
//!
//! Finished masks are kept by set ([`MaskStore`]) and by what was observed while they were made (`observed`).

pub mod brute_force;
mod counted_walk;
mod difference_walk;
mod distant_bounds;
mod homes;
mod length_limits;
mod limited_walk;
mod loops;
mod observed;
mod rows;
mod similar_walk;
mod store;
mod summaries;
mod table_walk;
mod terminal_walk;
mod walk;

pub use observed::Observation;
pub use store::{KeptMask, MaskStore, StoreStatistics};
pub use summaries::{Pace, Refusal, RuleSummaries};
pub use walk::{walk, whole_tokens};
