//! `MemoryAccount`: the memory of the compiled grammars of a cache.

use std::sync::Arc;

use grammask::{AccountEntry, MemoryAccount};
use pyo3::prelude::*;

use crate::compiled::PyCompiledGrammar;
use crate::counts::count;

/// The memory of several compiled grammars, as they last reported it.
///
/// A grammar reports its growth itself: while matchers are used, when they are dropped, and after calls on the compiled
/// grammar. So the sum is a number, and the cost of a report does not depend on the number of entries.
#[pyclass(name = "MemoryAccount", module = "grammask._grammask", frozen)]
pub(crate) struct PyMemoryAccount {
    account: Arc<MemoryAccount>,
}

#[pymethods]
impl PyMemoryAccount {
    #[new]
    fn new() -> Self {
        Self { account: Arc::default() }
    }

    /// Memory of all open entries, in bytes.
    #[getter]
    fn bytes(&self) -> usize {
        self.account.bytes()
    }

    /// Add a compiled grammar, which reports its memory until the entry is closed or dropped.
    ///
    /// Args:
    ///     compiled: The grammar.
    ///     constant_bytes: Memory that is added to what the grammar reports.
    #[pyo3(signature = (compiled, constant_bytes=0))]
    fn add(
        &self,
        compiled: &PyCompiledGrammar,
        #[pyo3(from_py_with = count)] constant_bytes: usize,
    ) -> PyAccountEntry {
        PyAccountEntry { entry: compiled.shared().charge(&self.account, constant_bytes) }
    }
}

/// The memory of one compiled grammar in a :class:`MemoryAccount`.
#[pyclass(name = "AccountEntry", module = "grammask._grammask", frozen)]
pub(crate) struct PyAccountEntry {
    entry: Arc<AccountEntry>,
}

#[pymethods]
impl PyAccountEntry {
    /// Memory of the entry, in bytes; 0 after it was closed.
    #[getter]
    fn bytes(&self) -> usize {
        self.entry.bytes()
    }

    /// Subtract the entry from its account.
    fn close(&self) {
        self.entry.close();
    }
}
