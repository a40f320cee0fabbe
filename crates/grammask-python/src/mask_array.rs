//! Masks and arrays of numpy: copies into rows of the caller's array, and views without a copy.

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

/// Number of bytes from which rows are copied without the interpreter lock.
const DETACHED_COPY_BYTES: usize = 1 << 20;

/// The owner of a mask's memory, as the base object of array views.
#[pyclass(name = "MaskMemory", module = "grammask._grammask", frozen)]
struct MaskMemory {
    mask: Arc<Mask>,
}

/// A read-only array of shape `[words]` that is a view of the mask.
pub(crate) fn view(py: Python<'_>, mask: Arc<Mask>) -> PyResult<Bound<'_, PyArray1<i32>>> {
    let memory = Bound::new(py, MaskMemory { mask })?;
    let words = memory.get().mask.words();
    // SAFETY: there are `words.len()` initialised words, aligned for 32 bits, and every bit pattern is an `i32`. They
    // are never modified, and live as long as `memory`, which the array holds as its base. They cannot be written
    // through the array: it is made read-only before it is returned, and numpy does not permit to make it writable
    // again, because its base has no writable buffer.
    let array = unsafe {
        let words = ArrayView1::from_shape_ptr(words.len(), words.as_ptr().cast::<i32>());
        PyArray1::borrow_from_array(&words, memory.into_any())
    };
    array.try_readwrite().map_err(value_error)?.make_nonwriteable();
    Ok(array)
}

/// Writes a mask into one row of an int32 array of shape `[rows, words]`, or into one of shape `[words]`.
pub(crate) fn write_row(array: &Bound<'_, PyAny>, row: usize, mask: &Mask) -> PyResult<()> {
    let word_count = mask.word_count();
    if let Some(matrix) = matrix_of(array) {
        let rows = ArrayRows::of(matrix)?;
        if row >= rows.count || rows.columns != word_count {
            return Err(shape_error(matrix.shape(), row, word_count));
        }
        rows.write(row, mask);
        return Ok(());
    }
    if let Ok(vector) = array.cast::<PyArray1<i32>>() {
        let mut vector = vector.try_readwrite().map_err(value_error)?;
        let target = vector.as_slice_mut().map_err(value_error)?;
        if row != 0 || target.len() != word_count {
            return Err(shape_error(&[target.len()], row, word_count));
        }
        mask.write_to(target);
        return Ok(());
    }
    write_row(&array_of_tensor(array)?, row, mask)
}

/// The type object of arrays, and the descriptor of int32.
static ARRAY_TYPES: PyOnceLock<(Py<PyType>, Py<PyArrayDescr>)> = PyOnceLock::new();

/// The array, if it is an int32 array of shape `[rows, words]`. The fast path compares two pointers.
fn matrix_of<'a, 'py>(array: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyArray2<i32>>> {
    let py = array.py();
    let (array_type, int32_descriptor) = ARRAY_TYPES
        .get_or_init(py, || (py.get_type::<PyUntypedArray>().unbind(), numpy::dtype::<i32>(py).unbind()));
    if array.get_type_ptr().cast() == array_type.as_ptr() {
        // SAFETY: the object is a live numpy array, so its fields can be read.
        let fields = unsafe { &*npyffi::_PyArray_GET_ITEM_DATA(array.as_ptr().cast()) };
        if fields.nd == 2 && fields.descr.cast() == int32_descriptor.as_ptr() {
            // SAFETY: the array has two dimensions, and elements of type int32.
            return Some(unsafe { array.cast_unchecked() });
        }
    }
    array.cast().ok()
}

/// Writes each mask into its row of an array. The array is unchanged if a row does not exist or occurs twice.
pub(crate) fn write_rows(array: &Bound<'_, PyAny>, rows: &[usize], masks: &[Arc<Mask>]) -> PyResult<()> {
    if let ([row], [mask]) = (rows, masks) {
        return write_row(array, *row, mask);
    }
    let Some(word_count) = masks.first().map(|mask| mask.word_count()) else { return Ok(()) };
    let Ok(matrix) = array.cast::<PyArray2<i32>>() else {
        if array.cast::<PyArray1<i32>>().is_ok() {
            return Err(PyValueError::new_err("several masks need an array of shape [rows, words]"));
        }
        return write_rows(&array_of_tensor(array)?, rows, masks);
    };
    let targets = ArrayRows::of(matrix)?;
    let mut is_used = vec![false; targets.count];
    for (&row, mask) in rows.iter().zip(masks) {
        if row >= targets.count || mask.word_count() != targets.columns {
            return Err(shape_error(matrix.shape(), row, word_count));
        }
        if std::mem::replace(&mut is_used[row], true) {
            return Err(PyValueError::new_err(format!("row {row} is given twice")));
        }
    }
    if masks.len() * word_count * size_of::<i32>() < DETACHED_COPY_BYTES || !targets.are_disjoint_slices() {
        rows.iter().zip(masks).for_each(|(&row, mask)| targets.write(row, mask));
        return Ok(());
    }
    // SAFETY: the rows are slices that do not overlap, and `rows` has no duplicates.
    let mut slices: Vec<&mut [i32]> = rows.iter().map(|&row| unsafe { targets.slice(row) }).collect();
    array.py().outside_forks(|| batch::copy_masks(masks, &mut slices));
    Ok(())
}

/// The memory layout of a writable array.
///
/// The array is not borrowed in the sense of the `numpy` crate while rows are written: registering a borrow would
/// nearly double the time of `fill_mask`, and exclude other threads that fill other rows. Concurrent access is
/// excluded as for any assignment to an array of numpy: by the interpreter lock, or without it by the caller. The
/// source of a copy is memory of Rust that is never writable through an array.
struct ArrayRows<'a> {
    start: *mut u8,
    count: usize,
    columns: usize,
    /// Distance in bytes between consecutive rows.
    row_stride: isize,
    /// Distance in bytes between consecutive words of a row.
    stride: isize,
    is_aligned: bool,
    /// Ties the lifetime to that of the array.
    array: PhantomData<&'a PyArray2<i32>>,
}

impl<'a> ArrayRows<'a> {
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

    /// Whether each row is contiguous and aligned.
    #[inline]
    fn are_slices(&self) -> bool {
        self.is_aligned && self.stride == size_of::<i32>().cast_signed()
    }

    /// Whether the rows are slices that do not overlap.
    fn are_disjoint_slices(&self) -> bool {
        self.are_slices() && self.row_stride.unsigned_abs() >= self.columns * size_of::<i32>()
    }

    #[inline]
    fn row(&self, row: usize) -> *mut u8 {
        assert!(row < self.count, "callers check that the row exists");
        // SAFETY: the row exists, so the offset is within the array.
        unsafe { self.start.offset(row.cast_signed() * self.row_stride) }
    }

    /// The words of a row.
    ///
    /// # Safety
    /// The rows must be slices, and no other slice of the row may be alive.
    #[inline]
    unsafe fn slice(&self, row: usize) -> &'a mut [i32] {
        // SAFETY: a row has `columns` contiguous, initialised words. The flags of the array were checked: it is
        // aligned and writable.
        unsafe { std::slice::from_raw_parts_mut(self.row(row).cast(), self.columns) }
    }

    /// Writes a mask, whose number of words equals the number of columns, into a row.
    #[inline]
    fn write(&self, row: usize, mask: &Mask) {
        if self.are_slices() {
            // SAFETY: the slice lives only for this call.
            return mask.write_to(unsafe { self.slice(row) });
        }
        let first = self.row(row);
        for (column, word) in (0..self.columns.cast_signed()).zip(mask.words()) {
            // SAFETY: the word is at this offset from the first word of the row, and the array is writable. The write
            // does not require alignment.
            unsafe { first.offset(column * self.stride).cast::<i32>().write_unaligned(word.cast_signed()) };
        }
    }
}

