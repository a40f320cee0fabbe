//! LALR(1) tables: the action of the parser for each state and next terminal.
//!
//! Look-ahead sets are computed by the algorithm of F. DeRemer and T. Pennello, "Efficient Computation of LALR(1)
//! Look-Ahead Sets" (TOPLAS 1982): the sets of terminals that can follow a transition over a nonterminal are the
//! least solution along the relations *reads* and *includes*, computed on strongly connected components. Cost: about
//! linear in the size of the automaton.
//!
//! An LALR(1) parser never shifts a wrong terminal, but it may reduce before it detects the error. A terminal is
//! therefore legal only if the reductions before it end in a shift; a cell other than [`ParserAction::Error`] is not
//! sufficient.

use std::sync::Arc;

use crate::definition::grammar::{LexedGrammar, LexedProduction, LexedSymbol, ProductionId};
use crate::definition::source::{ConflictPolicy, ParserKind};
use crate::parser::lr_automaton::{LrAutomaton, LrItem, LrState};
use crate::parser::terminal_set::{TerminalSet, union_over_reachable};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits, Severity};
use grammask_grammar::{NonterminalId, TerminalId};

/// The maximum number of conflicts in an error.
const MAX_REPORTED_CONFLICTS: usize = 20;

/// The action of the parser before a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParserAction {
    /// The terminal is an error.
    Error,
    /// Push this state.
    Shift(LrState),
    /// Replace the right-hand side of a production by its nonterminal.
    Reduce(ProductionId),
    /// Accept the text; only before the end of the text.
    Accept,
}

/// A state and terminal with several possible actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The symbols on a shortest path to the state.
    pub after: Vec<LexedSymbol>,
    /// The next terminal.
    pub terminal: TerminalId,
    /// The productions that can be reduced.
    pub reductions: Vec<ProductionId>,
    /// Whether the terminal can be shifted.
    pub can_shift: bool,
}

/// The look-ahead terminals of a production that can be reduced in a state.
struct Lookahead {
    state: LrState,
    production: usize,
    terminals: TerminalSet,
}

/// The LALR(1) tables of a grammar.
#[derive(Clone, Debug)]
pub struct LalrTable {
    pub(crate) automaton: LrAutomaton,
    /// The number of terminals, including the end of the text.
    width: usize,
    actions: Vec<ParserAction>,
    /// For each state and nonterminal the next state.
    gotos: Vec<Option<LrState>>,
    /// The conflicts that [`ConflictPolicy::PreferShift`] resolved.
    resolved: Vec<Conflict>,
    /// Whether the lexer reads lexically in each state; empty without lexical rules.
    is_lexical: Vec<bool>,
    ignored_rules: Vec<NonterminalId>,
}

/// The effect of a reduction on the state below the right-hand side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goto {
    /// This state is pushed.
    Push(LrState),
    /// The nonterminal is an ignored rule: its text is dropped, and the state stays on top.
    Stay,
}

impl LalrTable {
    /// Constructs the tables.
    ///
    /// # Errors
    /// Conflicts that the grammar's policy does not resolve; an exceeded limit.
    pub fn new(grammar: &LexedGrammar, limits: &Limits) -> Result<Self, GrammarError> {
        let automaton = LrAutomaton::of(grammar, limits).map_err(|limit| limit.diagnostic())?;
        let width = grammar.terminals.len() + 1;
        let nonterminals = automaton.productions_of.len();
        let row_bytes = width * size_of::<ParserAction>() + nonterminals * size_of::<Option<LrState>>();
        if automaton.state_count().saturating_mul(row_bytes) > limits.memory_bytes {
            return Err(LimitExceeded::new("memory_bytes", limits.memory_bytes).diagnostic().into());
        }
        let is_lexical = lexical_states(grammar, &automaton)?;
        let lookaheads = lookaheads(grammar, &automaton, &is_lexical);
        let gotos = goto_table(&automaton);
        let mut table = Self {
            automaton,
            width,
            actions: Vec::new(),
            gotos,
            resolved: Vec::new(),
            is_lexical,
            ignored_rules: grammar.lexical.ignored.clone(),
        };
        let refused = table.fill(grammar, &lookaheads);
        table.enter_ignored_rules(grammar)?;
        if refused.is_empty() {
            return Ok(table);
        }
        let diagnostics =
            refused.iter().take(MAX_REPORTED_CONFLICTS).map(|conflict| table.report(grammar, conflict));
        Err(GrammarError::new(diagnostics.collect(), Arc::from("")))
    }

