//! Determinisation of threads with conditions on the past and the future.
//!
//! A state has the threads of each look-behind, which start anew at every position, and the threads of the pattern. A
//! look-behind holds where a thread of its own is at its end. A look-ahead makes its threads an *obligation* of the
//! thread that passes it: one of them must, or none may, come to its end. The threads of an obligation can have
//! obligations of their own, as deep as look-arounds are nested. All excluded threads of a thread form one set, since
//! none of them may come to its end, so the states of a negated look-ahead are those of the subset construction.
//!
//! This is the usual construction for alternating automata (Chandra, Kozen and Stockmeyer, "Alternation", 1981), with
//! sets of threads in place of Boolean formulas.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::automaton::{CodePointAutomaton, CodePointEdge, CodePointState};
use super::super::code_points::CodePointPart;
use super::super::interner::{InternedSet, SetInterner};
use super::super::pattern::LookCondition;
use super::FullMatchError;
use super::program::{ConditionalInstruction, ConditionalInstructionId, ConditionalProgram, LookedText};

/// Maximum number of states.
const MAX_STATES: usize = 20_000;

/// Maximum number of visited instructions and threads.
const MAX_STEPS: usize = 10_000_000;

/// What the text after a thread has to satisfy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Obligations {
    /// Sets of threads: of each set one must come to its end.
    required: InternedSet<ThreadSet>,
    /// Threads that must not come to their end.
    excluded: ThreadSet,
}

impl Obligations {
    const NONE: Self = Self { required: InternedSet::EMPTY, excluded: InternedSet::EMPTY };
}

/// A position in the program, and the obligations on the way to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct ConditionalThread {
    at: ConditionalInstructionId,
    obligations: Obligations,
}

impl ConditionalThread {
    /// A thread at its end, without obligations.
    const DONE: Self = Self { at: ConditionalInstructionId::ACCEPT, obligations: Obligations::NONE };

    fn new(at: ConditionalInstructionId) -> Self {
        Self { at, obligations: Obligations::NONE }
    }
}

type ThreadSet = InternedSet<ConditionalThread>;

/// A state of the automaton: threads that wait for the next character, or are at their end.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ConditionalState {
    look_behinds: Box<[ThreadSet]>,
    threads: ThreadSet,
}

/// Whether threads at their end stay in a set when a character is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndedThreads {
    /// In obligations, which are met by a prefix of the following text.
    Stay,
    /// In the pattern and in look-behinds, which end at one position.
    Leave,
}

struct ConditionalSimulation<'a> {
    program: &'a ConditionalProgram,
    thread_sets: SetInterner<ConditionalThread>,
    requirements: SetInterner<ThreadSet>,
    /// The threads of look-aheads at the current position, by their first instruction.
    look_aheads: FxHashMap<ConditionalInstructionId, ThreadSet>,
    /// The sets of obligations after the current character.
    advanced: FxHashMap<ThreadSet, ThreadSet>,
    steps_left: usize,
}

/// The automaton of the full matches of a program, neither trimmed nor minimal.
pub(super) fn determinize(program: &ConditionalProgram) -> Result<CodePointAutomaton, FullMatchError> {
    let mut simulation = ConditionalSimulation {
        program,
        thread_sets: SetInterner::new(),
        requirements: SetInterner::new(),
        look_aheads: FxHashMap::default(),
        advanced: FxHashMap::default(),
        steps_left: MAX_STEPS,
    };
    let first = simulation.start()?;
    let mut ids = FxHashMap::from_iter([(first.clone(), CodePointState::START)]);
    let mut states = vec![first];
    let mut automaton = CodePointAutomaton::new(program.partition.parts.clone());
    while let Some(state) = states.get(automaton.len()).cloned() {
        let mut edges = Vec::new();
        for part in program.partition.ids() {
            let target = simulation.step(&state, part)?;
            if target.threads == InternedSet::EMPTY {
                continue;
            }
            let id = *ids.entry(target).or_insert_with_key(|target| {
                states.push(target.clone());
                CodePointState::new(states.len() - 1)
            });
            edges.push(CodePointEdge { part, target: id });
        }
        if states.len() > MAX_STATES {
            return Err(FullMatchError::TooLarge);
        }
        automaton.push(simulation.can_end(state.threads), edges);
    }
    Ok(automaton)
}

