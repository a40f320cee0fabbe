//! `Composition`: a grammar composed of grammars of several front ends and other parts.

use std::collections::HashMap;
use std::sync::Arc;

use grammask::automata::TermId;
use grammask::frontends::free_text::FreeText;
use grammask::frontends::{regex, regex_grammar};
use grammask::grammar::{
    BindingKind, Clause, Code, Diagnostic, EmbeddedId, ExtractedGrammar, Grammar, GrammarBuilder,
    GrammarError, Node, NodeId, NonterminalId, NotRegular, PartId, PartOrder, RuleLanguages, Selection, Span,
    Terminal, TokenReference, TokenSelection, TokenSense,
};
use grammask::{EmbeddedGrammar, Limits};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::grammar_error;
use crate::forks::OutsideForks;
use crate::grammar::PyGrammar;
use crate::lexed::PyLexedGrammar;
use crate::limits::{PyLimits, check_limits, or_default};

/// Joins grammars and other parts in one grammar.
///
/// Parts, rules and languages are identified by the numbers that the methods return. Languages are regular;
/// :meth:`terminal` makes a part of one. Nothing can be used after :meth:`finish`.
#[pyclass(name = "Composition", module = "grammask._grammask")]
pub(crate) struct PyComposition {
    builder: GrammarBuilder,
    parts: Vec<NodeId>,
    rules: Vec<NonterminalId>,
    languages: Vec<TermId>,
    /// The parts of grammars by address. The entries keep the grammars alive, so that addresses are not reused.
    grammars: HashMap<usize, (Arc<Grammar>, usize)>,
    /// The embedded grammars, in the order of the builder's numbers.
    embedded: Vec<EmbeddedGrammar>,
    warnings: Vec<Diagnostic>,
    relaxations: Vec<Diagnostic>,
}

/// A token, by id or by name or text.
#[derive(FromPyObject)]
enum PyToken {
    Id(u32),
    Written(String),
}

impl From<PyToken> for TokenReference {
    fn from(token: PyToken) -> Self {
        match token {
            PyToken::Id(id) => Self::Id(id),
            PyToken::Written(text) => Self::Written(text),
        }
    }
}

#[pymethods]
impl PyComposition {
    #[new]
    fn new() -> Self {
        Self {
            builder: GrammarBuilder::new(""),
            parts: Vec::new(),
            rules: Vec::new(),
            languages: Vec::new(),
            grammars: HashMap::new(),
            embedded: Vec::new(),
            warnings: Vec::new(),
            relaxations: Vec::new(),
        }
    }

    /// Make a part of a byte string.
    fn literal(&mut self, bytes: &[u8]) -> PyResult<usize> {
        let node = match bytes {
            [] => self.builder.sequence(Vec::new(), Span::default()),
            _ => self.builder.literal(bytes, Span::default()),
        };
        self.part(node)
    }

    /// Make a part of a grammar. The same grammar is the same part.
    fn grammar(&mut self, grammar: &PyGrammar) -> PyResult<usize> {
        let key = Arc::as_ptr(grammar.shared()) as usize;
        if let Some(&(_, part)) = self.grammars.get(&key) {
            return Ok(part);
        }
        let node = self.builder.graft(grammar.shared());
        self.embedded.extend_from_slice(grammar.embedded());
        let part = self.part(node)?;
        self.grammars.insert(key, (grammar.shared().clone(), part));
        self.warnings.extend(grammar.findings().0.iter().map(without_span));
        self.relaxations.extend(grammar.findings().1.iter().map(without_span));
        Ok(part)
    }

    /// Make a part of a grammar with a lexer, which sees only the text of the part; messages call it ``label``.
    ///
    /// Raises:
    ///     GrammarError: As of :meth:`LexedGrammar.compile`.
    #[pyo3(signature = (grammar, label, limits=None))]
    fn lexed(
        &mut self,
        py: Python<'_>,
        grammar: &PyLexedGrammar,
        label: &str,
        limits: Option<&PyLimits>,
    ) -> PyResult<usize> {
        let limits = or_default(limits);
        let embedded = py.request(&limits, || grammar.embedded(&limits));
        let embedded = embedded.map_err(|error| grammar_error(py, &error))?;
        let terminal = Terminal::Embedded { grammar: self.embed(embedded), tokens: None };
        let node = self.builder.terminal(terminal, label, Span::default());
        self.part(node)
    }

