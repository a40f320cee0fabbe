//! The normal form, which the recogniser reads: compact, immutable, without nullable symbols.
//!
//! A *dot* is a position in a production; dots are numbered consecutively through all productions. The dots of a
//! counted repetition take no memory, so its bounds cost nothing.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_automata::Terms;
use grammask_collections::id_type;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{NonterminalId, Selection, Terminal, TerminalDefinition, TerminalId, ValueCondition};

use super::merged_parts::PartSequence;
use super::productions::Symbol;
use super::selection_dots::{Expanded, SelectionDots, SelectionNext};

id_type! {
    /// A production of a [`NormalForm`].
    ProductionId
}

/// A position before a symbol in a production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DotId(pub(crate) u32);

/// The right-hand side of a production.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RightHandSide {
    /// These symbols, at least one.
    Sequence(Box<[Symbol]>),
    /// `min` (at least 1) to `max` copies.
    Repeat {
        /// The repeated symbol.
        symbol: Symbol,
        /// Minimum number of copies.
        min: u32,
        /// Maximum number of copies.
        max: Option<u32>,
    },
    /// A selection of the parts, at least one, with a separator between each two.
    Selection {
        /// The conditions on the selected parts and their order.
        selection: Arc<Selection>,
        /// The parts, all of them nonterminals.
        parts: Box<[Symbol]>,
        /// The symbol between two parts.
        separator: Symbol,
    },
    /// A text of a nonterminal with a set of remembered values of its own. The second dot is the end of the scope.
    Scope(Symbol),
    /// A text of a symbol whose value satisfies a condition.
    Value {
        /// The symbol.
        symbol: Symbol,
        /// The condition.
        condition: ValueCondition,
    },
}

impl RightHandSide {
    /// All symbols in order, with repetition.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        let (symbols, last): (&[Symbol], _) = match self {
            Self::Sequence(symbols) => (symbols, None),
            Self::Repeat { symbol, .. } | Self::Scope(symbol) | Self::Value { symbol, .. } => {
                (std::slice::from_ref(symbol), None)
            }
            Self::Selection { parts, separator, .. } => (parts, Some(*separator)),
        };
        symbols.iter().copied().chain(last)
    }
}

/// A production `lhs -> rhs`.
#[derive(Clone, Debug)]
pub struct Production {
    /// Left-hand side.
    pub lhs: NonterminalId,
    /// Right-hand side.
    pub rhs: RightHandSide,
    /// The dot before the first symbol.
    pub first_dot: DotId,
}

/// The effect of moving a dot over the symbol after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// Whether the production can end there.
    pub completes: bool,
    /// The dot before the next symbol, if there can be one.
    pub next: Option<DotId>,
}

/// Maximum number of dots with a precomputed kind.
pub(super) const MAX_DOT_KINDS: u32 = 1 << 15;

/// The kind of a dot, precomputed because most queries need no more.
#[derive(Clone, Copy, Debug)]
pub(super) enum DotKind {
    /// Before this symbol of a sequence, which is not its last.
    Inner(Symbol),
    /// Before the last symbol of a sequence.
    Last(Symbol),
    /// In a repetition or a selection.
    Other,
}

/// Number of dots per block of the index from dots to productions.
pub(super) const BLOCK: u32 = 16;

/// Maximum number of blocks in the index: repetitions with large bounds have many dots.
pub(super) const MAX_BLOCKS: usize = 1 << 16;

