//! Masks of an engine's states: requests, outcomes, and the trait [`MaskSource`].

use grammask_collections::byte_set::ByteSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_vocabulary::{LiveTokens, Mask, TrieNode, Vocabulary};

use crate::{CachedMask, MaskCache, SetId, SuccessorGroups};

/// The strategy by which masks are computed. All strategies compute the same masks, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MaskStrategy {
    /// From summaries of the grammar's symbols; by a walk if these do not apply or take too much work.
    #[default]
    Summaries,
    /// Always by a walk along the token trie: the cross-check.
    Walk,
}

/// The amount of work that computing a mask may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Unbounded up to the limits of the grammar.
    Full,
    /// Usually microseconds: combinations of cached summaries, without waiting for a lock.
    Immediate,
}

/// A request for the mask of a state.
#[derive(Clone, Copy, Debug)]
pub struct MaskRequest<'a> {
    /// The state.
    pub set: SetId,
    /// The vocabulary.
    pub vocabulary: &'a Vocabulary,
    /// The end tokens, if they are legal after a complete text.
    pub end_tokens: Option<&'a LiveTokens>,
    /// The strategy.
    pub strategy: MaskStrategy,
    /// The cache for the finished mask.
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
    /// No token is legal.
    DeadEnd,
    /// Computing it takes more than [`Effort::Immediate`].
    Declined,
}

/// A request for the tokens inside a text that another one surrounds, and for the ends of the text within tokens.
#[derive(Clone, Copy, Debug)]
pub struct ExitsRequest<'a> {
    /// The state.
    pub set: SetId,
    /// The vocabulary.
    pub vocabulary: &'a Vocabulary,
    /// The bytes that can follow the text, a bit for each.
    pub next_bytes: ByteSet,
}

/// The tokens that stay inside a text, and the trie nodes where it may end.
#[derive(Clone, Debug)]
pub struct TokensAndExits {
    /// The tokens.
    pub tokens: LiveTokens,
    /// The nodes at which the text may end, ascending. There are all of them from which an edge over a requested byte
    /// leads, and the root is none.
    pub exits: Arc<[TrieNode]>,
}

/// Numbers of computed masks by strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaskCounts {
    /// Number of hits of an equivalence cache.
    pub recalled: u64,
    /// Number of masks composed from summaries.
    pub composed: u64,
    /// Number of masks computed by a walk.
    pub walked: u64,
}

/// The budget of a precomputation.
#[derive(Clone, Copy, Debug)]
pub struct PrecomputeBudget {
    /// Maximum number of states; `None` for all.
    pub max_states: Option<usize>,
    /// Whether the caller sets a time limit, so that the most frequent states are computed first.
    pub is_timed: bool,
    /// Maximum memory, in bytes.
    pub max_bytes: usize,
    /// Maximum time of one step.
    pub step_time: Duration,
}

/// Computes the masks of one engine's states.
pub trait MaskSource: fmt::Debug + Send + Sync {
    /// The mask of an equivalent state, if it is cached and can be found by lookups without waiting for a lock. It is
    /// then cached for the state itself.
    fn lookup_equivalent<'c>(&self, request: &MaskRequest<'c>) -> Option<&'c Arc<Mask>> {
        let _ = request;
        None
    }

    /// Computes and caches the mask of a state.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn compute(
        &self,
        request: &MaskRequest<'_>,
        effort: Effort,
        deadline: &Deadline,
    ) -> Result<MaskOutcome, LimitExceeded>;

    /// The tokens inside the text of a state, and its ends within tokens. `None` if the source has no procedure for the
    /// ends, or no more room for tables of these bytes: the caller then steps to them.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn compute_exits(
        &self,
        request: &ExitsRequest<'_>,
        deadline: &Deadline,
    ) -> Result<Option<TokensAndExits>, LimitExceeded> {
        let _ = (request, deadline);
        Ok(None)
    }

    /// The legal tokens of a state by the state after them, end tokens aside; `None` if the source has no tables of them,
    /// and the caller walks along the trie.
    ///
    /// Cost: a step of the parser per sequence of terminals that some tokens have in common.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn successor_groups(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<SuccessorGroups>, LimitExceeded> {
        let _ = (set, vocabulary, deadline);
        Ok(None)
    }

    /// Estimated memory of the grammar's summaries, in bytes, without the memory that the engine counts itself.
    fn summary_bytes(&self) -> usize {
        0
    }

    /// Numbers of computed masks by strategy.
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

    /// Computes tables for masks before any text is read, until the budget is spent or `proceed(finished,
    /// discovered)` returns false. Returns the number of finished states, or `None` if the engine has no procedure of
    /// its own: the caller then computes the masks of states.
    ///
    /// # Errors
    /// When a limit is exceeded; finished states stay computed.
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
