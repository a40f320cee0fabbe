//! The equivalence cache: finished masks by the parts of a set that their computation read.
//!
//! A mask that resumed only the top continuations of its set does not depend on the others: the mask after the
//! hundredth open bracket is that after the tenth. So masks are stored in decision trees of guards, on the core of the
//! kernel, then on the content of the continuation that was resumed first, and so on (selective memoisation: Acar,
//! Blelloch, Harper 2003). Continuations are numbered in the order in which they are read, so different depths have
//! equal guards; and counts of repetitions are saturated at the length of the longest token, so those far from a bound
//! are equal too. The computation is deterministic in its reads, so a set that passes all guards of a path has the mask
//! at its end.
//!
//! In grammars with remembered values, a mask is that without the conditions on values. The texts of values are no part
//! of the guards, and the tokens that may break a condition are stored with the mask.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::lowering::NormalForm;
use crate::recognizer::{ContinuationId, Continuations, CoreId, SetCore};
use grammask_collections::small_map::SmallMap;
use grammask_engine::CachedMask;
use grammask_vocabulary::LiveTokens;

use super::positions::Positions;
use super::values::DecidedByValues;

/// The observed content of a continuation: the class of its core, and the numbers of the continuations in it.
type Signature = Box<[u32]>;

/// The decision trees.
#[derive(Debug, Default)]
pub(super) struct EquivalenceCache {
    kernels: CoreClasses,
    contents: CoreClasses,
    /// The root of the tree of each class of kernels.
    roots: Vec<Option<usize>>,
    nodes: Vec<GuardNode>,
    bytes: usize,
    numbers: ContinuationNumbers,
}

#[derive(Debug)]
enum GuardNode {
    Mask(EquivalentMask),
    /// The next node by the signature of the continuation with this number.
    Guard {
        number: u32,
        branches: SmallMap,
    },
}

/// The mask of equivalent sets.
#[derive(Clone, Debug)]
pub(crate) enum EquivalentMask {
    Mask(CachedMask),
    /// In grammars with remembered values.
    Superset(Arc<Superset>),
}

/// A mask that is computed as if values had no conditions.
#[derive(Debug)]
pub(crate) struct Superset {
    /// The tokens by their bytes, without end tokens.
    pub(crate) live: LiveTokens,
    /// The tokens of token terminals.
    pub(crate) of_terminals: Vec<LiveTokens>,
    /// How values constrain them.
    pub(crate) decided: DecidedByValues,
    /// The finished mask of the sets in which all of them are legal, once there is one.
    pub(crate) mask: OnceLock<CachedMask>,
}

/// The reads of one computation, in order.
#[derive(Debug)]
pub(crate) struct Observation {
    /// The class of the kernel.
    kernel: u32,
    /// The resumed continuations: their numbers and signatures.
    guards: Vec<(u32, Signature)>,
}

/// The parts of a recogniser that a mask depends on.
#[derive(Clone, Copy)]
pub(super) struct ObservedParts<'a> {
    pub(super) form: &'a NormalForm,
    pub(super) continuations: &'a Continuations,
    /// Length of the longest token, in bytes: the maximum number of copies of anything in one token.
    pub(super) reach: u32,
}

/// Classes of cores that masks do not distinguish.
#[derive(Debug, Default)]
struct CoreClasses {
    of_core: Vec<Option<u32>>,
    classes: FxHashMap<Box<[u32]>, u32>,
    /// Length of all keys, in machine words.
    words: usize,
}

/// Whether classes compare the end flags of cores: masks contain end tokens, but do not read the end flags of
/// continuations unless these are inside a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndFlag {
    Compared,
    Ignored,
}

/// Numbers of continuations, in the order in which they are read.
#[derive(Debug, Default)]
struct ContinuationNumbers {
    continuations: Vec<ContinuationId>,
    numbers: Positions<ContinuationId>,
    /// The signature that was read last.
    signature: Vec<u32>,
}

impl CoreClasses {
    fn class(&mut self, parts: ObservedParts<'_>, id: CoreId, flag: EndFlag) -> u32 {
        match self.of_core.get(id.index()) {
            Some(Some(class)) => *class,
            _ => self.find(parts, id, flag),
        }
    }

    #[cold]
    fn find(&mut self, parts: ObservedParts<'_>, id: CoreId, flag: EndFlag) -> u32 {
        if self.of_core.len() <= id.index() {
            self.of_core.resize(id.index() + 1, None);
        }
        let SetCore { ends, items, .. } = parts.continuations.core(id);
        let mut key = Vec::with_capacity(items.len() * 3 + 1);
        key.push(u32::from(*ends && flag == EndFlag::Compared));
        for item in items {
            key.extend([item.state.0, parts.form.saturate(item.dot, parts.reach).0, item.number]);
        }
        let next = self.classes.len() as u32;
        let class = *self.classes.entry(key.into()).or_insert_with(|| {
            self.words += items.len() * 3 + 1;
            next
        });
        self.of_core[id.index()] = Some(class);
        class
    }

