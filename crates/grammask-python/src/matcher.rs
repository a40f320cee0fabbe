//! `Matcher`: the state of one text.

use std::sync::Arc;

use grammask::grammar::GrammarError;
use grammask::vocabulary::{Mask, TokenId};
use grammask::{DraftTree, Effort, Matcher, TokenizeError};
use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::allocator::PurgeOnDrop;
use crate::budget::{PyCompletion, budget, budget_error};
use crate::counts::{OfArgument, check_no_bytes, count, integers, row};
use crate::errors::{grammar_error, row_error};
use crate::explanation::{PyExpectation, PyExplanation, PyTextExplanation};
use crate::forks::OutsideForks;
use crate::mask_array;
use crate::text_argument::{self, TextArgument, is_text};
use crate::unknown_keywords::refuse_keywords;
use crate::vocabulary::PyVocabulary;

/// The state of one text under a :class:`CompiledGrammar`.
///
/// For one thread at a time; fork it for others. A call that conflicts with a call of another thread raises
/// ``RuntimeError`` and changes nothing.
#[pyclass(name = "Matcher", module = "grammask._grammask", weakref)]
pub(crate) struct PyMatcher {
    pub(crate) matcher: Matcher,
    _purge: PurgeOnDrop,
}

impl PyMatcher {
    pub(crate) fn new(matcher: Matcher) -> Self {
        Self { matcher, _purge: PurgeOnDrop }
    }

    /// Sets the budget.
    pub(crate) fn limit(&mut self, py: Python<'_>, budget: Option<u32>) -> PyResult<()> {
        py.outside_forks(|| self.matcher.set_budget(budget)).map_err(|error| budget_error(py, error))
    }
}

