//! Environments: the remembered values at the end of a scope.
//!
//! The last entry of a continuation inside a scope is the end of the scope, with the continuation after the scope.
//! Where values are remembered, that continuation is replaced by a *wrapper*: another id with the same content, by
//! which the table of environments has the values. After a value, the entries between it and the ends of its scope are
//! rewritten; there is a bounded number of them, because rules with values recur at their ends only.
//!
//! Values are remembered as long as a value is ahead: a scope without further values has the same continuations
//! whatever it read.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_diagnostics::LimitExceeded;
use grammask_engine::SetId;
use grammask_grammar::ValueKind;

use super::super::continuation::{Content, ContinuationId, Continuations, InternContinuations};
use super::super::{Builder, Recognizer};
use super::json::PrefixId;
use super::scopes::Ahead;
use super::value_set::ValueSetId;
use super::{Environment, Remembered};

/// The environments of wrappers.
#[derive(Debug, Default)]
pub(super) struct Environments {
    of_wrapper: FxHashMap<ContinuationId, Environment>,
    wrappers: FxHashMap<Environment, ContinuationId>,
    /// The ends of scopes that continuations lead to.
    ends: FxHashMap<ContinuationId, Arc<[ScopeEnd]>>,
    /// For each continuation the length of the longest named value in the environments that it leads to.
    longest_named: FxHashMap<ContinuationId, usize>,
}

impl Environments {
    /// The environment at the end of a scope, by the continuation there.
    pub(super) fn get(&self, continuation: ContinuationId) -> Environment {
        let none = Environment { set: ValueSetId::EMPTY, after_scope: continuation };
        self.of_wrapper.get(&continuation).copied().unwrap_or(none)
    }

    /// The continuation at the end of a scope for an environment.
    fn wrap(&mut self, environment: Environment, continuations: &mut Continuations) -> ContinuationId {
        if environment.set == ValueSetId::EMPTY {
            return environment.after_scope;
        }
        let Self { of_wrapper, wrappers, .. } = self;
        *wrappers.entry(environment).or_insert_with(|| {
            let wrapper = continuations.duplicate(environment.after_scope);
            of_wrapper.insert(wrapper, environment);
            wrapper
        })
    }

    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let entry = size_of::<(ContinuationId, Environment)>() + 1;
        (self.of_wrapper.capacity() + self.wrappers.capacity()) * entry
            + self.ends.capacity() * 96
            + self.longest_named.capacity() * (size_of::<(ContinuationId, usize)>() + 1)
    }
}

/// An end of a scope: the remembered values, and the values ahead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct ScopeEnd {
    pub(in super::super) remembered: ValueSetId,
    pub(super) ahead: Ahead,
}

/// A continuation on the way to the ends of scopes, and the values ahead before it.
type Position = (ContinuationId, Ahead);

impl Builder {
    /// The ends of scopes that a continuation inside a scope leads to, each with the values ahead on a way there.
    pub(in super::super) fn scope_ends(
        &mut self,
        recognizer: &Recognizer,
        continuation: ContinuationId,
    ) -> Arc<[ScopeEnd]> {
        let Self { remembered, continuations, .. } = self;
        let environments = &mut remembered.environments;
        if let Some(ends) = environments.ends.get(&continuation) {
            return ends.clone();
        }
        let form = &recognizer.form;
        let mut ends: Vec<ScopeEnd> = Vec::new();
        let mut known: FxHashSet<ScopeEnd> = FxHashSet::default();
        let first: Position = (continuation, Ahead::default());
        let mut visited = FxHashSet::from_iter([first.clone()]);
        let mut stack = vec![first];
        while let Some((current, before)) = stack.pop() {
            for (dot, next) in continuations.get(current).entries() {
                if form.is_scope_end(dot) {
                    let end = ScopeEnd { remembered: environments.get(next).set, ahead: before.clone() };
                    if known.insert(end.clone()) {
                        ends.push(end);
                    }
                } else {
                    let position = (next, before.then(&remembered.scopes.ahead(form, dot)));
                    if visited.insert(position.clone()) {
                        stack.push(position);
                    }
                }
            }
        }
        let ends: Arc<[ScopeEnd]> = ends.into();
        environments.ends.insert(continuation, ends.clone());
        ends
    }

