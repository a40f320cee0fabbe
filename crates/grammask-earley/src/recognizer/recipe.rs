//! Recipes: how the set after a byte is made from sets that look alike.
//!
//! A step the long way depends on a set's continuations in two ways only: it looks at what some of them hold, and it
//! puts them into the contents of new ones and into the next set. So it is taken once with *registers* in place of
//! continuations, and what it did is kept, by the shape of the set and the class of the byte: contents that were made,
//! continuations that were looked at with one branch for each shape of what they held (and for which of its
//! continuations were in registers already), and the shape of the next set. A set of the same shape then gets its next
//! set by following the recipe: no prediction, no sorting, one look-up for each new continuation and one for the set.
//! This is what the tables of an LR parser are to the closure of its item sets, made lazily and for every grammar.
//!
//! The long way takes sets and contents as sets, whose order and whose repetitions do not count, so it does the same
//! in all registers that look alike. What can differ is which registers are equal: items and entries that
//! differ in their registers may be the same, or stand in another order. Where that can be, they are sorted anew.
//!
//! Sets that few others look like get no recipe: to write one takes longer than the step.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use grammask_diagnostics::LimitExceeded;

use super::branches::Branches;
use super::continuation::{Content, ContinuationId, Continuations, MakeContinuations};
use super::effort::Effort;
use super::index_u32;
use super::kernel::{Item, ItemState, Kernel};
use super::left_corner::Knot;
use super::shape::{ShapeId, intern_kernel};

/// Registers of a recipe at the most: longer ones are followed as slowly as steps are taken.
const MOST_REGISTERS: usize = 64;
/// Words of memory of what a recipe makes at the most.
const MOST_WORDS: usize = 1 << 12;
/// Branches that a place may get before one of them was taken again.
const UNTRIED_BRANCHES: usize = 4;
/// What can be seen at one place at the most.
const MOST_BRANCHES: usize = 256;

/// A number of a register.
type Register = u32;

/// All recipes of a recogniser.
#[derive(Debug, Default)]
pub(super) struct Recipes {
    /// Where to begin, by shape and class of the byte.
    starts: FxHashMap<(ShapeId, u32), usize>,
    nodes: Vec<Node>,
    bytes: usize,
    followed: usize,
    /// Scratch: what the registers hold.
    registers: Vec<ContinuationId>,
    /// Scratch: what is seen.
    seen: Vec<u32>,
}

/// A part of a recipe up to a look.
#[derive(Debug)]
struct Node {
    makes: Box<[Make]>,
    then: Then,
}

/// Something that is made.
#[derive(Clone, Debug)]
enum Make {
    /// A continuation, for one register.
    Content(Built),
    /// The continuations of a knot, for a register each.
    Knot { knot: Arc<Knot>, outside: Box<[Content]> },
}

#[derive(Clone, Debug)]
enum Then {
    /// What a continuation holds decides.
    Look { register: Register, branches: Branches, taken: usize },
    /// This is the next set.
    Done(Built),
    /// Nothing follows.
    Dead,
    /// It is too long to be followed.
    TooLong,
}

/// A shape with registers for its continuations.
#[derive(Clone, Debug)]
struct Built {
    shape: ShapeId,
    registers: Box<[Register]>,
}

/// Where following a recipe leads.
pub(super) enum Followed {
    /// To a set of this shape; its continuations were written into the list.
    Set(ShapeId),
    /// To a kernel that is to be sorted.
    Kernel(Kernel),
    /// Nowhere: nothing follows.
    Dead,
    /// There is no recipe, but there should be one.
    Unknown,
    /// There is no recipe, and there will be none.
    None,
}

