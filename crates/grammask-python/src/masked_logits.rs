//! Masks applied to rows of logits in arrays of numpy, with the vector instructions of the processor.

use grammask::masked_logits::{self, BFloat16, Float16, Float32, Float64, LogitFormat, MaskEffect};
use numpy::{BorrowError, Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Apply a mask to the logits of a row in place, as :func:`grammask.apply_mask` does.
///
/// Args:
///     logits: A contiguous array of shape ``[vocab]`` and dtype float32, float64 or uint16, which holds the bits of
///         numbers in ``format``.
///     mask: A contiguous int32 array of shape ``[words]``; logits beyond it are refused.
///     format: ``"float16"`` or ``"bfloat16"`` for uint16; ignored for other dtypes.
///
/// Raises:
///     TypeError: ``logits`` has another dtype.
///     ValueError: An array is not contiguous or not writable.
#[pyfunction]
pub(crate) fn apply_mask_row(
    logits: &Bound<'_, PyAny>,
    mask: PyReadonlyArray1<'_, i32>,
    format: &str,
) -> PyResult<()> {
    MaskedRow { logits, mask, format }.pass::<RefuseRow>()
}

/// As :func:`apply_mask_row`, and return the effect of the mask.
///
/// Returns:
///     The probability of the legal tokens together, and the first token with the largest logit. The probability is NaN
///     if the softmax is undefined; the token is None if all logits are negative infinity.
#[pyfunction]
pub(crate) fn measure_mask_row(
    logits: &Bound<'_, PyAny>,
    mask: PyReadonlyArray1<'_, i32>,
    format: &str,
) -> PyResult<(f64, Option<usize>)> {
    let effect = MaskedRow { logits, mask, format }.pass::<Measure>()?;
    Ok((effect.mass, effect.preferred))
}

/// Copy the logits of a row, changed as by :func:`apply_mask_row`.
///
/// Args:
///     logits: A contiguous array of shape ``[vocab]`` and dtype float32 or float64.
///     mask: As for :func:`apply_mask_row`.
///     target: A contiguous array of the same shape and dtype, which is overwritten.
///
/// Raises:
///     TypeError: An array has another dtype.
///     ValueError: An array is not contiguous, the target is not writable, or the shapes differ.
#[pyfunction]
pub(crate) fn copy_legal_row(
    logits: &Bound<'_, PyAny>,
    mask: PyReadonlyArray1<'_, i32>,
    target: &Bound<'_, PyAny>,
) -> PyResult<()> {
    if let (Ok(logits), Ok(target)) = (logits.cast::<PyArray1<f32>>(), target.cast::<PyArray1<f32>>()) {
        copy_row::<Float32>(logits, &mask, target)
    } else if let (Ok(logits), Ok(target)) = (logits.cast::<PyArray1<f64>>(), target.cast::<PyArray1<f64>>())
    {
        copy_row::<Float64>(logits, &mask, target)
    } else {
        Err(PyTypeError::new_err("logits and target are arrays of float32 or of float64"))
    }
}

fn copy_row<F: LogitFormat>(
    logits: &Bound<'_, PyArray1<F::Bits>>,
    mask: &PyReadonlyArray1<'_, i32>,
    target: &Bound<'_, PyArray1<F::Bits>>,
) -> PyResult<()>
where
    F::Bits: Element,
{
    let logits = logits.try_readonly().map_err(value_error)?;
    let mut target = target.try_readwrite().map_err(value_error)?;
    let (logits, target) = (logits.as_slice()?, target.as_slice_mut()?);
    if logits.len() != target.len() {
        let message = format!("{} logits cannot be copied to {}", logits.len(), target.len());
        return Err(PyValueError::new_err(message));
    }
    masked_logits::copy_legal::<F>(logits, &words_of(mask)?, target, vectorised::<Refuse, F>);
    Ok(())
}

/// A row of logits and its mask.
struct MaskedRow<'a, 'py> {
    logits: &'a Bound<'py, PyAny>,
    mask: PyReadonlyArray1<'py, i32>,
    format: &'a str,
}

impl MaskedRow<'_, '_> {
    fn pass<P: Pass>(&self) -> PyResult<P::Output> {
        if let Ok(row) = self.logits.cast::<PyArray1<f32>>() {
            self.of_format::<P, Float32>(row)
        } else if let Ok(row) = self.logits.cast::<PyArray1<f64>>() {
            self.of_format::<P, Float64>(row)
        } else if let Ok(row) = self.logits.cast::<PyArray1<u16>>() {
            match self.format {
                "float16" => self.of_format::<P, Float16>(row),
                "bfloat16" => self.of_format::<P, BFloat16>(row),
                other => Err(PyValueError::new_err(format!("format={other:?} is not float16 or bfloat16"))),
            }
        } else {
            Err(PyTypeError::new_err("logits are an array of float32, float64 or uint16"))
        }
    }

    fn of_format<P: Pass, F: LogitFormat>(&self, row: &Bound<'_, PyArray1<F::Bits>>) -> PyResult<P::Output>
    where
        F::Bits: Element,
    {
        let mut row = row.try_readwrite().map_err(value_error)?;
        Ok(vectorised::<P, F>(row.as_slice_mut()?, &words_of(&self.mask)?))
    }
}

fn words_of(mask: &PyReadonlyArray1<'_, i32>) -> PyResult<Vec<u32>> {
    Ok(mask.as_slice()?.iter().map(|word| word.cast_unsigned()).collect())
}

fn value_error(error: BorrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A pass over a row of logits. `run` is inlined into functions for target features.
trait Pass {
    type Output;

    fn run<F: LogitFormat, const FUSED: bool>(logits: &mut [F::Bits], mask: &[u32]) -> Self::Output;
}

/// Applies the mask to a row.
enum RefuseRow {}

impl Pass for RefuseRow {
    type Output = ();

    #[inline(always)]
    fn run<F: LogitFormat, const FUSED: bool>(logits: &mut [F::Bits], mask: &[u32]) {
        masked_logits::refuse::<F>(logits, mask);
        masked_logits::restore::<F>(logits, mask);
    }
}

/// Applies the mask to a part of a row.
enum Refuse {}

impl Pass for Refuse {
    type Output = ();

    #[inline(always)]
    fn run<F: LogitFormat, const FUSED: bool>(logits: &mut [F::Bits], mask: &[u32]) {
        masked_logits::refuse::<F>(logits, mask);
    }
}

/// Applies the mask and computes its effect.
enum Measure {}

impl Pass for Measure {
    type Output = MaskEffect;

    #[inline(always)]
    fn run<F: LogitFormat, const FUSED: bool>(logits: &mut [F::Bits], mask: &[u32]) -> MaskEffect {
        if FUSED {
            masked_logits::measure_fused::<F>(logits, mask)
        } else {
            masked_logits::measure::<F>(logits, mask)
        }
    }
}

/// Makes a pass with the widest vectors of the processor that the code is compiled for.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn vectorised<P: Pass, F: LogitFormat>(logits: &mut [F::Bits], mask: &[u32]) -> P::Output {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")]
    fn with_avx512<P: Pass, F: LogitFormat>(logits: &mut [F::Bits], mask: &[u32]) -> P::Output {
        P::run::<F, true>(logits, mask)
    }

    #[target_feature(enable = "avx2,fma")]
    fn with_avx2<P: Pass, F: LogitFormat>(logits: &mut [F::Bits], mask: &[u32]) -> P::Output {
        P::run::<F, true>(logits, mask)
    }

    let has_fma = is_x86_feature_detected!("fma");
    if has_fma
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
    {
        // SAFETY: the processor has all features that the function is compiled for.
        return unsafe { with_avx512::<P, F>(logits, mask) };
    }
    if has_fma && is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has both features that the function is compiled for.
        return unsafe { with_avx2::<P, F>(logits, mask) };
    }
    P::run::<F, false>(logits, mask)
}

/// Makes a pass with the vectors of the target. All 64-bit Arm processors have fused multiplications and additions.
#[cfg(not(target_arch = "x86_64"))]
fn vectorised<P: Pass, F: LogitFormat>(logits: &mut [F::Bits], mask: &[u32]) -> P::Output {
    if cfg!(target_arch = "aarch64") {
        P::run::<F, true>(logits, mask)
    } else {
        P::run::<F, false>(logits, mask)
    }
}
