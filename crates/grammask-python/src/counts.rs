//! Counts as arguments: a negative count is a `ValueError`, like other invalid arguments, not an `OverflowError`.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

/// Extracts a count.
pub(crate) fn count(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    value.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            PyValueError::new_err(format!("a count is at least 0 and at most {}, not {value}", usize::MAX))
        } else {
            error
        }
    })
}

/// Extracts a count or `None`.
pub(crate) fn optional_count(value: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    if value.is_none() { Ok(None) } else { count(value).map(Some) }
}
