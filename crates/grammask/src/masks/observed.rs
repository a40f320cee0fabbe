//! Finished masks by what was observed while they were made.
//!
//! A mask that resumed only the top continuations of its set depends on nothing below them: the hundredth open
//! bracket has the mask of the tenth. So masks are kept in decision trees: over the shape of the kernel, then over
//! the content of the continuation that was resumed first, and so on. Continuations are numbered as they come into
//! sight, so the shapes of different depths are equal; and counts of repetitions are saturated at the length of
//! the longest token, so those far from a bound are equal too. The computation is deterministic in what it reads, hence a
//! path that agrees to its end has the same mask.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lowering::{DotId, NormalForm};
use crate::recognizer::{ContinuationId, Continuations, Item};
use crate::vocabulary::Mask;

/// A piece of the recogniser's state, with continuations by the numbers under which they came into sight.
type Shape = Box<[u32]>;

/// The decision trees.
#[derive(Debug, Default)]
pub(super) struct ObservedMasks {
    roots: FxHashMap<Shape, usize>,
    nodes: Vec<Node>,
    bytes: usize,
}

#[derive(Debug)]
enum Node {
    /// Nothing more needs to be seen.
    Mask(Arc<Mask>),
    /// The continuation of this number is looked at; where that leads to by its content.
    Look { number: u32, branches: FxHashMap<Shape, usize> },
}

/// What one computation looked at, in order.
#[derive(Debug)]
pub struct Observation {
    kernel: Shape,
    /// Numbers and contents of the resumed continuations.
    looks: Vec<(u32, Shape)>,
}

/// What the parts of a recogniser look like to a mask.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) form: &'a NormalForm,
    pub(super) continuations: &'a Continuations,
    /// Length of the longest token: the most copies of anything in one token.
    pub(super) reach: u32,
}

/// Continuations that are looked through one by one; more of them are found by a map.
const FEW_CONTINUATIONS: usize = 16;

/// Numbers for continuations, in the order in which they come into sight.
struct Numbering<'a> {
    view: View<'a>,
    continuations: Vec<ContinuationId>,
    /// The numbers of all continuations, once there are more than a few.
    numbers: FxHashMap<ContinuationId, u32>,
}

impl<'a> Numbering<'a> {
    fn new(view: View<'a>) -> Self {
        Self { view, continuations: Vec::new(), numbers: FxHashMap::default() }
    }

    /// The dot, as far as its count matters within a token.
    fn dot(&self, dot: DotId) -> u32 {
        self.view.form.saturate(dot, self.view.reach).0
    }

    fn number(&mut self, continuation: ContinuationId) -> u32 {
        let next = self.continuations.len() as u32;
        if self.continuations.len() <= FEW_CONTINUATIONS {
            if let Some(known) = self.continuations.iter().position(|&known| known == continuation) {
                return known as u32;
            }
            if self.continuations.len() == FEW_CONTINUATIONS {
                self.numbers = self.continuations.iter().copied().zip(0..).collect();
            }
        }
        if self.continuations.len() >= FEW_CONTINUATIONS {
            let number = *self.numbers.entry(continuation).or_insert(next);
            if number != next {
                return number;
            }
        }
        self.continuations.push(continuation);
        next
    }

    fn kernel(&mut self, items: &[Item], ends: bool, shape: &mut Vec<u32>) {
        shape.clear();
        shape.push(u32::from(ends));
        for item in items {
            shape.extend([item.state.0, self.dot(item.dot), self.number(item.continuation)]);
        }
    }

    /// The end flag of a continuation is left out: masks do not look at it.
    fn content(&mut self, id: ContinuationId, shape: &mut Vec<u32>) {
        shape.clear();
        for &(dot, next) in &self.view.continuations.get(id).entries[..] {
            shape.extend([self.dot(dot), self.number(next)]);
        }
    }
}

impl Observation {
    /// The observation of a computation that resumed these continuations, each once, in this order.
    pub(super) fn new(view: View<'_>, items: &[Item], ends: bool, resumed: &[ContinuationId]) -> Self {
        let mut numbering = Numbering::new(view);
        let mut shape = Vec::new();
        numbering.kernel(items, ends, &mut shape);
        let kernel = shape.as_slice().into();
        let looks = resumed
            .iter()
            .map(|&id| {
                let number = numbering.number(id);
                numbering.content(id, &mut shape);
                (number, shape.as_slice().into())
            })
            .collect();
        Self { kernel, looks }
    }
}

impl ObservedMasks {
    /// The mask of a kernel, if one with the same observations was remembered.
    pub(super) fn recall(&self, view: View<'_>, items: &[Item], ends: bool) -> Option<Arc<Mask>> {
        let mut numbering = Numbering::new(view);
        let mut shape = Vec::with_capacity(64);
        numbering.kernel(items, ends, &mut shape);
        let mut node = *self.roots.get(&shape[..])?;
        loop {
            match &self.nodes[node] {
                Node::Mask(mask) => return Some(mask.clone()),
                Node::Look { number, branches } => {
                    let id = *numbering.continuations.get(*number as usize)?;
                    numbering.content(id, &mut shape);
                    node = *branches.get(&shape[..])?;
                }
            }
        }
    }

    /// Remembers the mask of an observation.
    pub(super) fn remember(&mut self, observation: Observation, mask: Arc<Mask>) {
        let Observation { kernel, looks } = observation;
        let mut looks = looks.into_iter().peekable();
        let make = |nodes: &mut Vec<Node>, bytes: &mut usize, number: Option<u32>, shape: usize| {
            *bytes += shape * size_of::<u32>() + size_of::<Node>() + 48;
            nodes.push(match number {
                Some(number) => Node::Look { number, branches: FxHashMap::default() },
                None => Node::Mask(mask.clone()),
            });
            nodes.len() - 1
        };
        let Self { roots, nodes, bytes } = self;
        let first = looks.peek().map(|&(number, _)| number);
        let size = kernel.len();
        let mut node = *roots.entry(kernel).or_insert_with(|| make(nodes, bytes, first, size));
        while let Some((_, content)) = looks.next() {
            let known = match &nodes[node] {
                Node::Look { branches, .. } => branches.get(&content).copied(),
                // Computations that read the same went on differently; that cannot be, and would only lose a memo.
                Node::Mask(_) => return,
            };
            let next = looks.peek().map(|&(number, _)| number);
            let child = known.unwrap_or_else(|| make(nodes, bytes, next, content.len()));
            if let Node::Look { branches, .. } = &mut nodes[node] {
                branches.insert(content, child);
            }
            node = child;
        }
    }

    /// Bytes of memory, without the masks.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes
    }
}
