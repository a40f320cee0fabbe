//! Whether every stack that the parser can get to leads on to the end of a text, also without some pairs of terminals.
//!
//! In tables without conflicts every stack does. Where the parser shifts although it could have reduced, it may turn
//! away from the only texts that complete what it has read, and then a mask would lead into a dead end; and where two
//! terminals cannot be written one after the other, texts with them do not count. In these cases
//! a *plan* is looked for: for each state an item of its kernel, and as text a shortest derivation of what the
//! item still needs. The plan is checked on the tables themselves: from the state alone, whatever is below it on the
//! stack, the parser must read that text and then reduce the item, before each terminal with which the plans of the
//! states it returns to can go on. If this holds for all states, following the plans completes every stack, because
//! each step leaves fewer states on the stack or a nonterminal closer to the one that was waited for. Grammars for
//! which no plan is found are refused.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::grammar::{Indentation, LexedGrammar, Symbol};
use super::lalr::{Action, LalrTable};
use super::lr_automaton::{Item, LrState};
use super::terminal_set::{TerminalSet, unite_along};
use crate::grammar::TerminalId;

/// Longest text of a step of a plan, in terminals.
const LONGEST_STEP: usize = 1 << 12;
/// Most symbols of a derivation that is written out; those that derive nothing count too.
const MOST_STEPS: usize = 1 << 16;
/// What a terminal costs that some lexeme cannot have behind it.
const EXPENSIVE: usize = 1 << 16;
/// Most rounds of looking for a plan.
const MOST_ROUNDS: usize = 1 << 10;

/// None if there is a plan in which no pair of `avoided` follows each other; else a state without one.
pub(super) fn find_dead_state(
    grammar: &LexedGrammar,
    table: &LalrTable,
    avoided: &FxHashSet<(TerminalId, TerminalId)>,
) -> Option<LrState> {
    let shortest = Shortest::of(table, avoided.iter().map(|&(_, second)| second).collect());
    let mut plan = Plan::new(table, &shortest, avoided);
    plan.indentation = grammar.indentation.clone();
    for _ in 0..MOST_ROUNDS {
        match plan.find_fault(grammar) {
            None => return None,
            Some(state) if plan.try_next(state) => {}
            Some(state) => return Some(state),
        }
    }
    Some(LrState::START)
}

/// The production with which each nonterminal derives its cheapest text: a shortest one with as few terminals as can be
/// that some lexeme cannot have behind it.
struct Shortest {
    production: Vec<Option<usize>>,
    cost: Vec<usize>,
    expensive: FxHashSet<TerminalId>,
}

impl Shortest {
    fn of(table: &LalrTable, expensive: FxHashSet<TerminalId>) -> Self {
        let automaton = &table.automaton;
        let count = automaton.productions_of.len();
        let mut shortest = Self { production: vec![None; count], cost: vec![usize::MAX; count], expensive };
        loop {
            let mut changed = false;
            for (index, production) in automaton.productions.iter().enumerate() {
                let lhs = production.lhs.index();
                let cost = shortest.cost_of(&production.rhs);
                if cost < shortest.cost[lhs] {
                    shortest.cost[lhs] = cost;
                    shortest.production[lhs] = Some(index);
                    changed = true;
                }
            }
            if !changed {
                return shortest;
            }
        }
    }

    fn cost_of(&self, symbols: &[Symbol]) -> usize {
        let costs = symbols.iter().map(|symbol| match symbol {
            Symbol::Terminal(terminal) if self.expensive.contains(terminal) => EXPENSIVE,
            Symbol::Terminal(_) => 1,
            Symbol::Nonterminal(nonterminal) => self.cost[nonterminal.index()],
        });
        costs.fold(0, usize::saturating_add)
    }

    /// The shortest text of some symbols, if it is not too long.
    fn text(&self, table: &LalrTable, symbols: &[Symbol]) -> Option<Vec<TerminalId>> {
        let mut text = Vec::new();
        let mut pending: Vec<Symbol> = symbols.iter().rev().copied().collect();
        let mut steps = 0;
        while let Some(symbol) = pending.pop() {
            steps += 1;
            if steps > MOST_STEPS {
                return None;
            }
            match symbol {
                Symbol::Terminal(_) if text.len() >= LONGEST_STEP => return None,
                Symbol::Terminal(terminal) => text.push(terminal),
                Symbol::Nonterminal(nonterminal) => {
                    let production = self.production[nonterminal.index()]?;
                    pending.extend(table.automaton.productions[production].rhs.iter().rev());
                }
            }
        }
        Some(text)
    }
}