    /// The tables of an automaton whose states were split, so that each action leads to a stack with a completion.
    pub(crate) fn of_split_states(automaton: LrAutomaton, width: usize, actions: Vec<ParserAction>) -> Self {
        let gotos = goto_table(&automaton);
        let (resolved, is_lexical, ignored_rules) = (Vec::new(), Vec::new(), Vec::new());
        Self { automaton, width, actions, gotos, resolved, is_lexical, ignored_rules }
    }

    /// The number of states.
    #[must_use]
    pub fn state_count(&self) -> usize {
        self.automaton.state_count()
    }

    /// The action in `state` before `terminal`.
    #[inline]
    #[must_use]
    pub fn action(&self, state: LrState, terminal: TerminalId) -> ParserAction {
        self.actions[state.index() * self.width + terminal.index()]
    }

    /// The state after reducing to `nonterminal` on top of `state`.
    #[inline]
    #[must_use]
    pub fn goto(&self, state: LrState, nonterminal: NonterminalId) -> Option<LrState> {
        self.gotos[state.index() * self.automaton.productions_of.len() + nonterminal.index()]
    }

    /// The effect of reducing to `nonterminal` on top of `state`; `None` if the tables have none.
    #[inline]
    pub(crate) fn reduced(&self, state: LrState, nonterminal: NonterminalId) -> Option<Goto> {
        match self.goto(state, nonterminal) {
            Some(next) => Some(Goto::Push(next)),
            None if self.is_ignored_rule(nonterminal) => (!self.is_lexical(state)).then_some(Goto::Stay),
            None => None,
        }
    }

    /// Whether the texts of a nonterminal are dropped.
    pub(crate) fn is_ignored_rule(&self, nonterminal: NonterminalId) -> bool {
        self.ignored_rules.contains(&nonterminal)
    }

    /// Whether the lexer tries only the terminals that the parser can take in `state`, and no ignored ones.
    pub(crate) fn is_lexical(&self, state: LrState) -> bool {
        self.is_lexical.get(state.index()).copied().unwrap_or(false)
    }

    /// The terminals that are shifted in states that read lexically only.
    pub(crate) fn terminals_inside_lexemes(&self) -> TerminalSet {
        let mut inside = TerminalSet::new(self.width);
        if self.is_lexical.is_empty() {
            return inside;
        }
        for transitions in &self.automaton.transitions {
            for &(symbol, _) in transitions {
                if let LexedSymbol::Terminal(terminal) = symbol {
                    inside.insert(terminal);
                }
            }
        }
        inside.without(&usual_terminals(&self.automaton, &self.is_lexical, self.width))
    }

    /// The state after a symbol. In contrast to the LR(0) automaton, a terminal has a successor only if the table
    /// shifts it.
    pub(crate) fn step(&self, state: LrState, symbol: LexedSymbol) -> Option<LrState> {
        match symbol {
            LexedSymbol::Nonterminal(nonterminal) => self.goto(state, nonterminal),
            LexedSymbol::Terminal(terminal) => match self.action(state, terminal) {
                ParserAction::Shift(target) => Some(target),
                ParserAction::Error | ParserAction::Reduce(_) | ParserAction::Accept => None,
            },
        }
    }

    /// The conflicts that were resolved by shifting.
    #[must_use]
    pub fn resolved(&self) -> &[Conflict] {
        &self.resolved
    }