    fn memory_bytes(&self) -> usize {
        self.of_core.capacity() * size_of::<Option<u32>>()
            + self.words * size_of::<u32>()
            + self.classes.len() * 48
    }
}

impl ContinuationNumbers {
    /// Begins with the continuations of a kernel, in the order of its core.
    fn begin(&mut self, kernel: &[ContinuationId]) {
        self.continuations.clear();
        self.continuations.extend_from_slice(kernel);
        self.numbers.clear();
    }

    fn number(&mut self, continuation: ContinuationId) -> u32 {
        let number = self.numbers.position(continuation, self.continuations.iter().copied());
        if number == self.continuations.len() {
            self.continuations.push(continuation);
        }
        number as u32
    }

    /// Reads the signature of a continuation.
    fn read(&mut self, parts: ObservedParts<'_>, contents: &mut CoreClasses, id: ContinuationId) {
        let flag = if parts.form.values().is_empty() { EndFlag::Ignored } else { EndFlag::Compared };
        let class = contents.class(parts, parts.continuations.core_of(id), flag);
        self.signature.clear();
        self.signature.push(class);
        for &continuation in parts.continuations.get(id).continuations {
            let number = self.number(continuation);
            self.signature.push(number);
        }
    }
}

impl EquivalenceCache {
    /// The observation of a computation for a kernel, by its core and continuations, that resumed these continuations,
    /// each once, in this order.
    pub(super) fn observe(
        &mut self,
        parts: ObservedParts<'_>,
        core: CoreId,
        kernel: &[ContinuationId],
        resumed: &[ContinuationId],
    ) -> Observation {
        let Self { kernels, contents, numbers, .. } = self;
        numbers.begin(kernel);
        let guard = |&id: &ContinuationId| {
            let number = numbers.number(id);
            numbers.read(parts, contents, id);
            (number, numbers.signature.as_slice().into())
        };
        let guards = resumed.iter().map(guard).collect();
        Observation { kernel: kernels.class(parts, core, EndFlag::Compared), guards }
    }

    /// The mask of an equivalent kernel.
    pub(super) fn recall(
        &mut self,
        parts: ObservedParts<'_>,
        core: CoreId,
        kernel: &[ContinuationId],
    ) -> Option<&EquivalentMask> {
        let Self { kernels, contents, roots, nodes, numbers, .. } = self;
        let class = kernels.class(parts, core, EndFlag::Compared);
        let mut node = (*roots.get(class as usize)?)?;
        numbers.begin(kernel);
        loop {
            match &nodes[node] {
                GuardNode::Mask(mask) => return Some(mask),
                GuardNode::Guard { number, branches } => {
                    let id = *numbers.continuations.get(*number as usize)?;
                    numbers.read(parts, contents, id);
                    node = branches.get(&numbers.signature)?;
                }
            }
        }
    }

    /// Caches the mask of an observation.
    pub(super) fn remember(&mut self, observation: Observation, mask: EquivalentMask) {
        let Observation { kernel, guards } = observation;
        let mut guards = guards.into_iter().peekable();
        let add = |nodes: &mut Vec<GuardNode>, bytes: &mut usize, number: Option<u32>, words: usize| {
            *bytes += words * size_of::<u32>() + size_of::<GuardNode>() + 48;
            nodes.push(match number {
                Some(number) => GuardNode::Guard { number, branches: SmallMap::default() },
                None => GuardNode::Mask(mask.clone()),
            });
            nodes.len() - 1
        };
        let Self { roots, nodes, bytes, .. } = self;
        let first = guards.peek().map(|&(number, _)| number);
        if roots.len() <= kernel as usize {
            roots.resize(kernel as usize + 1, None);
        }
        let mut node = *roots[kernel as usize].get_or_insert_with(|| add(nodes, bytes, first, 1));
        while let Some((_, signature)) = guards.next() {
            let child = match &nodes[node] {
                GuardNode::Guard { branches, .. } => branches.get(&signature),
                // Computations with equal reads differ: impossible, and it would cost only a cache entry.
                GuardNode::Mask(_) => return,
            };
            let next = guards.peek().map(|&(number, _)| number);
            let child = child.unwrap_or_else(|| add(nodes, bytes, next, signature.len()));
            if let GuardNode::Guard { branches, .. } = &mut nodes[node] {
                branches.insert(signature, child);
            }
            node = child;
        }
    }

    /// Memory without the masks, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let roots = self.roots.capacity() * size_of::<Option<usize>>();
        self.bytes + roots + self.kernels.memory_bytes() + self.contents.memory_bytes()
    }
}
