//! `CompiledGrammar`: a grammar compiled for a vocabulary.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use grammask::grammar::{Code, Diagnostic, NamedOption};
use grammask::{CompiledGrammar, MaskOrigin, mask_origin};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBool, PyBytes, PyDict, PyTuple};

use crate::allocator::PurgeOnDrop;
use crate::budget::budget;
use crate::counts::{count, optional_count};
use crate::errors::{diagnostics, grammar_error};
use crate::explanation::PyTextExplanation;
use crate::files::{file_error, write_whole};
use crate::forks::OutsideForks;
use crate::limits::{PyLimits, or_default};
use crate::matcher::PyMatcher;
use crate::text_argument::{self, TextArgument};
use crate::unknown_keywords::refuse_keywords;
use crate::vocabulary::PyVocabulary;

/// [`PyCompiledGrammar::precompute`] reports progress once per this number of callbacks of the core.
const CALLS_PER_REPORT: usize = 16;

/// A grammar compiled for a vocabulary, shared by its matchers. Thread-safe.
///
/// States and masks are computed when a matcher first needs them, and cached for all matchers.
#[pyclass(name = "CompiledGrammar", module = "grammask._grammask", frozen, weakref)]
pub(crate) struct PyCompiledGrammar {
    compiled: Arc<CompiledGrammar>,
    relaxations: Vec<Diagnostic>,
    /// The source of the grammar in Python, for files.
    source: Option<Py<PyAny>>,
    _purge: PurgeOnDrop,
}

/// The beginnings of the identities of grammars in files, followed by the definition of a lexed grammar, or by the source
/// of another one.
const DEFINITION: &[u8] = b"definition\n";
const SOURCE: &[u8] = b"source\n";

impl PyCompiledGrammar {
    pub(crate) fn new(
        compiled: Arc<CompiledGrammar>,
        relaxations: Vec<Diagnostic>,
        source: Option<Py<PyAny>>,
    ) -> Self {
        Self { compiled, relaxations, source, _purge: PurgeOnDrop }
    }

    pub(crate) fn shared(&self) -> &CompiledGrammar {
        &self.compiled
    }

    /// The identity of the grammar in files, from which it can be made.
    fn identity(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        if let Some(definition) = py.outside_forks(|| self.compiled.to_bytes()) {
            return Ok([DEFINITION, &definition].concat());
        }
        let Some(source) = &self.source else {
            let message = "the grammar was compiled without a source that can be saved";
            let diagnostic = Diagnostic::error(Code::UnsupportedGrammar, message)
                .help("compile it with `grammask.Grammar.compile`");
            return Err(grammar_error(py, &diagnostic.into()));
        };
        let encoded = py.import("grammask.saved_sources")?.call_method1("encode_source", (source,))?;
        Ok([SOURCE, encoded.cast::<PyBytes>()?.as_bytes()].concat())
    }
}