impl Recipes {
    /// Bytes of memory, an estimate.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes + self.starts.capacity() * (size_of::<((ShapeId, u32), usize)>() + 1)
    }

    /// How often a recipe was followed to its end.
    pub(super) fn followed(&self) -> usize {
        self.followed
    }

    /// Follows the recipe for sets of a shape and a class of bytes.
    pub(super) fn follow(
        &mut self,
        (shape, class): (ShapeId, usize),
        parts: &[ContinuationId],
        continuations: &mut Continuations,
        next: &mut Vec<ContinuationId>,
    ) -> Result<Followed, LimitExceeded> {
        let Some(&start) = self.starts.get(&(shape, index_u32(class))) else { return Ok(Followed::Unknown) };
        let Self { nodes, registers, seen, followed, .. } = self;
        registers.clear();
        registers.extend_from_slice(parts);
        let mut node = &mut nodes[start];
        loop {
            for make in &node.makes {
                make.make(continuations, registers, next, &mut Effort::unlimited())?;
            }
            match &mut node.then {
                Then::Look { register, branches, taken } => {
                    look(continuations, registers, *register, seen);
                    let Some(next) = branches.get(seen) else {
                        // Counts of repetitions, or the places where a rule is used, may make a difference each time.
                        let most = (UNTRIED_BRANCHES + *taken).min(MOST_BRANCHES);
                        let pays = branches.len() < most;
                        return Ok(if pays { Followed::Unknown } else { Followed::None });
                    };
                    *taken += 1;
                    node = &mut nodes[next];
                }
                Then::Done(built) => {
                    *followed += 1;
                    return Ok(match built.fill(continuations, registers, next) {
                        true => Followed::Set(built.shape),
                        false => Followed::Kernel(built.kernel(continuations, next)),
                    });
                }
                Then::Dead => {
                    *followed += 1;
                    return Ok(Followed::Dead);
                }
                Then::TooLong => return Ok(Followed::None),
            }
        }
    }

    /// Keeps a recipe that was written.
    pub(super) fn keep(
        &mut self,
        (shape, class): (ShapeId, usize),
        recording: Recording<'_>,
        kernel: &Kernel,
    ) {
        let Recording { continuations, registers, log, .. } = recording;
        let words: usize =
            log.iter().map(|event| if let Event::Make(make) = event { make.words() } else { 0 }).sum();
        let last = if registers.len() > MOST_REGISTERS || words + kernel.items.len() > MOST_WORDS {
            Then::TooLong
        } else if kernel.is_dead() {
            Then::Dead
        } else {
            let mut kernel = kernel.clone();
            kernel.normalize();
            let (shape, registers) = intern_kernel(&mut continuations.shapes, &kernel);
            Then::Done(Built { shape, registers: registers.iter().map(|register| register.0).collect() })
        };
        let start = (shape, index_u32(class));
        if matches!(last, Then::TooLong) {
            let node = self.push(Vec::new(), Then::TooLong);
            self.starts.insert(start, node);
            return;
        }
        // The recipe from its end to the beginning of what is not known yet.
        let mut log = log.into_iter();
        let mut parent: Option<(usize, Box<[u32]>)> = None;
        let mut node = self.starts.get(&start).copied();
        let mut makes = Vec::new();
        loop {
            let event = log.next();
            if let Some(Event::Make(make)) = event {
                makes.push(make);
                continue;
            }
            let (then, seen) = match event {
                Some(Event::Look { register, seen }) => {
                    (Then::Look { register, branches: Branches::default(), taken: 0 }, Some(seen))
                }
                _ => (last.clone(), None),
            };
            let known = match node {
                Some(node) => node,
                None => {
                    let node = self.push(std::mem::take(&mut makes), then);
                    self.link(start, parent.take(), node);
                    node
                }
            };
            makes.clear();
            let Some(seen) = seen else { return };
            // What was seen up to here decides what is done next, so the known part of a recipe is the same.
            let Then::Look { branches, .. } = &self.nodes[known].then else { return };
            node = branches.get(&seen);
            parent = Some((known, seen));
        }
    }

    fn push(&mut self, makes: Vec<Make>, then: Then) -> usize {
        let words: usize = makes.iter().map(Make::words).sum();
        self.bytes += size_of::<Node>() + makes.len() * size_of::<Make>() + words * size_of::<u32>() + 64;
        self.nodes.push(Node { makes: makes.into(), then });
        self.nodes.len() - 1
    }

    /// Has a node follow what was seen at its parent, or begin a recipe.
    fn link(&mut self, start: (ShapeId, u32), parent: Option<(usize, Box<[u32]>)>, node: usize) {
        match parent.map(|(parent, seen)| (&mut self.nodes[parent].then, seen)) {
            Some((Then::Look { branches, .. }, seen)) => branches.insert(seen, node),
            Some(_) => {}
            None => {
                self.starts.insert(start, node);
            }
        }
    }
}

impl Make {
    /// Makes it, for the next registers. `parts` is scratch.
    fn make(
        &self,
        continuations: &mut Continuations,
        registers: &mut Vec<ContinuationId>,
        parts: &mut Vec<ContinuationId>,
        effort: &mut Effort,
    ) -> Result<(), LimitExceeded> {
        match self {
            Self::Content(built) => {
                let id = if built.fill(continuations, registers, parts) {
                    continuations.intern_parts(built.shape, parts)
                } else {
                    let Kernel { ends, items } = built.kernel(continuations, parts);
                    let entries = items.into_iter().map(|item| (item.dot, item.continuation)).collect();
                    let mut content = Content { ends, entries };
                    content.normalize();
                    continuations.intern(&content)
                };
                registers.push(id);
            }
            Self::Knot { knot, outside } => {
                let mut outside = outside.to_vec();
                for (_, continuation) in outside.iter_mut().flat_map(|content| &mut content.entries) {
                    *continuation = registers[continuation.index()];
                }
                continuations.intern_knot(knot, &mut outside, effort, registers)?;
            }
        }
        Ok(())
    }

    fn words(&self) -> usize {
        match self {
            Self::Content(built) => built.registers.len(),
            Self::Knot { outside, .. } => outside.iter().map(|content| content.entries.len() * 2 + 8).sum(),
        }
    }
}

