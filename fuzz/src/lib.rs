//! The checks of the fuzz targets, and scenes generated from the fuzzer's bytes.

#[path = "../../crates/grammask/tests/fuzzed/mod.rs"]
pub mod fuzzed;
mod scene;

pub use scene::Scene;
