//! Finished masks by what was observed while they were made.
//!
//! A mask that resumed only the top continuations of its set depends on nothing below them: the hundredth open
//! bracket has the mask of the tenth. So masks are kept in decision trees: over the core of the kernel, then over
//! the content of the continuation that was resumed first, and so on. Continuations are numbered as they come into
//! sight, so the shapes of different depths are equal; and counts of repetitions are saturated at the length of
//! the longest token, so those far from a bound are equal too. The computation is deterministic in what it reads, hence a
//! path that agrees to its end has the same mask.

use rustc_hash::FxHashMap;

use crate::lowering::NormalForm;
use crate::recognizer::{ContinuationId, Continuations, CoreId, SetCore};
use grammask_collections::small_map::SmallMap;

use grammask_engine::CachedMask;

/// What was seen of a continuation: how its content looks, and the numbers of the continuations in it.
type Sight = Box<[u32]>;

/// The decision trees.
#[derive(Debug, Default)]
pub(super) struct ObservedMasks {
    kernels: Looks,
    contents: Looks,
    /// For each look of a kernel the root of its tree, once there is one.
    roots: Vec<Option<usize>>,
    nodes: Vec<Node>,
    bytes: usize,
    numbering: Numbering,
}

#[derive(Debug)]
enum Node {
    /// Nothing more needs to be seen.
    Mask(CachedMask),
    /// The continuation of this number is looked at; where that leads to by what is seen.
    Look { number: u32, branches: SmallMap },
}

/// What one computation looked at, in order.
#[derive(Debug)]
pub(crate) struct Observation {
    /// How the kernel looks.
    kernel: u32,
    /// The resumed continuations: their numbers, and what was seen of them.
    looks: Vec<(u32, Sight)>,
}

/// What the parts of a recogniser look like to a mask.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) form: &'a NormalForm,
    pub(super) continuations: &'a Continuations,
    /// Length of the longest token: the most copies of anything in one token.
    pub(super) reach: u32,
}

/// Numbers for shapes, equal where masks see no difference.
#[derive(Debug, Default)]
struct Looks {
    of_core: Vec<Option<u32>>,
    numbers: FxHashMap<Box<[u32]>, u32>,
    words: usize,
}

/// Whether the end of a text counts in a look: masks hold end tokens, but do not look at the end flags of continuations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndFlag {
    Counts,
    IsLeftOut,
}

/// Continuations that are looked through one by one; more of them are found by a map.
const MAX_LINEAR_SEARCH: usize = 16;

/// Numbers for continuations, in the order in which they come into sight.
#[derive(Debug, Default)]
struct Numbering {
    continuations: Vec<ContinuationId>,
    /// The numbers of all continuations, once there are more than a few.
    numbers: FxHashMap<ContinuationId, u32>,
    /// What was seen last.
    sight: Vec<u32>,
}

impl Looks {
    fn number(&mut self, view: View<'_>, id: CoreId, flag: EndFlag) -> u32 {
        match self.of_core.get(id.index()) {
            Some(Some(known)) => *known,
            _ => self.find(view, id, flag),
        }
    }

    #[cold]
    fn find(&mut self, view: View<'_>, id: CoreId, flag: EndFlag) -> u32 {
        if self.of_core.len() <= id.index() {
            self.of_core.resize(id.index() + 1, None);
        }
        let SetCore { ends, items, .. } = view.continuations.core(id);
        let mut key = Vec::with_capacity(items.len() * 3 + 1);
        key.push(u32::from(*ends && flag == EndFlag::Counts));
        for item in items {
            // The dot, as far as its count matters within a token.
            key.extend([item.state.0, view.form.saturate(item.dot, view.reach).0, item.number]);
        }
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(key.into()).or_insert_with(|| {
            self.words += items.len() * 3 + 1;
            next
        });
        self.of_core[id.index()] = Some(number);
        number
    }

    fn memory_bytes(&self) -> usize {
        self.of_core.capacity() * size_of::<Option<u32>>()
            + self.words * size_of::<u32>()
            + self.numbers.len() * 48
    }
}

impl Numbering {
    /// Begins with the continuations of a kernel, which are numbered like this in its core.
    fn begin(&mut self, parts: &[ContinuationId]) {
        self.continuations.clear();
        self.continuations.extend_from_slice(parts);
        self.numbers.clear();
    }

