//! `Composition`: grammars of different front ends and plain parts joined in one grammar, part by part.

use std::collections::HashMap;
use std::sync::Arc;

use grammask::automata::TermId;
use grammask::frontends::free_text::FreeText;
use grammask::frontends::{regex, regex_grammar};
use grammask::grammar::{
    Clause, Code, Diagnostic, Grammar, GrammarBuilder, NodeId, NonterminalId, PartId, PartOrder, Selection,
    Span, Terminal, TokenReference, TokenSelection, TokenSense,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::grammar_error;
use crate::grammar::{PyGrammar, or_default};
use crate::limits::PyLimits;

/// Parts are made from the leaves up and known by numbers; the last one is the grammar.
#[pyclass(name = "Composition", module = "grammask._grammask")]
pub(crate) struct PyComposition {
    builder: GrammarBuilder,
    parts: Vec<NodeId>,
    rules: Vec<NonterminalId>,
    languages: Vec<TermId>,
    /// Grammars that are parts already, kept alive so that their addresses stay theirs.
    known: HashMap<usize, (Arc<Grammar>, usize)>,
    warnings: Vec<Diagnostic>,
    relaxations: Vec<Diagnostic>,
}

/// A token by its id, or by what is written.
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
            known: HashMap::new(),
            warnings: Vec::new(),
            relaxations: Vec::new(),
        }
    }

    fn literal(&mut self, bytes: &[u8]) -> usize {
        let node = match bytes {
            [] => self.builder.sequence(Vec::new(), Span::default()),
            _ => self.builder.literal(bytes, Span::default()),
        };
        self.part(node)
    }

    fn grammar(&mut self, grammar: &PyGrammar) -> usize {
        let key = Arc::as_ptr(grammar.shared()) as usize;
        if let Some(&(_, part)) = self.known.get(&key) {
            return part;
        }
        let node = self.builder.graft(grammar.shared());
        let part = self.part(node);
        self.known.insert(key, (grammar.shared().clone(), part));
        self.warnings.extend(grammar.found().0.iter().map(without_place));
        self.relaxations.extend(grammar.found().1.iter().map(without_place));
        part
    }

    fn token(&mut self, token: PyToken) -> usize {
        let reference = TokenReference::from(token);
        let label = label_of(&reference);
        let node = self.builder.terminal(Terminal::Token(reference), &label, Span::default());
        self.part(node)
    }

    /// One of the listed tokens and ranges of ids, or one of all others.
    #[pyo3(signature = (listed, others, ranges=Vec::new()))]
    fn tokens(&mut self, listed: Vec<PyToken>, others: bool, ranges: Vec<(u32, u32)>) -> usize {
        let tokens: Box<[TokenReference]> = listed.into_iter().map(TokenReference::from).collect();
        let mut labels: Vec<String> = tokens.iter().map(label_of).collect();
        labels.extend(ranges.iter().map(|(first, last)| format!("<[{first}-{last}]>")));
        let sense = if others { TokenSense::Others } else { TokenSense::Listed };
        let label = format!("{}({})", if others { "any token but " } else { "" }, labels.join(", "));
        let selection = TokenSelection { sense, tokens, ranges: ranges.into() };
        let node = self.builder.terminal(Terminal::OneOf(Box::new(selection)), &label, Span::default());
        self.part(node)
    }

    #[pyo3(signature = (ends, end, excludes, most_characters=None, most_tokens=None))]
    fn text(
        &mut self,
        ends: Vec<Vec<u8>>,
        end: usize,
        excludes: Vec<Vec<u8>>,
        most_characters: Option<u32>,
        most_tokens: Option<u32>,
    ) -> usize {
        let text = FreeText { ends, excludes, max_characters: most_characters, max_tokens: most_tokens };
        let node = text.before(&mut self.builder, end);
        self.part(node)
    }

    fn sequence(&mut self, parts: Vec<usize>) -> PyResult<usize> {
        let parts = self.nodes(&parts)?;
        let node = self.builder.sequence(parts, Span::default());
        Ok(self.part(node))
    }

    fn choice(&mut self, parts: Vec<usize>) -> PyResult<usize> {
        if parts.is_empty() {
            return Err(PyValueError::new_err("a choice needs at least one part"));
        }
        let parts = self.nodes(&parts)?;
        let node = self.builder.choice(parts, Span::default());
        Ok(self.part(node))
    }

    #[pyo3(signature = (part, least, most=None))]
    fn repeat(&mut self, part: usize, least: u32, most: Option<u32>) -> PyResult<usize> {
        if most.is_some_and(|most| most < least) {
            return Err(PyValueError::new_err(format!(
                "at least {least} copies are more than at most {most:?}"
            )));
        }
        let node = self.nodes(&[part])?[0];
        let node = self.builder.repeat(node, least, most, Span::default());
        Ok(self.part(node))
    }

    /// Some of the parts in any order, with a separator between each two: the required ones once, the repeatable ones any
    /// number of times, the others at most once; at least one in all. No part and no separator matches the empty text.
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
        Ok(self.part(node))
    }

    /// A rule of its own for a part, so that it is read once however often it is used, and has a name.
    fn named(&mut self, name: &str, part: usize) -> PyResult<usize> {
        let body = self.nodes(&[part])?[0];
        let rule = self.builder.fresh_nonterminal(name, Span::default());
        self.builder.define(rule, body, Span::default());
        let node = self.builder.reference(rule, Span::default());
        Ok(self.part(node))
    }

    /// A rule that is not defined yet; other rules may have its name.
    fn rule(&mut self, name: &str) -> usize {
        self.rules.push(self.builder.fresh_nonterminal(name, Span::default()));
        self.rules.len() - 1
    }

    fn reference(&mut self, rule: usize) -> PyResult<usize> {
        let rule = self.known_rule(rule)?;
        let node = self.builder.reference(rule, Span::default());
        Ok(self.part(node))
    }

    fn define(&mut self, rule: usize, part: usize) -> PyResult<()> {
        let rule = self.known_rule(rule)?;
        let body = self.nodes(&[part])?[0];
        self.builder.define(rule, body, Span::default());
        Ok(())
    }

    /// The language of the texts that match a regular expression as a whole.
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
        Ok(self.language(term))
    }

    fn literal_language(&mut self, bytes: &[u8]) -> usize {
        let term = self.builder.terms().literal(bytes);
        self.language(term)
    }

    fn range_language(&mut self, first: char, last: char) -> usize {
        let term = self.builder.terms().characters(&[(first, last)]);
        self.language(term)
    }

    fn substring_language(&mut self, text: &str) -> usize {
        let term = self.builder.terms().substrings(text);
        self.language(term)
    }

    /// The language of the texts made of some chunks in a row.
    fn chunks_language(&mut self, chunks: Vec<String>) -> PyResult<usize> {
        let term = self.builder.terms().substrings_of_chunks(&chunks);
        let term =
            term.ok_or_else(|| PyValueError::new_err("these are more than a million different chunks"))?;
        Ok(self.language(term))
    }

    fn concatenated_language(&mut self, languages: Vec<usize>) -> PyResult<usize> {
        let terms = self.terms(&languages)?;
        let term = self.builder.terms().concat(&terms);
        Ok(self.language(term))
    }

    fn union_language(&mut self, languages: Vec<usize>) -> PyResult<usize> {
        let terms = self.terms(&languages)?;
        let term = self.builder.terms().union(&terms);
        Ok(self.language(term))
    }

    fn intersection_language(&mut self, languages: Vec<usize>) -> PyResult<usize> {
        let terms = self.terms(&languages)?;
        let term = self.builder.terms().intersection(&terms);
        Ok(self.language(term))
    }

    /// All byte strings that are not in a language, also those that are not UTF-8.
    fn complement_language(&mut self, language: usize) -> PyResult<usize> {
        let term = self.terms(&[language])?[0];
        let term = self.builder.terms().complement(term);
        Ok(self.language(term))
    }

    #[pyo3(signature = (language, least, most=None))]
    fn repeated_language(&mut self, language: usize, least: u32, most: Option<u32>) -> PyResult<usize> {
        let term = self.terms(&[language])?[0];
        let term = self.builder.terms().repeat(term, least, most);
        Ok(self.language(term))
    }

    /// Whether the empty text is in a language.
    fn is_nullable_language(&self, language: usize) -> PyResult<bool> {
        let term = self.terms(&[language])?[0];
        Ok(self.builder.terms_so_far().is_nullable(term))
    }

    /// The words of a language of which no shorter prefix is in it; only the empty word where that is in it.
    fn shortest_language(&mut self, language: usize) -> PyResult<usize> {
        let term = self.terms(&[language])?[0];
        let terms = self.builder.terms();
        let term = if terms.is_nullable(term) { terms.epsilon() } else { terms.first_match(term) };
        Ok(self.language(term))
    }

    /// A terminal that matches the words of a language, within at most so many tokens.
    #[pyo3(signature = (language, label, most_tokens=None))]
    fn terminal(&mut self, language: usize, label: &str, most_tokens: Option<u32>) -> PyResult<usize> {
        let term = self.terms(&[language])?[0];
        let terminal = match most_tokens {
            None => Terminal::Regular(term),
            Some(tokens) => Terminal::Limited { term, tokens },
        };
        let node = self.builder.terminal(terminal, label, Span::default());
        Ok(self.part(node))
    }

    /// Says of something that it changes no text, though it might be thought to.
    fn warn(&mut self, message: &str, help: &str) {
        self.warnings.push(Diagnostic::warning(Code::IgnoredAnnotation, message).help(help));
    }

    /// The grammar whose texts are those of a part. Nothing can be added after that.
    fn finish(&mut self, part: usize) -> PyResult<PyGrammar> {
        let body = self.nodes(&[part])?[0];
        let mut builder = std::mem::replace(&mut self.builder, GrammarBuilder::new(""));
        self.parts.clear();
        self.rules.clear();
        self.languages.clear();
        self.known.clear();
        let start = builder.fresh_nonterminal("start", Span::default());
        builder.define(start, body, Span::default());
        let grammar = PyGrammar::new(builder.finish(start), std::mem::take(&mut self.warnings));
        Ok(grammar.with_relaxations(std::mem::take(&mut self.relaxations)))
    }
}

impl PyComposition {
    fn part(&mut self, node: NodeId) -> usize {
        self.parts.push(node);
        self.parts.len() - 1
    }

    fn language(&mut self, term: TermId) -> usize {
        self.languages.push(term);
        self.languages.len() - 1
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

    fn known_rule(&self, rule: usize) -> PyResult<NonterminalId> {
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

/// A diagnostic of a part: its text is not the text of the whole, so it keeps its pointer but no offsets.
fn without_place(diagnostic: &Diagnostic) -> Diagnostic {
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
