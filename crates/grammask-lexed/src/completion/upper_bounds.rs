//! Upper bounds of the shortest completions of all states that a number of bytes can reach.
//!
//! The plan of [`viable_completion`] completes every stack of the parser. Its cost on a stack is at most a sum over the
//! stack's levels: for a symbol X above a state, the plan's steps until a reduction pops below X. Reading a text can
//! replace X by nonterminals that begin with X, so the *level cost* is the maximum over these. Then reductions never
//! increase the sum, and reading a terminal adds the level cost of the terminal and of empty nonterminals before it.
//!
//! A terminal costs the longest of the shortest lexemes with which it can be written after a separable lexeme. All
//! bounds are computed once from the tables; only the sum over a stack depends on the state.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::viable_completion::{self, TerminalPair};
use crate::completion::lexeme_costs::LexemeCosts;
use crate::completion::{UNREACHABLE, sum};
use crate::definition::grammar::LexedSymbol;
use crate::lexer::lexer_automaton::{ConfigurationId, GuardsId, LexModeId, Lexer};
use crate::lexer::open_lexemes::needed_after;
use crate::masks::token_set_store::hash_map_bytes;
use crate::parser::lalr::LalrTable;
use crate::parser::lr_automaton::{LrItem, LrState};
use crate::parser::stacks::{StackId, TerminalParser};
use crate::parser::terminal_set::TerminalSet;
use crate::prepared::PreparedGrammar;
use grammask_collections::graph::AdjacencyList;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::TerminalId;

/// Upper bounds of completions.
#[derive(Debug)]
pub(crate) struct UpperBounds {
    /// The bytes that close an open lexeme.
    open_lexeme: u32,
    /// The level costs of each state, by symbol.
    levels: Vec<FxHashMap<LexedSymbol, u32>>,
    /// The maximum that reading a terminal adds to the cost of a stack.
    growth: u32,
    /// For each terminal: what reading it adds, and the length of its shortest lexeme.
    growth_by_length: Vec<(u32, u32)>,
    stacks: FxHashMap<StackId, u32>,
}

/// The lexemes of terminals after which everything that the parser accepts can be written.
struct SeparableLexemes<'a> {
    prepared: &'a PreparedGrammar,
    lexer: &'a mut Lexer,
    bytes: &'a [u8],
    places: Vec<(ConfigurationId, LexModeId)>,
    place_ids: FxHashMap<(ConfigurationId, LexModeId), u32>,
}

