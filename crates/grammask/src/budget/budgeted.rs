//! Matchers with a token budget.

use std::fmt;

use grammask_diagnostics::{Code, Diagnostic, GrammarError, Request};
use grammask_engine::{SetId, UnboundedText};
use grammask_vocabulary::TokenId;

use super::TokensLeft;
use super::costs::BudgetSupport;
use crate::{GrammarCache, Matcher};

/// The error of [`Matcher::set_budget`].
#[derive(Clone, Debug)]
pub enum BudgetError {
    /// The text cannot be finished within the budget.
    TooSmall {
        /// The budget, in tokens.
        budget: u32,
        /// The least sufficient budget.
        minimum: u32,
    },
    /// An error of the grammar: no completion is known, or a limit was exceeded.
    Grammar(GrammarError),
}

impl BudgetError {
    /// The error as a diagnostic of the grammar.
    #[must_use]
    pub fn into_grammar_error(self) -> GrammarError {
        match self {
            Self::TooSmall { budget, minimum } => {
                let message = format!("the text cannot be finished with {budget} tokens");
                let help = format!("give it at least {minimum} tokens");
                Diagnostic::error(Code::BudgetTooSmall, message).help(help).into()
            }
            Self::Grammar(error) => error,
        }
    }
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.clone().into_grammar_error().fmt(f)
    }
}

impl std::error::Error for BudgetError {}

impl From<GrammarError> for BudgetError {
    fn from(error: GrammarError) -> Self {
        Self::Grammar(error)
    }
}

/// A completion of a text with few tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The bytes of the tokens that have text.
    pub text: Vec<u8>,
    /// The tokens, with an end token where one is required.
    pub tokens: Vec<TokenId>,
}

impl Matcher {
    /// The number of tokens that the text may still have, its end token included; `None` without a budget.
    #[must_use]
    pub fn budget(&self) -> Option<u32> {
        self.state().tokens_left.tokens()
    }

    /// Limits the rest of the text to a number of tokens, its end token included, or removes the limit. From then on a
    /// token is legal only if the text after it can be finished within the remaining budget, so the text always ends
    /// within it. Bytes accepted as bytes cost nothing. Tokens after the end of the text are not counted.
    ///
    /// The budget is a part of the state: a fork has the same, and a rollback restores the one of that time.
    ///
    /// Cost: [`Matcher::tokens_to_finish`]. Masks cost the same as without a budget, until it approaches the length of
    /// the shortest completion.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use grammask::vocabulary::{TokenId, TokenTexts, Vocabulary};
    /// use grammask::{CompileOptions, CompiledGrammar, Limits, frontends};
    ///
    /// let (grammar, _) = frontends::kbnf::grammar(br#"start ::= "[" start "]" | "x";"#, "start", &Limits::default())?;
    /// let tokens: TokenTexts = [Some("["), Some("]"), Some("x"), None].into_iter().collect();
    /// let vocabulary = Arc::new(Vocabulary::new(tokens, vec![], vec![3], None)?);
    /// let mut matcher = CompiledGrammar::new(&grammar, vocabulary, CompileOptions::default())?.matcher();
    /// matcher.set_budget(Some(4))?;
    /// assert!(matcher.accept(TokenId(0))?);
    /// // `[[x]]` and an end token would be too long.
    /// assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [TokenId(2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the budget does not suffice, with the least one that does; `no-completion` when no completion is known;
    /// `unsupported-grammar`, with the reason, for values that must repeat others and for some grammars that bind texts to
    /// names, if more than 1,024 prefixes of tokens can be parts of them; when a limit is exceeded. The matcher is then
    /// unchanged.
    pub fn set_budget(&mut self, tokens: Option<u32>) -> Result<(), BudgetError> {
        let mut state = self.state();
        state.tokens_left = match tokens {
            None => TokensLeft::UNLIMITED,
            Some(budget) if state.is_finished => TokensLeft::new(budget, 0),
            Some(budget) => {
                let cache = self.cache();
                let _request = Request::begin(cache.limits());
                let support = cache.budget_support(&cache.deadline());
                if let BudgetSupport::None(reason) = support.map_err(|limit| cache.limit_error(limit))? {
                    return Err(BudgetError::Grammar(cache.no_budget(reason)));
                }
                let minimum = self.tokens_to_finish()?;
                if budget < minimum {
                    return Err(BudgetError::TooSmall { budget, minimum });
                }
                let left = cache.tokens_left(state.set, budget, &cache.deadline());
                left.map_err(|limit| cache.limit_error(limit))?
            }
        };
        self.set_state(state);
        Ok(())
    }

