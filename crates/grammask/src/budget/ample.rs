//! How long a budget needs no checks.
//!
//! A completion has at most as many tokens as steps, and an end token. So a budget is ample while the engine's bound of
//! the completions within reach is smaller. A number of tokens has at most as many bytes as the same number of longest
//! tokens. Where even one longest token has too many bytes for the bound, a bound for the next token alone decides: with
//! the growth by each token where the engine knows it, and by its length otherwise. The tokens of too large a growth or
//! length, which are few, are read one by one.

use std::sync::OnceLock;

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{Reach, SetId, TokenEvent};
use grammask_vocabulary::{TokenId, Vocabulary};

use super::TokensLeft;
use super::costs::BudgetSupport;
use super::memo::Encoded;
use crate::GrammarCache;

/// Maximum number of tokens by which a completion may grow too much that are looked up in a mask.
const MAX_GROWN_TOKENS: usize = 4096;

/// Facts about a vocabulary and a grammar, computed when they are first needed.
#[derive(Debug, Default)]
pub(super) struct AmpleFacts {
    /// The engine's bound of the shortest completions of all states.
    longest: OnceLock<Option<u32>>,
    pub(super) length_bounds_tokens: OnceLock<bool>,
    pub(super) support: OnceLock<BudgetSupport>,
    /// Whether the fewest tokens are searched for.
    pub(super) searches: OnceLock<bool>,
}

/// The largest budget of a state that is known not to be ample.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScarceBudget(u32);

impl Encoded for ScarceBudget {
    fn encode(self) -> u32 {
        self.0.saturating_add(1)
    }

    fn decode(code: u32) -> Self {
        Self(code - 1)
    }
}

/// The smallest budget of a state that is known to be ample for the next token.
#[derive(Clone, Copy, Debug)]
pub(super) struct AmpleBudget(u32);

impl Encoded for AmpleBudget {
    fn encode(self) -> u32 {
        // The next token needs one.
        self.0
    }

    fn decode(code: u32) -> Self {
        Self(code)
    }
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
        // Bounds grow with the reach, so a smaller budget is scarce where a larger one is.
        let scarce = &self.costs().scarce;
        if scarce.get(set).is_some_and(|ScarceBudget(known)| tokens <= known) {
            return Ok(TokensLeft::new(tokens, u32::MAX));
        }
        // After at most `count` tokens the completion has at most `longest` steps, and the budget is `tokens - count`.
        let is_ample_for = |count: u32| -> Result<bool, LimitExceeded> {
            let reach = Reach::Bytes(self.longest_token().saturating_mul(count) as usize);
            Ok(self.needed_after(set, count, reach, deadline)?.is_some_and(|needed| needed <= tokens))
        };
        let (mut count, mut next) = (0, 1);
        while next < tokens && is_ample_for(next)? {
            (count, next) = (next, next * 2);
        }
        let ample = &self.costs().ample;
        if count == 0 && ample.get(set).is_none_or(|AmpleBudget(known)| tokens < known) {
            if !self.is_ample_for_next(set, tokens, deadline)? {
                scarce.insert(set, ScarceBudget(tokens));
                return Ok(TokensLeft::new(tokens, u32::MAX));
            }
            ample.insert(set, AmpleBudget(tokens));
        }
        Ok(TokensLeft::new(tokens, tokens - count.max(1) + 1))
    }

    /// Whether the text can be finished within a budget of `tokens` after each legal token. The engine's bounds decide
    /// about all tokens but the longest ones, or those by which a completion grows most; these are few, and read.
    fn is_ample_for_next(&self, set: SetId, tokens: u32, deadline: &Deadline) -> Result<bool, LimitExceeded> {
        let Some(left) = tokens.checked_sub(1) else { return Ok(false) };
        if let Some(growths) = self.engine().token_growths(self.vocabulary(), deadline)?
            && let Some(needed) = self.needed_after(set, 1, Reach::Token, deadline)?
            && let Some(growth) = tokens.checked_sub(needed)
        {
            let beyond = growths.beyond(growth);
            if beyond.is_empty() {
                return Ok(true);
            }
            if beyond.len() <= MAX_GROWN_TOKENS {
                // The mask is needed anyway, and contains few of them.
                let Ok(mask) = self.mask(set) else { return Ok(false) };
                let legal = beyond.iter().map(|growth| growth.token).filter(|&token| mask.contains(token));
                return self.fit_after(set, legal, left, deadline);
            }
        }
        let (mut length, mut too_long) = (0, self.longest_token());
        // Mostly the budget is not even ample for a token of one byte.
        let mut middle = 1;
        while length < middle && middle < too_long {
            let needed = self.needed_after(set, 1, Reach::Bytes(middle as usize), deadline)?;
            match needed.is_some_and(|needed| needed <= tokens) {
                true => length = middle,
                false => too_long = middle,
            }
            middle = u32::midpoint(length, too_long);
        }
        let vocabulary = self.vocabulary();
        let text_len = |token: &TokenId| vocabulary.token(*token).map_or(0, <[u8]>::len);
        let longest = vocabulary.tokens_of_longest_texts();
        let long = longest.partition_point(|token| text_len(token) > length as usize);
        if length == 0 || long > Vocabulary::LONGEST_TEXTS {
            return Ok(false);
        }
        self.fit_after(set, longest[..long].iter().copied(), left, deadline)
    }

    /// Whether the text can be finished with `left` tokens after each of some tokens that is legal.
    fn fit_after(
        &self,
        set: SetId,
        mut tokens: impl Iterator<Item = TokenId>,
        left: u32,
        deadline: &Deadline,
    ) -> Result<bool, LimitExceeded> {
        let fits = |token| -> Result<bool, LimitExceeded> {
            let text = self.vocabulary().token(token);
            let event = TokenEvent { id: token, has_text: text.is_some() };
            match self.engine().read_token(set, event, text, deadline) {
                Ok(Some(next)) => self.fits_by_bound(next, left, deadline),
                Ok(None) => Ok(true),
                Err(limit) if limit.is_set_items() => Ok(false),
                Err(limit) => Err(limit),
            }
        };
        tokens.try_fold(true, |all, token| Ok(all && fits(token)?))
    }

    /// Whether the text of a state to which a token led can be finished with `tokens` tokens. Where the engine's bound
    /// decides, that takes no search.
    pub(super) fn fits_by_bound(
        &self,
        set: SetId,
        tokens: u32,
        deadline: &Deadline,
    ) -> Result<bool, LimitExceeded> {
        if let Some(Some(cost)) = self.known_spelling_cost(set)
            && cost <= tokens
        {
            return Ok(true);
        }
        let needed = self.needed_after(set, 0, Reach::Token, deadline)?;
        Ok(needed.is_some_and(|needed| needed <= tokens) || self.fits(set, tokens, deadline)?)
    }

    /// A sufficient budget for the text after `count` tokens within reach, with these; `None` if none is known.
    fn needed_after(
        &self,
        set: SetId,
        count: u32,
        reach: Reach,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        let longest = self.engine().longest_completion_after(set, reach, self.vocabulary(), deadline)?;
        Ok(longest.and_then(|longest| longest.checked_add(count + self.end_cost())))
    }
}
