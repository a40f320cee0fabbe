//! Masks by a lazy finite automaton that reads the parser's stack from the top.
//!
//! The legal tokens are a function of a subset and a stack. The top state decides some tokens for every stack below
//! it (context-independent tokens); others require reductions that extend below it. A state of the automaton is
//! therefore the set of *pending goals* over the unread part of the stack: an open reduction, that is, a number of
//! states to pop and a nonterminal, and the terminals to feed to the parser afterwards for the sake of some tokens. A
//! transition reads the next state of the stack; it yields tokens, the next state of the automaton, and the number of
//! stack states that can be skipped. Stacks that differ in irrelevant positions reach the same states, and only
//! tokens that close many brackets read deep into the stack.
//!
//! The sets of stacks from which a pushdown automaton reaches given configurations are regular (A. Bouajjani, J.
//! Esparza and O. Maler, "Reachability Analysis of Pushdown Automata", CONCUR 1997). This automaton is deterministic
//! and has outputs; its states and transitions are computed on demand, as in a lazy DFA.
//!
//! During the computation of a transition, the known part of the stack is an open stack of the [`TerminalParser`].
//! Large subsets that are reached after a further lexeme read it through states of their own, so their results are
//! shared by all transitions.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lexer::lexer_automaton::LexModeId;
use crate::lexer::line_columns::Column;
use crate::masks::spanner_subset::{SpannerSubsets, SubsetExit, SubsetId, SubsetSources, SubsetStep};
use crate::masks::terminal_lists::{TerminalListId, TerminalLists};
use crate::masks::token_partition::{
    DependentTokens, Nesting, PartitionInput, PartitionTables, TokenPartition, TokenPartitions,
};
use crate::masks::token_set_store::{TokenGroupId, TokenSetStore, hash_map_bytes};
use crate::parser::lr_automaton::LrState;
use crate::parser::stacks::{Attempt, LayoutId, OpenReduction, ParseState, StackId, TerminalParser};
use crate::prepared::PreparedGrammar;
use grammask_collections::id_type;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{NonterminalId, TerminalId};
use grammask_vocabulary::TokenSetRef;

id_type! {
    /// An interned state of the automaton.
    StackStateId
}
id_type! {
    /// An interned pending goal.
    PendingGoalId
}

impl StackStateId {
    /// The state without pending goals.
    const DONE: Self = Self(0);
}

/// The maximum nesting of large partitions that are read through states of their own.
const MAX_LEVELS: u32 = 3;
/// The minimum number of dependent groups and branches of a large partition.
const MIN_LARGE_PARTITION: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum StackAutomatonState {
    /// No state of the stack has been read.
    Unread { subset: SubsetId, column: Column, layout: LayoutId },
    /// The pending goals over the unread part, sorted.
    Pending(Arc<[PendingGoalId]>),
}

/// An open reduction, and the goal to pursue after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PendingGoal {
    reduction: OpenReduction,
    goal: ParserGoal,
}

/// Terminals to feed to the parser, and the tokens that are legal if it accepts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ParserGoal {
    /// The tokens are legal if one of the terminals, or the end of the text, is accepted.
    Any(TerminalListId, TokenGroupId),
    /// The tokens are legal if all terminals in order and then the end of the text are accepted.
    End(TerminalListId, TokenGroupId),
    /// The branch is taken if all terminals in order are accepted.
    Branch(TerminalListId, BranchTarget),
}

/// A branch of a subset, and the layout after its lexeme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BranchTarget {
    subset: SubsetId,
    branch: u32,
    layout: LayoutId,
}

/// The result of reading one more state of the stack.
#[derive(Clone, Copy, Debug)]
struct StackTransition {
    tokens: Option<TokenGroupId>,
    residual: StackResidual,
}

/// The work that remains below the states read so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StackResidual {
    /// The number of stack states that can be skipped.
    skipped: u32,
    /// The state that reads the next one.
    state: StackStateId,
}

