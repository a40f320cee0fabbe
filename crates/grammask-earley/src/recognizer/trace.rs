//! Traces: recorded steps, replayed for all sets of one core.
//!
//! A step depends on the continuations of a set in two ways only: it reads the contents of some of them, and it puts
//! them into new contents and into the next set. So a step is executed once with *registers* in place of
//! continuations, and recorded by set core and byte class: the continuations that it created, the continuations whose
//! contents it read, each as a *guard* with one branch per observed content (as a core, with registers for its
//! continuations), and the core of the next set. The next set of a set with the same core whose contents satisfy the
//! guards is computed by replaying the trace: no prediction and no sorting, one lookup per new continuation and one
//! for the set. Traces relate to Earley sets as the tables of an LR parser relate to the closures of its item sets,
//! but they are created lazily and for every context-free grammar. Recording traces with guards is the technique of
//! tracing compilers (Gal et al. 2009); memoising a result by the parts of the input that the computation read is
//! selective memoisation (Acar, Blelloch and Harper 2003).
//!
//! A replay is exact because a step treats items and contents as sets: neither order nor repetition matters, so its
//! operations are the same for all register contents that satisfy the guards. Only equality between registers can
//! differ, and with it the order of items and whether two of them coincide. If that is possible, they are sorted
//! again.
//!
//! Cores with few sets get no trace, since recording takes longer than the step.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use grammask_diagnostics::LimitExceeded;

use super::continuation::{Content, ContinuationId, Continuations, InternContinuations};
use super::index_u32;
use super::kernel::{Item, ItemState, Kernel};
use super::left_corner::ContinuationScc;
use super::set_core::{CoreId, intern_kernel};
use super::step_budget::StepBudget;
use grammask_collections::small_map::SmallMap;

/// Maximum number of registers of a trace. Replaying a longer trace is as slow as the step.
const MAX_REGISTERS: usize = 64;
/// Maximum memory of the operations of a trace, in 32-bit words.
const MAX_TRACE_WORDS: usize = 1 << 12;
/// Maximum number of branches of a guard none of which was taken again; each further taking admits one more.
const MAX_UNUSED_BRANCHES: usize = 4;
/// Maximum number of branches of a guard.
const MAX_BRANCHES: usize = 256;

/// Index of a register.
type Register = u32;

/// The key of a tree of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TraceKey {
    pub(super) core: CoreId,
    /// The class of the byte.
    pub(super) class: u32,
}

/// All traces of a recogniser: for each core and byte class a tree, which branches at guards.
#[derive(Debug, Default)]
pub(super) struct Traces {
    /// The root of each tree.
    roots: FxHashMap<TraceKey, usize>,
    nodes: Vec<TraceNode>,
    bytes: usize,
    replayed: usize,
    /// Scratch: contents of the registers.
    registers: Vec<ContinuationId>,
    /// Scratch: the observation at a guard.
    observation: Vec<u32>,
}

/// The operations up to a guard or the end of a trace.
#[derive(Debug)]
struct TraceNode {
    ops: Box<[TraceOp]>,
    end: TraceEnd,
}

/// An operation of a trace.
#[derive(Clone, Debug)]
enum TraceOp {
    /// Creates a continuation, appended as one register.
    Content(CoreTemplate),
    /// Creates the continuations of a strongly connected component, appended as a register each.
    Scc { scc: Arc<ContinuationScc>, outside: Box<[Content]> },
}

#[derive(Clone, Debug)]
enum TraceEnd {
    /// Branches on the content of a continuation; `taken` counts the branches followed.
    Guard { register: Register, branches: SmallMap, taken: usize },
    /// The next set.
    Done(CoreTemplate),
    /// There is no next set.
    Dead,
    /// The trace is too long to be worth replaying.
    TooLong,
}

/// A core, with registers for its continuations.
#[derive(Clone, Debug)]
struct CoreTemplate {
    core: CoreId,
    registers: Box<[Register]>,
}

