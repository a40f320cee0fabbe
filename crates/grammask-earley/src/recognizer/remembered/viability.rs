//! Whether enough different values are left for what must follow an item.
//!
//! Only symbols with finitely many values run out of them. In grammars with such fresh values, items that need more of
//! them than are left are dropped from each new set, whether a value has begun or not: after `[true,false`, an array of
//! different booleans has no comma.

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_diagnostics::LimitExceeded;
use grammask_grammar::NonterminalId;

use crate::lowering::RightHandSide;

use super::super::continuation::ContinuationId;
use super::super::kernel::{Item, Kernel};
use super::super::{Builder, Recognizer};
use super::Environment;
use super::scopes::Ahead;
use super::value_set::ValueSetId;

/// Maximum number of positions that are visited to find out that no scope runs out of values.
const MAX_POSITIONS: usize = 256;

/// A continuation, and the values ahead before it in the innermost scope.
type Position = (ContinuationId, Ahead);

/// Results of searches.
#[derive(Debug, Default)]
pub(super) struct ViabilityMemo(FxHashMap<Position, bool>);

impl ViabilityMemo {
    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.0.capacity() * (size_of::<(Position, bool)>() + 17)
    }
}

impl Builder {
    /// Whether some fresh value of the grammar may run out of values.
    #[inline]
    pub(in super::super) fn has_scarce_values(&self) -> bool {
        self.remembered.has_scarce_values
    }

    /// Drops the items that need more values than are left.
    pub(in super::super) fn retain_viable(
        &mut self,
        recognizer: &Recognizer,
        kernel: &mut Kernel,
    ) -> Result<(), LimitExceeded> {
        let items = std::mem::take(&mut kernel.items);
        for item in items {
            let ahead = self.remembered.scopes.ahead(&recognizer.form, item.dot);
            if self.is_viable(recognizer, (item.continuation, ahead))? {
                kernel.items.push(item);
            }
        }
        Ok(())
    }

    /// Whether some way from a position to the end of the text needs no more values than are left. Amortised cost:
    /// bounded by the positions up to the end of the innermost scope, since what follows was looked up before.
    fn is_viable(&mut self, recognizer: &Recognizer, from: Position) -> Result<bool, LimitExceeded> {
        let mut visited = FxHashSet::from_iter([from.clone()]);
        let mut stack = vec![from.clone()];
        let mut found = false;
        while let Some(position) = stack.pop() {
            match self.remembered.viability.0.get(&position) {
                Some(true) => found = true,
                Some(false) => continue,
                None => found = self.continuations.get(position.0).core.ends,
            }
            if found {
                break;
            }
            for next in self.next_positions(recognizer, &position)?.into_iter().flatten() {
                if !visited.contains(&next) {
                    visited.insert(next.clone());
                    stack.push(next);
                }
            }
        }
        self.remembered.viability.0.insert(from, found);
        Ok(found)
    }

    /// The positions after the symbols that follow a position; `None` in place of a scope with too few values.
    fn next_positions(
        &mut self,
        recognizer: &Recognizer,
        (continuation, before): &Position,
    ) -> Result<Vec<Option<Position>>, LimitExceeded> {
        let form = &recognizer.form;
        let entries: Vec<_> = self.continuations.get(*continuation).entries().collect();
        let mut positions = Vec::with_capacity(entries.len());
        for (dot, next) in entries {
            positions.push(if form.is_scope_end(dot) {
                let Environment { set, after_scope } = self.remembered.environments.get(next);
                let has_enough = self.has_enough_values(recognizer, before, set)?;
                has_enough.then(|| (after_scope, Ahead::default()))
            } else {
                Some((next, before.then(&self.remembered.scopes.ahead(form, dot))))
            });
        }
        Ok(positions)
    }

    /// The names of the rules whose scopes need more different values than there are.
    pub(in super::super) fn scopes_without_end(
        &mut self,
        recognizer: &Recognizer,
    ) -> Result<Vec<String>, LimitExceeded> {
        let form = &recognizer.form;
        let mut names = Vec::new();
        if !self.has_scarce_values() {
            return Ok(names);
        }
        for index in 0..form.nonterminal_count() {
            for production in form.productions_of(NonterminalId::new(index)) {
                let RightHandSide::Scope(symbol) = production.rhs else { continue };
                let ahead = self.remembered.scopes.of_symbol(symbol);
                if !self.has_enough_values(recognizer, &ahead, ValueSetId::EMPTY)? {
                    names.push(form.names[index].split('.').next().unwrap_or_default().to_owned());
                }
            }
        }
        Ok(names)
    }

    /// Whether some scope that a token of at most `reach` bytes can read may run out of values.
    pub(super) fn may_run_out(
        &mut self,
        recognizer: &Recognizer,
        items: &[Item],
        reach: usize,
    ) -> Result<bool, LimitExceeded> {
        if !self.has_scarce_values() {
            return Ok(false);
        }
        let form = &recognizer.form;
        let scopes = &self.remembered.scopes;
        let mut stack: Vec<Position> =
            items.iter().map(|item| (item.continuation, scopes.ahead(form, item.dot))).collect();
        let mut visited: FxHashSet<Position> = stack.iter().cloned().collect();
        while let Some(position) = stack.pop() {
            let (continuation, before) = &position;
            let entries: Vec<_> = self.continuations.get(*continuation).entries().collect();
            for (dot, next) in entries {
                let next = if form.is_scope_end(dot) {
                    let Environment { set, after_scope } = self.remembered.environments.get(next);
                    if self.is_scarce(recognizer, before, set, reach)? {
                        return Ok(true);
                    }
                    (after_scope, Ahead::default())
                } else {
                    (next, before.then(&self.remembered.scopes.ahead(form, dot)))
                };
                if visited.insert(next.clone()) {
                    if visited.len() > MAX_POSITIONS {
                        return Ok(true);
                    }
                    stack.push(next);
                }
            }
        }
        Ok(false)
    }
}
