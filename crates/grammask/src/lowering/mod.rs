//! lowering.
