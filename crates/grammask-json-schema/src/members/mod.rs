//! Arrays and objects as rules: by residual, one item or member at a time, or as selections.

pub(crate) mod arrays;
mod child_count;
mod choices;
mod member_forms;
mod member_parts;
mod name_classes;
mod object_cases;
mod object_rules;
pub(crate) mod objects;
mod selections;
pub(crate) mod shared_residuals;
pub(crate) mod unique_items;
pub(crate) mod unique_names;
