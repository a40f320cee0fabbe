//! Masks in arrays of Python: written into rows that the caller owns, or shown without a copy.

#![allow(unsafe_code, reason = "memory that Python and Rust share")]

use std::sync::Arc;

use grammask::batch;
use grammask::vocabulary::Mask;
use numpy::ndarray::ArrayView1;
use numpy::npyffi::{self, flags};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Bytes of rows from which on other Python threads may run while they are copied.
const DETACHED_COPY_BYTES: usize = 1 << 20;

/// Keeps a mask alive while arrays show it.
#[pyclass(name = "MaskMemory", module = "grammask._grammask", frozen)]
struct MaskMemory {
    mask: Arc<Mask>,
}

/// A read-only array of shape `[words]` that shows the mask itself.
pub(crate) fn view(py: Python<'_>, mask: Arc<Mask>) -> PyResult<Bound<'_, PyArray1<i32>>> {
    let memory = Bound::new(py, MaskMemory { mask })?;
    let words = memory.get().mask.words();
    // SAFETY: the words are initialised, aligned for 32 bits, as many as said, and every bit pattern is an `i32`. They
    // are never changed, and live as long as `memory`, which the array keeps as its base. Nobody can write to them
    // through the array: it is made read-only before anyone else sees it, and numpy lets nobody undo that, because its
    // base offers no writable buffer.
    let array = unsafe {
        let words = ArrayView1::from_shape_ptr(words.len(), words.as_ptr().cast::<i32>());
        PyArray1::borrow_from_array(&words, memory.into_any())
    };
    array.try_readwrite().map_err(value_error)?.make_nonwriteable();
    Ok(array)
}

/// Writes a mask into one row of an int32 array of shape `[rows, words]`, or into one of shape `[words]`.
pub(crate) fn write_row(array: &Bound<'_, PyAny>, row: usize, mask: &Mask) -> PyResult<()> {
    let need = mask.word_count();
    if let Ok(matrix) = array.cast::<PyArray2<i32>>() {
        if copy_to_row(matrix, row, mask) {
            return Ok(());
        }
        let mut matrix = matrix.try_readwrite().map_err(value_error)?;
        let mut view = matrix.as_array_mut();
        if row >= view.nrows() || view.ncols() != need {
            return Err(shape_error(view.shape(), row, need));
        }
        let mut view = view.row_mut(row);
        match view.as_slice_mut() {
            Some(target) => mask.write_to(target),
            None => {
                view.iter_mut().zip(mask.words()).for_each(|(target, &word)| *target = word.cast_signed());
            }
        }
        return Ok(());
    }
    if let Ok(vector) = array.cast::<PyArray1<i32>>() {
        let mut vector = vector.try_readwrite().map_err(value_error)?;
        let target = vector.as_slice_mut().map_err(value_error)?;
        if row != 0 || target.len() != need {
            return Err(shape_error(&[target.len()], row, need));
        }
        mask.write_to(target);
        return Ok(());
    }
    write_row(&array_of_tensor(array)?, row, mask)
}

/// Writes a mask into a row whose memory is plain: contiguous, aligned and writable. Returns false, and changes nothing,
/// if it is not, or has not as many words. Registering a borrow of the array first nearly doubles the time of `fill_mask`.
fn copy_to_row(matrix: &Bound<'_, PyArray2<i32>>, row: usize, mask: &Mask) -> bool {
    const PLAIN: i32 = flags::NPY_ARRAY_WRITEABLE | flags::NPY_ARRAY_ALIGNED;
    let (&[rows, columns], &[row_stride, stride]) = (matrix.shape(), matrix.strides()) else { return false };
    // SAFETY: `matrix` is a numpy array and alive, so its fields can be read.
    let flags = unsafe { (*npyffi::_PyArray_GET_ITEM_DATA(matrix.as_array_ptr())).flags };
    let word_bytes = size_of::<i32>().cast_signed();
    if row >= rows || columns != mask.word_count() || stride != word_bytes || flags & PLAIN != PLAIN {
        return false;
    }
    // SAFETY: the row exists, so its first word is `row * row_stride` bytes from that of the array, and as many words
    // follow it as were counted. They are initialised, aligned and writable as the flags say. Nobody else reads or writes
    // them meanwhile: other threads are kept out as from any assignment to an array of numpy, by the interpreter's lock or,
    // without it, by the caller. The words of a mask are memory of Rust that is never writable through an array.
    let target = unsafe {
        let start = matrix.data().byte_offset(row.cast_signed() * row_stride);
        std::slice::from_raw_parts_mut(start, columns)
    };
    mask.write_to(target);
    true
}

/// Writes each mask into its row of an array. Rows that do not exist, or occur twice, change nothing.
pub(crate) fn write_rows(array: &Bound<'_, PyAny>, rows: &[usize], masks: &[Arc<Mask>]) -> PyResult<()> {
    if let ([row], [mask]) = (rows, masks) {
        return write_row(array, *row, mask);
    }
    let Some(need) = masks.first().map(|mask| mask.word_count()) else { return Ok(()) };
    let Ok(matrix) = array.cast::<PyArray2<i32>>() else {
        if array.cast::<PyArray1<i32>>().is_ok() {
            return Err(PyValueError::new_err("several masks need an array of shape [rows, words]"));
        }
        return write_rows(&array_of_tensor(array)?, rows, masks);
    };
    let mut matrix = matrix.try_readwrite().map_err(value_error)?;
    let mut view = matrix.as_array_mut();
    let mut is_taken = vec![false; view.nrows()];
    for (&row, mask) in rows.iter().zip(masks) {
        if row >= is_taken.len() || mask.word_count() != view.ncols() {
            return Err(shape_error(view.shape(), row, need));
        }
        if std::mem::replace(&mut is_taken[row], true) {
            return Err(PyValueError::new_err(format!("row {row} is given twice")));
        }
    }
    let Some(words) = view.as_slice_mut() else {
        for (&row, mask) in rows.iter().zip(masks) {
            let words = mask.words().iter().map(|word| word.cast_signed());
            view.row_mut(row).iter_mut().zip(words).for_each(|(target, word)| *target = word);
        }
        return Ok(());
    };
    let mut by_row: Vec<Option<&mut [i32]>> = words.chunks_exact_mut(need).map(Some).collect();
    let mut targets: Vec<&mut [i32]> = rows.iter().filter_map(|&row| by_row[row].take()).collect();
    if masks.len() * need * size_of::<i32>() < DETACHED_COPY_BYTES {
        batch::copy_masks(masks, &mut targets);
    } else {
        array.py().detach(|| batch::copy_masks(masks, &mut targets));
    }
    Ok(())
}

/// How many rows an array for masks has.
pub(crate) fn row_count(array: &Bound<'_, PyAny>) -> PyResult<usize> {
    if let Ok(matrix) = array.cast::<PyArray2<i32>>() {
        return Ok(matrix.shape()[0]);
    }
    if array.cast::<PyArray1<i32>>().is_ok() {
        return Ok(1);
    }
    row_count(&array_of_tensor(array)?)
}

/// A CPU tensor of torch shares its memory with the array that `numpy()` returns.
fn array_of_tensor<'py>(tensor: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if tensor.hasattr("numpy")? {
        let array = tensor.call_method0("numpy")?;
        if array.cast::<PyArray1<i32>>().is_ok() || array.cast::<PyArray2<i32>>().is_ok() {
            return Ok(array);
        }
    }
    Err(PyTypeError::new_err(format!(
        "a mask is an int32 numpy array or CPU tensor of shape [rows, words], not {}",
        tensor.get_type().name()?
    )))
}

fn shape_error(shape: &[usize], row: usize, need: usize) -> PyErr {
    PyValueError::new_err(format!(
        "the mask has the shape {shape:?} and row {row} of it was asked for; it needs the shape [rows, {need}], \
         as grammask.allocate_mask makes it"
    ))
}

fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
