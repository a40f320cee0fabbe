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

mod ablation;
pub mod brute_force;
mod budget;
mod compose;
mod equivalence_cache;
mod fixpoint;
mod source;
mod terminal;
mod token_terminals;
mod tuning;

pub use source::ContextFreeMasks;
