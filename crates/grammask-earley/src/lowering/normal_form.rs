//! The normal form, which the recogniser reads: compact, immutable, without nullable symbols.
//!
//! A *dot* is a position in a production; dots are numbered consecutively through all productions. The dots of a
//! counted repetition take no memory, so its bounds cost nothing.

use std::fmt;
use std::sync::Arc;

use grammask_automata::{TermId, Terms};
use grammask_collections::id_type;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{
    NonterminalId, Selection, Terminal, TerminalDefinition, TerminalId, ValueCondition, ValueKind,
};
use rustc_hash::FxHashSet;

use super::productions::{Body, Productions, Symbol};
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

/// The smallest maximum of a repetition that counts as none. Generated schemas write `i32::MAX` for it, and a few such
/// repetitions need more dots than there are. A text with so many parts would have more states than memory can hold.
const NO_MAXIMUM: u32 = 1 << 30;

/// Maximum number of dots with a precomputed kind.
const MAX_DOT_KINDS: u32 = 1 << 15;

/// The kind of a dot, precomputed because most queries need no more.
#[derive(Clone, Copy, Debug)]
enum DotKind {
    /// Before this symbol of a sequence, which is not its last.
    Inner(Symbol),
    /// Before the last symbol of a sequence.
    Last(Symbol),
    /// In a repetition or a selection.
    Other,
}

/// Number of dots per block of the index from dots to productions.
const BLOCK: u32 = 16;
/// Maximum number of blocks in the index: repetitions with large bounds have many dots.
const MAX_BLOCKS: usize = 1 << 16;

/// A lowered grammar.
#[derive(Clone, Debug)]
pub struct NormalForm {
    /// The terms of the terminals with their subterms, and no others: lowering makes many more.
    pub(crate) terms: Arc<Terms>,
    pub(crate) terminals: Vec<TerminalDefinition>,
    pub(crate) names: Vec<Arc<str>>,
    /// Productions of each nonterminal as a range.
    pub(crate) productions_of: Vec<std::ops::Range<u32>>,
    pub(crate) productions: Vec<Production>,
    /// The production of the first dot of each of the first [`MAX_BLOCKS`] blocks.
    blocks: Box<[u32]>,
    /// The kinds of the first dots.
    dot_kinds: Box<[DotKind]>,
    /// The dots of selections.
    selections: SelectionDots,
    /// The dots at the ends of scopes.
    scope_ends: FxHashSet<DotId>,
    /// The dots before values, sorted, with their conditions.
    values: Vec<(DotId, ValueCondition)>,
    /// Whether some values must be repeated.
    repeats_values: bool,
    /// The dot before the start symbol in the production of the augmented grammar. `None` if the language has no
    /// nonempty text.
    pub(crate) start: Option<DotId>,
    pub(crate) start_is_nullable: bool,
}

impl NormalForm {
    /// Numbers the reachable rules of `productions`, in which no symbol is nullable.
    ///
    /// # Errors
    /// When there are 2^32 dots or more.
    pub fn number(productions: Productions) -> Result<Self, LimitExceeded> {
        let mut productions = productions;
        separate_parts(&mut productions);
        let reached = productions.reachable();
        let mut new_ids: Vec<Option<NonterminalId>> = vec![None; productions.rules.len()];
        let start = productions.start.index();
        let mut order = vec![start];
        order.extend((0..productions.rules.len()).filter(|&index| reached[index] && index != start));
        for (position, &index) in order.iter().enumerate() {
            new_ids[index] = Some(NonterminalId::new(position));
        }
        let mut terminal_ids: Vec<Option<TerminalId>> = vec![None; productions.terminals.len()];
        let mut form = Self {
            terms: Arc::default(),
            terminals: Vec::new(),
            names: Vec::new(),
            productions_of: Vec::new(),
            productions: Vec::new(),
            blocks: Box::default(),
            dot_kinds: Box::default(),
            selections: SelectionDots::new(&[], u32::MAX)?,
            scope_ends: FxHashSet::default(),
            values: Vec::new(),
            repeats_values: false,
            start: None,
            start_is_nullable: productions.start_is_nullable,
        };
        let mut next_dot = 0;
        let mut rules = productions.rules;
        for (position, index) in order.into_iter().enumerate() {
            let rule = &mut rules[index];
            form.names.push(rule.name.clone());
            rule.body.map(|symbol| match symbol {
                Symbol::Nonterminal(id) => new_ids[id.index()].map_or(symbol, Symbol::Nonterminal),
                Symbol::Terminal(id) => {
                    Symbol::Terminal(*terminal_ids[id.index()].get_or_insert_with(|| {
                        form.terminals.push(productions.terminals[id.index()].clone());
                        TerminalId::new(form.terminals.len() - 1)
                    }))
                }
            });
            let body = std::mem::replace(&mut rule.body, Body::Alternatives(Vec::new()));
            form.add_productions(NonterminalId::new(position), right_hand_sides(body), &mut next_dot)?;
        }
        // The dot of the augmented grammar's production, if there is one.
        let last_dot = next_dot;
        if !form.productions_of[0].is_empty() {
            let lhs = NonterminalId::new(form.names.len());
            let text = RightHandSide::Sequence([Symbol::Nonterminal(NonterminalId::new(0))].into());
            form.names.push("(text)".into());
            form.start = Some(DotId(last_dot));
            form.add_productions(lhs, vec![text], &mut next_dot)?;
        }
        form.names.shrink_to_fit();
        form.terminals.shrink_to_fit();
        form.productions_of.shrink_to_fit();
        form.productions.shrink_to_fit();
        form.terms = Arc::new(own_terms(&mut form.terminals, productions.automata.terms()));
        form.blocks = form.index_blocks(last_dot);
        form.dot_kinds = form.compute_dot_kinds(last_dot);
        form.selections = SelectionDots::new(&form.productions, last_dot.saturating_add(1))?;
        Ok(form)
    }

