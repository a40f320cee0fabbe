//! The instructions of a backtracking matcher (Thompson's construction with priorities; R. Cox, "Regular Expression
//! Matching: the Virtual Machine Approach", 2009).

use grammask_collections::id_type;

use super::FirstMatchError;
use super::code_points::{CodePointPart, CodePointPartition, DistinguishedSet};
use super::pattern::{
    LookCondition, LookDirection, OrderedNode, OrderedNodeId, OrderedPattern, RepetitionOrder,
};

/// Maximum number of instructions of a pattern. Bounds counted repetitions, which are copied.
const MAX_INSTRUCTIONS: usize = 20_000;
/// Maximum number of character sequences of one look-behind.
const MAX_LOOK_BEHIND_SEQUENCES: usize = 4_000;
/// Maximum number of code points that a look-behind examines; each is part of the states of the automaton.
const MAX_LOOK_BEHIND_LENGTH: usize = 4_000;

id_type! {
    /// An instruction of a [`ThreadProgram`].
    InstructionId
}

impl InstructionId {
    /// The instruction [`Instruction::Match`].
    pub(super) const MATCH: Self = Self(0);
}

/// A sequence of character sets.
type SetSequence = Vec<DistinguishedSet>;

#[derive(Debug)]
pub(super) enum Instruction {
    /// The end of the pattern or of a look-ahead.
    Match,
    /// Reads one character of a set.
    Take { characters: DistinguishedSet, next: InstructionId },
    /// Tries each target in order.
    Split { targets: Box<[InstructionId]> },
    /// The head of a repetition whose body is nullable: the body is entered once between two characters.
    Loop { body: InstructionId, exit: InstructionId, order: RepetitionOrder },
    /// Obliges the following text to begin, or not to begin, with a match of the instructions from `first`.
    LookAhead { first: InstructionId, condition: LookCondition, next: InstructionId },
    /// Requires the preceding characters to match, or not to match, one of some sequences.
    LookBehind { sequences: Box<[SetSequence]>, condition: LookCondition, next: InstructionId },
}

/// The instructions of a pattern.
#[derive(Debug)]
pub(super) struct ThreadProgram {
    pub(super) partition: CodePointPartition,
    instructions: Vec<Instruction>,
    pub(super) start: InstructionId,
    pub(super) has_look: bool,
    /// Number of characters before the current one that look-behinds inspect.
    pub(super) look_behind_length: usize,
}

impl ThreadProgram {
    /// Compiles a node of a pattern. Instructions are added in reverse order, so that each can refer to its successor.
    pub(super) fn new(
        pattern: &OrderedPattern,
        root: Option<OrderedNodeId>,
    ) -> Result<Self, FirstMatchError> {
        let mut program = Self {
            partition: pattern.partition(),
            instructions: vec![Instruction::Match],
            start: InstructionId::MATCH,
            has_look: false,
            look_behind_length: 0,
        };
        if let Some(root) = root {
            program.has_look = pattern.has_look(root);
            program.start = Compiler { pattern, program: &mut program, tasks: Vec::new() }.compile(root)?;
        }
        Ok(program)
    }

    pub(super) fn get(&self, id: InstructionId) -> &Instruction {
        &self.instructions[id.index()]
    }

    /// The instruction after reading a character of `part`; `None` unless `id` reads one.
    pub(super) fn after(&self, id: InstructionId, part: CodePointPart) -> Option<InstructionId> {
        match *self.get(id) {
            Instruction::Take { characters, next } if self.partition.includes(characters, part) => Some(next),
            _ => None,
        }
    }
}

/// A step of the compiler. `Compiler::compile` keeps the instruction that follows the current step in a register,
/// which each step replaces by its own first instruction.
enum CompilerTask {
    Node(OrderedNodeId),
    /// After an alternative of `choice`, before the next one.
    Alternative {
        choice: OrderedNodeId,
        next: InstructionId,
        compiled: Vec<InstructionId>,
    },
    /// After the body of an unbounded repetition.
    CloseLoop {
        head: InstructionId,
        exit: InstructionId,
        order: RepetitionOrder,
    },
    /// Before the remaining optional copies of a bounded repetition.
    OptionalCopies {
        item: OrderedNodeId,
        remaining: u32,
        exit: InstructionId,
        order: RepetitionOrder,
    },
    /// After an optional copy.
    CloseOption {
        exit: InstructionId,
        order: RepetitionOrder,
    },
    RequiredCopies {
        item: OrderedNodeId,
        remaining: u32,
    },
    /// After the item of a look-ahead.
    CloseLookAhead {
        condition: LookCondition,
        next: InstructionId,
    },
}