    /// Make a part that binds a name (``"bind"``) or refers to the bound text.
    ///
    /// The other words are ``"same"``, without an operand, ``"other"`` and ``"without_prefix"``.
    #[pyo3(signature = (word, name, operand=None))]
    fn binding(&mut self, word: &str, name: &str, operand: Option<usize>) -> PyResult<usize> {
        let unknown = || PyValueError::new_err(format!("{word} is no binding"));
        let kind = BindingKind::of_word(word).ok_or_else(unknown)?;
        let operand = operand.map(|part| self.nodes(&[part])).transpose()?.map(|nodes| nodes[0]);
        if operand.is_some() == (kind == BindingKind::Same) {
            return Err(unknown());
        }
        let node = self.builder.binding(kind, name, operand, Span::default());
        self.part(node)
    }

    /// Make a part of another one in which names are bound.
    fn scope(&mut self, part: usize) -> PyResult<usize> {
        let node = self.nodes(&[part])?[0];
        let node = self.builder.scope(node, Span::default());
        self.part(node)
    }

    /// Make a part of one token, by id, special name or text.
    fn token(&mut self, token: PyToken) -> PyResult<usize> {
        let reference = TokenReference::from(token);
        let label = label_of(&reference);
        let node = self.builder.terminal(Terminal::Token(reference), &label, Span::default());
        self.part(node)
    }

    /// Make a part of any one of the listed tokens and ranges of ids or, with ``others``, of all other tokens.
    #[pyo3(signature = (listed, others, ranges=Vec::new()))]
    fn tokens(&mut self, listed: Vec<PyToken>, others: bool, ranges: Vec<(u32, u32)>) -> PyResult<usize> {
        let tokens: Box<[TokenReference]> = listed.into_iter().map(TokenReference::from).collect();
        let mut labels: Vec<String> = tokens.iter().map(label_of).collect();
        labels.extend(ranges.iter().map(|(first, last)| format!("<[{first}-{last}]>")));
        let sense = if others { TokenSense::Others } else { TokenSense::Listed };
        let label = format!("{}({})", if others { "any token but " } else { "" }, labels.join(", "));
        let selection = TokenSelection { sense, tokens, ranges: ranges.into() };
        let node = self.builder.terminal(Terminal::OneOf(Box::new(selection)), &label, Span::default());
        self.part(node)
    }

    /// Make a part of free text before the end word ``ends[end]``, which is the first of ``ends`` to occur.
    ///
    /// The text contains no word of ``excludes``, and has the given maximum length.
    #[pyo3(signature = (ends, end, excludes, max_characters=None, max_tokens=None))]
    fn text(
        &mut self,
        ends: Vec<Vec<u8>>,
        end: usize,
        excludes: Vec<Vec<u8>>,
        max_characters: Option<u32>,
        max_tokens: Option<u32>,
    ) -> PyResult<usize> {
        let text = FreeText { ends, excludes, max_characters, max_tokens };
        let node = text.before(&mut self.builder, end);
        self.part(node)
    }

    /// Make the sequence of parts.
    fn sequence(&mut self, parts: Vec<usize>) -> PyResult<usize> {
        let parts = self.nodes(&parts)?;
        let node = self.builder.sequence(parts, Span::default());
        self.part(node)
    }

    /// Make the choice of parts.
    ///
    /// Raises:
    ///     ValueError: There are no parts.
    fn choice(&mut self, parts: Vec<usize>) -> PyResult<usize> {
        if parts.is_empty() {
            return Err(PyValueError::new_err("a choice needs at least one part"));
        }
        let parts = self.nodes(&parts)?;
        let node = self.builder.choice(parts, Span::default());
        self.part(node)
    }

    /// Make a repetition of a part, ``min_count`` to ``max_count`` times.
    ///
    /// Raises:
    ///     ValueError: ``max_count`` is less than ``min_count``.
    #[pyo3(signature = (part, min_count, max_count=None))]
    fn repeat(&mut self, part: usize, min_count: u32, max_count: Option<u32>) -> PyResult<usize> {
        if max_count.is_some_and(|max_count| max_count < min_count) {
            return Err(PyValueError::new_err(format!(
                "at least {min_count} copies are more than at most {max_count:?}"
            )));
        }
        let node = self.nodes(&[part])?[0];
        let node = self.builder.repeat(node, min_count, max_count, Span::default());
        self.part(node)
    }

