//! `CompiledGrammar` and `Matcher`: a grammar ready for a vocabulary, and one text under it.

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use grammask::grammar::{Code, Diagnostic, GrammarError};
use grammask::vocabulary::{Mask, TokenId};
use grammask::{
    CompiledGrammar, DraftTree, Effort, EndMode, Expectation, Explanation, Matcher, RowError, TokenizeError,
    batch,
};
use numpy::PyArray1;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList};

use crate::allocator::GivesBack;
use crate::counts::{count, optional_count};
use crate::errors::{diagnostics, grammar_error, row_error};
use crate::forks::OutsideForks;
use crate::grammar::or_default;
use crate::limits::PyLimits;
use crate::mask_array;
use crate::vocabulary::PyVocabulary;

/// How often [`PyCompiledGrammar::precompute`] asks whether to go on for each report.
const CALLS_PER_REPORT: usize = 16;

/// A grammar made ready for a vocabulary.
#[pyclass(name = "CompiledGrammar", module = "grammask._grammask", frozen, weakref)]
pub(crate) struct PyCompiledGrammar {
    compiled: Arc<CompiledGrammar>,
    relaxations: Vec<Diagnostic>,
    _last: GivesBack,
}

impl PyCompiledGrammar {
    pub(crate) fn new(compiled: Arc<CompiledGrammar>, relaxations: Vec<Diagnostic>) -> Self {
        Self { compiled, relaxations, _last: GivesBack }
    }
}

#[pymethods]
impl PyCompiledGrammar {
    fn matcher(&self) -> PyMatcher {
        PyMatcher { matcher: self.compiled.matcher(), _last: GivesBack }
    }

