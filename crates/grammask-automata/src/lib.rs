//! Terminals: regular languages over bytes.
//!
//! A language is a hash-consed *term* in an arena, [`Terms`]: built from byte sets and words with
//! concatenation, union, intersection, complement and counted repetition, or handed over as a ready-made
//! automaton, a [`Table`]. Terms are kept in a weak normal form, so the derivatives of a term (what may follow
//! after a byte) are few, and a counted repetition is one node whatever its bounds are. Each term has a
//! *content hash*, equal in every arena, under which knowledge about it can be shared between grammars.
//!
//! [`Automata`] runs terms as one lazy DFA: states are terms, steps are memoised derivatives, and dead states
//! are never entered.
//!
//! | folder | contents |
//! |---|---|
//! | `term` | the arena, the constructors and their laws; import of terms from another arena |
//! | `derivative` | derivatives, and the bytes that terms cannot distinguish |
//! | `dfa` | the lazy DFA, liveness of its states, and ready-made tables |
//! | `build` | word lists, character classes, substrings, texts without or up to a match |
//! | `analysis` | properties that the form of a term shows, without a search |
//! | `regex` | regular expressions |
//!
//! Nothing here recurses on the call stack: terms come from users and may be nested as deep as they like.
#![forbid(unsafe_code)]

mod analysis;
mod build;
mod byte_ranges;
mod byte_set;
mod derivative;
mod dfa;
pub mod regex;
#[cfg(any(test, feature = "proptest"))]
pub mod sketch;
mod term;

pub use analysis::length_limit::{Exclusion, LengthLimit};
pub use byte_set::ByteSet;
pub use dfa::lazy::{Automata, StateId};
pub use dfa::table::{Table, TableBuilder, TableState};
pub use term::arena::{Structure, TermId, Terms};
pub use term::content_hash::ContentHasher;
