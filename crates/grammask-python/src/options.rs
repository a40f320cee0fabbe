//! Options with named values as Python passes them.

use grammask::grammar::NamedOption;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The value of an option with this name.
pub(crate) fn named<T: NamedOption>(name: &str) -> PyResult<T> {
    T::of_name(name).map_err(|error| PyValueError::new_err(error.to_string()))
}
