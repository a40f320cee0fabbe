//! The interface of an engine: a recogniser whose states are interned, and the masks of these states.
//!
//! Two engines implement it. The context-free engine (`grammask-earley`) reads bytes with Earley's algorithm; the
//! lexed engine (`grammask-lexed`) reads them with a lexer and a parser. Both are lazy automata: a state is an
//! interned value ([`SetId`]), so that equal futures have equal ids and a step is a memoised function. Everything
//! above (matchers, batches, drafts, forced text) works with [`Engine`] and [`MaskSource`] and does not know which
//! engine it uses.
//!
//! | module | contents |
//! |---|---|
//! | `recognition` | [`Engine`] and its part [`Steps`]: states, and steps over bytes and tokens |
//! | `completion` | [`StateCompletions`]: how a text can end soonest |
//! | `value_states` | [`ValueStates`]: values that must differ from others, or repeat them |
//! | `description` | [`Descriptions`]: states in the words of the grammar |
//! | `spelling` | [`first_tokens()`]: how tokens spell a shortest completion |
//! | `inside_terminal` | [`InsideTerminal`]: states inside a terminal, [`FollowingState`] |
//! | `anonymous_values` | [`AnonymousValues`]: states that texts with different values share |
//! | `successor_groups` | [`SuccessorGroups`]: the legal tokens of a state by the state after them |
//! | `bound_texts` | [`BoundTexts`]: states that texts with different bound texts share |
//! | `tokens` | [`TokenEvent`], [`TokenMatch`]: tokens that a grammar names |
//! | `masks` | [`MaskSource`]: masks of states, computed for a [`MaskRequest`] |
//! | `mask_cache` | [`MaskCache`]: finished masks by state |
//! | `walk` | [`walk()`]: a mask by stepping along the token trie, for every engine |
//!
//! **Invariant: same future, same state.** Caches are keyed by [`SetId`], never by the text before it.
//!
//! An engine is usable wherever an automaton with interned states is: [`Engine`] requires only states, steps over
//! bytes, and completeness; nearly everything else has a default. Steps are memoised, and a memoised step takes no lock.
#![forbid(unsafe_code)]

mod anonymous_values;
mod bound_texts;
mod completion;
mod description;
mod inside_terminal;
mod mask_cache;
mod masks;
mod readings;
mod recognition;
mod spelling;
mod successor_groups;
mod tokens;
mod value_states;
mod walk;

pub use anonymous_values::{AnonymousValues, CompletionDependence, EngineValueId};
pub use bound_texts::{BoundTexts, UnboundedText};
pub use completion::{
    CompletionStep, Reach, ShortestCompletion, StateCompletions, TokenGrowth, TokenGrowths,
};
pub use description::{Descriptions, Expectation, FirstTerminals};
pub use inside_terminal::{FollowingState, InsideTerminal};
pub use mask_cache::{CacheStatistics, CachedMask, MaskCache};
pub use masks::{
    Effort, ExitsRequest, MaskCounts, MaskOutcome, MaskRequest, MaskSource, MaskStrategy, PrecomputeBudget,
    TokensAndExits,
};
pub use readings::{Lexeme, LexerReading, OpenLexeme, ParseNode, ParseTree};
pub use recognition::{Engine, Steps};
pub use spelling::{FirstToken, first_tokens};
pub use successor_groups::SuccessorGroups;
pub use tokens::{TokenEvent, TokenMatch};
pub use value_states::ValueStates;
pub use walk::walk;

grammask_collections::id_type! {
    /// An interned state of an engine: an Earley set, or a set of runs of a lexer and a parser. Equal ids of one
    /// engine are equal futures.
    SetId
}
