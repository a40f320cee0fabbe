//! Derivatives of terms, and the bytes that terms cannot distinguish.

mod byte_classes;
mod derive;
pub(crate) mod memo;
