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

mod append_only;
pub mod automata;
pub mod batch;
mod blocks;
mod compiled;
mod drafts;
mod engine;
mod forced;
pub mod frontends;
pub mod grammar;
mod graph;
mod id_table;
pub mod lexing;
mod limits;
pub mod lowering;
pub mod masks;
mod matcher;
mod named_tokens;
pub mod parsing;
pub mod recognizer;
mod saved;
mod slots;
mod tables;
mod validation;
pub mod vocabulary;

pub use batch::RowError;
pub use compiled::{CompileOptions, CompiledGrammar, EndMode, EndlessRules, MaskStatistics, MaskStrategy};
pub use drafts::{DraftTree, DraftTreeError};
pub use engine::Engine;
pub use forced::TokenizeError;
pub use limits::{Deadline, LimitExceeded, Limits};
pub use matcher::{Explanation, Matcher};
pub use tables::Tables;