#[pymethods]
impl PyMatcher {
    /// Return the object for notebooks as HTML: the text, the forced text and the expected terminals.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("grammask.notebooks")?.call_method1("matcher_html", (slf,))
    }

    /// Append a token and return True; if it is not legal, change nothing and return False.
    ///
    /// After the end of the text only end tokens are accepted; they only count as a step.
    ///
    /// Raises:
    ///     ValueError: The vocabulary has no such id.
    ///     LimitExceeded: A limit was exceeded; the matcher is unchanged.
    ///
    /// Cost: one table lookup per byte of the token in memoised states.
    fn accept(&mut self, py: Python<'_>, token: &Bound<'_, PyAny>) -> PyResult<bool> {
        let token = self.token(token)?;
        self.matcher.accept(token).map_err(|error| grammar_error(py, &error))
    }

    /// Append a text like one token and return True; if it is not legal, change nothing and return False.
    ///
    /// A str is read as UTF-8.
    ///
    /// Raises:
    ///     LimitExceeded: A limit was exceeded; the matcher is unchanged.
    fn accept_bytes(
        &mut self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_argument::text)] text: TextArgument,
    ) -> PyResult<bool> {
        self.matcher.accept_bytes(&text).map_err(|error| grammar_error(py, &error))
    }

    /// Return the length of the longest prefix of ``tokens`` that could be accepted. Changes nothing.
    ///
    /// Raises:
    ///     ValueError: The vocabulary has no such id.
    ///     LimitExceeded: A limit was exceeded.
    fn validate(&self, py: Python<'_>, tokens: &Bound<'_, PyAny>) -> PyResult<usize> {
        let tokens = self.tokens_of(tokens)?;
        self.matcher.validate(&tokens).map_err(|error| grammar_error(py, &error))
    }

    /// Undo the last ``count`` steps (tokens, or calls of ``accept_bytes``), including the end of the text.
    ///
    /// Raises:
    ///     ValueError: There are fewer steps.
    #[pyo3(signature = (count=1, **unknown), text_signature = "($self, count=1)")]
    fn rollback(
        &mut self,
        #[pyo3(from_py_with = count)] count: usize,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        refuse_keywords("Matcher.rollback", &["count"], unknown)?;
        if self.matcher.rollback(count) {
            return Ok(());
        }
        let steps = self.matcher.step_count();
        Err(PyValueError::new_err(format!("cannot roll back {count} steps, only {steps} were accepted")))
    }

    /// Return an independent matcher in the same state. Equivalent to ``copy.copy``.
    fn fork(&self) -> Self {
        Self { matcher: self.matcher.clone(), _purge: PurgeOnDrop }
    }

    fn __copy__(&self) -> Self {
        self.fork()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.fork()
    }

    /// Go back to the beginning of the text. The caches of the grammar are not affected.
    fn reset(&mut self) {
        self.matcher.reset();
    }

    /// Write the mask of the next token into a row of an int32 array.
    ///
    /// Args:
    ///     mask: A writable int32 numpy array or CPU tensor of shape ``[rows, ceil(vocab_size / 32)]``, or of shape
    ///         ``[ceil(vocab_size / 32)]`` with row 0.
    ///     row: The row to write.
    ///
    /// Raises:
    ///     DeadEnd: No token is legal although the text has not ended. The array is unchanged.
    ///     LimitExceeded: A limit was exceeded. The array is unchanged.
    ///     TypeError, ValueError: The array has another type or shape.
    ///
    /// Cost: for a cached mask a copy of the row, under the interpreter lock. Other masks are computed without the
    /// lock.
    #[pyo3(signature = (mask, row=0, **unknown), text_signature = "($self, mask, row=0)")]
    fn fill_mask(
        &self,
        mask: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = row)] row: usize,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        refuse_keywords("Matcher.fill_mask", &["row"], unknown)?;
        match self.matcher.lookup_mask() {
            Some(known) => mask_array::write_row(mask, row, known),
            None => {
                let py = mask.py();
                let made = self.compute_mask_now(py).map_err(|error| grammar_error(py, &error))?;
                mask_array::write_row(mask, row, &made)
            }
        }
    }

    /// Append a token, and write the mask of the next one: :meth:`accept` and :meth:`fill_mask` in one call.
    ///
    /// Args:
    ///     token: The token.
    ///     mask: As for :meth:`fill_mask`.
    ///     row: The row to write.
    ///
    /// Returns:
    ///     Whether the token is legal. If it is not, the matcher and the array are unchanged. After the end of the text
    ///     the row has the end tokens.
    ///
    /// Raises:
    ///     DeadEnd: No token can follow although the text has not ended.
    ///     LimitExceeded: A limit was exceeded.
    ///     TypeError, ValueError: As :meth:`accept` and :meth:`fill_mask`.
    ///
    ///     After an exception the matcher and the array are unchanged.
    ///
    /// Cost: that of both methods, less the overhead of a call, which exceeds all else when the caches of the CPU are
    /// cold.
    #[pyo3(signature = (token, mask, row=0, **unknown), text_signature = "($self, token, mask, row=0)")]
    fn step(
        &mut self,
        token: &Bound<'_, PyAny>,
        mask: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = row)] row: usize,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<bool> {
        refuse_keywords("Matcher.step", &["row"], unknown)?;
        if !self.accept(token.py(), token)? {
            return Ok(false);
        }
        match self.fill_mask(mask, row, None) {
            Ok(()) => Ok(true),
            Err(error) => {
                self.matcher.rollback(1);
                Err(error)
            }
        }
    }

    /// Return the mask of the next token without a copy.
    ///
    /// Returns:
    ///     A read-only int32 array of shape ``[ceil(vocab_size / 32)]``. It owns its memory, and does not change when
    ///     the matcher accepts tokens.
    ///
    /// Raises:
    ///     DeadEnd, LimitExceeded: As :meth:`fill_mask`.
    ///
    /// Cost: for a cached mask, independent of the size of the vocabulary.
    fn mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i32>>> {
        mask_array::view(py, self.current_mask(py)?)
    }

    /// Write the masks before and after each token of a draft. The matcher does not change.
    ///
    /// Row ``first_row + i`` gets the mask after the first ``i`` tokens, up to the first token that is not legal.
    ///
    /// Args:
    ///     tokens: The draft.
    ///     mask: As for :meth:`fill_mask`, with ``len(tokens) + 1`` rows starting at ``first_row``.
    ///     first_row: The row of the mask before the first token.
    ///
    /// Returns:
    ///     The number of rows written: one more than the number of tokens that can be accepted.
    ///
    /// Raises:
    ///     DeadEnd, LimitExceeded: As :meth:`fill_mask`, with the position in the draft as ``row``; nothing is written.
    ///     ValueError: The vocabulary has no such id, or there are too few rows.
    #[pyo3(signature = (tokens, mask, first_row=0, **unknown), text_signature = "($self, tokens, mask, first_row=0)")]
    fn draft_masks(
        &self,
        py: Python<'_>,
        tokens: &Bound<'_, PyAny>,
        mask: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = row)] first_row: usize,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<usize> {
        refuse_keywords("Matcher.draft_masks", &["first_row"], unknown)?;
        let tokens = self.tokens_of(tokens)?;
        check_rows(mask, first_row, tokens.len() + 1)?;
        let masks =
            py.outside_forks(|| self.matcher.draft_masks(&tokens)).map_err(|error| row_error(py, &error))?;
        let rows: Vec<usize> = (first_row..first_row + masks.len()).collect();
        mask_array::write_rows(mask, &rows, &masks)?;
        Ok(masks.len())
    }

    /// Write the masks of a tree of draft tokens, in the layout of EAGLE in SGLang. The matcher does not change.
    ///
    /// Row ``first_row + i`` gets the mask after the tokens on the path to node ``i``. Node 0 is the last accepted
    /// token: its row gets the mask of the matcher, and its id is ignored.
    ///
    /// Args:
    ///     tokens: The token of each node. All three are sequences of integers, arrays or tensors of equal length.
    ///     retrieve_next_token: The first child of each node, or -1.
    ///     retrieve_next_sibling: The next sibling of each node, or -1.
    ///     mask: As for :meth:`fill_mask`, with a row per node starting at ``first_row``.
    ///     first_row: The row of node 0.
    ///
    /// Returns:
    ///     For each node, whether its path can be accepted. Rows of other nodes are not written.
    ///
    /// Raises:
    ///     DeadEnd, LimitExceeded: As :meth:`fill_mask`, with the node as ``row``; nothing is written.
    ///     ValueError: The links are not a tree, the vocabulary has no such id, or there are too few rows.
    #[pyo3(signature = (tokens, retrieve_next_token, retrieve_next_sibling, mask, first_row=0, **unknown), text_signature = "($self, tokens, retrieve_next_token, retrieve_next_sibling, mask, first_row=0)")]
    #[expect(clippy::too_many_arguments, reason = "each is an argument of its own in Python")]
    fn draft_tree_masks<'py>(
        &self,
        py: Python<'py>,
        tokens: &Bound<'py, PyAny>,
        retrieve_next_token: &Bound<'py, PyAny>,
        retrieve_next_sibling: &Bound<'py, PyAny>,
        mask: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = row)] first_row: usize,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        refuse_keywords("Matcher.draft_tree_masks", &["first_row"], unknown)?;
        // The ids of the root, which has been accepted, and of padding, which no link refers to, are not checked.
        let tokens = integers(tokens).of_argument(py, "tokens")?;
        let no_token = TokenId(u32::MAX);
        let ids = tokens.iter().map(|&id| u32::try_from(id).map_or(no_token, TokenId)).collect();
        let links = |list: &Bound<'_, PyAny>, name: &str| -> PyResult<Vec<Option<usize>>> {
            let links = integers(list).of_argument(py, name)?.into_iter();
            Ok(links.map(|link| (link != -1).then(|| usize::try_from(link).unwrap_or(usize::MAX))).collect())
        };
        let children = links(retrieve_next_token, "retrieve_next_token")?;
        let siblings = links(retrieve_next_sibling, "retrieve_next_sibling")?;
        let tree = DraftTree::new(ids, &children, &siblings)
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

    /// Return the ids of the legal tokens in ascending order, as a new int64 array.
    ///
    /// Raises:
    ///     DeadEnd, LimitExceeded: As :meth:`fill_mask`.
    fn allowed_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let tokens = self.current_mask(py)?;
        Ok(PyArray1::from_iter(py, tokens.iter().map(|id| i64::from(id.0))))
    }

    /// Return whether a token is legal, without computing the mask.
    ///
    /// Raises:
    ///     ValueError: The vocabulary has no such id.
    fn is_allowed(&self, py: Python<'_>, token: &Bound<'_, PyAny>) -> PyResult<bool> {
        let token = self.token(token)?;
        Ok(self.matcher.validate(&[token]).map_err(|error| grammar_error(py, &error))? == 1)
    }

    /// The vocabulary that the grammar was compiled for.
    #[getter]
    fn vocabulary(&self) -> PyVocabulary {
        PyVocabulary::of(self.matcher.compiled().vocabulary().clone())
    }

    /// The accepted tokens as a new list, without the bytes of ``accept_bytes``.
    #[getter]
    fn tokens(&self) -> Vec<u32> {
        self.matcher.tokens().into_iter().map(|id| id.0).collect()
    }

    /// Number of steps (tokens, or calls of ``accept_bytes``) that can be rolled back.
    #[getter]
    fn step_count(&self) -> usize {
        self.matcher.step_count()
    }

    /// Whether the text so far is complete. It may still be possible to continue it.
    #[getter]
    fn is_complete(&self) -> bool {
        self.matcher.is_complete()
    }

    /// Whether the text has ended: with an end token or, with ``end="eager"``, by becoming complete.
    #[getter]
    fn is_finished(&self) -> bool {
        self.matcher.is_finished()
    }

    /// The number of tokens that the text may still have, its end token included; None without a budget.
    ///
    /// It can be set. From then on a token is legal only if the text after it can be finished within the remaining
    /// budget, so the text always ends within it. A fork has the same budget, and ``rollback`` restores that of the
    /// earlier state. ``accept_bytes`` costs nothing, and refuses bytes after which the text cannot be finished within
    /// the budget.
    ///
    /// Raises:
    ///     BudgetTooSmall: The text cannot be finished with this number of tokens; ``minimum`` suffices.
    ///     GrammarSemanticError: No completion is known (code ``no-completion``): the grammar never ends here, or the
    ///         vocabulary cannot spell what is missing.
    ///     UnsupportedGrammar: Over a large vocabulary values must repeat others (``uniqueItems`` under ``not``), or
    ///         must differ inside a part with a maximum number of tokens, or texts are bound to names in such a part or
    ///         in another encoding.
    ///     LimitExceeded: A limit was exceeded.
    ///     ValueError: The number is negative.
    ///
    /// Cost: that of :attr:`tokens_to_finish`. Masks cost the same as without a budget until it approaches the length
    /// of the shortest completion.
    #[getter]
    fn budget(&self) -> Option<u32> {
        self.matcher.budget()
    }

    #[setter]
    fn set_budget(
        &mut self,
        py: Python<'_>,
        #[pyo3(from_py_with = budget)] budget: Option<u32>,
    ) -> PyResult<()> {
        self.limit(py, budget)
    }

    /// The number of tokens with which the text can be finished: the least sufficient budget. 0 after the end.
    ///
    /// It is the fewest tokens that spell the shortest completion in bytes, or in states with more than 512 items the
    /// number of its bytes, so a few more than the fewest possible.
    ///
    /// Raises:
    ///     GrammarSemanticError: No completion is known (code ``no-completion``).
    ///     LimitExceeded: A limit was exceeded.
    ///
    /// Cost: cached by state.
    #[getter]
    fn tokens_to_finish(&self, py: Python<'_>) -> PyResult<u32> {
        py.outside_forks(|| self.matcher.tokens_to_finish()).map_err(|error| grammar_error(py, &error))
    }

    /// Return a completion with at most :attr:`tokens_to_finish` tokens. Does not depend on the budget.
    ///
    /// Raises:
    ///     GrammarSemanticError, LimitExceeded: As :attr:`tokens_to_finish`.
    fn shortest_completion(&self, py: Python<'_>) -> PyResult<PyCompletion> {
        let completion = py.outside_forks(|| self.matcher.shortest_completion());
        Ok(PyCompletion::new(completion.map_err(|error| grammar_error(py, &error))?))
    }

    /// Return the longest common prefix of all continuations of the text, at most ``limit`` bytes.
    ///
    /// It ends at a character boundary, unless the grammar permits a text to end within a character. A token may
    /// extend beyond it.
    ///
    /// Cost: one lookup per byte in memoised states.
    #[pyo3(signature = (limit=4096, **unknown), text_signature = "($self, limit=4096)")]
    fn forced_bytes<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = count)] limit: usize,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        refuse_keywords("Matcher.forced_bytes", &["limit"], unknown)?;
        let forced = self.matcher.forced_bytes(limit).map_err(|error| grammar_error(py, &error))?;
        Ok(PyBytes::new(py, &forced))
    }

    /// Return the tokens of the forced text. All of them can be accepted in order.
    ///
    /// Without ``encode`` a token is forced if it is the only legal one; end tokens are never returned. With it the
    /// forced text is tokenized, up to the first token that later text could change.
    ///
    /// Args:
    ///     encode: The tokenizer of the model, without special tokens, such as tiktoken's
    ///         ``encoding.encode_ordinary``. Its result is ignored if the tokens do not spell the text.
    ///     limit: Maximum number of tokens.
    ///
    /// Raises:
    ///     LimitExceeded: A limit was exceeded.
    #[pyo3(signature = (encode=None, *, limit=256, **unknown), text_signature = "($self, encode=None, *, limit=256)")]
    fn forced_tokens(
        &self,
        py: Python<'_>,
        encode: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = count)] limit: usize,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<u32>> {
        refuse_keywords("Matcher.forced_tokens", &["encode", "limit"], unknown)?;
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

    /// Return the terminals that the grammar expects next; those of which a part was read are first.
    fn expected(&self, py: Python<'_>) -> PyResult<Vec<PyExpectation>> {
        let expected = self.matcher.expectations().map_err(|error| grammar_error(py, &error))?;
        Ok(expected.into_iter().map(PyExpectation::new).collect())
    }

    /// Explain why a token, or a text as UTF-8 or bytes, can or cannot come next.
    ///
    /// Returns:
    ///     An :class:`Explanation` of a token; a :class:`TextExplanation` of a text, with positions in the whole text.
    ///
    /// Raises:
    ///     ValueError: The vocabulary has no such id.
    ///     LimitExceeded: A limit was exceeded.
    fn explain<'py>(&self, py: Python<'py>, token: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let error = |error: GrammarError| grammar_error(py, &error);
        if is_text(token) {
            let refusal = self.matcher.explain_bytes(&text_argument::text(token)?).map_err(error)?;
            return Ok(Bound::new(py, PyTextExplanation::new(refusal))?.into_any());
        }
        let id = self.token(token)?;
        let explanation = self.matcher.explain(id).map_err(error)?;
        let text = self.matcher.compiled().vocabulary().token(id).map(Box::from);
        Ok(Bound::new(py, PyExplanation { id, text, explanation })?.into_any())
    }

    /// Describe the strategies that compute the current mask, a line each, for people who debug grammars.
    ///
    /// Empty for grammars with a lexer, whose masks have one strategy.
    fn describe_plans(&self, py: Python<'_>) -> PyResult<String> {
        let plans = self.matcher.cache().describe_plans(self.matcher.set());
        plans.map_err(|error| grammar_error(py, &error))
    }

    /// Return a description of the current Earley set, one item per line, for debugging of grammars.
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
    /// Extracts the id of a token of the vocabulary.
    fn token(&self, token: &Bound<'_, PyAny>) -> PyResult<TokenId> {
        match token.extract::<u32>() {
            Ok(id) => self.existing(id.into()).ok_or_else(|| self.no_such_token(id)),
            Err(error) if error.is_instance_of::<PyTypeError>(token.py()) => {
                Err(PyTypeError::new_err(format!("a token id is an int, not {}", token.get_type().name()?)))
            }
            Err(_) => Err(self.no_such_token(token)),
        }
    }

    /// Extracts the ids of several tokens.
    fn tokens_of(&self, tokens: &Bound<'_, PyAny>) -> PyResult<Vec<TokenId>> {
        check_no_bytes(tokens)
            .and_then(|()| tokens.try_iter())
            .and_then(|tokens| tokens.map(|token| self.token(&token?)).collect())
            .of_argument(tokens.py(), "tokens")
    }

    /// The token with this id, if the vocabulary has it.
    pub(crate) fn existing(&self, id: i64) -> Option<TokenId> {
        let size = self.matcher.compiled().vocabulary().size();
        u32::try_from(id).ok().filter(|&id| (id as usize) < size).map(TokenId)
    }

    pub(crate) fn no_such_token(&self, token: impl std::fmt::Display) -> PyErr {
        let size = self.matcher.compiled().vocabulary().size();
        PyValueError::new_err(format!("there is no token {token}; ids go from 0 to {}", size - 1))
    }

    /// Computes a mask that is not cached. Releases the interpreter lock, unless the mask is cheaper than the release.
    fn compute_mask_now(&self, py: Python<'_>) -> Result<Arc<Mask>, GrammarError> {
        match self.matcher.compute_mask(Effort::Immediate)? {
            Some(mask) => Ok(mask),
            None => py.outside_forks(|| self.matcher.mask()),
        }
    }

    /// The mask of the next token, from the cache or computed.
    pub(crate) fn cached_or_computed_mask(&self, py: Python<'_>) -> Result<Arc<Mask>, GrammarError> {
        self.matcher.lookup_mask().map_or_else(|| self.compute_mask_now(py), |known| Ok(known.clone()))
    }

    fn current_mask(&self, py: Python<'_>) -> PyResult<Arc<Mask>> {
        self.cached_or_computed_mask(py).map_err(|error| grammar_error(py, &error))
    }
}

/// Checks that a mask has enough rows for a draft.
fn check_rows(mask: &Bound<'_, PyAny>, first_row: usize, count: usize) -> PyResult<()> {
    let rows = mask_array::row_count(mask)?;
    match first_row.checked_add(count) {
        Some(end) if end <= rows => Ok(()),
        _ => Err(PyValueError::new_err(format!(
            "the draft needs {count} rows from first_row={first_row} on, and the mask has {rows}"
        ))),
    }
}
