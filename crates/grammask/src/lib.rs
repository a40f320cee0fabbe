//! grammask constrains the output of a language model to a grammar, exactly.
//!
//! Given a grammar, the vocabulary of a model and the tokens so far, it computes the legal next tokens: the *mask*. A
//! token is legal if and only if the text so far with the token's bytes is a viable prefix, that is, a prefix of some
//! text of the language. A cached mask costs two loads and a copy; the first mask of a state usually takes
//! microseconds.
//!
//! A [`CompiledGrammar`] is built once per grammar and vocabulary and shared by all threads. A [`Matcher`] holds one
//! text: it accepts tokens, returns masks, rolls back and is cloned. Everything else is reached from these two.
//!
//! | stage | module | result |
//! |---|---|---|
//! | front end | [`frontends`] | a [`grammar::Grammar`], or all errors of the input |
//! | lowering | [`lowering`] | the [`lowering::NormalForm`]: plain productions without nullable symbols |
//! | terminals | [`automata`] | lazy DFAs of regular languages |
//! | recogniser | [`recognizer`] | interned Earley sets, with memoised steps |
//! | lexed grammars | [`lexing`] | an engine with a lexer and an LALR(1) parser, for programming languages |
//! | masks | [`masks`] | the legal tokens of a set, from the trie of the [`vocabulary`] |
//! | batches | [`batch`] | the masks of many matchers, computed in parallel |
//! | captures | [`captures`] | the values of named parts of a text |
//! | logits | [`masked_logits`] | masks applied to logits, and the probability that they leave |
//! | ambiguity | [`ambiguity`] | the shortest text with two parse trees, by bounded search |
//! | diagrams | [`diagrams`] | railroad diagrams, automata and item sets as SVG |
//!
//! The engines implement [`Engine`] and [`MaskSource`]. The facade adds the cache of a grammar ([`GrammarCache`]),
//! drafts for speculative decoding ([`DraftTree`]), forced text ([`Matcher::forced_bytes`]), token budgets
//! ([`Matcher::set_budget`]), validation
//! ([`CompiledGrammar::first_error`]) and serialisation ([`CompiledGrammar::to_bytes`]).
//!
//! Limits. Masks are exact for context-free grammars over bytes; with a lexer, for LALR(1) grammars and, more slowly,
//! for all others. Time and memory are bounded by [`Limits`]: a limit that is exceeded is an error, never a wrong
//! mask.
//!
//! The words of this crate are defined in the
//! [glossary](https://github.com/grammask/grammask/blob/main/docs/glossary.md), and ARCHITECTURE.md is the map of all
//! crates.
#![forbid(unsafe_code)]

pub mod ambiguity;
pub mod batch;
mod budget;
mod cache;
pub mod captures;
mod compiled;
mod deferred;
mod drafts;
mod embedded;
mod explanation;
mod first_terminals;
mod forced;
mod learned_masks;
mod line_feeds;
pub mod masked_logits;
mod matcher;
mod memory_account;
mod named_tokens;
mod options;
mod parse_trees;
mod schema_contents;
mod serialize;
mod text_explanation;
mod validation;

pub use grammask_automata as automata;
pub use grammask_diagrams as diagrams;
pub use grammask_earley::{lowering, masks, recognizer};
pub use grammask_lexed as lexing;
pub use grammask_vocabulary as vocabulary;

/// Front ends: each translates one grammar language into a [`Grammar`](crate::grammar::Grammar).
pub mod frontends {
    pub use grammask_automata::regex;
    pub use grammask_frontends::*;
    pub use grammask_grammar::directives;
    pub use grammask_json_schema as json_schema;
}

/// The intermediate representation of grammars, and diagnostics.
pub mod grammar {
    pub use grammask_diagnostics::{
        Code, Diagnostic, ErrorKind, GrammarError, NamedOption, Position, Severity, Span, UnknownName,
    };
    pub use grammask_grammar::*;
}

pub use batch::RowError;
pub use budget::{BudgetError, BudgetStatistics, Completion};
pub use cache::GrammarCache;
pub use compiled::CompiledGrammar;
pub use drafts::{DraftTree, DraftTreeError};
pub use embedded::{EmbeddedGrammar, encoded};
pub use explanation::Explanation;
pub use first_terminals::TerminalTokens;
pub use forced::TokenizeError;
pub use grammask_diagnostics::{Deadline, LimitExceeded, LimitOption, Limits, Request, count_memory_by};
pub use grammask_engine::{
    CompletionStep, Descriptions, Effort, Engine, Expectation, Lexeme, LexerReading, MaskSource,
    MaskStrategy, OpenLexeme, ParseNode, ParseTree, PrecomputeBudget, Reach, SetId, ShortestCompletion,
    StateCompletions, Steps, SuccessorGroups, TokenEvent, TokenGrowths, ValueStates,
};
pub use learned_masks::{MaskOrigin, mask_origin};
pub use matcher::{Matcher, MatcherStep};
pub use memory_account::{AccountEntry, MemoryAccount};
pub use options::{CompileOptions, EndMode, EndlessRules, MaskStatistics};
pub use parse_trees::TreeParser;
pub use schema_contents::with_contents;
pub use text_explanation::TextRefusal;
