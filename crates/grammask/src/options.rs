//! Compile options, and statistics of masks.

use grammask_diagnostics::{Limits, NamedOption};
use grammask_engine::{CacheStatistics, MaskStrategy};

/// When a text ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EndMode {
    /// End tokens are legal exactly when the text is complete, and end it.
    #[default]
    Eos,
    /// The text ends with the first token after which it is complete, as in KBNF. The empty text does not count,
    /// since it would end before its first token.
    Eager,
}

/// The treatment of rules that derive infinite texts only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EndlessRules {
    /// They are compiled, with a warning: their texts never end.
    #[default]
    Allow,
    /// The grammar is rejected.
    Refuse,
}

/// Options of [`CompiledGrammar::new`](crate::CompiledGrammar::new).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CompileOptions {
    /// When a text ends.
    pub end: EndMode,
    /// Limits on work and memory.
    pub limits: Limits,
    /// The treatment of rules that derive infinite texts only.
    pub endless: EndlessRules,
    /// The strategy by which masks are computed.
    pub masks: MaskStrategy,
}

/// Numbers of computed masks by strategy, and their memory.
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
    /// Memory of the summaries of the grammar's nonterminals, in bytes.
    pub rule_bytes: usize,
    /// Memory of the vocabulary's summary cache, which its grammars share, in bytes.
    pub vocabulary_bytes: usize,
}

impl NamedOption for EndMode {
    const OPTION: &'static str = "end";
    const NAMES: &'static [(&'static str, Self)] = &[("eos", Self::Eos), ("eager", Self::Eager)];
}
