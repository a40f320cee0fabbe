//! Instructions without priorities, in which look-around and atomic groups are conditions on a thread.

use rustc_hash::FxHashMap;

use grammask_collections::id_type;

use super::super::FirstMatches;
use super::super::code_points::{CodePointPart, CodePointPartition, DistinguishedSet};
use super::super::pattern::{LookCondition, LookDirection, OrderedNode, OrderedNodeId, OrderedPattern};
use super::FullMatchError;
use crate::leftmost_first::FirstMatchError;
use crate::leftmost_first::automaton::{CodePointAutomaton, CodePointState};

/// Maximum number of instructions of a pattern, and of copies of items of repetitions.
const MAX_INSTRUCTIONS: usize = 50_000;

id_type! {
    /// An instruction of a [`ConditionalProgram`].
    ConditionalInstructionId
}

use ConditionalInstructionId as Id;

impl Id {
    /// The instruction [`ConditionalInstruction::Accept`].
    pub(super) const ACCEPT: Self = Self(0);
}

/// The text at which a look-around looks.
#[derive(Clone, Copy, Debug)]
pub(super) enum LookedText {
    /// The following text, which begins with a match of the instructions from here on.
    Ahead(Id),
    /// The preceding text, which ends with a match of the instructions from an element of
    /// [`ConditionalProgram::look_behinds`] on.
    Behind(usize),
}

#[derive(Debug)]
pub(super) enum ConditionalInstruction {
    /// The end of the pattern, or of the item of a look-around.
    Accept,
    /// Reads one character of a set.
    Take {
        characters: DistinguishedSet,
        next: Id,
    },
    /// Reads one character of a part of the partition.
    TakePart {
        part: CodePointPart,
        next: Id,
    },
    Split {
        targets: Box<[Id]>,
    },
    Look {
        text: LookedText,
        condition: LookCondition,
        next: Id,
    },
}

/// The instructions of a pattern.
#[derive(Debug)]
pub(super) struct ConditionalProgram {
    pub(super) partition: CodePointPartition,
    instructions: Vec<ConditionalInstruction>,
    pub(super) start: Id,
    /// The first instructions of the items of look-behinds. Those inside of an item precede it.
    pub(super) look_behinds: Vec<Id>,
}

impl ConditionalProgram {
    pub(super) fn new(pattern: &OrderedPattern, root: OrderedNodeId) -> Result<Self, FullMatchError> {
        let mut program = Self {
            partition: pattern.partition(),
            instructions: vec![ConditionalInstruction::Accept],
            start: Id::ACCEPT,
            look_behinds: Vec::new(),
        };
        let mut compiler = ConditionalCompiler {
            pattern,
            program: &mut program,
            looks: FxHashMap::default(),
            first_matches: FxHashMap::default(),
            copies_left: MAX_INSTRUCTIONS,
        };
        let start = compiler.node(root, Id::ACCEPT)?;
        program.start = start;
        Ok(program)
    }

    pub(super) fn get(&self, id: Id) -> &ConditionalInstruction {
        &self.instructions[id.index()]
    }

    /// The instruction after reading a character of `part`; `None` unless `id` reads one.
    pub(super) fn after(&self, id: Id, part: CodePointPart) -> Option<Id> {
        match *self.get(id) {
            ConditionalInstruction::Take { characters, next } => {
                self.partition.includes(characters, part).then_some(next)
            }
            ConditionalInstruction::TakePart { part: own, next } => (own == part).then_some(next),
            _ => None,
        }
    }
}

struct ConditionalCompiler<'a> {
    pattern: &'a OrderedPattern,
    program: &'a mut ConditionalProgram,
    /// The compiled look-arounds. Copies of a repetition share them.
    looks: FxHashMap<OrderedNodeId, LookedText>,
    /// The first matches of compiled atomic groups, with the text that extends a match in each state.
    first_matches: FxHashMap<OrderedNodeId, (CodePointAutomaton, Vec<Id>)>,
    copies_left: usize,
}