impl ConditionalSimulation<'_> {
    fn start(&mut self) -> Result<ConditionalState, FullMatchError> {
        let mut look_behinds = Vec::with_capacity(self.program.look_behinds.len());
        for &start in &self.program.look_behinds {
            let threads = self.closure(vec![ConditionalThread::new(start)], &look_behinds)?;
            look_behinds.push(threads);
        }
        let threads = self.closure(vec![ConditionalThread::new(self.program.start)], &look_behinds)?;
        Ok(ConditionalState { look_behinds: look_behinds.into(), threads })
    }

    fn step(
        &mut self,
        state: &ConditionalState,
        part: CodePointPart,
    ) -> Result<ConditionalState, FullMatchError> {
        self.look_aheads.clear();
        self.advanced.clear();
        // The look-behinds inside of another one precede it.
        let mut look_behinds = Vec::with_capacity(state.look_behinds.len());
        for (&start, &threads) in self.program.look_behinds.iter().zip(&state.look_behinds) {
            let mut next = self.take(threads, part, EndedThreads::Leave, &look_behinds)?;
            next.push(ConditionalThread::new(start));
            let threads = self.closure(next, &look_behinds)?;
            look_behinds.push(threads);
        }
        let next = self.take(state.threads, part, EndedThreads::Leave, &look_behinds)?;
        let threads = self.closure(next, &look_behinds)?;
        Ok(ConditionalState { look_behinds: look_behinds.into(), threads })
    }

    /// The threads of a set after a character of `part`.
    fn take(
        &mut self,
        threads: ThreadSet,
        part: CodePointPart,
        ends: EndedThreads,
        look_behinds: &[ThreadSet],
    ) -> Result<Vec<ConditionalThread>, FullMatchError> {
        let mut taken = Vec::new();
        for thread in self.thread_sets.get(threads).to_vec() {
            self.count_step()?;
            let next = match thread.at {
                ConditionalInstructionId::ACCEPT => (ends == EndedThreads::Stay).then_some(thread.at),
                at => self.program.after(at, part),
            };
            if let Some(at) = next
                && let Some(obligations) = self.advance(thread.obligations, part, look_behinds)?
            {
                taken.push(ConditionalThread { at, obligations });
            }
        }
        Ok(taken)
    }

    /// The obligations after a character of `part`; `None` if it violates one.
    fn advance(
        &mut self,
        obligations: Obligations,
        part: CodePointPart,
        look_behinds: &[ThreadSet],
    ) -> Result<Option<Obligations>, FullMatchError> {
        let required = self.requirements.get(obligations.required).iter();
        let mut sets: Vec<(LookCondition, ThreadSet)> =
            required.map(|&threads| (LookCondition::Match, threads)).collect();
        sets.push((LookCondition::NoMatch, obligations.excluded));
        let mut advanced = Obligations::NONE;
        for (condition, threads) in sets {
            let threads = match self.advanced.get(&threads) {
                Some(&known) => known,
                None => {
                    let next = self.take(threads, part, EndedThreads::Stay, look_behinds)?;
                    let closed = self.closure(next, look_behinds)?;
                    self.advanced.insert(threads, closed);
                    closed
                }
            };
            match self.with_obligation(advanced, condition, threads) {
                Some(more) => advanced = more,
                None => return Ok(None),
            }
        }
        Ok(Some(advanced))
    }

    /// The threads that wait for the next character or are at their end, after instructions that read no character.
    fn closure(
        &mut self,
        threads: Vec<ConditionalThread>,
        look_behinds: &[ThreadSet],
    ) -> Result<ThreadSet, FullMatchError> {
        let mut stack = threads;
        let mut is_visited = FxHashSet::default();
        let mut closed = Vec::new();
        while let Some(thread) = stack.pop() {
            if !is_visited.insert(thread) {
                continue;
            }
            self.count_step()?;
            match self.program.get(thread.at) {
                ConditionalInstruction::Accept
                | ConditionalInstruction::Take { .. }
                | ConditionalInstruction::TakePart { .. } => closed.push(thread),
                ConditionalInstruction::Split { targets } => {
                    stack.extend(targets.iter().map(|&at| ConditionalThread { at, ..thread }));
                }
                &ConditionalInstruction::Look { text, condition, next } => {
                    let looked = self.looked(text, look_behinds)?;
                    let obligations = self.with_obligation(thread.obligations, condition, looked);
                    stack.extend(obligations.map(|obligations| ConditionalThread { at: next, obligations }));
                }
            }
        }
        // A set with a thread that is done is met whatever follows, but only as an obligation: at the end of the
        // pattern or of a look-behind, the other threads go on.
        Ok(self.thread_sets.intern(closed))
    }

    /// The threads of a look-around at the current position: one of them has to come to its end.
    fn looked(&mut self, text: LookedText, look_behinds: &[ThreadSet]) -> Result<ThreadSet, FullMatchError> {
        match text {
            LookedText::Ahead(start) => match self.look_aheads.get(&start) {
                Some(&known) => Ok(known),
                None => {
                    let threads = self.closure(vec![ConditionalThread::new(start)], look_behinds)?;
                    self.look_aheads.insert(start, threads);
                    Ok(threads)
                }
            },
            LookedText::Behind(index) => {
                let threads = self.thread_sets.get(look_behinds[index]).iter().copied();
                let ended = threads.filter(|thread| thread.at == ConditionalInstructionId::ACCEPT).collect();
                Ok(self.thread_sets.intern(ended))
            }
        }
    }

    /// The obligations and one more; `None` if it cannot be met.
    fn with_obligation(
        &mut self,
        obligations: Obligations,
        condition: LookCondition,
        threads: ThreadSet,
    ) -> Option<Obligations> {
        let members = self.thread_sets.get(threads);
        let (is_never, is_always) = (members.is_empty(), members.contains(&ConditionalThread::DONE));
        match condition {
            LookCondition::Match if is_never => None,
            LookCondition::NoMatch if is_always => None,
            LookCondition::Match if is_always => Some(obligations),
            LookCondition::NoMatch if is_never => Some(obligations),
            LookCondition::Match => Some(Obligations {
                required: self.requirements.with(obligations.required, threads),
                ..obligations
            }),
            LookCondition::NoMatch => {
                let excluded = self.thread_sets.get(obligations.excluded);
                let excluded = excluded.iter().chain(members).copied().collect();
                Some(Obligations { excluded: self.thread_sets.intern(excluded), ..obligations })
            }
        }
    }

    /// Whether a thread is at its end and its obligations are met at the end of the text.
    fn can_end(&self, threads: ThreadSet) -> bool {
        let ended = |thread: &&ConditionalThread| thread.at == ConditionalInstructionId::ACCEPT;
        self.thread_sets.get(threads).iter().filter(ended).any(|thread| {
            let Obligations { required, excluded } = thread.obligations;
            self.requirements.get(required).iter().all(|&threads| self.can_end(threads))
                && !self.can_end(excluded)
        })
    }

    fn count_step(&mut self) -> Result<(), FullMatchError> {
        self.steps_left = self.steps_left.checked_sub(1).ok_or(FullMatchError::TooLarge)?;
        Ok(())
    }
}
