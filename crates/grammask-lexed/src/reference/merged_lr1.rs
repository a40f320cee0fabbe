//! Textbook LALR(1) tables: canonical LR(1) states, merged by item-set core.
//!
//! For small grammars, without regard for speed. After A. Aho, R. Sethi and J. Ullman, *Compilers*, section 4.7.

use std::collections::{BTreeMap, BTreeSet};

use crate::definition::grammar::{LexedGrammar, LexedSymbol};
use crate::definition::lexical_rules::RuleReading;
use crate::definition::source::ConflictPolicy;
use grammask_grammar::{NonterminalId, TerminalId};

/// The index of a production (the start production follows the last one), the dot, and the look-ahead (the end of the
/// text follows the last terminal).
type Lr1Item = (usize, usize, usize);
type Core = BTreeSet<(usize, usize)>;

/// The maximum number of canonical states.
const MAX_STATES: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MergedAction {
    Shift(usize),
    Reduce(usize),
    Accept,
}

/// The tables.
#[derive(Debug)]
pub(super) struct MergedTable {
    actions: Vec<BTreeMap<usize, MergedAction>>,
    gotos: Vec<BTreeMap<LexedSymbol, usize>>,
    /// Whether each state is inside a lexical rule: whether all items of its kernel are.
    pub(super) is_lexical: Vec<bool>,
}

impl MergedTable {
    /// Constructs the tables for the texts of a nonterminal; `None` with conflicts that the grammar's policy does not
    /// resolve, or too many states.
    pub(super) fn new(grammar: &LexedGrammar, start: NonterminalId) -> Option<Self> {
        let first = first_sets(grammar);
        let end = grammar.terminals.len();
        let start_production = grammar.productions.len();
        let mut states: Vec<BTreeSet<Lr1Item>> =
            vec![closure(grammar, start, &first, BTreeSet::from([(start_production, 0, end)]))];
        let mut edges: Vec<BTreeMap<LexedSymbol, usize>> = Vec::new();
        while edges.len() < states.len() {
            let items = states[edges.len()].clone();
            let symbols: BTreeSet<LexedSymbol> = items
                .iter()
                .filter_map(|&(production, dot, _)| symbol_after(grammar, start, production, dot))
                .collect();
            let mut targets = BTreeMap::new();
            for symbol in symbols {
                let moved = items
                    .iter()
                    .filter(|&&(production, dot, _)| {
                        symbol_after(grammar, start, production, dot) == Some(symbol)
                    })
                    .map(|&(production, dot, lookahead)| (production, dot + 1, lookahead))
                    .collect();
                let target = closure(grammar, start, &first, moved);
                let position = match states.iter().position(|state| *state == target) {
                    Some(position) => position,
                    None => {
                        states.push(target);
                        states.len() - 1
                    }
                };
                targets.insert(symbol, position);
            }
            edges.push(targets);
            if states.len() > MAX_STATES {
                return None;
            }
        }
        let core = |state: &BTreeSet<Lr1Item>| -> Core {
            state.iter().map(|&(production, dot, _)| (production, dot)).collect()
        };
        let mut merged: Vec<(Core, BTreeSet<Lr1Item>)> = Vec::new();
        let mut merged_of = Vec::new();
        for state in &states {
            let core = core(state);
            match merged.iter().position(|(position, _)| *position == core) {
                Some(position) => {
                    merged[position].1.extend(state.iter().copied());
                    merged_of.push(position);
                }
                None => {
                    merged.push((core, state.clone()));
                    merged_of.push(merged.len() - 1);
                }
            }
        }
        let mut table = Self {
            actions: vec![BTreeMap::new(); merged.len()],
            gotos: vec![BTreeMap::new(); merged.len()],
            is_lexical: merged.iter().map(|(core, _)| is_lexical(grammar, start, core)).collect(),
        };
        for (state, targets) in edges.iter().enumerate() {
            for (&symbol, &target) in targets {
                table.gotos[merged_of[state]].insert(symbol, merged_of[target]);
            }
        }
        for (state, (_, items)) in merged.iter().enumerate() {
            table.fill(grammar, start, state, items)?;
        }
        Some(table)
    }

