//! The lexemes and the derivation of a text, for people who look at a grammar.

use std::sync::Arc;

/// A lexeme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexeme {
    /// The terminal.
    pub terminal: Arc<str>,
    /// Start, in bytes.
    pub start: usize,
    /// End, exclusive.
    pub end: usize,
}

/// The lexeme at the end of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenLexeme {
    /// Start, in bytes.
    pub start: usize,
    /// The terminals that it can still become, in matching order. Empty before the first byte of a text.
    pub terminals: Vec<Arc<str>>,
    /// The terminal that it is if it ends here.
    pub complete_as: Option<Arc<str>>,
}

/// One way to read a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LexerReading {
    /// The lexemes that have ended, ignored ones included.
    pub lexemes: Vec<Lexeme>,
    /// The lexeme at the end.
    pub open: OpenLexeme,
    /// The symbols on the parser's stack, from the bottom; empty with the Earley parser.
    pub stack: Vec<Arc<str>>,
    /// The derivation of the lexemes, as far as the parser has built it; `None` with the Earley parser.
    pub tree: Option<ParseTree>,
}

/// A node of a derivation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseNode {
    /// The name of the rule or the terminal.
    pub name: Arc<str>,
    /// Whether it is a terminal.
    pub is_terminal: bool,
    /// Start, in bytes.
    pub start: usize,
    /// End, exclusive.
    pub end: usize,
    /// Whether the node has ended; otherwise it can continue at the end of the text.
    pub is_complete: bool,
    /// Index of the node above it in the list; `None` for the root.
    pub parent: Option<usize>,
}

/// A derivation: its nodes, each after the node above it and after all nodes before it in the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParseTree {
    /// The nodes.
    pub nodes: Vec<ParseNode>,
}
