//! Terminals: regular languages over bytes.
//!
//! A language is a hash-consed [`Term`](term) whose derivatives are taken lazily; equal terms are one
//! [`TermId`], in one arena. [`Automaton`] runs them as a DFA that is built on demand.

mod term;

pub use term::{ByteSet, TermId, Terms};
