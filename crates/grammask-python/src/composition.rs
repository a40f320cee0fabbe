//! `Composition`: grammars of different front ends and plain parts joined in one grammar, part by part.

use std::collections::HashMap;
use std::sync::Arc;

use grammask::frontends::free_text::FreeText;
use grammask::grammar::{
    Diagnostic, Grammar, GrammarBuilder, NodeId, Span, Terminal, TokenReference, TokenSelection, TokenSense,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::grammar::PyGrammar;

/// Parts are made from the leaves up and known by numbers; the last one is the grammar.
#[pyclass(name = "Composition", module = "grammask._grammask")]
pub(crate) struct PyComposition {
    builder: GrammarBuilder,
    parts: Vec<NodeId>,
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

    /// One of the listed tokens, or one of all others.
    fn tokens(&mut self, listed: Vec<PyToken>, others: bool) -> usize {
        let tokens: Box<[TokenReference]> = listed.into_iter().map(TokenReference::from).collect();
        let labels: Vec<String> = tokens.iter().map(label_of).collect();
        let sense = if others { TokenSense::Others } else { TokenSense::Listed };
        let label = format!("{}({})", if others { "any token but " } else { "" }, labels.join(", "));
        let selection = TokenSelection { sense, tokens, ranges: Box::default() };
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
        let text = FreeText { ends, excludes, most_characters, most_tokens };
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

    /// A rule of its own for a part, so that it is read once however often it is used, and has a name.
    fn named(&mut self, name: &str, part: usize) -> PyResult<usize> {
        let body = self.nodes(&[part])?[0];
        let rule = self.builder.fresh_nonterminal(name, Span::default());
        self.builder.define(rule, body, Span::default());
        let node = self.builder.reference(rule, Span::default());
        Ok(self.part(node))
    }

    /// The grammar whose texts are those of a part. Nothing can be added after that.
    fn finish(&mut self, part: usize) -> PyResult<PyGrammar> {
        let body = self.nodes(&[part])?[0];
        let mut builder = std::mem::replace(&mut self.builder, GrammarBuilder::new(""));
        self.parts.clear();
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
