//! The one small intermediate representation that every front end produces and the lowering consumes.
//!
//! A [`Grammar`] is a list of definitions over an arena of [`Node`]s. Children always have smaller ids than
//! their parents, so every traversal is a loop over ids and nothing recurses on user input. Terminals are
//! regular languages over bytes, kept as terms in a [`Terms`] arena, or references to whole tokens of the
//! vocabulary. Stop tokens, budgets and temperatures never enter this representation.
#![forbid(unsafe_code)]

mod builder;
pub mod directives;
mod printer;
mod selection;

pub use builder::GrammarBuilder;
use grammask_collections::id_type;
use grammask_diagnostics::Span;
pub use printer::{quote_bytes, quote_text, repetition_suffix};
pub use selection::{Clause, PartId, PartOrder, Progress, Selection};

use std::sync::Arc;

use grammask_automata::{TermId, Terms};

id_type! {
    /// A nonterminal of a [`Grammar`].
    NonterminalId
}
id_type! {
    /// A terminal of a [`Grammar`].
    TerminalId
}
id_type! {
    /// A node of a right-hand side in a [`Grammar`].
    NodeId
}

/// A token of the vocabulary, named in a grammar.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenReference {
    /// By name, for example `<|eot|>`; resolved when the grammar meets a vocabulary.
    Name(String),
    /// By id.
    Id(u32),
    /// By what is written: the special token of this name, or else the only token with this text.
    Written(String),
}

/// Some of the tokens of a vocabulary, by what a grammar lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenSelection {
    /// Whether these tokens are meant or all others.
    pub sense: TokenSense,
    /// Single tokens.
    pub tokens: Box<[TokenReference]>,
    /// Ranges of ids, both ends included.
    pub ranges: Box<[(u32, u32)]>,
}

/// Which tokens a list of tokens stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenSense {
    /// The listed ones.
    Listed,
    /// All tokens with text and all special tokens that are not listed; never an end token.
    Others,
}

/// What a terminal matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Terminal {
    /// Exactly these bytes.
    Literal(Box<[u8]>),
    /// Any word of a regular language.
    Regular(TermId),
    /// Any word of a regular language that spreads over at most `tokens` tokens of the model. A token counts
    /// as soon as one of its bytes belongs to the word.
    Limited {
        /// The language.
        term: TermId,
        /// The most tokens.
        tokens: u32,
    },
    /// Exactly this token, as a whole: its id counts, its text does not.
    Token(TokenReference),
    /// Any one token that has text.
    AnyToken,
    /// Any one of some tokens, as a whole.
    OneOf(Box<TokenSelection>),
}

/// A terminal with the text that its grammar used for it.
#[derive(Clone, Debug)]
pub struct TerminalDefinition {
    /// What it matches.
    pub terminal: Terminal,
    /// How the grammar writes it, for people.
    pub label: Arc<str>,
}

/// A nonterminal's name and where it first occurs.
#[derive(Clone, Debug)]
pub struct NonterminalDefinition {
    /// The name.
    pub name: Arc<str>,
    /// First definition, or first use while there is none.
    pub span: Span,
    /// Whether there is a definition.
    pub defined: bool,
}

/// A part of a right-hand side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A leaf.
    Terminal(TerminalId),
    /// A reference to the definitions of a nonterminal.
    Nonterminal(NonterminalId),
    /// All of them in order; none is the empty text.
    Sequence(Box<[NodeId]>),
    /// One of them.
    Choice(Box<[NodeId]>),
    /// `min` to `max` copies in a row; no `max` means any number.
    Repeat {
        /// What is repeated.
        node: NodeId,
        /// The fewest copies.
        min: u32,
        /// The most copies.
        max: Option<u32>,
    },
    /// Some parts, at least one, with a separator between each two.
    Selection {
        /// Which parts come, in which order.
        selection: Arc<Selection>,
        /// The parts. Each derives a finite text, and not the empty one.
        parts: Box<[NodeId]>,
        /// What stands between two of them; derives a finite text, and not the empty one.
        separator: NodeId,
    },
}

/// `lhs ::= body`; several definitions of one nonterminal are alternatives.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The defined nonterminal.
    pub lhs: NonterminalId,
    /// Its right-hand side.
    pub body: NodeId,
    /// Where it stands.
    pub span: Span,
}

/// A grammar as a front end delivers it. Front ends make it with [`GrammarBuilder`]; the fields are public for the passes of
/// lowering that rewrite it.
#[derive(Clone, Debug)]
pub struct Grammar {
    /// The arena of the regular languages.
    pub terms: Terms,
    /// Terminals, by [`TerminalId`].
    pub terminals: Vec<TerminalDefinition>,
    /// Nonterminals, by [`NonterminalId`].
    pub nonterminals: Vec<NonterminalDefinition>,
    /// Nodes of right-hand sides, by [`NodeId`]; children precede their parents.
    pub nodes: Vec<Node>,
    /// Source span of each node.
    pub spans: Vec<Span>,
    /// Definitions, in source order. A nonterminal may have several.
    pub definitions: Vec<Definition>,
    /// The start symbol.
    pub start: NonterminalId,
    /// The source text.
    pub source: Arc<str>,
}

impl Grammar {
    /// The arena of all regular languages of the grammar.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// All terminals.
    #[must_use]
    pub fn terminals(&self) -> &[TerminalDefinition] {
        &self.terminals
    }

    /// All nonterminals.
    #[must_use]
    pub fn nonterminals(&self) -> &[NonterminalDefinition] {
        &self.nonterminals
    }

    /// All nodes; the children of a node come before it.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Where a node stands in the source text.
    #[must_use]
    pub fn span(&self, node: NodeId) -> Span {
        self.spans[node.index()]
    }

    /// All definitions, in the order of the source text.
    #[must_use]
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// The start symbol.
    #[must_use]
    pub fn start(&self) -> NonterminalId {
        self.start
    }

    /// The text the grammar was made from; empty if there is none.
    #[must_use]
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }
}