impl UpperBounds {
    /// Computes the bounds. `None` for languages with indentation, whose bounds depend on columns, for grammars without
    /// LALR(1) tables, and if a byte class of a lexeme has no spellable byte.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn new(
        prepared: &PreparedGrammar,
        lexer: &mut Lexer,
        bytes: &[u8],
        lexemes: &LexemeCosts,
    ) -> Result<Option<Self>, LimitExceeded> {
        let grammar = &prepared.grammar;
        let (Some(table), None) = (prepared.table(), &grammar.indentation) else { return Ok(None) };
        if !are_all_spellable(prepared, lexer, bytes)? {
            return Ok(None);
        }
        let avoided: FxHashSet<TerminalPair> = prepared.open_terminals.exempt().iter().copied().collect();
        let Some(plan) = viable_completion::completion_plan(grammar, table, &avoided) else {
            return Ok(None);
        };
        let (open_lexeme, lengths) = SeparableLexemes::new(prepared, lexer, bytes).longest()?;
        let cost_of = |derivation: &[TerminalId]| {
            derivation.iter().fold(0, |cost, terminal| sum(cost, lengths[terminal.index()]))
        };
        let plan: Vec<(LrItem, u32)> =
            plan.into_iter().map(|(item, derivation)| (item, cost_of(&derivation))).collect();
        let mut levels = Vec::with_capacity(table.state_count());
        for state in (0..table.state_count()).map(LrState::new) {
            match level_costs(table, &plan, state) {
                Some(costs) => levels.push(costs),
                None => return Ok(None),
            }
        }
        let Some(empty) = costs_of_empty_nonterminals(prepared, table, &levels) else { return Ok(None) };
        let mut growth_by_length: Vec<(u32, u32)> = Vec::new();
        for terminal in (0..grammar.terminals.len()).map(TerminalId::new) {
            let symbol = LexedSymbol::Terminal(terminal);
            let added = levels.iter().zip(&empty);
            let added = added.filter_map(|(costs, &empty)| Some(sum(*costs.get(&symbol)?, empty))).max();
            if let Some(added) = added {
                growth_by_length.push((added, lexemes.shortest(terminal).max(1)));
            }
        }
        let growth = growth_by_length.iter().map(|&(added, _)| added).max().unwrap_or(0);
        Ok(Some(Self { open_lexeme, levels, growth, growth_by_length, stacks: FxHashMap::default() }))
    }

    /// An upper bound of the length of the shortest completions of all runs that at most `bytes` bytes reach from a run
    /// with this stack.
    pub(crate) fn after(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &TerminalParser,
        stack: StackId,
        bytes: usize,
    ) -> Option<u32> {
        let table = prepared.table()?;
        // The first of the terminals that end within the bytes may have begun before, and the open lexeme at the end
        // is one more. The others have lexemes of at least their shortest length.
        let growth = self
            .growth_by_length
            .iter()
            .map(|&(added, length)| (bytes as u64).saturating_mul(u64::from(added)) / u64::from(length));
        let bound = growth.max().unwrap_or(0)
            + u64::from(self.stack_cost(table, parser, stack))
            + 2 * u64::from(self.growth)
            + u64::from(self.open_lexeme);
        u32::try_from(bound).ok().filter(|&bound| bound < UNREACHABLE)
    }

    /// The sum of the level costs of a stack.
    fn stack_cost(&mut self, table: &LalrTable, parser: &TerminalParser, stack: StackId) -> u32 {
        let mut unknown = Vec::new();
        let mut current = stack;
        let mut cost = loop {
            if let Some(&cached) = self.stacks.get(&current) {
                break cached;
            }
            let Some(below) = parser.state_and_below(current).1 else { break 0 };
            unknown.push((current, below));
            current = below;
        };
        while let Some((stack, below)) = unknown.pop() {
            let symbol = table.automaton.entered_by[parser.state_and_below(stack).0.index()];
            let costs = &self.levels[parser.state_and_below(below).0.index()];
            let level = symbol.and_then(|symbol| costs.get(&symbol)).copied().unwrap_or(UNREACHABLE);
            cost = sum(cost, level);
            self.stacks.insert(stack, cost);
        }
        cost
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        let levels: usize = self.levels.iter().map(hash_map_bytes).sum();
        levels + hash_map_bytes(&self.stacks) + self.growth_by_length.capacity() * 8
    }
}

