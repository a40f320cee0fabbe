//! masks.