    /// The length in bytes of the longest value with a name that a set refers to: a remembered one, of all scopes around its
    /// items, or the beginning of one that the text is inside of.
    pub(in super::super) fn longest_named_value(&mut self, recognizer: &Recognizer, set: SetId) -> usize {
        if !self.remembered.scopes.has_names() {
            return 0;
        }
        let mut longest = 0;
        for item in self.items(recognizer.set(set)) {
            if item.state.is_in_value() {
                let prefix = self.remembered.state(item.state).prefix;
                longest = longest.max(self.remembered.values.named_length(prefix));
            }
            longest = longest.max(self.longest_named_after(recognizer, item.continuation));
        }
        longest
    }

    /// The length of the longest named value in the environments that a continuation leads to. Memoised.
    fn longest_named_after(&mut self, recognizer: &Recognizer, continuation: ContinuationId) -> usize {
        let Self { remembered: Remembered { environments, sets, values, .. }, continuations, .. } = self;
        let mut longest = 0;
        let mut visited = FxHashSet::from_iter([continuation]);
        let mut stack = vec![continuation];
        while let Some(current) = stack.pop() {
            if let Some(&known) = environments.longest_named.get(&current) {
                longest = longest.max(known);
                continue;
            }
            for (dot, next) in continuations.get(current).entries() {
                if recognizer.form.is_scope_end(dot) {
                    let remembered = sets.values(environments.get(next).set);
                    let lengths = remembered.map(|value| values.named_length_of_value(value));
                    longest = longest.max(lengths.max().unwrap_or(0));
                }
                if visited.insert(next) {
                    stack.push(next);
                }
            }
        }
        environments.longest_named.insert(continuation, longest);
        longest
    }

    /// The continuation after a complete value, given its text, where `continuation` is that of its item; `None` if the
    /// value does not satisfy the condition, or nothing can follow it.
    pub(super) fn after_value(
        &mut self,
        recognizer: &Recognizer,
        continuation: ContinuationId,
        text: PrefixId,
        kind: ValueKind,
    ) -> Result<Option<ContinuationId>, LimitExceeded> {
        let form = &recognizer.form;
        let mut results: FxHashMap<Position, Option<ContinuationId>> = FxHashMap::default();
        let mut stack: Vec<Position> = vec![(continuation, Ahead::default())];
        let mut last = None;
        while let Some((current, before)) = stack.last().cloned() {
            let entries: Vec<_> = self.continuations.get(current).entries().collect();
            let mut content = Content::default();
            let mut missing = false;
            for (dot, next) in entries {
                let after = if form.is_scope_end(dot) {
                    self.at_scope_end(recognizer, next, &before, text, kind)?
                } else {
                    let ahead = before.then(&self.remembered.scopes.ahead(form, dot));
                    match results.get(&(next, ahead.clone())) {
                        Some(&after) => after,
                        None => {
                            stack.push((next, ahead));
                            missing = true;
                            None
                        }
                    }
                };
                content.entries.extend(after.map(|after| (dot, after)));
            }
            if missing {
                continue;
            }
            content.normalize();
            last = (!content.entries.is_empty()).then(|| self.continuations.intern(&content));
            results.insert((current, before), last);
            stack.pop();
        }
        Ok(last)
    }

    /// The continuation at the end of a scope after a value.
    fn at_scope_end(
        &mut self,
        recognizer: &Recognizer,
        at_end: ContinuationId,
        ahead: &Ahead,
        text: PrefixId,
        kind: ValueKind,
    ) -> Result<Option<ContinuationId>, LimitExceeded> {
        let Self { remembered, .. } = self;
        let Environment { mut set, after_scope } = remembered.environments.get(at_end);
        let value = remembered.values.finish(text);
        if !remembered.satisfies(kind, set, value, text) {
            return Ok(None);
        }
        if ahead.values.is_empty() {
            return Ok(Some(after_scope));
        }
        set = remembered.remember(kind, set, value);
        if remembered.scopes.has_names() {
            set = remembered.referred(&recognizer.form, set, &ahead.values);
        }
        if !self.has_enough_values(recognizer, ahead, set)? {
            return Ok(None);
        }
        let environment = Environment { set, after_scope };
        Ok(Some(self.remembered.environments.wrap(environment, &mut self.continuations)))
    }
}
