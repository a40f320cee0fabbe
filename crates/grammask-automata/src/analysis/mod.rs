//! Properties of languages that the syntactic form of their terms shows, mostly without a search.

mod cardinality;
mod inclusion;
mod language_bounds;
pub(crate) mod length_limit;
mod prefix_code;
mod prefix_code_counts;
pub(crate) mod word_bounds;
