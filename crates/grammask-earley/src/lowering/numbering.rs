//! From productions to the normal form: numbers the reachable nonterminals, terminals and dots, and builds the indices
//! from dots to productions.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_automata::{TermId, Terms};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{NonterminalId, Terminal, TerminalDefinition, TerminalId, ValueKind};

use super::merged_parts::{Merges, PartSequence};
use super::normal_form::{
    BLOCK, DotId, DotKind, MAX_BLOCKS, MAX_DOT_KINDS, NormalForm, Production, RightHandSide,
};
use super::productions::{Body, Productions, Symbol};
use super::selection_dots::SelectionDots;

/// The smallest maximum of a repetition that counts as none. Generated schemas write `i32::MAX` for it, and a few such
/// repetitions need more dots than there are. A text with 2^30 parts would have more states than memory can hold.
const NO_MAXIMUM: u32 = 1 << 30;

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
            merged: FxHashMap::default(),
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
        form.merged = merged_terminals(&form.terminals, &productions.merges);
        let source = productions.automata.terms();
        import_terms(Arc::make_mut(&mut form.terms), source, &mut form.terminals, &mut form.merged);
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

/// The parts of the terminals that were merged.
fn merged_terminals(
    terminals: &[TerminalDefinition],
    merges: &Merges,
) -> FxHashMap<TerminalId, PartSequence> {
    let parts = |(index, definition): (usize, &TerminalDefinition)| match definition.terminal {
        Terminal::Regular(term) => Some((TerminalId::new(index), merges.parts_of(term)?)),
        _ => None,
    };
    terminals.iter().enumerate().filter_map(parts).collect()
}

/// Copies the terms of terminals and of the parts of merged ones, which refer to `source` before and to `terms`
/// afterwards.
fn import_terms(
    terms: &mut Terms,
    source: &Terms,
    terminals: &mut [TerminalDefinition],
    merged: &mut FxHashMap<TerminalId, PartSequence>,
) {
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
    let parts = merged.values_mut().flat_map(|sequence| &mut sequence.parts).map(|part| &mut part.term);
    let mut all: Vec<&mut TermId> = terminals.iter_mut().filter_map(term).chain(parts).collect();
    let roots: Vec<TermId> = all.iter().map(|term| **term).collect();
    let imported = terms.import_terms(source, &roots);
    for term in &mut all {
        **term = imported[term];
    }
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