/// A lowered grammar.
#[derive(Clone, Debug)]
pub struct NormalForm {
    /// The terms of the terminals with their subterms, and no others: lowering makes many more.
    pub(crate) terms: Arc<Terms>,
    pub(crate) terminals: Vec<TerminalDefinition>,
    /// The parts of merged terminals.
    pub(crate) merged: FxHashMap<TerminalId, PartSequence>,
    pub(crate) names: Vec<Arc<str>>,
    /// Productions of each nonterminal as a range.
    pub(crate) productions_of: Vec<std::ops::Range<u32>>,
    pub(crate) productions: Vec<Production>,
    /// The production of the first dot of each of the first [`MAX_BLOCKS`] blocks.
    pub(super) blocks: Box<[u32]>,
    /// The kinds of the first dots.
    pub(super) dot_kinds: Box<[DotKind]>,
    /// The dots of selections.
    pub(super) selections: SelectionDots,
    /// The dots at the ends of scopes.
    pub(super) scope_ends: FxHashSet<DotId>,
    /// The dots before values, sorted, with their conditions.
    pub(super) values: Vec<(DotId, ValueCondition)>,
    /// Whether some values must be repeated.
    pub(super) repeats_values: bool,
    /// The dot before the start symbol in the production of the augmented grammar. `None` if the language has no
    /// nonempty text.
    pub(crate) start: Option<DotId>,
    pub(crate) start_is_nullable: bool,
}

impl NormalForm {
    /// A copy without the lazily numbered dots of selections; `None` if there are no selections.
    pub(crate) fn with_fresh_selections(&self) -> Result<Option<Self>, LimitExceeded> {
        if self.selections.is_empty() {
            return Ok(None);
        }
        let mut fresh = self.clone();
        fresh.selections = self.selections.with_first_states(&self.productions)?;
        Ok(Some(fresh))
    }

