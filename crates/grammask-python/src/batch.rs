//! The steps and masks of several matchers at once, and the threads that compute them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use grammask::vocabulary::{Mask, TokenId};
use grammask::{Matcher, RowError, batch};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pycell::PyBorrowError;
use pyo3::types::{PyDict, PyList};

use crate::counts::{OfArgument, integers, optional_count, optional_rows};
use crate::errors::row_error;
use crate::forks::OutsideForks;
use crate::mask_array;
use crate::matcher::PyMatcher;
use crate::unknown_keywords::refuse_keywords;

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
#[pyo3(signature = (matchers, mask, rows=None, **unknown), text_signature = "(matchers, mask, rows=None)")]
pub(crate) fn fill_masks(
    matchers: &Bound<'_, PyAny>,
    mask: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = optional_rows)] rows: Option<Vec<usize>>,
    unknown: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    refuse_keywords("fill_masks", &["rows"], unknown)?;
    let py = mask.py();
    // Fast path for batches of one, which are the common case on a server without load.
    if rows.is_none()
        && let Ok(list) = matchers.cast::<PyList>()
        && list.len() == 1
    {
        let matcher = list.get_item(0)?;
        let matcher = matcher.cast::<PyMatcher>().map_err(PyErr::from).of_argument(py, "matchers")?;
        let matcher = matcher.try_borrow().map_err(in_use)?;
        let tokens = matcher
            .cached_or_computed_mask(py)
            .map_err(|error| row_error(py, &RowError { row: 0, error }))?;
        return mask_array::write_row(mask, 0, &tokens);
    }
    let matchers: Vec<Bound<'_, PyMatcher>> = matchers.extract().of_argument(py, "matchers")?;
    let rows = rows_of(matchers.len(), rows)?;
    let matchers: Vec<_> =
        matchers.iter().map(Bound::try_borrow).collect::<Result<_, _>>().map_err(in_use)?;
    let matchers: Vec<&Matcher> = matchers.iter().map(|matcher| &matcher.matcher).collect();
    // All masks are computed before the first one is written, so that an error leaves the array unchanged.
    let masks = batch_masks(&matchers, py).map_err(|error| row_error(py, &error))?;
    mask_array::write_rows(mask, &rows, &masks)
}

/// The positions of matchers with a special outcome of :func:`step_batch`.
#[pyclass(name = "BatchStep", module = "grammask._grammask", frozen, get_all)]
pub(crate) struct PyBatchStep {
    /// The matchers that refused their tokens, ascending. They and their rows are unchanged.
    refused: Vec<usize>,
    /// The matchers whose texts have ended, ascending. Their rows have the end tokens, unless they are refused.
    finished: Vec<usize>,
}

#[pymethods]
impl PyBatchStep {
    fn __repr__(&self) -> String {
        format!("BatchStep(refused={:?}, finished={:?})", self.refused, self.finished)
    }
}