/// The outcome of replaying a trace.
pub(super) enum Replay {
    /// The next set has this core; its continuations are in the list that was passed.
    Set(CoreId),
    /// The next set has these items, in any order.
    Kernel(Kernel),
    /// There is no next set.
    Dead,
    /// No trace applies, and one should be recorded.
    Unknown,
    /// No trace applies, and none will be recorded.
    None,
}

impl Traces {
    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes + self.roots.capacity() * (size_of::<(TraceKey, usize)>() + 1)
    }

    /// Number of traces that were replayed to their end.
    pub(super) fn replayed(&self) -> usize {
        self.replayed
    }

    /// Replays the trace of a core and a byte class for a set with the continuations `parts`.
    pub(super) fn replay(
        &mut self,
        key: TraceKey,
        parts: &[ContinuationId],
        continuations: &mut Continuations,
        next: &mut Vec<ContinuationId>,
    ) -> Result<Replay, LimitExceeded> {
        let Some(&root) = self.roots.get(&key) else { return Ok(Replay::Unknown) };
        let Self { nodes, registers, observation, replayed, .. } = self;
        registers.clear();
        registers.extend_from_slice(parts);
        let mut node = &mut nodes[root];
        loop {
            for op in &node.ops {
                op.execute(continuations, registers, next, &mut StepBudget::unlimited())?;
            }
            match &mut node.end {
                TraceEnd::Guard { register, branches, taken } => {
                    observe(continuations, registers, *register, observation);
                    let Some(next) = branches.get(observation) else {
                        // With counted repetitions, or many contexts of a rule, each set may have a content of its own.
                        let max = (MAX_UNUSED_BRANCHES + *taken).min(MAX_BRANCHES);
                        let is_worthwhile = branches.len() < max;
                        return Ok(if is_worthwhile { Replay::Unknown } else { Replay::None });
                    };
                    *taken += 1;
                    node = &mut nodes[next];
                }
                TraceEnd::Done(template) => {
                    *replayed += 1;
                    return Ok(match template.fill(continuations, registers, next) {
                        true => Replay::Set(template.core),
                        false => Replay::Kernel(template.kernel(continuations, next)),
                    });
                }
                TraceEnd::Dead => {
                    *replayed += 1;
                    return Ok(Replay::Dead);
                }
                TraceEnd::TooLong => return Ok(Replay::None),
            }
        }
    }

    /// Adds a recorded trace, which ended with `kernel`, to the tree of its core and byte class.
    pub(super) fn record(&mut self, key: TraceKey, recording: Recorder<'_>, kernel: &Kernel) {
        let Recorder { continuations, registers, log, .. } = recording;
        let words: usize =
            log.iter().map(|event| if let RecordedEvent::Op(op) = event { op.words() } else { 0 }).sum();
        let last = if registers.len() > MAX_REGISTERS || words + kernel.items.len() > MAX_TRACE_WORDS {
            TraceEnd::TooLong
        } else if kernel.is_dead() {
            TraceEnd::Dead
        } else {
            let mut kernel = kernel.clone();
            kernel.normalize();
            let (core, registers) = intern_kernel(&mut continuations.cores, &kernel);
            TraceEnd::Done(CoreTemplate {
                core,
                registers: registers.iter().map(|register| register.0).collect(),
            })
        };
        if matches!(last, TraceEnd::TooLong) {
            let node = self.push(Vec::new(), TraceEnd::TooLong);
            self.roots.insert(key, node);
            return;
        }
        // Follows the nodes that the trace shares with earlier ones, then appends the others.
        let mut log = log.into_iter();
        let mut parent: Option<(usize, Box<[u32]>)> = None;
        let mut node = self.roots.get(&key).copied();
        let mut ops = Vec::new();
        loop {
            let event = log.next();
            if let Some(RecordedEvent::Op(op)) = event {
                ops.push(op);
                continue;
            }
            let (end, observation) = match event {
                Some(RecordedEvent::Guard { register, observation }) => {
                    (TraceEnd::Guard { register, branches: SmallMap::default(), taken: 0 }, Some(observation))
                }
                _ => (last.clone(), None),
            };
            let current = match node {
                Some(node) => node,
                None => {
                    let node = self.push(std::mem::take(&mut ops), end);
                    self.link(key, parent.take(), node);
                    node
                }
            };
            ops.clear();
            let Some(observation) = observation else { return };
            // The observations so far decide the next event, so the shared nodes agree with this trace.
            let TraceEnd::Guard { branches, .. } = &self.nodes[current].end else { return };
            node = branches.get(&observation);
            parent = Some((current, observation));
        }
    }

    /// Records that steps of a core over a byte class are never replayed.
    pub(super) fn exclude(&mut self, key: TraceKey) {
        let node = self.push(Vec::new(), TraceEnd::TooLong);
        self.roots.insert(key, node);
    }

    fn push(&mut self, ops: Vec<TraceOp>, end: TraceEnd) -> usize {
        let words: usize = ops.iter().map(TraceOp::words).sum();
        self.bytes +=
            size_of::<TraceNode>() + ops.len() * size_of::<TraceOp>() + words * size_of::<u32>() + 64;
        self.nodes.push(TraceNode { ops: ops.into(), end });
        self.nodes.len() - 1
    }

    /// Links a node to the branch of its parent, or makes it the root.
    fn link(&mut self, key: TraceKey, parent: Option<(usize, Box<[u32]>)>, node: usize) {
        match parent.map(|(parent, observation)| (&mut self.nodes[parent].end, observation)) {
            Some((TraceEnd::Guard { branches, .. }, observation)) => branches.insert(observation, node),
            Some(_) => {}
            None => {
                self.roots.insert(key, node);
            }
        }
    }
}