    /// The number of tokens with which the text can be finished: the least sufficient budget. Zero after the end.
    ///
    /// It is the fewest tokens that spell the shortest completion in bytes, or in states with more than 512 items the
    /// number of its bytes. Where many tokens can be parts of texts bound to names, it is a sum of such numbers, for each
    /// part of a completion by itself. Where the vocabulary lacks the bytes to spell any text of the grammar, it is the
    /// fewest tokens, if a search finds them.
    ///
    /// Cost: memoised by state.
    ///
    /// # Errors
    /// `no-completion` when no completion is known: the grammar never ends from here, or the vocabulary cannot spell
    /// what is missing. An exceeded limit.
    pub fn tokens_to_finish(&self) -> Result<u32, GrammarError> {
        if self.is_finished() {
            return Ok(0);
        }
        let (cache, set) = (self.cache(), self.set());
        let _request = Request::begin(cache.limits());
        let cost = cache.unfinished_cost(set, &cache.deadline()).map_err(|limit| cache.limit_error(limit))?;
        cost.ok_or_else(|| cache.no_completion())
    }

    /// A completion with at most [`Matcher::tokens_to_finish`] tokens: fewer where that number is one of bytes, or a sum over parts. Empty
    /// after the end. Deterministic.
    ///
    /// # Errors
    /// As [`Matcher::tokens_to_finish`].
    pub fn shortest_completion(&self) -> Result<Completion, GrammarError> {
        let mut completion = Completion::default();
        if self.is_finished() {
            return Ok(completion);
        }
        let cache = self.cache();
        let _request = Request::begin(cache.limits());
        self.tokens_to_finish()?;
        let (vocabulary, mut state) = (self.compiled().vocabulary(), self.state());
        state.tokens_left = TokensLeft::UNLIMITED;
        while !state.is_finished {
            let step = cache
                .cheapest_token(state.set, &cache.deadline())
                .map_err(|limit| cache.limit_error(limit))?;
            let token = step.ok_or_else(|| cache.no_completion())?;
            state = self.next_state(state, token)?.ok_or_else(|| cache.no_completion())?;
            completion.tokens.push(token);
            completion.text.extend_from_slice(vocabulary.token(token).unwrap_or_default());
        }
        Ok(completion)
    }
}

impl GrammarCache {
    /// The budget after a token that led to a state; `None` if the text cannot be finished within it.
    pub(crate) fn spend_token(
        &self,
        left: TokensLeft,
        set: SetId,
        is_finished: bool,
    ) -> Result<Option<TokensLeft>, GrammarError> {
        if let Some(left) = left.spend_ample() {
            return Ok(Some(left));
        }
        let Some(tokens) = left.tokens().and_then(|tokens| tokens.checked_sub(1)) else { return Ok(None) };
        self.left_if_fits(tokens, set, is_finished)
    }

    /// The budget of `tokens` in a state; `None` if the text cannot be finished within it.
    pub(crate) fn left_if_fits(
        &self,
        tokens: u32,
        set: SetId,
        is_finished: bool,
    ) -> Result<Option<TokensLeft>, GrammarError> {
        if is_finished {
            return Ok(Some(TokensLeft::new(tokens, 0)));
        }
        let deadline = self.deadline();
        let left = self.fits_by_bound(set, tokens, &deadline).and_then(|fits| {
            if fits { self.tokens_left(set, tokens, &deadline).map(Some) } else { Ok(None) }
        });
        left.map_err(|limit| self.limit_error(limit))
    }

    /// The least budget with which a token that leads from one state to another is legal; `None` if no completion is known.
    pub(crate) fn needed_budget(
        &self,
        before: SetId,
        token: TokenId,
        set: SetId,
    ) -> Result<Option<u32>, GrammarError> {
        if self.has_shared_costs()? {
            return self.needed_by_profile(before, token);
        }
        let cost = self.cost(set, &self.deadline()).map_err(|limit| self.limit_error(limit))?;
        Ok(cost.map(|cost| cost + 1))
    }

    fn no_budget(&self, reason: UnboundedText) -> GrammarError {
        let message = format!("the grammar cannot have a budget over this vocabulary: {reason}");
        self.grammar_error(Diagnostic::error(Code::UnsupportedGrammar, message).help("leave out the budget"))
    }

    fn no_completion(&self) -> GrammarError {
        let message =
            "no finite text of the grammar is known to continue the text in tokens of the vocabulary";
        let diagnostic = Diagnostic::error(Code::NoCompletion, message).help(
            "rules that never end cannot have a budget; a vocabulary with all 256 bytes as tokens can spell every text",
        );
        self.grammar_error(diagnostic)
    }
}
