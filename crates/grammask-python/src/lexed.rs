//! `LexedGrammar`: a grammar with a lexer, from plain lists.

use std::sync::Arc;

use grammask::grammar::GrammarError;
use grammask::lexing::{
    ConflictPolicy, IndentationSource, LexedDefinition, LexedGrammar, LexerKind, LexingRule, Pattern,
    PreparedGrammar, ProductionSource, TerminalSource,
};
use grammask::{CompileOptions, CompiledGrammar};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::compiled::PyCompiledGrammar;
use crate::errors::grammar_error;
use crate::grammar::{end_mode, or_default};
use crate::limits::PyLimits;
use crate::vocabulary::PyVocabulary;

/// A terminal as a tuple: name, kind of pattern, pattern, priority, whether it is ignored.
type TerminalTuple = (String, String, String, i32, bool);
/// A production as a tuple: left side, right side, priority.
type ProductionTuple = (String, Vec<String>, i32);
/// Indentation as a tuple: newline, indent, dedent, columns of a tab, opening and closing brackets.
type IndentationTuple = (String, String, String, u32, Vec<String>, Vec<String>);

/// A lexed grammar in the engine's own representation.
#[pyclass(name = "LexedGrammar", module = "grammask._grammask", frozen)]
pub(crate) struct PyLexedGrammar {
    grammar: Arc<LexedGrammar>,
    source: String,
}

#[pymethods]
impl PyLexedGrammar {
    #[new]
    #[pyo3(signature = (
        terminals, productions, *, start, lexer, rule, conflicts, indentation=None, source="", limits=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        terminals: Vec<TerminalTuple>,
        productions: Vec<ProductionTuple>,
        start: String,
        lexer: &str,
        rule: &str,
        conflicts: &str,
        indentation: Option<IndentationTuple>,
        source: &str,
        limits: Option<&PyLimits>,
    ) -> PyResult<Self> {
        let definition = LexedDefinition {
            terminals: terminals.into_iter().map(terminal).collect::<PyResult<_>>()?,
            productions: productions
                .into_iter()
                .map(|(lhs, rhs, priority)| ProductionSource { lhs, rhs, priority })
                .collect(),
            start,
            lexer: choose("lexer", lexer, LEXERS)?,
            rule: choose("rule", rule, RULES)?,
            conflicts: choose("conflicts", conflicts, CONFLICTS)?,
            indentation: indentation.map(|(newline, indent, dedent, tab_length, open, close)| {
                IndentationSource { newline, indent, dedent, tab_length, open, close }
            }),
        };
        let limits = or_default(limits);
        let grammar = py
            .detach(|| LexedGrammar::new(&definition, &limits))
            .map_err(|error| grammar_error(py, &error))?;
        Ok(Self { grammar: Arc::new(grammar), source: source.to_owned() })
    }

    #[getter]
    fn source(&self) -> &str {
        &self.source
    }

    fn warnings(&self) -> Vec<Py<PyAny>> {
        Vec::new()
    }

    #[getter]
    fn relaxations(&self) -> Vec<Py<PyAny>> {
        Vec::new()
    }

    /// Texts of lexed grammars are finite, so `finite` asks for nothing.
    #[pyo3(signature = (vocabulary, end, limits=None, finite=false))]
    fn compile(
        &self,
        py: Python<'_>,
        vocabulary: &PyVocabulary,
        end: &str,
        limits: Option<&PyLimits>,
        finite: bool,
    ) -> PyResult<PyCompiledGrammar> {
        let _ = finite;
        let mut options = CompileOptions::default();
        options.end = end_mode(end)?;
        options.limits = or_default(limits);
        let vocabulary = vocabulary.shared();
        let compiled = py
            .detach(|| CompiledGrammar::from_lexed((*self.grammar).clone(), vocabulary, options))
            .map_err(|error| grammar_error(py, &error))?;
        Ok(PyCompiledGrammar::new(compiled, Vec::new()))
    }

    /// Makes the tables, which finds conflicts; there are no warnings.
    #[pyo3(signature = (limits=None))]
    fn check(&self, py: Python<'_>, limits: Option<&PyLimits>) -> PyResult<Vec<Py<PyAny>>> {
        let limits = or_default(limits);
        let prepared: Result<_, GrammarError> =
            py.detach(|| PreparedGrammar::new((*self.grammar).clone(), &limits));
        prepared.map_err(|error| grammar_error(py, &error))?;
        Ok(Vec::new())
    }

    /// The terminals and productions, for people.
    #[pyo3(signature = (limits=None))]
    fn stages(&self, limits: Option<&PyLimits>) -> Vec<(&'static str, String)> {
        let _ = limits;
        let terminals = self.grammar.terminals().iter().map(|terminal| {
            let ignored = if terminal.is_ignored { " (ignored)" } else { "" };
            format!("{}{ignored}\n", terminal.name)
        });
        let productions = self.grammar.productions().iter();
        let productions = productions
            .map(|production| format!("{}\n", self.grammar.production_text(production, None)))
            .collect();
        vec![("terminals", terminals.collect()), ("productions", productions)]
    }
}

const LEXERS: &[(&str, LexerKind)] = &[("basic", LexerKind::Basic), ("contextual", LexerKind::Contextual)];
const RULES: &[(&str, LexingRule)] =
    &[("maximal_munch", LexingRule::MaximalMunch), ("lark", LexingRule::Lark)];
const CONFLICTS: &[(&str, ConflictPolicy)] =
    &[("refuse", ConflictPolicy::Refuse), ("prefer_shift", ConflictPolicy::PreferShift)];

fn choose<T: Copy>(option: &str, value: &str, choices: &[(&str, T)]) -> PyResult<T> {
    choices.iter().find(|(name, _)| *name == value).map(|&(_, choice)| choice).ok_or_else(|| {
        let names: Vec<_> = choices.iter().map(|(name, _)| format!("'{name}'")).collect();
        PyValueError::new_err(format!("{option}={value:?} is not one of {}", names.join(", ")))
    })
}

fn terminal((name, kind, pattern, priority, is_ignored): TerminalTuple) -> PyResult<TerminalSource> {
    let pattern = match &*kind {
        "literal" => Pattern::Literal(pattern.into_bytes()),
        "regex" => Pattern::Regex(pattern),
        "declared" => Pattern::Declared,
        _ => return Err(PyValueError::new_err(format!("{kind:?} is no kind of pattern"))),
    };
    Ok(TerminalSource { name, pattern, priority, is_ignored })
}
