//! `Matcher`: one text that is being generated.

use std::sync::Arc;

use grammask::grammar::GrammarError;
use grammask::vocabulary::{Mask, TokenId};
use grammask::{DraftTree, Effort, Matcher, TokenizeError};
use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::allocator::GivesBack;
use crate::counts::count;
use crate::errors::{grammar_error, row_error};
use crate::explanation::{PyExpectation, PyExplanation};
use crate::forks::OutsideForks;
use crate::mask_array;
use crate::vocabulary::PyVocabulary;

/// One text being generated.
#[pyclass(name = "Matcher", module = "grammask._grammask", weakref)]
pub(crate) struct PyMatcher {
    pub(crate) matcher: Matcher,
    _last: GivesBack,
}

impl PyMatcher {
    pub(crate) fn new(matcher: Matcher) -> Self {
        Self { matcher, _last: GivesBack }
    }
}

#[pymethods]
impl PyMatcher {
    fn accept(&mut self, py: Python<'_>, token: &Bound<'_, PyAny>) -> PyResult<bool> {
        let token = self.token(token)?;
        self.matcher.accept(token).map_err(|error| grammar_error(py, &error))
    }

    fn accept_bytes(&mut self, py: Python<'_>, text: &[u8]) -> PyResult<bool> {
        self.matcher.accept_bytes(text).map_err(|error| grammar_error(py, &error))
    }

    fn validate(&self, py: Python<'_>, tokens: &Bound<'_, PyAny>) -> PyResult<usize> {
        let tokens = self.tokens_of(tokens)?;
        self.matcher.validate(&tokens).map_err(|error| grammar_error(py, &error))
    }

    #[pyo3(signature = (count=1))]
    fn rollback(&mut self, #[pyo3(from_py_with = count)] count: usize) -> PyResult<()> {
        if self.matcher.rollback(count) {
            return Ok(());
        }
        let steps = self.matcher.step_count();
        Err(PyValueError::new_err(format!("cannot roll back {count} steps, only {steps} were accepted")))
    }

    fn fork(&self) -> Self {
        Self { matcher: self.matcher.clone(), _last: GivesBack }
    }

    fn __copy__(&self) -> Self {
        self.fork()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.fork()
    }

    fn reset(&mut self) {
        self.matcher.reset();
    }

    #[pyo3(signature = (mask, row=0))]
    fn fill_mask(&self, mask: &Bound<'_, PyAny>, row: usize) -> PyResult<()> {
        match self.matcher.lookup_mask() {
            Some(known) => mask_array::write_row(mask, row, known),
            None => {
                let py = mask.py();
                let made = self.made_mask(py).map_err(|error| grammar_error(py, &error))?;
                mask_array::write_row(mask, row, &made)
            }
        }
    }

    fn mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i32>>> {
        mask_array::view(py, self.current_mask(py)?)
    }

    #[pyo3(signature = (tokens, mask, first_row=0))]
    fn draft_masks(
        &self,
        py: Python<'_>,
        tokens: &Bound<'_, PyAny>,
        mask: &Bound<'_, PyAny>,
        first_row: usize,
    ) -> PyResult<usize> {
        let tokens = self.tokens_of(tokens)?;
        check_rows(mask, first_row, tokens.len() + 1)?;
        let masks =
            py.outside_forks(|| self.matcher.draft_masks(&tokens)).map_err(|error| row_error(py, &error))?;
        let rows: Vec<usize> = (first_row..first_row + masks.len()).collect();
        mask_array::write_rows(mask, &rows, &masks)?;
        Ok(masks.len())
    }

