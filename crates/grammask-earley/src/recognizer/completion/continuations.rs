//! The lengths of the shortest texts of each continuation, up to the end of the whole text.
//!
//! Continuations refer to each other, cyclically where recursion is on the left. The entries are the edges of a graph,
//! weighted by the shortest text from their dot, and the length is the distance to a continuation that may end:
//! Dijkstra's algorithm, once for all continuations that a new one refers to. Each is read once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use grammask_collections::graph::{AdjacencyList, components_of};
use grammask_diagnostics::{Deadline, LimitExceeded};

use super::super::continuation::{ContinuationId, Continuations};
use super::dots::DotReader;
use super::shortest::Length;

/// Number of continuations between two checks of the deadline.
const CONTINUATIONS_PER_CHECK: usize = 256;

/// An entry of an unsettled continuation that refers to another unsettled one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reference {
    to: u32,
    from: u32,
    weight: Length,
}

/// The lengths of the shortest texts of a continuation.
#[derive(Clone, Copy, Debug)]
pub(super) struct RestLengths {
    /// The shortest text of the continuation.
    pub(super) shortest: Length,
    /// The maximum of `shortest` over all continuations that it refers to, directly or not, and itself. Infinite if one
    /// of their entries has no text.
    pub(super) longest: Length,
}

/// The lengths of continuations, as far as they have been asked for.
#[derive(Debug, Default)]
pub(super) struct ContinuationLengths {
    /// By continuation; `None` where they have not been computed.
    lengths: Vec<Option<RestLengths>>,
}

impl ContinuationLengths {
    /// The lengths of the shortest texts of a continuation.
    ///
    /// # Errors
    /// When the deadline has passed.
    pub(super) fn get(
        &mut self,
        id: ContinuationId,
        continuations: &Continuations,
        mut dots: DotReader<'_>,
        deadline: &Deadline,
    ) -> Result<RestLengths, LimitExceeded> {
        if let Some(length) = self.known(id) {
            return Ok(length);
        }
        let mut unsettled = vec![id];
        let mut positions: FxHashMap<ContinuationId, u32> = FxHashMap::from_iter([(id, 0)]);
        let mut best: Vec<Length> = Vec::new();
        // The maximum of the settled continuations to which each refers.
        let mut longest: Vec<Length> = Vec::new();
        let mut references: Vec<Reference> = Vec::new();
        while let Some(&current) = unsettled.get(best.len()) {
            if best.len().is_multiple_of(CONTINUATIONS_PER_CHECK) {
                deadline.check()?;
            }
            let content = continuations.get(current);
            let mut length = if content.core.ends { Length::ZERO } else { Length::INFINITE };
            longest.push(Length::ZERO);
            for (dot, next) in content.entries() {
                let weight = dots.get(dot).from.length;
                if weight == Length::INFINITE {
                    longest[best.len()] = Length::INFINITE;
                    continue;
                }
                if let Some(RestLengths { shortest, longest: reached }) = self.known(next) {
                    length = length.min(weight.plus(shortest));
                    longest[best.len()] = longest[best.len()].max(reached);
                    continue;
                }
                let to = *positions.entry(next).or_insert_with(|| {
                    unsettled.push(next);
                    unsettled.len() as u32 - 1
                });
                references.push(Reference { to, from: best.len() as u32, weight });
            }
            best.push(length);
        }
        references.sort_unstable();
        let mut queue: BinaryHeap<Reverse<(Length, u32)>> = BinaryHeap::new();
        queue.extend((0..).zip(&best).map(|(position, &length)| Reverse((length, position))));
        while let Some(Reverse((length, position))) = queue.pop() {
            if length == Length::INFINITE {
                break;
            }
            if length > best[position as usize] {
                continue;
            }
            let first = references.partition_point(|reference| reference.to < position);
            for reference in references[first..].iter().take_while(|reference| reference.to == position) {
                let through = length.plus(reference.weight);
                let own = &mut best[reference.from as usize];
                if through < *own {
                    *own = through;
                    queue.push(Reverse((through, reference.from)));
                }
            }
        }
        settle_longest(&best, &references, &mut longest);
        let lengths = |position: usize| RestLengths { shortest: best[position], longest: longest[position] };
        for (position, settled) in unsettled.iter().enumerate() {
            if self.lengths.len() <= settled.index() {
                self.lengths.resize(settled.index() + 1, None);
            }
            self.lengths[settled.index()] = Some(lengths(position));
        }
        Ok(lengths(0))
    }

    fn known(&self, id: ContinuationId) -> Option<RestLengths> {
        self.lengths.get(id.index()).copied().flatten()
    }

    /// Memory in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.lengths.capacity() * size_of::<Option<RestLengths>>()
    }
}

/// Raises `longest` to the maximum of `best` over all continuations that are reachable by references.
fn settle_longest(best: &[Length], references: &[Reference], longest: &mut [Length]) {
    let pairs: Vec<(u32, u32)> = references.iter().map(|reference| (reference.from, reference.to)).collect();
    let successors = AdjacencyList::from_pairs(best.len(), &pairs);
    let components = components_of(&successors);
    // Successors have lower component numbers, so one ascending pass suffices.
    let mut order: Vec<usize> = (0..best.len()).collect();
    order.sort_unstable_by_key(|&position| components.of_node[position]);
    let mut of_component = vec![Length::ZERO; components.count];
    for &position in &order {
        let component = components.of_node[position];
        let mut own = of_component[component].max(longest[position]).max(best[position]);
        for &next in successors.of(position) {
            own = own.max(of_component[components.of_node[next as usize]]);
        }
        of_component[component] = own;
    }
    for (own, component) in longest.iter_mut().zip(components.of_node) {
        *own = of_component[component];
    }
}