    /// Memory of the lazily numbered dots, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.selections.memory_bytes()
    }

    /// The dots at the beginning of a production.
    pub(crate) fn first_dots(&self, production: &Production) -> Result<Expanded, LimitExceeded> {
        if !matches!(production.rhs, RightHandSide::Selection { .. }) {
            return Ok(Expanded::One(Some(production.first_dot)));
        }
        let range = &self.productions_of[production.lhs.index()];
        // A selection is the only production of its nonterminal.
        self.selections.start(&self.productions, range.start)
    }

    /// The dots that a dot represents. In a selection a dot may represent several alternatives, or a state that is not
    /// numbered yet; every other dot represents itself.
    pub(crate) fn expanded(&self, dot: DotId) -> Result<Expanded, LimitExceeded> {
        if !self.selections.has(dot) {
            return Ok(Expanded::One(Some(dot)));
        }
        self.selections.expanded(&self.productions, dot)
    }

    /// The symbol after a dot of a selection, and the state.
    pub(crate) fn selection_next(&self, dot: DotId) -> SelectionNext {
        self.selections.next(&self.productions, dot)
    }

    /// Whether a dot is the end of a scope. A production is complete there.
    #[inline]
    pub(crate) fn is_scope_end(&self, dot: DotId) -> bool {
        !self.scope_ends.is_empty() && self.scope_ends.contains(&dot)
    }

    /// The condition of a nonterminal that is a value, which is its only production; `None` for others.
    pub(crate) fn value_condition(&self, nonterminal: usize) -> Option<&ValueCondition> {
        match self.productions_of(NonterminalId::new(nonterminal)) {
            [Production { rhs: RightHandSide::Value { condition, .. }, .. }] => Some(condition),
            _ => None,
        }
    }

    /// The terminal of a value that consists of one; `None` for others.
    pub(crate) fn terminal_of_value(&self, nonterminal: usize) -> Option<TerminalId> {
        let only = |id: NonterminalId| match self.productions_of(id) {
            [only] => Some(&only.rhs),
            _ => None,
        };
        let RightHandSide::Value { symbol, .. } = only(NonterminalId::new(nonterminal))? else { return None };
        match *symbol {
            Symbol::Terminal(id) => Some(id),
            Symbol::Nonterminal(id) => match only(id)? {
                RightHandSide::Sequence(symbols) => match symbols[..] {
                    [Symbol::Terminal(id)] => Some(id),
                    _ => None,
                },
                _ => None,
            },
        }
    }

    /// The dots before values, sorted, with their conditions.
    pub(crate) fn values(&self) -> &[(DotId, ValueCondition)] {
        &self.values
    }

    /// Whether some values must differ, or must be repeated.
    #[must_use]
    pub fn has_values(&self) -> bool {
        !self.values.is_empty()
    }

    /// Whether some values must be repeated.
    pub(crate) fn repeats_values(&self) -> bool {
        self.repeats_values
    }

    /// Number of nonterminals.
    #[must_use]
    pub fn nonterminal_count(&self) -> usize {
        self.names.len()
    }

    /// The productions of a nonterminal.
    pub fn productions_of(&self, nonterminal: NonterminalId) -> &[Production] {
        let range = &self.productions_of[nonterminal.index()];
        &self.productions[range.start as usize..range.end as usize]
    }

    fn kind_of(&self, dot: DotId) -> DotKind {
        self.dot_kinds.get(dot.0 as usize).copied().unwrap_or(DotKind::Other)
    }

    /// The production of a dot.
    #[must_use]
    pub fn production_of(&self, dot: DotId) -> &Production {
        if self.selections.has(dot) {
            return &self.productions[self.selections.production(dot) as usize];
        }
        let block = (dot.0 / BLOCK) as usize;
        let productions = match self.blocks.get(block..block + 2) {
            Some(&[first, last]) => &self.productions[first as usize..=last as usize],
            _ => &self.productions[..],
        };
        let after = productions.partition_point(|production| production.first_dot <= dot);
        &productions[after - 1]
    }

    /// The symbol after a dot.
    #[must_use]
    pub fn symbol_after(&self, dot: DotId) -> Symbol {
        if let DotKind::Inner(symbol) | DotKind::Last(symbol) = self.kind_of(dot) {
            return symbol;
        }
        let production = self.production_of(dot);
        match &production.rhs {
            RightHandSide::Sequence(symbols) => symbols[(dot.0 - production.first_dot.0) as usize],
            RightHandSide::Repeat { symbol, .. }
            | RightHandSide::Scope(symbol)
            | RightHandSide::Value { symbol, .. } => *symbol,
            RightHandSide::Selection { separator, .. } => {
                self.selections.symbol_after(&self.productions, dot).unwrap_or(*separator)
            }
        }
    }

    /// Moves a dot over the symbol after it.
    #[must_use]
    pub fn advance(&self, dot: DotId) -> Advance {
        match self.kind_of(dot) {
            DotKind::Inner(_) => return Advance { completes: false, next: Some(DotId(dot.0 + 1)) },
            DotKind::Last(_) => return Advance { completes: true, next: None },
            DotKind::Other => {}
        }
        if self.selections.has(dot) {
            return self.selections.advance(&self.productions, dot);
        }
        let production = self.production_of(dot);
        let read = dot.0 - production.first_dot.0 + 1;
        let at = |count: u32| Some(DotId(production.first_dot.0 + count));
        match &production.rhs {
            RightHandSide::Sequence(symbols) => {
                let completes = read as usize == symbols.len();
                Advance { completes, next: if completes { None } else { at(read) } }
            }
            RightHandSide::Repeat { min, max: Some(max), .. } => {
                Advance { completes: read >= *min, next: if read < *max { at(read) } else { None } }
            }
            RightHandSide::Repeat { min, max: None, .. } => {
                Advance { completes: read >= *min, next: at(read.min(*min)) }
            }
            RightHandSide::Scope(_) => {
                Advance { completes: read == 2, next: if read == 1 { at(1) } else { None } }
            }
            RightHandSide::Value { .. } => Advance { completes: true, next: None },
            // Dots of selections were handled above.
            RightHandSide::Selection { .. } => Advance { completes: false, next: None },
        }
    }

    /// For each nonterminal whether nothing can follow it in any text: it occurs only at the end of productions, and
    /// only of nonterminals with the same property. A greatest fixpoint, linear in the grammar.
    pub(crate) fn last_nonterminals(&self) -> Box<[bool]> {
        let mut last = vec![true; self.names.len()].into_boxed_slice();
        let mut followed = Vec::new();
        let mut follow = |symbol: Symbol, followed: &mut Vec<usize>| {
            if let Symbol::Nonterminal(id) = symbol
                && std::mem::replace(&mut last[id.index()], false)
            {
                followed.push(id.index());
            }
        };
        for production in &self.productions {
            match &production.rhs {
                RightHandSide::Sequence(symbols) => {
                    let before_last = &symbols[..symbols.len() - 1];
                    before_last.iter().for_each(|&symbol| follow(symbol, &mut followed));
                }
                RightHandSide::Repeat { symbol, .. } => follow(*symbol, &mut followed),
                RightHandSide::Scope(_) | RightHandSide::Value { .. } => {}
                RightHandSide::Selection { parts, separator, .. } => {
                    parts.iter().chain([separator]).for_each(|&symbol| follow(symbol, &mut followed));
                }
            }
        }
        while let Some(nonterminal) = followed.pop() {
            for production in self.productions_of(NonterminalId::new(nonterminal)) {
                match &production.rhs {
                    RightHandSide::Sequence(symbols) => {
                        if let Some(&symbol) = symbols.last() {
                            follow(symbol, &mut followed);
                        }
                    }
                    RightHandSide::Scope(symbol) | RightHandSide::Value { symbol, .. } => {
                        follow(*symbol, &mut followed);
                    }
                    RightHandSide::Repeat { .. } | RightHandSide::Selection { .. } => {}
                }
            }
        }
        last
    }

    /// The terminal and the bounds on the remaining copies, for a dot in a repetition of a terminal; `None` for other
    /// dots.
    #[must_use]
    pub fn copies_left(&self, dot: DotId) -> Option<(TerminalId, u32, Option<u32>)> {
        if matches!(self.kind_of(dot), DotKind::Inner(_) | DotKind::Last(_)) {
            return None;
        }
        let production = self.production_of(dot);
        let RightHandSide::Repeat { symbol: Symbol::Terminal(id), min, max } = production.rhs else {
            return None;
        };
        let read = dot.0 - production.first_dot.0;
        Some((id, min.saturating_sub(read), max.map(|max| max - read)))
    }

    /// The representative of all dots of a production that are indistinguishable by the next `reach` copies: far from
    /// the bounds of a counted repetition, the number of copies has no effect.
    #[must_use]
    pub fn saturate(&self, dot: DotId, reach: u32) -> DotId {
        if matches!(self.kind_of(dot), DotKind::Inner(_) | DotKind::Last(_)) {
            return dot;
        }
        let production = self.production_of(dot);
        let RightHandSide::Repeat { min, max, .. } = production.rhs else { return dot };
        let read = dot.0 - production.first_dot.0;
        let far_from_max = |read: u32| max.is_none_or(|max| max - read > reach);
        let count = if !far_from_max(read) {
            read
        } else if read >= min {
            min
        } else if min - read > reach {
            0
        } else {
            read
        };
        DotId(production.first_dot.0 + count)
    }

    /// The terminals, by [`TerminalId`].
    #[must_use]
    pub fn terminals(&self) -> &[TerminalDefinition] {
        &self.terminals
    }

    /// The dot before the start symbol; `None` if the language has no nonempty text.
    #[must_use]
    pub fn start(&self) -> Option<DotId> {
        self.start
    }

    /// The terminal's definition.
    #[must_use]
    pub fn terminal(&self, id: TerminalId) -> &TerminalDefinition {
        &self.terminals[id.index()]
    }

    /// Whether some terminal counts tokens.
    #[must_use]
    pub fn counts_tokens(&self) -> bool {
        self.terminals.iter().any(|definition| {
            matches!(
                definition.terminal,
                Terminal::Limited { .. } | Terminal::Embedded { tokens: Some(_), .. }
            )
        })
    }
}
