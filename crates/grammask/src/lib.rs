//! grammask makes a language model's output follow a grammar: exactly, and at memory speed.
//!
//! Given a grammar, a model's vocabulary and the tokens so far, it says which tokens can come next: the *mask*.
//! A token is in the mask if and only if the text so far with the token's bytes is a prefix of some text of the
//! language. The way from a text to a mask:
//!
//! | step | module | what it makes |
//! |---|---|---|
//! | front end | [`frontends`] | text to [`grammar::Grammar`], or all errors at once |
//! | lowering | [`lowering`] | to the [`lowering::NormalForm`]: plain productions, nothing nullable |
//! | terminals | [`automata`] | regular languages to lazy DFAs |
//! | recogniser | [`recognizer`] | Earley's algorithm over interned sets |
//! | lexed grammars | [`lexing`] | lexer and LALR(1) parser for programming languages, with their masks |
//! | masks | [`masks`] | a set and the [`vocabulary`]'s token trie to a mask |
//! | batches | [`batch`] | many masks at once on one pool of threads |
//! | engine | [`CompiledGrammar`], [`Matcher`] | accept, mask, roll back, fork |
#![forbid(unsafe_code)]

pub mod batch;
mod cache;
pub mod captures;
mod compiled;
mod drafts;
mod forced;
mod matcher;
mod named_tokens;
mod options;
mod serialize;
mod validation;

pub use grammask_automata as automata;
pub use grammask_earley::{lowering, masks, recognizer};
pub use grammask_lexed as lexing;
pub use grammask_vocabulary as vocabulary;

/// Front ends: each turns a text of one grammar language into the one [`Grammar`](crate::grammar::Grammar).
pub mod frontends {
    pub use grammask_automata::regex;
    pub use grammask_frontends::*;
    pub use grammask_grammar::directives;
    pub use grammask_json_schema as json_schema;
}

/// The intermediate representation, and the diagnostics about it.
pub mod grammar {
    pub use grammask_diagnostics::{Code, Diagnostic, ErrorKind, GrammarError, Position, Severity, Span};
    pub use grammask_grammar::*;
}

pub use batch::RowError;
pub use cache::GrammarCache;
pub use compiled::CompiledGrammar;
pub use drafts::{DraftTree, DraftTreeError};
pub use forced::TokenizeError;
pub use grammask_diagnostics::{Deadline, LimitExceeded, Limits};
pub use grammask_engine::{
    Effort, Engine, Expectation, MaskSource, MaskStrategy, PrecomputeBudget, SetId, TokenEvent,
};
pub use matcher::{Explanation, Matcher};
pub use options::{CompileOptions, EndMode, EndlessRules, MaskStatistics};