/// The stack automaton of a recogniser.
#[derive(Debug)]
pub(crate) struct StackAutomaton {
    states: Vec<StackAutomatonState>,
    state_ids: FxHashMap<StackAutomatonState, StackStateId>,
    transitions: FxHashMap<(StackStateId, LrState), StackTransition>,
    goals: Vec<PendingGoal>,
    goal_ids: FxHashMap<PendingGoal, PendingGoalId>,
    token_sets: TokenSetStore,
    terminals: TerminalLists,
    answers: ParserAnswers,
    content_bytes: usize,
}

/// Memoised answers of the parser about open stacks. States that differ only in their tokens share them.
#[derive(Debug, Default)]
struct ParserAnswers {
    /// Whether one of the terminals is accepted.
    any: FxHashMap<(StackId, TerminalListId), AnyAccepted>,
    /// The open reductions of [`AnyAccepted::Open`], each with the terminals that require it.
    open: Vec<(OpenReduction, TerminalListId)>,
    /// The stack after all terminals; for an open result, the terminals that remain to be fed.
    fed: FxHashMap<(StackId, TerminalListId), Attempt<StackId, (OpenReduction, TerminalListId)>>,
}

/// Whether a stack accepts one of some terminals.
#[derive(Clone, Copy, Debug)]
enum AnyAccepted {
    Yes,
    /// It depends on `count` open reductions, starting at `first`; on none if every terminal is refused.
    Open {
        first: u32,
        count: u32,
    },
}

impl Default for StackAutomaton {
    fn default() -> Self {
        let done = StackAutomatonState::Pending(Arc::from([]));
        Self {
            states: vec![done.clone()],
            state_ids: FxHashMap::from_iter([(done, StackStateId::DONE)]),
            transitions: FxHashMap::default(),
            goals: Vec::new(),
            goal_ids: FxHashMap::default(),
            token_sets: TokenSetStore::default(),
            terminals: TerminalLists::default(),
            answers: ParserAnswers::default(),
            content_bytes: 0,
        }
    }
}

impl StackAutomaton {
    fn state(&mut self, state: StackAutomatonState) -> StackStateId {
        if let Some(&cached) = self.state_ids.get(&state) {
            return cached;
        }
        let id = StackStateId::new(self.states.len());
        if let StackAutomatonState::Pending(goals) = &state {
            self.content_bytes += 16 + size_of_val(&goals[..]);
        }
        self.states.push(state.clone());
        self.state_ids.insert(state, id);
        id
    }

    /// The start state of a subset.
    pub(crate) fn unread(&mut self, subset: SubsetId, column: Column, layout: LayoutId) -> StackStateId {
        self.state(StackAutomatonState::Unread { subset, column, layout })
    }

    /// The interned state of some pending goals, with the skip factored out.
    fn residual(&mut self, goals: &[PendingGoal]) -> StackResidual {
        let skipped = goals.iter().map(|pending| pending.reduction.pops).min().unwrap_or(0);
        let mut ids = Vec::with_capacity(goals.len());
        for &PendingGoal { reduction: OpenReduction { pops, lhs }, goal } in goals {
            let pending = PendingGoal { reduction: OpenReduction { pops: pops - skipped, lhs }, goal };
            let next = PendingGoalId::new(self.goals.len());
            let id = *self.goal_ids.entry(pending).or_insert(next);
            if id == next {
                self.goals.push(pending);
            }
            ids.push(id);
        }
        ids.sort_unstable();
        ids.dedup();
        StackResidual { skipped, state: self.state(StackAutomatonState::Pending(ids.into())) }
    }

    /// Adds the pending goals of a residual.
    fn add_goals(&self, StackResidual { skipped, state }: StackResidual, goals: &mut Vec<PendingGoal>) {
        let StackAutomatonState::Pending(of_state) = &self.states[state.index()] else { return };
        goals.extend(of_state.iter().map(|id| {
            let PendingGoal { reduction: OpenReduction { pops, lhs }, goal } = self.goals[id.index()];
            PendingGoal { reduction: OpenReduction { pops: pops + skipped, lhs }, goal }
        }));
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.content_bytes
            + self.token_sets.memory_bytes()
            + self.states.capacity() * size_of::<StackAutomatonState>()
            + hash_map_bytes(&self.state_ids)
            + hash_map_bytes(&self.transitions)
            + self.goals.capacity() * size_of::<PendingGoal>()
            + hash_map_bytes(&self.goal_ids)
            + self.terminals.memory_bytes()
            + hash_map_bytes(&self.answers.any)
            + self.answers.open.capacity() * size_of::<(OpenReduction, TerminalListId)>()
            + hash_map_bytes(&self.answers.fed)
    }
}

