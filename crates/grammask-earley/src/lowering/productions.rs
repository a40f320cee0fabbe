//! The grammar while it is lowered: plain productions instead of nested right-hand sides.

use std::fmt;
use std::sync::Arc;

use grammask_automata::Automata;
use grammask_collections::graph::{AdjacencyList, components_of};
use grammask_grammar::{
    NonterminalId, Selection, Terminal, TerminalDefinition, TerminalId, repetition_suffix,
};

/// A grammar symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    /// A leaf.
    Terminal(TerminalId),
    /// A nonterminal.
    Nonterminal(NonterminalId),
}

/// What a nonterminal derives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Body {
    /// One of these sequences; an empty sequence is the empty text, no sequence at all is nothing.
    Alternatives(Vec<Vec<Symbol>>),
    /// `min` to `max` copies of a symbol. Bounded repetitions stay in this form down to the recogniser, which
    /// counts copies in the dot: `{1,1000000}` costs no more than `{1,2}`.
    Repeat {
        /// What is repeated.
        symbol: Symbol,
        /// The fewest copies.
        min: u32,
        /// The most copies.
        max: Option<u32>,
    },
    /// Some parts, at least one, with a separator between each two. It stays in this form down to the recogniser, which
    /// makes the states that texts reach. Parts and separator derive finite texts only, and not the empty one.
    Selection {
        /// Which parts come, in which order.
        selection: Arc<Selection>,
        /// The parts.
        parts: Vec<Symbol>,
        /// What stands between two of them.
        separator: Symbol,
    },
}

impl Body {
    /// The sequences, if it is made of sequences.
    #[must_use]
    pub fn alternatives(&self) -> &[Vec<Symbol>] {
        match self {
            Self::Alternatives(alternatives) => alternatives,
            Self::Repeat { .. } | Self::Selection { .. } => &[],
        }
    }

    /// Every symbol in it, in order, with repetition.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        let (parts, single) = match self {
            Self::Repeat { symbol, .. } => (&[][..], Some(*symbol)),
            Self::Selection { parts, separator, .. } => (&parts[..], Some(*separator)),
            Self::Alternatives(_) => (&[][..], None),
        };
        self.alternatives().iter().flatten().chain(parts).copied().chain(single)
    }

    /// The same with every symbol replaced.
    pub fn map(&mut self, mut replace: impl FnMut(Symbol) -> Symbol) {
        match self {
            Self::Repeat { symbol, .. } => *symbol = replace(*symbol),
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

/// A nonterminal and what it derives.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name; names that lowering made contain a full stop.
    pub name: Arc<str>,
    /// What it derives.
    pub body: Body,
}

impl Rule {
    /// Whether the user wrote the name, rather than lowering.
    #[must_use]
    pub fn is_named_by_user(&self) -> bool {
        !self.name.contains('.')
    }
}

/// All productions of a grammar on its way down.
#[derive(Clone, Debug)]
pub struct Productions {
    /// The regular languages of the terminals.
    pub automata: Automata,
    /// Terminals, by [`TerminalId`].
    pub terminals: Vec<TerminalDefinition>,
    /// Rules, by [`NonterminalId`]; rules that became unreachable stay as empty bodies until the numbering.
    pub rules: Vec<Rule>,
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
        self.rules.push(Rule { name, body });
        NonterminalId::new(self.rules.len() - 1)
    }

    /// Adds a terminal.
    pub fn add_terminal(&mut self, terminal: Terminal, label: Arc<str>) -> TerminalId {
        self.terminals.push(TerminalDefinition { terminal, label });
        TerminalId::new(self.terminals.len() - 1)
    }

    /// How a terminal's text can be: whether it can be empty, whether it can be nonempty.
    ///
    /// # Errors
    /// When an automaton passes the limit on states.
    pub fn terminal_shape(&mut self, id: TerminalId) -> Result<Shape, grammask_diagnostics::LimitExceeded> {
        let term = match self.terminals[id.index()].terminal {
            Terminal::Literal(ref bytes) => {
                return Ok(Shape { empty: bytes.is_empty(), nonempty: !bytes.is_empty() });
            }
            Terminal::Token(_) | Terminal::AnyToken | Terminal::OneOf(_) => {
                return Ok(Shape { empty: false, nonempty: true });
            }
            Terminal::Regular(term) => term,
            Terminal::Limited { term, tokens } => {
                if tokens == 0 {
                    return Ok(Shape { empty: self.automata.terms().is_nullable(term), nonempty: false });
                }
                term
            }
        };
        let empty = self.automata.terms().is_nullable(term);
        let nonempty = match self.automata.start(term)? {
            Some(state) => self.automata.continues(state)?,
            None => false,
        };
        Ok(Shape { empty, nonempty })
    }

    /// How a symbol reads.
    #[must_use]
    pub fn symbol_name(&self, symbol: Symbol) -> &str {
        match symbol {
            Symbol::Terminal(id) => &self.terminals[id.index()].label,
            Symbol::Nonterminal(id) => &self.rules[id.index()].name,
        }
    }

    /// All rules, parts before the rules that use them; rules that use each other stand together.
    pub(crate) fn bottom_up(&self) -> Vec<usize> {
        let mut used = AdjacencyList::with_capacity(self.rules.len());
        for rule in &self.rules {
            rule.body.symbols().for_each(|symbol| {
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

    /// Nonterminals that the start symbol reaches, itself included, as a table by id.
    #[must_use]
    pub fn reachable(&self) -> Vec<bool> {
        self.reachable_from(self.start)
    }

    /// Nonterminals that `root` reaches, itself included, as a table by id.
    #[must_use]
    pub fn reachable_from(&self, root: NonterminalId) -> Vec<bool> {
        let mut reached = vec![false; self.rules.len()];
        let mut stack = vec![root];
        reached[root.index()] = true;
        while let Some(id) = stack.pop() {
            self.body(id).symbols().for_each(|symbol| {
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

/// Which kinds of text a symbol derives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
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
