//! Matchers: one text each, token by token.
//!
//! A matcher is the current state and the history of earlier ones, 32 bytes per token. A fork copies the history, and a
//! rollback truncates it. An illegal token changes nothing.

use std::sync::Arc;

use crate::budget::TokensLeft;
use crate::options::EndMode;
use crate::{CompiledGrammar, GrammarCache};
use grammask_collections::segmented_vec::SegmentedVec;
use grammask_diagnostics::GrammarError;
use grammask_engine::{Effort, Expectation, SetId, TokenEvent};
use grammask_vocabulary::{Mask, TokenId};

/// One text under a [`CompiledGrammar`].
#[derive(Clone, Debug)]
pub struct Matcher {
    compiled: Arc<CompiledGrammar>,
    /// The caches that the state and the history refer to.
    cache: Arc<GrammarCache>,
    state: MatcherState,
    history: SegmentedVec<HistoryEntry>,
    /// New steps of the engine at the last check of the cache's size.
    steps_at_check: usize,
}

impl CompiledGrammar {
    /// A matcher at the beginning of a text.
    #[must_use]
    pub fn matcher(self: &Arc<Self>) -> Matcher {
        Matcher::new(self.clone())
    }
}

/// Maximum number of new steps of the engine between two checks of the cache's size.
const STEPS_PER_CHECK: usize = 512;
/// Assumed maximum memory of a new step, in bytes: with a small budget the size is checked more often.
const MAX_BYTES_PER_STEP: usize = 1 << 14;

/// The state of a matcher: that of the engine, whether the text has ended, and its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MatcherState {
    pub(crate) set: SetId,
    pub(crate) is_finished: bool,
    pub(crate) tokens_left: TokensLeft,
}

impl MatcherState {
    /// The state without the differences that do not matter for its mask.
    pub(crate) fn of_mask(self) -> Self {
        Self { tokens_left: self.tokens_left.of_mask(), ..self }
    }

    fn start(cache: &GrammarCache) -> Self {
        Self { set: cache.engine().start(), is_finished: false, tokens_left: TokensLeft::UNLIMITED }
    }
}

/// An entry of the history: the accepted token or bytes, and the state before it.
#[derive(Clone, Debug)]
struct HistoryEntry {
    before: MatcherState,
    accepted: Accepted,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<HistoryEntry>() == 32);

/// What a call of [`Matcher::accept`] or [`Matcher::accept_bytes`] appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatcherStep<'a> {
    /// A token.
    Token(TokenId),
    /// Bytes.
    Bytes(&'a [u8]),
}

#[derive(Clone, Debug)]
enum Accepted {
    Token(TokenId),
    /// Bytes, accepted as such. Boxed, since they are rare and tokens are frequent.
    Bytes(Arc<Box<[u8]>>),
    /// A text whose history was dropped, with its last bytes.
    Dropped(Tail),
}

/// The last bytes of a text, at most as many as an incomplete UTF-8 character has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tail {
    bytes: [u8; 3],
    len: u8,
}