    #[getter]
    fn end(&self) -> &'static str {
        match self.compiled.options().end {
            EndMode::Eos => "eos",
            EndMode::Eager => "eager",
        }
    }

    #[getter]
    fn vocabulary_size(&self) -> usize {
        self.compiled.vocabulary().size()
    }

    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> usize {
        py.outside_forks(|| self.compiled.source().len() + self.compiled.cache().memory_bytes())
    }

    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        diagnostics(py, self.compiled.warnings(), self.compiled.source())
    }

    #[getter]
    fn relaxations(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        diagnostics(py, &self.relaxations, self.compiled.source())
    }

    fn first_error(&self, py: Python<'_>, text: &[u8]) -> PyResult<Option<usize>> {
        py.outside_forks(|| self.compiled.first_error(text)).map_err(|error| grammar_error(py, &error))
    }

    fn is_valid(&self, py: Python<'_>, text: &[u8]) -> PyResult<bool> {
        Ok(self.first_error(py, text)?.is_none())
    }

    #[pyo3(signature = (max_sets=None, progress=None, *, seconds=None))]
    fn precompute(
        &self,
        py: Python<'_>,
        max_sets: Option<usize>,
        progress: Option<Py<PyAny>>,
        seconds: Option<f64>,
    ) -> PyResult<usize> {
        let time = seconds.map(Duration::try_from_secs_f64).transpose();
        let time = time.map_err(|error| PyValueError::new_err(format!("seconds: {error}")))?;
        let tables = self.compiled.cache();
        let (mut failure, mut calls) = (None, 0);
        let result = py.outside_forks(|| {
            tables.precompute(max_sets, time, |done, known| {
                // Reporting takes the interpreter's lock, so that is not done each time.
                calls += 1;
                if calls % CALLS_PER_REPORT != 1 {
                    return true;
                }
                let known = known.min(max_sets.unwrap_or(known));
                Python::attach(|py| {
                    let report = || -> PyResult<bool> {
                        py.check_signals()?;
                        match &progress {
                            Some(progress) => {
                                let answer = progress.call1(py, (done, known))?;
                                Ok(!answer.bind(py).is(PyBool::new(py, false)))
                            }
                            None => Ok(true),
                        }
                    };
                    report().unwrap_or_else(|error| {
                        failure = Some(error);
                        false
                    })
                })
            })
        });
        match failure {
            Some(error) => Err(error),
            None => result.map_err(|error| grammar_error(py, &error)),
        }
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match py.outside_forks(|| self.compiled.to_bytes()) {
            Some(bytes) => Ok(PyBytes::new(py, &bytes)),
            None => {
                let message = "only lexed grammars can be saved";
                let diagnostic = Diagnostic::error(Code::UnsupportedGrammar, message)
                    .help("keep the grammar's text; it compiles as fast as it would load");
                Err(grammar_error(py, &diagnostic.into()))
            }
        }
    }

    #[staticmethod]
    #[pyo3(signature = (saved, vocabulary, limits=None))]
    fn from_bytes(
        py: Python<'_>,
        saved: &[u8],
        vocabulary: &PyVocabulary,
        limits: Option<&PyLimits>,
    ) -> PyResult<Self> {
        let (vocabulary, limits) = (vocabulary.shared(), or_default(limits));
        let compiled = py.outside_forks(|| CompiledGrammar::from_bytes(saved, vocabulary, limits));
        let compiled = compiled.map_err(|error| grammar_error(py, &error))?;
        Ok(Self::new(compiled, Vec::new()))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let bytes = self.to_bytes(py)?;
        let bytes = bytes.as_bytes();
        Ok(py.detach(|| fs::write(path, bytes))?)
    }

    #[staticmethod]
    #[pyo3(signature = (path, vocabulary, limits=None))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        vocabulary: &PyVocabulary,
        limits: Option<&PyLimits>,
    ) -> PyResult<Self> {
        let saved = py.detach(|| fs::read(path))?;
        Self::from_bytes(py, &saved, vocabulary, limits)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let masks = self.compiled.cache().statistics();
        let stats = PyDict::new(py);
        stats.set_item("sets", self.compiled.cache().engine().set_count())?;
        stats.set_item("recognizer_bytes", self.compiled.cache().engine().memory_bytes())?;
        stats.set_item("mask_hits", masks.store.hits)?;
        stats.set_item("mask_misses", masks.store.misses)?;
        stats.set_item("masks", masks.store.masks)?;
        stats.set_item("mask_bytes", masks.store.bytes)?;
        stats.set_item("masks_composed", masks.composed)?;
        stats.set_item("masks_recalled", masks.recalled)?;
        stats.set_item("masks_walked", masks.walked)?;
        stats.set_item("summary_bytes", masks.rule_bytes)?;
        stats.set_item("vocabulary_bytes", masks.vocabulary_bytes)?;
        Ok(stats)
    }

    fn __repr__(&self) -> String {
        format!(
            "<CompiledGrammar of {} nonterminals, end={:?}, {} ids>",
            self.compiled.nonterminal_count(),
            self.end(),
            self.vocabulary_size()
        )
    }
}

/// One text being generated.
#[pyclass(name = "Matcher", module = "grammask._grammask", weakref)]
pub(crate) struct PyMatcher {
    matcher: Matcher,
    _last: GivesBack,
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

