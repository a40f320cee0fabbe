//! `LexedGrammar`: a grammar with a lexer, from plain lists of a front end in Python; and the report on its
//! streamlining.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use grammask::ambiguity::WordAlphabet;
use grammask::frontends::directives::Directive;
use grammask::frontends::{gbnf, kbnf};
use grammask::grammar::{Diagnostic, EmbeddedTexts, Grammar, GrammarError};
use grammask::lexing::{
    ConflictPolicy, EntryCounts, IndentationMeasure, IndentationSource, InlinePatterns, LalrTable,
    LexedDefinition, LexedGrammar, LexedOptions, LexerKind, LexingRule, PairCounts, ParserKind,
    PatternSource, PreparedGrammar, ProductionSource, STREAMLINING_STEPS, TerminalGrammar, TerminalPattern,
    TerminalRole, TerminalSource, definition_from_rules,
};
use grammask::{CompileOptions, CompiledGrammar, EmbeddedGrammar, Limits, diagrams};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::allocator::PurgeOnDrop;
use crate::ambiguity::{SearchTuple, search_texts};
use crate::compiled::PyCompiledGrammar;
use crate::composition::without_span;
use crate::diagrams::railroad_diagrams;
use crate::encoding::character_encoding;
use crate::errors::{diagnostics, grammar_error};
use crate::forks::OutsideForks;
use crate::grammar::PyGrammar;
use crate::limits::{PyLimits, or_default};
use crate::options::named;
use crate::vocabulary::PyVocabulary;

/// A grammar with a lexer, from plain lists that a front end fills.
///
/// Args:
///     terminals: Name, kind (``"literal"``, ``"regex"`` in the syntax of the Rust crate ``regex``, ``"automaton"``
///         as :meth:`MatchLanguage.to_bytes` serialises it, or ``"declared"`` for terminals that indentation
///         generates), pattern, other spellings of a literal as a regular expression (or ``""``), priority, and role
///         (``"parsed"``, ``"reserved"``: parsed, and matched everywhere, ``"ignored"``, ``"refused"``: matched
///         everywhere, and makes the text invalid, or ``"violation"``: refused as matches of the next terminal).
///         ``rule`` determines the meaning of their order.
///     productions: Left side, right side without operators, priority among rules that could end at one position.
///     start: The start symbol.
///     lexer: ``"basic"`` matches all terminals everywhere, ``"contextual"`` those for which the parser has an
///         action, ``"dynamic"`` and ``"dynamic_complete"`` each terminal separately.
///     rule: ``"maximal_munch"`` selects the longest match, then the highest priority, then literals, then the first
///         terminal; ``"lark"`` selects the first terminal that matches, by priority and then in the given order.
///     parser: ``"lalr"``, or ``"earley"`` for all grammars, which excludes contextual lexers.
///     prefer_shift: Resolve shift/reduce conflicts in favour of shift, as lark does; otherwise they are errors.
///     indentation: The terminals for newlines, and for beginnings and ends of blocks; the columns of a tab, or
///         ``None`` for lines as Python's tokenizer measures them; the terminals that open and that close brackets;
///         whether white space before the first lexeme is part of a newline.
///     lexical_rules: Nonterminals that the lexer reads as it reads terminals: without ignored text between the symbols
///         of their productions. Other nonterminals may occur in them between two terminals.
///     ignored_rules: Further such nonterminals, whose texts are allowed between all lexemes; for the basic lexer.
///     beginning: Bytes of which each text is the continuation.
///     descriptions: What messages call terminals and rules, as pairs with their names.
///     grammars: The grammars of declared terminals, by name.
///     known_empty: Whether the empty text is one, for a grammar that is known to compile and has other texts. As a
///         part of others, its tables are made when a text first reaches it.
///     source: The source text, for display.
///
/// Raises:
///     GrammarError: Undefined names, invalid patterns, an empty language. On compiling: conflicts, and terminals or
///         layouts that the rules need but no text has.
#[pyclass(name = "LexedGrammar", module = "grammask._grammask", frozen)]
pub(crate) struct PyLexedGrammar {
    grammar: LexedGrammar,
    source: String,
    /// The rules as the author wrote them, of a grammar in KBNF or GBNF.
    rules: Option<Arc<Grammar>>,
    warnings: Vec<Diagnostic>,
    /// The constraints of schemas of terminals that are not enforced.
    relaxations: Vec<Diagnostic>,
    /// Whether the empty text is one, if the grammar is known to compile.
    known_empty: Option<bool>,
    /// The grammar as a part of others, once it was one.
    embedded: OnceLock<EmbeddedGrammar>,
}

