//! Masks: which tokens can come next.
//!
//! Three strategies give the same bits, which property tests compare.
//!
//! | strategy | how | for |
//! |---|---|---|
//! | [`brute_force`] | tries each token on the textbook recogniser | the oracle |
//! | [`walk`](grammask_engine::walk) | steps the recogniser along the trie | cross-check; token counts; costly masks |
//! | `compose` | composes the mask from summaries of symbols below sets of trie nodes | the default |
//!
//! The modules import downwards: `source` makes the attempts; `recall` and `compose` are two of them; the parts of a
//! composition (`fixpoint`, `embedded`, `tokens_by_end`, `terminal`) are methods of one `computation`, which holds the data
//! that they share.
//!
//! Inside an embedded grammar, `compose` uses the masks of its engine (`embedded`), without the tokens after which the
//! grammar cannot end within its maximum number of tokens (`tokens_by_end`). So do the groups of tokens by the set after
//! them (`successor_groups`).
//! [`ContextFreeMasks`] selects among them. Finished masks are cached by set, and by the parts of the set that their
//! computation read (`equivalence_cache`).

mod ablation;
pub mod brute_force;
mod budget;
mod compose;
mod computation;
mod embedded;
mod embedded_masks;
mod equivalence_cache;
mod fixpoint;
mod positions;
mod precompute;
mod recall;
mod source;
mod successor_groups;
mod summary;
mod terminal;
mod token_terminals;
mod tokens_by_end;
mod tuning;
mod values;
mod worklist;

pub use source::ContextFreeMasks;