impl Built {
    /// Writes down the continuations of the shape; returns whether with them the shape is still its own.
    fn fill(
        &self,
        continuations: &Continuations,
        registers: &[ContinuationId],
        parts: &mut Vec<ContinuationId>,
    ) -> bool {
        parts.clear();
        parts.extend(self.registers.iter().map(|&register| registers[register as usize]));
        continuations.shapes.get(self.shape).is_rigid
            && parts.iter().enumerate().all(|(index, part)| !parts[..index].contains(part))
    }

    /// The items of the shape with these continuations, in any order.
    fn kernel(&self, continuations: &Continuations, parts: &[ContinuationId]) -> Kernel {
        let shape = continuations.shapes.get(self.shape);
        Kernel { ends: shape.ends, items: shape.items_with(parts).collect() }
    }
}

/// What is to be seen in a register: the shape of what it holds, and the registers of that. Those that are new are added.
fn look(
    continuations: &Continuations,
    registers: &mut Vec<ContinuationId>,
    register: Register,
    seen: &mut Vec<u32>,
) {
    let id = registers[register as usize];
    seen.clear();
    seen.push(continuations.shape_of(id).0);
    for part in continuations.get(id).continuations {
        let known = registers.iter().position(|known| known == part);
        seen.push(index_u32(known.unwrap_or(registers.len())));
        if known.is_none() {
            registers.push(*part);
        }
    }
}

/// What a step did.
#[derive(Debug)]
enum Event {
    Make(Make),
    Look { register: Register, seen: Box<[u32]> },
}

/// Continuations by the numbers of registers, while a recipe is written.
#[derive(Debug)]
pub(super) struct Recording<'a> {
    continuations: &'a mut Continuations,
    /// What the registers hold here.
    registers: Vec<ContinuationId>,
    log: Vec<Event>,
    /// What was looked at, with registers for continuations.
    looked_at: FxHashMap<ContinuationId, Content>,
    /// What was made: a step may make the same content often.
    made: Vec<(Content, ContinuationId)>,
    /// Scratch.
    parts: Vec<ContinuationId>,
}

impl<'a> Recording<'a> {
    /// Begins with the continuations of a set.
    pub(super) fn new(continuations: &'a mut Continuations, parts: &[ContinuationId]) -> Self {
        Self {
            continuations,
            registers: parts.to_vec(),
            log: Vec::new(),
            looked_at: FxHashMap::default(),
            made: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// A kernel with the continuations that the registers hold here.
    pub(super) fn resolve(&self, kernel: &Kernel) -> Kernel {
        let resolved =
            |item: &Item| Item { continuation: self.registers[item.continuation.index()], ..*item };
        Kernel { ends: kernel.ends, items: kernel.items.iter().map(resolved).collect() }
    }
}

impl MakeContinuations for Recording<'_> {
    fn add_to(&mut self, content: &mut Content, other: ContinuationId) -> usize {
        let Self { continuations, registers, log, looked_at, .. } = self;
        let held = looked_at.entry(other).or_insert_with(|| {
            let mut seen = Vec::new();
            look(continuations, registers, other.0, &mut seen);
            let shape = continuations.get(registers[other.index()]).shape;
            let entry = |item: &super::shape::NumberedItem| {
                (item.dot, ContinuationId(seen[item.number as usize + 1]))
            };
            let mut held = Content { ends: shape.ends, entries: shape.items.iter().map(entry).collect() };
            held.normalize();
            log.push(Event::Look { register: other.0, seen: seen.into() });
            held
        });
        content.ends |= held.ends;
        content.entries.extend_from_slice(&held.entries);
        held.entries.len()
    }

    fn intern(&mut self, content: &Content) -> ContinuationId {
        if let Some((_, known)) = self.made.iter().find(|(known, _)| known == content) {
            return *known;
        }
        let item = |&(dot, continuation): &_| Item { state: ItemState::FRESH, dot, continuation };
        let (shape, registers) =
            self.continuations.shapes.intern(content.ends, content.entries.iter().map(item));
        let registers = registers.iter().map(|register| register.0).collect();
        let make = Make::Content(Built { shape, registers });
        let register = ContinuationId::new(self.registers.len());
        // Only knots can fail.
        let _ = make.make(self.continuations, &mut self.registers, &mut self.parts, &mut Effort::unlimited());
        self.log.push(Event::Make(make));
        self.made.push((content.clone(), register));
        register
    }

    fn intern_knot(
        &mut self,
        knot: &Arc<Knot>,
        outside: &mut [Content],
        effort: &mut Effort,
        members: &mut Vec<ContinuationId>,
    ) -> Result<(), LimitExceeded> {
        for content in outside.iter_mut() {
            content.normalize();
        }
        let make = Make::Knot { knot: knot.clone(), outside: (&*outside).into() };
        let first = self.registers.len();
        make.make(self.continuations, &mut self.registers, &mut self.parts, effort)?;
        self.log.push(Event::Make(make));
        members.extend((first..self.registers.len()).map(ContinuationId::new));
        Ok(())
    }
}