    fn fill(
        &mut self,
        grammar: &LexedGrammar,
        start: NonterminalId,
        state: usize,
        items: &BTreeSet<Lr1Item>,
    ) -> Option<()> {
        let end = grammar.terminals.len();
        let mut reductions: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for &(production, dot, lookahead) in items {
            match symbol_after(grammar, start, production, dot) {
                Some(symbol @ LexedSymbol::Terminal(terminal)) => {
                    self.actions[state]
                        .insert(terminal.index(), MergedAction::Shift(self.gotos[state][&symbol]));
                }
                Some(LexedSymbol::Nonterminal(_)) => {}
                None if production == grammar.productions.len() => {
                    self.actions[state].insert(end, MergedAction::Accept);
                }
                None => {
                    reductions.entry(lookahead).or_default().insert(production);
                }
            }
        }
        for (lookahead, productions) in reductions {
            let highest = productions.iter().map(|&index| grammar.productions[index].priority).max();
            let mut best =
                productions.iter().filter(|&&index| Some(grammar.productions[index].priority) == highest);
            let (Some(&chosen), None) = (best.next(), best.next()) else { return None };
            if let std::collections::btree_map::Entry::Vacant(cell) = self.actions[state].entry(lookahead) {
                cell.insert(MergedAction::Reduce(chosen));
            } else if grammar.conflicts == ConflictPolicy::Refuse {
                return None;
            }
        }
        Some(())
    }

    pub(super) fn has_action(&self, state: usize, terminal: TerminalId) -> bool {
        self.actions[state].contains_key(&terminal.index())
    }

    /// The terminals that are shifted in lexical states, or in others.
    pub(super) fn shifted(&self, in_lexical_states: bool) -> BTreeSet<usize> {
        let states = self.actions.iter().zip(&self.is_lexical);
        let states = states.filter(|&(_, &is_lexical)| is_lexical == in_lexical_states);
        let cells = states.flat_map(|(actions, _)| actions);
        cells
            .filter(|(_, action)| matches!(action, MergedAction::Shift(_)))
            .map(|(&terminal, _)| terminal)
            .collect()
    }

    /// Reads a terminal; `false` if it is illegal.
    pub(super) fn shift(&self, stack: &mut Vec<usize>, grammar: &LexedGrammar, terminal: TerminalId) -> bool {
        match self.reduce(stack, grammar, terminal.index()) {
            Some(MergedAction::Shift(target)) => {
                stack.push(target);
                true
            }
            _ => false,
        }
    }

    /// Whether the text may end here.
    pub(super) fn accepts_end(&self, stack: &mut Vec<usize>, grammar: &LexedGrammar) -> bool {
        self.reduce(stack, grammar, grammar.terminals.len()) == Some(MergedAction::Accept)
    }

    fn reduce(
        &self,
        stack: &mut Vec<usize>,
        grammar: &LexedGrammar,
        terminal: usize,
    ) -> Option<MergedAction> {
        let max_height = stack.len() + self.actions.len() + 1;
        loop {
            match self.actions[*stack.last()?].get(&terminal) {
                Some(&MergedAction::Reduce(production)) => {
                    let production = &grammar.productions[production];
                    stack.truncate(stack.len() - production.rhs.len());
                    let target = self.gotos[*stack.last()?].get(&LexedSymbol::Nonterminal(production.lhs))?;
                    stack.push(*target);
                    if stack.len() > max_height {
                        return None;
                    }
                }
                other => return other.copied(),
            }
        }
    }
}

