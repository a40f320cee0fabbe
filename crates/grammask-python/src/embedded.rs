//! Embedded vocabularies, so that nothing is downloaded at run time: those of OpenAI's tiktoken, from the crate
//! `tiktoken-rs` (MIT).

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

use crate::forks::OutsideForks;

/// Return the tokens and the special tokens of a vocabulary that is embedded in the extension module.
///
/// Args:
///     name: ``"o200k_base"`` or ``"cl100k_base"``.
///
/// Raises:
///     KeyError: No such vocabulary is embedded.
///
/// Cost: 0.3 s on the first use of a name.
#[pyfunction]
pub(crate) fn embedded_vocabulary<'py>(
    py: Python<'py>,
    name: &str,
) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyDict>)> {
    let encoding = encoding(py, name)?;
    let mut ids: Vec<_> = encoding
        .special_tokens()
        .into_iter()
        .filter_map(|name| Some((encoding.encode_with_special_tokens(name).first().copied()?, name)))
        .collect();
    ids.sort_unstable();
    let special = PyDict::new(py);
    for (id, name) in &ids {
        special.set_item(name, id)?;
    }
    let size = ids.last().map_or(0, |(id, _)| id + 1);
    let tokens = (0..size).map(|id| encoding.decode_bytes(&[id]).ok().map(|text| PyBytes::new(py, &text)));
    Ok((PyList::new(py, tokens.collect::<Vec<_>>())?, special))
}

/// Tokenize a text with the tokenizer of an embedded vocabulary, without special tokens.
///
/// Args:
///     name: As for ``embedded_vocabulary``.
///     text: The text.
///
/// Raises:
///     KeyError: No such vocabulary is embedded.
#[pyfunction]
pub(crate) fn encode_ordinary(py: Python<'_>, name: &str, text: &str) -> PyResult<Vec<u32>> {
    let encoding = encoding(py, name)?;
    Ok(py.outside_forks(|| encoding.encode_ordinary(text)))
}

/// The encoding called `name`. It is made on first use, in about 0.3 s.
fn encoding(py: Python<'_>, name: &str) -> PyResult<&'static CoreBPE> {
    match name {
        "o200k_base" => Ok(py.outside_forks(o200k_base_singleton)),
        "cl100k_base" => Ok(py.outside_forks(cl100k_base_singleton)),
        _ => Err(PyKeyError::new_err(format!(
            "there is no embedded vocabulary {name:?}; there are \"o200k_base\" and \"cl100k_base\""
        ))),
    }
}
