//! The intermediate representation of grammars: front ends produce it, and lowering consumes it.
//!
//! A [`Grammar`] is a list of [`Definition`]s, whose right-hand sides are trees of [`Node`]s in one arena: terminals,
//! nonterminals, sequences, choices, counted repetitions, [`Selection`]s, and [`values`]. A [`Terminal`] is a regular
//! language over bytes, as a term in a [`Terms`] arena, or a set of whole tokens of the vocabulary. The representation
//! is small on purpose: front ends translate every convenience of their notation to these nodes, and lowering alone
//! knows how they become plain productions.
//!
//! Invariants:
//!
//! - The children of a node have smaller ids than the node, so a traversal is a loop over ids, and nothing recurses on
//!   user input.
//! - A grammar describes a language. Stop tokens, token budgets and temperatures are not part of it.
//! - Every node and definition has a span in the source text, so that all later stages can report locations.
//!
//! Front ends use [`GrammarBuilder`]. A selection is the one construct without an equivalent of reasonable size in
//! plain productions: parts in any order, with conditions on their combinations. Its conditions are Horn clauses,
//! decided by unit propagation (Dowling and Gallier 1984). [`values`] are the constructs beyond context-free languages:
//! texts that must not, or must, repeat the value of an earlier one. [`Grammar::encoded`] replaces the terminals by their
//! inverse images under an encoding. [`RuleLanguages`] are the regular languages of rules, for limits of their texts.
//! [`directives`] are the statements about a lexer that KBNF and GBNF share.
#![forbid(unsafe_code)]

pub mod bindings;
mod builder;
pub mod directives;
mod encoded;
mod extract;
mod printer;
mod regular;
mod selection;
mod text_places;
pub mod values;

pub use builder::GrammarBuilder;
pub use extract::ExtractedGrammar;
use grammask_collections::id_type;
use grammask_diagnostics::Span;
pub use printer::{quote_bytes, quote_text, repetition_suffix};
pub use regular::{CompleteRule, NotRegular, RuleLanguages};
pub use selection::{Clause, PartCountBounds, PartId, PartOrder, Selection, SelectionState};

pub use bindings::{Binding, BindingKind};
pub use text_places::{TextPlace, TextPlaces};
pub use values::{ValueCondition, ValueEquality, ValueKind, ValueSupply};

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
    /// An embedded grammar of a [`Grammar`].
    EmbeddedId
}
id_type! {
    /// A node of a right-hand side in a [`Grammar`].
    NodeId
}

/// A reference to a token of the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenReference {
    /// By name, for example `<|eot|>`. Resolved when the grammar is compiled for a vocabulary.
    Name(String),
    /// By id.
    Id(u32),
    /// By name or text: the special token of this name, or else the only token with this text.
    Written(String),
}

/// A set of tokens, or the complement of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenSelection {
    /// Whether the set consists of the listed tokens or of all others.
    pub sense: TokenSense,
    /// Single tokens.
    pub tokens: Box<[TokenReference]>,
    /// Ranges of ids, both ends included.
    pub ranges: Box<[(u32, u32)]>,
}

/// The meaning of a list of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenSense {
    /// The listed tokens.
    Listed,
    /// All tokens with text and all special tokens that are not listed; never an end token.
    Others,
}

/// A terminal: a regular language over bytes, or a set of tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Terminal {
    /// Exactly these bytes.
    Literal(Box<[u8]>),
    /// Any word of a regular language.
    Regular(TermId),
    /// Any word of a regular language that overlaps at most `tokens` tokens of the model. A token counts if at least
    /// one of its bytes belongs to the word. After a token, a word goes on only if the tokens that are left can spell
    /// the shortest word that completes it, so it can always be ended in time.
    Limited {
        /// The language.
        term: TermId,
        /// Maximum number of tokens.
        tokens: u32,
    },
    /// Exactly this token, as a whole, by id: other tokens with the same text do not match.
    Token(TokenReference),
    /// Any token that has text.
    AnyToken,
    /// Any token of a set, as a whole.
    OneOf(Box<TokenSelection>),
    /// Any text of an embedded grammar. With `tokens`, one that overlaps at most this number of tokens of the model, as for
    /// [`Terminal::Limited`].
    Embedded {
        /// The grammar.
        grammar: EmbeddedId,
        /// Maximum number of tokens.
        tokens: Option<u32>,
    },
}

/// The kinds of text of an embedded grammar: one that has a recogniser of its own, which is passed with the grammar.
/// Every prefix of its texts is the prefix of a finite text, or of an infinite one, and it has a finite text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EmbeddedTexts {
    /// Whether the empty text is one.
    pub empty: bool,
    /// Whether a finite nonempty text is one.
    pub nonempty: bool,
}

/// A terminal with its notation in the grammar.
#[derive(Clone, Debug)]
pub struct TerminalDefinition {
    /// The terminal.
    pub terminal: Terminal,
    /// Its notation in the grammar, for messages.
    pub label: Arc<str>,
}

