//! Shortest completions in grammars with values that a text must not, or must, repeat.
//!
//! The shortest completion of a set without the conditions on values is a lower bound. Usually it is legal, which
//! following it shows. Otherwise an A* search (Hart, Nilsson and Raphael 1968) over sets, with the lower bound as its
//! heuristic, finds the length. The lengths are exact, so they do not depend on the order of the calls.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_automata::ByteSet;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{CompletionStep, SetId, ShortestCompletion};
use grammask_vocabulary::Vocabulary;

use super::super::remembered::MAX_OPEN_VALUES;
use super::super::{Builder, Recognizer};
use super::shortest::{Length, Shortest};
use super::spelled_bytes;

/// Lengths of shortest completions, and lower bounds.
#[derive(Debug, Default)]
pub(super) struct ExactLengths {
    exact: FxHashMap<SetId, Length>,
    bounds: FxHashMap<SetId, Shortest>,
    /// Sets of which the completion without conditions is legal.
    legal: FxHashSet<SetId>,
}

impl ExactLengths {
    /// Estimated memory in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.exact.capacity() * (size_of::<(SetId, Length)>() + 1)
            + self.legal.capacity() * (size_of::<SetId>() + 1)
            + self.bounds.capacity() * (size_of::<(SetId, Shortest)>() + 1)
    }
}

/// The parameters of a search.
#[derive(Clone, Copy)]
struct LengthSearch<'a> {
    recognizer: &'a Recognizer,
    vocabulary: &'a Vocabulary,
    deadline: &'a Deadline,
    /// The bytes that are tokens by themselves.
    bytes: ByteSet,
}

impl Builder {
    /// The shortest completion of a set that is not complete.
    pub(super) fn completion_with_values(
        &mut self,
        recognizer: &Recognizer,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<ShortestCompletion>, LimitExceeded> {
        let search = LengthSearch { recognizer, vocabulary, deadline, bytes: spelled_bytes(vocabulary) };
        let bound = self.completion_bound(search, set)?;
        if self.follow(search, set, bound)? {
            let completion = |length| ShortestCompletion { length, first: Some(bound.first.step()) };
            return Ok(bound.length.finite().map(completion));
        }
        let Some(length) = self.exact_length(search, set)?.finite() else { return Ok(None) };
        for byte in search.bytes.iter() {
            let Some(next) = self.step_inside(recognizer, set, byte)? else { continue };
            // Searches for longer completions are not needed.
            let bound = self.completion_bound(search, next)?.length;
            if bound < Length::new(u64::from(length))
                && self.exact_length(search, next)? == Length::new(u64::from(length) - 1)
            {
                return Ok(Some(ShortestCompletion { length, first: Some(CompletionStep::Byte(byte)) }));
            }
        }
        Ok(None)
    }

    /// Whether the completion without conditions is legal. If so, the lengths of the sets on the way are remembered.
    fn follow(
        &mut self,
        search: LengthSearch<'_>,
        set: SetId,
        bound: Shortest,
    ) -> Result<bool, LimitExceeded> {
        let Some(length) = bound.length.finite() else { return Ok(true) };
        let mut path = vec![set];
        let (mut current, mut bound) = (set, bound);
        for left in (0..length).rev() {
            if self.completions.as_ref().is_some_and(|memo| memo.exact.legal.contains(&current)) {
                break;
            }
            search.deadline.check()?;
            let CompletionStep::Byte(byte) = bound.first.step() else {
                return Ok(false);
            };
            let Some(next) = self.step_inside(search.recognizer, current, byte)? else { return Ok(false) };
            bound = self.completion_bound(search, next)?;
            if bound.length != Length::new(u64::from(left)) {
                return Ok(false);
            }
            current = next;
            path.push(current);
        }
        let lengths = (0..=length).rev().map(|left| Length::new(u64::from(left)));
        if let Some(completions) = &mut self.completions {
            completions.exact.legal.extend(&path);
            completions.exact.exact.extend(path.into_iter().zip(lengths));
        }
        Ok(true)
    }

    /// The length of the shortest completion of a set.
    fn exact_length(&mut self, search: LengthSearch<'_>, set: SetId) -> Result<Length, LimitExceeded> {
        if let Some(known) = self.known_length(set) {
            return Ok(known);
        }
        let bound = self.completion_bound(search, set)?;
        if self.follow(search, set, bound)? {
            return Ok(bound.length);
        }
        let mut best: FxHashMap<SetId, (Length, SetId)> = FxHashMap::from_iter([(set, (Length::ZERO, set))]);
        let mut queue = BinaryHeap::from([Reverse((bound.length, Length::ZERO, set))]);
        let mut found = Length::INFINITE;
        while let Some(Reverse((total, read, current))) = queue.pop() {
            search.deadline.check()?;
            if search.recognizer.names_tokens || best.len() > self.limits.set_items {
                return Err(LimitExceeded::new("set_items", self.limits.set_items));
            }
            if best[&current].0 < read {
                continue;
            }
            if search.recognizer.set(current).data.ends() || self.known_length(current).is_some() {
                found = total;
                break;
            }
            for byte in search.bytes.iter() {
                let Some(next) = self.step_inside(search.recognizer, current, byte)? else { continue };
                let known = self.known_length(next);
                let rest = match known {
                    Some(known) => known,
                    None => self.completion_bound(search, next)?.length,
                };
                let read = read.plus(Length::new(1));
                let is_better = best.get(&next).is_none_or(|&(other, _)| read < other);
                if rest != Length::INFINITE && is_better {
                    best.insert(next, (read, current));
                    queue.push(Reverse((read.plus(rest), read, next)));
                }
            }
        }
        if let Some(completions) = &mut self.completions {
            completions.exact.exact.insert(set, found);
        }
        Ok(found)
    }

    fn known_length(&self, set: SetId) -> Option<Length> {
        self.completions.as_ref()?.exact.exact.get(&set).copied()
    }

    /// The shortest completion of a set as if values had no conditions: a lower bound.
    fn completion_bound(&mut self, search: LengthSearch<'_>, set: SetId) -> Result<Shortest, LimitExceeded> {
        match search.recognizer.set(set).data.ends() {
            true => Ok(Shortest::EMPTY),
            false => self.bound_of_items(search, set, 0),
        }
    }

    /// The shortest nonempty completion of a set as if values had no conditions.
    fn bound_of_items(
        &mut self,
        search: LengthSearch<'_>,
        set: SetId,
        depth: usize,
    ) -> Result<Shortest, LimitExceeded> {
        let LengthSearch { recognizer, vocabulary, deadline, .. } = search;
        if let Some(known) = self.completions.as_ref().and_then(|memo| memo.exact.bounds.get(&set)) {
            return Ok(*known);
        }
        if depth > MAX_OPEN_VALUES {
            return Err(LimitExceeded::new("set_items", self.limits.set_items));
        }
        let mut bound = self.set_completion(recognizer, set, vocabulary, deadline)?.shortest;
        for item in self.items(recognizer.set(set)) {
            if item.state.is_in_value() {
                let inner = self.remembered.state(item.state).set;
                let inner = self.bound_of_items(search, inner, depth + 1)?;
                let rest = self.rest_length(recognizer, item.continuation, vocabulary, deadline)?;
                bound = bound.min(inner.then(rest));
            }
        }
        if let Some(completions) = &mut self.completions {
            completions.exact.bounds.insert(set, bound);
        }
        Ok(bound)
    }
}
