//! `CompiledGrammar`: a grammar ready for a vocabulary.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use grammask::grammar::{Code, Diagnostic};
use grammask::{CompiledGrammar, EndMode};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict};

use crate::allocator::GivesBack;
use crate::errors::{diagnostics, grammar_error};
use crate::forks::OutsideForks;
use crate::limits::{PyLimits, or_default};
use crate::matcher::PyMatcher;
use crate::vocabulary::PyVocabulary;

/// How often [`PyCompiledGrammar::precompute`] asks whether to go on for each report.
const CALLS_PER_REPORT: usize = 16;

/// A grammar made ready for a vocabulary.
#[pyclass(name = "CompiledGrammar", module = "grammask._grammask", frozen, weakref)]
pub(crate) struct PyCompiledGrammar {
    compiled: Arc<CompiledGrammar>,
    relaxations: Vec<Diagnostic>,
    _last: GivesBack,
}

impl PyCompiledGrammar {
    pub(crate) fn new(compiled: Arc<CompiledGrammar>, relaxations: Vec<Diagnostic>) -> Self {
        Self { compiled, relaxations, _last: GivesBack }
    }
}

#[pymethods]
impl PyCompiledGrammar {
    fn matcher(&self) -> PyMatcher {
        PyMatcher::new(self.compiled.matcher())
    }

    #[getter]
    fn end(&self) -> &'static str {
        match self.compiled.options().end {
            EndMode::Eos => "eos",
            EndMode::Eager => "eager",
        }
    }

    #[getter]
    fn vocabulary_size(&self) -> usize {
        self.compiled.vocabulary().size()
    }

    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> usize {
        py.outside_forks(|| self.compiled.source().len() + self.compiled.cache().memory_bytes())
    }

    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        diagnostics(py, self.compiled.warnings(), self.compiled.source())
    }

    #[getter]
    fn relaxations(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        diagnostics(py, &self.relaxations, self.compiled.source())
    }

    fn first_error(&self, py: Python<'_>, text: &[u8]) -> PyResult<Option<usize>> {
        py.outside_forks(|| self.compiled.first_error(text)).map_err(|error| grammar_error(py, &error))
    }

    fn is_valid(&self, py: Python<'_>, text: &[u8]) -> PyResult<bool> {
        Ok(self.first_error(py, text)?.is_none())
    }

    #[pyo3(signature = (max_sets=None, progress=None, *, seconds=None))]
    fn precompute(
        &self,
        py: Python<'_>,
        max_sets: Option<usize>,
        progress: Option<Py<PyAny>>,
        seconds: Option<f64>,
    ) -> PyResult<usize> {
        let time = seconds.map(Duration::try_from_secs_f64).transpose();
        let time = time.map_err(|error| PyValueError::new_err(format!("seconds: {error}")))?;
        let tables = self.compiled.cache();
        let (mut failure, mut calls) = (None, 0);
        let result = py.outside_forks(|| {
            tables.precompute(max_sets, time, |done, known| {
                // Reporting takes the interpreter's lock, so that is not done each time.
                calls += 1;
                if calls % CALLS_PER_REPORT != 1 {
                    return true;
                }
                let known = known.min(max_sets.unwrap_or(known));
                Python::attach(|py| {
                    let report = || -> PyResult<bool> {
                        py.check_signals()?;
                        match &progress {
                            Some(progress) => {
                                let answer = progress.call1(py, (done, known))?;
                                Ok(!answer.bind(py).is(PyBool::new(py, false)))
                            }
                            None => Ok(true),
                        }
                    };
                    report().unwrap_or_else(|error| {
                        failure = Some(error);
                        false
                    })
                })
            })
        });
        match failure {
            Some(error) => Err(error),
            None => result.map_err(|error| grammar_error(py, &error)),
        }
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match py.outside_forks(|| self.compiled.to_bytes()) {
            Some(bytes) => Ok(PyBytes::new(py, &bytes)),
            None => {
                let message = "only lexed grammars can be saved";
                let diagnostic = Diagnostic::error(Code::UnsupportedGrammar, message)
                    .help("keep the grammar's text; it compiles as fast as it would load");
                Err(grammar_error(py, &diagnostic.into()))
            }
        }
    }

    #[staticmethod]
    #[pyo3(signature = (saved, vocabulary, limits=None))]
    fn from_bytes(
        py: Python<'_>,
        saved: &[u8],
        vocabulary: &PyVocabulary,
        limits: Option<&PyLimits>,
    ) -> PyResult<Self> {
        let (vocabulary, limits) = (vocabulary.shared(), or_default(limits));
        let compiled = py.outside_forks(|| CompiledGrammar::from_bytes(saved, vocabulary, limits));
        let compiled = compiled.map_err(|error| grammar_error(py, &error))?;
        Ok(Self::new(compiled, Vec::new()))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let bytes = self.to_bytes(py)?;
        let bytes = bytes.as_bytes();
        Ok(py.detach(|| fs::write(path, bytes))?)
    }

    #[staticmethod]
    #[pyo3(signature = (path, vocabulary, limits=None))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        vocabulary: &PyVocabulary,
        limits: Option<&PyLimits>,
    ) -> PyResult<Self> {
        let saved = py.detach(|| fs::read(path))?;
        Self::from_bytes(py, &saved, vocabulary, limits)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let masks = self.compiled.cache().statistics();
        let stats = PyDict::new(py);
        stats.set_item("sets", self.compiled.cache().engine().set_count())?;
        stats.set_item("recognizer_bytes", self.compiled.cache().engine().memory_bytes())?;
        stats.set_item("mask_hits", masks.store.hits)?;
        stats.set_item("mask_misses", masks.store.misses)?;
        stats.set_item("masks", masks.store.masks)?;
        stats.set_item("mask_bytes", masks.store.bytes)?;
        stats.set_item("masks_composed", masks.composed)?;
        stats.set_item("masks_recalled", masks.recalled)?;
        stats.set_item("masks_walked", masks.walked)?;
        stats.set_item("summary_bytes", masks.rule_bytes)?;
        stats.set_item("vocabulary_bytes", masks.vocabulary_bytes)?;
        Ok(stats)
    }

    fn __repr__(&self) -> String {
        format!(
            "<CompiledGrammar of {} nonterminals, end={:?}, {} ids>",
            self.compiled.nonterminal_count(),
            self.end(),
            self.vocabulary_size()
        )
    }
}

/// The end mode called `end`.
pub(crate) fn end_mode(end: &str) -> PyResult<EndMode> {
    match end {
        "eos" => Ok(EndMode::Eos),
        "eager" => Ok(EndMode::Eager),
        _ => Err(PyValueError::new_err(format!("end={end:?} is not one of 'eos' and 'eager'"))),
    }
}
