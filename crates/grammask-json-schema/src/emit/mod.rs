//! The grammar: white space and punctuation, the rule of each value set, and the pruning of rules.

pub(crate) mod layout;
pub(crate) mod rules;
pub(crate) mod value_rules;
