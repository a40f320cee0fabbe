//! Arrays and objects as rules: by residual, one item or member at a time, or as selections.

pub(crate) mod arrays;
mod child_count;
mod choices;
mod name_classes;
mod object_cases;
pub(crate) mod objects;
mod selections;
pub(crate) mod shared_residuals;
pub(crate) mod unique_items;
pub(crate) mod unique_names;
