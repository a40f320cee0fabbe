//! The grammar between the passes of lowering: plain productions instead of nested right-hand sides.

use std::fmt;
use std::sync::Arc;

use grammask_automata::Automata;
use grammask_collections::graph::{AdjacencyList, components_of};
use grammask_grammar::{
    EmbeddedTexts, NonterminalId, Selection, Terminal, TerminalDefinition, TerminalId, ValueCondition,
    repetition_suffix,
};

use super::merged_parts::Merges;

/// A grammar symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    /// A terminal.
    Terminal(TerminalId),
    /// A nonterminal.
    Nonterminal(NonterminalId),
}

/// The right-hand sides of a nonterminal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Body {
    /// Alternative sequences. An empty sequence derives the empty text; without a sequence the nonterminal is
    /// unproductive.
    Alternatives(Vec<Vec<Symbol>>),
    /// `min` to `max` copies of a symbol. Bounded repetitions keep this form in the normal form, which counts copies
    /// in the dot: `{1,1000000}` costs no more than `{1,2}`.
    Repeat {
        /// The repeated symbol.
        symbol: Symbol,
        /// Minimum number of copies.
        min: u32,
        /// Maximum number of copies.
        max: Option<u32>,
    },
    /// A selection of the parts, at least one, with a separator between each two. Selections keep this form in the
    /// normal form, whose states are created lazily. Parts and separator derive nonempty finite texts only.
    Selection {
        /// The conditions on the selected parts and their order.
        selection: Arc<Selection>,
        /// The parts.
        parts: Vec<Symbol>,
        /// The symbol between two parts.
        separator: Symbol,
    },
    /// A text of a symbol with a set of remembered values of its own. No pass looks through scopes and values.
    Scope(Symbol),
    /// A text of a symbol whose value satisfies a condition.
    Value {
        /// The symbol. It does not derive the empty text.
        symbol: Symbol,
        /// The condition.
        condition: ValueCondition,
    },
}

impl Body {
    /// The alternative sequences; empty for other bodies.
    #[must_use]
    pub fn alternatives(&self) -> &[Vec<Symbol>] {
        match self {
            Self::Alternatives(alternatives) => alternatives,
            Self::Repeat { .. } | Self::Selection { .. } | Self::Scope(_) | Self::Value { .. } => &[],
        }
    }

    /// Calls `visit` with all symbols in order, with repetition. Cheaper than the iterator of [`Self::symbols`].
    pub fn for_each_symbol(&self, mut visit: impl FnMut(Symbol)) {
        match self {
            Self::Alternatives(alternatives) => {
                for symbols in alternatives {
                    symbols.iter().for_each(|&symbol| visit(symbol));
                }
            }
            Self::Repeat { symbol, .. } | Self::Scope(symbol) | Self::Value { symbol, .. } => visit(*symbol),
            Self::Selection { parts, separator, .. } => {
                parts.iter().for_each(|&symbol| visit(symbol));
                visit(*separator);
            }
        }
    }

    /// All symbols in order, with repetition.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        let (parts, single) = match self {
            Self::Repeat { symbol, .. } | Self::Scope(symbol) | Self::Value { symbol, .. } => {
                (&[][..], Some(*symbol))
            }
            Self::Selection { parts, separator, .. } => (&parts[..], Some(*separator)),
            Self::Alternatives(_) => (&[][..], None),
        };
        self.alternatives().iter().flatten().chain(parts).copied().chain(single)
    }

    /// Replaces every symbol.
    pub fn map(&mut self, mut replace: impl FnMut(Symbol) -> Symbol) {
        match self {
            Self::Repeat { symbol, .. } | Self::Scope(symbol) | Self::Value { symbol, .. } => {
                *symbol = replace(*symbol);
            }
            Self::Selection { parts, separator, .. } => {
                for symbol in parts.iter_mut().chain([separator]) {
                    *symbol = replace(*symbol);
                }
            }
            Self::Alternatives(alternatives) => {
                for symbol in alternatives.iter_mut().flatten() {
                    *symbol = replace(*symbol);
                }
            }
        }
    }
}

/// A nonterminal with its right-hand sides.
#[derive(Clone, Debug)]
pub struct LoweredRule {
    /// Its name. Generated names contain a full stop.
    pub name: Arc<str>,
    /// Its right-hand sides.
    pub body: Body,
}

impl LoweredRule {
    /// Whether the name is the user's, not a generated one.
    #[must_use]
    pub fn is_named_by_user(&self) -> bool {
        !self.name.contains('.')
    }
}

/// All productions of a grammar during lowering.
#[derive(Clone, Debug)]
pub struct Productions {
    /// The regular languages of the terminals.
    pub automata: Automata,
    /// Terminals, by [`TerminalId`].
    pub terminals: Vec<TerminalDefinition>,
    /// The languages that were merged from others.
    pub merges: Merges,
    /// The texts of embedded grammars.
    pub embedded: Vec<EmbeddedTexts>,
    /// Rules, by [`NonterminalId`]. Unreachable rules keep their ids with an empty body until the normal form is
    /// numbered.
    pub rules: Vec<LoweredRule>,
    /// The start symbol.
    pub start: NonterminalId,
    /// Whether the empty text is in the language; set when nullable symbols are eliminated.
    pub start_is_nullable: bool,
}

impl Productions {
    /// The body of a nonterminal.
    #[must_use]
    pub fn body(&self, nonterminal: NonterminalId) -> &Body {
        &self.rules[nonterminal.index()].body
    }

    /// Adds a rule.
    pub fn add_rule(&mut self, name: Arc<str>, body: Body) -> NonterminalId {
        self.rules.push(LoweredRule { name, body });
        NonterminalId::new(self.rules.len() - 1)
    }

