//! Masks applied to rows of logits in arrays of numpy.

use grammask::masked_logits::{self, BrainFloat, HalfFloat, Logit, MaskEffect};
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Set the logits of refused tokens to negative infinity, in place, and return the effect of the mask.
///
/// Args:
///     logits: A contiguous array of shape ``[vocab]`` and dtype float32, float64 or uint16, which holds the bits of
///         numbers in ``format``.
///     mask: A contiguous int32 array of shape ``[words]``; logits beyond it are refused.
///     format: ``"float16"`` or ``"bfloat16"`` for uint16; ignored for other dtypes.
///
/// Returns:
///     The probability of the legal tokens together, and the first token with the largest logit. The probability is NaN
///     if the softmax is undefined; the token is None if all logits are negative infinity.
///
/// Raises:
///     TypeError: ``logits`` has another dtype.
///     ValueError: An array is not contiguous or not writable.
#[pyfunction]
pub(crate) fn apply_mask_row(
    logits: &Bound<'_, PyAny>,
    mask: PyReadonlyArray1<'_, i32>,
    format: &str,
) -> PyResult<(f64, Option<usize>)> {
    let mask: Vec<u32> = mask.as_slice()?.iter().map(|word| word.cast_unsigned()).collect();
    let effect = if let Ok(row) = logits.cast::<PyArray1<f32>>() {
        apply(row, &mask)?
    } else if let Ok(row) = logits.cast::<PyArray1<f64>>() {
        apply(row, &mask)?
    } else if let Ok(row) = logits.cast::<PyArray1<u16>>() {
        match format {
            "float16" => apply_bits(row, &mask, HalfFloat, |logit| logit.0)?,
            "bfloat16" => apply_bits(row, &mask, BrainFloat, |logit| logit.0)?,
            _ => return Err(PyValueError::new_err(format!("format={format:?} is not float16 or bfloat16"))),
        }
    } else {
        return Err(PyTypeError::new_err("logits are an array of float32, float64 or uint16"));
    };
    Ok((effect.mass, effect.preferred))
}

fn apply<L: Logit + Element>(row: &Bound<'_, PyArray1<L>>, mask: &[u32]) -> PyResult<MaskEffect> {
    let mut row = row.try_readwrite().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(masked_logits::apply(row.as_slice_mut()?, mask))
}

/// As `apply`, for logits that numpy knows as bits. They are converted block by block, so that no memory is reinterpreted.
fn apply_bits<L: Logit>(
    row: &Bound<'_, PyArray1<u16>>,
    mask: &[u32],
    logit: fn(u16) -> L,
    bits: fn(L) -> u16,
) -> PyResult<MaskEffect> {
    let mut row = row.try_readwrite().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let target = row.as_slice_mut()?;
    let mut logits: Vec<L> = target.iter().map(|&bits| logit(bits)).collect();
    let effect = masked_logits::apply(&mut logits, mask);
    target.iter_mut().zip(logits).for_each(|(target, logit)| *target = bits(logit));
    Ok(effect)
}
