//! `Parser` and `Parse`: captures of named parts of a grammar.

use std::sync::Arc;

use grammask::captures::{Capture, CaptureParse, CaptureParser};
use grammask::vocabulary::TokenId;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors::grammar_error;
use crate::forks::OutsideForks;
use crate::grammar::{PyGrammar, or_default};
use crate::limits::PyLimits;
use crate::vocabulary::PyVocabulary;

/// Part, first byte, behind the last byte, whether it ended, the capture around it.
type CaptureTuple = (usize, usize, usize, bool, Option<usize>);

/// Finds the named parts of texts of one grammar.
#[pyclass(name = "Parser", module = "grammask._grammask", frozen)]
pub(crate) struct PyParser {
    parser: Arc<CaptureParser>,
}

#[pymethods]
impl PyParser {
    #[new]
    #[pyo3(signature = (grammar, parts, limits=None, vocabulary=None))]
    fn new(
        py: Python<'_>,
        grammar: &PyGrammar,
        parts: Vec<String>,
        limits: Option<&PyLimits>,
        vocabulary: Option<&PyVocabulary>,
    ) -> PyResult<Self> {
        let limits = or_default(limits);
        let grammar = grammar.shared().clone();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let vocabulary = vocabulary.map(|vocabulary| vocabulary.vocabulary.clone());
        let parser = py.outside_forks(|| match vocabulary {
            Some(vocabulary) => CaptureParser::with_vocabulary(&grammar, &parts, vocabulary, &limits),
            None => CaptureParser::new(&grammar, &parts, &limits),
        });
        Ok(Self { parser: parser.map_err(|error| grammar_error(py, &error))? })
    }

    fn parse(&self, py: Python<'_>) -> PyResult<PyParse> {
        let parse = self.parser.parse().map_err(|limit| grammar_error(py, &limit.diagnostic().into()))?;
        Ok(PyParse { parse })
    }
}

/// A text that is being read.
#[pyclass(name = "Parse", module = "grammask._grammask")]
pub(crate) struct PyParse {
    parse: CaptureParse,
}

#[pymethods]
impl PyParse {
    fn feed(&mut self, py: Python<'_>, text: PyBackedBytes) -> PyResult<usize> {
        let result = py.outside_forks(|| self.parse.feed(&text));
        result.map_err(|limit| grammar_error(py, &limit.diagnostic().into()))
    }

    fn feed_tokens(&mut self, py: Python<'_>, tokens: Vec<u32>) -> PyResult<usize> {
        let tokens: Vec<TokenId> = tokens.into_iter().map(TokenId).collect();
        let result = py.outside_forks(|| self.parse.feed_tokens(&tokens));
        result.map_err(|limit| grammar_error(py, &limit.diagnostic().into()))
    }

    #[getter]
    fn position(&self) -> usize {
        self.parse.position()
    }

    #[getter]
    fn is_complete(&self) -> bool {
        self.parse.is_complete()
    }

    fn whole(&self) -> Option<Vec<CaptureTuple>> {
        Some(tuples(&self.parse.whole()?))
    }

    fn growing(&self) -> Vec<CaptureTuple> {
        tuples(&self.parse.growing())
    }

    fn fork(&self) -> Self {
        Self { parse: self.parse.clone() }
    }
}

fn tuples(captures: &[Capture]) -> Vec<CaptureTuple> {
    let tuple = |capture: &Capture| {
        (capture.part.index(), capture.start, capture.end, capture.is_closed, capture.parent)
    };
    captures.iter().map(tuple).collect()
}