impl Tail {
    /// Prepends the last bytes of `text` up to the capacity of the tail; returns whether the tail is full.
    fn prepend(&mut self, text: &[u8]) -> bool {
        for &byte in text.iter().rev().take(self.bytes.len() - usize::from(self.len)) {
            self.bytes.copy_within(0..2, 1);
            self.bytes[0] = byte;
            self.len += 1;
        }
        usize::from(self.len) == self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl Drop for Matcher {
    fn drop(&mut self) {
        self.compiled.report_memory();
    }
}

impl Matcher {
    pub(crate) fn new(compiled: Arc<CompiledGrammar>) -> Self {
        let mut cache = compiled.cache();
        if cache.is_exhausted()
            && let Ok(fresh) = compiled.fresh_cache(&cache)
        {
            cache = fresh;
        }
        let state = MatcherState::start(&cache);
        Self { compiled, cache, state, history: SegmentedVec::new(), steps_at_check: 0 }
    }

    pub(crate) fn state(&self) -> MatcherState {
        self.state
    }

    pub(crate) fn set_state(&mut self, state: MatcherState) {
        self.state = state;
    }

    /// A matcher with the same state and no history, which cannot be rolled back.
    pub(crate) fn without_history(&self) -> Self {
        let mut history = SegmentedVec::new();
        history.push(HistoryEntry { before: self.state, accepted: Accepted::Dropped(self.tail()) });
        Self {
            compiled: self.compiled.clone(),
            cache: self.cache.clone(),
            state: self.state,
            history,
            steps_at_check: self.steps_at_check,
        }
    }

    /// The last bytes of the text so far, not reaching beyond the last token without text.
    pub(crate) fn tail(&self) -> Tail {
        let mut tail = Tail::default();
        for step in self.history.iter().rev() {
            let is_enough = match &step.accepted {
                Accepted::Token(token) => match self.compiled.vocabulary().token(*token) {
                    Some(text) => tail.prepend(text),
                    None => true,
                },
                Accepted::Bytes(bytes) => tail.prepend(bytes),
                Accepted::Dropped(bytes) => tail.prepend(bytes.bytes()),
            };
            if is_enough {
                break;
            }
        }
        tail
    }

    /// The compiled grammar.
    #[must_use]
    pub fn compiled(&self) -> &Arc<CompiledGrammar> {
        &self.compiled
    }

    /// The caches that hold the matcher's state.
    #[must_use]
    pub fn cache(&self) -> &Arc<GrammarCache> {
        &self.cache
    }

    /// The state of the text in [`Matcher::cache`].
    #[must_use]
    pub fn set(&self) -> SetId {
        self.state.set
    }

    /// Appends a token and returns true; an illegal token changes nothing and returns false.
    ///
    /// After the end of the text only end tokens are accepted. They change only the number of steps, as for rows of a
    /// batch that end earlier than others.
    ///
    /// # Errors
    /// When a limit is exceeded; the matcher is then unchanged.
    pub fn accept(&mut self, token: TokenId) -> Result<bool, GrammarError> {
        self.migrate_to_fresh_cache()?;
        let next = self.next_state(self.state, token)?;
        if let Some(next) = next {
            self.cache.begin_text();
            self.history.push(HistoryEntry { before: self.state, accepted: Accepted::Token(token) });
            self.state = next;
        }
        Ok(next.is_some())
    }

    /// Appends bytes and returns true; illegal bytes change nothing and return false. They count as one token. Empty
    /// bytes change nothing.
    ///
    /// # Errors
    /// When a limit is exceeded; the matcher is then unchanged.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> Result<bool, GrammarError> {
        if bytes.is_empty() {
            return Ok(true);
        }
        self.migrate_to_fresh_cache()?;
        let next = self.after_bytes(self.state, bytes)?;
        if let Some(next) = next {
            self.history
                .push(HistoryEntry { before: self.state, accepted: Accepted::Bytes(Arc::new(bytes.into())) });
            self.state = next;
        }
        Ok(next.is_some())
    }

    /// Migrates to fresh caches if the present ones exceed the soft limit, by reading the text again.
    fn migrate_to_fresh_cache(&mut self) -> Result<(), GrammarError> {
        let steps = self.cache.engine().new_steps();
        let budget = self.compiled.options().limits.memory_bytes / MAX_BYTES_PER_STEP;
        let is_due = steps.wrapping_sub(self.steps_at_check) >= budget.min(STEPS_PER_CHECK);
        if !is_due && !self.cache.is_exhausted() {
            return Ok(());
        }
        self.steps_at_check = steps;
        self.compiled.report_memory();
        if !self.cache.over_soft_limit() {
            return Ok(());
        }
        let cache = self.compiled.fresh_cache(&self.cache).map_err(|limit| self.cache.limit_error(limit))?;
        let state = MatcherState::start(&cache);
        let mut migrated = Self {
            compiled: self.compiled.clone(),
            cache,
            state,
            history: SegmentedVec::new(),
            steps_at_check: 0,
        };
        for step in self.history.iter() {
            // The tokens were legal within their budgets, which are copied.
            let before = MatcherState { tokens_left: step.before.tokens_left, ..migrated.state };
            let next = match &step.accepted {
                Accepted::Token(token) => migrated.next_state(migrated.state, *token)?,
                Accepted::Bytes(bytes) => migrated.after_bytes(migrated.state, bytes)?,
                Accepted::Dropped(_) => None,
            };
            // Without its history a text cannot be read again, so the matcher keeps its caches.
            let Some(next) = next else { return Ok(()) };
            migrated.history.push(HistoryEntry { before, accepted: step.accepted.clone() });
            migrated.state = next;
        }
        migrated.state.tokens_left = self.state.tokens_left;
        migrated.cache.raise_soft_limit();
        migrated.steps_at_check = migrated.cache.engine().new_steps();
        *self = migrated;
        Ok(())
    }

    /// Length of the longest prefix of `tokens` that is legal. Changes nothing.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn validate(&self, tokens: &[TokenId]) -> Result<usize, GrammarError> {
        let mut state = self.state;
        for (count, &token) in tokens.iter().enumerate() {
            match self.next_state(state, token)? {
                Some(next) => state = next,
                None => return Ok(count),
            }
        }
        Ok(tokens.len())
    }

