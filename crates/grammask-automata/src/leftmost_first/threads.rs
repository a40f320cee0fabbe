//! The threads of a backtracking matcher, simulated in order of preference; and the subset construction over them.
//!
//! A thread that has matched excludes all threads of lower preference, so a state of the automaton is a list of
//! threads up to the first match. A look-ahead adds an *obligation* to its thread: a set of instructions of which the
//! following text must, or must not, complete one. A look-behind compares the last characters of the lexeme, which are
//! part of the state.

use rustc_hash::{FxHashMap, FxHashSet};

use super::FirstMatchError;
use super::automaton::{CodePointAutomaton, CodePointEdge, CodePointState};
use super::code_points::{CodePointPart, DistinguishedSet};
use super::interner::{InternedSet, SetInterner};
use super::pattern::{LookCondition, RepetitionOrder};
use super::program::{Instruction, InstructionId, ThreadProgram};

/// Maximum number of states of one automaton.
pub(super) const MAX_STATES: usize = 4_000;

/// The condition of a look-ahead, and its instructions that read the next character.
pub(super) type Obligation = (LookCondition, InternedSet<InstructionId>);
pub(super) type ObligationSet = InternedSet<Obligation>;

/// A position of the matcher in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ProgramThread {
    pub(super) at: InstructionId,
    pub(super) obligations: ObligationSet,
}

/// The last characters of the lexeme, as many as look-behinds inspect.
pub(super) type History = Box<[CodePointPart]>;

/// A state of the subset construction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OrderedState {
    history: History,
    /// The threads in order of preference, up to the first match.
    threads: Box<[ProgramThread]>,
    /// The obligations of the match, if there is one.
    matched: Option<ObligationSet>,
    /// The instructions of all threads, without order; empty if the pattern has look-around.
    unordered: InternedSet<InstructionId>,
    unordered_accepts: bool,
}

/// The result of the subset construction.
pub(super) struct OrderedAutomaton {
    /// Not trimmed.
    pub(super) automaton: CodePointAutomaton,
    /// For each state, the obligations of its match.
    pub(super) obligations: Vec<ObligationSet>,
    /// Whether the words are those of the pattern without order, and there is no look-around.
    pub(super) is_unordered: bool,
}

/// The simulation of a program, with its interned sets.
pub(super) struct ThreadSimulation<'a> {
    pub(super) program: &'a ThreadProgram,
    instruction_sets: SetInterner<InstructionId>,
    obligation_sets: SetInterner<Obligation>,
    /// Memo table of [`Self::closure_without_look`].
    closures: FxHashMap<InternedSet<InstructionId>, (InternedSet<InstructionId>, bool)>,
}

impl<'a> ThreadSimulation<'a> {
    pub(super) fn new(program: &'a ThreadProgram) -> Self {
        Self {
            program,
            instruction_sets: SetInterner::new(),
            obligation_sets: SetInterner::new(),
            closures: FxHashMap::default(),
        }
    }

    /// The thread at the start of the program.
    pub(super) fn start(&self) -> ProgramThread {
        ProgramThread { at: self.program.start, obligations: ObligationSet::EMPTY }
    }

    pub(super) fn determinize(&mut self) -> Result<OrderedAutomaton, FirstMatchError> {
        let compares_unordered = !self.program.has_look;
        let unordered = if compares_unordered { vec![self.program.start] } else { Vec::new() };
        let start = self.start();
        let first = self.state(History::default(), &[start], unordered)?;
        let mut ids = FxHashMap::from_iter([(first.clone(), CodePointState::START)]);
        let mut states = vec![first];
        let mut automaton = CodePointAutomaton::new(self.program.partition.parts.clone());
        let mut is_unordered = compares_unordered;
        while let Some(state) = states.get(automaton.len()).cloned() {
            let mut edges = Vec::new();
            for part in self.program.partition.ids() {
                let Some(target) = self.step(&state, part)? else { continue };
                if let Some(&id) = ids.get(&target) {
                    edges.push(CodePointEdge { part, target: id });
                    continue;
                }
                if states.len() >= MAX_STATES {
                    return Err(FirstMatchError::AutomatonTooLarge);
                }
                let id = CodePointState::new(states.len());
                is_unordered = is_unordered && target.matched.is_some() == target.unordered_accepts;
                edges.push(CodePointEdge { part, target: id });
                ids.insert(target.clone(), id);
                states.push(target);
            }
            automaton.push(state.matched.is_some(), edges);
        }
        let obligations = states.iter().map(|state| state.matched.unwrap_or(ObligationSet::EMPTY)).collect();
        Ok(OrderedAutomaton { automaton, obligations, is_unordered })
    }