/// The name of a nonterminal and its first occurrence.
#[derive(Clone, Debug)]
pub struct NonterminalDefinition {
    /// The name.
    pub name: Arc<str>,
    /// The first definition, or the first use if there is no definition.
    pub span: Span,
    /// Whether the author of the grammar defined it. Rules that a pass adds have a definition only.
    pub defined: bool,
}

/// A node of a right-hand side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A terminal.
    Terminal(TerminalId),
    /// A reference to the definitions of a nonterminal.
    Nonterminal(NonterminalId),
    /// The concatenation of nodes; the empty text if there are none.
    Sequence(Box<[NodeId]>),
    /// Any one of the nodes.
    Choice(Box<[NodeId]>),
    /// `min` to `max` consecutive copies; unbounded without `max`.
    Repeat {
        /// The repeated node.
        node: NodeId,
        /// Minimum number of copies.
        min: u32,
        /// Maximum number of copies.
        max: Option<u32>,
    },
    /// One or more parts with separators between them.
    Selection {
        /// The possible combinations and orders of parts.
        selection: Arc<Selection>,
        /// The parts. Each derives a finite text, and does not derive the empty one.
        parts: Box<[NodeId]>,
        /// The separator. It derives a finite text, and does not derive the empty one.
        separator: NodeId,
    },
    /// A text of the node that begins with an empty set of remembered values. See [`values`].
    Scope(NodeId),
    /// A text of a node whose value satisfies a condition on the remembered values of the nearest scope. See
    /// [`values`].
    Value {
        /// The node. It does not derive the empty text.
        node: NodeId,
        /// The condition.
        condition: ValueCondition,
    },
    /// A text that is bound to a name, or compared with one. Lowering replaces it by values. See [`bindings`].
    Binding(Binding),
}

impl Node {
    /// The nodes that a node is made of, in the order of their texts; the separator of a selection is the last one.
    pub fn children(&self) -> impl Iterator<Item = NodeId> + '_ {
        let (nodes, last): (&[NodeId], _) = match self {
            Self::Terminal(_) | Self::Nonterminal(_) => (&[], None),
            Self::Sequence(parts) | Self::Choice(parts) => (parts, None),
            Self::Repeat { node, .. } | Self::Scope(node) | Self::Value { node, .. } => {
                (std::slice::from_ref(node), None)
            }
            Self::Selection { parts, separator, .. } => (parts, Some(*separator)),
            Self::Binding(binding) => (binding.node.as_slice(), None),
        };
        nodes.iter().copied().chain(last)
    }

    /// The node with other children.
    #[must_use]
    pub fn map_children(&self, map: impl Fn(NodeId) -> NodeId) -> Self {
        let mut node = self.clone();
        match &mut node {
            Self::Terminal(_) | Self::Nonterminal(_) => {}
            Self::Sequence(parts) | Self::Choice(parts) => {
                parts.iter_mut().for_each(|part| *part = map(*part));
            }
            Self::Repeat { node, .. } | Self::Scope(node) | Self::Value { node, .. } => *node = map(*node),
            Self::Selection { parts, separator, .. } => {
                parts.iter_mut().chain([separator]).for_each(|part| *part = map(*part));
            }
            Self::Binding(binding) => binding.node = binding.node.map(map),
        }
        node
    }
}

/// `lhs ::= body`; several definitions of one nonterminal are alternatives.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The defined nonterminal.
    pub lhs: NonterminalId,
    /// The right-hand side.
    pub body: NodeId,
    /// Location in the source text.
    pub span: Span,
}

/// A grammar. Front ends make it with [`GrammarBuilder`]; the fields are public for the passes of lowering that
/// rewrite it.
#[derive(Clone, Debug)]
pub struct Grammar {
    /// The arena of the terminals' languages.
    pub terms: Terms,
    /// Terminals, by [`TerminalId`].
    pub terminals: Vec<TerminalDefinition>,
    /// Nonterminals, by [`NonterminalId`].
    pub nonterminals: Vec<NonterminalDefinition>,
    /// Nodes of right-hand sides, by [`NodeId`]; children precede their parents.
    pub nodes: Vec<Node>,
    /// The span of each node.
    pub spans: Vec<Span>,
    /// The texts of embedded grammars, by [`EmbeddedId`].
    pub embedded: Vec<EmbeddedTexts>,
    /// Definitions, in source order. A nonterminal may have several.
    pub definitions: Vec<Definition>,
    /// The start symbol.
    pub start: NonterminalId,
    /// The source text.
    pub source: Arc<str>,
    /// The places of texts in the source, if the front end knows them.
    pub places: Option<Arc<dyn TextPlaces>>,
}

impl Grammar {
    /// The arena of the terminals' languages.
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

    /// All nodes; children precede their parents.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The span of a node.
    #[must_use]
    pub fn span(&self, node: NodeId) -> Span {
        self.spans[node.index()]
    }

    /// All definitions, in source order.
    #[must_use]
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// The texts of embedded grammars.
    #[must_use]
    pub fn embedded(&self) -> &[EmbeddedTexts] {
        &self.embedded
    }

    /// The start symbol.
    #[must_use]
    pub fn start(&self) -> NonterminalId {
        self.start
    }

    /// The source text; empty if there is none.
    #[must_use]
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }
}