    /// Removes the last `count` steps (tokens, or calls of [`Matcher::accept_bytes`]), also across the end of the text.
    /// Returns false, and changes nothing, if there are fewer.
    pub fn rollback(&mut self, count: usize) -> bool {
        let Some(keep) = self.history.len().checked_sub(count) else { return false };
        if let Some(step) = self.history.get(keep) {
            self.state = step.before;
        }
        self.history.truncate(keep);
        true
    }

    /// Removes all steps.
    pub fn reset(&mut self) {
        self.rollback(self.history.len());
    }

    /// Number of steps of the history.
    #[must_use]
    pub fn step_count(&self) -> usize {
        self.history.len()
    }

    /// The accepted tokens, without bytes accepted as bytes.
    #[must_use]
    pub fn tokens(&self) -> Vec<TokenId> {
        let accepted = self.history.iter().map(|step| &step.accepted);
        accepted
            .filter_map(|accepted| if let Accepted::Token(id) = accepted { Some(*id) } else { None })
            .collect()
    }

    /// The accepted tokens and bytes, in order; `None` if a part of the history was dropped.
    #[must_use]
    pub fn steps(&self) -> Option<Vec<MatcherStep<'_>>> {
        self.history
            .iter()
            .map(|step| match &step.accepted {
                Accepted::Token(id) => Some(MatcherStep::Token(*id)),
                Accepted::Bytes(bytes) => Some(MatcherStep::Bytes(bytes)),
                Accepted::Dropped(_) => None,
            })
            .collect()
    }

    /// Whether the text so far is complete. It may still have continuations.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.cache.engine().is_complete(self.state.set)
    }

    /// Whether the text has ended: by an end token, or, with [`EndMode::Eager`], by being complete.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.state.is_finished
    }

    /// The legal next tokens. After the end of the text these are the end tokens, of which the vocabulary may have
    /// none.
    ///
    /// # Errors
    /// `dead-end` if no token is legal although the text has not ended; an exceeded limit.
    pub fn mask(&self) -> Result<Arc<Mask>, GrammarError> {
        self.mask_at(self.state)
    }

    /// The mask, if it takes only lookups. See [`GrammarCache::lookup`].
    #[must_use]
    pub fn lookup_mask(&self) -> Option<&Arc<Mask>> {
        let MatcherState { set, is_finished, tokens_left } = self.state;
        if is_finished {
            return Some(self.cache.end_mask());
        }
        match tokens_left.scarce() {
            None => self.cache.lookup(set),
            Some(tokens) => self.cache.lookup_scarce(set, tokens),
        }
    }

    /// Computes a mask that [`lookup_mask`](Self::lookup_mask) did not find; `None` if it takes more than `effort`.
    ///
    /// # Errors
    /// As [`mask`](Self::mask).
    pub fn compute_mask(&self, effort: Effort) -> Result<Option<Arc<Mask>>, GrammarError> {
        let MatcherState { set, is_finished, tokens_left } = self.state;
        if is_finished {
            return Ok(Some(self.cache.end_mask().clone()));
        }
        match (tokens_left.scarce(), effort) {
            (None, effort) => self.cache.compute(set, effort),
            (Some(_), Effort::Immediate) => Ok(None),
            (Some(tokens), Effort::Full) => self.cache.scarce_mask(set, tokens).map(Some),
        }
    }

    pub(crate) fn mask_at(&self, state: MatcherState) -> Result<Arc<Mask>, GrammarError> {
        if state.is_finished {
            return Ok(self.cache.end_mask().clone());
        }
        match state.tokens_left.scarce() {
            None => self.cache.mask(state.set),
            Some(tokens) => self.cache.scarce_mask(state.set, tokens),
        }
    }

    /// The terminals that the grammar expects next.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn expectations(&self) -> Result<Vec<Expectation>, GrammarError> {
        self.cache.engine().expectations(self.state.set).map_err(|limit| self.cache.limit_error(limit))
    }

    pub(crate) fn next_state(
        &self,
        state: MatcherState,
        token: TokenId,
    ) -> Result<Option<MatcherState>, GrammarError> {
        let vocabulary = self.compiled.vocabulary();
        let is_end_token = vocabulary.is_eos(token);
        if state.is_finished {
            return Ok(is_end_token.then_some(state));
        }
        let engine = self.cache.engine();
        let (set, is_finished) =
            if is_end_token && self.compiled.options().end == EndMode::Eos && engine.is_complete(state.set) {
                (state.set, true)
            } else {
                let text = vocabulary.token(token);
                let event = TokenEvent { id: token, has_text: text.is_some() };
                let next = engine.read_token(state.set, event, text, &self.cache.deadline());
                match next.map_err(|limit| self.cache.limit_error(limit))? {
                    Some(set) => (set, self.ends_eagerly(set)),
                    None => return Ok(None),
                }
            };
        if let Some(tokens) = state.tokens_left.scarce()
            && self.cache.has_shared_costs()?
            && !self.cache.scarce_mask(state.set, tokens)?.contains(token)
        {
            return Ok(None);
        }
        let tokens_left = self.cache.spend_token(state.tokens_left, set, is_finished)?;
        Ok(tokens_left.map(|tokens_left| MatcherState { set, is_finished, tokens_left }))
    }

    fn after_bytes(&self, state: MatcherState, bytes: &[u8]) -> Result<Option<MatcherState>, GrammarError> {
        if state.is_finished {
            return Ok(None);
        }
        let next = self.cache.engine().read_bytes(state.set, bytes, &self.cache.deadline());
        let Some(set) = next.map_err(|limit| self.cache.limit_error(limit))? else { return Ok(None) };
        let is_finished = self.ends_eagerly(set);
        let tokens_left = match state.tokens_left.tokens() {
            None => Some(state.tokens_left),
            Some(tokens) => self.cache.left_if_fits(tokens, set, is_finished)?,
        };
        Ok(tokens_left.map(|tokens_left| MatcherState { set, is_finished, tokens_left }))
    }

    /// Whether a text ends when a token leads to the engine's state `set`.
    fn ends_eagerly(&self, set: SetId) -> bool {
        self.compiled.options().end == EndMode::Eager && self.cache.engine().is_complete(set)
    }
}
