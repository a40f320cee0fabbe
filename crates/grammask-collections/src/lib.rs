//! Data structures that the engine shares.
//!
//! | type | what it is for |
//! |---|---|
//! | [`AppendOnly`](append_only), [`Slots`](slots) | tables that grow under a lock and are read without one |
//! | [`Blocks`](blocks) | a vector in segments, cheap to clone |
//! | [`IdTable`](id_table) | interning: a hash table of ids into a table of values |
//! | [`StateTable`](state_table) | interned states of a lazy automaton, with memoised transitions |
//! | [`graph`] | strongly connected components and reachability |
#![forbid(unsafe_code)]

pub mod append_only;
pub mod blocks;
pub mod graph;
pub mod id_table;
mod id_type;
pub mod slots;
pub mod small_map;
pub mod state_table;
