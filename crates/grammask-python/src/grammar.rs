//! `Grammar`: a grammar of a front end, independent of a vocabulary.

use std::sync::Arc;

use grammask::ambiguity::WordAlphabet;
use grammask::grammar::{Diagnostic, Grammar, GrammarError};
use grammask::{
    CompileOptions, CompiledGrammar, EmbeddedGrammar, EndlessRules, Limits, diagrams, frontends, lowering,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::allocator::PurgeOnDrop;
use crate::ambiguity::{SearchTuple, search_texts};
use crate::compiled::PyCompiledGrammar;
use crate::diagrams::railroad_diagrams;
use crate::encoding::character_encoding;
use crate::errors::{diagnostics, grammar_error};
use crate::forks::OutsideForks;
use crate::limits::{PyLimits, or_default};
use crate::options::named;
use crate::vocabulary::PyVocabulary;

/// A grammar in the representation of the core. Use :class:`grammask.Grammar`.
#[pyclass(name = "Grammar", module = "grammask._grammask", frozen)]
pub(crate) struct PyGrammar {
    grammar: Arc<Grammar>,
    /// The grammars that it embeds.
    embedded: Vec<EmbeddedGrammar>,
    warnings: Vec<Diagnostic>,
    relaxations: Vec<Diagnostic>,
}

impl PyGrammar {
    pub(crate) fn new(grammar: Grammar, warnings: Vec<Diagnostic>) -> Self {
        Self::embedding(grammar, Vec::new(), warnings)
    }

    /// As `new`, with the grammars that it embeds.
    pub(crate) fn embedding(
        grammar: Grammar,
        embedded: Vec<EmbeddedGrammar>,
        warnings: Vec<Diagnostic>,
    ) -> Self {
        Self { grammar: Arc::new(grammar), embedded, warnings, relaxations: Vec::new() }
    }

    /// The grammars that it embeds.
    pub(crate) fn embedded(&self) -> &[EmbeddedGrammar] {
        &self.embedded
    }

    /// The grammar in the representation of the core.
    pub(crate) fn shared(&self) -> &Arc<Grammar> {
        &self.grammar
    }

    /// The warnings and the relaxations of the front end.
    pub(crate) fn findings(&self) -> (&[Diagnostic], &[Diagnostic]) {
        (&self.warnings, &self.relaxations)
    }

    /// Sets the constraints of a schema that the grammar does not enforce.
    pub(crate) fn with_relaxations(mut self, relaxations: Vec<Diagnostic>) -> Self {
        self.relaxations = relaxations;
        self
    }
}

#[pymethods]
impl PyGrammar {
    /// Read a grammar in KBNF.
    #[staticmethod]
    #[pyo3(signature = (text, start, limits=None))]
    fn from_kbnf(py: Python<'_>, text: &[u8], start: &str, limits: Option<&PyLimits>) -> PyResult<Self> {
        let limits = or_default(limits);
        let (grammar, warnings) = py
            .request(&limits, || frontends::kbnf::grammar(text, start, &limits))
            .map_err(|error| grammar_error(py, &error))?;
        Ok(Self::new(grammar, warnings))
    }

    /// Read a grammar in GBNF; ``dialect`` is ``"llama.cpp"`` or ``"xgrammar"``.
    #[staticmethod]
    #[pyo3(signature = (text, start, dialect, limits=None))]
    fn from_gbnf(
        py: Python<'_>,
        text: &str,
        start: &str,
        dialect: &str,
        limits: Option<&PyLimits>,
    ) -> PyResult<Self> {
        let dialect = match dialect {
            "llama.cpp" => frontends::gbnf::Dialect::LlamaCpp,
            "xgrammar" => frontends::gbnf::Dialect::XGrammar,
            _ => return Err(PyValueError::new_err(format!("there is no dialect {dialect:?}"))),
        };
        let limits = or_default(limits);
        let (grammar, warnings) = py
            .request(&limits, || frontends::gbnf::grammar(text, start, dialect, &limits))
            .map_err(|error| grammar_error(py, &error))?;
        Ok(Self::new(grammar, warnings))
    }

    /// Make the grammar of a regular expression; ``syntax`` is ``"rust"`` or ``"ecma"``.
    #[staticmethod]
    #[pyo3(signature = (pattern, syntax, limits=None))]
    fn from_regex(py: Python<'_>, pattern: &str, syntax: &str, limits: Option<&PyLimits>) -> PyResult<Self> {
        let limits = or_default(limits);
        let grammar = match syntax {
            "rust" => py.request(&limits, || frontends::regex_grammar::grammar(pattern, &limits)),
            "ecma" => py.request(&limits, || frontends::json_schema::pattern_grammar(pattern, &limits)),
            _ => {
                let message = format!("syntax is 'rust' or 'ecma', not {syntax:?}");
                return Err(PyValueError::new_err(message));
            }
        };
        let warnings =
            if syntax == "rust" { frontends::regex_grammar::warnings(pattern) } else { Vec::new() };
        Ok(Self::new(grammar.map_err(|error| grammar_error(py, &error))?, warnings))
    }

    /// Make the grammar of a list of texts.
    #[staticmethod]
    #[pyo3(signature = (texts, limits=None))]
    fn from_choices(py: Python<'_>, texts: Vec<PyBackedBytes>, limits: Option<&PyLimits>) -> PyResult<Self> {
        let limits = or_default(limits);
        let grammar = py.request(&limits, || frontends::choices::grammar(&texts, &limits));
        Ok(Self::new(grammar.map_err(|error| grammar_error(py, &error))?, Vec::new()))
    }

    /// Return the grammar of the texts that decode to a text of this one.
    ///
    /// Args:
    ///     encoding: ``"json-string"``, ``"xml-text"``, ``"xml-attribute"``, ``"python-string"``, ``"line-prefix"`` or
    ///         ``"indented-block"``.
    ///     spellings: ``"any"`` or ``"canonical"``.
    ///     quote: The delimiter of an attribute or a Python string.
    ///     prefix: The text after each line feed, for ``"line-prefix"``; that of lines of an ``"indented-block"``.
    ///     limits: Limits of the automata of the encoded terminals.
    ///
    /// Raises:
    ///     ValueError: There is no such encoding or option.
    ///     GrammarError: A terminal names tokens, or a limit was exceeded.
    #[pyo3(signature = (encoding, spellings, quote, prefix, limits=None))]
    fn encoded(
        &self,
        py: Python<'_>,
        encoding: &str,
        spellings: &str,
        quote: &str,
        prefix: &str,
        limits: Option<&PyLimits>,
    ) -> PyResult<Self> {
        let encoding = character_encoding(encoding, spellings, quote, prefix)?;
        let limits = or_default(limits);
        let (grammar, embedded) = py
            .request(&limits, || grammask::encoded(&self.grammar, &self.embedded, &encoding, &limits))
            .map_err(|error| grammar_error(py, &error))?;
        Ok(Self::embedding(grammar, embedded, self.warnings.clone())
            .with_relaxations(self.relaxations.clone()))
    }

    /// The source text.
    #[getter]
    fn source(&self) -> &str {
        self.grammar.source()
    }

    /// The names of the rules, in the order of their definition; a composition adds numbers to equal names.
    #[getter]
    fn rule_names(&self) -> Vec<&str> {
        let rules = self.grammar.nonterminals().iter().filter(|rule| rule.defined);
        rules.map(|rule| &*rule.name).collect()
    }

    /// Draw the rules as railroad diagrams: pairs of a rule and an SVG element.
    fn railroad(&self, py: Python<'_>) -> Vec<(String, String)> {
        py.outside_forks(|| railroad_diagrams(&self.grammar))
    }

    /// Draw the automaton of a terminal or of a rule whose language is regular, as an SVG element.
    ///
    /// Raises:
    ///     ValueError: There is no such terminal or rule, it has no automaton, or the automaton is too large.
    fn automaton(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let drawn = py.outside_forks(|| diagrams::automaton(&self.grammar, name));
        drawn.map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
    }

    /// Search for the shortest ambiguous text; see :meth:`grammask.Grammar.ambiguity`.
    ///
    /// Returns:
    ///     The ambiguity (rule, text, and the lines of two trees as depth and label) or None, and the length up to
    ///     which all words were compared, or None if parts of the grammar are not searched.
    #[pyo3(signature = (limits=None))]
    fn ambiguity(&self, py: Python<'_>, limits: Option<&PyLimits>) -> SearchTuple {
        let limits = or_default(limits);
        py.request(&limits, || search_texts(&self.grammar, WordAlphabet::Bytes, &limits))
    }

    /// Return an empty list, for the interface of :class:`LexedGrammar`.
    #[pyo3(signature = (limits=None))]
    fn conflicts(&self, limits: Option<&PyLimits>) -> Vec<Py<PyAny>> {
        let _ = limits;
        Vec::new()
    }

    /// Return the warnings of the front end.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        diagnostics(py, &self.warnings, self.grammar.source())
    }

    /// The constraints of a schema that the grammar does not enforce, with ``on_unsupported="relax"``.
    #[getter]
    fn relaxations(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        diagnostics(py, &self.relaxations, self.grammar.source())
    }

    /// Compile the grammar for a vocabulary; see :meth:`grammask.Grammar.compile`.
    ///
    /// ``source`` is the source of the grammar, for :meth:`CompiledGrammar.save`.
    #[pyo3(signature = (vocabulary, end, limits=None, finite=false, source=None))]
    fn compile(
        &self,
        py: Python<'_>,
        vocabulary: &PyVocabulary,
        end: &str,
        limits: Option<&PyLimits>,
        finite: bool,
        source: Option<Py<PyAny>>,
    ) -> PyResult<PyCompiledGrammar> {
        let _purge = PurgeOnDrop;
        let mut options = CompileOptions::default();
        options.end = named(end)?;
        options.limits = or_default(limits);
        options.endless = if finite { EndlessRules::Refuse } else { EndlessRules::Allow };
        let vocabulary = vocabulary.shared();
        let compiled = py
            .outside_forks(|| {
                CompiledGrammar::with_embedded(&self.grammar, &self.embedded, vocabulary, options)
            })
            .map_err(|error| grammar_error(py, &error))?;
        Ok(PyCompiledGrammar::new(compiled, self.relaxations.clone(), source))
    }

    /// Lower the grammar; return the warnings of the passes.
    ///
    /// Raises:
    ///     GrammarError: The grammar has no texts, or a limit was exceeded.
    #[pyo3(signature = (limits=None))]
    fn check(&self, py: Python<'_>, limits: Option<&PyLimits>) -> PyResult<Vec<Py<PyAny>>> {
        let limits = or_default(limits);
        let lowered = py.request(&limits, || lowering::lower(&self.grammar, &limits));
        let lowered = lowered.map_err(|error| grammar_error(py, &error))?;
        diagnostics(py, &lowered.warnings, self.grammar.source())
    }

    /// Return the grammar before and after each pass of lowering, as pairs of pass and text.
    #[pyo3(signature = (limits=None))]
    fn stages(&self, py: Python<'_>, limits: Option<&PyLimits>) -> PyResult<Vec<(&'static str, String)>> {
        let mut stages = vec![("ir", self.grammar.to_string())];
        let result = lowering::lower_watched(&self.grammar, &or_default(limits), &mut |pass, stage| {
            stages.push((pass, stage.to_string()));
        });
        result.map_err(|error: GrammarError| grammar_error(py, &error))?;
        Ok(stages)
    }
}

/// Return the syntax tree of a grammar in KBNF, as far as it can be parsed, and all diagnostics.
#[pyfunction]
pub(crate) fn kbnf_syntax_tree(py: Python<'_>, text: &[u8]) -> PyResult<(String, Vec<Py<PyAny>>)> {
    let parsed = frontends::kbnf::parse(text, &Limits::default());
    Ok((parsed.ast.to_string(), diagnostics(py, &parsed.diagnostics, parsed.ast.source())?))
}

/// Translate a pattern from the dialect of ``xgrammar.Grammar.from_regex`` to the syntax of the crate ``regex``.
#[pyfunction]
pub(crate) fn xgrammar_expression(pattern: &str) -> String {
    frontends::gbnf::rust_expression(pattern, frontends::gbnf::NoBreakSpace::IsSpace)
}

/// Quote bytes as in messages: valid UTF-8 as text, other bytes as byte escapes of KBNF.
#[pyfunction]
pub(crate) fn quote_bytes(bytes: &[u8]) -> String {
    grammask::grammar::quote_bytes(bytes)
}
