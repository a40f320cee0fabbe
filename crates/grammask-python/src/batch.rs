//! The masks of several matchers at once, and the threads that compute them.

use std::num::NonZeroUsize;

use grammask::{Matcher, RowError, batch};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::counts::optional_count;
use crate::errors::row_error;
use crate::forks::OutsideForks;
use crate::mask_array;
use crate::matcher::PyMatcher;

/// Fills one row of `mask` per matcher.
#[pyfunction]
#[pyo3(signature = (matchers, mask, rows=None))]
pub(crate) fn fill_masks(
    matchers: &Bound<'_, PyAny>,
    mask: &Bound<'_, PyAny>,
    rows: Option<Vec<usize>>,
) -> PyResult<()> {
    let py = mask.py();
    let in_use = |_| {
        PyRuntimeError::new_err("a matcher is in use by another thread; give each thread a fork of its own")
    };
    // A batch of one is what a server without load sends all the time.
    if rows.is_none()
        && let Ok(list) = matchers.cast::<PyList>()
        && list.len() == 1
    {
        let matcher = list.get_item(0)?;
        let matcher = matcher.cast::<PyMatcher>()?.try_borrow().map_err(in_use)?;
        let tokens = matcher.known_or_made(py).map_err(|error| row_error(py, &RowError { row: 0, error }))?;
        return mask_array::write_row(mask, 0, &tokens);
    }
    let matchers: Vec<Bound<'_, PyMatcher>> = matchers.extract()?;
    let rows = rows.unwrap_or_else(|| (0..matchers.len()).collect());
    if rows.len() != matchers.len() {
        return Err(PyValueError::new_err(format!(
            "{} matchers need as many rows, not {}",
            matchers.len(),
            rows.len()
        )));
    }
    let matchers: Vec<_> =
        matchers.iter().map(Bound::try_borrow).collect::<Result<_, _>>().map_err(in_use)?;
    let matchers: Vec<&Matcher> = matchers.iter().map(|matcher| &matcher.matcher).collect();
    // All masks first, so that an error leaves the array as it was.
    let known: Option<Vec<_>> = matchers.iter().map(|matcher| matcher.lookup_mask().cloned()).collect();
    let masks = match known {
        Some(masks) => masks,
        None => py.outside_forks(|| batch::masks(&matchers)).map_err(|error| row_error(py, &error))?,
    };
    mask_array::write_rows(mask, &rows, &masks)
}

/// Sets how many threads make the masks of a batch.
#[pyfunction]
#[pyo3(signature = (count=None))]
pub(crate) fn set_threads(#[pyo3(from_py_with = optional_count)] count: Option<usize>) -> PyResult<()> {
    let too_few = || PyValueError::new_err("masks are made by at least one thread");
    let count = count.map(|count| NonZeroUsize::new(count).ok_or_else(too_few)).transpose()?;
    batch::set_threads(count);
    Ok(())
}

/// How many threads make the masks of a batch.
#[pyfunction]
pub(crate) fn threads() -> usize {
    batch::threads().get()
}