    /// Make a selection: parts in any order with separators between them, at least one in all.
    ///
    /// A required part occurs once, a repeatable part any number of times, any other part at most once. No part and
    /// no separator may match the empty text.
    ///
    /// Args:
    ///     parts: The parts.
    ///     required: Positions in ``parts``.
    ///     repeatable: Positions in ``parts``.
    ///     separator: The part between two parts.
    ///
    /// Raises:
    ///     ValueError: There is no such part, or the conditions are contradictory.
    fn selection(
        &mut self,
        parts: Vec<usize>,
        required: Vec<usize>,
        repeatable: Vec<usize>,
        separator: usize,
    ) -> PyResult<usize> {
        let nodes = self.nodes(&parts)?;
        if required.iter().chain(&repeatable).any(|&part| part >= parts.len()) {
            return Err(PyValueError::new_err("a selection has no such part"));
        }
        let separator = self.nodes(&[separator])?[0];
        let clauses = required
            .into_iter()
            .map(|part| Clause { given: Box::default(), then: Some(PartId::new(part)) })
            .collect();
        let repeatable: Vec<PartId> = repeatable.into_iter().map(PartId::new).collect();
        let selection = Selection::new(PartOrder::Any, parts.len(), &repeatable, clauses, (0, None));
        let selection = selection
            .filter(Selection::is_satisfiable)
            .ok_or_else(|| PyValueError::new_err("a selection needs parts, and a required one comes once"))?;
        let node = self.builder.selection(Arc::new(selection), nodes, separator, Span::default());
        self.part(node)
    }

    /// Make a rule of a part, which names it and lets the parser share it between its uses.
    fn named(&mut self, name: &str, part: usize) -> PyResult<usize> {
        let mut body = self.nodes(&[part])?[0];
        if let Node::Terminal(id) = *self.builder.node_at(body)
            && let &Terminal::Embedded { grammar, tokens } = self.builder.terminal_at(id)
        {
            // The same grammar with the name as its label, which explanations show.
            let grammar = self.embed(self.embedded[grammar.index()].clone());
            body = self.builder.terminal(Terminal::Embedded { grammar, tokens }, name, Span::default());
        }
        let rule = self.builder.fresh_nonterminal(name, Span::default());
        self.builder.define(rule, body, Span::default());
        let node = self.builder.reference(rule, Span::default());
        self.part(node)
    }

    /// Make a rule without a definition. Names need not be unique.
    fn rule(&mut self, name: &str) -> PyResult<usize> {
        Python::attach(check_limits)?;
        self.rules.push(self.builder.fresh_nonterminal(name, Span::default()));
        Ok(self.rules.len() - 1)
    }

    /// Make a part of a rule.
    fn reference(&mut self, rule: usize) -> PyResult<usize> {
        let rule = self.rule_at(rule)?;
        let node = self.builder.reference(rule, Span::default());
        self.part(node)
    }

    /// Define a rule. Several definitions are alternatives.
    fn define(&mut self, rule: usize, part: usize) -> PyResult<()> {
        let rule = self.rule_at(rule)?;
        let body = self.nodes(&[part])?[0];
        self.builder.define(rule, body, Span::default());
        Ok(())
    }

    /// Make the language of a regular expression in the syntax of the Rust crate ``regex``.
    #[pyo3(signature = (pattern, limits=None))]
    fn regex_language(
        &mut self,
        py: Python<'_>,
        pattern: &str,
        limits: Option<&PyLimits>,
    ) -> PyResult<usize> {
        let limits = or_default(limits);
        let term = regex::term(self.builder.terms(), pattern, &limits)
            .map_err(|error| grammar_error(py, &regex_grammar::pattern_error(&error, pattern)))?;
        self.language(term)
    }

    /// Make the language of one byte string.
    fn literal_language(&mut self, bytes: &[u8]) -> PyResult<usize> {
        let term = self.builder.terms().literal(bytes);
        self.language(term)
    }

    /// Make the language of the characters from ``first`` to ``last``.
    fn range_language(&mut self, first: char, last: char) -> PyResult<usize> {
        let term = self.builder.terms().characters(&[(first, last)]);
        self.language(term)
    }

