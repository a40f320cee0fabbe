//! `Explanation` and `Expectation`: the reasons why a token is legal or not.

use grammask::vocabulary::TokenId;
use grammask::{Expectation, Explanation, TextRefusal};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A terminal that the grammar expects.
#[pyclass(name = "Expectation", module = "grammask._grammask", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct PyExpectation {
    expectation: Expectation,
}

impl PyExpectation {
    pub(crate) fn new(expectation: Expectation) -> Self {
        Self { expectation }
    }
}

#[pymethods]
impl PyExpectation {
    /// The terminal in the notation of the grammar.
    #[getter]
    fn terminal(&self) -> &str {
        &self.expectation.terminal
    }

    /// The rule in which the terminal is expected.
    #[getter]
    fn rule(&self) -> &str {
        &self.expectation.rule
    }

    /// Whether a part of the terminal has been read.
    #[getter]
    fn has_begun(&self) -> bool {
        self.expectation.has_begun
    }

    fn __repr__(&self) -> String {
        self.expectation.to_string()
    }
}

/// The reason why a token is legal or not; ``str`` returns a message.
#[pyclass(name = "Explanation", module = "grammask._grammask", frozen)]
pub(crate) struct PyExplanation {
    pub(crate) id: TokenId,
    pub(crate) text: Option<Box<[u8]>>,
    pub(crate) explanation: Explanation,
}

#[pymethods]
impl PyExplanation {
    /// The id of the token.
    #[getter]
    fn id(&self) -> u32 {
        self.id.0
    }

    /// The bytes of the token, if it has text.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.text.as_ref().map(|text| PyBytes::new(py, text))
    }

    /// Whether the token is legal.
    #[getter]
    fn is_allowed(&self) -> bool {
        self.explanation == Explanation::Allowed
    }

    /// Stable identifier of the reason.
    ///
    /// One of ``allowed``, ``refused-byte``, ``too-many-tokens``, ``over-budget``, ``incomplete``, ``no-text``,
    /// ``finished``.
    #[getter]
    fn reason(&self) -> &'static str {
        self.explanation.reason()
    }

    /// For ``refused-byte``, the position of the first illegal byte of the token.
    #[getter]
    fn position(&self) -> Option<usize> {
        self.explanation.position()
    }

    /// For ``over-budget``, the least budget with which the token would be legal, if one is known.
    #[getter]
    fn needed_budget(&self) -> Option<u32> {
        self.explanation.needed_budget()
    }

    /// The terminals that the grammar expects there.
    #[getter]
    fn expected(&self) -> Vec<PyExpectation> {
        self.explanation.expected().iter().cloned().map(PyExpectation::new).collect()
    }

    fn __str__(&self) -> String {
        self.explanation.message(self.id, self.text.as_deref())
    }

    fn __repr__(&self) -> String {
        format!("<Explanation: {}>", self.__str__().lines().next().unwrap_or_default())
    }
}

/// The reason why a text is refused; ``str`` returns a message with the line, a caret and what was expected.
#[pyclass(name = "TextExplanation", module = "grammask._grammask", frozen)]
pub(crate) struct PyTextExplanation {
    refusal: Option<TextRefusal>,
}

impl PyTextExplanation {
    pub(crate) fn new(refusal: Option<TextRefusal>) -> Self {
        Self { refusal }
    }
}

#[pymethods]
impl PyTextExplanation {
    /// Whether the text is accepted. Then all other attributes are None or empty.
    #[getter]
    fn is_allowed(&self) -> bool {
        self.refusal.is_none()
    }

    /// The position of the first byte that does not fit; the number of bytes if the text ends too early.
    #[getter]
    fn position(&self) -> Option<usize> {
        self.refusal.as_ref().map(TextRefusal::position)
    }

    /// The line of the position, from 1.
    #[getter]
    fn line(&self) -> Option<usize> {
        self.refusal.as_ref().map(TextRefusal::line)
    }

    /// The column of the position in characters, from 1.
    #[getter]
    fn column(&self) -> Option<usize> {
        self.refusal.as_ref().map(TextRefusal::column)
    }

    /// The terminals that the grammar expects at the position.
    #[getter]
    fn expected(&self) -> Vec<PyExpectation> {
        let expected = self.refusal.as_ref().map_or(&[][..], TextRefusal::expected);
        expected.iter().cloned().map(PyExpectation::new).collect()
    }

    /// The place in the source of the grammar that describes the text at the position, if it is known.
    ///
    /// For a schema a JSON pointer such as ``#/properties/colour``.
    #[getter]
    fn place(&self) -> Option<&str> {
        self.refusal.as_ref()?.place()
    }

    /// What the author of the text or of the grammar can do.
    #[getter]
    fn help(&self) -> Option<&str> {
        self.refusal.as_ref()?.help()
    }

    fn __str__(&self) -> String {
        self.refusal.as_ref().map_or_else(|| "the text fits".to_owned(), ToString::to_string)
    }

    fn __repr__(&self) -> String {
        format!("<TextExplanation: {}>", self.__str__().lines().next().unwrap_or_default())
    }
}