    fn step(
        &mut self,
        state: &OrderedState,
        part: CodePointPart,
    ) -> Result<Option<OrderedState>, FirstMatchError> {
        let threads = self.take(&state.threads, part);
        let unordered = self.instruction_sets.get(state.unordered).iter();
        let unordered: Vec<InstructionId> =
            unordered.filter_map(|&at| self.program.after(at, part)).collect();
        if threads.is_empty() && unordered.is_empty() {
            return Ok(None);
        }
        self.state(self.later_history(&state.history, part), &threads, unordered).map(Some)
    }

    fn state(
        &mut self,
        history: History,
        threads: &[ProgramThread],
        unordered: Vec<InstructionId>,
    ) -> Result<OrderedState, FirstMatchError> {
        let (threads, matched) = self.closure(&history, threads)?;
        let unordered = self.instruction_sets.intern(unordered);
        let (unordered, unordered_accepts) = self.closure_without_look(unordered);
        Ok(OrderedState { history, threads: threads.into(), matched, unordered, unordered_accepts })
    }

    /// The history after a character of `part`.
    pub(super) fn later_history(&self, history: &[CodePointPart], part: CodePointPart) -> History {
        let later = history.iter().copied().chain([part]);
        later.skip((history.len() + 1).saturating_sub(self.program.look_behind_length)).collect()
    }

    /// The threads after reading a character of `part`, in the same order, without those whose obligations it violates.
    pub(super) fn take(&mut self, threads: &[ProgramThread], part: CodePointPart) -> Vec<ProgramThread> {
        let mut taken = Vec::new();
        for thread in threads {
            if let Some(at) = self.program.after(thread.at, part)
                && let Some(obligations) = self.advance(thread.obligations, part)
            {
                taken.push(ProgramThread { at, obligations });
            }
        }
        taken
    }

    /// The obligations after a character of `part`; `None` if it violates one.
    pub(super) fn advance(
        &mut self,
        obligations: ObligationSet,
        part: CodePointPart,
    ) -> Option<ObligationSet> {
        if obligations == ObligationSet::EMPTY {
            return Some(obligations);
        }
        let mut open = Vec::new();
        for (condition, instructions) in self.obligation_sets.get(obligations).to_vec() {
            let instructions = self.instruction_sets.get(instructions).iter();
            let next = instructions.filter_map(|&at| self.program.after(at, part)).collect();
            let next = self.instruction_sets.intern(next);
            let (waiting, matched) = self.closure_without_look(next);
            match condition {
                LookCondition::NoMatch if matched => return None,
                LookCondition::Match if matched => {}
                _ if waiting != InternedSet::EMPTY => open.push((condition, waiting)),
                LookCondition::Match => return None,
                LookCondition::NoMatch => {}
            }
        }
        Some(self.obligation_sets.intern(open))
    }

