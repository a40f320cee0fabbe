//! Counts, rows and integers as arguments: one that is out of range is a `ValueError`, like other invalid arguments, not
//! an `OverflowError`.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

/// Names the argument in errors of values that are extracted in the body of a function.
pub(crate) trait OfArgument {
    /// Puts the name of the argument before the message.
    fn of_argument(self, py: Python<'_>, name: &str) -> Self;
}

impl<T> OfArgument for PyResult<T> {
    fn of_argument(self, py: Python<'_>, name: &str) -> Self {
        self.map_err(|error| {
            let message = format!("{name}: {}", error.value(py));
            if error.is_instance_of::<PyTypeError>(py) {
                PyTypeError::new_err(message)
            } else if error.is_instance_of::<PyValueError>(py) {
                PyValueError::new_err(message)
            } else {
                error
            }
        })
    }
}

/// Extracts a count.
pub(crate) fn count(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    unsigned(value, "a count")
}

/// Extracts a count or `None`.
pub(crate) fn optional_count(value: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    if value.is_none() { Ok(None) } else { count(value).map(Some) }
}

/// Extracts a row of a mask.
pub(crate) fn row(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    unsigned(value, "a row of a mask")
}

/// Extracts rows of a mask or `None`.
pub(crate) fn optional_rows(value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<usize>>> {
    if value.is_none() {
        return Ok(None);
    }
    // The first attempt is faster, and its error does not name the row.
    value.extract().or_else(|_| value.try_iter()?.map(|item| row(&item?)).collect::<PyResult<_>>().map(Some))
}

/// Refuses bytes where ids of tokens are needed: as a sequence they are integers, which the caller does not mean.
pub(crate) fn check_no_bytes(ids: &Bound<'_, PyAny>) -> PyResult<()> {
    if ids.is_instance_of::<PyBytes>() || ids.is_instance_of::<PyByteArray>() {
        return Err(PyTypeError::new_err("ids of tokens are needed, not the bytes of a text"));
    }
    Ok(())
}

/// Extracts the integers of a sequence, an array or a tensor.
pub(crate) fn integers(sequence: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    check_no_bytes(sequence)?;
    if let Ok(list) = sequence.extract() {
        return Ok(list);
    }
    let items = match sequence.getattr_opt("tolist")? {
        Some(tolist) => tolist.call0()?,
        None => sequence.clone(),
    };
    let items = items.try_iter().map_err(|_| {
        let kind = sequence.get_type();
        PyTypeError::new_err(format!("integers in a sequence, an array or a tensor are needed, not {kind}"))
    })?;
    items.map(|item| integer(&item?)).collect()
}

fn unsigned(value: &Bound<'_, PyAny>, meaning: &str) -> PyResult<usize> {
    in_range(value, || format!("{meaning} is at least 0 and at most {}, not {value}", usize::MAX))
}

fn integer(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    in_range(value, || format!("an id or a link is an integer of 64 bits, not {value}"))
}

/// Extracts an integer; `message` is for one that is out of range.
fn in_range<'py, T: for<'a> FromPyObject<'a, 'py, Error = PyErr>>(
    value: &Bound<'py, PyAny>,
    message: impl FnOnce() -> String,
) -> PyResult<T> {
    value.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            PyValueError::new_err(message())
        } else {
            error
        }
    })
}
