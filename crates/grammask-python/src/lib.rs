//! PyO3 bindings of grammask: types and functions of the engine as Python sees them, and no algorithm.

mod embedded;
mod errors;
mod vocabulary;

use pyo3::prelude::*;

/// The compiled extension module `grammask._grammask`.
#[pymodule]
mod _grammask {
    #[pymodule_export]
    use crate::embedded::{embedded_vocabulary, encode_ordinary};
    #[pymodule_export]
    use crate::vocabulary::PyVocabulary;
}
