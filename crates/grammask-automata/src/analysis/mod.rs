//! Properties of languages that are read off the form of their terms.

mod cardinality;
mod inclusion;
pub(crate) mod length_limit;
mod prefix_code_counts;
mod repetition_bounds;
