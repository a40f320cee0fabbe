//! PyO3 bindings of grammask: types and functions of the engine as Python sees them, and no algorithm.

use pyo3::prelude::*;

/// The compiled extension module `grammask._grammask`.
#[pymodule]
fn _grammask(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
