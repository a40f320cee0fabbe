//! The exceptions of `grammask.errors`, raised from Rust with the stable code of the engine's error.

use pyo3::PyErr;

mod python {
    pyo3::import_exception!(grammask.errors, VocabularyError);
}

/// The engine's error as the Python exception.
pub(crate) fn vocabulary_error(error: &grammask::vocabulary::VocabularyError) -> PyErr {
    coded_vocabulary_error(error.code(), error.to_string())
}

/// A `grammask.VocabularyError` about something that only Python values can get wrong.
pub(crate) fn coded_vocabulary_error(code: &'static str, message: String) -> PyErr {
    python::VocabularyError::new_err((message, code))
}