    fn number(&mut self, continuation: ContinuationId) -> u32 {
        let next = self.continuations.len();
        let number = if next < MAX_LINEAR_SEARCH {
            self.continuations.iter().position(|&known| known == continuation).unwrap_or(next)
        } else {
            if self.numbers.is_empty() {
                self.numbers = self.continuations.iter().copied().zip(0..).collect();
            }
            *self.numbers.entry(continuation).or_insert(next as u32) as usize
        };
        if number == next {
            self.continuations.push(continuation);
        }
        number as u32
    }

    /// Looks at a continuation; what is seen is in `sight`.
    fn look(&mut self, view: View<'_>, contents: &mut Looks, id: ContinuationId) {
        let look = contents.number(view, view.continuations.core_of(id), EndFlag::IsLeftOut);
        self.sight.clear();
        self.sight.push(look);
        for &part in view.continuations.get(id).continuations {
            let number = self.number(part);
            self.sight.push(number);
        }
    }
}

impl ObservedMasks {
    /// The observation of a computation that resumed these continuations, each once, in this order.
    pub(super) fn observe(
        &mut self,
        view: View<'_>,
        (core, parts): (CoreId, &[ContinuationId]),
        resumed: &[ContinuationId],
    ) -> Observation {
        let Self { kernels, contents, numbering, .. } = self;
        numbering.begin(parts);
        let look = |&id: &ContinuationId| {
            let number = numbering.number(id);
            numbering.look(view, contents, id);
            (number, numbering.sight.as_slice().into())
        };
        let looks = resumed.iter().map(look).collect();
        Observation { kernel: kernels.number(view, core, EndFlag::Counts), looks }
    }

    /// The mask of a kernel, if one with the same observations was remembered.
    pub(super) fn recall(
        &mut self,
        view: View<'_>,
        (core, parts): (CoreId, &[ContinuationId]),
    ) -> Option<&CachedMask> {
        let Self { kernels, contents, roots, nodes, numbering, .. } = self;
        let kernel = kernels.number(view, core, EndFlag::Counts);
        let mut node = (*roots.get(kernel as usize)?)?;
        numbering.begin(parts);
        loop {
            match &nodes[node] {
                Node::Mask(mask) => return Some(mask),
                Node::Look { number, branches } => {
                    let id = *numbering.continuations.get(*number as usize)?;
                    numbering.look(view, contents, id);
                    node = branches.get(&numbering.sight)?;
                }
            }
        }
    }

    /// Remembers the mask of an observation.
    pub(super) fn remember(&mut self, observation: Observation, mask: CachedMask) {
        let Observation { kernel, looks } = observation;
        let mut looks = looks.into_iter().peekable();
        let make = |nodes: &mut Vec<Node>, bytes: &mut usize, number: Option<u32>, words: usize| {
            *bytes += words * size_of::<u32>() + size_of::<Node>() + 48;
            nodes.push(match number {
                Some(number) => Node::Look { number, branches: SmallMap::default() },
                None => Node::Mask(mask.clone()),
            });
            nodes.len() - 1
        };
        let Self { roots, nodes, bytes, .. } = self;
        let first = looks.peek().map(|&(number, _)| number);
        if roots.len() <= kernel as usize {
            roots.resize(kernel as usize + 1, None);
        }
        let mut node = *roots[kernel as usize].get_or_insert_with(|| make(nodes, bytes, first, 1));
        while let Some((_, sight)) = looks.next() {
            let known = match &nodes[node] {
                Node::Look { branches, .. } => branches.get(&sight),
                // Computations that read the same went on differently; that cannot be, and would only lose a memo.
                Node::Mask(_) => return,
            };
            let next = looks.peek().map(|&(number, _)| number);
            let child = known.unwrap_or_else(|| make(nodes, bytes, next, sight.len()));
            if let Node::Look { branches, .. } = &mut nodes[node] {
                branches.insert(sight, child);
            }
            node = child;
        }
    }

    /// Bytes of memory, without the masks.
    pub(super) fn memory_bytes(&self) -> usize {
        let roots = self.roots.capacity() * size_of::<Option<usize>>();
        self.bytes + roots + self.kernels.memory_bytes() + self.contents.memory_bytes()
    }
}
