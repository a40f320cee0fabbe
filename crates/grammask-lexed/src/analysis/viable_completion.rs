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
//!
//! Cost: plans are corrected a state at a time, and most of a plan stays as it was. So where items lead is found out once,
//! and a step is tried again only before terminals that are new behind it.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::grammar::{Indentation, LexedGrammar, LexedSymbol};
use crate::parser::lalr::{LalrTable, ParserAction};
use crate::parser::lr_automaton::{LrItem, LrState};
use crate::parser::terminal_set::{TerminalSet, union_over_reachable};
use grammask_grammar::TerminalId;

/// Longest text of a step of a plan, in terminals.
const MAX_STEP_TERMINALS: usize = 1 << 12;
/// Most symbols of a derivation that is written out; those that derive nothing count too.
const MAX_DERIVATION_SYMBOLS: usize = 1 << 16;
/// What a terminal costs that some lexeme cannot have behind it.
const EXPENSIVE_TERMINAL_COST: usize = 1 << 16;
/// Most rounds of looking for a plan.
const MAX_ROUNDS: usize = 1 << 10;

/// None if there is a plan in which no pair of `avoided` follows each other; else a state without one.
pub(crate) fn find_incompletable_state(
    grammar: &LexedGrammar,
    table: &LalrTable,
    avoided: &FxHashSet<(TerminalId, TerminalId)>,
) -> Option<LrState> {
    let cheapest = CheapestDerivations::of(table, avoided.iter().map(|&(_, second)| second).collect());
    let mut dead = None;
    for preference in [Preference::Short, Preference::Separable] {
        let mut plan = CompletionPlan::new(table, &cheapest, avoided, preference);
        plan.indentation = grammar.indentation.clone();
        dead = Some(plan.repair(grammar)?);
        if avoided.is_empty() {
            break;
        }
    }
    dead
}

/// Which of the steps of a state are tried first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Preference {
    /// Those with the cheapest texts.
    Short,
    /// Those whose texts begin with what every lexeme can have behind it: what leads to a state may have no other step, so
    /// the fault is found there and not where it could be mended.
    Separable,
}

/// The production with which each nonterminal derives its cheapest text: a shortest one with as few terminals as can be
/// that some lexeme cannot have behind it.
struct CheapestDerivations {
    production: Vec<Option<usize>>,
    cost: Vec<usize>,
    expensive: FxHashSet<TerminalId>,
}

impl CheapestDerivations {
    fn of(table: &LalrTable, expensive: FxHashSet<TerminalId>) -> Self {
        let automaton = &table.automaton;
        let count = automaton.productions_of.len();
        let mut cheapest = Self { production: vec![None; count], cost: vec![usize::MAX; count], expensive };
        loop {
            let mut changed = false;
            for (index, production) in automaton.productions.iter().enumerate() {
                let lhs = production.lhs.index();
                let cost = cheapest.cost_of(&production.rhs);
                if cost < cheapest.cost[lhs] {
                    cheapest.cost[lhs] = cost;
                    cheapest.production[lhs] = Some(index);
                    changed = true;
                }
            }
            if !changed {
                return cheapest;
            }
        }
    }

    fn cost_of(&self, symbols: &[LexedSymbol]) -> usize {
        let costs = symbols.iter().map(|symbol| match symbol {
            LexedSymbol::Terminal(terminal) if self.expensive.contains(terminal) => EXPENSIVE_TERMINAL_COST,
            LexedSymbol::Terminal(_) => 1,
            LexedSymbol::Nonterminal(nonterminal) => self.cost[nonterminal.index()],
        });
        costs.fold(0, usize::saturating_add)
    }

    /// The shortest text of some symbols, if it is not too long.
    fn text(&self, table: &LalrTable, symbols: &[LexedSymbol]) -> Option<Vec<TerminalId>> {
        let mut text = Vec::new();
        let mut pending: Vec<LexedSymbol> = symbols.iter().rev().copied().collect();
        let mut steps = 0;
        while let Some(symbol) = pending.pop() {
            steps += 1;
            if steps > MAX_DERIVATION_SYMBOLS {
                return None;
            }
            match symbol {
                LexedSymbol::Terminal(_) if text.len() >= MAX_STEP_TERMINALS => return None,
                LexedSymbol::Terminal(terminal) => text.push(terminal),
                LexedSymbol::Nonterminal(nonterminal) => {
                    let production = self.production[nonterminal.index()]?;
                    pending.extend(table.automaton.productions[production].rhs.iter().rev());
                }
            }
        }
        Some(text)
    }
}

/// What may be done in a state: an item of its kernel is completed.
struct CompletionStep {
    item: LrItem,
    /// What is read for it.
    text: Vec<TerminalId>,
    /// The states that the parser may be in once the item is reduced.
    return_states: Box<[LrState]>,
}