    /// Adds the productions of the next nonterminal. Their dots are numbered from `next_dot` on.
    fn add_productions(
        &mut self,
        lhs: NonterminalId,
        sides: Vec<RightHandSide>,
        next_dot: &mut u32,
    ) -> Result<(), LimitExceeded> {
        let range = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let first = range(self.productions.len());
        for rhs in sides {
            let first_dot = DotId(*next_dot);
            match &rhs {
                RightHandSide::Scope(_) => {
                    self.scope_ends.insert(DotId(next_dot.saturating_add(1)));
                }
                RightHandSide::Value { condition, .. } => {
                    self.repeats_values |= condition.kind == ValueKind::Repeated;
                    self.values.push((first_dot, condition.clone()));
                }
                _ => {}
            }
            let after = dot_count(&rhs).and_then(|dots| next_dot.checked_add(dots));
            *next_dot = after.ok_or_else(|| LimitExceeded::new("grammar_size", u32::MAX as usize))?;
            self.productions.push(Production { lhs, rhs, first_dot });
        }
        self.productions_of.push(first..range(self.productions.len()));
        Ok(())
    }

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

    fn index_blocks(&self, dots: u32) -> Box<[u32]> {
        let mut production = 0;
        (0..=dots / BLOCK)
            .take(MAX_BLOCKS)
            .map(|block| {
                let dot = DotId(block * BLOCK);
                while self.productions.get(production + 1).is_some_and(|next| next.first_dot <= dot) {
                    production += 1;
                }
                // There are fewer productions than dots.
                production as u32
            })
            .collect()
    }

