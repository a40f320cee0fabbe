//! Options of compiling a grammar, and statistics of a compiled one.

use grammask_diagnostics::Limits;
use grammask_engine::{CacheStatistics, MaskStrategy};

/// When a text ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EndMode {
    /// End tokens are legal exactly when the text is complete, and end it.
    #[default]
    Eos,
    /// The text ends with the first token after which it is complete, as in KBNF. The empty text does not count: it would
    /// end before its first token.
    Eager,
}

/// What to do with rules that derive infinite texts only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EndlessRules {
    /// Such texts never end; a warning says so.
    #[default]
    Allow,
    /// The grammar is refused.
    Refuse,
}

/// How a grammar is compiled.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CompileOptions {
    /// When a text ends.
    pub end: EndMode,
    /// Limits on work and memory.
    pub limits: Limits,
    /// What to do with rules that never end.
    pub endless: EndlessRules,
    /// How masks are computed.
    pub masks: MaskStrategy,
}

/// How often masks were computed, by strategy, and the memory that they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaskStatistics {
    /// The cache of finished masks.
    pub store: CacheStatistics,
    /// Masks composed from summaries.
    pub composed: u64,
    /// Masks of states that are equivalent to one whose mask was cached.
    pub recalled: u64,
    /// Masks computed by a walk.
    pub walked: u64,
    /// Bytes of the summaries of the grammar's own rules.
    pub rule_bytes: usize,
    /// Bytes of the summaries of terminals, which all grammars of the vocabulary share.
    pub vocabulary_bytes: usize,
}