impl TraceOp {
    /// Executes the operation, which appends registers. `parts` is scratch.
    fn execute(
        &self,
        continuations: &mut Continuations,
        registers: &mut Vec<ContinuationId>,
        parts: &mut Vec<ContinuationId>,
        budget: &mut StepBudget,
    ) -> Result<(), LimitExceeded> {
        match self {
            Self::Content(template) => {
                let id = if template.fill(continuations, registers, parts) {
                    continuations.intern_parts(template.core, parts)
                } else {
                    let Kernel { ends, items } = template.kernel(continuations, parts);
                    let entries = items.into_iter().map(|item| (item.dot, item.continuation)).collect();
                    let mut content = Content { ends, entries };
                    content.normalize();
                    continuations.intern(&content)
                };
                registers.push(id);
            }
            Self::Scc { scc, outside } => {
                let mut outside = outside.to_vec();
                for (_, continuation) in outside.iter_mut().flat_map(|content| &mut content.entries) {
                    *continuation = registers[continuation.index()];
                }
                continuations.intern_scc(scc, &mut outside, budget, registers)?;
            }
        }
        Ok(())
    }

    fn words(&self) -> usize {
        match self {
            Self::Content(template) => template.registers.len(),
            Self::Scc { outside, .. } => outside.iter().map(|content| content.entries.len() * 2 + 8).sum(),
        }
    }
}

impl CoreTemplate {
    /// Writes the continuations into `parts`; returns whether the set of these continuations has this very core. It
    /// may not if two registers are equal.
    fn fill(
        &self,
        continuations: &Continuations,
        registers: &[ContinuationId],
        parts: &mut Vec<ContinuationId>,
    ) -> bool {
        parts.clear();
        parts.extend(self.registers.iter().map(|&register| registers[register as usize]));
        continuations.cores.get(self.core).has_fixed_order
            && parts.iter().enumerate().all(|(index, part)| !parts[..index].contains(part))
    }

    /// The items with these continuations, in any order.
    fn kernel(&self, continuations: &Continuations, parts: &[ContinuationId]) -> Kernel {
        let core = continuations.cores.get(self.core);
        Kernel { ends: core.ends, items: core.items_with(parts).collect() }
    }
}

/// Observes the content of a continuation: its core, and the registers of its continuations. New ones are appended to
/// the registers.
fn observe(
    continuations: &Continuations,
    registers: &mut Vec<ContinuationId>,
    register: Register,
    observation: &mut Vec<u32>,
) {
    let id = registers[register as usize];
    observation.clear();
    observation.push(continuations.core_of(id).0);
    for part in continuations.get(id).continuations {
        let position = registers.iter().position(|register| register == part);
        observation.push(index_u32(position.unwrap_or(registers.len())));
        if position.is_none() {
            registers.push(*part);
        }
    }
}