#[pymethods]
impl PyCompiledGrammar {
    /// Return a new matcher at the beginning of a text. Cheap: make one per text.
    ///
    /// Args:
    ///     max_tokens: The budget of the text, see :attr:`Matcher.budget`; none by default.
    ///
    /// Raises:
    ///     BudgetTooSmall, GrammarSemanticError, LimitExceeded: As for :attr:`Matcher.budget`.
    #[pyo3(signature = (max_tokens=None, **unknown), text_signature = "($self, max_tokens=None)")]
    fn matcher(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = budget)] max_tokens: Option<u32>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyMatcher> {
        refuse_keywords("CompiledGrammar.matcher", &["max_tokens"], unknown)?;
        let mut matcher = PyMatcher::new(self.compiled.matcher());
        if max_tokens.is_some() {
            matcher.limit(py, max_tokens)?;
        }
        Ok(matcher)
    }

    /// Return the object for notebooks as HTML: the end mode, the vocabulary, warnings and counters.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("grammask.notebooks")?.call_method1("compiled_html", (slf,))
    }

    /// When a text ends: ``"eos"``, with an end token, or ``"eager"``, as soon as it is complete.
    #[getter]
    fn end(&self) -> &'static str {
        self.compiled.options().end.name().unwrap_or_default()
    }

    /// Number of ids, including padding: the width of a mask in bits.
    #[getter]
    fn vocabulary_size(&self) -> usize {
        self.compiled.vocabulary().size()
    }

    /// Estimated memory of the grammar and its caches, in bytes, without the vocabulary.
    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> usize {
        py.outside_forks(|| self.compiled.memory_bytes())
    }

    /// Return the warnings about the grammar: unused rules, rules that derive infinite texts only, and others.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        diagnostics(py, self.compiled.warnings(), self.compiled.source())
    }

    /// The constraints of a schema that the grammar does not enforce, with ``on_unsupported="relax"``.
    #[getter]
    fn relaxations(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        diagnostics(py, &self.relaxations, self.compiled.source())
    }

    /// Find the first byte of a text, as UTF-8 or bytes, after which no text of the grammar can continue.
    ///
    /// Returns:
    ///     The position of the byte; the number of bytes if the text is incomplete; None if the text is complete.
    ///
    /// Raises:
    ///     LimitExceeded: A limit was exceeded.
    fn first_error(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_argument::text)] text: TextArgument,
    ) -> PyResult<Option<usize>> {
        py.outside_forks(|| self.compiled.first_error(&text)).map_err(|error| grammar_error(py, &error))
    }

    /// Return whether a text is a complete text of the grammar, by the recogniser that computes the masks.
    ///
    /// A str is read as UTF-8.
    ///
    /// Raises:
    ///     LimitExceeded: A limit was exceeded.
    ///
    /// Cost: one table lookup per byte in memoised states.
    fn is_valid(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_argument::text)] text: TextArgument,
    ) -> PyResult<bool> {
        Ok(self.first_error(py, text)?.is_none())
    }

    /// Explain why a text is refused: the first byte that does not fit, and what the grammar expects there.
    ///
    /// ``str`` of the result is the message of ``grammask validate``, with the line and a caret.
    ///
    /// Args:
    ///     text: The text, as UTF-8 or bytes.
    ///     strip: Whether white space around the text is ignored, as for JSON in files.
    ///
    /// Raises:
    ///     LimitExceeded: A limit was exceeded.
    ///
    /// Cost: the text is read twice; under a schema, the schema is parsed too.
    #[pyo3(signature = (text, *, strip=false, **unknown), text_signature = "($self, text, *, strip=False)")]
    fn explain_text(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_argument::text)] text: TextArgument,
        strip: bool,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyTextExplanation> {
        refuse_keywords("CompiledGrammar.explain_text", &["strip"], unknown)?;
        let is_space = |byte: &&u8| strip && matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let end = text.len() - text.iter().rev().take_while(is_space).count();
        let begin = text[..end].iter().take_while(is_space).count();
        let refusal = py.outside_forks(|| self.compiled.explain_text(&text, begin..end));
        refusal.map(PyTextExplanation::new).map_err(|error| grammar_error(py, &error))
    }

    /// Fill the caches in advance.
    ///
    /// For a context-free grammar these are the states of terminals, such as patterns and comments, and then masks, in
    /// the order in which texts are likely to reach them. For a lexed grammar they are the parts of which masks
    /// consist: for each lexer state, in order of the frequency of the tokens that end in it, the legal tokens for
    /// every stack of the parser. That takes seconds for a programming language, and uses up to a quarter of
    /// ``Limits.memory_bytes``; afterwards masks of new texts cost little more than cached ones. With ``seconds=0.5``
    /// the most frequent states are done, and the 99th percentile of the time per token of new texts is halved. For
    /// languages with indentation, lines outside of blocks are covered. Lexed grammars without LALR(1) tables are
    /// treated like context-free ones. Hosts call this for each grammar on another thread, for 20 ms or
    /// ``GRAMMASK_PREPARE_MS``.
    ///
    /// Args:
    ///     max_sets: Maximum number of states: of texts, or of the lexer. By default 1,000 for a context-free grammar,
    ///         and all that fit for a lexed one.
    ///     progress: Called periodically with (states done, states known so far, at most ``max_sets``); stops the call
    ///         if it returns False. :func:`grammask.progress_bar` draws a bar on the terminal.
    ///     seconds: Time limit, checked every few milliseconds. None: no limit.
    ///     until_first_token: Whether the call ends when a matcher of the grammar accepts a token.
    ///
    /// Returns:
    ///     The number of states that were completed. It is less than ``max_sets`` if the grammar has fewer, or for a
    ///     lexed grammar if no more fit.
    ///
    /// Raises:
    ///     LimitExceeded: A limit was exceeded; the caches keep the results so far.
    ///     ValueError: ``seconds`` is negative or not a number.
    #[pyo3(signature = (max_sets=None, progress=None, *, seconds=None, until_first_token=false, **unknown), text_signature = "($self, max_sets=None, progress=None, *, seconds=None, until_first_token=False)")]
    fn precompute(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = optional_count)] max_sets: Option<usize>,
        progress: Option<Py<PyAny>>,
        seconds: Option<f64>,
        until_first_token: bool,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<usize> {
        refuse_keywords(
            "CompiledGrammar.precompute",
            &["max_sets", "progress", "seconds", "until_first_token"],
            unknown,
        )?;
        let time = seconds.map(Duration::try_from_secs_f64).transpose();
        let time = time.map_err(|error| PyValueError::new_err(format!("seconds: {error}")))?;
        if let Some(progress) = progress.as_ref().map(|progress| progress.bind(py))
            && !progress.is_callable()
        {
            let message =
                format!("progress is a function of two numbers or None, unlike {}", progress.repr()?);
            return Err(PyTypeError::new_err(message));
        }
        let cache = self.compiled.cache();
        let (mut failure, mut calls) = (None, 0);
        let result = py.outside_forks(|| {
            let finished = cache.precompute(max_sets, time, |done, known| {
                if until_first_token && cache.has_begun() {
                    return false;
                }
                // A report acquires the interpreter lock.
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
            });
            self.compiled.report_memory();
            finished
        });
        match failure {
            Some(error) => Err(error),
            None => result.map_err(|error| grammar_error(py, &error)),
        }
    }

    /// Return the bytes that :meth:`save` writes. Takes the same arguments, and raises the same exceptions.
    #[pyo3(signature = (texts=None, *, max_bytes=None, **unknown), text_signature = "($self, texts=None, *, max_bytes=None)")]
    fn to_bytes<'py>(
        slf: &Bound<'py, Self>,
        texts: Option<Bound<'py, PyAny>>,
        #[pyo3(from_py_with = optional_count)] max_bytes: Option<usize>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        refuse_keywords("CompiledGrammar.to_bytes", &["texts", "max_bytes"], unknown)?;
        let py = slf.py();
        let identity = PyBytes::new(py, &slf.get().identity(py)?);
        let options = PyDict::new(py);
        if let Some(max_bytes) = max_bytes {
            options.set_item("max_bytes", max_bytes)?;
        }
        let texts = texts.unwrap_or_else(|| PyTuple::empty(py).into_any());
        let module = py.import("grammask.learned_masks")?;
        let bytes = module.call_method("masks_along", (slf, identity, texts), Some(&options))?;
        Ok(bytes.cast_into::<PyBytes>()?)
    }

    /// Load the bytes that :meth:`to_bytes` returned. Raises the same exceptions as :meth:`load`.
    #[staticmethod]
    #[pyo3(signature = (saved, vocabulary, limits=None, **unknown), text_signature = "(saved, vocabulary, limits=None)")]
    fn from_bytes<'py>(
        py: Python<'py>,
        saved: &[u8],
        vocabulary: &Bound<'py, PyVocabulary>,
        limits: Option<&Bound<'py, PyLimits>>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, Self>> {
        refuse_keywords("CompiledGrammar.from_bytes", &["limits"], unknown)?;
        let shared = vocabulary.get().shared();
        let origin = py.outside_forks(|| mask_origin(saved, &shared));
        let MaskOrigin { identity, end } = origin.map_err(|error| grammar_error(py, &error))?;
        let compiled = if let Some(definition) = identity.strip_prefix(DEFINITION) {
            let limits = or_default(limits.map(Bound::get));
            let compiled = py.outside_forks(|| CompiledGrammar::from_bytes(definition, shared, limits));
            let compiled = compiled.map_err(|error| grammar_error(py, &error))?;
            Bound::new(py, Self::new(compiled, Vec::new(), None))?
        } else {
            let module = py.import("grammask.saved_sources")?;
            let opened = match identity.strip_prefix(SOURCE) {
                Some(source) => module
                    .call_method1("open_source", (PyBytes::new(py, source), limits))?
                    .extract::<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>>()?,
                None => None,
            };
            let Some((source, grammar)) = opened else {
                let message = "the file holds no grammar, or masks alone";
                let diagnostic = Diagnostic::error(Code::InvalidSavedGrammar, message)
                    .help("read masks with `Grammar.compile(masks=)`");
                return Err(grammar_error(py, &diagnostic.into()));
            };
            let end = end.name().unwrap_or_default();
            let compiled = grammar.call_method1("compile", (vocabulary, end, limits, false, source))?;
            compiled.cast_into::<Self>()?
        };
        let shared = &compiled.get().compiled;
        let masks = py.outside_forks(|| shared.add_masks(identity, saved));
        masks.map_err(|error| grammar_error(py, &error))?;
        Ok(compiled)
    }

    /// Write the grammar to a file, for :meth:`load` in other processes.
    ///
    /// The file has the grammar, when its texts end, and the masks at all bytes of texts, which are computed if they
    /// are not cached. It belongs to the vocabulary and the release of grammask, and is replaced as a whole, so
    /// processes can share it. A grammar with a lexer loads in tens of milliseconds, without the lark library; others
    /// are compiled from their source.
    ///
    /// Args:
    ///     path: The file.
    ///     texts: Typical texts, as str or bytes, the most important first. Each counts up to its first illegal byte.
    ///     max_bytes: About the maximum length of the masks; 16 MiB by default.
    ///
    /// Raises:
    ///     OSError: The file cannot be written.
    ///     LimitExceeded: A limit was exceeded.
    #[pyo3(signature = (path, texts=None, *, max_bytes=None, **unknown), text_signature = "($self, path, texts=None, *, max_bytes=None)")]
    fn save<'py>(
        slf: &Bound<'py, Self>,
        path: PathBuf,
        texts: Option<Bound<'py, PyAny>>,
        #[pyo3(from_py_with = optional_count)] max_bytes: Option<usize>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        refuse_keywords("CompiledGrammar.save", &["texts", "max_bytes"], unknown)?;
        let bytes = Self::to_bytes(slf, texts, max_bytes, None)?;
        let bytes = bytes.as_bytes();
        slf.py().outside_forks(|| write_whole(&path, bytes)).map_err(|error| file_error(error, &path))
    }

    /// Load a file that :meth:`save` wrote, for an equal vocabulary.
    ///
    /// Files are data: reading one does not unpickle, and a damaged one is an error. A forged file can hold another
    /// grammar or other masks.
    ///
    /// Args:
    ///     path: The file.
    ///     vocabulary: A vocabulary with the same tokens.
    ///     limits: Limits of reading the grammar, compiling it, and all later calls.
    ///
    /// Raises:
    ///     OSError: The file cannot be read.
    ///     GrammarSyntaxError: The file is not a saved grammar, is damaged, or has another version of the format, or is
    ///         of another release (code ``invalid-saved-grammar``).
    ///     GrammarSemanticError: The grammar was saved for another vocabulary (code ``other-vocabulary``).
    ///     LimitExceeded: A limit was exceeded.
    #[staticmethod]
    #[pyo3(signature = (path, vocabulary, limits=None, **unknown), text_signature = "(path, vocabulary, limits=None)")]
    fn load<'py>(
        py: Python<'py>,
        path: PathBuf,
        vocabulary: &Bound<'py, PyVocabulary>,
        limits: Option<&Bound<'py, PyLimits>>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, Self>> {
        refuse_keywords("CompiledGrammar.load", &["limits"], unknown)?;
        let saved = py.detach(|| fs::read(&path)).map_err(|error| file_error(error, &path))?;
        Self::from_bytes(py, &saved, vocabulary, limits, None)
    }

    /// Return the masks that are cached for the states along texts, for :meth:`add_masks`.
    ///
    /// Use :meth:`grammask.Grammar.save_masks`.
    ///
    /// Args:
    ///     identity: A hash of the grammar, which :meth:`add_masks` requires.
    ///     texts: The texts; each counts up to its first illegal byte.
    ///     max_bytes: About the maximum length of the result; earlier texts count first.
    ///
    /// Raises:
    ///     LimitExceeded: A limit was exceeded.
    fn masks_to_bytes<'py>(
        &self,
        py: Python<'py>,
        identity: &[u8],
        texts: Vec<PyBackedBytes>,
        #[pyo3(from_py_with = count)] max_bytes: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let texts: Vec<&[u8]> = texts.iter().map(|text| &**text).collect();
        let bytes = py.outside_forks(|| self.compiled.masks_to_bytes(identity, &texts, max_bytes));
        Ok(PyBytes::new(py, &bytes.map_err(|error| grammar_error(py, &error))?))
    }

    /// Cache the masks that :meth:`masks_to_bytes` returned; return the texts along which they are.
    ///
    /// Raises:
    ///     GrammarSyntaxError: They are damaged, or were saved for another grammar or by another release.
    ///     GrammarSemanticError: They were saved for another vocabulary.
    ///     LimitExceeded: A limit was exceeded.
    ///
    ///     After an exception nothing is cached.
    fn add_masks<'py>(
        &self,
        py: Python<'py>,
        identity: &[u8],
        saved: &[u8],
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let texts = py.outside_forks(|| self.compiled.add_masks(identity, saved));
        let texts = texts.map_err(|error| grammar_error(py, &error))?;
        Ok(texts.iter().map(|text| PyBytes::new(py, text)).collect())
    }

    /// Return the statistics of the caches.
    ///
    /// ``sets``: distinct Earley sets; ``recognizer_bytes``: their estimated memory; ``mask_hits`` and
    /// ``mask_misses``: lookups in the mask cache (simultaneous misses of several threads may count once); ``masks``:
    /// distinct cached masks; ``mask_bytes``: their memory; ``masks_composed``, ``masks_recalled`` and
    /// ``masks_walked``: masks that were computed from summaries, found by the equivalence cache, or computed by a
    /// walk along the token trie; ``summary_bytes`` and ``vocabulary_bytes``: memory of the summaries of this grammar,
    /// and of the summaries and masks that are cached with the vocabulary for all grammars; ``budget_masks``: distinct
    /// masks under scarce budgets; ``budget_bytes``: memory of the costs of states.
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
        let budgets = self.compiled.cache().budget_statistics();
        stats.set_item("budget_masks", budgets.masks)?;
        stats.set_item("budget_bytes", budgets.bytes)?;
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
