//! Masks: which tokens can come next.
//!
//! Three strategies give the same bits, which property tests compare.
//!
//! | strategy | how | for |
//! |---|---|---|
//! | [`brute_force`] | tries each token on the textbook recogniser | the oracle |
//! | [`walk`](grammask_engine::walk) | steps the interned recogniser along the token trie, depth first | cross-check; grammars that count tokens; masks that would take too much work otherwise |
//! | `summaries` | composes the mask from the summaries of symbols on sets of trie nodes | the default |
//!
//! [`ContextFreeMasks`] selects among them. Finished masks are cached by set, and by what was observed while they were computed
//! (`observed`).

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
mod source;
mod summaries;
mod table_walk;
mod terminal_walk;
mod token_terminals;

pub use source::ContextFreeMasks;
