//! Data structures that the other crates share. They have no knowledge of grammars.
//!
//! | module | purpose |
//! |---|---|
//! | [`append_only_vec`], [`segmented_array`] | storage that grows under the owner's lock and is read without one |
//! | [`state_table`] | interned states of a lazy automaton with memoised transitions, on the same storage |
//! | [`incremental_hash_table`] | interning: a hash table of ids with incremental resizing |
//! | [`segmented_vec`] | a vector in segments, whose growth moves nothing |
//! | [`mod@reserve`] | growth of vectors by a half |
//! | [`small_map`] | a map with few, short keys |
//! | [`measured_size`] | the size of data behind a lock, without waiting for it |
//! | [`byte_set`] | sets of bytes |
//! | [`graph`] | strongly connected components |
//! | [`likely_first`] | the order in which random walks reach the states of an automaton |
//! | [`id_type!`] | id newtypes |
//!
//! Two requirements explain the choices. A mask is computed while another thread may extend the same tables, so readers
//! must not take a lock and entries must not move. And the latency of a single token counts, not the average, so no
//! structure reorganises itself at once.
#![forbid(unsafe_code)]

pub mod append_only_vec;
pub mod byte_set;
pub mod graph;
mod id_type;
pub mod incremental_hash_table;
pub mod likely_first;
pub mod measured_size;
pub mod reserve;
pub mod segmented_array;
pub mod segmented_vec;
pub mod small_map;
pub mod state_table;
