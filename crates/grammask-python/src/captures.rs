//! `Parser` and `Parse`: captures of named parts of a grammar.

use std::sync::Arc;

use grammask::captures::{Capture, CaptureParse, CaptureParser, PartId};
use grammask::vocabulary::TokenId;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors::grammar_error;
use crate::forks::OutsideForks;
use crate::grammar::PyGrammar;
use crate::limits::{PyLimits, or_default};
use crate::vocabulary::PyVocabulary;

/// Part, start, end, whether it has ended, position of the enclosing capture.
type CaptureTuple = (usize, usize, usize, bool, Option<usize>);

/// Finds the named parts of texts of one grammar, in one derivation per text. Immutable; thread-safe.
///
/// The derivation: of a sequence, the first part matches as much as possible, then the second, and so on; of several
/// alternatives that match the same text, the first is chosen.
///
/// Args:
///     grammar: The grammar. If it names or counts tokens of a model, ``vocabulary`` is required.
///     parts: The names of the rules to capture.
///     limits: The limits.
///     vocabulary: The vocabulary, for texts that are fed as tokens.
///
/// Raises:
///     GrammarError: As on compiling; a name that the grammar does not have; tokens without a vocabulary.
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
        let (grammar, embedded) = (grammar.shared().clone(), grammar.embedded().to_vec());
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let vocabulary = vocabulary.map(|vocabulary| vocabulary.vocabulary.clone());
        let parser =
            py.request(&limits, || CaptureParser::new(&grammar, &embedded, &parts, vocabulary, &limits));
        Ok(Self { parser: parser.map_err(|error| grammar_error(py, &error))? })
    }

    /// Make a parse at the beginning of a text.
    ///
    /// Raises:
    ///     LimitExceeded: A limit was exceeded.
    fn parse(&self, py: Python<'_>) -> PyResult<PyParse> {
        let parse = self.parser.parse().map_err(|limit| grammar_error(py, &limit.diagnostic().into()))?;
        Ok(PyParse { parse })
    }
}

/// A text that a :class:`Parser` parses incrementally.
///
/// A capture is a tuple: number of the part, start and end in bytes, whether it has ended, and the position of the
/// enclosing capture in the list. Captures are ordered by start, outer ones first.
#[pyclass(name = "Parse", module = "grammask._grammask")]
pub(crate) struct PyParse {
    parse: CaptureParse,
}

#[pymethods]
impl PyParse {
    /// Read the longest prefix of the bytes that continues the text to a viable prefix; return its length.
    ///
    /// Raises:
    ///     LimitExceeded: A limit was exceeded; the parse has no captures afterwards.
    fn feed(&mut self, py: Python<'_>, text: PyBackedBytes) -> PyResult<usize> {
        let result = py.outside_forks(|| self.parse.feed(&text));
        result.map_err(|limit| grammar_error(py, &limit.diagnostic().into()))
    }

    /// Read the longest prefix of the tokens that continues the text to a viable prefix; return its length.
    ///
    /// End tokens are accepted after a complete text. Tokens without text, such as special tokens, add no bytes. A
    /// parser without a vocabulary reads no tokens.
    ///
    /// Raises:
    ///     LimitExceeded: A limit was exceeded; the parse has no captures afterwards.
    fn feed_tokens(&mut self, py: Python<'_>, tokens: Vec<u32>) -> PyResult<usize> {
        let tokens: Vec<TokenId> = tokens.into_iter().map(TokenId).collect();
        let result = py.outside_forks(|| self.parse.feed_tokens(&tokens));
        result.map_err(|limit| grammar_error(py, &limit.diagnostic().into()))
    }

    /// Number of bytes read.
    #[getter]
    fn position(&self) -> usize {
        self.parse.position()
    }

    /// Whether the bytes read are a complete text.
    #[getter]
    fn is_complete(&self) -> bool {
        self.parse.is_complete()
    }

    /// Return the captures of a complete text; None if the text is incomplete.
    fn whole(&self) -> Option<Vec<CaptureTuple>> {
        Some(tuples(&self.parse.whole()?))
    }

    /// Return the captures of a prefix of a text, as if every part that can continue did.
    fn growing(&self) -> Vec<CaptureTuple> {
        tuples(&self.parse.growing())
    }

    /// Return the parts that end at the end of the text so far, over all its derivations.
    ///
    /// Each is a tuple: number of the part, and start in bytes. Digits end a number at each of them. Of parts that are
    /// not empty, inner ones come first.
    fn ended_parts(&self) -> Vec<(usize, usize)> {
        self.parse.ended_parts().into_iter().map(|(part, start)| (part.index(), start)).collect()
    }

    /// Return the numbers of the parts that the next byte or token can belong to, over all derivations of the text.
    ///
    /// For each symbol in progress or expected next, it is the innermost part around it.
    fn open_parts(&self) -> Vec<usize> {
        self.parse.open_parts().into_iter().map(PartId::index).collect()
    }

    /// Return an independent parse of the same text.
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