    /// The conflicts of a grammar that its policy or its parser resolves, as warnings; for an LALR(1) grammar none.
    ///
    /// # Errors
    /// Conflicts that the policy does not resolve; an exceeded limit.
    pub fn resolved_conflicts(
        grammar: &LexedGrammar,
        limits: &Limits,
    ) -> Result<Vec<Diagnostic>, GrammarError> {
        let as_warning = |conflict: Diagnostic| Diagnostic { severity: Severity::Warning, ..conflict };
        match (Self::new(grammar, limits), grammar.parser) {
            (Ok(table), _) => {
                let conflicts = table.resolved.iter().take(MAX_REPORTED_CONFLICTS);
                Ok(conflicts.map(|conflict| as_warning(table.report(grammar, conflict))).collect())
            }
            (Err(error), ParserKind::Earley) => {
                Ok(error.diagnostics().iter().cloned().map(as_warning).collect())
            }
            (Err(error), ParserKind::Lalr) => Err(error),
        }
    }

    /// The end of the text, as a terminal.
    #[must_use]
    pub fn end(&self) -> TerminalId {
        TerminalId::new(self.width - 1)
    }

    /// The terminals with an action in `state`.
    pub(crate) fn accepts(&self, state: LrState) -> TerminalSet {
        let mut accepts = TerminalSet::new(self.width);
        for terminal in (0..self.width).map(TerminalId::new) {
            if self.action(state, terminal) != ParserAction::Error {
                accepts.insert(terminal);
            }
        }
        accepts
    }

    /// Fills in the actions; returns the unresolved conflicts.
    fn fill(&mut self, grammar: &LexedGrammar, lookaheads: &[Lookahead]) -> Vec<Conflict> {
        let start_production = self.automaton.productions.len() - 1;
        let end = self.end();
        self.actions = vec![ParserAction::Error; self.state_count() * self.width];
        for (state, transitions) in self.automaton.transitions.iter().enumerate() {
            for &(symbol, target) in transitions {
                if let LexedSymbol::Terminal(terminal) = symbol {
                    self.actions[state * self.width + terminal.index()] = ParserAction::Shift(target);
                }
            }
        }
        if let Some(accepting) = self.automaton.step(LrState::START, LexedSymbol::Nonterminal(grammar.start))
        {
            self.actions[accepting.index() * self.width + end.index()] = ParserAction::Accept;
        }
        // Reductions of states with a conflict; in most states the look-ahead sets are disjoint.
        let mut reductions: Vec<(LrState, TerminalId, ProductionId)> = Vec::new();
        for of_state in lookaheads.chunk_by(|left, right| left.state == right.state) {
            let state = of_state[0].state;
            let mut taken = self.accepts(state);
            let of_state = of_state.iter().filter(|lookahead| lookahead.production != start_production);
            let has_no_conflict = of_state.clone().all(|Lookahead { terminals, .. }| {
                let is_disjoint = !taken.intersects(terminals);
                taken.union_with(terminals);
                is_disjoint
            });
            for Lookahead { production, terminals, .. } in of_state {
                let production = ProductionId::new(*production);
                if has_no_conflict {
                    for terminal in terminals.iter() {
                        self.actions[state.index() * self.width + terminal.index()] =
                            ParserAction::Reduce(production);
                    }
                } else {
                    reductions.extend(terminals.iter().map(|terminal| (state, terminal, production)));
                }
            }
        }
        reductions.sort_unstable();
        let mut refused = Vec::new();
        for at_cell in reductions.chunk_by(|left, right| (left.0, left.1) == (right.0, right.1)) {
            let (state, terminal, _) = at_cell[0];
            let productions = at_cell.iter().map(|&(_, _, production)| production);
            let priority = |production: &ProductionId| grammar.productions[production.index()].priority;
            let highest = productions.clone().map(|production| priority(&production)).max();
            let mut best = productions.clone().filter(|production| Some(priority(production)) == highest);
            let chosen = match (best.next(), best.next()) {
                (Some(only), None) => Some(only),
                _ => None,
            };
            let cell = state.index() * self.width + terminal.index();
            let can_shift = self.actions[cell] != ParserAction::Error;
            let conflict = || Conflict {
                after: self.automaton.symbols_to(state),
                terminal,
                reductions: productions.clone().collect(),
                can_shift,
            };
            match chosen {
                None => refused.push(conflict()),
                Some(_) if can_shift && grammar.conflicts == ConflictPolicy::PreferShift => {
                    let conflict = conflict();
                    self.resolved.push(conflict);
                }
                Some(_) if can_shift => refused.push(conflict()),
                Some(production) => self.actions[cell] = ParserAction::Reduce(production),
            }
        }
        refused
    }