/// An event of a step.
#[derive(Debug)]
enum RecordedEvent {
    Op(TraceOp),
    Guard { register: Register, observation: Box<[u32]> },
}

/// Executes a step with registers in place of continuations, and records it.
#[derive(Debug)]
pub(super) struct Recorder<'a> {
    continuations: &'a mut Continuations,
    /// Contents of the registers for the set of this step.
    registers: Vec<ContinuationId>,
    log: Vec<RecordedEvent>,
    /// Contents that were read, with registers for continuations.
    observed: FxHashMap<ContinuationId, Content>,
    /// The created continuations, since a step may request the same content repeatedly.
    created: Vec<(Content, ContinuationId)>,
    /// Scratch.
    parts: Vec<ContinuationId>,
}

impl<'a> Recorder<'a> {
    /// Registers for the continuations of a set.
    pub(super) fn new(continuations: &'a mut Continuations, parts: &[ContinuationId]) -> Self {
        Self {
            continuations,
            registers: parts.to_vec(),
            log: Vec::new(),
            observed: FxHashMap::default(),
            created: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// A kernel with the contents of the registers.
    pub(super) fn resolve(&self, kernel: &Kernel) -> Kernel {
        let resolved =
            |item: &Item| Item { continuation: self.registers[item.continuation.index()], ..*item };
        Kernel { ends: kernel.ends, items: kernel.items.iter().map(resolved).collect() }
    }
}

impl InternContinuations for Recorder<'_> {
    fn add_to(&mut self, content: &mut Content, other: ContinuationId) -> usize {
        let Self { continuations, registers, log, observed, .. } = self;
        let read = observed.entry(other).or_insert_with(|| {
            let mut observation = Vec::new();
            observe(continuations, registers, other.0, &mut observation);
            let core = continuations.get(registers[other.index()]).core;
            let entry = |item: &super::set_core::CoreItem| {
                (item.dot, ContinuationId(observation[item.number as usize + 1]))
            };
            let mut read = Content { ends: core.ends, entries: core.items.iter().map(entry).collect() };
            read.normalize();
            log.push(RecordedEvent::Guard { register: other.0, observation: observation.into() });
            read
        });
        content.ends |= read.ends;
        content.entries.extend_from_slice(&read.entries);
        read.entries.len()
    }

    fn intern(&mut self, content: &Content) -> ContinuationId {
        if let Some((_, register)) = self.created.iter().find(|(created, _)| created == content) {
            return *register;
        }
        let item = |&(dot, continuation): &_| Item { state: ItemState::FRESH, dot, continuation };
        let (core, registers) =
            self.continuations.cores.intern(content.ends, content.entries.iter().map(item));
        let registers = registers.iter().map(|register| register.0).collect();
        let op = TraceOp::Content(CoreTemplate { core, registers });
        let register = ContinuationId::new(self.registers.len());
        // Only strongly connected components can exceed the budget.
        let _ = op.execute(
            self.continuations,
            &mut self.registers,
            &mut self.parts,
            &mut StepBudget::unlimited(),
        );
        self.log.push(RecordedEvent::Op(op));
        self.created.push((content.clone(), register));
        register
    }

    fn intern_scc(
        &mut self,
        scc: &Arc<ContinuationScc>,
        outside: &mut [Content],
        budget: &mut StepBudget,
        members: &mut Vec<ContinuationId>,
    ) -> Result<(), LimitExceeded> {
        for content in outside.iter_mut() {
            content.normalize();
        }
        let op = TraceOp::Scc { scc: scc.clone(), outside: (&*outside).into() };
        let first = self.registers.len();
        op.execute(self.continuations, &mut self.registers, &mut self.parts, budget)?;
        self.log.push(RecordedEvent::Op(op));
        members.extend((first..self.registers.len()).map(ContinuationId::new));
        Ok(())
    }
}
