//! A matcher: one text being generated, token by token.
//!
//! A matcher is the current set and the sets before it, four bytes a token, so that forking is a copy of that
//! list and rolling back forgets its end. A refused token changes nothing.

use std::sync::Arc;

use crate::compiled::EndMode;
use crate::grammar::{Code, GrammarError};
use crate::masks::token_event;
use crate::recognizer::{Expectation, SetId};
use crate::vocabulary::{TokenId, TokenSet};
use crate::{CompiledGrammar, Deadline};

/// One text being generated under a [`CompiledGrammar`].
#[derive(Clone, Debug)]
pub struct Matcher {
    compiled: Arc<CompiledGrammar>,
    state: State,
    history: Vec<Step>,
}

/// Where the text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    set: SetId,
    is_finished: bool,
}

/// One accepted token, or run of bytes, and the state before it.
#[derive(Clone, Copy, Debug)]
struct Step {
    before: State,
    token: Option<TokenId>,
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
        let state = State { set: compiled.recognizer().start(), is_finished: false };
        Self { compiled, state, history: Vec::new() }
    }

    /// The compiled grammar.
    #[must_use]
    pub fn compiled(&self) -> &Arc<CompiledGrammar> {
        &self.compiled
    }

    /// The set that the text led to.
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
        let next = self.next_state(self.state, token)?;
        if let Some(next) = next {
            self.history.push(Step { before: self.state, token: Some(token) });
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
        let next = self.after_bytes(self.state, bytes)?;
        if let Some(next) = next {
            self.history.push(Step { before: self.state, token: None });
            self.state = next;
        }
        Ok(next.is_some())
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
        self.history.iter().filter_map(|step| step.token).collect()
    }

    /// Whether the text so far is complete. It may be possible to go on all the same.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.compiled.recognizer().is_complete(self.state.set)
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
    pub fn mask(&self) -> Result<Arc<TokenSet>, GrammarError> {
        if self.state.is_finished {
            let vocabulary = self.compiled.vocabulary();
            let mut mask = TokenSet::new(vocabulary.size());
            for &id in vocabulary.eos() {
                mask.insert(id);
            }
            return Ok(Arc::new(mask));
        }
        self.compiled.mask(self.state.set)
    }

    /// The bytes that must come next whatever the model says: as long as there is one way to go on. At most
    /// `limit` bytes; empty where the text could end.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn forced_bytes(&self, limit: usize) -> Result<Vec<u8>, GrammarError> {
        let recognizer = self.compiled.recognizer();
        let mut forced = Vec::new();
        let mut set = self.state.set;
        if self.state.is_finished {
            return Ok(forced);
        }
        while forced.len() < limit && !recognizer.is_complete(set) {
            let only = recognizer.only_byte(set).map_err(|limit| self.compiled.limit_error(limit))?;
            let Some(byte) = only else { break };
            if !self.reads_text_only(set)? {
                break;
            }
            let next = recognizer.step(set, byte).map_err(|limit| self.compiled.limit_error(limit))?;
            let Some(next) = next else { break };
            forced.push(byte);
            set = next;
        }
        Ok(forced)
    }

    /// The tokens that must come next whatever the model says: as long as the mask has a single token that is
    /// not an end token. At most `limit` tokens.
    ///
    /// # Errors
    /// As [`Matcher::mask`], except that a dead end only ends the list.
    pub fn forced_tokens(&self, limit: usize) -> Result<Vec<TokenId>, GrammarError> {
        let mut ahead = self.clone();
        let mut forced = Vec::new();
        while forced.len() < limit && !ahead.is_finished() {
            let mask = match ahead.mask() {
                Ok(mask) => mask,
                Err(error) if error.code() == Code::DeadEnd => break,
                Err(error) => return Err(error),
            };
            let mut tokens = mask.iter();
            let (Some(only), None) = (tokens.next(), tokens.next()) else { break };
            if self.compiled.vocabulary().is_eos(only) || !ahead.accept(only)? {
                break;
            }
            forced.push(only);
        }
        Ok(forced)
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
        let recognizer = self.compiled.recognizer();
        let expected = |set| recognizer.expectations(set).map_err(|limit| self.compiled.limit_error(limit));
        let vocabulary = self.compiled.vocabulary();
        let Some(text) = vocabulary.token(token) else {
            let is_end_token = vocabulary.is_eos(token);
            return Ok(Explanation::RefusedToken { is_end_token, expected: expected(self.state.set)? });
        };
        let mut set = self.state.set;
        for (position, &byte) in text.iter().enumerate() {
            match recognizer.step(set, byte).map_err(|limit| self.compiled.limit_error(limit))? {
                Some(next) => set = next,
                None => {
                    let is_complete = recognizer.is_complete(set);
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
        self.compiled
            .recognizer()
            .expectations(self.state.set)
            .map_err(|limit| self.compiled.limit_error(limit))
    }

    /// Whether no token can be read as a whole here.
    fn reads_text_only(&self, set: SetId) -> Result<bool, GrammarError> {
        let tokens = self.compiled.recognizer().token_matches(set);
        Ok(tokens.map_err(|limit| self.compiled.limit_error(limit))?.is_empty())
    }

    fn next_state(&self, state: State, token: TokenId) -> Result<Option<State>, GrammarError> {
        let vocabulary = self.compiled.vocabulary();
        let is_end_token = vocabulary.is_eos(token);
        if state.is_finished {
            return Ok(is_end_token.then_some(state));
        }
        let recognizer = self.compiled.recognizer();
        if is_end_token && self.compiled.options().end == EndMode::Eos && recognizer.is_complete(state.set) {
            return Ok(Some(State { is_finished: true, ..state }));
        }
        let of_text = match vocabulary.token(token) {
            Some(text) => self.after_bytes(state, text)?,
            None => None,
        };
        let of_token = recognizer
            .step_token(state.set, token_event(vocabulary, token))
            .map_err(|limit| self.compiled.limit_error(limit))?;
        let set = match (of_text, of_token) {
            (text, None) => return Ok(text),
            (None, Some(set)) => set,
            (Some(text), Some(set)) => {
                recognizer.union(text.set, set).map_err(|limit| self.compiled.limit_error(limit))?
            }
        };
        Ok(Some(self.state_of(set)))
    }

    fn after_bytes(&self, state: State, bytes: &[u8]) -> Result<Option<State>, GrammarError> {
        if state.is_finished {
            return Ok(None);
        }
        let recognizer = self.compiled.recognizer();
        let deadline = Deadline::after(self.compiled.options().limits.time);
        let after = recognizer.step_all(state.set, bytes, &deadline).and_then(|set| match set {
            Ok(set) => recognizer.end_token(set),
            Err(_) => Ok(None),
        });
        let set = after.map_err(|limit| self.compiled.limit_error(limit))?;
        Ok(set.map(|set| self.state_of(set)))
    }

    /// The state after a token that led to `set`.
    fn state_of(&self, set: SetId) -> State {
        let is_finished =
            self.compiled.options().end == EndMode::Eager && self.compiled.recognizer().is_complete(set);
        State { set, is_finished }
    }
}
