//! The context-free engine: from a grammar to the masks of its states.
#![forbid(unsafe_code)]

pub mod lowering;
pub mod masks;
pub mod recognizer;
