//! `LexedGrammar`: a grammar with a lexer, from plain lists that a front end in Python fills.

use grammask::lexing::{
    ConflictPolicy, IndentationSource, LexedDefinition, LexedGrammar, LexerKind, LexingRule, Pattern,
    PreparedGrammar, ProductionSource, TerminalRole, TerminalSource,
};
use grammask::{CompileOptions, CompiledGrammar};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::compiled::PyCompiledGrammar;
use crate::errors::grammar_error;
use crate::grammar::{end_mode, or_default};
use crate::limits::PyLimits;
use crate::vocabulary::PyVocabulary;

/// A checked lexed grammar, before it meets a vocabulary.
#[pyclass(name = "LexedGrammar", module = "grammask._grammask", frozen)]
pub(crate) struct PyLexedGrammar {
    grammar: LexedGrammar,
    source: String,
}

/// Name, kind of pattern, pattern, the spellings of a literal or nothing, priority, role.
type TerminalTuple = (String, String, String, String, i32, String);
/// Left side, right side, priority.
type ProductionTuple = (String, Vec<String>, i32);
/// Newline, indent, dedent, tab length, opening and closing terminals.
type IndentationTuple = (String, String, String, u32, Vec<String>, Vec<String>);

#[pymethods]
impl PyLexedGrammar {
    #[new]
    #[pyo3(signature = (terminals, productions, start, *, lexer="basic", rule="maximal_munch", prefer_shift=false, indentation=None, source="", limits=None))]
    #[expect(clippy::too_many_arguments, reason = "each is an option of its own in Python")]
    fn new(
        py: Python<'_>,
        terminals: Vec<TerminalTuple>,
        productions: Vec<ProductionTuple>,
        start: String,
        lexer: &str,
        rule: &str,
        prefer_shift: bool,
        indentation: Option<IndentationTuple>,
        source: &str,
        limits: Option<&PyLimits>,
    ) -> PyResult<Self> {
        let terminals = terminals.into_iter().map(|(name, kind, pattern, spellings, priority, role)| {
            let pattern = match &*kind {
                "literal" if spellings.is_empty() => Pattern::Literal(pattern.into_bytes()),
                "literal" => Pattern::Spelled { text: pattern.into_bytes(), spellings },
                "regex" => Pattern::Regex(pattern),
                "declared" => Pattern::Declared,
                _ => {
                    return Err(PyValueError::new_err(format!(
                        "{kind:?} is not one of 'literal', 'regex' and 'declared'"
                    )));
                }
            };
            let role = match &*role {
                "parsed" => TerminalRole::Parsed,
                "ignored" => TerminalRole::Ignored,
                "refused" => TerminalRole::Refused,
                _ => {
                    return Err(PyValueError::new_err(format!(
                        "{role:?} is not one of 'parsed', 'ignored' and 'refused'"
                    )));
                }
            };
            Ok(TerminalSource { name, pattern, priority, role })
        });
        let definition = LexedDefinition {
            terminals: terminals.collect::<PyResult<_>>()?,
            productions: productions
                .into_iter()
                .map(|(lhs, rhs, priority)| ProductionSource { lhs, rhs, priority })
                .collect(),
            start,
            lexer: match lexer {
                "basic" => LexerKind::Basic,
                "contextual" => LexerKind::Contextual,
                _ => {
                    let message = format!("lexer={lexer:?} is not one of 'basic' and 'contextual'");
                    return Err(PyValueError::new_err(message));
                }
            },
            rule: match rule {
                "maximal_munch" => LexingRule::MaximalMunch,
                "lark" => LexingRule::Lark,
                _ => {
                    let message = format!("rule={rule:?} is not one of 'maximal_munch' and 'lark'");
                    return Err(PyValueError::new_err(message));
                }
            },
            conflicts: if prefer_shift { ConflictPolicy::PreferShift } else { ConflictPolicy::Refuse },
            indentation: indentation.map(|(newline, indent, dedent, tab_length, open, close)| {
                IndentationSource { newline, indent, dedent, tab_length, open, close }
            }),
        };
        let limits = or_default(limits);
        let grammar = py
            .detach(|| LexedGrammar::new(&definition, &limits))
            .map_err(|error| grammar_error(py, &error))?;
        Ok(Self { grammar, source: source.to_owned() })
    }

    #[getter]
    fn source(&self) -> &str {
        &self.source
    }

    /// There are none: what is not exact is refused.
    fn warnings(&self) -> Vec<Py<PyAny>> {
        Vec::new()
    }

    #[getter]
    fn relaxations(&self) -> Vec<Py<PyAny>> {
        Vec::new()
    }

    /// Makes the tables, which finds conflicts; there are no warnings.
    #[pyo3(signature = (limits=None))]
    fn check(&self, py: Python<'_>, limits: Option<&PyLimits>) -> PyResult<Vec<Py<PyAny>>> {
        let limits = or_default(limits);
        let grammar = self.grammar.clone();
        let prepared = py.detach(|| PreparedGrammar::new(grammar, &limits).map(drop));
        prepared.map_err(|error| grammar_error(py, &error))?;
        Ok(Vec::new())
    }

    /// The terminals and productions, for people.
    #[pyo3(signature = (limits=None))]
    fn stages(&self, limits: Option<&PyLimits>) -> Vec<(&'static str, String)> {
        let _ = limits;
        let terminals = self.grammar.terminals().iter().map(|terminal| {
            let role = match terminal.role {
                TerminalRole::Parsed => "",
                TerminalRole::Ignored => " (ignored)",
                TerminalRole::Refused => " (refused)",
            };
            format!("{}{role}\n", terminal.name)
        });
        let productions = self.grammar.productions().iter();
        let productions = productions
            .map(|production| format!("{}\n", self.grammar.production_text(production, None)))
            .collect();
        vec![("terminals", terminals.collect()), ("productions", productions)]
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
        let grammar = self.grammar.clone();
        let compiled = py
            .detach(|| CompiledGrammar::from_lexed(grammar, vocabulary, options))
            .map_err(|error| grammar_error(py, &error))?;
        Ok(PyCompiledGrammar::new(compiled, Vec::new()))
    }
}