/// The result of a front end that reads directives.
struct GrammarWithDirectives {
    rules: Grammar,
    directives: Vec<Directive>,
    warnings: Vec<Diagnostic>,
}

/// The grammars of declared terminals by name, with their findings.
#[derive(Default)]
struct NamedGrammars {
    grammars: Vec<(String, Arc<Grammar>)>,
    warnings: Vec<Diagnostic>,
    relaxations: Vec<Diagnostic>,
}

impl NamedGrammars {
    fn of(grammars: Vec<(String, PyRef<'_, PyGrammar>)>) -> Self {
        let mut named = Self::default();
        for (name, grammar) in grammars {
            let (warnings, relaxations) = grammar.findings();
            named.warnings.extend(warnings.iter().map(without_span));
            named.relaxations.extend(relaxations.iter().map(without_span));
            named.grammars.push((name, grammar.shared().clone()));
        }
        named
    }

    /// Defines the terminals of a definition.
    fn define(&self, definition: &mut LexedDefinition, limits: &Limits) -> Result<(), GrammarError> {
        let terminals: Vec<TerminalGrammar<'_>> =
            self.grammars.iter().map(|(name, grammar)| TerminalGrammar { name, grammar }).collect();
        definition.define_terminals(&terminals, limits)
    }
}

impl PyLexedGrammar {
    /// The lexed grammar of rules with directives.
    fn from_rules(
        parsed: GrammarWithDirectives,
        inline_patterns: InlinePatterns,
        lexer: LexerKind,
        parser: ParserKind,
        others: NamedGrammars,
        limits: &Limits,
    ) -> Result<Self, GrammarError> {
        let GrammarWithDirectives { rules, directives, mut warnings } = parsed;
        let options = LexedOptions { directives: &directives, inline_patterns, lexer, parser };
        let (mut definition, more_warnings) = definition_from_rules(&rules, &options, limits)?;
        others.define(&mut definition, limits)?;
        warnings.extend(more_warnings);
        let has_others = !others.grammars.is_empty();
        warnings.extend(others.warnings);
        let grammar = LexedGrammar::new(&definition, limits)?;
        let source = rules.source().to_string();
        // The rules of the author do not have those of the terminals.
        let rules = (!has_others).then(|| Arc::new(rules));
        let relaxations = others.relaxations;
        Ok(Self {
            grammar,
            source,
            rules,
            warnings,
            relaxations,
            known_empty: None,
            embedded: OnceLock::new(),
        })
    }