    /// The threads that read the next character, in order, up to the first match, with the obligations of the match.
    fn closure(
        &mut self,
        history: &[CodePointPart],
        threads: &[ProgramThread],
    ) -> Result<(Vec<ProgramThread>, Option<ObligationSet>), FirstMatchError> {
        let mut waiting = Vec::new();
        let mut is_waiting = FxHashSet::default();
        let mut is_visited = FxHashSet::default();
        // Threads with the loops whose bodies they have entered since the last character.
        let mut stack: Vec<(ProgramThread, InternedSet<InstructionId>)> =
            threads.iter().rev().map(|&thread| (thread, InternedSet::EMPTY)).collect();
        while let Some((thread, entered)) = stack.pop() {
            if !is_visited.insert((thread, entered)) {
                continue;
            }
            match self.program.get(thread.at) {
                Instruction::Take { .. } => {
                    if is_waiting.insert(thread) {
                        waiting.push(thread);
                    }
                }
                Instruction::Loop { body, exit, order } => {
                    let exit = (ProgramThread { at: *exit, ..thread }, entered);
                    if self.instruction_sets.get(entered).contains(&thread.at) {
                        stack.push(exit);
                        continue;
                    }
                    let entered = self.instruction_sets.with(entered, thread.at);
                    let again = (ProgramThread { at: *body, ..thread }, entered);
                    // The last one is simulated first.
                    match order {
                        RepetitionOrder::Greedy => stack.extend([exit, again]),
                        RepetitionOrder::Lazy => stack.extend([again, exit]),
                    }
                }
                Instruction::Match => {
                    let obligations = self.obligation_sets.get(thread.obligations);
                    if obligations.iter().any(|&(condition, _)| condition == LookCondition::Match) {
                        return Err(FirstMatchError::LookAheadAfterEnd);
                    }
                    return Ok((waiting, Some(thread.obligations)));
                }
                _ => {
                    let targets = self.epsilon_targets(history, thread)?;
                    stack.extend(targets.into_iter().rev().map(|target| (target, entered)));
                }
            }
        }
        Ok((waiting, None))
    }

    /// The threads after an instruction that reads no character, in the order of a `Split`; none for other instructions.
    pub(super) fn epsilon_targets(
        &mut self,
        history: &[CodePointPart],
        thread: ProgramThread,
    ) -> Result<Vec<ProgramThread>, FirstMatchError> {
        let with = |at: InstructionId| ProgramThread { at, ..thread };
        Ok(match self.program.get(thread.at) {
            Instruction::Match | Instruction::Take { .. } => Vec::new(),
            Instruction::Split { targets } => targets.iter().map(|&target| with(target)).collect(),
            Instruction::Loop { body, exit, .. } => vec![with(*body), with(*exit)],
            Instruction::LookBehind { sequences, condition, next } => {
                let holds = self.is_preceded(history, sequences)? == (*condition == LookCondition::Match);
                if holds { vec![with(*next)] } else { Vec::new() }
            }
            &Instruction::LookAhead { first, condition, next } => {
                let first = self.instruction_sets.intern(vec![first]);
                let (waiting, matched) = self.closure_without_look(first);
                if !matched {
                    let obligations = self.obligation_sets.with(thread.obligations, (condition, waiting));
                    vec![ProgramThread { at: next, obligations }]
                } else if condition == LookCondition::Match {
                    vec![with(next)]
                } else {
                    Vec::new()
                }
            }
        })
    }

    /// Whether the history ends with one of some sequences.
    fn is_preceded(
        &self,
        history: &[CodePointPart],
        sequences: &[Vec<DistinguishedSet>],
    ) -> Result<bool, FirstMatchError> {
        let partition = &self.program.partition;
        for sequence in sequences {
            let mut pairs = history.iter().rev().zip(sequence.iter().rev());
            if pairs.all(|(&part, &set)| partition.includes(set, part)) {
                if history.len() < sequence.len() {
                    return Err(FirstMatchError::LookBehindBeforeStart);
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The instructions that read the next character after some others, without order, and whether they match the
    /// empty text. No instruction may be a look-around.
    fn closure_without_look(
        &mut self,
        instructions: InternedSet<InstructionId>,
    ) -> (InternedSet<InstructionId>, bool) {
        if let Some(&known) = self.closures.get(&instructions) {
            return known;
        }
        let mut stack = self.instruction_sets.get(instructions).to_vec();
        let mut is_visited: FxHashSet<InstructionId> = stack.iter().copied().collect();
        let mut waiting = Vec::new();
        while let Some(at) = stack.pop() {
            let visit = |target: InstructionId| {
                if is_visited.insert(target) {
                    stack.push(target);
                }
            };
            match self.program.get(at) {
                Instruction::Take { .. } => waiting.push(at),
                Instruction::Split { targets } => targets.iter().copied().for_each(visit),
                Instruction::Loop { body, exit, .. } => [*body, *exit].into_iter().for_each(visit),
                Instruction::Match | Instruction::LookAhead { .. } | Instruction::LookBehind { .. } => {}
            }
        }
        let result = (self.instruction_sets.intern(waiting), is_visited.contains(&InstructionId::MATCH));
        self.closures.insert(instructions, result);
        result
    }
}