    /// Lets the texts of ignored rules begin in all states that read as usual.
    fn enter_ignored_rules(&mut self, grammar: &LexedGrammar) -> Result<(), GrammarError> {
        for index in 0..self.automaton.ignored_entries.len() {
            let (terminal, entry) = self.automaton.ignored_entries[index];
            for state in
                (0..self.state_count()).map(LrState::new).filter(|&state| !self.is_lexical[state.index()])
            {
                let cell = &mut self.actions[state.index() * self.width + terminal.index()];
                // After an ignored text the parser returns to the state before it first.
                if let ParserAction::Reduce(production) = *cell
                    && self.ignored_rules.contains(&grammar.productions[production.index()].lhs)
                {
                    continue;
                }
                if *cell != ParserAction::Error {
                    let message = format!(
                        "the terminal `{}` begins an ignored rule and is used by other rules",
                        grammar.terminal_name(terminal)
                    );
                    return Err(Diagnostic::error(Code::UnsupportedGrammar, message).into());
                }
                *cell = ParserAction::Shift(entry);
                let transitions = &mut self.automaton.transitions[state.index()];
                transitions.push((LexedSymbol::Terminal(terminal), entry));
                transitions.sort_unstable();
            }
        }
        Ok(())
    }

    /// The diagnostic for a state whose stacks may have no viable completion.
    pub(crate) fn incompletable_state_error(&self, grammar: &LexedGrammar, state: LrState) -> Diagnostic {
        let after: Vec<&str> =
            self.automaton.symbols_to(state).iter().map(|&symbol| grammar.symbol_name(symbol)).collect();
        let message = format!(
            "after `{}` the parser may have no completion, because conflicts were resolved by shifting",
            after.join(" ")
        );
        Diagnostic::error(Code::GrammarConflict, message)
            .help("rewrite the rules so that one terminal of look-ahead decides")
    }

    /// The diagnostic for a conflict.
    fn report(&self, grammar: &LexedGrammar, conflict: &Conflict) -> Diagnostic {
        let after: Vec<&str> = conflict.after.iter().map(|&symbol| grammar.symbol_name(symbol)).collect();
        let position = if after.is_empty() {
            "at the beginning".to_owned()
        } else {
            format!("after `{}`", after.join(" "))
        };
        let next = grammar.terminal_name(conflict.terminal);
        let mut choices = Vec::new();
        if conflict.can_shift {
            choices.push(format!("read `{next}`"));
        }
        for production in &conflict.reductions {
            let production = &grammar.productions[production.index()];
            choices.push(format!("end `{}`", grammar.production_text(production, None)));
        }
        let kind = if conflict.can_shift { "a shift/reduce" } else { "a reduce/reduce" };
        let diagnostic = Diagnostic::error(
            Code::GrammarConflict,
            format!("{kind} conflict: {position}, before `{next}`, several actions are possible"),
        );
        let help = if conflict.can_shift && conflict.reductions.len() == 1 {
            "rewrite the rules so that one terminal of look-ahead decides, \
             prefer to shift, as lark does, or use the Earley parser"
        } else {
            "rewrite the rules so that one terminal of look-ahead decides, \
             give one of them a priority, or use the Earley parser"
        };
        diagnostic.expected(choices).help(help)
    }
}

