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
//! | file | what it does |
//! |---|---|
//! | `term`, `normal_form`, `counters` | the arena, the constructors and their laws |
//! | `derivative`, `alphabet` | derivatives, and which bytes terms can tell apart |
//! | `table`, `minimize`, `determinize` | ready-made automata |
//! | `adoption` | terms of one arena made again in another |
//! | `acyclic`, `suffix_automaton`, `text` | word sets, character classes, substrings, texts without or up to a match |
//! | `lazy_dfa`, `liveness` | states, steps, and what is dead |
//! | `cardinality` | whether the form of a term shows that it has only so many words, or infinitely many |
//! | `code_counts` | intersections of repetitions of one code |
//! | `inclusion` | what the form of terms shows about their words |
//! | `length_limit`, `clamp` | how long the words of an intersection may be; languages below and above one, and without its large bounds |
//!
//! Nothing here recurses on the call stack: terms come from users and may be nested as deep as they like.
#![forbid(unsafe_code)]

mod acyclic;
mod adoption;
mod alphabet;
mod byte_ranges;
mod byte_set;
pub(crate) mod cardinality;
mod clamp;
mod code_counts;
mod content_hash;
mod counters;
mod derivative;
mod determinize;
mod display;
mod inclusion;
mod lazy_dfa;
mod length_limit;
mod liveness;
mod minimize;
mod normal_form;
pub mod regex;
#[cfg(any(test, feature = "proptest"))]
pub mod sketch;
mod suffix_automaton;
mod table;
mod term;
mod text;

pub use byte_set::ByteSet;
pub use content_hash::ContentHasher;
pub use lazy_dfa::{Automata, StateId};
pub use length_limit::{Exclusion, LengthLimit};
pub use table::{Table, TableBuilder, TableState};
pub use term::{Structure, TermId, Terms};
