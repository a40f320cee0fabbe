//! LALR(1) tables without stacks that no text completes.
//!
//! The stacks that a parser can complete are a regular language: the predecessors of acceptance in a pushdown system
//! (A. Bouajjani, J. Esparza, O. Maler, CONCUR 1997). Here the system has the parser's stack, and as its control what is
//! read next: the parser *looks* at a terminal, *pops* a right-hand side before it, or is *after* a terminal, where it
//! looks at one of those that can be written next. Saturation computes, for each control and state on top of the stack,
//! the controls in which that state is popped, or that the text can be completed without popping it.
//!
//! A finite automaton over the stack from its bottom tells which controls lead to acceptance. Its states annotate the
//! states of the parser, as LR(1) look-aheads split those of LALR(1). A split state has an action before a terminal only
//! if the stack after the terminal can be completed.

use rustc_hash::FxHashMap;

use crate::analysis::refinement::ModeOfState;
use crate::definition::grammar::LexedSymbol;
use crate::lexer::lexer_automaton::LexModeId;
use crate::lexer::open_lexemes::commit_classes::CommitClasses;
use crate::parser::lalr::{LalrTable, ParserAction};
use crate::parser::lr_automaton::{LrAutomaton, LrState};
use grammask_diagnostics::{Deadline, LimitExceeded, Limits};
use grammask_grammar::{NonterminalId, TerminalId};

/// The number of evaluations between two checks of the deadline.
const EVALUATIONS_PER_CHECK: usize = 1 << 10;

/// A control of the pushdown system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Control {
    /// The text can be completed, whatever is below.
    Accepted,
    /// The terminal is read next.
    Look(TerminalId),
    /// The terminal was read.
    After(TerminalId),
    /// More states are popped, and then the nonterminal is pushed and the terminal read.
    Pop { states: u32, lhs: NonterminalId, before: TerminalId },
}

/// The split tables, and the lexer mode of each state; `None` if no text is left.
///
/// # Errors
/// When a limit is exceeded.
pub(crate) fn split_by_liveness(
    table: &LalrTable,
    classes: &CommitClasses,
    modes: &[ModeOfState],
    limits: &Limits,
) -> Result<Option<(LalrTable, Vec<LexModeId>)>, LimitExceeded> {
    let Some(mut system) = PushdownSystem::new(table, classes, modes) else { return Ok(None) };
    system.saturate(limits)?;
    SplitStates::explore(&system, limits)
}

/// A state of the parser with its lexer mode.
type ModalState = (LrState, LexModeId);

/// The pushdown system. Its stack symbols are modal states, and its pairs a control and the symbol on top of the stack.
struct PushdownSystem<'a> {
    table: &'a LalrTable,
    classes: &'a CommitClasses,
    symbols: Vec<ModalState>,
    /// The transitions of each symbol, sorted by grammar symbol.
    transitions: Vec<Vec<(LexedSymbol, usize)>>,
    predecessors: Vec<Vec<usize>>,
    pairs: Vec<(Control, usize)>,
    pair_ids: FxHashMap<(Control, usize), usize>,
    /// For each pair: the controls in which its symbol is popped, sorted.
    exits: Vec<Vec<Control>>,
    /// For each pair: the pairs whose exits depend on its own.
    dependents: Vec<Vec<usize>>,
    pending: Vec<usize>,
}

impl<'a> PushdownSystem<'a> {
    fn new(table: &'a LalrTable, classes: &'a CommitClasses, modes: &[ModeOfState]) -> Option<Self> {
        let mut system = Self {
            table,
            classes,
            symbols: Vec::new(),
            transitions: Vec::new(),
            predecessors: Vec::new(),
            pairs: Vec::new(),
            pair_ids: FxHashMap::default(),
            exits: Vec::new(),
            dependents: Vec::new(),
            pending: Vec::new(),
        };
        let ModeOfState::Fixed(start_mode) = modes[LrState::START.index()] else { return None };
        let mut ids: FxHashMap<ModalState, usize> = FxHashMap::default();
        ids.insert((LrState::START, start_mode), 0);
        system.symbols.push((LrState::START, start_mode));
        while let Some(&(from, _)) = system.symbols.get(system.transitions.len()) {
            let mut transitions = Vec::new();
            for &(symbol, _) in &table.automaton.transitions[from.index()] {
                let Some(next) = table.step(from, symbol) else { continue };
                let mode = match modes[next.index()] {
                    ModeOfState::Fixed(mode) => mode,
                    ModeOfState::After(nonterminal) => {
                        let after = table.goto(from, nonterminal)?;
                        let ModeOfState::Fixed(mode) = modes[after.index()] else { return None };
                        mode
                    }
                };
                let id = *ids.entry((next, mode)).or_insert_with(|| {
                    system.symbols.push((next, mode));
                    system.symbols.len() - 1
                });
                transitions.push((symbol, id));
            }
            system.transitions.push(transitions);
        }
        system.predecessors = vec![Vec::new(); system.symbols.len()];
        for (from, transitions) in system.transitions.iter().enumerate() {
            for &(_, to) in transitions {
                system.predecessors[to].push(from);
            }
        }
        Some(system)
    }