    /// The grammar as a part of others. Its tables are made by the first call, under the limits of that, unless the
    /// grammar is known to compile: then by the first text that reaches a part.
    pub(crate) fn embedded(&self, limits: &Limits) -> Result<EmbeddedGrammar, GrammarError> {
        if let Some(embedded) = self.embedded.get() {
            return Ok(embedded.clone());
        }
        let grammar = self.grammar.clone();
        let embedded = match self.known_empty {
            Some(empty) => {
                EmbeddedGrammar::deferred(grammar, EmbeddedTexts { empty, nonempty: true }, limits)
            }
            None => EmbeddedGrammar::lexed(grammar, limits)?,
        };
        Ok(self.embedded.get_or_init(|| embedded).clone())
    }
}

/// Name, kind of pattern, pattern, spellings of a literal (or empty), priority, role.
type TerminalTuple = (String, String, PatternArgument, String, i32, String);

/// A literal or regular expression, or a serialised automaton.
#[derive(FromPyObject)]
enum PatternArgument {
    Text(String),
    Automaton(Vec<u8>),
}

impl From<PatternArgument> for PatternSource {
    fn from(argument: PatternArgument) -> Self {
        match argument {
            PatternArgument::Text(text) => Self::Text(text),
            PatternArgument::Automaton(bytes) => Self::Automaton(bytes),
        }
    }
}

/// Left-hand side, right-hand side, priority.
type ProductionTuple = (String, Vec<String>, i32);
/// Newline, indent, dedent, tab length or `None` for Python's measure, opening and closing terminals, whether texts begin a line.
type IndentationTuple = (String, String, String, Option<u32>, Vec<String>, Vec<String>, bool);

#[pymethods]
impl PyLexedGrammar {
    #[new]
    #[pyo3(signature = (terminals, productions, start, *, lexer="basic", rule="maximal_munch", parser="lalr", prefer_shift=false, indentation=None, lexical_rules=Vec::new(), ignored_rules=Vec::new(), beginning=Vec::new(), descriptions=Vec::new(), grammars=Vec::new(), known_empty=None, source="", limits=None))]
    #[expect(clippy::too_many_arguments, reason = "each is an option of its own in Python")]
    fn new(
        py: Python<'_>,
        terminals: Vec<TerminalTuple>,
        productions: Vec<ProductionTuple>,
        start: String,
        lexer: &str,
        rule: &str,
        parser: &str,
        prefer_shift: bool,
        indentation: Option<IndentationTuple>,
        lexical_rules: Vec<String>,
        ignored_rules: Vec<String>,
        beginning: Vec<u8>,
        descriptions: Vec<(String, String)>,
        grammars: Vec<(String, PyRef<'_, PyGrammar>)>,
        known_empty: Option<bool>,
        source: &str,
        limits: Option<&PyLimits>,
    ) -> PyResult<Self> {
        let terminals = terminals.into_iter().map(|(name, kind, pattern, spellings, priority, role)| {
            let Some(pattern) = TerminalPattern::of_kind(&kind, pattern.into(), spellings) else {
                return Err(PyValueError::new_err(format!(
                    "{kind:?} is not one of 'literal', 'regex', 'automaton' and 'declared', or its pattern is of another \
                     type"
                )));
            };
            let role: TerminalRole = named(&role)?;
            Ok(TerminalSource { name, pattern, priority, role })
        });
        let mut definition = LexedDefinition {
            terminals: terminals.collect::<PyResult<_>>()?,
            productions: productions
                .into_iter()
                .map(|(lhs, rhs, priority)| ProductionSource { lhs, rhs, priority })
                .collect(),
            start,
            lexical_rules,
            ignored_rules,
            lexer: named(lexer)?,
            rule: match rule {
                "maximal_munch" => LexingRule::MaximalMunch,
                "lark" => LexingRule::Lark,
                _ => {
                    let message = format!("rule={rule:?} is not one of 'maximal_munch' and 'lark'");
                    return Err(PyValueError::new_err(message));
                }
            },
            parser: named(parser)?,
            conflicts: if prefer_shift { ConflictPolicy::PreferShift } else { ConflictPolicy::Refuse },
            indentation: indentation.map(
                |(newline, indent, dedent, tab_length, open, close, begins_line)| IndentationSource {
                    newline,
                    indent,
                    dedent,
                    measure: IndentationMeasure::from(tab_length),
                    open,
                    close,
                    begins_line,
                },
            ),
            beginning,
            encodings: Vec::new(),
            descriptions: descriptions.into_iter().collect(),
        };
        let limits = or_default(limits);
        let others = NamedGrammars::of(grammars);
        let grammar = py
            .request(&limits, || {
                others.define(&mut definition, &limits)?;
                LexedGrammar::new(&definition, &limits)
            })
            .map_err(|error| grammar_error(py, &error))?;
        Ok(Self {
            grammar,
            source: source.to_owned(),
            rules: None,
            warnings: others.warnings,
            relaxations: others.relaxations,
            known_empty,
            embedded: OnceLock::new(),
        })
    }

    /// Read a grammar in KBNF with directives; ``grammars`` has those of declared terminals by name.
    #[staticmethod]
    #[pyo3(signature = (text, start, lexer, parser, limits=None, grammars=Vec::new()))]
    fn from_kbnf(
        py: Python<'_>,
        text: &[u8],
        start: &str,
        lexer: &str,
        parser: &str,
        limits: Option<&PyLimits>,
        grammars: Vec<(String, PyRef<'_, PyGrammar>)>,
    ) -> PyResult<Self> {
        let limits = or_default(limits);
        let others = NamedGrammars::of(grammars);
        let (lexer, parser) = (named(lexer)?, named(parser)?);
        py.request(&limits, || {
            let (rules, directives, warnings) = kbnf::grammar_with_directives(text, start, &limits)?;
            let parsed = GrammarWithDirectives { rules, directives, warnings };
            Self::from_rules(parsed, InlinePatterns::Accept, lexer, parser, others, &limits)
        })
        .map_err(|error| grammar_error(py, &error))
    }

    /// Read a grammar in llama.cpp's GBNF with directives; ``grammars`` has those of declared terminals by name.
    #[staticmethod]
    #[pyo3(signature = (text, start, lexer, parser, limits=None, grammars=Vec::new()))]
    fn from_gbnf(
        py: Python<'_>,
        text: &str,
        start: &str,
        lexer: &str,
        parser: &str,
        limits: Option<&PyLimits>,
        grammars: Vec<(String, PyRef<'_, PyGrammar>)>,
    ) -> PyResult<Self> {
        let limits = or_default(limits);
        let others = NamedGrammars::of(grammars);
        let (lexer, parser) = (named(lexer)?, named(parser)?);
        py.request(&limits, || {
            let (rules, directives, warnings) = gbnf::grammar_with_directives(text, start, &limits)?;
            let parsed = GrammarWithDirectives { rules, directives, warnings };
            Self::from_rules(parsed, InlinePatterns::Refuse, lexer, parser, others, &limits)
        })
        .map_err(|error| grammar_error(py, &error))
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
    ///     GrammarError: A terminal cuts characters or has no spelling, or a limit was exceeded.
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
        let grammar = py
            .request(&limits, || self.grammar.encoded(&encoding, &limits))
            .map_err(|error| grammar_error(py, &error))?;
        let (source, rules, warnings) = (self.source.clone(), self.rules.clone(), self.warnings.clone());
        let relaxations = self.relaxations.clone();
        let known_empty = self.known_empty.filter(|_| encoding.spells_all_characters());
        Ok(Self { grammar, source, rules, warnings, relaxations, known_empty, embedded: OnceLock::new() })
    }

    /// The source text.
    #[getter]
    fn source(&self) -> &str {
        &self.source
    }

    /// Draw the rules as railroad diagrams: pairs of a rule and an SVG element.
    fn railroad(&self, py: Python<'_>) -> Vec<(String, String)> {
        py.outside_forks(|| match &self.rules {
            Some(rules) => railroad_diagrams(rules),
            None => railroad_diagrams(&self.grammar.as_rules()),
        })
    }

    /// Draw the automaton of a terminal as an SVG element.
    ///
    /// Raises:
    ///     ValueError: There is no such terminal, it has no automaton, or the automaton is too large.
    fn automaton(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let rules = self.grammar.as_rules();
        let named =
            self.grammar.terminal(name).map(|terminal| rules.terminals()[terminal.index()].label.clone());
        let drawn = py.outside_forks(|| diagrams::automaton(&rules, named.as_deref().unwrap_or(name)));
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
        py.request(&limits, || search_texts(&self.grammar.as_rules(), WordAlphabet::Terminals, &limits))
    }

    /// Return the conflicts of the LALR(1) tables that the parser resolves, as warnings.
    ///
    /// Raises:
    ///     GrammarError: Conflicts that are not resolved; a limit was exceeded.
    #[pyo3(signature = (limits=None))]
    fn conflicts(&self, py: Python<'_>, limits: Option<&PyLimits>) -> PyResult<Vec<Py<PyAny>>> {
        let limits = or_default(limits);
        let conflicts = py.request(&limits, || LalrTable::resolved_conflicts(&self.grammar, &limits));
        diagnostics(py, &conflicts.map_err(|error| grammar_error(py, &error))?, &self.source)
    }

    /// Return the warnings of the front end.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        diagnostics(py, &self.warnings, &self.source)
    }

    /// The constraints of schemas of terminals that are not enforced, as warnings.
    #[getter]
    fn relaxations(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        diagnostics(py, &self.relaxations, &self.source)
    }

    /// Make the parser's tables; return an empty list, for the interface of :class:`Grammar`.
    ///
    /// Raises:
    ///     GrammarError: As compiling the grammar.
    #[pyo3(signature = (limits=None))]
    fn check(&self, py: Python<'_>, limits: Option<&PyLimits>) -> PyResult<Vec<Py<PyAny>>> {
        let limits = or_default(limits);
        let grammar = self.grammar.clone();
        let prepared = py.request(&limits, || PreparedGrammar::new(grammar, &limits).map(drop));
        prepared.map_err(|error| grammar_error(py, &error))?;
        Ok(Vec::new())
    }

    /// Return the terminals and the productions, as pairs of title and text.
    #[pyo3(signature = (limits=None))]
    fn stages(&self, limits: Option<&PyLimits>) -> Vec<(&'static str, String)> {
        let _ = limits;
        let terminals = self.grammar.terminals().iter().map(|terminal| {
            let role = match terminal.role {
                TerminalRole::Parsed => "",
                TerminalRole::Reserved => " (reserved)",
                TerminalRole::Ignored => " (ignored)",
                TerminalRole::Refused | TerminalRole::Violation => " (refused)",
            };
            format!("{}{role}\n", terminal.name)
        });
        let productions = self.grammar.productions().iter();
        let productions = productions
            .map(|production| format!("{}\n", self.grammar.production_text(production, None)))
            .collect();
        vec![("terminals", terminals.collect()), ("productions", productions)]
    }

    /// Compile the grammar for a vocabulary; see :meth:`grammask.Grammar.compile`.
    ///
    /// ``finite`` has no effect: a prefix of a lexed grammar is viable only if a finite text completes it.
    /// ``source`` is the source of the grammar.
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
        let _ = finite;
        let mut options = CompileOptions::default();
        options.end = named(end)?;
        options.limits = or_default(limits);
        let vocabulary = vocabulary.shared();
        let grammar = self.grammar.clone();
        let compiled = py
            .outside_forks(|| CompiledGrammar::from_lexed(grammar, vocabulary, options))
            .map_err(|error| grammar_error(py, &error))?;
        Ok(PyCompiledGrammar::new(compiled, self.relaxations.clone(), source))
    }
}

/// The number of entries of the mask store of a whole lexer, before and after each step of streamlining.
///
/// An entry of a lexer state inside terminal X is a sequence of terminals that some token emits and enters after X,
/// together with whether the token continues X.
#[pyclass(name = "StreamliningReport", module = "grammask._grammask", frozen)]
pub(crate) struct PyStreamliningReport {
    counts: EntryCounts,
    seconds: f64,
}

#[pymethods]
impl PyStreamliningReport {
    /// The steps in order: name, and number of entries of all states together.
    #[getter]
    fn steps(&self) -> Vec<(&'static str, usize)> {
        STREAMLINING_STEPS.into_iter().zip(self.counts.totals()).collect()
    }

