//! Shortest completions: how a text can end soonest.
//!
//! An engine describes the shortest completion of a state by its length and its first step. The rest is the shortest
//! completion of the next state, so a completion is a function of the state, and the completion of a state on the way
//! is the rest of the completion before it.

use grammask_vocabulary::TokenId;

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
