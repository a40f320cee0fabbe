//! Arrays and objects as rules: items and members in order, selections, unique items.

pub(crate) mod arrays;
pub(crate) mod objects;
pub(crate) mod selections;
pub(crate) mod unique_items;
