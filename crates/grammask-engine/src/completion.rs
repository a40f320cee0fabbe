//! Shortest completions: how a text can end soonest.
//!
//! An engine describes the shortest completion of a state by its length and its first step. The rest is the shortest
//! completion of the next state, so a completion is a function of the state, and the completion of a state on the way
//! is the rest of the completion before it.

use std::sync::Arc;

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_vocabulary::{TokenId, Vocabulary};

use crate::SetId;

/// Shortest completions of states, and their bounds.
pub trait StateCompletions {
    /// The shortest completion of a state whose bytes are all tokens of the vocabulary by themselves, or named by the
    /// grammar; `None` if there is none, or if the search for it gives up. Of several shortest ones it is the same in
    /// every process, and so is giving up. The vocabulary is that for which the engine was made.
    ///
    /// Cost: results are memoised by state, and by the parts that states share.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn shortest_completion(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<ShortestCompletion>, LimitExceeded>;

    /// Whether the length of each shortest completion is an upper bound of the tokens that spell it: from every state
    /// that a token led to, some token leads to a state of a shorter completion.
    ///
    /// Each byte of a completion is a token, so it is one, unless the grammar counts tokens and a part cannot be ended
    /// along its shortest text.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn length_bounds_tokens(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<bool, LimitExceeded> {
        let _ = (vocabulary, deadline);
        Ok(true)
    }

    /// An upper bound of the length of the shortest completion of every state, and of the tokens that spell it; `None`
    /// if there is no bound, or it is not known.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn longest_shortest_completion(&self, vocabulary: &Vocabulary) -> Result<Option<u32>, LimitExceeded> {
        let _ = vocabulary;
        Ok(None)
    }

    /// An upper bound of the length of the shortest completion of every state within reach of a state, and of the tokens
    /// that spell it; `None` if it is not known, or if one of these states may have no completion.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn longest_completion_after(
        &self,
        set: SetId,
        reach: Reach,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        let _ = (set, reach, vocabulary, deadline);
        Ok(None)
    }

    /// How much each token adds to [`longest_completion_after`](Self::longest_completion_after) within the reach of a
    /// token; `None` if it is not known. Cost: a pass over the bytes of all tokens at first use.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn token_growths(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<Arc<TokenGrowths>>, LimitExceeded> {
        let _ = (vocabulary, deadline);
        Ok(None)
    }
}

/// The shortest completion of a state, by its length and its first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortestCompletion {
    /// Number of steps: bytes, and tokens read by token terminals. Zero if the text is complete.
    pub length: u32,
    /// The first step; `None` if the text is complete. The state after it has a completion that is shorter by one.
    pub first: Option<CompletionStep>,
}

/// A step of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompletionStep {
    /// A byte.
    Byte(u8),
    /// A token that a token terminal reads.
    Token(TokenId),
}

/// How far from a state the states are whose completions are bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Tokens of at most this number of bytes in total, where a token without text counts as one byte.
    Bytes(usize),
    /// At most one token, whose [growth](TokenGrowths) is to be added to the bound.
    Token,
}

/// How many bytes longer a completion may be after each token of a vocabulary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenGrowths {
    /// The tokens of positive growth, the largest growth first, then the smallest id.
    positive: Box<[TokenGrowth]>,
}

/// The growth by one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenGrowth {
    /// The token.
    pub token: TokenId,
    /// The maximum number of bytes.
    pub bytes: u32,
}

impl TokenGrowths {
    /// The maximum of the growths that are given for each token.
    #[must_use]
    pub fn new(mut growths: Vec<TokenGrowth>) -> Self {
        growths.retain(|growth| growth.bytes > 0);
        growths.sort_unstable_by_key(|growth| (growth.token, std::cmp::Reverse(growth.bytes)));
        growths.dedup_by_key(|growth| growth.token);
        growths.sort_unstable_by_key(|growth| (std::cmp::Reverse(growth.bytes), growth.token));
        Self { positive: growths.into() }
    }

    /// The tokens of positive growth, the largest growth first.
    #[must_use]
    pub fn positive(&self) -> &[TokenGrowth] {
        &self.positive
    }

    /// The tokens by which a completion may grow more than `bytes` bytes.
    #[must_use]
    pub fn beyond(&self, bytes: u32) -> &[TokenGrowth] {
        &self.positive[..self.positive.partition_point(|growth| growth.bytes > bytes)]
    }

    /// Estimated memory, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.positive)
    }
}
