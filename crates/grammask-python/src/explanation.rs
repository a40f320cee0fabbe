//! `Explanation` and `Expectation`: the reasons why a token is legal or not.

use grammask::vocabulary::TokenId;
use grammask::{Expectation, Explanation};
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
        describe_expectation(&self.expectation)
    }
}

fn describe_expectation(expectation: &Expectation) -> String {
    let more = if expectation.has_begun { "more of " } else { "" };
    format!("{more}{} in {}", expectation.terminal, expectation.rule)
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
        match self.explanation {
            Explanation::Allowed => "allowed",
            Explanation::RefusedByte { .. } => "refused-byte",
            Explanation::OverBudget { .. } => "over-budget",
            Explanation::TooManyTokens { .. } => "too-many-tokens",
            Explanation::RefusedToken { is_end_token: true, .. } => "incomplete",
            Explanation::RefusedToken { .. } => "no-text",
            Explanation::Finished => "finished",
        }
    }

    /// For ``refused-byte``, the position of the first illegal byte of the token.
    #[getter]
    fn position(&self) -> Option<usize> {
        match self.explanation {
            Explanation::RefusedByte { position, .. } => Some(position),
            _ => None,
        }
    }

    /// For ``over-budget``, the least budget with which the token would be legal, if one is known.
    #[getter]
    fn needed_budget(&self) -> Option<u32> {
        match self.explanation {
            Explanation::OverBudget { needed } => needed,
            _ => None,
        }
    }

    /// The terminals that the grammar expects there.
    #[getter]
    fn expected(&self) -> Vec<PyExpectation> {
        self.expectations().iter().cloned().map(PyExpectation::new).collect()
    }

    fn __str__(&self) -> String {
        let text = self.text.as_ref().map_or_else(
            || format!("token {}", self.id.0),
            |text| format!("token {} {}", self.id.0, grammask::grammar::quote_bytes(text)),
        );
        let reason = match &self.explanation {
            Explanation::Allowed => return format!("{text} is allowed"),
            Explanation::Finished => return format!("{text} is refused: the text has ended"),
            Explanation::OverBudget { needed: Some(needed) } => {
                return format!("{text} is refused: with it the text would need a budget of {needed} tokens");
            }
            Explanation::OverBudget { needed: None } => {
                return format!("{text} is refused: no completion is known after it, and there is a budget");
            }
            Explanation::RefusedByte { position, is_complete, .. } => {
                let byte =
                    self.text.as_ref().and_then(|text| text.get(*position).copied()).unwrap_or_default();
                let byte = grammask::grammar::quote_bytes(&[byte]);
                let end =
                    if *is_complete { "the text could end there, or go on with" } else { "expected there" };
                format!("its byte {position} ({byte}) does not fit; {end}")
            }
            Explanation::TooManyTokens { .. } => {
                "its text fits, but nothing is left of a limit on the number of tokens; expected".to_owned()
            }
            Explanation::RefusedToken { is_end_token: true, .. } => {
                "the text is not complete; expected".to_owned()
            }
            Explanation::RefusedToken { .. } => {
                "it has no text, and the grammar does not name it here; expected".to_owned()
            }
        };
        let expected: Vec<String> = self.expectations().iter().take(12).map(describe_expectation).collect();
        let more = self.expectations().len().saturating_sub(expected.len());
        let more = if more > 0 { format!("\n  … and {more} more") } else { String::new() };
        let nothing = if expected.is_empty() { " nothing" } else { "" };
        let list: String = expected.iter().map(|line| format!("\n  {line}")).collect();
        format!("{text} is refused: {reason}:{nothing}{list}{more}")
    }

    fn __repr__(&self) -> String {
        format!("<Explanation: {}>", self.__str__().lines().next().unwrap_or_default())
    }
}

impl PyExplanation {
    fn expectations(&self) -> &[Expectation] {
        match &self.explanation {
            Explanation::RefusedByte { expected, .. }
            | Explanation::TooManyTokens { expected }
            | Explanation::RefusedToken { expected, .. } => expected,
            Explanation::Allowed | Explanation::Finished | Explanation::OverBudget { .. } => &[],
        }
    }
}
