//! Terms: the arena, the constructors and their laws.

pub(crate) mod arena;
mod constructors;
pub(crate) mod content_hash;
mod display;
mod import_terms;
mod operands;
pub(crate) mod repetition_counts;
