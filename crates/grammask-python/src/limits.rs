//! `Limits`: the limits of one grammar.

use std::time::Duration;

use grammask::grammar::GrammarError;
use grammask::{Limits, Request};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::counts::optional_count;
use crate::errors::grammar_error;
use crate::unknown_keywords::refuse_keywords;

/// Limits for one grammar, from its source to its masks. Immutable; compared by value; can be pickled.
///
/// The defaults suit a server that compiles untrusted grammars. Exceeding a limit raises
/// :class:`grammask.LimitExceeded`, which names the limit.
#[pyclass(name = "Limits", module = "grammask._grammask", frozen, eq, hash, from_py_object)]
#[derive(Clone, PartialEq, Hash)]
pub(crate) struct PyLimits {
    pub(crate) limits: Limits,
}

#[pymethods]
impl PyLimits {
    #[new]
    #[pyo3(signature = (*, grammar_bytes=None, grammar_size=None, automaton_states=None, set_items=None, bound_bytes=None, memory_bytes=None, seconds=None, **unknown), text_signature = "(*, grammar_bytes=None, grammar_size=None, automaton_states=None, set_items=None, bound_bytes=None, memory_bytes=None, seconds=None)")]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of its own in Python")]
    fn new(
        #[pyo3(from_py_with = optional_count)] grammar_bytes: Option<usize>,
        #[pyo3(from_py_with = optional_count)] grammar_size: Option<usize>,
        #[pyo3(from_py_with = optional_count)] automaton_states: Option<usize>,
        #[pyo3(from_py_with = optional_count)] set_items: Option<usize>,
        #[pyo3(from_py_with = optional_count)] bound_bytes: Option<usize>,
        #[pyo3(from_py_with = optional_count)] memory_bytes: Option<usize>,
        seconds: Option<f64>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        refuse_keywords(
            "Limits",
            &[
                "grammar_bytes",
                "grammar_size",
                "automaton_states",
                "set_items",
                "bound_bytes",
                "memory_bytes",
                "seconds",
            ],
            unknown,
        )?;
        let mut limits = Limits::default();
        let fields = [
            (&mut limits.grammar_bytes, grammar_bytes),
            (&mut limits.grammar_size, grammar_size),
            (&mut limits.automaton_states, automaton_states),
            (&mut limits.set_items, set_items),
            (&mut limits.bound_bytes, bound_bytes),
            (&mut limits.memory_bytes, memory_bytes),
        ];
        for (field, value) in fields {
            *field = value.unwrap_or(*field);
        }
        if let Some(seconds) = seconds {
            limits.time = Duration::try_from_secs_f64(seconds)
                .map_err(|error| PyValueError::new_err(format!("seconds={seconds}: {error}")))?;
        }
        Ok(Self { limits })
    }

    /// Maximum length of the source, in bytes.
    #[getter]
    fn grammar_bytes(&self) -> usize {
        self.limits.grammar_bytes
    }

    /// Maximum number of symbols and alternatives of a grammar, before and after lowering.
    #[getter]
    fn grammar_size(&self) -> usize {
        self.limits.grammar_size
    }

    /// Maximum number of states of the automata of all terminals together.
    #[getter]
    fn automaton_states(&self) -> usize {
        self.limits.automaton_states
    }

    /// Maximum number of items of one Earley set, including predicted ones.
    #[getter]
    fn set_items(&self) -> usize {
        self.limits.set_items
    }

    /// Maximum length of a text that is bound to a name, in bytes.
    #[getter]
    fn bound_bytes(&self) -> usize {
        self.limits.bound_bytes
    }

    /// Maximum memory of one compiled grammar, and that one call allocates, in bytes, within a factor of two.
    #[getter]
    fn memory_bytes(&self) -> usize {
        self.limits.memory_bytes
    }

    /// Maximum duration of one call (read, compile, mask, accept) with all that it does, in seconds.
    #[getter]
    fn seconds(&self) -> f64 {
        self.limits.time.as_secs_f64()
    }

    fn __repr__(&self) -> String {
        let limits = &self.limits;
        format!(
            "Limits(grammar_bytes={}, grammar_size={}, automaton_states={}, set_items={}, bound_bytes={}, memory_bytes={}, seconds={})",
            limits.grammar_bytes,
            limits.grammar_size,
            limits.automaton_states,
            limits.set_items,
            limits.bound_bytes,
            limits.memory_bytes,
            self.seconds()
        )
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let fields = PyDict::new(py);
        fields.set_item("grammar_bytes", self.grammar_bytes())?;
        fields.set_item("grammar_size", self.grammar_size())?;
        fields.set_item("automaton_states", self.automaton_states())?;
        fields.set_item("set_items", self.set_items())?;
        fields.set_item("bound_bytes", self.bound_bytes())?;
        fields.set_item("memory_bytes", self.memory_bytes())?;
        fields.set_item("seconds", self.seconds())?;
        Ok((PyTuple::empty(py), fields))
    }
}

/// The given limits, or the default ones.
pub(crate) fn or_default(limits: Option<&PyLimits>) -> Limits {
    limits.map_or_else(Limits::default, |limits| limits.limits.clone())
}

/// Return what a function returns, which reads or builds a grammar as one request.
///
/// All that it calls, readers within readers included, has the time and the memory of ``limits`` together, and
/// within an outer request at most what is left of that.
#[pyfunction]
#[pyo3(signature = (limits, read))]
pub(crate) fn within_limits<'py>(
    limits: Option<&PyLimits>,
    read: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _request = Request::begin(&or_default(limits));
    read.call0()
}

/// Check the limits of the request that is being served.
///
/// Raises:
///     LimitExceeded: Its time has passed, or it has allocated too much memory.
#[pyfunction]
pub(crate) fn check_limits(py: Python<'_>) -> PyResult<()> {
    Request::check().map_err(|limit| grammar_error(py, &GrammarError::from(limit.diagnostic())))
}