struct Compiler<'a> {
    pattern: &'a OrderedPattern,
    program: &'a mut ThreadProgram,
    tasks: Vec<CompilerTask>,
}

impl Compiler<'_> {
    fn compile(mut self, root: OrderedNodeId) -> Result<InstructionId, FirstMatchError> {
        let mut register = InstructionId::MATCH;
        self.tasks.push(CompilerTask::Node(root));
        while let Some(task) = self.tasks.pop() {
            register = match task {
                CompilerTask::Node(id) => self.node(id, register)?,
                CompilerTask::Alternative { choice, next, mut compiled } => {
                    compiled.push(register);
                    self.next_alternative(choice, next, compiled)?
                }
                CompilerTask::CloseLoop { head, exit, order } => {
                    match &mut self.program.instructions[head.index()] {
                        Instruction::Loop { body, .. } => *body = register,
                        split => *split = Instruction::Split { targets: preference(order, register, exit) },
                    }
                    head
                }
                CompilerTask::OptionalCopies { remaining: 0, .. }
                | CompilerTask::RequiredCopies { remaining: 0, .. } => register,
                CompilerTask::OptionalCopies { item, remaining, exit, order } => {
                    let remaining = remaining - 1;
                    self.tasks.push(CompilerTask::OptionalCopies { item, remaining, exit, order });
                    self.tasks.push(CompilerTask::CloseOption { exit, order });
                    self.tasks.push(CompilerTask::Node(item));
                    register
                }
                CompilerTask::CloseOption { exit, order } => {
                    self.add(Instruction::Split { targets: preference(order, register, exit) })?
                }
                CompilerTask::RequiredCopies { item, remaining } => {
                    self.tasks.push(CompilerTask::RequiredCopies { item, remaining: remaining - 1 });
                    self.tasks.push(CompilerTask::Node(item));
                    register
                }
                CompilerTask::CloseLookAhead { condition, next } => {
                    self.add(Instruction::LookAhead { first: register, condition, next })?
                }
            };
        }
        Ok(register)
    }

    fn node(&mut self, id: OrderedNodeId, next: InstructionId) -> Result<InstructionId, FirstMatchError> {
        let pattern = self.pattern;
        match pattern.node(id) {
            OrderedNode::Characters(set) => {
                let characters = self.program.partition.set(set);
                self.add(Instruction::Take { characters, next })
            }
            OrderedNode::Sequence(items) => {
                self.tasks.extend(items.iter().map(|&item| CompilerTask::Node(item)));
                Ok(next)
            }
            OrderedNode::Choice(_) => self.next_alternative(id, next, Vec::new()),
            &OrderedNode::Repeat { item, min, max, order } => self.repeat(item, min, max, order, next),
            OrderedNode::Atomic(_) => Err(FirstMatchError::AtomicGroup),
            &OrderedNode::Look { item, direction, condition } => {
                if pattern.has_look(item) {
                    return Err(FirstMatchError::NestedLook);
                }
                match direction {
                    LookDirection::Ahead => {
                        self.tasks.push(CompilerTask::CloseLookAhead { condition, next });
                        self.tasks.push(CompilerTask::Node(item));
                        Ok(InstructionId::MATCH)
                    }
                    LookDirection::Behind => {
                        let sequences = self.set_sequences(item)?;
                        let length = sequences.iter().map(Vec::len).max().unwrap_or(0);
                        self.program.look_behind_length = self.program.look_behind_length.max(length);
                        self.add(Instruction::LookBehind { sequences: sequences.into(), condition, next })
                    }
                }
            }
        }
    }

    fn next_alternative(
        &mut self,
        choice: OrderedNodeId,
        next: InstructionId,
        compiled: Vec<InstructionId>,
    ) -> Result<InstructionId, FirstMatchError> {
        let OrderedNode::Choice(items) = self.pattern.node(choice) else {
            unreachable!("the node is a choice")
        };
        match items.get(compiled.len()) {
            Some(&item) => {
                self.tasks.push(CompilerTask::Alternative { choice, next, compiled });
                self.tasks.push(CompilerTask::Node(item));
                Ok(next)
            }
            None => self.add(Instruction::Split { targets: compiled.into() }),
        }
    }

    fn repeat(
        &mut self,
        item: OrderedNodeId,
        min: u32,
        max: Option<u32>,
        order: RepetitionOrder,
        exit: InstructionId,
    ) -> Result<InstructionId, FirstMatchError> {
        let is_nullable = self.pattern.is_nullable(item);
        if is_nullable && (min > 1 || max.is_some_and(|max| max > 1)) {
            return Err(FirstMatchError::NullableBoundedRepetition);
        }
        self.tasks.push(CompilerTask::RequiredCopies { item, remaining: min });
        let Some(max) = max else {
            let head = self.add(if is_nullable {
                Instruction::Loop { body: InstructionId::MATCH, exit, order }
            } else {
                Instruction::Split { targets: Box::default() }
            })?;
            self.tasks.push(CompilerTask::CloseLoop { head, exit, order });
            self.tasks.push(CompilerTask::Node(item));
            return Ok(head);
        };
        let remaining = max.saturating_sub(min);
        self.tasks.push(CompilerTask::OptionalCopies { item, remaining, exit, order });
        Ok(exit)
    }

    /// The sequences of character sets that a look-behind matches.
    fn set_sequences(&self, item: OrderedNodeId) -> Result<Vec<SetSequence>, FirstMatchError> {
        let mut sequences: Vec<Vec<SetSequence>> = vec![Vec::new(); item.index() + 1];
        for id in self.pattern.required_descendants(item) {
            let own = match self.pattern.node(id) {
                OrderedNode::Characters(set) => vec![vec![self.program.partition.set(set)]],
                OrderedNode::Choice(items) => {
                    items.iter().flat_map(|item| sequences[item.index()].iter().cloned()).collect()
                }
                OrderedNode::Sequence(items) => products(items.iter().map(|item| &*sequences[item.index()]))?,
                OrderedNode::Repeat { item, min, .. } => {
                    let operand = &*sequences[item.index()];
                    // Copies of the empty sequence are the empty sequence.
                    let copies = if operand.iter().all(Vec::is_empty) { (*min).min(1) } else { *min };
                    products((0..copies).map(|_| operand))?
                }
                OrderedNode::Look { .. } | OrderedNode::Atomic(_) => return Err(FirstMatchError::NestedLook),
            };
            sequences[id.index()] = own;
        }
        Ok(sequences.swap_remove(item.index()))
    }

    fn add(&mut self, instruction: Instruction) -> Result<InstructionId, FirstMatchError> {
        let instructions = &mut self.program.instructions;
        if instructions.len() >= MAX_INSTRUCTIONS {
            return Err(FirstMatchError::ProgramTooLarge);
        }
        instructions.push(instruction);
        Ok(InstructionId::new(instructions.len() - 1))
    }
}

/// The body of a repetition and its exit in order of preference.
fn preference(order: RepetitionOrder, body: InstructionId, exit: InstructionId) -> Box<[InstructionId]> {
    match order {
        RepetitionOrder::Greedy => Box::new([body, exit]),
        RepetitionOrder::Lazy => Box::new([exit, body]),
    }
}

/// The concatenations of one sequence of each list.
fn products<'a>(lists: impl Iterator<Item = &'a [SetSequence]>) -> Result<Vec<SetSequence>, FirstMatchError> {
    let mut result: Vec<SetSequence> = vec![Vec::new()];
    for list in lists {
        if result.len() * list.len() > MAX_LOOK_BEHIND_SEQUENCES {
            return Err(FirstMatchError::LookBehindTooLarge);
        }
        if result.iter().any(|sequence| sequence.len() > MAX_LOOK_BEHIND_LENGTH) {
            return Err(FirstMatchError::LookBehindTooLarge);
        }
        result = result
            .iter()
            .flat_map(|before| list.iter().map(move |after| [before.as_slice(), after].concat()))
            .collect();
    }
    Ok(result)
}
