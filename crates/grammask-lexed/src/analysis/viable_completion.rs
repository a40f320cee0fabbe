//! Viable completion: a proof that every reachable parser stack can be completed by a finite text, even without some
//! pairs of terminals.
//!
//! LALR(1) tables without conflicts have this *correct-prefix property*. If a conflict is resolved by shifting, the
//! parser may leave all texts that complete its stack, and a mask would run into a dead end; and if two terminals
//! cannot be written one after the other, texts that contain the pair do not count. In these cases the proof is a
//! *plan*: for each state, an item of its kernel and a cheapest derivation of the symbols after its dot. A step of
//! the plan is valid if, on the tables and regardless of the stack below the state, the parser reads that derivation
//! and then reduces the item, before every terminal with which the plan continues in the states that the reduction
//! returns to. If all steps are valid, following the plan completes every stack, because each step shortens the stack
//! or replaces its topmost nonterminal by one closer to the pending item. A grammar without a plan is refused.
//!
//! Cost: plans are repaired one state at a time, and most steps are unchanged by a repair. Return states are
//! therefore computed once, and a step is checked again only before terminals that are new after it.

use std::cmp::Reverse;
use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::grammar::{Indentation, LexedGrammar, LexedSymbol};
use crate::parser::lalr::{Goto, LalrTable, ParserAction};
use crate::parser::lr_automaton::{LrItem, LrState};
use crate::parser::terminal_set::{TerminalSet, union_over_reachable};
use grammask_grammar::TerminalId;

/// A terminal and one that follows it.
pub(crate) type TerminalPair = (TerminalId, TerminalId);

/// The maximum length of a step's derivation, in terminals.
const MAX_STEP_TERMINALS: usize = 1 << 12;
/// The maximum number of symbols expanded for one derivation, nullable ones included.
const MAX_DERIVATION_SYMBOLS: usize = 1 << 16;
/// The cost of a terminal that some lexeme cannot be followed by; other terminals cost 1.
const EXPENSIVE_TERMINAL_COST: usize = 1 << 16;
/// The maximum number of repairs of a plan.
const MAX_ROUNDS: usize = 1 << 10;

/// For each state with a step: an item of its kernel, and a derivation of the symbols after its dot.
pub(crate) type CompletionSteps = Vec<(LrItem, Vec<TerminalId>)>;

/// The steps of a plan that avoids all pairs of `avoided`; a state without a valid step if there is none.
pub(crate) fn completion_plan(
    grammar: &LexedGrammar,
    table: &LalrTable,
    avoided: &FxHashSet<TerminalPair>,
) -> Result<CompletionSteps, LrState> {
    let cheapest = CheapestDerivations::of(table, avoided.iter().map(|&(_, second)| second).collect());
    let mut incompletable = LrState::START;
    for preference in [Preference::Short, Preference::Separable] {
        let mut plan = CompletionPlan::new(table, &cheapest, avoided, preference);
        plan.indentation = grammar.indentation.clone();
        match plan.repair(grammar) {
            Some(state) => incompletable = state,
            None => return Ok(plan.into_steps()),
        }
        if avoided.is_empty() {
            break;
        }
    }
    Err(incompletable)
}

/// The order in which the steps of a state are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Preference {
    /// Cheapest derivations first.
    Short,
    /// Derivations first whose first terminal can follow every lexeme. An invalid step may be reported for a later
    /// state that has no alternative, instead of the state whose choice caused it.
    Separable,
}

/// For each nonterminal: the production of its cheapest derivation, which minimises expensive terminals and then
/// length.
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

    /// The cheapest derivation of some symbols, if it is within the limits.
    fn derivation(&self, table: &LalrTable, symbols: &[LexedSymbol]) -> Option<Vec<TerminalId>> {
        let mut derivation = Vec::new();
        let mut pending: Vec<LexedSymbol> = symbols.iter().rev().copied().collect();
        let mut steps = 0;
        while let Some(symbol) = pending.pop() {
            steps += 1;
            if steps > MAX_DERIVATION_SYMBOLS {
                return None;
            }
            match symbol {
                LexedSymbol::Terminal(_) if derivation.len() >= MAX_STEP_TERMINALS => return None,
                LexedSymbol::Terminal(terminal) => derivation.push(terminal),
                LexedSymbol::Nonterminal(nonterminal) => {
                    let production = self.production[nonterminal.index()]?;
                    pending.extend(table.automaton.productions[production].rhs.iter().rev());
                }
            }
        }
        Some(derivation)
    }
}

/// The completion of a kernel item of a state.
struct PlanStep {
    item: LrItem,
    /// The derivation of the symbols after the dot.
    derivation: Vec<TerminalId>,
    /// The states that the reduction of the item may return to.
    return_states: Box<[LrState]>,
}

