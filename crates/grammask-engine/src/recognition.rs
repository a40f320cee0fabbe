//! Steps of an engine over bytes and tokens.

use std::fmt;

use grammask_collections::byte_set::ByteSet;
use grammask_diagnostics::{Deadline, LimitExceeded};

use crate::{Descriptions, InsideTerminal, SetId, StateCompletions, TokenEvent, TokenMatch, ValueStates};

/// A recogniser with interned states, shared by all texts under one grammar: all that engines compute about them.
pub trait Engine: Steps + StateCompletions + ValueStates + Descriptions {}

impl<E: Steps + StateCompletions + ValueStates + Descriptions> Engine for E {}

/// The states, and the steps between them.
///
/// Every state can be completed to a text of the language: an engine returns `None` in place of a dead state. Methods
/// that return [`LimitExceeded`] leave the engine usable.
pub trait Steps: fmt::Debug + Send + Sync {
    /// The state before any text.
    fn start(&self) -> SetId;

    /// Whether the text of a state is complete.
    fn is_complete(&self, set: SetId) -> bool;

    /// Whether the engine is made when it is first used, and was not used yet.
    fn is_pending(&self) -> bool {
        false
    }

    /// Number of states so far.
    fn set_count(&self) -> usize;

    /// The class of each byte; bytes of one class are interchangeable in every text.
    fn class_of_byte(&self) -> &[u8; 256];

    /// One byte of each class.
    fn byte_of_class(&self) -> &[u8];

    /// Estimated memory of the engine, in bytes.
    fn memory_bytes(&self) -> usize;

    /// Number of steps computed so far; memoised steps are not counted. Only computed steps take time, so a loop over
    /// many steps checks its deadline when the number has changed.
    fn new_steps(&self) -> usize;

    /// The state after one more byte; `None` if the byte is illegal.
    ///
    /// Cost: one table lookup if the step is memoised.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn step(&self, set: SetId, byte: u8) -> Result<Option<SetId>, LimitExceeded>;

    /// The state whose continuations are those of either state.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn union(&self, left: SetId, right: SetId) -> Result<SetId, LimitExceeded>;

    /// The state after several bytes; `Err` holds the position of the first illegal byte.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn step_all(
        &self,
        set: SetId,
        bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<Result<SetId, usize>, LimitExceeded> {
        let mut set = set;
        let mut new_steps = self.new_steps();
        for (position, &byte) in bytes.iter().enumerate() {
            match self.step(set, byte)? {
                Some(next) => set = next,
                None => return Ok(Err(position)),
            }
            if new_steps != self.new_steps() {
                new_steps = self.new_steps();
                deadline.check()?;
            }
        }
        Ok(Ok(set))
    }

    /// The state after the end of a token, given the state `set` after its bytes. It differs from `set` only if the
    /// grammar counts tokens.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn end_token(&self, set: SetId) -> Result<Option<SetId>, LimitExceeded> {
        Ok(Some(set))
    }

    /// Whether the grammar counts tokens: whether the end of a token can change a state.
    fn counts_tokens(&self) -> bool {
        false
    }

    /// The state after a token, read by a token terminal; `None` if no token terminal that matches it comes next.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn step_token(&self, set: SetId, event: TokenEvent) -> Result<Option<SetId>, LimitExceeded> {
        let _ = (set, event);
        Ok(None)
    }

    /// The tokens that token terminals can match next.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn token_matches(&self, set: SetId) -> Result<Vec<TokenMatch>, LimitExceeded> {
        let _ = set;
        Ok(Vec::new())
    }

    /// The state after the bytes of a token and its end.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn read_bytes(
        &self,
        set: SetId,
        bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<Option<SetId>, LimitExceeded> {
        match self.step_all(set, bytes, deadline)? {
            Ok(next) => self.end_token(next),
            Err(_) => Ok(None),
        }
    }

    /// The state after a token, read by its bytes if it has text, by a token terminal, or in both ways.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn read_token(
        &self,
        set: SetId,
        event: TokenEvent,
        bytes: Option<&[u8]>,
        deadline: &Deadline,
    ) -> Result<Option<SetId>, LimitExceeded> {
        let by_bytes = match bytes {
            Some(bytes) => self.read_bytes(set, bytes, deadline)?,
            None => None,
        };
        match (by_bytes, self.step_token(set, event)?) {
            (by_bytes, None) => Ok(by_bytes),
            (None, by_token) => Ok(by_token),
            (Some(by_bytes), Some(by_token)) => self.union(by_bytes, by_token).map(Some),
        }
    }

    /// What a state reads, if it is inside one terminal or inside the copies of one. No token of the vocabulary has
    /// more than `reach` bytes.
    ///
    /// Engines without such knowledge return `None`.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn inside_terminal(&self, set: SetId, reach: u32) -> Result<Option<InsideTerminal>, LimitExceeded> {
        let _ = (set, reach);
        Ok(None)
    }

    /// The bytes that a state reads, and possibly others; `None` if steps have to show them.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn possible_bytes(&self, set: SetId) -> Result<Option<ByteSet>, LimitExceeded> {
        let _ = set;
        Ok(None)
    }

    /// The byte with which every continuation begins, if there is one.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn only_byte(&self, set: SetId) -> Result<Option<u8>, LimitExceeded> {
        let mut only = None;
        for (class, &byte) in self.byte_of_class().iter().enumerate() {
            if self.step(set, byte)?.is_some() {
                let members = self.class_of_byte().iter().filter(|&&of| usize::from(of) == class).count();
                if members > 1 || only.replace(byte).is_some() {
                    return Ok(None);
                }
            }
        }
        Ok(only)
    }

    /// The number of items of a state, those that wait for their ends included. The cost of a new step is proportional.
    fn state_size(&self, set: SetId) -> usize;
}
