//! How long a budget needs no checks.
//!
//! A completion has at most as many tokens as steps, and an end token. So a budget is ample while the engine's bound of
//! the completions within reach is smaller.

use std::sync::OnceLock;

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::SetId;

use super::TokensLeft;
use crate::GrammarCache;

/// Facts about a vocabulary and a grammar, computed when they are first needed.
#[derive(Debug, Default)]
pub(super) struct AmpleFacts {
    /// The engine's bound of the shortest completions of all states.
    longest: OnceLock<Option<u32>>,
    pub(super) completions_are_shortest: OnceLock<bool>,
}

impl GrammarCache {
    /// Length of the longest token, in bytes, and at least 1, the length of a token without text.
    pub(super) fn longest_token(&self) -> u32 {
        u32::try_from(self.vocabulary().trie().max_depth()).unwrap_or(u32::MAX).max(1)
    }

    /// The budget of `tokens` in a state, with the number down to which it is known to be ample.
    pub(super) fn tokens_left(
        &self,
        set: SetId,
        tokens: u32,
        deadline: &Deadline,
    ) -> Result<TokensLeft, LimitExceeded> {
        let scarce = TokensLeft::new(tokens, u32::MAX);
        let longest = match self.costs().facts.longest.get() {
            Some(longest) => *longest,
            None => {
                let longest = self.engine().longest_shortest_completion(self.vocabulary())?;
                *self.costs().facts.longest.get_or_init(|| longest)
            }
        };
        if let Some(longest) = longest
            && let Some(needed) = longest.checked_add(1 + self.end_cost())
            && tokens >= needed
        {
            return Ok(TokensLeft::new(tokens, needed));
        }
        // After at most `count` tokens the completion has at most `longest` steps, and the budget is `tokens - count`.
        let is_ample_for = |count: u32| -> Result<bool, LimitExceeded> {
            let bytes = self.longest_token().saturating_mul(count) as usize;
            let longest = self.engine().longest_completion_after(set, bytes, self.vocabulary(), deadline)?;
            let needed = longest.and_then(|longest| longest.checked_add(count + self.end_cost()));
            Ok(needed.is_some_and(|needed| needed <= tokens))
        };
        let (mut count, mut next) = (0, 1);
        while next < tokens && is_ample_for(next)? {
            (count, next) = (next, next * 2);
        }
        Ok(if count == 0 { scarce } else { TokensLeft::new(tokens, tokens - count + 1) })
    }
}
