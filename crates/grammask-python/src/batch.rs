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

/// Write the masks of several matchers into rows of one array.
///
/// Args:
///     matchers: The matchers.
///     mask: As for :meth:`Matcher.fill_mask`.
///     rows: The row of each matcher; rows 0, 1, 2, ... if None.
///
/// Raises:
///     DeadEnd, LimitExceeded, TypeError, ValueError: As :meth:`Matcher.fill_mask`; the numbers of rows and matchers
///         differ, or a row is given twice. If a mask cannot be computed, the exception has the position of the first
///         such matcher as ``row``, and the array is unchanged.
///     RuntimeError: Another thread is using one of the matchers.
///
/// Cost: copies of the rows for cached masks. Each distinct other mask is computed once, without the interpreter lock,
/// by the thread pool of the process (:func:`set_threads`).
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
    // Fast path for batches of one, which are the common case on a server without load.
    if rows.is_none()
        && let Ok(list) = matchers.cast::<PyList>()
        && list.len() == 1
    {
        let matcher = list.get_item(0)?;
        let matcher = matcher.cast::<PyMatcher>()?.try_borrow().map_err(in_use)?;
        let tokens = matcher
            .cached_or_computed_mask(py)
            .map_err(|error| row_error(py, &RowError { row: 0, error }))?;
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
    // All masks are computed before the first one is written, so that an error leaves the array unchanged.
    let cached: Option<Vec<_>> = matchers.iter().map(|matcher| matcher.lookup_mask().cloned()).collect();
    let masks = match cached {
        Some(masks) => masks,
        None => py.outside_forks(|| batch::masks(&matchers)).map_err(|error| row_error(py, &error))?,
    };
    mask_array::write_rows(mask, &rows, &masks)
}

/// Set the number of threads of :func:`fill_masks`; the number of cores if None.
///
/// The environment variable ``GRAMMASK_THREADS`` sets it when grammask is imported.
///
/// Raises:
///     ValueError: The number is less than 1.
#[pyfunction]
#[pyo3(signature = (count=None))]
pub(crate) fn set_threads(#[pyo3(from_py_with = optional_count)] count: Option<usize>) -> PyResult<()> {
    let too_few = || PyValueError::new_err("masks are made by at least one thread");
    let count = count.map(|count| NonZeroUsize::new(count).ok_or_else(too_few)).transpose()?;
    batch::set_threads(count);
    Ok(())
}

/// Return the number of threads of :func:`fill_masks`.
#[pyfunction]
pub(crate) fn threads() -> usize {
    batch::threads().get()
}
