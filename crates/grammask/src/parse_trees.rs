//! The parse of a text that grows, as a tree, for people who look at a grammar.
//!
//! Of a grammar without a lexer it consists of the captures of all rules, and of one with a lexer of the reductions of
//! the parser.

use std::sync::Arc;

use crate::captures::{CaptureParse, CaptureParser};
use crate::embedded::EmbeddedGrammar;
use crate::{Matcher, MatcherStep};
use grammask_diagnostics::{GrammarError, Limits};
use grammask_engine::{LexerReading, ParseNode, ParseTree};
use grammask_grammar::Grammar;
use grammask_vocabulary::Vocabulary;

/// Makes the parses of texts of one grammar without a lexer.
#[derive(Clone, Debug)]
pub struct TreeParser {
    parser: Arc<CaptureParser>,
    rules: Vec<Arc<str>>,
}

impl TreeParser {
    /// A parser for a grammar with the grammars that it embeds, and the vocabulary of its texts.
    ///
    /// # Errors
    /// As of [`CaptureParser::new`].
    pub fn new(
        grammar: &Grammar,
        embedded: &[EmbeddedGrammar],
        vocabulary: Arc<Vocabulary>,
        limits: &Limits,
    ) -> Result<Self, GrammarError> {
        let mut rules: Vec<Arc<str>> = Vec::new();
        for rule in grammar.nonterminals().iter().filter(|rule| rule.defined) {
            if !rules.contains(&rule.name) {
                rules.push(rule.name.clone());
            }
        }
        let parts: Vec<&str> = rules.iter().map(|rule| &**rule).collect();
        let parser = CaptureParser::new(grammar, embedded, &parts, Some(vocabulary), limits)?;
        Ok(Self { parser, rules })
    }

    /// The parse of the text of a matcher: of a complete text, one derivation; otherwise one of the viable prefix, as if
    /// every rule that can continue did. `None` if a part of the matcher's history was dropped.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn tree(&self, matcher: &Matcher) -> Result<Option<ParseTree>, GrammarError> {
        let Some(steps) = matcher.steps() else { return Ok(None) };
        let mut parse: CaptureParse = self.parser.parse().map_err(|limit| limit.diagnostic())?;
        for step in steps {
            let read = match step {
                MatcherStep::Token(id) => parse.feed_tokens(&[id]),
                MatcherStep::Bytes(bytes) => parse.feed(bytes),
            };
            read.map_err(|limit| limit.diagnostic())?;
        }
        let captures = parse.whole().unwrap_or_else(|| parse.growing());
        let nodes = captures
            .iter()
            .map(|capture| ParseNode {
                name: self.rules[capture.part.index()].clone(),
                is_terminal: false,
                start: capture.start,
                end: capture.end,
                is_complete: capture.is_closed,
                parent: capture.parent,
            })
            .collect();
        Ok(Some(ParseTree { nodes }))
    }
}

impl Matcher {
    /// The text so far; `None` if a part of the history was dropped. Tokens without text have no bytes in it.
    #[must_use]
    pub fn text(&self) -> Option<Vec<u8>> {
        let vocabulary = self.compiled().vocabulary();
        let mut text = Vec::new();
        for step in self.steps()? {
            match step {
                MatcherStep::Token(id) => text.extend_from_slice(vocabulary.token(id).unwrap_or_default()),
                MatcherStep::Bytes(bytes) => text.extend_from_slice(bytes),
            }
        }
        Some(text)
    }

    /// The ways to read the text as lexemes; see [`Engine::readings`](crate::Engine::readings). None if a part of the
    /// history was dropped.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn readings(&self) -> Result<Vec<LexerReading>, GrammarError> {
        let Some(text) = self.text() else { return Ok(Vec::new()) };
        self.cache().engine().readings(&text).map_err(|limit| self.cache().limit_error(limit))
    }
}