    fn step(&self, from: usize, symbol: LexedSymbol) -> Option<usize> {
        let transitions = &self.transitions[from];
        let position = transitions.binary_search_by_key(&symbol, |&(symbol, _)| symbol).ok()?;
        Some(transitions[position].1)
    }

    /// Computes the exits of all pairs: a least fixpoint.
    fn saturate(&mut self, limits: &Limits) -> Result<(), LimitExceeded> {
        let deadline = Deadline::after(limits.time);
        for symbol in 0..self.symbols.len() {
            for terminal in (0..=self.classes.terminal_of.len()).map(TerminalId::new) {
                self.pair(Control::Look(terminal), symbol);
            }
        }
        let mut evaluations = 0_usize;
        while let Some(pair) = self.pending.pop() {
            evaluations += 1;
            if evaluations.is_multiple_of(EVALUATIONS_PER_CHECK) {
                deadline.check()?;
            }
            if self.pairs.len() > limits.automaton_states {
                return Err(LimitExceeded::new("automaton_states", limits.automaton_states));
            }
            let mut exits = self.evaluate(pair);
            exits.sort_unstable();
            exits.dedup();
            if exits == self.exits[pair] {
                continue;
            }
            // A control in which this symbol is popped goes on at the symbols below it.
            let symbol = self.pairs[pair].1;
            for &exit in exits.iter().filter(|&&exit| exit != Control::Accepted) {
                for index in 0..self.predecessors[symbol].len() {
                    self.pair(exit, self.predecessors[symbol][index]);
                }
            }
            self.exits[pair] = exits;
            self.pending.extend_from_slice(&self.dependents[pair]);
        }
        Ok(())
    }

    fn pair(&mut self, control: Control, symbol: usize) -> usize {
        let next = self.pairs.len();
        let id = *self.pair_ids.entry((control, symbol)).or_insert(next);
        if id == next {
            self.pairs.push((control, symbol));
            self.exits.push(Vec::new());
            self.dependents.push(Vec::new());
            self.pending.push(id);
        }
        id
    }

    fn exits_for(&mut self, control: Control, symbol: usize, dependent: usize) -> Vec<Control> {
        let pair = self.pair(control, symbol);
        if !self.dependents[pair].contains(&dependent) {
            self.dependents[pair].push(dependent);
        }
        self.exits[pair].clone()
    }

    /// The exits of a pair, given those that are known of others.
    fn evaluate(&mut self, pair: usize) -> Vec<Control> {
        let (control, symbol) = self.pairs[pair];
        match control {
            Control::Accepted => vec![Control::Accepted],
            Control::Look(terminal) => self.evaluate_look(terminal, symbol, pair),
            Control::After(terminal) => {
                let mut exits = self.exits_for(Control::Look(self.classes.end()), symbol, pair);
                let next = self.classes.next(terminal, self.symbols[symbol].1);
                for next in next.into_iter().flat_map(|next| next.iter()) {
                    exits.extend(self.exits_for(Control::Look(next), symbol, pair));
                }
                exits
            }
            Control::Pop { states: 0, lhs, before } => self.evaluate_goto(lhs, before, symbol, pair),
            Control::Pop { states, lhs, before } => vec![Control::Pop { states: states - 1, lhs, before }],
        }
    }

    fn evaluate_look(&mut self, terminal: TerminalId, symbol: usize, pair: usize) -> Vec<Control> {
        match self.table.action(self.symbols[symbol].0, terminal) {
            ParserAction::Error => Vec::new(),
            ParserAction::Accept => vec![Control::Accepted],
            ParserAction::Shift(_) => match self.step(symbol, LexedSymbol::Terminal(terminal)) {
                Some(above) => self.exits_after_push(Control::After(terminal), above, symbol, pair),
                None => Vec::new(),
            },
            ParserAction::Reduce(production) => {
                let production = &self.table.automaton.productions[production.index()];
                let lhs = production.lhs;
                match production.rhs.len().checked_sub(1) {
                    Some(more) => vec![Control::Pop { states: more as u32, lhs, before: terminal }],
                    None => self.evaluate_goto(lhs, terminal, symbol, pair),
                }
            }
        }
    }

    fn evaluate_goto(
        &mut self,
        lhs: NonterminalId,
        before: TerminalId,
        symbol: usize,
        pair: usize,
    ) -> Vec<Control> {
        match self.step(symbol, LexedSymbol::Nonterminal(lhs)) {
            Some(above) => self.exits_after_push(Control::Look(before), above, symbol, pair),
            None => Vec::new(),
        }
    }

    /// The exits of `symbol` after `above` was pushed on top of it.
    fn exits_after_push(
        &mut self,
        control: Control,
        above: usize,
        symbol: usize,
        pair: usize,
    ) -> Vec<Control> {
        let mut exits = Vec::new();
        for exit in self.exits_for(control, above, pair) {
            match exit {
                Control::Accepted => exits.push(exit),
                exit => exits.extend(self.exits_for(exit, symbol, pair)),
            }
        }
        exits
    }
}

