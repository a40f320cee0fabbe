//! Regular languages over bytes: terms, derivatives, automata, and regular expressions.
//!
//! # Representations
//!
//! A language is a hash-consed *term* in an arena, [`Terms`]: a regular expression with union, intersection,
//! complement, counted repetition and "first match" over byte sets, words and states of [`Table`]s. The arena interns
//! terms in a weak normal form, so equal ids mean equal languages. Each term has a *content hash* that is equal in
//! every arena, under which grammars share caches.
//!
//! There are two kinds of automata:
//!
//! - [`Automata`] is a lazy DFA over all terms of one arena. A state is a term, and a transition is its derivative by a
//!   byte class (Brzozowski 1964; byte classes as in Owens, Reppy and Turon 2009). It is the default: it handles every
//!   operator and makes only the states that are reached. A new state costs microseconds, a memoised step two table
//!   lookups.
//! - [`Table`] is an immutable, trimmed, minimal DFA with sorted byte ranges. It is for languages whose construction
//!   has a better algorithm than derivatives, and each of its states is a term again: word lists and character
//!   classes (Daciuk, Mihov, Watson and Watson 2000), substrings (the suffix automaton, Blumer et al. 1985), and automata
//!   that other crates build with [`TableBuilder`].
//!   Tables are minimised by Hopcroft's algorithm in Valmari's form (2012).
//!
//! # Invariants
//!
//! - [`Automata::step`] returns live states only. Whether a state is live follows from the form of its term unless the
//!   term contains intersections or complements; otherwise a search decides it once (strongly connected components,
//!   Tarjan 1972).
//! - Nothing recurses on the call stack: terms come from users and may be nested to any depth. Only patterns, whose
//!   depth is limited, are translated recursively.
//! - No operation loops without bound. Operations that make states return [`LimitExceeded`] when the limit is reached;
//!   those that inspect the form of terms give up after a fixed number of subterms, and the facts that they return are
//!   one-sided.
//!
//! [`LimitExceeded`]: grammask_diagnostics::LimitExceeded
//!
//! # Costs to know
//!
//! - A counted repetition is one term for any bounds; its derivatives are one per remaining count, and unions of them
//!   are merged (`term::repetition_counts`).
//! - Intersections have up to the product of their operands' states, and deciding emptiness may visit all of them.
//!   Repetitions of one prefix code are intersected by arithmetic instead (`analysis::prefix_code_counts`).
//! - A complement costs one term. Its states are those of its operand.
//!
//! # Layout
//!
//! | folder | contents |
//! |---|---|
//! | `term` | the arena, smart constructors, content hashes, import of terms from another arena |
//! | `derivative` | derivatives with their memo tables; byte classes |
//! | `encoding` | inverse images under character-wise encodings, such as the escapes of a JSON string |
//! | `dfa` | the lazy DFA, liveness, shortest words, tables, minimisation |
//! | `build` | word lists, character classes, substrings, UTF-8 strings without or up to a match |
//! | `analysis` | facts from the form of a term: cardinality, inclusion, lengths, repetition bounds, prefix codes |
//! | `leftmost_first` | the matches of a backtracking matcher, such as Python's `re`: priorities, look-around |
//! | `regex` | regular expressions |
#![forbid(unsafe_code)]

mod analysis;
mod build;
mod byte_ranges;
mod derivative;
mod dfa;
pub mod encoding;
pub mod leftmost_first;
pub mod regex;
#[cfg(test)]
mod sketch;
mod term;

pub use analysis::length_limit::{Exclusion, LeadingIntersection, LengthLimit};
pub use dfa::lazy::{Automata, StateId};
pub use dfa::shortest_words::{ShortestWord, ShortestWords};
pub use dfa::table::{Table, TableBuilder, TableState};
pub use grammask_collections::byte_set::ByteSet;
pub use term::arena::{Structure, TermId, Terms};
pub use term::content_hash::ContentHasher;
