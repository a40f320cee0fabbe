//! Short completions in grammars with values that a text must not, or must, repeat.
//!
//! The shortest completion of a set without the conditions on values is a lower bound. Usually it is legal, which
//! following it shows. Otherwise values are chosen one by one: each is the shortest text that satisfies its condition, by
//! a best-first search (Hart, Nilsson and Raphael 1968) with the lower bound as its heuristic, and what follows it is
//! chosen by its length with lengthened values (see [`super::escapes`]). A completion is followed step by step, so that
//! the completion of each set on the way is the rest.
//!
//! A completion depends on the set alone, not on the order of the calls. Of the texts of equal length a search finds the
//! smallest, so a remembered value has no effect on a choice of another one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_automata::ByteSet;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{CompletionStep, SetId, ShortestCompletion};
use grammask_grammar::ValueKind;
use grammask_vocabulary::Vocabulary;

use super::super::kernel::Item;
use super::super::remembered::{MAX_OPEN_VALUES, ValueGoal, ValueState};
use super::super::{Builder, Recognizer};
use super::ValueLengths;
use super::shortest::{FirstStep, Length, Shortest};

/// Maximum number of states inside a value that a search leaves.
const MAX_EXPANDED: usize = 1 << 10;
/// The same, in addition, for each remembered value: a search leaves all states in which they begin.
const EXPANDED_PER_VALUE: usize = 64;
/// Maximum length of a completion. Longer ones occur where choosing values one by one never ends.
pub(super) const MAX_LENGTH: usize = 1 << 16;

/// Completions, and lower bounds.
#[derive(Debug, Default)]
pub(in super::super) struct ValueCompletions {
    completions: FxHashMap<SetId, Shortest>,
    bounds: FxHashMap<SetId, Shortest>,
    /// Sets of which the completion without conditions is legal.
    legal: FxHashSet<SetId>,
    values: FxHashMap<ValueGoal, Shortest>,
}

impl ValueCompletions {
    /// Estimated memory in bytes.
    pub(in super::super) fn memory_bytes(&self) -> usize {
        let entry = size_of::<(SetId, Shortest)>() + 1;
        (self.completions.capacity() + self.bounds.capacity()) * entry
            + self.legal.capacity() * (size_of::<SetId>() + 1)
            + self.values.capacity() * (size_of::<(ValueGoal, Shortest)>() + 1)
    }
}

/// What completions depend on besides the grammar.
#[derive(Clone, Copy)]
pub(in super::super) struct CompletionContext<'a> {
    pub(in super::super) recognizer: &'a Recognizer,
    pub(in super::super) vocabulary: &'a Vocabulary,
    pub(super) deadline: &'a Deadline,
}

impl<'a> CompletionContext<'a> {
    pub(in super::super) fn new(
        recognizer: &'a Recognizer,
        vocabulary: &'a Vocabulary,
        deadline: &'a Deadline,
    ) -> Self {
        Self { recognizer, vocabulary, deadline }
    }

    /// The bytes that are tokens by themselves.
    pub(super) fn bytes(self) -> ByteSet {
        self.vocabulary.single_bytes()
    }
}

/// How a completion begins.
enum Beginning {
    /// With a step to a set.
    Step { first: FirstStep, next: SetId },
    /// With a token, after which a text of this length is taken to follow.
    Token { first: FirstStep, rest: Length },
}

/// A byte inside a value, and the state after it, in a search.
struct SearchedStep {
    byte: u8,
    /// Whether the value may end after the byte.
    is_found: bool,
    /// The state after the byte, and a lower bound of the length of the rest.
    next: Option<(ValueState, Length)>,
}

impl Builder {
    /// A short completion of a set.
    pub(in super::super) fn completion_with_values(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
    ) -> Result<Option<ShortestCompletion>, LimitExceeded> {
        let Shortest { length, first } = self.value_completion(context, set, 0)?;
        Ok(length.finite().map(|length| ShortestCompletion { length, first: Some(first.step()) }))
    }

    /// The completion of a set inside `depth` values.
    fn value_completion(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
        depth: usize,
    ) -> Result<Shortest, LimitExceeded> {
        let mut path: Vec<(SetId, FirstStep)> = Vec::new();
        let mut current = set;
        let mut length = loop {
            if context.recognizer.set(current).data.ends() {
                break Length::ZERO;
            }
            if let Some(known) = self.value_completions.completions.get(&current) {
                break known.length;
            }
            context.deadline.check()?;
            let beginning = match path.len() < MAX_LENGTH {
                true => self.begin_completion(context, current, depth)?,
                false => None,
            };
            match beginning {
                None => {
                    self.value_completions.completions.insert(current, Shortest::NONE);
                    break Length::INFINITE;
                }
                Some(Beginning::Step { first, next }) => {
                    path.push((current, first));
                    current = next;
                }
                Some(Beginning::Token { first, rest }) => {
                    path.push((current, first));
                    break rest;
                }
            }
        };
        if path.is_empty() {
            let known = self.value_completions.completions.get(&set).copied();
            return Ok(known.unwrap_or(Shortest::EMPTY));
        }
        let mut completion = Shortest::NONE;
        for (set, first) in path.into_iter().rev() {
            length = length.plus(Length::new(1));
            completion = if length == Length::INFINITE { Shortest::NONE } else { Shortest { length, first } };
            self.value_completions.completions.insert(set, completion);
        }
        Ok(completion)
    }