/// What to do in each state to get to the end of a text.
struct CompletionPlan<'a> {
    table: &'a LalrTable,
    avoided: &'a FxHashSet<(TerminalId, TerminalId)>,
    indentation: Option<Indentation>,
    /// What may be done in each state, best first.
    candidates: Vec<Vec<CompletionStep>>,
    chosen: Vec<usize>,
    /// The terminals before which the chosen step of each state is known to work; none if it was not tried.
    proven: Vec<Option<TerminalSet>>,
}

impl<'a> CompletionPlan<'a> {
    fn new(
        table: &'a LalrTable,
        cheapest: &CheapestDerivations,
        avoided: &'a FxHashSet<(TerminalId, TerminalId)>,
        preference: Preference,
    ) -> Self {
        let automaton = &table.automaton;
        let mut candidates = Vec::with_capacity(table.state_count());
        for (kernel, return_states) in automaton.kernels.iter().zip(return_states(table)) {
            let mut steps: Vec<CompletionStep> = kernel
                .iter()
                .zip(return_states)
                .filter_map(|(&item, return_states)| {
                    let unread = &automaton.productions[item.production as usize].rhs[item.dot as usize..];
                    Some(CompletionStep {
                        item,
                        text: cheapest.text(table, unread)?,
                        return_states: return_states.into(),
                    })
                })
                .collect();
            let cost = |text: &[TerminalId]| {
                let expensive = text.iter().filter(|terminal| cheapest.expensive.contains(terminal));
                let begins = text.first().is_some_and(|first| cheapest.expensive.contains(first));
                (begins && preference == Preference::Separable, expensive.count(), text.len())
            };
            steps.sort_by_key(|step| (cost(&step.text), std::cmp::Reverse(step.item.dot)));
            candidates.push(steps);
        }
        let count = table.state_count();
        Self {
            table,
            avoided,
            indentation: None,
            candidates,
            chosen: vec![0; count],
            proven: vec![None; count],
        }
    }

    /// Corrects the plan until it works; else a state for which that failed.
    fn repair(&mut self, grammar: &LexedGrammar) -> Option<LrState> {
        for _ in 0..MAX_ROUNDS {
            let state = self.find_invalid_state(grammar)?;
            if !self.select_next(state) {
                return Some(state);
            }
        }
        Some(LrState::START)
    }

    /// Goes over to the next candidate of a state; false if there is none.
    fn select_next(&mut self, state: LrState) -> bool {
        self.proven[state.index()] = None;
        self.chosen[state.index()] += 1;
        self.chosen[state.index()] < self.candidates[state.index()].len()
    }

    fn step(&self, state: LrState) -> Option<&CompletionStep> {
        self.candidates[state.index()].get(self.chosen[state.index()])
    }

    fn unread(&self, item: LrItem) -> &[LexedSymbol] {
        &self.table.automaton.productions[item.production as usize].rhs[item.dot as usize..]
    }

    /// A state whose step of the plan does not work.
    fn find_invalid_state(&mut self, grammar: &LexedGrammar) -> Option<LrState> {
        let mut states = (0..self.table.state_count()).map(LrState::new);
        for (state, follow) in states.clone().zip(self.follow(grammar)) {
            let is_valid = match &self.proven[state.index()] {
                Some(proven) => {
                    let new = follow.without(proven);
                    new.iter().next().is_none() || self.is_valid_step(state, &new)
                }
                None => self.is_valid_step(state, &follow),
            };
            if !is_valid {
                return Some(state);
            }
            match &mut self.proven[state.index()] {
                Some(proven) => {
                    proven.union_with(&follow);
                }
                proven => *proven = Some(follow),
            }
        }
        states.find_map(|state| self.find_cycle(state))
    }

    /// For each state the terminals with which the plan goes on after its step.
    fn follow(&self, grammar: &LexedGrammar) -> Vec<TerminalSet> {
        let width = grammar.terminals.len() + 1;
        let mut follow = vec![TerminalSet::new(width); self.table.state_count()];
        let mut successors: Vec<Vec<usize>> = vec![Vec::new(); self.table.state_count()];
        let start_production = self.table.automaton.productions.len() - 1;
        for index in 0..self.table.state_count() {
            let Some(step) = self.step(LrState::new(index)) else { continue };
            if step.item.production as usize == start_production {
                follow[index].insert(self.table.end());
            }
            for &after in &step.return_states {
                match self.step(after).and_then(|next| next.text.first()) {
                    Some(&first) => {
                        follow[index].insert(first);
                    }
                    None => successors[index].push(after.index()),
                }
            }
        }
        union_over_reachable(&mut follow, &successors);
        follow
    }

