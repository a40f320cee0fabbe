//! A matcher: one text being generated, token by token.
//!
//! A matcher is the current set and the sets before it, 32 bytes a token, so that forking is a copy of that
//! list and rolling back forgets its end. A refused token changes nothing.

use std::sync::Arc;

use crate::options::EndMode;
use crate::{CompiledGrammar, GrammarCache};
use grammask_collections::segmented_vec::SegmentedVec;
use grammask_diagnostics::{Deadline, GrammarError};
use grammask_engine::{Effort, Expectation, SetId, TokenEvent};
use grammask_vocabulary::{Mask, TokenId};

/// One text being generated under a [`CompiledGrammar`].
#[derive(Clone, Debug)]
pub struct Matcher {
    compiled: Arc<CompiledGrammar>,
    /// The caches that the state and the history refer to.
    cache: Arc<GrammarCache>,
    state: State,
    history: SegmentedVec<Step>,
    /// New steps of the recogniser when the size of the cache was last looked at.
    steps_seen: usize,
}

impl CompiledGrammar {
    /// A matcher at the beginning of a text.
    #[must_use]
    pub fn matcher(self: &Arc<Self>) -> Matcher {
        Matcher::new(self.clone())
    }
}

/// Most new steps of the recogniser between two looks at the size of its cache.
const STEPS_PER_LOOK: usize = 512;
/// Bytes that a new step is taken to need at the most, for looking often enough at small budgets.
const BYTES_PER_STEP: usize = 1 << 14;

/// Where the text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) set: SetId,
    pub(crate) is_finished: bool,
}

/// What was accepted in one step, and the state before it.
#[derive(Clone, Debug)]
struct Step {
    before: State,
    accepted: Accepted,
}

#[derive(Clone, Debug)]
enum Accepted {
    Token(TokenId),
    /// Bytes that are no token.
    Bytes(Arc<[u8]>),
    /// A text whose steps are not known, only its end.
    Forgotten(Tail),
}

/// The last bytes of a text, as many as can belong to a character that is not finished.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tail {
    bytes: [u8; 3],
    len: u8,
}

impl Tail {
    /// Puts text before the tail, as far as it is looked at; returns whether the tail is full.
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

/// Why a token can or cannot come next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Explanation {
    /// It can.
    Allowed,
    /// Its text fits up to a byte.
    RefusedByte {
        /// Position in the token of the byte that does not fit.
        position: usize,
        /// What the grammar expects there.
        expected: Vec<Expectation>,
        /// Whether the text with the bytes before it is complete.
        is_complete: bool,
    },
    /// Its text fits, but a part of the grammar that is limited to a number of tokens needs more of them.
    TooManyTokens {
        /// What the grammar expects before the token.
        expected: Vec<Expectation>,
    },
    /// It has no text and no place here, or it is an end token and the text is not complete.
    RefusedToken {
        /// Whether it is an end token.
        is_end_token: bool,
        /// What the grammar expects.
        expected: Vec<Expectation>,
    },
    /// The text has ended.
    Finished,
}