/// Whether the lexer reads lexically in each state; empty without lexical rules.
fn lexical_states(grammar: &LexedGrammar, automaton: &LrAutomaton) -> Result<Vec<bool>, GrammarError> {
    if grammar.lexical.is_empty() {
        return Ok(Vec::new());
    }
    let is_lexical = |&LrItem { production, dot }: &LrItem| {
        let LexedProduction { lhs, rhs, .. } = &automaton.productions[production as usize];
        grammar.lexical.is_lexical_position(*lhs, rhs, dot as usize)
    };
    let mut states = Vec::with_capacity(automaton.state_count());
    for (state, kernel) in automaton.kernels.iter().enumerate() {
        let count = kernel.iter().filter(|item| is_lexical(item)).count();
        if count > 0 && count < kernel.len() {
            let symbols = automaton.symbols_to(LrState::new(state));
            let after: Vec<&str> = symbols.iter().map(|&symbol| grammar.symbol_name(symbol)).collect();
            let message = format!(
                "after `{}` the text of a lexical rule may end or go on, which decides what the lexer reads next",
                after.join(" ")
            );
            return Err(Diagnostic::error(Code::UnsupportedGrammar, message)
                .help("let the lexical rule end with a terminal that only ends it")
                .into());
        }
        states.push(count > 0);
    }
    Ok(states)
}

/// For each state and nonterminal the next state.
fn goto_table(automaton: &LrAutomaton) -> Vec<Option<LrState>> {
    let nonterminals = automaton.productions_of.len();
    let mut gotos = vec![None; automaton.state_count() * nonterminals];
    for (state, transitions) in automaton.transitions.iter().enumerate() {
        for &(symbol, target) in transitions {
            if let LexedSymbol::Nonterminal(nonterminal) = symbol {
                gotos[state * nonterminals + nonterminal.index()] = Some(target);
            }
        }
    }
    gotos
}

/// The terminals that are shifted in states that read as usual, and the end of the text: those that can follow an
/// ignored text.
fn usual_terminals(automaton: &LrAutomaton, is_lexical: &[bool], width: usize) -> TerminalSet {
    let mut terminals = TerminalSet::new(width);
    terminals.insert(TerminalId::new(width - 1));
    for &(terminal, _) in &automaton.ignored_entries {
        terminals.insert(terminal);
    }
    for (transitions, _) in automaton.transitions.iter().zip(is_lexical).filter(|&(_, &lexical)| !lexical) {
        for &(symbol, _) in transitions {
            if let LexedSymbol::Terminal(terminal) = symbol {
                terminals.insert(terminal);
            }
        }
    }
    terminals
}

