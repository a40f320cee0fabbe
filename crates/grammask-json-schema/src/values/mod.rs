//! Sets of JSON values: regular languages for strings and numbers, formulas for arrays and objects.

pub(crate) mod child_count;
pub(crate) mod derivative;
pub(crate) mod disjointness;
pub(crate) mod excluded_words;
pub(crate) mod formula;
pub(crate) mod formulas;
pub(crate) mod joint_membership;
pub(crate) mod literals;
pub(crate) mod member_cells;
pub(crate) mod name_counts;
pub(crate) mod scalar_languages;
pub(crate) mod schema_reader;
pub(crate) mod simplification;
pub(crate) mod string_formula;
pub(crate) mod value_set;
pub(crate) mod value_sets;