    #[pyo3(signature = (tokens, retrieve_next_token, retrieve_next_sibling, mask, first_row=0))]
    fn draft_tree_masks<'py>(
        &self,
        py: Python<'py>,
        tokens: &Bound<'py, PyAny>,
        retrieve_next_token: &Bound<'py, PyAny>,
        retrieve_next_sibling: &Bound<'py, PyAny>,
        mask: &Bound<'py, PyAny>,
        first_row: usize,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        // The token of the root was accepted before, and nodes that nothing leads to are padding: any number will do.
        let tokens = integers(tokens)?;
        let no_token = TokenId(u32::MAX);
        let ids = tokens.iter().map(|&id| u32::try_from(id).map_or(no_token, TokenId)).collect();
        let links = |list: &Bound<'_, PyAny>| -> PyResult<Vec<Option<usize>>> {
            let links = integers(list)?.into_iter();
            Ok(links.map(|link| (link != -1).then(|| usize::try_from(link).unwrap_or(usize::MAX))).collect())
        };
        let tree = DraftTree::new(ids, &links(retrieve_next_token)?, &links(retrieve_next_sibling)?)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        if let Some(node) = tree.nodes().find(|&node| self.existing(tokens[node]).is_none()) {
            return Err(self.no_such_token(tokens[node]));
        }
        check_rows(mask, first_row, tree.len())?;
        let masks = py
            .outside_forks(|| self.matcher.draft_tree_masks(&tree))
            .map_err(|error| row_error(py, &error))?;
        let is_valid = PyArray1::from_iter(py, masks.iter().map(Option::is_some));
        let (rows, masks): (Vec<usize>, Vec<_>) =
            (first_row..).zip(masks).filter_map(|(row, mask)| Some((row, mask?))).unzip();
        mask_array::write_rows(mask, &rows, &masks)?;
        Ok(is_valid)
    }

    fn allowed_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let tokens = self.current_mask(py)?;
        Ok(PyArray1::from_iter(py, tokens.iter().map(|id| i64::from(id.0))))
    }

    fn is_allowed(&self, py: Python<'_>, token: &Bound<'_, PyAny>) -> PyResult<bool> {
        let token = self.token(token)?;
        Ok(self.matcher.validate(&[token]).map_err(|error| grammar_error(py, &error))? == 1)
    }

    #[getter]
    fn vocabulary(&self) -> PyVocabulary {
        PyVocabulary::of(self.matcher.compiled().vocabulary().clone())
    }

    #[getter]
    fn tokens(&self) -> Vec<u32> {
        self.matcher.tokens().into_iter().map(|id| id.0).collect()
    }

    #[getter]
    fn step_count(&self) -> usize {
        self.matcher.step_count()
    }

    #[getter]
    fn is_complete(&self) -> bool {
        self.matcher.is_complete()
    }

    #[getter]
    fn is_finished(&self) -> bool {
        self.matcher.is_finished()
    }

    #[pyo3(signature = (limit=4096))]
    fn forced_bytes<'py>(&self, py: Python<'py>, limit: usize) -> PyResult<Bound<'py, PyBytes>> {
        let forced = self.matcher.forced_bytes(limit).map_err(|error| grammar_error(py, &error))?;
        Ok(PyBytes::new(py, &forced))
    }

    #[pyo3(signature = (encode=None, *, limit=256))]
    fn forced_tokens(
        &self,
        py: Python<'_>,
        encode: Option<&Bound<'_, PyAny>>,
        limit: usize,
    ) -> PyResult<Vec<u32>> {
        let forced = match encode {
            None => py
                .outside_forks(|| self.matcher.forced_tokens(limit))
                .map_err(|error| grammar_error(py, &error))?,
            Some(encode) => {
                let encode = |text: &str| -> PyResult<Vec<TokenId>> {
                    let ids = integers(&encode.call1((text,))?)?;
                    Ok(ids.into_iter().map(|id| TokenId(u32::try_from(id).unwrap_or(u32::MAX))).collect())
                };
                self.matcher.forced_tokens_with(limit, encode).map_err(|error| match error {
                    TokenizeError::Grammar(error) => grammar_error(py, &error),
                    TokenizeError::Tokenizer(error) => error,
                })?
            }
        };
        Ok(forced.into_iter().map(|id| id.0).collect())
    }

    fn expected(&self, py: Python<'_>) -> PyResult<Vec<PyExpectation>> {
        let expected = self.matcher.expectations().map_err(|error| grammar_error(py, &error))?;
        Ok(expected.into_iter().map(PyExpectation::new).collect())
    }

    fn explain(&self, py: Python<'_>, token: &Bound<'_, PyAny>) -> PyResult<PyExplanation> {
        let id = self.token(token)?;
        let explanation = self.matcher.explain(id).map_err(|error| grammar_error(py, &error))?;
        let text = self.matcher.compiled().vocabulary().token(id).map(Box::from);
        Ok(PyExplanation { id, text, explanation })
    }

    /// The current Earley set in words.
    fn describe_set(&self) -> String {
        self.matcher.cache().engine().describe(self.matcher.set())
    }

    fn __repr__(&self) -> String {
        let state = match (self.is_finished(), self.is_complete()) {
            (true, _) => "finished",
            (false, true) => "complete",
            (false, false) => "incomplete",
        };
        format!("<Matcher after {} steps, {state}>", self.step_count())
    }
}

