//! Sets with anonymous values: see [`AnonymousValues`].
//!
//! The prefix of an anonymous value is the same after each byte, and no remembered value begins with it. When it is
//! complete, a placeholder is remembered in its place. So the sets after the tokens inside a value are those of a grammar
//! without conditions, as long as no second value begins that would have to differ from the anonymous one. A step into
//! such a value is *conditional*.
//!
//! A set stands for another if both have the same completion. The completion of a set with anonymous values is legal in
//! the other one, since completions of values are chosen by length and then by their bytes, so that a remembered
//! value changes no choice of a different value:
//!
//! - if it has no conditional step, or
//! - if the text is inside the anonymous values, and none of the values of conditional steps can begin with theirs.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{AnonymousValues, CompletionDependence, CompletionStep, EngineValueId, SetId};
use grammask_grammar::ValueKind;
use grammask_vocabulary::{TokenId, TokenTrie, Vocabulary};

use super::super::completion::CompletionContext;
use super::super::kernel::{Item, Kernel};
use super::super::set::Set;
use super::super::{Builder, Recognizer};
use super::environment::ScopeEnd;
use super::json::{ValueId, Values};
use super::{MAX_OPEN_VALUES, ValueState, value_at};

/// Memo tables.
#[derive(Debug, Default)]
pub(in super::super) struct AnonymousSets {
    /// The set in which the values that the text is inside of are anonymous; `None` if it does not apply.
    of_set: FxHashMap<SetId, Option<SetId>>,
    representatives: FxHashMap<SetId, SetId>,
    dependence: FxHashMap<SetId, CompletionDependence>,
    /// The values inside, or at the beginning, of which the text is, and that must differ from an anonymous one.
    conditional: FxHashMap<SetId, Arc<[ValueState]>>,
    /// The set in which the texts are unknown that are being bound, which began before the present token or in it.
    pub(super) unknown: FxHashMap<(SetId, bool), SetId>,
}

/// Which values become anonymous.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnonymousScope {
    /// Those that the text is inside of.
    Begun,
    /// Those too that begin next.
    All,
}

impl AnonymousSets {
    /// Estimated memory in bytes.
    pub(in super::super) fn memory_bytes(&self) -> usize {
        let ids = size_of::<(SetId, Option<SetId>)>() + 1;
        (self.of_set.capacity() + self.representatives.capacity() + self.unknown.capacity()) * ids
            + self.dependence.capacity() * (size_of::<(SetId, CompletionDependence)>() + 1)
            + self.conditional.capacity() * (size_of::<(SetId, Arc<[ValueState]>)>() + 1)
    }
}

impl AnonymousValues for Recognizer {
    fn with_anonymous_values(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
    ) -> Result<Option<SetId>, LimitExceeded> {
        let mut builder = self.lock();
        let items = builder.items(self.set(set));
        if builder.may_run_out(self, &items, vocabulary.trie().max_depth())? {
            return Ok(None);
        }
        builder.anonymous_set(self, set, AnonymousScope::All, 0)
    }

