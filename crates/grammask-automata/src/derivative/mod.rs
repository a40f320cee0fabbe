//! Derivatives of terms, and the bytes that terms cannot distinguish.

mod byte_classes;
pub(crate) mod derive;