/// A step for each state.
struct CompletionPlan<'a> {
    table: &'a LalrTable,
    avoided: &'a FxHashSet<TerminalPair>,
    indentation: Option<Indentation>,
    /// The steps of each state, in the order of preference.
    candidates: Vec<Vec<PlanStep>>,
    selected: Vec<usize>,
    /// The terminals before which the selected step of each state is proved valid; `None` if it was not checked.
    proven: Vec<Option<TerminalSet>>,
}

impl<'a> CompletionPlan<'a> {
    fn new(
        table: &'a LalrTable,
        cheapest: &CheapestDerivations,
        avoided: &'a FxHashSet<TerminalPair>,
        preference: Preference,
    ) -> Self {
        let automaton = &table.automaton;
        let mut candidates = Vec::with_capacity(table.state_count());
        for (kernel, return_states) in automaton.kernels.iter().zip(return_states(table)) {
            let mut steps: Vec<PlanStep> = kernel
                .iter()
                .zip(return_states)
                .filter_map(|(&item, return_states)| {
                    let unread = &automaton.productions[item.production as usize].rhs[item.dot as usize..];
                    Some(PlanStep {
                        item,
                        derivation: cheapest.derivation(table, unread)?,
                        return_states: return_states.into(),
                    })
                })
                .collect();
            let cost = |derivation: &[TerminalId]| {
                let expensive = derivation.iter().filter(|terminal| cheapest.expensive.contains(terminal));
                let starts_expensive =
                    derivation.first().is_some_and(|first| cheapest.expensive.contains(first));
                (starts_expensive && preference == Preference::Separable, expensive.count())
            };
            // An item with a single symbol before its dot replaces that symbol and leaves the stack as high as it is,
            // so such steps may go around in circles: `e "+" e` after the `e` of `"if" e "then" e "end"`.
            steps.sort_by_key(|step| {
                let is_replacement = step.item.dot == 1;
                (cost(&step.derivation), is_replacement, step.derivation.len(), Reverse(step.item.dot))
            });
            candidates.push(steps);
        }
        let count = table.state_count();
        Self {
            table,
            avoided,
            indentation: None,
            candidates,
            selected: vec![0; count],
            proven: vec![None; count],
        }
    }

    /// Replaces invalid steps until the plan is valid; otherwise returns a state without a valid step.
    fn repair(&mut self, grammar: &LexedGrammar) -> Option<LrState> {
        for _ in 0..MAX_ROUNDS {
            let state = self.find_invalid_state(grammar)?;
            if !self.select_next(state) {
                return Some(state);
            }
        }
        Some(LrState::START)
    }

    /// Selects the next candidate of a state; `false` if none remains.
    fn select_next(&mut self, state: LrState) -> bool {
        self.proven[state.index()] = None;
        self.selected[state.index()] += 1;
        self.selected[state.index()] < self.candidates[state.index()].len()
    }

    /// The selected steps of all states.
    fn into_steps(self) -> CompletionSteps {
        let steps = self.candidates.into_iter().zip(self.selected);
        let selected = steps.filter_map(|(mut steps, selected)| {
            (selected < steps.len()).then(|| steps.swap_remove(selected))
        });
        selected.map(|PlanStep { item, derivation, .. }| (item, derivation)).collect()
    }

    fn step(&self, state: LrState) -> Option<&PlanStep> {
        self.candidates[state.index()].get(self.selected[state.index()])
    }

    fn unread(&self, item: LrItem) -> &[LexedSymbol] {
        &self.table.automaton.productions[item.production as usize].rhs[item.dot as usize..]
    }

    /// A state whose selected step is invalid.
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