    /// Adds a terminal.
    pub fn add_terminal(&mut self, terminal: Terminal, label: Arc<str>) -> TerminalId {
        self.terminals.push(TerminalDefinition { terminal, label });
        TerminalId::new(self.terminals.len() - 1)
    }

    /// The kinds of text that a terminal matches.
    ///
    /// # Errors
    /// When an automaton exceeds the limit on states.
    pub fn terminal_kinds(
        &mut self,
        id: TerminalId,
    ) -> Result<TextKinds, grammask_diagnostics::LimitExceeded> {
        let term = match self.terminals[id.index()].terminal {
            Terminal::Literal(ref bytes) => {
                return Ok(TextKinds { empty: bytes.is_empty(), nonempty: !bytes.is_empty() });
            }
            Terminal::Token(_) | Terminal::AnyToken | Terminal::OneOf(_) => {
                return Ok(TextKinds { empty: false, nonempty: true });
            }
            Terminal::Embedded { grammar, tokens } => {
                let EmbeddedTexts { empty, nonempty } = self.embedded[grammar.index()];
                return Ok(TextKinds { empty, nonempty: nonempty && tokens != Some(0) });
            }
            Terminal::Regular(term) => term,
            Terminal::Limited { term, tokens } => {
                if tokens == 0 {
                    return Ok(TextKinds { empty: self.automata.terms().is_nullable(term), nonempty: false });
                }
                term
            }
        };
        let empty = self.automata.terms().is_nullable(term);
        let nonempty = match self.automata.start(term)? {
            // A live state that does not accept continues.
            Some(state) => !empty || self.automata.continues(state)?,
            None => false,
        };
        Ok(TextKinds { empty, nonempty })
    }

    /// The name of a nonterminal, or the label of a terminal.
    #[must_use]
    pub fn symbol_name(&self, symbol: Symbol) -> &str {
        match symbol {
            Symbol::Terminal(id) => &self.terminals[id.index()].label,
            Symbol::Nonterminal(id) => &self.rules[id.index()].name,
        }
    }

    /// All rules in an order in which rules precede their users; mutually recursive rules are adjacent.
    pub(crate) fn bottom_up(&self) -> Vec<usize> {
        let mut used = AdjacencyList::with_capacity(self.rules.len());
        for rule in &self.rules {
            rule.body.for_each_symbol(|symbol| {
                if let Symbol::Nonterminal(id) = symbol {
                    used.push(id.index());
                }
            });
            used.end_node();
        }
        let components = components_of(&used);
        // Counting sort: components are numbered without gaps.
        let mut starts = vec![0_usize; components.count + 1];
        for &component in &components.of_node {
            starts[component + 1] += 1;
        }
        for component in 0..components.count {
            starts[component + 1] += starts[component];
        }
        let mut order = vec![0; self.rules.len()];
        for (rule, &component) in components.of_node.iter().enumerate() {
            order[starts[component]] = rule;
            starts[component] += 1;
        }
        order
    }

    /// Whether each nonterminal is reachable from the start symbol, by id.
    #[must_use]
    pub fn reachable(&self) -> Vec<bool> {
        self.reachable_from(self.start)
    }

    /// Whether each nonterminal is reachable from `root`, by id. The root is.
    #[must_use]
    pub fn reachable_from(&self, root: NonterminalId) -> Vec<bool> {
        let mut reached = vec![false; self.rules.len()];
        let mut stack = vec![root];
        reached[root.index()] = true;
        while let Some(id) = stack.pop() {
            self.body(id).for_each_symbol(|symbol| {
                if let Symbol::Nonterminal(next) = symbol
                    && !std::mem::replace(&mut reached[next.index()], true)
                {
                    stack.push(next);
                }
            });
        }
        reached
    }
}

/// The kinds of finite text that a symbol derives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextKinds {
    /// It derives the empty text.
    pub empty: bool,
    /// It derives a nonempty text.
    pub nonempty: bool,
}

impl fmt::Display for Productions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reached = self.reachable();
        let order = std::iter::once(self.start.index())
            .chain((0..self.rules.len()).filter(|&index| index != self.start.index()));
        for index in order.filter(|&index| reached[index]) {
            let rule = &self.rules[index];
            write!(f, "{} ::= ", rule.name)?;
            match &rule.body {
                Body::Repeat { symbol, min, max } => {
                    write!(f, "{}{}", self.symbol_name(*symbol), repetition_suffix(*min, *max))?;
                }
                Body::Scope(symbol) => write!(f, "scope({})", self.symbol_name(*symbol))?,
                Body::Value { symbol, condition } => {
                    write!(f, "{}({})", condition.kind.name(), self.symbol_name(*symbol))?;
                }
                Body::Selection { parts, separator, .. } => {
                    let names: Vec<&str> = parts.iter().map(|&part| self.symbol_name(part)).collect();
                    write!(f, "({}) % {}", names.join(" & "), self.symbol_name(*separator))?;
                }
                Body::Alternatives(alternatives) => {
                    for (position, alternative) in alternatives.iter().enumerate() {
                        if position > 0 {
                            f.write_str(" | ")?;
                        }
                        let names: Vec<&str> =
                            alternative.iter().map(|&symbol| self.symbol_name(symbol)).collect();
                        f.write_str(if names.is_empty() { "\"\"" } else { "" })?;
                        f.write_str(&names.join(" "))?;
                    }
                }
            }
            f.write_str(";\n")?;
        }
        if self.start_is_nullable {
            f.write_str("(* and the empty text *)\n")?;
        }
        Ok(())
    }
}