    fn representative(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<SetId, LimitExceeded> {
        let mut builder = self.lock();
        if let Some(&known) = builder.anonymous.representatives.get(&set) {
            return Ok(known);
        }
        let context = CompletionContext::new(self, vocabulary, deadline);
        let found = builder.find_representative(context, set)?.unwrap_or(set);
        builder.anonymous.representatives.insert(set, found);
        Ok(found)
    }

    fn is_conditional_step(&self, set: SetId, byte: u8) -> Result<bool, LimitExceeded> {
        let mut builder = self.lock();
        for &state in &*builder.conditional_values(self, set, 0)? {
            if builder.step_value(self, state, byte)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn completion_dependence(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<CompletionDependence, LimitExceeded> {
        self.lock().dependence(CompletionContext::new(self, vocabulary, deadline), set)
    }

    fn repeating_tokens(
        &self,
        set: SetId,
        values: &[EngineValueId],
        vocabulary: &Vocabulary,
    ) -> Result<Option<Vec<TokenId>>, LimitExceeded> {
        let mut builder = self.lock();
        let mut tokens = Vec::new();
        let values: Vec<ValueId> = values.iter().map(|value| ValueId::new(value.index())).collect();
        let are_few = builder.add_repeating_tokens(self, set, &values, vocabulary.trie(), &mut tokens)?;
        tokens.sort_unstable();
        tokens.dedup();
        Ok(are_few.then_some(tokens))
    }
}

impl Builder {
    /// The kind of the value that an item is before or inside of.
    pub(in super::super) fn value_kind(&self, recognizer: &Recognizer, item: Item) -> Option<ValueKind> {
        value_at(&recognizer.form, item.dot).map(|(_, condition)| condition.kind)
    }

    /// Whether the value of a complete text satisfies its condition.
    pub(in super::super) fn is_satisfied(
        &mut self,
        state: ValueState,
        remembered: super::ValueSetId,
        kind: ValueKind,
    ) -> bool {
        let value = self.remembered.values.finish(state.prefix);
        self.remembered.satisfies(kind, remembered, value, state.prefix)
    }

    /// The set with anonymous values; `None` if there are none, or if a value must repeat another.
    fn anonymous_set(
        &mut self,
        recognizer: &Recognizer,
        set: SetId,
        scope: AnonymousScope,
        depth: usize,
    ) -> Result<Option<SetId>, LimitExceeded> {
        if depth > MAX_OPEN_VALUES {
            return Ok(None);
        }
        if scope == AnonymousScope::Begun
            && let Some(&known) = self.anonymous.of_set.get(&set)
        {
            return Ok(known);
        }
        let mut items = match scope {
            AnonymousScope::Begun => self.items(recognizer.set(set)),
            AnonymousScope::All => self.scans(recognizer, set)?,
        };
        let mut found = false;
        let mut is_refused = false;
        for item in items.iter_mut().filter(|item| item.state.is_in_value()) {
            found = true;
            if self.must_repeat(recognizer, *item) {
                is_refused = true;
                break;
            }
            let ValueState { set: inner, .. } = self.remembered.state(item.state);
            let inner = self.anonymous_set(recognizer, inner, scope, depth + 1)?.unwrap_or(inner);
            let prefix = Values::ANONYMOUS_PREFIX;
            item.state = self.remembered.intern_state(ValueState { set: inner, prefix });
        }
        let anonymous = match found && !is_refused {
            true => {
                let ends = recognizer.set(set).data.ends();
                Some(self.intern(&recognizer.sets, &mut Kernel { ends, items })?)
            }
            false => None,
        };
        if scope == AnonymousScope::Begun {
            self.anonymous.of_set.insert(set, anonymous);
        }
        Ok(anonymous)
    }

    /// Whether a value must repeat another: that of an item, or one that can be ahead in its scope.
    fn must_repeat(&mut self, recognizer: &Recognizer, item: Item) -> bool {
        let is_repeated =
            |number: u32| recognizer.form.values()[number as usize].1.kind == ValueKind::Repeated;
        self.value_kind(recognizer, item) != Some(ValueKind::Fresh)
            || self
                .scope_ends(recognizer, item.continuation)
                .iter()
                .any(|end| end.ahead.values.iter().any(|&number| is_repeated(number)))
    }

    /// The values inside, or at the beginning, of which the text is, and that must differ from an anonymous one.
    fn conditional_values(
        &mut self,
        recognizer: &Recognizer,
        set: SetId,
        depth: usize,
    ) -> Result<Arc<[ValueState]>, LimitExceeded> {
        if let Some(known) = self.anonymous.conditional.get(&set) {
            return Ok(known.clone());
        }
        let mut values = Vec::new();
        for item in self.scans(recognizer, set)? {
            if !item.state.is_in_value() || depth > MAX_OPEN_VALUES {
                continue;
            }
            let state = self.remembered.state(item.state);
            if state.prefix != Values::ANONYMOUS_PREFIX {
                let ends = self.scope_ends(recognizer, item.continuation);
                let sets = &self.remembered.sets;
                if ends.iter().any(|end| sets.contains(end.remembered, Values::ANONYMOUS)) {
                    values.push(state);
                }
            }
            values.extend_from_slice(&self.conditional_values(recognizer, state.set, depth + 1)?);
        }
        let values: Arc<[ValueState]> = values.into();
        self.anonymous.conditional.insert(set, values.clone());
        Ok(values)
    }

    /// As [`AnonymousValues::completion_dependence`].
    fn dependence(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
    ) -> Result<CompletionDependence, LimitExceeded> {
        if let Some(known) = self.anonymous.dependence.get(&set) {
            return Ok(known.clone());
        }
        let recognizer = context.recognizer;
        let mut values: Vec<EngineValueId> = Vec::new();
        let mut is_conditional = false;
        let mut current = set;
        let mut has_end = true;
        while !recognizer.set(current).data.ends() {
            let completion = self.completion_with_values(context, current)?;
            // What follows a token is not known.
            let Some(CompletionStep::Byte(byte)) = completion.and_then(|completion| completion.first) else {
                has_end = false;
                break;
            };
            for &state in &*self.conditional_values(recognizer, current, 0)? {
                let Some(after) = self.step_value(recognizer, state, byte)? else { continue };
                is_conditional = true;
                if recognizer.set(after.set).data.ends() {
                    let value = self.remembered.values.finish(after.prefix);
                    values.push(EngineValueId::new(value.index()));
                }
            }
            let Some(next) = self.step_inside(recognizer, current, byte)? else { break };
            current = next;
        }
        let dependence = if has_end && !is_conditional {
            CompletionDependence::None
        } else if self.is_inside_anonymous_values(recognizer, set) {
            CompletionDependence::Avoids(values.into())
        } else {
            CompletionDependence::Other
        };
        self.anonymous.dependence.insert(set, dependence.clone());
        Ok(dependence)
    }

    /// The set inside an anonymous value, if all items of a set are inside it.
    pub(in super::super) fn inside_anonymous_value(&self, set: &Set) -> Option<SetId> {
        if set.data.ends() || self.remembered.starts.is_empty() {
            return None;
        }
        let items = self.items(set);
        let first = items.first().filter(|item| item.state.is_in_value())?;
        let ValueState { set, prefix } = self.remembered.state(first.state);
        let is_inside =
            prefix == Values::ANONYMOUS_PREFIX && items.iter().all(|item| item.state == first.state);
        is_inside.then_some(set)
    }

    /// Whether the text of a set is inside anonymous values, in all readings.
    fn is_inside_anonymous_values(&self, recognizer: &Recognizer, set: SetId) -> bool {
        let set = recognizer.set(set);
        let is_anonymous = |item: Item| {
            item.state.is_in_value() && self.remembered.state(item.state).prefix == Values::ANONYMOUS_PREFIX
        };
        !set.data.ends() && self.items(set).into_iter().all(is_anonymous)
    }

    /// As [`AnonymousValues::representative`]; `None` if it is the set itself.
    fn find_representative(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
    ) -> Result<Option<SetId>, LimitExceeded> {
        let recognizer = context.recognizer;
        let items = self.items(recognizer.set(set));
        if !items.iter().any(|item| item.state.is_in_value())
            || self.may_run_out(recognizer, &items, context.vocabulary.trie().max_depth())?
            || self.can_become_remembered(recognizer, set, &[])
        {
            return Ok(None);
        }
        let Some(anonymous) = self.anonymous_set(recognizer, set, AnonymousScope::Begun, 0)? else {
            return Ok(None);
        };
        let stands_for = match self.dependence(context, anonymous)? {
            CompletionDependence::None => true,
            CompletionDependence::Avoids(values) => {
                let values: Vec<ValueId> = values.iter().map(|value| ValueId::new(value.index())).collect();
                !self.can_become_remembered(recognizer, set, &values)
            }
            CompletionDependence::Other => false,
        };
        Ok(stands_for.then_some(anonymous))
    }

    /// Whether a value that the text is inside of can become a remembered one, or one of `values`.
    fn can_become_remembered(&mut self, recognizer: &Recognizer, set: SetId, values: &[ValueId]) -> bool {
        let mut stack = vec![set];
        while let Some(set) = stack.pop() {
            for item in self.items(recognizer.set(set)) {
                if !item.state.is_in_value() {
                    continue;
                }
                let state = self.remembered.state(item.state);
                let ends = self.scope_ends(recognizer, item.continuation);
                let all = &self.remembered.values;
                if values.iter().any(|&value| all.can_become(state.prefix, value))
                    || ends.iter().any(|end| self.can_repeat(state, end.remembered))
                {
                    return true;
                }
                stack.push(state.set);
            }
        }
        false
    }

    /// Adds the tokens of [`AnonymousValues::repeating_tokens`]; returns whether they are few.
    fn add_repeating_tokens(
        &mut self,
        recognizer: &Recognizer,
        set: SetId,
        values: &[ValueId],
        trie: &TokenTrie,
        tokens: &mut Vec<TokenId>,
    ) -> Result<bool, LimitExceeded> {
        let mut stack = vec![set];
        let mut visited = 0;
        while let Some(set) = stack.pop() {
            visited += 1;
            if visited > MAX_OPEN_VALUES {
                return Ok(false);
            }
            for item in self.scans(recognizer, set)? {
                if !item.state.is_in_value() {
                    continue;
                }
                let state = self.remembered.state(item.state);
                let mut candidates = values.to_vec();
                for ScopeEnd { remembered, .. } in &*self.scope_ends(recognizer, item.continuation) {
                    candidates.extend(self.remembered.sets.values(*remembered));
                }
                let Some(nodes) = self.repeatable_nodes(state.prefix, candidates, trie) else {
                    return Ok(false);
                };
                for (node, is_complete) in nodes {
                    match is_complete {
                        true => tokens.extend_from_slice(trie.subtree_tokens(node)),
                        false => tokens.extend_from_slice(trie.tokens(node)),
                    }
                }
                stack.push(state.set);
            }
        }
        Ok(true)
    }
}