/// What to do in each state to get to the end of a text.
struct Plan<'a> {
    table: &'a LalrTable,
    avoided: &'a FxHashSet<(TerminalId, TerminalId)>,
    indentation: Option<Indentation>,
    /// The items of each state's kernel with their texts, best first.
    candidates: Vec<Vec<(Item, Vec<TerminalId>)>>,
    chosen: Vec<usize>,
}

impl<'a> Plan<'a> {
    fn new(
        table: &'a LalrTable,
        shortest: &Shortest,
        avoided: &'a FxHashSet<(TerminalId, TerminalId)>,
    ) -> Self {
        let automaton = &table.automaton;
        let candidates = automaton
            .kernels
            .iter()
            .map(|kernel| {
                let mut candidates: Vec<(Item, Vec<TerminalId>)> = kernel
                    .iter()
                    .filter_map(|&item| {
                        let rest = &automaton.productions[item.production as usize].rhs[item.dot as usize..];
                        Some((item, shortest.text(table, rest)?))
                    })
                    .collect();
                let cost = |text: &[TerminalId]| {
                    let expensive = text.iter().filter(|terminal| shortest.expensive.contains(terminal));
                    (expensive.count(), text.len())
                };
                candidates.sort_by_key(|(item, text)| (cost(text), std::cmp::Reverse(item.dot)));
                candidates
            })
            .collect();
        Self { table, avoided, indentation: None, candidates, chosen: vec![0; table.state_count()] }
    }

    /// Goes over to the next candidate of a state; false if there is none.
    fn try_next(&mut self, state: LrState) -> bool {
        self.chosen[state.index()] += 1;
        self.chosen[state.index()] < self.candidates[state.index()].len()
    }

    fn step(&self, state: LrState) -> Option<&(Item, Vec<TerminalId>)> {
        self.candidates[state.index()].get(self.chosen[state.index()])
    }

    fn rest(&self, item: Item) -> &[Symbol] {
        &self.table.automaton.productions[item.production as usize].rhs[item.dot as usize..]
    }

    /// A state whose step of the plan does not work.
    fn find_fault(&self, grammar: &LexedGrammar) -> Option<LrState> {
        let states = (0..self.table.state_count()).map(LrState::new);
        let follow = self.follow(grammar);
        let fault = states.clone().find(|&state| !self.works(state, &follow[state.index()]));
        fault.or_else(|| states.into_iter().find_map(|state| self.find_cycle(state)))
    }

    /// For each state the terminals with which the plan goes on after its step.
    fn follow(&self, grammar: &LexedGrammar) -> Vec<TerminalSet> {
        let automaton = &self.table.automaton;
        let width = grammar.terminals.len() + 1;
        let mut follow = vec![TerminalSet::new(width); self.table.state_count()];
        let mut successors: Vec<Vec<usize>> = vec![Vec::new(); self.table.state_count()];
        let start_production = automaton.productions.len() - 1;
        // What is on the way of each production, from each state that begins it.
        for base in (0..self.table.state_count()).map(LrState::new) {
            for item in automaton.closure(base) {
                if item.dot > 0 {
                    continue;
                }
                let production = &automaton.productions[item.production as usize];
                let after = automaton.step(base, Symbol::Nonterminal(production.lhs));
                let mut state = base;
                let mut way = vec![base];
                for &symbol in &production.rhs {
                    let Some(next) = automaton.step(state, symbol) else { break };
                    state = next;
                    way.push(state);
                }
                for (dot, &state) in way.iter().enumerate() {
                    let is_planned = self.step(state).is_some_and(|(planned, _)| {
                        planned.production == item.production && planned.dot as usize == dot
                    });
                    if !is_planned {
                        continue;
                    }
                    if item.production as usize == start_production {
                        follow[state.index()].insert(self.table.end());
                    }
                    let Some(after) = after else { continue };
                    match self.step(after).and_then(|(_, text)| text.first()) {
                        Some(&first) => {
                            follow[state.index()].insert(first);
                        }
                        None => successors[state.index()].push(after.index()),
                    }
                }
            }
        }
        unite_along(&mut follow, &successors);
        follow
    }

