//! Keywords that a function does not have, as its parameter `**unknown`: an error with the nearest option.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Refuses the keywords that `function` does not have; `known` are its options.
pub(crate) fn refuse_keywords(
    function: &str,
    known: &[&str],
    unknown: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let Some(unknown) = unknown else { return Ok(()) };
    let module = unknown.py().import("grammask.named_keywords")?;
    module.call_method1("refuse_keywords", (function, known, unknown)).map(drop)
}