    fn compute_dot_kinds(&self, dots: u32) -> Box<[DotKind]> {
        let mut kinds = Vec::with_capacity(dots.min(MAX_DOT_KINDS) as usize);
        for Production { rhs, first_dot, .. } in &self.productions {
            if first_dot.0 >= MAX_DOT_KINDS {
                break;
            }
            kinds.resize(first_dot.0 as usize, DotKind::Other);
            if let RightHandSide::Sequence(symbols) = rhs
                && let Some((last, inner)) = symbols.split_last()
            {
                kinds.extend(inner.iter().map(|&symbol| DotKind::Inner(symbol)));
                kinds.push(DotKind::Last(*last));
            }
        }
        kinds.into()
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

    /// Whether some terminal matches tokens.
    #[must_use]
    pub fn names_tokens(&self) -> bool {
        self.terminals.iter().any(|definition| {
            matches!(definition.terminal, Terminal::Token(_) | Terminal::AnyToken | Terminal::OneOf(_))
        })
    }

    /// The name of a nonterminal, or the label of a terminal.
    #[must_use]
    pub fn symbol_name(&self, symbol: Symbol) -> &str {
        match symbol {
            Symbol::Terminal(id) => &self.terminals[id.index()].label,
            Symbol::Nonterminal(id) => &self.names[id.index()],
        }
    }

    /// A dotted production as text: `list -> item • list`.
    #[must_use]
    pub fn dot_text(&self, dot: DotId) -> String {
        let production = self.production_of(dot);
        let position = dot.0.saturating_sub(production.first_dot.0);
        let mut text = format!("{} ->", self.names[production.lhs.index()]);
        match &production.rhs {
            RightHandSide::Sequence(symbols) => {
                for (index, &symbol) in symbols.iter().enumerate() {
                    text.push_str(if index == position as usize { " • " } else { " " });
                    text.push_str(self.symbol_name(symbol));
                }
            }
            RightHandSide::Repeat { symbol, min, max } => {
                let suffix = grammask_grammar::repetition_suffix(*min, *max);
                text.push_str(&format!(" {}{suffix} •{position}", self.symbol_name(*symbol)));
            }
            RightHandSide::Scope(symbol) => {
                let name = self.symbol_name(*symbol);
                text.push_str(&if position == 0 {
                    format!(" scope(• {name})")
                } else {
                    format!(" scope({name}) •")
                });
            }
            RightHandSide::Value { symbol, condition } => {
                text.push_str(&format!(" {}(• {})", condition.kind.name(), self.symbol_name(*symbol)));
            }
            RightHandSide::Selection { parts, .. } => {
                let dots = self.expanded(dot).into_iter().flatten();
                let next: Vec<&str> = dots.map(|dot| self.symbol_name(self.symbol_after(dot))).collect();
                text.push_str(&format!(" some of {} parts • {}", parts.len(), next.join(" or ")));
            }
        }
        text
    }
}

/// The right-hand sides of a rule.
fn right_hand_sides(body: Body) -> Vec<RightHandSide> {
    match body {
        Body::Repeat { symbol, min, max } => {
            vec![RightHandSide::Repeat { symbol, min, max: max.filter(|&max| max < NO_MAXIMUM) }]
        }
        Body::Selection { selection, parts, separator } => {
            vec![RightHandSide::Selection { selection, parts: parts.into(), separator }]
        }
        Body::Scope(symbol) => vec![RightHandSide::Scope(symbol)],
        Body::Value { symbol, condition } => vec![RightHandSide::Value { symbol, condition }],
        Body::Alternatives(alternatives) => {
            alternatives.into_iter().map(|symbols| RightHandSide::Sequence(symbols.into())).collect()
        }
    }
}

/// The number of dots of a right-hand side; `None` if there are too many.
fn dot_count(rhs: &RightHandSide) -> Option<u32> {
    match rhs {
        RightHandSide::Sequence(symbols) => u32::try_from(symbols.len()).ok(),
        RightHandSide::Repeat { max: Some(max), .. } => Some(*max),
        RightHandSide::Repeat { min, max: None, .. } => min.checked_add(1),
        // Dots of selections are numbered lazily.
        RightHandSide::Selection { .. } => Some(0),
        RightHandSide::Scope(_) => Some(2),
        RightHandSide::Value { .. } => Some(1),
    }
}

/// An arena of the terms of terminals, which refer to `source` before and to the new arena afterwards.
fn own_terms(terminals: &mut [TerminalDefinition], source: &Terms) -> Terms {
    fn term(definition: &mut TerminalDefinition) -> Option<&mut TermId> {
        match &mut definition.terminal {
            Terminal::Regular(term) | Terminal::Limited { term, .. } => Some(term),
            Terminal::Literal(_)
            | Terminal::Token(_)
            | Terminal::AnyToken
            | Terminal::OneOf(_)
            | Terminal::Embedded { .. } => None,
        }
    }
    let roots: Vec<TermId> = terminals.iter_mut().filter_map(term).map(|term| *term).collect();
    let mut terms = Terms::new();
    let imported = terms.import_terms(source, &roots);
    for term in terminals.iter_mut().filter_map(term) {
        *term = imported[term];
    }
    terms
}

/// Wraps terminals that are parts of selections into nonterminals, so that each part has dots of its own, and those
/// that are scopes, so that the end of a scope is only reached through a continuation.
fn separate_parts(productions: &mut Productions) {
    for index in 0..productions.rules.len() {
        if let Body::Scope(symbol @ Symbol::Terminal(_)) = productions.rules[index].body {
            let name: Arc<str> = format!("{}.content", productions.rules[index].name).into();
            let rule = productions.add_rule(name, Body::Alternatives(vec![vec![symbol]]));
            productions.rules[index].body = Body::Scope(Symbol::Nonterminal(rule));
            continue;
        }
        let Body::Selection { parts, .. } = &productions.rules[index].body else { continue };
        let mut parts = parts.clone();
        let name: Arc<str> = format!("{}.part", productions.rules[index].name).into();
        for part in &mut parts {
            if matches!(part, Symbol::Terminal(_)) {
                let rule = productions.add_rule(name.clone(), Body::Alternatives(vec![vec![*part]]));
                *part = Symbol::Nonterminal(rule);
            }
        }
        if let Body::Selection { parts: own, .. } = &mut productions.rules[index].body {
            *own = parts;
        }
    }
}

impl fmt::Display for NormalForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.names.len() - usize::from(self.start.is_some());
        for (index, name) in self.names[..shown].iter().enumerate() {
            write!(f, "{name} ::= ")?;
            for (position, production) in self.productions_of(NonterminalId::new(index)).iter().enumerate() {
                f.write_str(if position > 0 { " | " } else { "" })?;
                match &production.rhs {
                    RightHandSide::Sequence(symbols) => {
                        let names: Vec<&str> =
                            symbols.iter().map(|&symbol| self.symbol_name(symbol)).collect();
                        f.write_str(&names.join(" "))?;
                    }
                    RightHandSide::Repeat { symbol, min, max } => {
                        let suffix = grammask_grammar::repetition_suffix(*min, *max);
                        write!(f, "{}{suffix}", self.symbol_name(*symbol))?;
                    }
                    RightHandSide::Scope(symbol) => write!(f, "scope({})", self.symbol_name(*symbol))?,
                    RightHandSide::Value { symbol, condition } => {
                        write!(f, "{}({})", condition.kind.name(), self.symbol_name(*symbol))?;
                    }
                    RightHandSide::Selection { parts, separator, .. } => {
                        let names: Vec<&str> = parts.iter().map(|&part| self.symbol_name(part)).collect();
                        write!(f, "({}) % {}", names.join(" & "), self.symbol_name(*separator))?;
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
