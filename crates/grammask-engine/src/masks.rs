//! Masks of an engine's states: what is asked for, and what comes back.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_vocabulary::{LiveTokens, Mask, Vocabulary};

use crate::{CachedMask, MaskCache, SetId};

/// How masks are computed. All strategies give the same masks, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MaskStrategy {
    /// From summaries of the grammar's symbols, and by a walk where these do not apply or would take too long.
    #[default]
    Summaries,
    /// By a walk along the token trie, always; the cross-check.
    Walk,
}

/// How much work a mask may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// As much as it needs, up to the limits of the grammar.
    Full,
    /// Some microseconds, mostly: combinations of cached summaries, without waiting for a lock.
    Immediate,
}

/// A mask that is to be computed, and where it is kept.
#[derive(Clone, Copy, Debug)]
pub struct MaskRequest<'a> {
    /// The state.
    pub set: SetId,
    /// The vocabulary.
    pub vocabulary: &'a Vocabulary,
    /// The end tokens, if they are legal where a text is complete.
    pub end_tokens: Option<&'a LiveTokens>,
    /// How to compute it.
    pub strategy: MaskStrategy,
    /// Finished masks of the grammar.
    pub cache: &'a MaskCache,
    /// Maximum size of the cache, in bytes.
    pub max_cache_bytes: usize,
}

impl MaskRequest<'_> {
    /// Caches the union of `parts`, and of the end tokens if the text is complete; `None` if it is empty.
    #[must_use]
    pub fn finish(&self, mut parts: Vec<LiveTokens>, is_complete: bool) -> Option<CachedMask> {
        if is_complete && let Some(end_tokens) = self.end_tokens {
            parts.push(end_tokens.clone());
        }
        let (size, summaries) = (self.vocabulary.size(), self.vocabulary.summaries());
        let tokens = LiveTokens::union(&parts, size, summaries);
        if tokens.is_empty() {
            return None;
        }
        let mask = summaries.mask(&tokens, size).unwrap_or_else(|| self.cache.new_mask(tokens, size));
        Some(self.cache.insert(self.set, mask, self.max_cache_bytes))
    }
}

/// The result of computing a mask.
#[derive(Clone, Debug)]
pub enum MaskOutcome {
    /// The mask, which is not empty.
    Mask(Arc<Mask>),
    /// No token can come next.
    DeadEnd,
    /// It takes more than [`Effort::Immediate`] allows.
    Declined,
}

/// How often masks were computed, by strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaskCounts {
    /// Found in an equivalence cache.
    pub recalled: u64,
    /// Composed from summaries.
    pub composed: u64,
    /// Computed by a walk.
    pub walked: u64,
}

/// How much to compute ahead of any text.
#[derive(Clone, Copy, Debug)]
pub struct PrecomputeBudget {
    /// Maximum number of states; `None` for all.
    pub max_states: Option<usize>,
    /// Whether the caller stops after some time, so that the most frequent states come first.
    pub is_timed: bool,
    /// Maximum memory, in bytes.
    pub max_bytes: usize,
    /// Maximum time of one step of the work.
    pub step_time: Duration,
}

/// Computes the masks of one engine's states.
pub trait MaskSource: fmt::Debug + Send + Sync {
    /// The mask of a state that is equivalent to one whose mask is cached, if that is found by some lookups and without
    /// waiting for a lock. It is then cached for the state itself.
    fn lookup_equivalent<'c>(&self, request: &MaskRequest<'c>) -> Option<&'c Arc<Mask>> {
        let _ = request;
        None
    }

    /// Computes and caches the mask of a state.
    ///
    /// # Errors
    /// When a limit is passed.
    fn compute(
        &self,
        request: &MaskRequest<'_>,
        effort: Effort,
        deadline: &Deadline,
    ) -> Result<MaskOutcome, LimitExceeded>;

    /// Estimated memory of the summaries that belong to the grammar, in bytes; what the engine's own memory includes aside.
    fn summary_bytes(&self) -> usize {
        0
    }

    /// How often masks were computed, by strategy.
    fn counts(&self) -> MaskCounts;

    /// The strategies that compute the mask of a state when nothing is cached, a line each, for people who debug grammars; empty if
    /// the engine has only one.
    ///
    /// # Errors
    /// When a limit is passed.
    fn describe_plans(
        &self,
        vocabulary: &Vocabulary,
        set: SetId,
        deadline: &Deadline,
    ) -> Result<String, LimitExceeded> {
        let _ = (vocabulary, set, deadline);
        Ok(String::new())
    }

    /// Computes what masks are made of ahead of any text, until the budget is spent or `proceed` returns false, which is
    /// given the numbers of finished and of known states. Returns the number of finished states, or `None` if the engine has no
    /// procedure of its own, and the caller computes masks of states instead.
    ///
    /// # Errors
    /// When a limit is passed; what was computed is kept.
    fn precompute(
        &self,
        vocabulary: &Vocabulary,
        budget: PrecomputeBudget,
        proceed: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Option<usize>, LimitExceeded> {
        let _ = (vocabulary, budget, proceed);
        Ok(None)
    }
}