/// A stack symbol with the controls that lead to acceptance from a stack with this symbol on top, sorted.
type SplitState = (usize, Box<[Control]>);

/// The split states, and the transitions between them.
#[derive(Default)]
struct SplitStates {
    states: Vec<SplitState>,
    ids: FxHashMap<SplitState, LrState>,
    first_predecessor: Vec<LrState>,
    transitions: Vec<Vec<(LexedSymbol, LrState)>>,
}

impl SplitStates {
    fn explore(
        system: &PushdownSystem,
        limits: &Limits,
    ) -> Result<Option<(LalrTable, Vec<LexModeId>)>, LimitExceeded> {
        let deadline = Deadline::after(limits.time);
        let mut pairs_of: Vec<Vec<usize>> = vec![Vec::new(); system.symbols.len()];
        for (pair, &(control, symbol)) in system.pairs.iter().enumerate() {
            if matches!(control, Control::Look(_) | Control::Pop { .. }) {
                pairs_of[symbol].push(pair);
            }
        }
        let accepted_at = |symbol: usize, below: &[Control]| -> Box<[Control]> {
            let is_accepted =
                |exit: &Control| *exit == Control::Accepted || below.binary_search(exit).is_ok();
            let accepted =
                pairs_of[symbol].iter().filter(|&&pair| system.exits[pair].iter().any(is_accepted));
            let mut controls: Vec<Control> = accepted.map(|&pair| system.pairs[pair].0).collect();
            controls.sort_unstable();
            controls.into()
        };
        let can_go_on = |controls: &[Control]| controls.iter().any(|each| matches!(each, Control::Look(_)));
        let mut split = Self::default();
        let start = accepted_at(0, &[]);
        if !can_go_on(&start) {
            return Ok(None);
        }
        split.intern((0, start), LrState::START);
        while let Some((symbol, controls)) = split.states.get(split.transitions.len()).cloned() {
            deadline.check()?;
            if split.states.len() > limits.automaton_states {
                return Err(LimitExceeded::new("automaton_states", limits.automaton_states));
            }
            let from = LrState::new(split.transitions.len());
            let mut transitions = Vec::new();
            for &(over, next) in &system.transitions[symbol] {
                if let LexedSymbol::Terminal(terminal) = over
                    && controls.binary_search(&Control::Look(terminal)).is_err()
                {
                    continue;
                }
                let after = accepted_at(next, &controls);
                if can_go_on(&after) {
                    transitions.push((over, split.intern((next, after), from)));
                }
            }
            split.transitions.push(transitions);
        }
        split.into_table(system, limits).map(Some)
    }

    fn intern(&mut self, state: SplitState, from: LrState) -> LrState {
        let next = LrState::new(self.states.len());
        let id = *self.ids.entry(state.clone()).or_insert(next);
        if id == next {
            self.states.push(state);
            self.first_predecessor.push(from);
        }
        id
    }

    fn into_table(
        self,
        system: &PushdownSystem,
        limits: &Limits,
    ) -> Result<(LalrTable, Vec<LexModeId>), LimitExceeded> {
        let original = system.table;
        let width = system.classes.terminal_of.len() + 1;
        let modal: Vec<ModalState> = self.states.iter().map(|&(symbol, _)| system.symbols[symbol]).collect();
        if modal.len().saturating_mul(width) > limits.memory_bytes / size_of::<ParserAction>() {
            return Err(LimitExceeded::new("memory_bytes", limits.memory_bytes));
        }
        let mut actions = vec![ParserAction::Error; modal.len() * width];
        for (index, (_, controls)) in self.states.iter().enumerate() {
            for control in controls {
                let &Control::Look(terminal) = control else { continue };
                let transitions = &self.transitions[index];
                let action = match original.action(modal[index].0, terminal) {
                    ParserAction::Shift(_) => {
                        let over = LexedSymbol::Terminal(terminal);
                        let position = transitions.binary_search_by_key(&over, |&(symbol, _)| symbol);
                        position.map_or(ParserAction::Error, |at| ParserAction::Shift(transitions[at].1))
                    }
                    action => action,
                };
                actions[index * width + terminal.index()] = action;
            }
        }
        let of_original = |state: &ModalState| state.0.index();
        let automaton = LrAutomaton {
            productions: original.automaton.productions.clone(),
            productions_of: original.automaton.productions_of.clone(),
            kernels: modal
                .iter()
                .map(|state| original.automaton.kernels[of_original(state)].clone())
                .collect(),
            transitions: self.transitions,
            entered_by: modal.iter().map(|state| original.automaton.entered_by[of_original(state)]).collect(),
            first_predecessor: self.first_predecessor,
            ignored_entries: Vec::new(),
        };
        let modes = modal.iter().map(|&(_, mode)| mode).collect();
        Ok((LalrTable::of_split_states(automaton, width, actions), modes))
    }
}