    /// For each state, its terminal (None for the initial state) and the number of its entries after each step.
    #[getter]
    fn states(&self) -> Vec<(Option<&str>, Vec<usize>)> {
        let states = self.counts.states.iter();
        states.map(|state| (state.terminal.as_deref(), state.entries.to_vec())).collect()
    }

    /// Numbers of pairs of terminals that follow each other never, sometimes and always.
    #[getter]
    fn pairs(&self) -> (usize, usize, usize) {
        triple(self.counts.pairs)
    }

    /// Number of sets of interchangeable terminals.
    #[getter]
    fn representatives(&self) -> usize {
        self.counts.representatives
    }

    /// As :attr:`pairs`, for one terminal of each set.
    #[getter]
    fn representative_pairs(&self) -> (usize, usize, usize) {
        triple(self.counts.representative_pairs)
    }

    /// Time to decide all pairs, in seconds.
    #[getter]
    fn pair_seconds(&self) -> f64 {
        self.counts.pair_time.as_secs_f64()
    }

    /// Time to make the report, in seconds.
    #[getter]
    fn seconds(&self) -> f64 {
        self.seconds
    }

    fn __repr__(&self) -> String {
        let totals = self.counts.totals();
        let first_and_last = (totals[0], totals[totals.len() - 1]);
        format!("<StreamliningReport {} -> {} entries>", first_and_last.0, first_and_last.1)
    }
}

fn triple(counts: PairCounts) -> (usize, usize, usize) {
    (counts.never, counts.sometimes, counts.always)
}

/// Count the entries of the mask store of a grammar before and after streamlining. Masks do not need the report.
///
/// Raises:
///     GrammarError: As compiling the grammar.
#[pyfunction]
#[pyo3(signature = (grammar, vocabulary, limits=None))]
pub(crate) fn streamlining_report(
    py: Python<'_>,
    grammar: &PyLexedGrammar,
    vocabulary: &PyVocabulary,
    limits: Option<&PyLimits>,
) -> PyResult<PyStreamliningReport> {
    let limits = or_default(limits);
    let (grammar, vocabulary) = (grammar.grammar.clone(), vocabulary.shared());
    py.request(&limits, || {
        let begin = Instant::now();
        let prepared = PreparedGrammar::new(grammar, &limits)?;
        let counts = EntryCounts::of(&prepared, &vocabulary, &limits)?;
        Ok(PyStreamliningReport { counts, seconds: begin.elapsed().as_secs_f64() })
    })
    .map_err(|error| grammar_error(py, &error))
}
