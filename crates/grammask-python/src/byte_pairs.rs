//! `PairMerges` and `PiecePattern`: the parts of tokenizers that encode texts by byte-pair encoding.

use fancy_regex::Regex;
use grammask::vocabulary::{PairMerge, PairMerges, TokenId};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::forks::OutsideForks;

/// The merges of a byte-pair encoding: left token, right token and the token of both, in order.
#[pyclass(name = "PairMerges", module = "grammask._grammask", frozen)]
pub(crate) struct PyPairMerges {
    merges: PairMerges,
}

#[pymethods]
impl PyPairMerges {
    #[new]
    fn new(merges: Vec<(u32, u32, u32)>) -> Self {
        let merge = |(left, right, merged)| PairMerge {
            left: TokenId(left),
            right: TokenId(right),
            merged: TokenId(merged),
        };
        Self { merges: PairMerges::new(merges.into_iter().map(merge)) }
    }

    /// Return the tokens of a piece of text, given as its symbols.
    fn apply(&self, py: Python<'_>, symbols: Vec<u32>) -> Vec<u32> {
        let symbols: Vec<TokenId> = symbols.into_iter().map(TokenId).collect();
        let merged = py.outside_forks(|| self.merges.apply(&symbols));
        merged.into_iter().map(|token| token.0).collect()
    }
}

/// An expression that divides texts into pieces, in the syntax of the crate ``fancy-regex``.
///
/// Raises:
///     ValueError: The expression is invalid.
#[pyclass(name = "PiecePattern", module = "grammask._grammask", frozen)]
pub(crate) struct PyPiecePattern {
    regex: Regex,
}

#[pymethods]
impl PyPiecePattern {
    #[new]
    fn new(pattern: &str) -> PyResult<Self> {
        let regex = Regex::new(pattern).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { regex })
    }

    /// Return the parts of a text in order, each with whether it is a match.
    ///
    /// Raises:
    ///     ValueError: The expression backtracks too much on the text.
    fn split(&self, py: Python<'_>, text: &str) -> PyResult<Vec<(String, bool)>> {
        let parts = py.outside_forks(|| -> Result<Vec<(String, bool)>, fancy_regex::Error> {
            let (mut parts, mut end) = (Vec::new(), 0);
            for found in self.regex.find_iter(text) {
                let found = found?.range();
                parts.push((text[end..found.start].to_owned(), false));
                parts.push((text[found.clone()].to_owned(), true));
                end = found.end;
            }
            parts.push((text[end..].to_owned(), false));
            parts.retain(|(part, _)| !part.is_empty());
            Ok(parts)
        });
        parts.map_err(|error| PyValueError::new_err(error.to_string()))
    }
}