    /// Whether the parser does what is planned in a state, whatever is below it on the stack.
    fn works(&self, state: LrState, follow: &TerminalSet) -> bool {
        let Some((item, text)) = self.step(state) else { return false };
        if !self.can_be_written(state, text, follow) {
            return false;
        }
        let mut stack = vec![state];
        for &terminal in text {
            loop {
                match self.local_action(&stack, terminal) {
                    Some(Action::Shift(target)) => {
                        stack.push(target);
                        break;
                    }
                    Some(Action::Reduce(production)) if self.reduce(&mut stack, production.index()) => {}
                    _ => return false,
                }
            }
        }
        let height = self.rest(*item).len() + 1;
        follow.iter().all(|terminal| {
            let mut stack = stack.clone();
            loop {
                match self.local_action(&stack, terminal) {
                    Some(Action::Accept) => {
                        let is_start = item.production as usize == self.table.automaton.productions.len() - 1;
                        return is_start && stack.len() == height;
                    }
                    Some(Action::Reduce(production)) => {
                        if production.index() == item.production as usize
                            && stack.len() == height
                            && item.dot > 0
                        {
                            return true;
                        }
                        if !self.reduce(&mut stack, production.index()) {
                            return false;
                        }
                    }
                    _ => return false,
                }
            }
        })
    }

    /// Whether no pair of terminals follows each other that should not.
    fn can_be_written(&self, state: LrState, text: &[TerminalId], follow: &TerminalSet) -> bool {
        let entered_by = match self.table.automaton.entered_by[state.index()] {
            Some(Symbol::Terminal(terminal)) => Some(terminal),
            _ => None,
        };
        // The beginnings and ends of blocks are not written: they come with the newline before them.
        let (newline, blocks) = match &self.indentation {
            Some(layout) => (Some(layout.newline), vec![layout.indent, layout.dedent]),
            None => (None, Vec::new()),
        };
        let first = entered_by.and_then(|first| if blocks.contains(&first) { newline } else { Some(first) });
        let text = text.iter().copied().filter(|terminal| !blocks.contains(terminal));
        let read: Vec<TerminalId> = first.into_iter().chain(text).collect();
        let is_avoided = |first, second| self.avoided.contains(&(first, second));
        let last = read.last().copied();
        !read.windows(2).any(|pair| is_avoided(pair[0], pair[1]))
            && !follow.iter().any(|next| last.is_some_and(|last| is_avoided(last, next)))
    }

    fn local_action(&self, stack: &[LrState], terminal: TerminalId) -> Option<Action> {
        // A parser that reduces nothing for ever never gets on.
        if stack.len() > self.table.state_count() + LONGEST_STEP {
            return None;
        }
        Some(self.table.action(*stack.last()?, terminal))
    }

    /// Reduces within what is above the first state of `stack`; false if that is not enough.
    fn reduce(&self, stack: &mut Vec<LrState>, production: usize) -> bool {
        let production = &self.table.automaton.productions[production];
        if production.rhs.len() >= stack.len() {
            return false;
        }
        stack.truncate(stack.len() - production.rhs.len());
        let base = stack[stack.len() - 1];
        match self.table.goto(base, production.lhs) {
            Some(next) => {
                stack.push(next);
                true
            }
            None => false,
        }
    }

    /// A state in which the plan turns in circles above `base`.
    fn find_cycle(&self, base: LrState) -> Option<LrState> {
        let automaton = &self.table.automaton;
        // From each symbol to the nonterminal that the plan makes of it in the same place.
        let mut next: FxHashMap<Symbol, (Symbol, LrState)> = FxHashMap::default();
        for &(symbol, state) in &automaton.transitions[base.index()] {
            if let Some((item, _)) = self.step(state)
                && item.dot == 1
            {
                let lhs = automaton.productions[item.production as usize].lhs;
                next.insert(symbol, (Symbol::Nonterminal(lhs), state));
            }
        }
        let mut pending: VecDeque<Symbol> = next.keys().copied().collect();
        while let Some(first) = pending.pop_front() {
            let mut current = first;
            let mut way: Vec<LrState> = Vec::new();
            while let Some(&(after, state)) = next.get(&current) {
                if way.len() > next.len() {
                    let can_change = |state: &LrState| {
                        self.chosen[state.index()] + 1 < self.candidates[state.index()].len()
                    };
                    return way.iter().copied().rev().find(can_change).or(Some(state));
                }
                way.push(state);
                current = after;
            }
        }
        None
    }
}