impl PyMatcher {
    fn token(&self, token: &Bound<'_, PyAny>) -> PyResult<TokenId> {
        match token.extract::<u32>() {
            Ok(id) => self.existing(id.into()).ok_or_else(|| self.no_such_token(id)),
            Err(error) if error.is_instance_of::<PyTypeError>(token.py()) => {
                Err(PyTypeError::new_err(format!("a token id is an int, not {}", token.get_type().name()?)))
            }
            Err(_) => Err(self.no_such_token(token)),
        }
    }

    fn tokens_of(&self, tokens: &Bound<'_, PyAny>) -> PyResult<Vec<TokenId>> {
        tokens.try_iter()?.map(|token| self.token(&token?)).collect()
    }

    fn existing(&self, id: i64) -> Option<TokenId> {
        let size = self.matcher.compiled().vocabulary().size();
        u32::try_from(id).ok().filter(|&id| (id as usize) < size).map(TokenId)
    }

    fn no_such_token(&self, token: impl std::fmt::Display) -> PyErr {
        let size = self.matcher.compiled().vocabulary().size();
        PyValueError::new_err(format!("there is no token {token}; ids go from 0 to {}", size - 1))
    }

    /// Computes a mask that is not cached, without the interpreter's lock unless releasing it would take as long as the mask.
    fn made_mask(&self, py: Python<'_>) -> Result<Arc<Mask>, GrammarError> {
        match self.matcher.compute_mask(Effort::Immediate)? {
            Some(mask) => Ok(mask),
            None => py.outside_forks(|| self.matcher.mask()),
        }
    }

    pub(crate) fn known_or_made(&self, py: Python<'_>) -> Result<Arc<Mask>, GrammarError> {
        self.matcher.lookup_mask().map_or_else(|| self.made_mask(py), |known| Ok(known.clone()))
    }

    fn current_mask(&self, py: Python<'_>) -> PyResult<Arc<Mask>> {
        self.known_or_made(py).map_err(|error| grammar_error(py, &error))
    }
}

fn check_rows(mask: &Bound<'_, PyAny>, first_row: usize, count: usize) -> PyResult<()> {
    let rows = mask_array::row_count(mask)?;
    match first_row.checked_add(count) {
        Some(end) if end <= rows => Ok(()),
        _ => Err(PyValueError::new_err(format!(
            "the draft needs {count} rows from row {first_row} on, and the mask has {rows}"
        ))),
    }
}

/// The integers of a sequence, an array or a tensor.
fn integers(sequence: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    if let Ok(list) = sequence.extract() {
        return Ok(list);
    }
    match sequence.getattr_opt("tolist")? {
        Some(tolist) => tolist.call0()?.extract(),
        None => sequence.try_iter()?.map(|item| item?.extract()).collect(),
    }
}