/// Number of rows of an array for masks.
pub(crate) fn row_count(array: &Bound<'_, PyAny>) -> PyResult<usize> {
    if let Ok(matrix) = array.cast::<PyArray2<i32>>() {
        return Ok(matrix.shape()[0]);
    }
    if array.cast::<PyArray1<i32>>().is_ok() {
        return Ok(1);
    }
    row_count(&array_of_tensor(array)?)
}

/// The array that shares its memory with a CPU tensor of torch.
fn array_of_tensor<'py>(tensor: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if tensor.hasattr("numpy")? {
        let array = tensor.call_method0("numpy")?;
        if array.cast::<PyArray1<i32>>().is_ok() || array.cast::<PyArray2<i32>>().is_ok() {
            return Ok(array);
        }
    }
    // What differs in an array or a tensor is its dtype or its shape, not its type.
    let described = match (tensor.getattr("dtype"), tensor.getattr("shape")) {
        (Ok(dtype), Ok(shape)) => format!(" of dtype {dtype} and shape {}", shape.str()?),
        _ => String::new(),
    };
    Err(PyTypeError::new_err(format!(
        "a mask is an int32 numpy array or CPU tensor of shape [rows, words], not {}{described}",
        tensor.get_type().name()?
    )))
}

fn shape_error(shape: &[usize], row: usize, word_count: usize) -> PyErr {
    PyValueError::new_err(format!(
        "the mask has the shape {shape:?} and row {row} of it was asked for; it needs the shape [rows, {word_count}], \
         as grammask.allocate_mask makes it"
    ))
}

fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
