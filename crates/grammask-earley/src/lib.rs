//! The context-free engine: from a grammar to the masks of its states.
//!
//! | module | input | output |
//! |---|---|---|
//! | [`lowering`] | the intermediate representation of a grammar | the normal form: plain productions |
//! | [`recognizer`] | the normal form, bytes and tokens | interned Earley sets, with memoised steps |
//! | [`masks`] | a set, the trie of a vocabulary | the legal tokens |
//!
//! The engine reads every context-free grammar over bytes, with all readings at once: there is no lexer, and
//! ambiguity costs nothing that the sets do not show. The [`recognizer::Recognizer`] is a lazy automaton: a step that
//! has been computed is a table lookup, so on the regular parts of a grammar it behaves as a DFA and on the
//! deterministic parts as an LR automaton. Steps of new sets replay traces where a set with the same items and other
//! continuations was stepped before.
//!
//! Masks are composed from summaries: for a symbol and a set of trie nodes, the tokens that end inside the symbol and
//! the nodes where it can end. Summaries of terminals are shared by all grammars of a vocabulary
//! ([`SummaryCache`](grammask_vocabulary::SummaryCache)).
//!
//! Two oracles stay with the engine: the textbook recogniser ([`recognizer::reference`]) and masks by trying each
//! token on it ([`masks::brute_force`]).
//!
//! **Invariant: no recursion on the input, no panic on it, and bounded work per step**: limits on the items of a set
//! and on the memory of a grammar, and a budget for the entries that a step reads.
#![forbid(unsafe_code)]

pub mod lowering;
pub mod masks;
pub mod recognizer;
#[cfg(test)]
#[path = "../../grammask-automata/src/sketch.rs"]
mod sketch;

// For the included file.
#[cfg(test)]
use grammask_automata::{ByteSet, TermId, Terms};