    /// The beginning of the completion of a set that is not complete.
    fn begin_completion(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
        depth: usize,
    ) -> Result<Option<Beginning>, LimitExceeded> {
        let bound = self.completion_bound(context, set)?;
        if bound == Shortest::NONE {
            return Ok(None);
        }
        if self.follow(context, set, bound)? {
            return self.chosen_step(context, set, bound);
        }
        let lengths = ValueLengths::Lengthened(self.added_in_set(context, set)?);
        let mut candidates = Vec::new();
        for item in self.scans(context.recognizer, set)? {
            let own = match item.state.is_in_value() {
                true => self.value_text(context, item, depth)?,
                false => self.item_completion(context, lengths, item)?,
            };
            if own != Shortest::NONE {
                let rest = self.rest_length(context, lengths, item.continuation)?;
                candidates.push(own.then(rest));
            }
        }
        candidates.sort_unstable();
        candidates.retain(|candidate| *candidate != Shortest::NONE);
        for candidate in candidates {
            if let Some(step) = self.chosen_step(context, set, candidate)? {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// The first step of a completion; `None` if it is illegal.
    fn chosen_step(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
        completion: Shortest,
    ) -> Result<Option<Beginning>, LimitExceeded> {
        let first = completion.first;
        Ok(match first.step() {
            CompletionStep::Byte(byte) => {
                let next = self.step_inside(context.recognizer, set, byte)?;
                next.map(|next| Beginning::Step { first, next })
            }
            CompletionStep::Token(_) => {
                let rest = completion
                    .length
                    .finite()
                    .map_or(Length::INFINITE, |length| Length::new(u64::from(length.saturating_sub(1))));
                Some(Beginning::Token { first, rest })
            }
        })
    }

    /// Whether the completion without conditions is legal, as far as bytes are concerned.
    fn follow(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
        bound: Shortest,
    ) -> Result<bool, LimitExceeded> {
        let mut path = vec![set];
        let (mut current, mut bound) = (set, bound);
        while let Some(left) = bound.length.finite().and_then(|length| length.checked_sub(1)) {
            if self.value_completions.legal.contains(&current) {
                break;
            }
            context.deadline.check()?;
            let CompletionStep::Byte(byte) = bound.first.step() else { break };
            let Some(next) = self.step_inside(context.recognizer, current, byte)? else { return Ok(false) };
            bound = self.completion_bound(context, next)?;
            if bound.length != Length::new(u64::from(left)) {
                return Ok(false);
            }
            current = next;
            path.push(current);
        }
        self.value_completions.legal.extend(path);
        Ok(true)
    }

    /// The shortest text with which the value of an item, before or inside of which the text is, satisfies its condition.
    fn value_text(
        &mut self,
        context: CompletionContext<'_>,
        item: Item,
        depth: usize,
    ) -> Result<Shortest, LimitExceeded> {
        if depth == MAX_OPEN_VALUES {
            return Ok(Shortest::NONE);
        }
        let Some(kind) = self.value_kind(context.recognizer, item) else { return Ok(Shortest::NONE) };
        let state = self.remembered.state(item.state);
        let mut shortest = Shortest::NONE;
        for end in &*self.scope_ends(context.recognizer, item.continuation) {
            let remembered = end.remembered;
            let text = match self.is_decided(state, remembered, kind) {
                Some(true) if !context.recognizer.set(state.set).data.ends() => {
                    self.value_completion(context, state.set, depth + 1)?
                }
                Some(true) => self.bound_of_items(context, state.set, depth + 1)?,
                Some(false) => Shortest::NONE,
                None => self.shortest_value_text(context, ValueGoal { state, remembered, kind })?,
            };
            shortest = shortest.min(text);
        }
        Ok(shortest)
    }

    /// The shortest text with which a value satisfies its condition, where it can become a remembered one.
    pub(super) fn shortest_value_text(
        &mut self,
        context: CompletionContext<'_>,
        goal: ValueGoal,
    ) -> Result<Shortest, LimitExceeded> {
        if let Some(&known) = self.value_completions.values.get(&goal) {
            return Ok(known);
        }
        let bound = self.bound_of_items(context, goal.state.set, 0)?;
        if self.follow_value(context, goal, bound)? {
            self.value_completions.values.insert(goal, bound);
            return Ok(bound);
        }
        let found = match self.smallest_value_text(context, goal, bound.length)? {
            Some(text) => {
                Shortest { length: Length::new(text.len() as u64), first: FirstStep::byte(text[0]) }
            }
            None => Shortest::NONE,
        };
        self.value_completions.values.insert(goal, found);
        Ok(found)
    }

    /// The smallest of the shortest nonempty texts with which a value satisfies its condition; `None` if there is none, or
    /// the search takes too much work. States are left in the order of the lengths of the texts through them, then of
    /// the texts.
    fn smallest_value_text(
        &mut self,
        context: CompletionContext<'_>,
        goal: ValueGoal,
        bound: Length,
    ) -> Result<Option<Vec<u8>>, LimitExceeded> {
        let max_expanded = MAX_EXPANDED + EXPANDED_PER_VALUE * self.remembered.set_len(goal.remembered);
        let mut queue = BinaryHeap::from([Reverse((bound, Vec::new(), Some(goal.state)))]);
        let mut expanded: FxHashSet<ValueState> = FxHashSet::default();
        while let Some(Reverse((_, text, state))) = queue.pop() {
            let Some(state) = state else { return Ok(Some(text)) };
            if !expanded.insert(state) {
                continue;
            }
            if expanded.len() > max_expanded {
                break;
            }
            context.deadline.check()?;
            let read = Length::new(text.len() as u64 + 1);
            for SearchedStep { byte, is_found, next } in
                self.value_steps(context, ValueGoal { state, ..goal })?
            {
                let longer = || text.iter().copied().chain([byte]).collect::<Vec<u8>>();
                if is_found {
                    queue.push(Reverse((read, longer(), None)));
                }
                if let Some((next, rest)) = next
                    && rest != Length::INFINITE
                    && !expanded.contains(&next)
                {
                    queue.push(Reverse((read.plus(rest), longer(), Some(next))));
                }
            }
        }
        Ok(None)
    }

    /// The steps of a search from a state inside a value.
    fn value_steps(
        &mut self,
        context: CompletionContext<'_>,
        ValueGoal { state, remembered, kind }: ValueGoal,
    ) -> Result<Vec<SearchedStep>, LimitExceeded> {
        let mut steps = Vec::new();
        let bytes = self.decisive_bytes(state, remembered, kind).intersection(context.bytes());
        let repeating = match kind {
            ValueKind::Fresh => self.repeating_bytes(state.prefix, remembered),
            _ => ByteSet::ALL,
        };
        let mut differing: Vec<SetId> = Vec::new();
        for byte in bytes.iter() {
            // After other bytes the value differs, so only the set decides: the first byte that leads to it suffices.
            if !repeating.contains(byte) {
                let Some(next) = self.step_inside(context.recognizer, state.set, byte)? else { continue };
                if differing.contains(&next) {
                    continue;
                }
                differing.push(next);
            }
            let Some(next) = self.step_value(context.recognizer, state, byte)? else { continue };
            let set = &context.recognizer.set(next.set).data;
            let (ends, is_final) = (set.ends(), set.is_final());
            let is_found = ends && self.is_satisfied(next, remembered, kind);
            let is_last = is_final || self.is_decided(next, remembered, kind) == Some(false);
            let next = match is_last {
                true => None,
                false => Some((next, self.bound_of_items(context, next.set, 0)?.length)),
            };
            steps.push(SearchedStep { byte, is_found, next });
        }
        Ok(steps)
    }

    /// Whether the shortest text of a value satisfies its condition.
    fn follow_value(
        &mut self,
        context: CompletionContext<'_>,
        ValueGoal { mut state, remembered, kind }: ValueGoal,
        mut bound: Shortest,
    ) -> Result<bool, LimitExceeded> {
        while bound != Shortest::NONE {
            context.deadline.check()?;
            let CompletionStep::Byte(byte) = bound.first.step() else { break };
            let Some(next) = self.step_value(context.recognizer, state, byte)? else { break };
            if bound.length == Length::new(1) {
                return Ok(self.is_satisfied(next, remembered, kind));
            }
            if let Some(decided) = self.is_decided(next, remembered, kind) {
                return Ok(decided);
            }
            state = next;
            bound = self.bound_of_items(context, state.set, 0)?;
        }
        Ok(false)
    }

    /// The shortest completion of a set as if values had no conditions: a lower bound.
    pub(super) fn completion_bound(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
    ) -> Result<Shortest, LimitExceeded> {
        match context.recognizer.set(set).data.ends() {
            true => Ok(Shortest::EMPTY),
            false => self.bound_of_items(context, set, 0),
        }
    }

    /// The shortest nonempty completion of a set as if values had no conditions.
    fn bound_of_items(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
        depth: usize,
    ) -> Result<Shortest, LimitExceeded> {
        let recognizer = context.recognizer;
        if let Some(known) = self.value_completions.bounds.get(&set) {
            return Ok(*known);
        }
        if depth > MAX_OPEN_VALUES {
            return Err(LimitExceeded::new("set_items", self.limits.set_items));
        }
        let mut bound = self.set_completion(context, ValueLengths::Shortest, set)?.shortest;
        for item in self.items(recognizer.set(set)) {
            if item.state.is_in_value() {
                let inner = self.remembered.state(item.state).set;
                let inner = self.bound_of_items(context, inner, depth + 1)?;
                let rest = self.rest_length(context, ValueLengths::Shortest, item.continuation)?;
                bound = bound.min(inner.then(rest));
            }
        }
        self.value_completions.bounds.insert(set, bound);
        Ok(bound)
    }
}
