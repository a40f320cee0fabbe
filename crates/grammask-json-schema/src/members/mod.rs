//! Arrays and objects as rules: by residual, one item or member at a time, or as selections.

mod arrays;
mod choices;
pub(crate) mod containers;
mod member_forms;
mod member_parts;
mod name_classes;
mod object_cases;
mod object_rules;
mod object_shape;
mod objects;
mod selections;
mod shared_residuals;
mod unique_items;
mod unique_names;