impl ConditionalCompiler<'_> {
    /// Adds the instructions of a node before `next`; returns the first one.
    fn node(&mut self, id: OrderedNodeId, next: Id) -> Result<Id, FullMatchError> {
        let pattern = self.pattern;
        match pattern.node(id) {
            OrderedNode::Characters(set) => {
                let characters = self.program.partition.set(set);
                self.add(ConditionalInstruction::Take { characters, next })
            }
            OrderedNode::Sequence(items) => {
                items.iter().rev().try_fold(next, |next, &item| self.node(item, next))
            }
            OrderedNode::Choice(items) => {
                let targets = items.iter().map(|&item| self.node(item, next)).collect::<Result<_, _>>()?;
                self.add(ConditionalInstruction::Split { targets })
            }
            &OrderedNode::Repeat { item, min, max, .. } => self.repeat(item, min, max, next),
            &OrderedNode::Look { item, direction, condition } => {
                let text = match self.looks.get(&id) {
                    Some(&known) => known,
                    None => self.looked_text(id, item, direction)?,
                };
                self.add(ConditionalInstruction::Look { text, condition, next })
            }
            &OrderedNode::Atomic(item) => self.atomic(item, next),
        }
    }

    fn looked_text(
        &mut self,
        id: OrderedNodeId,
        item: OrderedNodeId,
        direction: LookDirection,
    ) -> Result<LookedText, FullMatchError> {
        let start = self.node(item, Id::ACCEPT)?;
        let text = match direction {
            LookDirection::Ahead => LookedText::Ahead(start),
            LookDirection::Behind => {
                self.program.look_behinds.push(start);
                LookedText::Behind(self.program.look_behinds.len() - 1)
            }
        };
        self.looks.insert(id, text);
        Ok(text)
    }

    fn repeat(
        &mut self,
        item: OrderedNodeId,
        min: u32,
        max: Option<u32>,
        exit: Id,
    ) -> Result<Id, FullMatchError> {
        let mut next = exit;
        match max {
            None => {
                next = self.add(ConditionalInstruction::Split { targets: Box::default() })?;
                let body = self.node(item, next)?;
                self.set_targets(next, vec![body, exit]);
            }
            Some(max) => {
                for _ in min..max {
                    self.count_copy()?;
                    let body = self.node(item, next)?;
                    next = self.add(ConditionalInstruction::Split { targets: Box::new([body, exit]) })?;
                }
            }
        }
        for _ in 0..min {
            self.count_copy()?;
            next = self.node(item, next)?;
        }
        Ok(next)
    }

    /// The first match of `item`: one of its words that the following text does not extend to a longer word.
    fn atomic(&mut self, item: OrderedNodeId, next: Id) -> Result<Id, FullMatchError> {
        if !self.first_matches.contains_key(&item) {
            let matches = FirstMatches::of_node(self.pattern, Some(item)).map_err(|error| match error {
                FirstMatchError::ProgramTooLarge | FirstMatchError::AutomatonTooLarge => {
                    FullMatchError::TooLarge
                }
                _ => FullMatchError::AtomicGroup(error),
            })?;
            let inside = self.states(&matches.automaton)?;
            let mut extensions = Vec::with_capacity(inside.len());
            for (state, &start) in matches.automaton.states().zip(&inside) {
                extensions.push(self.add(ConditionalInstruction::Split { targets: Box::default() })?);
                let mut targets = self.transitions(&matches.automaton, state, &inside)?;
                self.set_targets(extensions[state.index()], targets.clone());
                if matches.automaton.is_accepting(state) {
                    targets.push(Id::ACCEPT);
                }
                self.set_targets(start, targets);
            }
            self.first_matches.insert(item, (matches.automaton, extensions));
        }
        let (automaton, extensions) = self.first_matches[&item].clone();
        let starts = self.states(&automaton)?;
        for (state, &start) in automaton.states().zip(&starts) {
            let mut targets = self.transitions(&automaton, state, &starts)?;
            if automaton.is_accepting(state) {
                targets.push(self.add(ConditionalInstruction::Look {
                    text: LookedText::Ahead(extensions[state.index()]),
                    condition: LookCondition::NoMatch,
                    next,
                })?);
            }
            self.set_targets(start, targets);
        }
        Ok(starts[CodePointState::START.index()])
    }

    /// An instruction for each state of an automaton, still without targets.
    fn states(&mut self, automaton: &CodePointAutomaton) -> Result<Vec<Id>, FullMatchError> {
        automaton
            .states()
            .map(|_| self.add(ConditionalInstruction::Split { targets: Box::default() }))
            .collect()
    }

    fn transitions(
        &mut self,
        automaton: &CodePointAutomaton,
        state: CodePointState,
        targets: &[Id],
    ) -> Result<Vec<Id>, FullMatchError> {
        let edges = automaton.edges(state).iter();
        edges
            .map(|edge| {
                let next = targets[edge.target.index()];
                self.add(ConditionalInstruction::TakePart { part: edge.part, next })
            })
            .collect()
    }

    fn set_targets(&mut self, split: Id, targets: Vec<Id>) {
        self.program.instructions[split.index()] = ConditionalInstruction::Split { targets: targets.into() };
    }

    /// Bounds the copies of items without instructions, too.
    fn count_copy(&mut self) -> Result<(), FullMatchError> {
        self.copies_left = self.copies_left.checked_sub(1).ok_or(FullMatchError::TooLarge)?;
        Ok(())
    }

    fn add(&mut self, instruction: ConditionalInstruction) -> Result<Id, FullMatchError> {
        let instructions = &mut self.program.instructions;
        if instructions.len() >= MAX_INSTRUCTIONS {
            return Err(FullMatchError::TooLarge);
        }
        instructions.push(instruction);
        Ok(Id::new(instructions.len() - 1))
    }
}