impl Matcher {
    pub(crate) fn new(compiled: Arc<CompiledGrammar>) -> Self {
        let cache = compiled.cache();
        let state = State { set: cache.engine().start(), is_finished: false };
        Self { compiled, cache, state, history: SegmentedVec::new(), steps_seen: 0 }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// A matcher with the same future, which cannot be rolled back.
    pub(crate) fn without_history(&self) -> Self {
        let mut history = SegmentedVec::new();
        history.push(Step { before: self.state, accepted: Accepted::Forgotten(self.tail()) });
        Self {
            compiled: self.compiled.clone(),
            cache: self.cache.clone(),
            state: self.state,
            history,
            steps_seen: self.steps_seen,
        }
    }

    /// The last bytes of the text so far. A token that is read as a whole, and has no text, begins a new text.
    pub(crate) fn tail(&self) -> Tail {
        let mut tail = Tail::default();
        for step in self.history.iter().rev() {
            let is_enough = match &step.accepted {
                Accepted::Token(token) => match self.compiled.vocabulary().token(*token) {
                    Some(text) => tail.prepend(text),
                    None => true,
                },
                Accepted::Bytes(bytes) => tail.prepend(bytes),
                Accepted::Forgotten(bytes) => tail.prepend(bytes.bytes()),
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

    /// What the matcher's state refers to.
    #[must_use]
    pub fn cache(&self) -> &Arc<GrammarCache> {
        &self.cache
    }

    /// The set of [`Matcher::tables`] that the text led to.
    #[must_use]
    pub fn set(&self) -> SetId {
        self.state.set
    }

    /// Appends a token and returns true, or changes nothing and returns false if it cannot come next.
    ///
    /// After the end of the text only end tokens are accepted, and change nothing but the count of tokens, as
    /// in a batch whose other rows go on.
    ///
    /// # Errors
    /// When a limit is passed; the matcher is then unchanged.
    pub fn accept(&mut self, token: TokenId) -> Result<bool, GrammarError> {
        self.migrate_to_fresh_cache()?;
        let next = self.next_state(self.state, token)?;
        if let Some(next) = next {
            self.history.push(Step { before: self.state, accepted: Accepted::Token(token) });
            self.state = next;
        }
        Ok(next.is_some())
    }

    /// Appends bytes and returns true, or changes nothing and returns false. For everything that counts tokens
    /// the bytes are one token. Empty bytes change nothing.
    ///
    /// # Errors
    /// When a limit is passed; the matcher is then unchanged.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> Result<bool, GrammarError> {
        if bytes.is_empty() {
            return Ok(true);
        }
        self.migrate_to_fresh_cache()?;
        let next = self.after_bytes(self.state, bytes)?;
        if let Some(next) = next {
            self.history.push(Step { before: self.state, accepted: Accepted::Bytes(bytes.into()) });
            self.state = next;
        }
        Ok(next.is_some())
    }

    /// Moves over to new cache if these have grown too large, by reading the text again.
    fn migrate_to_fresh_cache(&mut self) -> Result<(), GrammarError> {
        let steps = self.cache.engine().new_steps();
        let budget = self.compiled.options().limits.memory_bytes / BYTES_PER_STEP;
        if steps.wrapping_sub(self.steps_seen) < budget.min(STEPS_PER_LOOK) {
            return Ok(());
        }
        self.steps_seen = steps;
        if !self.cache.over_soft_limit() {
            return Ok(());
        }
        let cache = self.compiled.fresh_cache(&self.cache).map_err(|limit| self.cache.limit_error(limit))?;
        let state = State { set: cache.engine().start(), is_finished: false };
        let mut moved = Self {
            compiled: self.compiled.clone(),
            cache,
            state,
            history: SegmentedVec::new(),
            steps_seen: 0,
        };
        for step in self.history.iter() {
            let next = match &step.accepted {
                Accepted::Token(token) => moved.next_state(moved.state, *token)?,
                Accepted::Bytes(bytes) => moved.after_bytes(moved.state, bytes)?,
                Accepted::Forgotten(_) => None,
            };
            // A text whose steps are not known stays where it is.
            let Some(next) = next else { return Ok(()) };
            moved.history.push(Step { before: moved.state, accepted: step.accepted.clone() });
            moved.state = next;
        }
        moved.cache.raise_soft_limit();
        moved.steps_seen = moved.cache.engine().new_steps();
        *self = moved;
        Ok(())
    }

    /// How many of `tokens`, from the first on, could be accepted one after the other. Changes nothing.
    ///
    /// # Errors
    /// When a limit is passed.
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

    /// Takes back the last `count` accepted steps (tokens, or calls of [`Matcher::accept_bytes`]), also across
    /// the end of the text. False, and no change, if there are fewer.
    pub fn rollback(&mut self, count: usize) -> bool {
        let Some(keep) = self.history.len().checked_sub(count) else { return false };
        if let Some(step) = self.history.get(keep) {
            self.state = step.before;
        }
        self.history.truncate(keep);
        true
    }

    /// Back to the beginning of the text.
    pub fn reset(&mut self) {
        self.rollback(self.history.len());
    }

    /// How many steps were accepted.
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

    /// Whether the text so far is complete. It may be possible to go on all the same.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.cache.engine().is_complete(self.state.set)
    }

    /// Whether the text has ended: by an end token, or, with [`EndMode::Eager`], by being complete.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.state.is_finished
    }

    /// The tokens that [`Matcher::accept`] would accept. After the end of the text these are the end tokens,
    /// and none at all if the vocabulary has none.
    ///
    /// # Errors
    /// `dead-end` if no token can come next although the text has not ended; a limit that was passed.
    pub fn mask(&self) -> Result<Arc<Mask>, GrammarError> {
        self.mask_at(self.state)
    }

    /// The mask, if it is found by some lookups.
    #[must_use]
    pub fn lookup_mask(&self) -> Option<&Arc<Mask>> {
        let State { set, is_finished } = self.state;
        if is_finished { Some(self.cache.end_mask()) } else { self.cache.lookup(set) }
    }

    /// Computes a mask that [`lookup_mask`](Self::lookup_mask) did not find; `None` if it takes more than `effort`.
    ///
    /// # Errors
    /// As [`mask`](Self::mask).
    pub fn compute_mask(&self, effort: Effort) -> Result<Option<Arc<Mask>>, GrammarError> {
        let State { set, is_finished } = self.state;
        if is_finished { Ok(Some(self.cache.end_mask().clone())) } else { self.cache.compute(set, effort) }
    }

    pub(crate) fn mask_at(&self, state: State) -> Result<Arc<Mask>, GrammarError> {
        if state.is_finished { Ok(self.cache.end_mask().clone()) } else { self.cache.mask(state.set) }
    }

    /// Why `token` can or cannot come next.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn explain(&self, token: TokenId) -> Result<Explanation, GrammarError> {
        if self.next_state(self.state, token)?.is_some() {
            return Ok(Explanation::Allowed);
        }
        if self.state.is_finished {
            return Ok(Explanation::Finished);
        }
        let engine = self.cache.engine();
        let expected = |set| engine.expectations(set).map_err(|limit| self.cache.limit_error(limit));
        let vocabulary = self.compiled.vocabulary();
        let Some(text) = vocabulary.token(token) else {
            let is_end_token = vocabulary.is_eos(token);
            return Ok(Explanation::RefusedToken { is_end_token, expected: expected(self.state.set)? });
        };
        let mut set = self.state.set;
        for (position, &byte) in text.iter().enumerate() {
            match engine.step(set, byte).map_err(|limit| self.cache.limit_error(limit))? {
                Some(next) => set = next,
                None => {
                    let is_complete = engine.is_complete(set);
                    return Ok(Explanation::RefusedByte { position, expected: expected(set)?, is_complete });
                }
            }
        }
        Ok(Explanation::TooManyTokens { expected: expected(self.state.set)? })
    }