fn symbol_after(
    grammar: &LexedGrammar,
    start: NonterminalId,
    production: usize,
    dot: usize,
) -> Option<LexedSymbol> {
    match grammar.productions.get(production) {
        Some(production) => production.rhs.get(dot).copied(),
        None => (dot == 0).then_some(LexedSymbol::Nonterminal(start)),
    }
}

/// Whether the lexer reads lexically in a state.
fn is_lexical(grammar: &LexedGrammar, start: NonterminalId, core: &Core) -> bool {
    let readings = &grammar.lexical.readings;
    let reading =
        |nonterminal: NonterminalId| readings.get(nonterminal.index()).copied().unwrap_or(RuleReading::Usual);
    let is_usual = |symbol: Option<LexedSymbol>| match symbol {
        Some(LexedSymbol::Nonterminal(nonterminal)) => reading(nonterminal) == RuleReading::Usual,
        Some(LexedSymbol::Terminal(_)) | None => false,
    };
    core.iter().filter(|&&(production, dot)| dot > 0 || production == grammar.productions.len()).all(
        |&(production, dot)| {
            let lhs = match grammar.productions.get(production) {
                Some(production) => reading(production.lhs),
                None => reading(start),
            };
            let next = symbol_after(grammar, start, production, dot);
            let previous = dot.checked_sub(1).and_then(|dot| symbol_after(grammar, start, production, dot));
            let is_at_end = next.is_none();
            match lhs {
                RuleReading::Usual => false,
                RuleReading::Lexeme => !is_at_end && !is_usual(next) && !is_usual(previous),
                RuleReading::InsideLexeme => !is_usual(next) && !is_usual(previous),
            }
        },
    )
}

/// For each nonterminal: its first terminals, and whether it is nullable.
fn first_sets(grammar: &LexedGrammar) -> Vec<(BTreeSet<usize>, bool)> {
    let mut first = vec![(BTreeSet::new(), false); grammar.nonterminals.len()];
    loop {
        let before = first.clone();
        for production in &grammar.productions {
            let (terminals, is_nullable) = first_of(&first, &production.rhs);
            let entry = &mut first[production.lhs.index()];
            entry.0.extend(terminals);
            entry.1 |= is_nullable;
        }
        if first == before {
            return first;
        }
    }
}

fn first_of(first: &[(BTreeSet<usize>, bool)], symbols: &[LexedSymbol]) -> (BTreeSet<usize>, bool) {
    let mut terminals = BTreeSet::new();
    for symbol in symbols {
        match symbol {
            LexedSymbol::Terminal(terminal) => {
                terminals.insert(terminal.index());
                return (terminals, false);
            }
            LexedSymbol::Nonterminal(nonterminal) => {
                let (more, is_nullable) = &first[nonterminal.index()];
                terminals.extend(more.iter().copied());
                if !is_nullable {
                    return (terminals, false);
                }
            }
        }
    }
    (terminals, true)
}

fn closure(
    grammar: &LexedGrammar,
    start: NonterminalId,
    first: &[(BTreeSet<usize>, bool)],
    mut items: BTreeSet<Lr1Item>,
) -> BTreeSet<Lr1Item> {
    let mut pending: Vec<Lr1Item> = items.iter().copied().collect();
    while let Some((production, dot, lookahead)) = pending.pop() {
        let Some(LexedSymbol::Nonterminal(next)) = symbol_after(grammar, start, production, dot) else {
            continue;
        };
        let rest =
            grammar.productions.get(production).map_or(&[][..], |production| &production.rhs[dot + 1..]);
        let (mut lookaheads, is_nullable) = first_of(first, rest);
        if is_nullable {
            lookaheads.insert(lookahead);
        }
        for (index, predicted) in grammar.productions.iter().enumerate() {
            if predicted.lhs == next {
                for &lookahead in &lookaheads {
                    if items.insert((index, 0, lookahead)) {
                        pending.push((index, 0, lookahead));
                    }
                }
            }
        }
    }
    items
}