/// Whether each byte class that occurs in lexemes has one of `bytes`.
fn are_all_spellable(
    prepared: &PreparedGrammar,
    lexer: &mut Lexer,
    bytes: &[u8],
) -> Result<bool, LimitExceeded> {
    let class = |byte: u8| lexer.class_of_byte()[usize::from(byte)];
    let spellable: Vec<u8> = bytes.iter().map(|&byte| class(byte)).collect();
    let others: Vec<u8> =
        lexer.byte_of_class().iter().copied().filter(|&byte| !spellable.contains(&class(byte))).collect();
    for byte in others {
        for mode in (0..prepared.lex_modes.terminals.len()).map(LexModeId::new) {
            if !lexer.enter(mode, byte, GuardsId::NONE)?.is_empty() {
                return Ok(false);
            }
        }
        for (configuration, _) in prepared.open_terminals.configurations() {
            if lexer.step(configuration, byte)?.extended.is_some() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The level costs above a state; `None` if the plan cycles there.
fn level_costs(
    table: &LalrTable,
    plan: &[(LrItem, u32)],
    base: LrState,
) -> Option<FxHashMap<LexedSymbol, u32>> {
    let automaton = &table.automaton;
    let start_production = automaton.productions.len() - 1;
    let symbols: Vec<(LexedSymbol, LrState)> = automaton.transitions[base.index()]
        .iter()
        .filter_map(|&(symbol, _)| Some((symbol, table.step(base, symbol)?)))
        .collect();
    let mut costs: FxHashMap<LexedSymbol, u32> = FxHashMap::default();
    for &(symbol, _) in &symbols {
        let mut current = symbol;
        let mut total = 0;
        let mut steps = 0;
        loop {
            let state = table.step(base, current)?;
            let &(item, cost) = plan.get(state.index())?;
            total = sum(total, cost);
            let lhs = automaton.productions[item.production as usize].lhs;
            if item.dot != 1 || item.production as usize == start_production || table.is_ignored_rule(lhs) {
                break;
            }
            current = LexedSymbol::Nonterminal(lhs);
            steps += 1;
            if steps > symbols.len() {
                return None;
            }
        }
        costs.insert(symbol, total);
    }
    // What a symbol can be replaced by costs no more than the symbol.
    loop {
        let mut has_changed = false;
        for &(symbol, state) in &symbols {
            for item in automaton.kernels[state.index()].iter().filter(|item| item.dot == 1) {
                let lhs = LexedSymbol::Nonterminal(automaton.productions[item.production as usize].lhs);
                let replaced = costs.get(&lhs).copied().unwrap_or(0);
                let cost = costs.entry(symbol).or_insert(0);
                has_changed |= replaced > *cost;
                *cost = replaced.max(*cost);
            }
        }
        if !has_changed {
            return Some(costs);
        }
    }
}

/// For each state: the maximum of the level costs of empty nonterminals directly below it; `None` if there may be
/// arbitrarily many.
fn costs_of_empty_nonterminals(
    prepared: &PreparedGrammar,
    table: &LalrTable,
    levels: &[FxHashMap<LexedSymbol, u32>],
) -> Option<Vec<u32>> {
    let grammar = &prepared.grammar;
    let mut is_nullable = vec![false; grammar.nonterminals.len()];
    loop {
        let mut has_changed = false;
        for production in &grammar.productions {
            let is_empty = production.rhs.iter().all(|symbol| match symbol {
                LexedSymbol::Terminal(_) => false,
                LexedSymbol::Nonterminal(nonterminal) => is_nullable[nonterminal.index()],
            });
            let known = &mut is_nullable[production.lhs.index()];
            has_changed |= is_empty && !*known;
            *known |= is_empty;
        }
        if !has_changed {
            break;
        }
    }
    let mut edges: Vec<(usize, usize, u32)> = Vec::new();
    for (state, costs) in levels.iter().enumerate() {
        for (&symbol, &cost) in costs {
            if let LexedSymbol::Nonterminal(nonterminal) = symbol
                && is_nullable[nonterminal.index()]
                && let Some(next) = table.goto(LrState::new(state), nonterminal)
            {
                edges.push((state, next.index(), cost));
            }
        }
    }
    let mut longest = vec![0; levels.len()];
    let mut is_reached = vec![true; levels.len()];
    // A path without a cycle is shorter than the number of states.
    for _ in 0..=levels.len() {
        let mut next_reached = vec![false; levels.len()];
        for &(from, to, cost) in edges.iter().filter(|&&(from, ..)| is_reached[from]) {
            longest[to] = sum(longest[from], cost).max(longest[to]);
            next_reached[to] = true;
        }
        if !next_reached.contains(&true) {
            return Some(longest);
        }
        is_reached = next_reached;
    }
    None
}

impl<'a> SeparableLexemes<'a> {
    fn new(prepared: &'a PreparedGrammar, lexer: &'a mut Lexer, bytes: &'a [u8]) -> Self {
        let mut places = prepared.open_terminals.configurations();
        places.sort_unstable();
        let place_ids = places.iter().enumerate().map(|(index, &place)| (place, index as u32)).collect();
        Self { prepared, lexer, bytes, places, place_ids }
    }

    /// The maximum number of bytes to a separable lexeme of a terminal that an open lexeme can become, and for each
    /// terminal the maximum after a separable lexeme.
    fn longest(mut self) -> Result<(u32, Vec<u32>), LimitExceeded> {
        let grammar = &self.prepared.grammar;
        let needed = needed_after(grammar, &self.prepared.tables, &self.prepared.lex_modes);
        let mut edges: Vec<(u32, u32)> = Vec::new();
        let mut ends: Vec<Vec<u32>> = vec![Vec::new(); grammar.terminals.len() + 1];
        // The places after separable lexemes, for each guards and mode that are possible there.
        let mut entered_after: Vec<Vec<u32>> = Vec::new();
        let mut commit_ids: FxHashMap<Box<[Option<GuardsId>]>, usize> = FxHashMap::default();
        let mut entered: FxHashMap<(usize, LexModeId), (Vec<u32>, TerminalSet)> = FxHashMap::default();
        let mut is_separable: FxHashMap<(TerminalId, usize), bool> = FxHashMap::default();
        for place in 0..self.places.len() as u32 {
            let (configuration, mode) = self.places[place as usize];
            let mut commit = Vec::with_capacity(self.bytes.len());
            for &byte in self.bytes {
                let step = self.lexer.step(configuration, byte)?;
                if let Some(next) = step.extended.and_then(|next| self.place_ids.get(&(next, mode))) {
                    edges.push((*next, place));
                }
                commit.push(step.commit);
            }
            let Some(terminal) = self.lexer.label(configuration) else { continue };
            let commit: Box<[_]> = commit.into();
            let count = commit_ids.len();
            let id = *commit_ids.entry(commit.clone()).or_insert(count);
            if grammar.terminals[terminal.index()].is_ignored() {
                ends[grammar.end().index()].push(place);
                let (next, _) = self.enter(&mut entered, id, &commit, mode)?;
                edges.extend(next.iter().map(|&next| (next, place)));
                continue;
            }
            let is_known = is_separable.get(&(terminal, id)).copied();
            let is_separable = match is_known {
                Some(is_separable) => is_separable,
                None => {
                    let exempt = self.prepared.open_terminals.exempt();
                    let mut has_all = true;
                    let mut next_places = Vec::new();
                    for (mode, needed) in &needed[terminal.index()] {
                        let (next, available) = self.enter(&mut entered, id, &commit, *mode)?;
                        let missing = needed.without(available);
                        has_all &= missing.iter().all(|next| exempt.binary_search(&(terminal, next)).is_ok());
                        next_places.push(next.clone());
                    }
                    if has_all {
                        entered_after.extend(next_places);
                    }
                    is_separable.insert((terminal, id), has_all);
                    has_all
                }
            };
            if is_separable {
                ends[terminal.index()].push(place);
            }
        }
        edges.sort_unstable();
        edges.dedup();
        let before = AdjacencyList::from_pairs(self.places.len(), &edges);
        entered_after.sort_unstable();
        entered_after.dedup();
        let mut open_lexeme = 0;
        let mut lengths = Vec::with_capacity(ends.len());
        for ends in ends {
            let mut distance = vec![UNREACHABLE; self.places.len()];
            for &end in &ends {
                distance[end as usize] = 0;
            }
            let mut reached = ends;
            let mut next = 0;
            while let Some(&place) = reached.get(next) {
                next += 1;
                for &previous in before.of(place as usize) {
                    if distance[previous as usize] == UNREACHABLE {
                        distance[previous as usize] = distance[place as usize] + 1;
                        reached.push(previous);
                    }
                }
            }
            let farthest = reached.last().map_or(0, |&place| distance[place as usize]);
            open_lexeme = farthest.max(open_lexeme);
            let nearest = entered_after.iter().filter_map(|entered| {
                let nearest = entered.iter().map(|&place| distance[place as usize]).min()?;
                (nearest < UNREACHABLE).then_some(nearest + 1)
            });
            lengths.push(nearest.max().unwrap_or(UNREACHABLE));
        }
        Ok((open_lexeme, lengths))
    }

    /// The places after a commit, before a lexeme of a mode, and the terminals possible there.
    fn enter<'b>(
        &mut self,
        entered: &'b mut FxHashMap<(usize, LexModeId), (Vec<u32>, TerminalSet)>,
        id: usize,
        commit: &[Option<GuardsId>],
        mode: LexModeId,
    ) -> Result<&'b (Vec<u32>, TerminalSet), LimitExceeded> {
        let vacant = match entered.entry((id, mode)) {
            Entry::Occupied(known) => return Ok(known.into_mut()),
            Entry::Vacant(vacant) => vacant,
        };
        let mut places = Vec::new();
        let mut available = TerminalSet::new(self.prepared.grammar.terminals.len() + 1);
        for (&byte, &guards) in self.bytes.iter().zip(commit) {
            let Some(guards) = guards else { continue };
            for configuration in self.lexer.enter(mode, byte, guards)? {
                places.extend(self.place_ids.get(&(configuration, mode)));
                if let Some(open) = self.prepared.open_terminals.of(configuration, mode) {
                    available.union_with(&self.prepared.open_terminals.get(open).outside);
                }
            }
        }
        places.sort_unstable();
        places.dedup();
        Ok(vacant.insert((places, available)))
    }
}