/// A transition under construction.
#[derive(Debug, Default)]
struct TransitionDraft {
    tokens: Vec<TokenGroupId>,
    goals: Vec<PendingGoal>,
    /// Partitions still to visit.
    pending: Vec<PartitionVisit>,
    /// The nesting of large partitions.
    level: u32,
}

/// A partition of a subset at a parse.
#[derive(Clone, Debug)]
struct PartitionVisit {
    subset: SubsetId,
    partition: Arc<TokenPartition>,
    parse: ParseState,
    /// The column of the lexeme before the token, or that of one that is not tracked.
    column: Column,
}

/// Reads stacks with the automaton and constructs missing transitions.
pub(crate) struct StackReader<'a> {
    pub(crate) automaton: &'a mut StackAutomaton,
    pub(crate) parser: &'a mut TerminalParser,
    pub(crate) subsets: &'a mut SpannerSubsets,
    pub(crate) partitions: &'a mut TokenPartitions,
    pub(crate) sources: SubsetSources<'a>,
    pub(crate) prepared: &'a PreparedGrammar,
    /// The memory limit in bytes, and the bytes taken outside these structures.
    pub(crate) memory_limit: usize,
    pub(crate) memory_elsewhere: usize,
}

impl StackReader<'_> {
    /// The legal tokens of a subset at a parse, where the current lexeme is in `column` if it may be a newline; and
    /// whether all transitions were cached.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn mask(
        &mut self,
        subset: SubsetId,
        column: Column,
        parse: ParseState,
    ) -> Result<(TokenSetRef, bool), LimitExceeded> {
        let state = self.automaton.unread(subset, column, parse.layout);
        let mut tokens = Vec::new();
        let transitions = self.automaton.transitions.len();
        self.read(state, parse.stack, &mut tokens, 0)?;
        let mask = self.automaton.token_sets.mask(&mut tokens, self.sources.vocabulary_size);
        Ok((mask, transitions == self.automaton.transitions.len()))
    }

    /// Constructs a transition ahead of time. If it has pending goals, returns their state and its distance below
    /// `top`.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn precompute_transition(
        &mut self,
        state: StackStateId,
        top: LrState,
    ) -> Result<Option<(StackStateId, u32)>, LimitExceeded> {
        if let StackAutomatonState::Pending(goals) = &self.automaton.states[state.index()] {
            let goals = goals.iter().map(|pending| self.automaton.goals[pending.index()].reduction);
            // A state without a goto over a reduced nonterminal cannot be below the states read before.
            for OpenReduction { pops, lhs } in goals {
                if pops == 0 && !self.parser.has_goto(top, lhs) {
                    return Ok(None);
                }
            }
        }
        let is_top = matches!(self.automaton.states[state.index()], StackAutomatonState::Unread { .. });
        let StackTransition { tokens, residual: StackResidual { skipped, state } } =
            self.transition(state, top, 0)?;
        if is_top && let Some(tokens) = tokens {
            self.automaton.token_sets.get(tokens, self.sources.vocabulary_size);
        }
        Ok((state != StackStateId::DONE).then_some((state, skipped + 1)))
    }

    /// Reads the known part of a stack and adds the legal tokens; returns the residual below it.
    fn read(
        &mut self,
        state: StackStateId,
        stack: StackId,
        tokens: &mut Vec<TokenGroupId>,
        level: u32,
    ) -> Result<StackResidual, LimitExceeded> {
        let mut residual = StackResidual { skipped: 0, state };
        let mut next = Some(stack);
        while let Some(stack) = next
            && residual.state != StackStateId::DONE
        {
            let (top, below) = self.parser.state_and_below(stack);
            next = below;
            if residual.skipped > 0 {
                residual.skipped -= 1;
                continue;
            }
            let transition = self.transition(residual.state, top, level)?;
            tokens.extend(transition.tokens);
            residual = transition.residual;
        }
        Ok(residual)
    }

    #[inline]
    fn transition(
        &mut self,
        state: StackStateId,
        top: LrState,
        level: u32,
    ) -> Result<StackTransition, LimitExceeded> {
        match self.automaton.transitions.get(&(state, top)) {
            Some(&cached) => Ok(cached),
            None => self.compute_transition(state, top, level),
        }
    }

    /// Constructs a transition. Recursive for large partitions, to a depth of [`MAX_LEVELS`].
    fn compute_transition(
        &mut self,
        state: StackStateId,
        top: LrState,
        level: u32,
    ) -> Result<StackTransition, LimitExceeded> {
        let mut draft = TransitionDraft { level, ..TransitionDraft::default() };
        match self.automaton.states[state.index()].clone() {
            StackAutomatonState::Unread { subset, column, layout } => {
                let parse = ParseState { stack: self.parser.open_stack(top), layout };
                // A partition is used by one transition only, unless layouts or large partitions share it.
                let partition =
                    self.partition(subset, parse, self.prepared.grammar.indentation.is_some() || level > 0);
                draft.pending.push(PartitionVisit { subset, partition, parse, column });
            }
            StackAutomatonState::Pending(goals) => {
                draft.goals.reserve(goals.len());
                self.advance_goals(&goals, top, &mut draft)?;
            }
        }
        while let Some(visit) = draft.pending.pop() {
            self.visit_partition(visit, &mut draft)?;
        }
        self.check_limits()?;
        let TransitionDraft { mut tokens, mut goals, .. } = draft;
        let automaton = &mut *self.automaton;
        tokens.sort_unstable();
        // Tokens that are already accepted need no pending goal.
        goals.retain(|pending| match pending.goal {
            ParserGoal::Any(_, group) | ParserGoal::End(_, group) => tokens.binary_search(&group).is_err(),
            ParserGoal::Branch(..) => true,
        });
        let residual = automaton.residual(&goals);
        let tokens = automaton.token_sets.union(&mut tokens);
        let transition = StackTransition { tokens, residual };
        automaton.transitions.insert((state, top), transition);
        Ok(transition)
    }

    fn check_limits(&mut self) -> Result<(), LimitExceeded> {
        self.parser.check()?;
        let memory = self.memory_elsewhere
            + self.automaton.memory_bytes()
            + self.parser.memory_bytes()
            + self.subsets.memory_bytes()
            + self.partitions.memory_bytes()
            + self.sources.spanners.memory_bytes();
        if memory > self.memory_limit {
            return Err(LimitExceeded::new("memory_bytes", self.memory_limit));
        }
        Ok(())
    }

    /// Advances pending goals over a state of the stack.
    fn advance_goals(
        &mut self,
        goals: &[PendingGoalId],
        top: LrState,
        draft: &mut TransitionDraft,
    ) -> Result<(), LimitExceeded> {
        // The goals of a state mostly share one nonterminal.
        let mut last: Option<(NonterminalId, Option<StackId>)> = None;
        for &pending in goals {
            let PendingGoal { reduction: OpenReduction { pops, lhs }, goal } =
                self.automaton.goals[pending.index()];
            if pops > 0 {
                draft.goals.push(PendingGoal { reduction: OpenReduction { pops: pops - 1, lhs }, goal });
                continue;
            }
            let stack = match last {
                Some((nonterminal, stack)) if nonterminal == lhs => stack,
                _ => self.parser.after_nonterminal(top, lhs),
            };
            last = Some((lhs, stack));
            if let Some(stack) = stack {
                self.pursue(stack, goal, draft)?;
            }
        }
        Ok(())
    }

    /// The partition of a subset at a parse; cached if `is_cached`.
    fn partition(&mut self, subset: SubsetId, parse: ParseState, is_cached: bool) -> Arc<TokenPartition> {
        let PreparedGrammar { grammar, tables, open_terminals, .. } = self.prepared;
        let top = self.parser.top(parse.stack);
        let nesting = match self.parser.is_in_brackets(parse.layout) {
            true => Nesting::Inside,
            false => Nesting::Outside,
        };
        let tables = PartitionTables { grammar, tables, open_terminals };
        let automaton = &mut *self.automaton;
        let input = PartitionInput {
            subset: self.subsets.get(subset),
            token_sets: &mut automaton.token_sets,
            terminals: &mut automaton.terminals,
        };
        if is_cached {
            self.partitions.of((subset, top, nesting), input, tables)
        } else {
            Arc::new(tables.partition(input, top, nesting))
        }
    }

    /// Adds the accepted tokens of a partition and pursues its dependent tokens and branches.
    fn visit_partition(
        &mut self,
        PartitionVisit { subset, partition, parse, column }: PartitionVisit,
        draft: &mut TransitionDraft,
    ) -> Result<(), LimitExceeded> {
        draft.tokens.extend(partition.accepted);
        // Open blocks must end before the text can.
        let end = self.prepared.grammar.end();
        let blocks = self.parser.closing_dedents(parse.layout);
        let ends_blocks = blocks.terminals().next().is_some();
        for &DependentTokens { mut terminals, tokens: group } in &partition.dependent {
            if ends_blocks {
                let list = self.automaton.terminals.get(terminals);
                if list.contains(&end) {
                    let others = list.iter().copied().filter(|&terminal| terminal != end);
                    terminals = self.automaton.terminals.id(others);
                    let to_end = self.automaton.terminals.id(blocks.terminals());
                    self.pursue(parse.stack, ParserGoal::End(to_end, group), draft)?;
                }
            }
            self.pursue(parse.stack, ParserGoal::Any(terminals, group), draft)?;
        }
        for &branch in &partition.branches {
            let next = &self.subsets.get(subset).branches[branch as usize];
            let (terminal, emitted) = (next.terminal, self.sources.spanners.resolve(next.column, column));
            if let Some(effect) = self.parser.lexeme_effect(parse.layout, terminal, emitted) {
                let target = BranchTarget { subset, branch, layout: effect.layout };
                let terminals = self.automaton.terminals.id(effect.terminals());
                self.pursue(parse.stack, ParserGoal::Branch(terminals, target), draft)?;
            }
        }
        for &exit in &partition.exits {
            let SubsetExit { terminal, column: of_lexeme, ref exits } =
                self.subsets.get(subset).exits[exit as usize];
            let of_lexeme = self.sources.spanners.resolve(of_lexeme, column);
            if let Some(effect) = self.parser.last_lexeme_effect(parse.layout, terminal, of_lexeme) {
                let group = self.automaton.token_sets.id(exits);
                let dedents = self.parser.closing_dedents(effect.layout).terminals();
                let terminals = self.automaton.terminals.id(effect.terminals().chain(dedents));
                self.pursue(parse.stack, ParserGoal::End(terminals, group), draft)?;
            }
        }
        Ok(())
    }

    /// Feeds the terminals of a goal to an open stack, as far as its known part allows.
    fn pursue(
        &mut self,
        stack: StackId,
        goal: ParserGoal,
        draft: &mut TransitionDraft,
    ) -> Result<(), LimitExceeded> {
        match goal {
            ParserGoal::Any(terminals, group) => match self.accepts_any(stack, terminals) {
                AnyAccepted::Yes => draft.tokens.push(group),
                AnyAccepted::Open { first, count } => {
                    let reductions = &self.automaton.answers.open[first as usize..][..count as usize];
                    draft.goals.extend(reductions.iter().map(|&(reduction, terminals)| PendingGoal {
                        reduction,
                        goal: ParserGoal::Any(terminals, group),
                    }));
                }
            },
            ParserGoal::End(terminals, group) => match self.feed(stack, terminals) {
                Attempt::Accepted(stack) => {
                    let end = self.automaton.terminals.id([self.prepared.grammar.end()]);
                    self.pursue(stack, ParserGoal::Any(end, group), draft)?;
                }
                Attempt::Refused => {}
                Attempt::Open((reduction, remaining)) => {
                    draft.goals.push(PendingGoal { reduction, goal: ParserGoal::End(remaining, group) });
                }
            },
            ParserGoal::Branch(terminals, target) => match self.feed(stack, terminals) {
                Attempt::Accepted(stack) => self.enter_branch(target, stack, draft)?,
                Attempt::Refused => {}
                Attempt::Open((reduction, remaining)) => {
                    draft.goals.push(PendingGoal { reduction, goal: ParserGoal::Branch(remaining, target) });
                }
            },
        }
        Ok(())
    }

    /// Continues after a branch whose terminals were accepted.
    fn enter_branch(
        &mut self,
        BranchTarget { subset, branch, layout }: BranchTarget,
        stack: StackId,
        draft: &mut TransitionDraft,
    ) -> Result<(), LimitExceeded> {
        let mode: LexModeId = self.prepared.lex_modes.of_state[self.parser.top(stack).index()];
        let step = SubsetStep { subset, branch: branch as usize, mode };
        let subset = match self.subsets.cached_child(step) {
            Some(cached) => cached,
            None => self.subsets.child(step, &mut self.sources)?,
        };
        let parse = ParseState { stack, layout };
        let partition = self.partition(subset, parse, true);
        if draft.level == MAX_LEVELS || partition.pending_count() < MIN_LARGE_PARTITION {
            draft.pending.push(PartitionVisit { subset, partition, parse, column: Column::UNTRACKED });
            return Ok(());
        }
        let state = self.automaton.unread(subset, Column::UNTRACKED, layout);
        let residual = self.read(state, stack, &mut draft.tokens, draft.level + 1)?;
        self.automaton.add_goals(residual, &mut draft.goals);
        Ok(())
    }

    /// Whether an open stack accepts one of some terminals.
    fn accepts_any(&mut self, stack: StackId, terminals: TerminalListId) -> AnyAccepted {
        let automaton = &mut *self.automaton;
        if let Some(&cached) = automaton.answers.any.get(&(stack, terminals)) {
            return cached;
        }
        let mut reductions: Vec<(OpenReduction, Vec<TerminalId>)> = Vec::new();
        let mut is_accepted = false;
        for &terminal in &automaton.terminals.get(terminals)[..] {
            match self.parser.probe(stack, terminal) {
                Attempt::Accepted(()) => {
                    is_accepted = true;
                    break;
                }
                Attempt::Refused => {}
                Attempt::Open(reduction) => {
                    match reductions.iter_mut().find(|(other, _)| *other == reduction) {
                        Some((_, terminals)) => terminals.push(terminal),
                        None => reductions.push((reduction, vec![terminal])),
                    }
                }
            }
        }
        let answer = if is_accepted {
            AnyAccepted::Yes
        } else {
            let first = automaton.answers.open.len() as u32;
            for (reduction, terminals) in &reductions {
                let terminals = automaton.terminals.id(terminals.iter().copied());
                automaton.answers.open.push((*reduction, terminals));
            }
            AnyAccepted::Open { first, count: reductions.len() as u32 }
        };
        // Answers after an exceeded limit are invalid.
        if !self.parser.has_failed() {
            automaton.answers.any.insert((stack, terminals), answer);
        }
        answer
    }

    /// The stack after some terminals; for an open result, the terminals that remain to be fed.
    fn feed(
        &mut self,
        stack: StackId,
        terminals: TerminalListId,
    ) -> Attempt<StackId, (OpenReduction, TerminalListId)> {
        let automaton = &mut *self.automaton;
        if let Some(&cached) = automaton.answers.fed.get(&(stack, terminals)) {
            return cached;
        }
        let mut answer = Attempt::Accepted(stack);
        let list = automaton.terminals.get(terminals);
        for (index, &terminal) in list.iter().enumerate() {
            let Attempt::Accepted(stack) = answer else { break };
            answer = match self.parser.feed(stack, terminal) {
                Attempt::Accepted(next) => Attempt::Accepted(next),
                Attempt::Refused => Attempt::Refused,
                Attempt::Open(reduction) => {
                    let remaining = automaton.terminals.id(list[index..].iter().copied());
                    Attempt::Open((reduction, remaining))
                }
            };
        }
        if !self.parser.has_failed() {
            automaton.answers.fed.insert((stack, terminals), answer);
        }
        answer
    }
}