    /// The strategies that compute the current mask, a line each, for people who debug grammars.
    fn describe_plans(&self, py: Python<'_>) -> PyResult<String> {
        let plans = self.matcher.cache().describe_plans(self.matcher.set());
        plans.map_err(|error| grammar_error(py, &error))
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

    fn known_or_made(&self, py: Python<'_>) -> Result<Arc<Mask>, GrammarError> {
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

/// Fills one row of `mask` per matcher.
#[pyfunction]
#[pyo3(signature = (matchers, mask, rows=None))]
pub(crate) fn fill_masks(
    matchers: &Bound<'_, PyAny>,
    mask: &Bound<'_, PyAny>,
    rows: Option<Vec<usize>>,
) -> PyResult<()> {
    let py = mask.py();
    let in_use = |_| {
        PyRuntimeError::new_err("a matcher is in use by another thread; give each thread a fork of its own")
    };
    // A batch of one is what a server without load sends all the time.
    if rows.is_none()
        && let Ok(list) = matchers.cast::<PyList>()
        && list.len() == 1
    {
        let matcher = list.get_item(0)?;
        let matcher = matcher.cast::<PyMatcher>()?.try_borrow().map_err(in_use)?;
        let tokens = matcher.known_or_made(py).map_err(|error| row_error(py, &RowError { row: 0, error }))?;
        return mask_array::write_row(mask, 0, &tokens);
    }
    let matchers: Vec<Bound<'_, PyMatcher>> = matchers.extract()?;
    let rows = rows.unwrap_or_else(|| (0..matchers.len()).collect());
    if rows.len() != matchers.len() {
        return Err(PyValueError::new_err(format!(
            "{} matchers need as many rows, not {}",
            matchers.len(),
            rows.len()
        )));
    }
    let matchers: Vec<_> =
        matchers.iter().map(Bound::try_borrow).collect::<Result<_, _>>().map_err(in_use)?;
    let matchers: Vec<&Matcher> = matchers.iter().map(|matcher| &matcher.matcher).collect();
    // All masks first, so that an error leaves the array as it was.
    let known: Option<Vec<_>> = matchers.iter().map(|matcher| matcher.lookup_mask().cloned()).collect();
    let masks = match known {
        Some(masks) => masks,
        None => py.outside_forks(|| batch::masks(&matchers)).map_err(|error| row_error(py, &error))?,
    };
    mask_array::write_rows(mask, &rows, &masks)
}

/// Sets how many threads make the masks of a batch.
#[pyfunction]
#[pyo3(signature = (count=None))]
pub(crate) fn set_threads(#[pyo3(from_py_with = optional_count)] count: Option<usize>) -> PyResult<()> {
    let too_few = || PyValueError::new_err("masks are made by at least one thread");
    let count = count.map(|count| NonZeroUsize::new(count).ok_or_else(too_few)).transpose()?;
    batch::set_threads(count);
    Ok(())
}

/// How many threads make the masks of a batch.
#[pyfunction]
pub(crate) fn threads() -> usize {
    batch::threads().get()
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

/// A terminal that can come next.
#[pyclass(name = "Expectation", module = "grammask._grammask", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct PyExpectation {
    expectation: Expectation,
}

impl PyExpectation {
    fn new(expectation: Expectation) -> Self {
        Self { expectation }
    }
}

#[pymethods]
impl PyExpectation {
    #[getter]
    fn terminal(&self) -> &str {
        &self.expectation.terminal
    }

    #[getter]
    fn rule(&self) -> &str {
        &self.expectation.rule
    }

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

/// Why a token can or cannot come next.
#[pyclass(name = "Explanation", module = "grammask._grammask", frozen)]
pub(crate) struct PyExplanation {
    id: TokenId,
    text: Option<Box<[u8]>>,
    explanation: Explanation,
}

#[pymethods]
impl PyExplanation {
    #[getter]
    fn id(&self) -> u32 {
        self.id.0
    }

    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.text.as_ref().map(|text| PyBytes::new(py, text))
    }

    #[getter]
    fn is_allowed(&self) -> bool {
        self.explanation == Explanation::Allowed
    }

    #[getter]
    fn reason(&self) -> &'static str {
        match self.explanation {
            Explanation::Allowed => "allowed",
            Explanation::RefusedByte { .. } => "refused-byte",
            Explanation::TooManyTokens { .. } => "too-many-tokens",
            Explanation::RefusedToken { is_end_token: true, .. } => "incomplete",
            Explanation::RefusedToken { .. } => "no-text",
            Explanation::Finished => "finished",
        }
    }

    #[getter]
    fn position(&self) -> Option<usize> {
        match self.explanation {
            Explanation::RefusedByte { position, .. } => Some(position),
            _ => None,
        }
    }

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
            Explanation::Allowed | Explanation::Finished => &[],
        }
    }
}
