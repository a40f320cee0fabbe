//! PyO3 bindings of grammask: the classes and functions of `grammask._grammask`. They convert arguments and results,
//! and have no algorithm.
//!
//! - Doc comments of exported classes, methods and functions are the docstrings of the stub `_grammask.pyi`, copied by
//!   `docstrings.py` next to this crate's manifest. Edit the stub.
//! - Cached masks are written under the interpreter lock; other work runs in `outside_forks` (`forks.rs`), which
//!   releases the lock and delays `fork()`.
//! - `unsafe` occurs in four modules: `mask_array.rs`, which writes masks into arrays of numpy, `masked_logits.rs`, which
//!   calls code for vector instructions that the processor has, `mapped_file.rs`, and `allocator.rs`.

#[cfg_attr(target_family = "wasm", path = "system_allocator.rs")]
mod allocator;
mod ambiguity;
mod batch;
mod budget;
mod byte_pairs;
mod captures;
mod compiled;
mod composition;
mod counts;
mod diagrams;
mod embedded;
mod encoding;
mod errors;
mod explanation;
mod files;
mod forks;
mod grammar;
mod json_schema;
mod json_text;
mod leftmost_first;
mod lexed;
mod limits;
mod mapped_file;
mod mask_array;
mod masked_logits;
mod matcher;
mod memory_account;
mod options;
mod text_argument;
mod unknown_keywords;
mod vocabulary;

use pyo3::prelude::*;

// All state that threads share is immutable, atomic or locked, so the module supports the free-threaded interpreter.
/// The native extension module. Use it through the package ``grammask``.
#[pymodule(gil_used = false)]
mod _grammask {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::batch::{PyBatchStep, fill_masks, set_threads, step_batch, threads};
    #[pymodule_export]
    use crate::budget::PyCompletion;
    #[pymodule_export]
    use crate::byte_pairs::{PyPairMerges, PyPiecePattern};
    #[pymodule_export]
    use crate::captures::{PyParse, PyParser};
    #[pymodule_export]
    use crate::compiled::PyCompiledGrammar;
    #[pymodule_export]
    use crate::composition::PyComposition;
    #[pymodule_export]
    use crate::diagrams::item_sets_diagram;
    #[pymodule_export]
    use crate::embedded::{embedded_vocabulary, encode_ordinary};
    #[pymodule_export]
    use crate::explanation::{PyExpectation, PyExplanation, PyTextExplanation};
    #[pymodule_export]
    use crate::grammar::{PyGrammar, kbnf_syntax_tree, quote_bytes, xgrammar_expression};
    #[pymodule_export]
    use crate::json_schema::{
        PySchemaOptions, content_names, json_schema_grammar, keyword_effects, missing_documents,
        plain_text_grammar,
    };
    #[pymodule_export]
    use crate::json_text::compact_json;
    #[pymodule_export]
    use crate::leftmost_first::{PyFirstMatches, PyMatchLanguage, PyOrderedPattern};
    #[pymodule_export]
    use crate::lexed::{PyLexedGrammar, PyStreamliningReport, streamlining_report};
    #[pymodule_export]
    use crate::limits::{PyLimits, check_limits, within_limits};
    #[pymodule_export]
    use crate::masked_logits::{apply_mask_row, copy_legal_row, measure_mask_row};
    #[pymodule_export]
    use crate::matcher::PyMatcher;
    #[pymodule_export]
    use crate::memory_account::{PyAccountEntry, PyMemoryAccount};
    #[pymodule_export]
    use crate::vocabulary::{PyVocabulary, open_vocabulary, saved_vocabulary};

    /// Runs when the module is imported.
    #[pymodule_init]
    fn initialise(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::allocator::retain_freed_memory();
        crate::allocator::count_memory();
        crate::forks::register(module.py())
    }
}