    /// Make the language of the substrings of a text, including the empty one.
    fn substring_language(&mut self, text: &str) -> PyResult<usize> {
        let term = self.builder.terms().substrings(text);
        self.language(term)
    }

    /// Make the language of the concatenations of consecutive chunks, including the empty one.
    ///
    /// Raises:
    ///     ValueError: There are more than a million distinct chunks.
    fn chunks_language(&mut self, chunks: Vec<String>) -> PyResult<usize> {
        let term = self.builder.terms().substrings_of_chunks(&chunks);
        let term =
            term.ok_or_else(|| PyValueError::new_err("these are more than a million different chunks"))?;
        self.language(term)
    }

    /// Make the concatenation of languages.
    fn concatenated_language(&mut self, languages: Vec<usize>) -> PyResult<usize> {
        let terms = self.terms(&languages)?;
        let term = self.builder.terms().concat(&terms);
        self.language(term)
    }

    /// Make the union of languages.
    fn union_language(&mut self, languages: Vec<usize>) -> PyResult<usize> {
        let terms = self.terms(&languages)?;
        let term = self.builder.terms().union(&terms);
        self.language(term)
    }

    /// Make the intersection of languages.
    fn intersection_language(&mut self, languages: Vec<usize>) -> PyResult<usize> {
        let terms = self.terms(&languages)?;
        let term = self.builder.terms().intersection(&terms);
        self.language(term)
    }

    /// Make the complement of a language: the other byte strings, including those that are not UTF-8.
    fn complement_language(&mut self, language: usize) -> PyResult<usize> {
        let term = self.terms(&[language])?[0];
        let term = self.builder.terms().complement(term);
        self.language(term)
    }

    /// Make a repetition of a language, ``min_count`` to ``max_count`` times.
    #[pyo3(signature = (language, min_count, max_count=None))]
    fn repeated_language(
        &mut self,
        language: usize,
        min_count: u32,
        max_count: Option<u32>,
    ) -> PyResult<usize> {
        let term = self.terms(&[language])?[0];
        let term = self.builder.terms().repeat(term, min_count, max_count);
        self.language(term)
    }

    /// Return whether a language contains the empty text.
    fn is_nullable_language(&self, language: usize) -> PyResult<bool> {
        let term = self.terms(&[language])?[0];
        Ok(self.builder.terms_so_far().is_nullable(term))
    }

    /// Make the language of the words without a proper prefix in the language; the empty word if it is nullable.
    fn shortest_language(&mut self, language: usize) -> PyResult<usize> {
        let term = self.terms(&[language])?[0];
        let terms = self.builder.terms();
        let term = if terms.is_nullable(term) { terms.epsilon() } else { terms.first_match(term) };
        self.language(term)
    }

    /// Make a part of a language, which may span at most ``max_tokens`` tokens; messages call it ``label``.
    #[pyo3(signature = (language, label, max_tokens=None))]
    fn terminal(&mut self, language: usize, label: &str, max_tokens: Option<u32>) -> PyResult<usize> {
        let term = self.terms(&[language])?[0];
        let terminal = match max_tokens {
            None => Terminal::Regular(term),
            Some(tokens) => Terminal::Limited { term, tokens },
        };
        let node = self.builder.terminal(terminal, label, Span::default());
        self.part(node)
    }

    /// Make a part with the texts of a part that overlap at most ``max_tokens`` tokens.
    ///
    /// Raises:
    ///     UnsupportedGrammar: The part names tokens, or refers to a rule that is not defined yet.
    ///     GrammarError: No text of the part ends.
    fn limited(&mut self, py: Python<'_>, part: usize, max_tokens: u32) -> PyResult<usize> {
        let node = self.nodes(&[part])?[0];
        let label = format!("text of at most {max_tokens} tokens");
        let terminal = self.limited_terminal(node, max_tokens).map_err(|error| grammar_error(py, &error))?;
        let node = self.builder.terminal(terminal, &label, Span::default());
        self.part(node)
    }

    /// Add a warning about an annotation without effect.
    fn warn(&mut self, message: &str, help: &str) {
        self.warnings.push(Diagnostic::warning(Code::IgnoredAnnotation, message).help(help));
    }

