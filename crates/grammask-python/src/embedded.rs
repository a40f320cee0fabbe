//! The vocabularies that are compiled into the extension, so that nothing is downloaded at run time.
//!
//! They are those of OpenAI's tiktoken, as the crate `tiktoken-rs` (MIT) embeds them.

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

use crate::forks::OutsideForks;

/// The texts of all tokens in the order of ids, and the special tokens, of an embedded vocabulary. The special
/// tokens have the largest ids, and their names as texts.
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

/// The ids into which an embedded vocabulary's own tokenizer splits a text, special tokens read as plain text.
#[pyfunction]
pub(crate) fn encode_ordinary(py: Python<'_>, name: &str, text: &str) -> PyResult<Vec<u32>> {
    let encoding = encoding(py, name)?;
    Ok(py.outside_forks(|| encoding.encode_ordinary(text)))
}

/// The encoding called `name`; made on first use, in about 0.3 s.
fn encoding(py: Python<'_>, name: &str) -> PyResult<&'static CoreBPE> {
    match name {
        "o200k_base" => Ok(py.outside_forks(o200k_base_singleton)),
        "cl100k_base" => Ok(py.outside_forks(cl100k_base_singleton)),
        _ => Err(PyKeyError::new_err(format!(
            "there is no embedded vocabulary {name:?}; there are \"o200k_base\" and \"cl100k_base\""
        ))),
    }
}
