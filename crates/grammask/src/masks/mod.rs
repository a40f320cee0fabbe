//! Masks: which tokens can come next.
//!
//! Three ways to the same bits. [`brute_force`] tries each token on the textbook recogniser; it is the oracle.
//! [`walk`] goes through the token trie once, stepping the interned recogniser; tokens with a common prefix
//! share its steps, and a refused prefix refuses its whole subtree. Symbol summaries will compose masks from
//! those of the grammar's parts; [`MaskStore`] is where strategies meet: it keeps finished masks by set.

pub mod brute_force;
mod counted_walk;
mod observed;
mod store;
mod summaries;
mod terminal_walk;
mod walk;

pub use observed::Observation;
pub use store::{MaskStore, StoreStatistics};
pub use summaries::{Refusal, RuleSummaries};
pub use walk::walk;
pub(crate) use walk::{add_whole_tokens, token_event};
