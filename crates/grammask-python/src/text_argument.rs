//! Texts as arguments: `bytes`, or `str` as UTF-8.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyString};

/// The bytes of a text.
pub(crate) enum TextArgument {
    Bytes(PyBackedBytes),
    Str(PyBackedStr),
}

impl std::ops::Deref for TextArgument {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Str(text) => text.as_bytes(),
        }
    }
}

/// Whether a value is a text.
pub(crate) fn is_text(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyString>()
}

/// Extracts a text.
pub(crate) fn text(value: &Bound<'_, PyAny>) -> PyResult<TextArgument> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(TextArgument::Bytes(bytes.clone().into()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(TextArgument::Str(text.clone().try_into()?));
    }
    Err(PyTypeError::new_err(format!("a text is str or bytes, not {}", value.get_type().name()?)))
}