/// Append a token to each of several matchers, and write the masks of the next ones into rows of one array.
///
/// Args:
///     matchers: Distinct matchers.
///     tokens: The token of each matcher: a sequence of integers, an array or a tensor.
///     mask: As for :meth:`Matcher.fill_mask`.
///     rows: The row of each matcher; rows 0, 1, 2, ... if None.
///
/// Returns:
///     The matchers that refused their tokens, and those whose texts have ended.
///
/// Raises:
///     DeadEnd, LimitExceeded, TypeError, ValueError: As :meth:`Matcher.step`; the numbers of rows, tokens and matchers
///         differ, or a row is given twice. If a token or a mask cannot be computed, the exception has the position of
///         the first such matcher as ``row``.
///     RuntimeError: A matcher is given twice, or another thread is using it.
///
///     After an exception all matchers and the array are unchanged: without the matcher ``row`` the others can take
///     their steps.
///
/// Cost: that of :meth:`Matcher.accept` for each matcher, and of :func:`fill_masks`.
#[pyfunction]
#[pyo3(signature = (matchers, tokens, mask, rows=None, **unknown), text_signature = "(matchers, tokens, mask, rows=None)")]
pub(crate) fn step_batch(
    matchers: &Bound<'_, PyAny>,
    tokens: &Bound<'_, PyAny>,
    mask: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = optional_rows)] rows: Option<Vec<usize>>,
    unknown: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyBatchStep> {
    refuse_keywords("step_batch", &["rows"], unknown)?;
    let py = mask.py();
    let matchers: Vec<Bound<'_, PyMatcher>> = matchers.extract().of_argument(py, "matchers")?;
    let rows = rows_of(matchers.len(), rows)?;
    let mut matchers: Vec<_> =
        matchers.iter().map(Bound::try_borrow_mut).collect::<Result<_, _>>().map_err(|_| {
            PyRuntimeError::new_err(
                "a matcher is given twice, or in use by another thread; a step needs a matcher of its own",
            )
        })?;
    let ids = integers(tokens).of_argument(py, "tokens")?;
    if ids.len() != matchers.len() {
        let message = format!("{} matchers need as many tokens, not {}", matchers.len(), ids.len());
        return Err(PyValueError::new_err(message));
    }
    let tokens: Vec<TokenId> = matchers
        .iter()
        .zip(ids)
        .map(|(matcher, id)| matcher.existing(id).ok_or_else(|| matcher.no_such_token(id)))
        .collect::<PyResult<_>>()?;
    let mut matchers: Vec<&mut Matcher> = matchers.iter_mut().map(|matcher| &mut matcher.matcher).collect();
    let accepted = batch::accept(&mut matchers, &tokens).map_err(|error| row_error(py, &error))?;
    let written = write_accepted(&matchers, &accepted, mask, &rows);
    if let Err(error) = written {
        matchers.iter_mut().zip(&accepted).filter(|(_, accepted)| **accepted).for_each(|(matcher, _)| {
            matcher.rollback(1);
        });
        return Err(error);
    }
    let positions = |has_outcome: &dyn Fn(usize) -> bool| -> Vec<usize> {
        (0..matchers.len()).filter(|&position| has_outcome(position)).collect()
    };
    Ok(PyBatchStep {
        refused: positions(&|position| !accepted[position]),
        finished: positions(&|position| matchers[position].is_finished()),
    })
}

/// Writes the masks of the matchers that accepted their tokens.
fn write_accepted(
    matchers: &[&mut Matcher],
    accepted: &[bool],
    mask: &Bound<'_, PyAny>,
    rows: &[usize],
) -> PyResult<()> {
    let positions: Vec<usize> = (0..matchers.len()).filter(|&position| accepted[position]).collect();
    let matchers: Vec<&Matcher> = positions.iter().map(|&position| &*matchers[position]).collect();
    let masks = batch_masks(&matchers, mask.py())
        .map_err(|RowError { row, error }| row_error(mask.py(), &RowError { row: positions[row], error }))?;
    let rows: Vec<usize> = positions.iter().map(|&position| rows[position]).collect();
    mask_array::write_rows(mask, &rows, &masks)
}

/// The masks of matchers. Releases the interpreter lock, unless all of them are cached.
fn batch_masks(matchers: &[&Matcher], py: Python<'_>) -> Result<Vec<Arc<Mask>>, RowError> {
    let cached: Option<Vec<_>> = matchers.iter().map(|matcher| matcher.lookup_mask().cloned()).collect();
    cached.map_or_else(|| py.outside_forks(|| batch::masks(matchers)), Ok)
}

/// The row of each of `count` matchers.
fn rows_of(count: usize, rows: Option<Vec<usize>>) -> PyResult<Vec<usize>> {
    let rows = rows.unwrap_or_else(|| (0..count).collect());
    if rows.len() == count {
        return Ok(rows);
    }
    Err(PyValueError::new_err(format!("{count} matchers need as many rows, not {}", rows.len())))
}

fn in_use(_: PyBorrowError) -> PyErr {
    PyRuntimeError::new_err("a matcher is in use by another thread; give each thread a fork of its own")
}

/// Set the number of threads of :func:`fill_masks`; the number of cores if None.
///
/// The environment variable ``GRAMMASK_THREADS`` sets it when grammask is imported.
///
/// Raises:
///     ValueError: The number is less than 1.
#[pyfunction]
#[pyo3(signature = (count=None, **unknown), text_signature = "(count=None)")]
pub(crate) fn set_threads(
    #[pyo3(from_py_with = optional_count)] count: Option<usize>,
    unknown: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    refuse_keywords("set_threads", &["count"], unknown)?;
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