    /// Whether the parser does what is planned in a state, whatever is below it on the stack.
    fn is_valid_step(&self, state: LrState, follow: &TerminalSet) -> bool {
        let Some(CompletionStep { item, text, .. }) = self.step(state) else { return false };
        if !self.can_be_written(state, text, follow) {
            return false;
        }
        let mut stack = vec![state];
        for &terminal in text {
            loop {
                match self.local_action(&stack, terminal) {
                    Some(ParserAction::Shift(target)) => {
                        stack.push(target);
                        break;
                    }
                    Some(ParserAction::Reduce(production)) if self.reduce(&mut stack, production.index()) => {
                    }
                    _ => return false,
                }
            }
        }
        let height = self.unread(*item).len() + 1;
        follow.iter().all(|terminal| {
            let mut stack = stack.clone();
            loop {
                match self.local_action(&stack, terminal) {
                    Some(ParserAction::Accept) => {
                        let is_start = item.production as usize == self.table.automaton.productions.len() - 1;
                        return is_start && stack.len() == height;
                    }
                    Some(ParserAction::Reduce(production)) => {
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
            Some(LexedSymbol::Terminal(terminal)) => Some(terminal),
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

    fn local_action(&self, stack: &[LrState], terminal: TerminalId) -> Option<ParserAction> {
        // A parser that reduces nothing for ever never gets on.
        if stack.len() > self.table.state_count() + MAX_STEP_TERMINALS {
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

    /// Whether the plan turns in circles above `base`: from nonterminals to those that it makes of them in their place.
    fn has_cycle(&self, base: LrState) -> bool {
        let automaton = &self.table.automaton;
        let made_of = |&(symbol, state): &(LexedSymbol, LrState)| match (symbol, self.step(state)) {
            (LexedSymbol::Nonterminal(part), Some(&CompletionStep { item, .. })) if item.dot == 1 => {
                Some((part, automaton.productions[item.production as usize].lhs))
            }
            _ => None,
        };
        let made: Vec<_> = automaton.transitions[base.index()].iter().filter_map(made_of).collect();
        // In which walk each was first seen, counted from one.
        let mut walks = vec![0; made.len()];
        for walk in 1..=made.len() {
            let mut current = walk - 1;
            while walks[current] == 0 {
                walks[current] = walk;
                match made.binary_search_by_key(&made[current].1, |&(part, _)| part) {
                    Ok(next) if walks[next] == walk => return true,
                    Ok(next) => current = next,
                    Err(_) => break,
                }
            }
        }
        false
    }

    /// A state in which the plan turns in circles above `base`.
    fn find_cycle(&self, base: LrState) -> Option<LrState> {
        let automaton = &self.table.automaton;
        if !self.has_cycle(base) {
            return None;
        }
        // From each symbol to the nonterminal that the plan makes of it in the same place.
        let mut next: FxHashMap<LexedSymbol, (LexedSymbol, LrState)> = FxHashMap::default();
        for &(symbol, state) in &automaton.transitions[base.index()] {
            if let Some(&CompletionStep { item, .. }) = self.step(state)
                && item.dot == 1
            {
                let lhs = automaton.productions[item.production as usize].lhs;
                next.insert(symbol, (LexedSymbol::Nonterminal(lhs), state));
            }
        }
        let mut pending: VecDeque<LexedSymbol> = next.keys().copied().collect();
        while let Some(first) = pending.pop_front() {
            let mut current = first;
            let mut path: Vec<LrState> = Vec::new();
            while let Some(&(after, state)) = next.get(&current) {
                if path.len() > next.len() {
                    let can_change = |state: &LrState| {
                        self.chosen[state.index()] + 1 < self.candidates[state.index()].len()
                    };
                    return path.iter().copied().rev().find(can_change).or(Some(state));
                }
                path.push(state);
                current = after;
            }
        }
        None
    }
}

/// For each item of each state's kernel the states that the parser may be in once it is reduced: from each state that
/// predicts its production, the one after the nonterminal.
fn return_states(table: &LalrTable) -> Vec<Vec<Vec<LrState>>> {
    let automaton = &table.automaton;
    let mut return_states: Vec<Vec<Vec<LrState>>> =
        automaton.kernels.iter().map(|kernel| vec![Vec::new(); kernel.len()]).collect();
    for (base, transitions) in automaton.transitions.iter().enumerate() {
        for &(symbol, after) in transitions {
            let LexedSymbol::Nonterminal(nonterminal) = symbol else { continue };
            for &production in &automaton.productions_of[nonterminal.index()] {
                let mut state = LrState::new(base);
                for (before, &symbol) in automaton.productions[production].rhs.iter().enumerate() {
                    let Some(next) = table.step(state, symbol) else { break };
                    state = next;
                    let item = LrItem { production: production as u32, dot: before as u32 + 1 };
                    if let Ok(position) = automaton.kernels[state.index()].binary_search(&item) {
                        let targets = &mut return_states[state.index()][position];
                        if targets.last() != Some(&after) {
                            targets.push(after);
                        }
                    }
                }
            }
        }
    }
    for return_states in return_states.iter_mut().flatten() {
        return_states.sort_unstable();
        return_states.dedup();
    }
    return_states
}
