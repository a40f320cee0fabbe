//! Token budgets of matchers: `Completion`, and the exception of a budget that is too small.

use grammask::{BudgetError, Completion};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::counts::optional_count;
use crate::errors::{budget_too_small, grammar_error};

/// A completion of a text: ``text``, its bytes, and ``tokens``, its tokens with an end token if one is required.
#[pyclass(name = "Completion", module = "grammask._grammask", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct PyCompletion {
    completion: Completion,
}

impl PyCompletion {
    pub(crate) fn new(completion: Completion) -> Self {
        Self { completion }
    }
}

#[pymethods]
impl PyCompletion {
    /// The bytes of the tokens that have text.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.completion.text)
    }

    /// The ids of the tokens.
    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, self.completion.tokens.iter().map(|id| id.0))
    }

    fn __repr__(&self) -> String {
        let text = grammask::grammar::quote_bytes(&self.completion.text);
        format!("<Completion {text}, {} tokens>", self.completion.tokens.len())
    }
}

/// Extracts a budget; numbers beyond 32 bits are reduced to that size.
pub(crate) fn budget(value: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
    Ok(optional_count(value)?.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX)))
}

/// The error of a budget as an exception.
pub(crate) fn budget_error(py: Python<'_>, error: BudgetError) -> PyErr {
    match error {
        BudgetError::TooSmall { budget, minimum } => {
            budget_too_small(py, &error.into_grammar_error(), budget, minimum)
        }
        BudgetError::Grammar(error) => grammar_error(py, &error),
    }
}
