//! Grammars through an encoding: the byte strings whose decoded text belongs to a grammar.
//!
//! Inverse images under a character-wise decoder commute with the operations of grammars, so the nodes stay as they
//! are, and each terminal is replaced by its inverse image. Values that must differ are compared decoded. A character that is cut by terminals represents itself: an
//! escape spells a whole character. In an indented block line feeds in a row have to belong to one terminal.

use grammask_automata::encoding::{CharacterEncoding, TermEncoder};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, Limits};

use crate::{EmbeddedTexts, Grammar, Node, Terminal, TerminalDefinition, TerminalId};

impl Grammar {
    /// The grammar of the byte strings that decode to a text of this one, which has no bindings. Cost: linear in the size
    /// of the terminals.
    ///
    /// `embedded` holds the texts of the embedded grammars through the encoding, one for each of
    /// [`embedded`](Self::embedded).
    ///
    /// # Errors
    /// If a terminal names tokens, which have no spelling in an encoding; if a limit is exceeded.
    pub fn encoded(
        &self,
        encoding: &CharacterEncoding,
        embedded: Vec<EmbeddedTexts>,
        limits: &Limits,
    ) -> Result<Self, GrammarError> {
        debug_assert_eq!(embedded.len(), self.embedded.len(), "one for each embedded grammar");
        let mut grammar = self.clone();
        grammar.embedded = embedded;
        let mut encoder = TermEncoder::new(encoding.clone(), limits);
        let mut diagnostics = Vec::new();
        for (index, TerminalDefinition { terminal, .. }) in grammar.terminals.iter_mut().enumerate() {
            let terms = &mut grammar.terms;
            let (term, tokens) = match terminal {
                Terminal::Literal(word) => (terms.literal(word), None),
                Terminal::Regular(term) => (*term, None),
                Terminal::Limited { term, tokens } => (*term, Some(*tokens)),
                Terminal::Token(_) | Terminal::AnyToken | Terminal::OneOf(_) => {
                    diagnostics.push(self.token_in_encoding(TerminalId::new(index)));
                    continue;
                }
                Terminal::Embedded { .. } => continue,
            };
            let image = match encoder.separable_image(terms, term) {
                Ok(image) => image,
                Err(limit) => {
                    diagnostics.push(limit.diagnostic());
                    break;
                }
            };
            let word = if image == terms.epsilon() { Some(Vec::new()) } else { terms.word(image) };
            *terminal = match (tokens, word) {
                (Some(tokens), _) => Terminal::Limited { term: image, tokens },
                (None, Some(word)) => Terminal::Literal(word.into()),
                (None, None) => Terminal::Regular(image),
            };
        }
        for node in &mut grammar.nodes {
            debug_assert!(!matches!(node, Node::Binding(_)), "bindings are values before they are encoded");
            if let Node::Value { condition, .. } = node {
                let inner = condition.encodings.iter().cloned();
                condition.encodings = [encoding.clone()].into_iter().chain(inner).collect();
            }
        }
        if diagnostics.is_empty() {
            return Ok(grammar);
        }
        Err(GrammarError::new(diagnostics, self.source.clone()))
    }

    /// The error of a terminal that matches tokens by id.
    fn token_in_encoding(&self, terminal: TerminalId) -> Diagnostic {
        let message = "a token that is matched by id cannot be part of an encoded text";
        let diagnostic = Diagnostic::error(Code::UnsupportedGrammar, message)
            .found(&*self.terminals[terminal.index()].label)
            .help("write its text instead, or leave it outside the encoded grammar");
        match self.nodes.iter().position(|node| *node == Node::Terminal(terminal)) {
            Some(node) => diagnostic.at(self.spans[node]),
            None => diagnostic,
        }
    }
}