/// The look-ahead terminals of each production that can be reduced in a state, sorted by state and production.
fn lookaheads(grammar: &LexedGrammar, automaton: &LrAutomaton, is_lexical: &[bool]) -> Vec<Lookahead> {
    let width = grammar.terminals.len() + 1;
    let nullable = nullable(automaton);
    // The transitions over nonterminals, and their ids by position among all transitions.
    let mut gotos: Vec<(LrState, NonterminalId)> = Vec::new();
    let mut first_index: Vec<usize> = Vec::with_capacity(automaton.state_count());
    let mut goto_at: Vec<Option<usize>> = Vec::new();
    for (state, transitions) in automaton.transitions.iter().enumerate() {
        first_index.push(goto_at.len());
        for &(symbol, _) in transitions {
            if let LexedSymbol::Nonterminal(nonterminal) = symbol {
                goto_at.push(Some(gotos.len()));
                gotos.push((LrState::new(state), nonterminal));
            } else {
                goto_at.push(None);
            }
        }
    }
    let mut follow = vec![TerminalSet::new(width); gotos.len()];
    let mut reads: Vec<Vec<usize>> = vec![Vec::new(); gotos.len()];
    for (id, &(state, nonterminal)) in gotos.iter().enumerate() {
        if state == LrState::START && nonterminal == grammar.start {
            follow[id].insert(TerminalId::new(width - 1));
        }
        let Some(target) = automaton.step(state, LexedSymbol::Nonterminal(nonterminal)) else { continue };
        for (position, &(symbol, _)) in automaton.transitions[target.index()].iter().enumerate() {
            match symbol {
                LexedSymbol::Terminal(terminal) => {
                    follow[id].insert(terminal);
                }
                LexedSymbol::Nonterminal(next) if nullable[next.index()] => {
                    reads[id].extend(goto_at[first_index[target.index()] + position]);
                }
                LexedSymbol::Nonterminal(_) => {}
            }
        }
    }
    union_over_reachable(&mut follow, &reads);
    // An ignored rule has no transition of its own; any usual terminal may follow it.
    let ignored = gotos.len();
    follow.push(usual_terminals(automaton, is_lexical, width));
    let mut includes: Vec<Vec<usize>> = vec![Vec::new(); follow.len()];
    // By state: the productions that can be reduced there, with the transitions of their nonterminals (*lookback*).
    let mut lookback: Vec<Vec<(usize, Vec<usize>)>> = vec![Vec::new(); automaton.state_count()];
    // Follows the symbols of a production that was predicted by a transition, after the first `read` ones.
    let mut follow_production = |id: usize, production: usize, mut state: LrState, read: usize| {
        let rhs = &automaton.productions[production].rhs;
        let is_nullable = |symbol: &LexedSymbol| match symbol {
            LexedSymbol::Terminal(_) => false,
            LexedSymbol::Nonterminal(nonterminal) => nullable[nonterminal.index()],
        };
        let nullable_from = rhs.iter().rposition(|symbol| !is_nullable(symbol)).map_or(0, |last| last + 1);
        for (before, &symbol) in rhs.iter().enumerate().skip(read) {
            let Some(position) = automaton.position(state, symbol) else { break };
            if before + 1 >= nullable_from
                && let Some(inner) = goto_at[first_index[state.index()] + position]
            {
                includes[inner].push(id);
            }
            state = automaton.transitions[state.index()][position].1;
        }
        let of_state = &mut lookback[state.index()];
        match of_state.iter_mut().find(|(of, _)| *of == production) {
            Some((_, gotos)) => gotos.push(id),
            None => of_state.push((production, vec![id])),
        }
    };
    for (id, &(from, nonterminal)) in gotos.iter().enumerate() {
        for &production in &automaton.productions_of[nonterminal.index()] {
            follow_production(id, production, from, 0);
        }
    }
    for &(_, entry) in &automaton.ignored_entries {
        for item in &automaton.kernels[entry.index()] {
            follow_production(ignored, item.production as usize, entry, item.dot as usize);
        }
    }
    union_over_reachable(&mut follow, &includes);
    let mut lookaheads = Vec::new();
    for (state, mut of_state) in lookback.into_iter().enumerate() {
        of_state.sort_unstable_by_key(|&(production, _)| production);
        for (production, gotos) in of_state {
            let mut terminals = TerminalSet::new(width);
            for goto in gotos {
                terminals.union_with(&follow[goto]);
            }
            lookaheads.push(Lookahead { state: LrState::new(state), production, terminals });
        }
    }
    lookaheads
}

/// The nonterminals that derive the empty text.
fn nullable(automaton: &LrAutomaton) -> Vec<bool> {
    let mut nullable = vec![false; automaton.productions_of.len()];
    loop {
        let mut grew = false;
        for production in &automaton.productions {
            let derives_nothing = production.rhs.iter().all(|symbol| match symbol {
                LexedSymbol::Terminal(_) => false,
                LexedSymbol::Nonterminal(nonterminal) => nullable[nonterminal.index()],
            });
            if derives_nothing && !nullable[production.lhs.index()] {
                nullable[production.lhs.index()] = true;
                grew = true;
            }
        }
        if !grew {
            return nullable;
        }
    }
}
