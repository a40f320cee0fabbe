//! The grammar: punctuation with white space, one rule for each value set, and the removal of unproductive rules.

pub(crate) mod emitter;
pub(crate) mod grammar_emitter;
pub(crate) mod positions;
pub(crate) mod punctuation;
pub(crate) mod rules;
pub(crate) mod shared_residuals;
