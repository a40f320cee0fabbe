//! PyO3 bindings of grammask: types and functions of the engine as Python sees them, and no algorithm.

#[cfg_attr(target_family = "wasm", path = "system_allocator.rs")]
mod allocator;
mod captures;
mod compiled;
mod composition;
mod counts;
mod embedded;
mod errors;
mod forks;
mod grammar;
mod json_schema;
mod leftmost_first;
mod lexed;
mod limits;
mod mask_array;
mod vocabulary;

use pyo3::prelude::*;

/// The compiled extension module `grammask._grammask`. All that threads share in it is immutable, atomic or locked, so
/// it runs without the interpreter's global lock too.
#[pymodule(gil_used = false)]
mod _grammask {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::captures::{PyParse, PyParser};
    #[pymodule_export]
    use crate::compiled::{
        PyCompiledGrammar, PyExpectation, PyExplanation, PyMatcher, fill_masks, set_threads, threads,
    };
    #[pymodule_export]
    use crate::composition::PyComposition;
    #[pymodule_export]
    use crate::embedded::{embedded_vocabulary, encode_ordinary};
    #[pymodule_export]
    use crate::grammar::{PyGrammar, kbnf_syntax_tree, quote_bytes, xgrammar_expression};
    #[pymodule_export]
    use crate::json_schema::{PySchemaOptions, json_schema_grammar, missing_documents, plain_text_grammar};
    #[pymodule_export]
    use crate::leftmost_first::{PyFirstMatches, PyMatchLanguage, PyOrderedPattern};
    #[pymodule_export]
    use crate::lexed::{PyLexedGrammar, PyStreamliningReport, streamlining_report};
    #[pymodule_export]
    use crate::limits::PyLimits;
    #[pymodule_export]
    use crate::vocabulary::PyVocabulary;

    /// Runs when the module is imported.
    #[pymodule_init]
    fn initialise(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::allocator::keep_freed_memory();
        crate::forks::register(module.py())
    }
}
