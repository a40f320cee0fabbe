//! Conversion of errors to the exceptions of `grammask.errors`, with stable codes.

use grammask::grammar::{Code, Diagnostic, ErrorKind, GrammarError, Position, Severity};
use grammask::{LimitExceeded, LimitOption, RowError};
use pyo3::PyErr;
use pyo3::prelude::*;

mod python {
    pyo3::import_exception!(grammask.errors, VocabularyError);
    pyo3::import_exception!(grammask.errors, GrammarError);
    pyo3::import_exception!(grammask.errors, BudgetTooSmall);
    pyo3::import_exception!(grammask.errors, GrammarSyntaxError);
    pyo3::import_exception!(grammask.errors, GrammarSemanticError);
    pyo3::import_exception!(grammask.errors, UnsupportedGrammar);
    pyo3::import_exception!(grammask.errors, UnsupportedSchema);
    pyo3::import_exception!(grammask.errors, LimitExceeded);
    pyo3::import_exception!(grammask.errors, DeadEnd);
}

/// A `VocabularyError` as exception.
pub(crate) fn vocabulary_error(error: &grammask::vocabulary::VocabularyError) -> PyErr {
    coded_vocabulary_error(error.code(), error.to_string())
}

/// A `grammask.VocabularyError` about an invalid Python value.
pub(crate) fn coded_vocabulary_error(code: &'static str, message: String) -> PyErr {
    python::VocabularyError::new_err((message, code))
}

/// A `GrammarError` as the exception of its kind.
pub(crate) fn grammar_error(py: Python<'_>, error: &GrammarError) -> PyErr {
    let error = &error.with_limit_options(limit_option);
    let diagnostics = match diagnostics(py, error.diagnostics(), error.source_text()) {
        Ok(diagnostics) => diagnostics,
        Err(failure) => return failure,
    };
    let arguments = (error.to_string(), diagnostics);
    match error.kind() {
        ErrorKind::Unsupported if error.code() == Code::UnsupportedSchema => {
            python::UnsupportedSchema::new_err(arguments)
        }
        ErrorKind::Syntax => python::GrammarSyntaxError::new_err(arguments),
        ErrorKind::Semantic => python::GrammarSemanticError::new_err(arguments),
        ErrorKind::Unsupported => python::UnsupportedGrammar::new_err(arguments),
        ErrorKind::Limit => python::LimitExceeded::new_err(arguments),
        ErrorKind::DeadEnd => python::DeadEnd::new_err(arguments),
        ErrorKind::Budget => python::GrammarError::new_err(arguments),
    }
}

/// A limit as an argument of Python's `Limits`.
fn limit_option(limit: LimitExceeded) -> LimitOption {
    let (name, maximum) = match limit.limit {
        "time" => ("seconds", (limit.maximum as f64 / 1_000.0).to_string()),
        name => (name, format!("{}{}", limit.maximum, limit.unit())),
    };
    LimitOption { name: name.to_owned(), path: format!("Limits.{name}"), maximum }
}

/// The error of a token budget as `BudgetTooSmall`.
pub(crate) fn budget_too_small(py: Python<'_>, error: &GrammarError, budget: u32, minimum: u32) -> PyErr {
    match diagnostics(py, error.diagnostics(), error.source_text()) {
        Ok(diagnostics) => python::BudgetTooSmall::new_err((error.to_string(), diagnostics, budget, minimum)),
        Err(failure) => failure,
    }
}

/// An error about one row as the exception of its kind, with the attribute `row`.
pub(crate) fn row_error(py: Python<'_>, error: &RowError) -> PyErr {
    let exception = grammar_error(py, &error.error);
    match exception.value(py).setattr("row", error.row) {
        Ok(()) => exception,
        Err(failure) => failure,
    }
}

/// Diagnostics as objects of `grammask.errors.Diagnostic`.
pub(crate) fn diagnostics(py: Python<'_>, list: &[Diagnostic], source: &str) -> PyResult<Vec<Py<PyAny>>> {
    let class = py.import("grammask.errors")?.getattr("Diagnostic")?;
    list.iter()
        .map(|diagnostic| {
            let position = diagnostic.span.map(|span| Position::of(source, span.start));
            let arguments = (
                diagnostic.code.as_str(),
                if diagnostic.severity == Severity::Error { "error" } else { "warning" },
                &diagnostic.message,
                position.map(|position| (position.line, position.column)),
                diagnostic.span.map(|span| (span.start, span.end)),
                diagnostic.found.as_deref(),
                diagnostic.expected.clone(),
                diagnostic.help.as_deref(),
                diagnostic.render(source),
                diagnostic.pointer.as_deref(),
            );
            Ok(class.call1(arguments)?.unbind())
        })
        .collect()
}
