//! Masks in arrays of Python: written into rows that the caller owns, or shown without a copy.

#![allow(unsafe_code, reason = "memory that Python and Rust share")]

use std::marker::PhantomData;
use std::sync::Arc;

use grammask::batch;
use grammask::vocabulary::Mask;
use numpy::ndarray::ArrayView1;
use numpy::npyffi::{self, flags};
use numpy::{
    BorrowError, PyArray1, PyArray2, PyArrayDescr, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::forks::OutsideForks;

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
    if let Some(matrix) = matrix_of(array) {
        let rows = Rows::of(matrix)?;
        if row >= rows.count || rows.columns != need {
            return Err(shape_error(matrix.shape(), row, need));
        }
        rows.write(row, mask);
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

/// The type of arrays, and what says that an array holds integers of 32 bits.
static PLAIN: PyOnceLock<(Py<PyType>, Py<PyArrayDescr>)> = PyOnceLock::new();

/// The array, if it is an int32 array of shape `[rows, words]`. Most are told by two pointers.
fn matrix_of<'a, 'py>(array: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyArray2<i32>>> {
    let py = array.py();
    let (of_arrays, of_words) = PLAIN
        .get_or_init(py, || (py.get_type::<PyUntypedArray>().unbind(), numpy::dtype::<i32>(py).unbind()));
    if array.get_type_ptr().cast() == of_arrays.as_ptr() {
        // SAFETY: this is the type of numpy's arrays, and the object is alive, so its fields can be read.
        let fields = unsafe { &*npyffi::_PyArray_GET_ITEM_DATA(array.as_ptr().cast()) };
        if fields.nd == 2 && fields.descr.cast() == of_words.as_ptr() {
            // SAFETY: it is an array of two dimensions whose entries are those of `i32`.
            return Some(unsafe { array.cast_unchecked() });
        }
    }
    array.cast().ok()
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
    let targets = Rows::of(matrix)?;
    let mut is_taken = vec![false; targets.count];
    for (&row, mask) in rows.iter().zip(masks) {
        if row >= targets.count || mask.word_count() != targets.columns {
            return Err(shape_error(matrix.shape(), row, need));
        }
        if std::mem::replace(&mut is_taken[row], true) {
            return Err(PyValueError::new_err(format!("row {row} is given twice")));
        }
    }
    if masks.len() * need * size_of::<i32>() < DETACHED_COPY_BYTES || !targets.are_slices_apart() {
        rows.iter().zip(masks).for_each(|(&row, mask)| targets.write(row, mask));
        return Ok(());
    }
    // SAFETY: the rows are slices that do not overlap, and each is there once.
    let mut slices: Vec<&mut [i32]> = rows.iter().map(|&row| unsafe { targets.slice(row) }).collect();
    array.py().outside_forks(|| batch::copy_masks(masks, &mut slices));
    Ok(())
}

/// Where the words of a writable array are. No borrow of the array is registered while they are written: that would nearly
/// double the time of `fill_mask`, and keep out other threads that fill other rows. Nobody else reads or writes a row
/// meanwhile: other threads are kept out as from any assignment to an array of numpy, by the interpreter's lock or, without
/// it, by the caller. The words of a mask are memory of Rust that is never writable through an array.
struct Rows<'a> {
    start: *mut u8,
    count: usize,
    columns: usize,
    /// Bytes from a row to the next, and from a word to the next.
    row_stride: isize,
    stride: isize,
    is_aligned: bool,
    /// The array lives as long.
    array: PhantomData<&'a PyArray2<i32>>,
}

impl<'a> Rows<'a> {
    #[inline]
    fn of(matrix: &'a Bound<'_, PyArray2<i32>>) -> PyResult<Self> {
        let (shape, strides) = (matrix.shape(), matrix.strides());
        // SAFETY: `matrix` is a numpy array and alive, so its fields can be read.
        let flags = unsafe { (*npyffi::_PyArray_GET_ITEM_DATA(matrix.as_array_ptr())).flags };
        if flags & flags::NPY_ARRAY_WRITEABLE == 0 {
            return Err(value_error(BorrowError::NotWriteable));
        }
        Ok(Self {
            start: matrix.data().cast(),
            count: shape[0],
            columns: shape[1],
            row_stride: strides[0],
            stride: strides[1],
            is_aligned: flags & flags::NPY_ARRAY_ALIGNED != 0,
            array: PhantomData,
        })
    }

    /// Whether each row is a slice.
    #[inline]
    fn are_slices(&self) -> bool {
        self.is_aligned && self.stride == size_of::<i32>().cast_signed()
    }

    /// Whether each row is a slice that overlaps no other.
    fn are_slices_apart(&self) -> bool {
        self.are_slices() && self.row_stride.unsigned_abs() >= self.columns * size_of::<i32>()
    }

    #[inline]
    fn row(&self, row: usize) -> *mut u8 {
        assert!(row < self.count, "callers check that the row exists");
        // SAFETY: the row exists, so its first word is that many bytes from that of the array.
        unsafe { self.start.offset(row.cast_signed() * self.row_stride) }
    }

    /// The words of a row.
    ///
    /// # Safety
    /// The rows are slices, and no other slice of the row is alive.
    #[inline]
    unsafe fn slice(&self, row: usize) -> &'a mut [i32] {
        // SAFETY: as many words as were counted follow the first one of a row. They are initialised, and aligned and
        // writable as the flags say.
        unsafe { std::slice::from_raw_parts_mut(self.row(row).cast(), self.columns) }
    }

    /// Writes a mask of as many words as there are columns into a row.
    #[inline]
    fn write(&self, row: usize, mask: &Mask) {
        if self.are_slices() {
            // SAFETY: the slice lives for this call only.
            return mask.write_to(unsafe { self.slice(row) });
        }
        let first = self.row(row);
        for (column, word) in (0..self.columns.cast_signed()).zip(mask.words()) {
            // SAFETY: the word is that many bytes from the first one of the row, and writable as the flags say; here it need
            // not be aligned.
            unsafe { first.offset(column * self.stride).cast::<i32>().write_unaligned(word.cast_signed()) };
        }
    }
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
