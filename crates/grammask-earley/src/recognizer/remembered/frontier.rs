//! A search through the texts of values: breadth first and depth first in turns.
//!
//! Breadth first, so that loops do not divert it, and depth first, because there may be too many prefixes of long
//! values.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use grammask_engine::SetId;

use super::ValueState;
use super::json::Prefix;

/// The states that a search has found.
#[derive(Clone, Debug, Default)]
pub(super) struct Frontier {
    /// The states in order of discovery. Those that the other search has expanded are skipped.
    queue: VecDeque<ValueState>,
    /// States that the depth-first search has discovered.
    stack: Vec<ValueState>,
    discovered: FxHashSet<(SetId, Prefix)>,
    expanded: FxHashSet<ValueState>,
    is_depth_first: bool,
}

impl Frontier {
    pub(super) fn new(start: ValueState) -> Self {
        Self { queue: VecDeque::from([start]), ..Self::default() }
    }

    /// The next state to expand; the searches alternate.
    pub(super) fn next(&mut self) -> Option<ValueState> {
        self.is_depth_first = !self.is_depth_first;
        loop {
            let next = if self.is_depth_first { self.stack.pop() } else { None };
            let next = next.or_else(|| self.queue.pop_front())?;
            if self.expanded.insert(next) {
                return Some(next);
            }
        }
    }

    /// Adds a state after the one that `next` returned, and whether it is new; `key` identifies it.
    pub(super) fn discover(&mut self, state: ValueState, key: (SetId, Prefix)) -> bool {
        let is_new = self.discovered.insert(key);
        if is_new {
            self.queue.push_back(state);
            if self.is_depth_first {
                self.stack.push(state);
            }
        }
        is_new
    }

    /// Number of states that were discovered.
    pub(super) fn len(&self) -> usize {
        self.discovered.len()
    }

    /// Whether nothing is left to expand.
    pub(super) fn is_exhausted(&self) -> bool {
        self.queue.is_empty()
    }

    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.discovered.capacity() * 32
            + (self.queue.capacity() + self.stack.capacity()) * 8
            + self.expanded.capacity() * 9
    }
}
