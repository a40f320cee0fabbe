//! How long a budget needs no checks.
//!
//! A completion has at most as many tokens as steps, and an end token. So a budget is ample while the engine's bound of
//! the completions within reach is smaller. A number of tokens has at most as many bytes as the same number of longest
//! tokens. Where even one longest token has too many bytes for the bound, the longest tokens are read one by one.

use std::sync::OnceLock;

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{SetId, TokenEvent};
use grammask_vocabulary::{TokenId, Vocabulary};

use super::TokensLeft;
use crate::GrammarCache;

/// Facts about a vocabulary and a grammar, computed when they are first needed.
#[derive(Debug, Default)]
pub(super) struct AmpleFacts {
    /// The engine's bound of the shortest completions of all states.
    longest: OnceLock<Option<u32>>,
    pub(super) completions_are_shortest: OnceLock<bool>,
    pub(super) length_bounds_tokens: OnceLock<bool>,
    pub(super) can_have_budget: OnceLock<bool>,
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
            let bytes = self.longest_token().saturating_mul(count);
            Ok(self.needed_after(set, count, bytes, deadline)?.is_some_and(|needed| needed <= tokens))
        };
        let (mut count, mut next) = (0, 1);
        while next < tokens && is_ample_for(next)? {
            (count, next) = (next, next * 2);
        }
        if count == 0 && !self.is_ample_for_next(set, tokens, deadline)? {
            return Ok(TokensLeft::new(tokens, u32::MAX));
        }
        Ok(TokensLeft::new(tokens, tokens - count.max(1) + 1))
    }

    /// Whether the text can be finished within a budget of `tokens` after each legal token. The engine's bound decides
    /// about short tokens; the longest ones, which are few, are read.
    fn is_ample_for_next(&self, set: SetId, tokens: u32, deadline: &Deadline) -> Result<bool, LimitExceeded> {
        let (mut length, mut too_long) = (0, self.longest_token());
        while length + 1 < too_long {
            let middle = u32::midpoint(length, too_long);
            match self.needed_after(set, 1, middle, deadline)?.is_some_and(|needed| needed <= tokens) {
                true => length = middle,
                false => too_long = middle,
            }
        }
        let vocabulary = self.vocabulary();
        let text_len = |token: &TokenId| vocabulary.token(*token).map_or(0, <[u8]>::len);
        let longest = vocabulary.tokens_of_longest_texts();
        let long = longest.partition_point(|token| text_len(token) > length as usize);
        if length == 0 || long > Vocabulary::LONGEST_TEXTS {
            return Ok(false);
        }
        for &token in &longest[..long] {
            let text = vocabulary.token(token);
            let event = TokenEvent { id: token, has_text: text.is_some() };
            let is_ample = match self.engine().read_token(set, event, text, deadline) {
                Ok(Some(next)) => self.fits(next, tokens - 1, deadline)?,
                Ok(None) => true,
                Err(limit) if limit.is_set_items() => false,
                Err(limit) => return Err(limit),
            };
            if !is_ample {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A sufficient budget for the text after `count` tokens of `bytes` bytes in total, with these; `None` if none is known.
    fn needed_after(
        &self,
        set: SetId,
        count: u32,
        bytes: u32,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        let engine = self.engine();
        let longest = engine.longest_completion_after(set, bytes as usize, self.vocabulary(), deadline)?;
        Ok(longest.and_then(|longest| longest.checked_add(count + self.end_cost())))
    }
}