    /// What the grammar expects next.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn expectations(&self) -> Result<Vec<Expectation>, GrammarError> {
        self.cache.engine().expectations(self.state.set).map_err(|limit| self.cache.limit_error(limit))
    }

    pub(crate) fn next_state(&self, state: State, token: TokenId) -> Result<Option<State>, GrammarError> {
        let vocabulary = self.compiled.vocabulary();
        let is_end_token = vocabulary.is_eos(token);
        if state.is_finished {
            return Ok(is_end_token.then_some(state));
        }
        let engine = self.cache.engine();
        if is_end_token && self.compiled.options().end == EndMode::Eos && engine.is_complete(state.set) {
            return Ok(Some(State { is_finished: true, ..state }));
        }
        let text = vocabulary.token(token);
        let event = TokenEvent { id: token, has_text: text.is_some() };
        let deadline = Deadline::after_first_check(self.compiled.options().limits.time);
        let next = engine.read_token(state.set, event, text, &deadline);
        let next = next.map_err(|limit| self.cache.limit_error(limit))?;
        Ok(next.map(|set| self.state_of(set)))
    }

    fn after_bytes(&self, state: State, bytes: &[u8]) -> Result<Option<State>, GrammarError> {
        if state.is_finished {
            return Ok(None);
        }
        let engine = self.cache.engine();
        let deadline = Deadline::after_first_check(self.compiled.options().limits.time);
        let next = engine.read_bytes(state.set, bytes, &deadline);
        let next = next.map_err(|limit| self.cache.limit_error(limit))?;
        Ok(next.map(|set| self.state_of(set)))
    }

    /// The state after a token that led to `set`.
    fn state_of(&self, set: SetId) -> State {
        let is_finished =
            self.compiled.options().end == EndMode::Eager && self.cache.engine().is_complete(set);
        State { set, is_finished }
    }
}
