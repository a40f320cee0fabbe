//! PyO3 bindings of grammask: types and functions of the engine as Python sees them, and no algorithm.

mod compiled;
mod embedded;
mod errors;
mod grammar;
mod limits;
mod vocabulary;

use pyo3::prelude::*;

/// The compiled extension module `grammask._grammask`.
#[pymodule]
mod _grammask {
    #[pymodule_export]
    use crate::compiled::{PyCompiledGrammar, PyExpectation, PyExplanation, PyMatcher, fill_masks};
    #[pymodule_export]
    use crate::embedded::{embedded_vocabulary, encode_ordinary};
    #[pymodule_export]
    use crate::grammar::{PyGrammar, kbnf_syntax_tree, quote_bytes};
    #[pymodule_export]
    use crate::limits::PyLimits;
    #[pymodule_export]
    use crate::vocabulary::PyVocabulary;
}