    /// For each state: the terminals with which the plan continues after the state's step.
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
                match self.step(after).and_then(|next| next.derivation.first()) {
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

    /// Whether the parser executes the selected step of a state before each terminal of `follow`, on any stack below.
    fn is_valid_step(&self, state: LrState, follow: &TerminalSet) -> bool {
        let Some(PlanStep { item, derivation, .. }) = self.step(state) else { return false };
        if !self.can_be_written(state, derivation, follow) {
            return false;
        }
        let mut stack = vec![state];
        for &terminal in derivation {
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

    /// Whether a step contains no avoided pair.
    fn can_be_written(&self, state: LrState, derivation: &[TerminalId], follow: &TerminalSet) -> bool {
        let entered_by = match self.table.automaton.entered_by[state.index()] {
            Some(LexedSymbol::Terminal(terminal)) => Some(terminal),
            _ => None,
        };
        // Indents and dedents have no text of their own: the preceding newline is the lexeme.
        let (newline, blocks) = match &self.indentation {
            Some(layout) => (Some(layout.newline), vec![layout.indent, layout.dedent]),
            None => (None, Vec::new()),
        };
        let first = entered_by.and_then(|first| if blocks.contains(&first) { newline } else { Some(first) });
        let derivation = derivation.iter().copied().filter(|terminal| !blocks.contains(terminal));
        let read: Vec<TerminalId> = first.into_iter().chain(derivation).collect();
        let is_avoided = |first, second| self.avoided.contains(&(first, second));
        let last = read.last().copied();
        !read.windows(2).any(|pair| is_avoided(pair[0], pair[1]))
            && !follow.iter().any(|next| last.is_some_and(|last| is_avoided(last, next)))
    }

    fn local_action(&self, stack: &[LrState], terminal: TerminalId) -> Option<ParserAction> {
        // With resolved conflicts a parser may reduce empty productions without end.
        if stack.len() > self.table.state_count() + MAX_STEP_TERMINALS {
            return None;
        }
        Some(self.table.action(*stack.last()?, terminal))
    }

    /// Reduces within the states above the first of `stack`; `false` if the reduction extends below.
    fn reduce(&self, stack: &mut Vec<LrState>, production: usize) -> bool {
        let production = &self.table.automaton.productions[production];
        if production.rhs.len() >= stack.len() {
            return false;
        }
        stack.truncate(stack.len() - production.rhs.len());
        let base = stack[stack.len() - 1];
        match self.table.reduced(base, production.lhs) {
            Some(Goto::Push(next)) => {
                stack.push(next);
                true
            }
            Some(Goto::Stay) => true,
            None => false,
        }
    }

    /// Whether the plan cycles above `base`: through nonterminals that it replaces by each other in place.
    fn has_cycle(&self, base: LrState) -> bool {
        let automaton = &self.table.automaton;
        let replacement_of = |&(symbol, state): &(LexedSymbol, LrState)| match (symbol, self.step(state)) {
            (LexedSymbol::Nonterminal(nonterminal), Some(&PlanStep { item, .. })) if item.dot == 1 => {
                Some((nonterminal, automaton.productions[item.production as usize].lhs))
            }
            _ => None,
        };
        let replacements: Vec<_> =
            automaton.transitions[base.index()].iter().filter_map(replacement_of).collect();
        // The walk, counted from one, in which each entry was first visited.
        let mut walks = vec![0; replacements.len()];
        for walk in 1..=replacements.len() {
            let mut current = walk - 1;
            while walks[current] == 0 {
                walks[current] = walk;
                match replacements
                    .binary_search_by_key(&replacements[current].1, |&(nonterminal, _)| nonterminal)
                {
                    Ok(next) if walks[next] == walk => return true,
                    Ok(next) => current = next,
                    Err(_) => break,
                }
            }
        }
        false
    }

    /// A state on such a cycle above `base` whose step can be replaced.
    fn find_cycle(&self, base: LrState) -> Option<LrState> {
        let automaton = &self.table.automaton;
        if !self.has_cycle(base) {
            return None;
        }
        // For each symbol: the nonterminal by which the plan replaces it in place.
        let mut next: FxHashMap<LexedSymbol, (LexedSymbol, LrState)> = FxHashMap::default();
        for &(symbol, state) in &automaton.transitions[base.index()] {
            if let Some(&PlanStep { item, .. }) = self.step(state)
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
                        self.selected[state.index()] + 1 < self.candidates[state.index()].len()
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

/// For each kernel item of each state: the states that its reduction may return to, which are the gotos of all states
/// that predict its production; for ignored rules, all states in which their text may begin.
fn return_states(table: &LalrTable) -> Vec<Vec<Vec<LrState>>> {
    let automaton = &table.automaton;
    let mut return_states: Vec<Vec<Vec<LrState>>> =
        automaton.kernels.iter().map(|kernel| vec![Vec::new(); kernel.len()]).collect();
    let mut add = |base: LrState, production: usize, after: LrState| {
        let mut state = base;
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
    };
    for (base, transitions) in automaton.transitions.iter().enumerate() {
        let base = LrState::new(base);
        for &(symbol, after) in transitions {
            match symbol {
                LexedSymbol::Nonterminal(nonterminal) => {
                    for &production in &automaton.productions_of[nonterminal.index()] {
                        add(base, production, after);
                    }
                }
                LexedSymbol::Terminal(_) if automaton.is_ignored_entry(after) => {
                    for item in &automaton.kernels[after.index()] {
                        add(base, item.production as usize, base);
                    }
                }
                LexedSymbol::Terminal(_) => {}
            }
        }
    }
    for return_states in return_states.iter_mut().flatten() {
        return_states.sort_unstable();
        return_states.dedup();
    }
    return_states
}