    /// Return the grammar of a part. The composition is empty afterwards.
    fn finish(&mut self, part: usize) -> PyResult<PyGrammar> {
        let body = self.nodes(&[part])?[0];
        let mut builder = std::mem::replace(&mut self.builder, GrammarBuilder::new(""));
        self.parts.clear();
        self.rules.clear();
        self.languages.clear();
        self.grammars.clear();
        let start = builder.fresh_nonterminal("start", Span::default());
        builder.define(start, body, Span::default());
        let embedded = std::mem::take(&mut self.embedded);
        let grammar =
            PyGrammar::embedding(builder.finish(start), embedded, std::mem::take(&mut self.warnings));
        Ok(grammar.with_relaxations(std::mem::take(&mut self.relaxations)))
    }
}

impl PyComposition {
    /// Adds a part. Readers in Python make their grammars of parts, so this checks the limits of what they read.
    fn part(&mut self, node: NodeId) -> PyResult<usize> {
        Python::attach(check_limits)?;
        self.parts.push(node);
        Ok(self.parts.len() - 1)
    }

    /// Adds an embedded grammar.
    fn embed(&mut self, grammar: EmbeddedGrammar) -> EmbeddedId {
        let id = self.builder.embed(grammar.texts());
        self.embedded.push(grammar);
        id
    }

    /// The terminal of the texts of a node that overlap at most some number of tokens: a regular language, or an embedded
    /// grammar.
    fn limited_terminal(&mut self, node: NodeId, max_tokens: u32) -> Result<Terminal, GrammarError> {
        let reason = match RuleLanguages::new(&self.builder).of_node(&mut self.builder, node) {
            Ok(term) => return Ok(Terminal::Limited { term, tokens: max_tokens }),
            Err(reason) => reason,
        };
        let tokens = Some(max_tokens);
        if let Node::Terminal(id) = *self.builder.node_at(node)
            && let &Terminal::Embedded { grammar, tokens: None } = self.builder.terminal_at(id)
        {
            return Ok(Terminal::Embedded { grammar, tokens });
        }
        let extracted = match reason {
            NotRegular::Undefined => Err(reason),
            _ => self.builder.extract(node),
        };
        let ExtractedGrammar { grammar, embedded } = extracted.map_err(|reason| {
            let message = "a maximum number of tokens is given to a part of a rule that is being defined";
            let error = Diagnostic::error(Code::UnsupportedGrammar, message);
            error.help(format!("{}; limit its parts, or the whole text", reason.reason()))
        })?;
        let embedded = embedded.into_iter().map(|id| self.embedded[id.index()].clone()).collect();
        let grammar = EmbeddedGrammar::context_free(Arc::new(grammar), embedded, &Limits::default())?;
        Ok(Terminal::Embedded { grammar: self.embed(grammar), tokens })
    }

    /// Adds a language.
    fn language(&mut self, term: TermId) -> PyResult<usize> {
        Python::attach(check_limits)?;
        self.languages.push(term);
        Ok(self.languages.len() - 1)
    }

    fn terms(&self, languages: &[usize]) -> PyResult<Vec<TermId>> {
        languages
            .iter()
            .map(|&language| {
                self.languages
                    .get(language)
                    .copied()
                    .ok_or_else(|| PyValueError::new_err(format!("there is no language {language}")))
            })
            .collect()
    }

    fn rule_at(&self, rule: usize) -> PyResult<NonterminalId> {
        self.rules.get(rule).copied().ok_or_else(|| PyValueError::new_err(format!("there is no rule {rule}")))
    }

    fn nodes(&self, parts: &[usize]) -> PyResult<Vec<NodeId>> {
        parts
            .iter()
            .map(|&part| {
                self.parts
                    .get(part)
                    .copied()
                    .ok_or_else(|| PyValueError::new_err(format!("there is no part {part}")))
            })
            .collect()
    }
}

/// A diagnostic without its span, which refers to the source text of a part.
pub(crate) fn without_span(diagnostic: &Diagnostic) -> Diagnostic {
    Diagnostic { span: None, ..diagnostic.clone() }
}

fn label_of(reference: &TokenReference) -> String {
    match reference {
        TokenReference::Id(id) => format!("<[{id}]>"),
        TokenReference::Name(text) | TokenReference::Written(text) => {
            format!("<{}>", grammask::grammar::quote_text(text))
        }
    }
}
