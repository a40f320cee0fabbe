//! What the fuzz targets share: the checks, and scenes made from the fuzzer's bytes.

#[path = "../../crates/grammask/tests/fuzzed/mod.rs"]
pub mod fuzzed;
mod scene;

pub use scene::Scene;
