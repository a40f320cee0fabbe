//! The open values of a set, for its mask: where in a token can a remembered value be repeated?

use grammask_diagnostics::LimitExceeded;
use grammask_engine::SetId;
use grammask_grammar::ValueKind;
use grammask_vocabulary::{TokenTrie, TrieNode};

use super::super::kernel::{Item, ItemState};
use super::super::set::Set;
use super::super::{Builder, Recognizer, index_u32};
use super::json::{PrefixId, ValueId};
use super::value_at;

/// Maximum number of values inside each other for which a mask is composed.
const MAX_DEPTH: usize = 8;
/// Maximum number of trie nodes along which one value is followed.
const MAX_NODES: usize = 1 << 12;

/// A value that a text is inside of, or that can begin.
#[derive(Debug)]
pub(crate) struct OpenValue {
    /// Its item.
    pub(crate) item: Item,
    /// Whether it must differ from the remembered ones, or be one.
    pub(crate) kind: ValueKind,
    /// Whether the text is inside of it.
    pub(crate) is_begun: bool,
    /// The items of the set inside it.
    pub(crate) items: Vec<Item>,
    /// The open values of that set.
    pub(crate) inner: Vec<OpenValue>,
    /// The nodes, except for the root, after which a remembered value can begin with the text of the value, and whether
    /// it is one.
    pub(crate) repeatable: Vec<(TrieNode, bool)>,
}

impl Builder {
    /// The open values of a set, innermost ones inside outer ones; `None` if there are too many.
    pub(in super::super) fn open_values(
        &mut self,
        recognizer: &Recognizer,
        set: SetId,
        trie: &TokenTrie,
        depth: usize,
    ) -> Result<Option<Vec<OpenValue>>, LimitExceeded> {
        let items = self.items(recognizer.set(set));
        // The scopes around a value are followed from the outer set.
        if self.may_run_out(recognizer, &items, trie.max_depth())? {
            return Ok(None);
        }
        let scans = self.scans(recognizer, set)?;
        let mut values = Vec::new();
        for item in scans.into_iter().filter(|item| item.state.is_in_value()) {
            let Some((_, condition)) = value_at(&recognizer.form, item.dot) else { continue };
            if depth == MAX_DEPTH {
                return Ok(None);
            }
            let state = self.remembered.state(item.state);
            let ends = self.scope_ends(recognizer, item.continuation);
            let remembered =
                ends.iter().flat_map(|end| self.remembered.sets.values(end.remembered)).collect();
            let Some(repeatable) = self.repeatable_nodes(state.prefix, remembered, trie) else {
                return Ok(None);
            };
            let inner = self.open_values(recognizer, state.set, trie, depth + 1)?;
            let Some(inner) = inner else { return Ok(None) };
            values.push(OpenValue {
                item,
                kind: condition.kind,
                is_begun: items.binary_search(&item).is_ok(),
                items: self.items(recognizer.set(state.set)),
                inner,
                repeatable,
            });
        }
        // The tokens inside a repeated value that begins are those inside a fresh one of the same symbol.
        let symbol = |value: &OpenValue| recognizer.form.symbol_after(value.item.dot);
        let begins = |value: &&OpenValue, kind| !value.is_begun && value.kind == kind;
        let is_covered = |value: &OpenValue| {
            let mut fresh = values.iter().filter(|other| begins(other, ValueKind::Fresh));
            fresh.any(|other| symbol(other) == symbol(value))
        };
        let are_covered = values.iter().filter(|value| begins(value, ValueKind::Repeated)).all(is_covered);
        Ok(are_covered.then_some(values))
    }

    /// The items of a set, each item inside a value followed by those of the set inside it, in place of its text; `None`
    /// if no item is inside a value. The state of such an item is the number of the items inside.
    pub(in super::super) fn items_without_values(
        &self,
        recognizer: &Recognizer,
        set: &Set,
    ) -> Option<Vec<Item>> {
        if recognizer.form.values().is_empty() {
            return None;
        }
        let mut items = self.items(set);
        let mut next = 0;
        let mut found = false;
        while let Some(item) = items.get(next).copied() {
            next += 1;
            if item.state.is_in_value() {
                found = true;
                let inner = self.items(recognizer.set(self.remembered.state(item.state).set));
                items[next - 1].state = ItemState(ItemState::FIRST_VALUE + index_u32(inner.len()));
                items.splice(next..next, inner);
            }
        }
        found.then_some(items)
    }

    /// The trie nodes below the root after which one of the candidates can begin with the text of a value, and whether it
    /// is one; `None` if they are too many.
    pub(super) fn repeatable_nodes(
        &mut self,
        prefix: PrefixId,
        mut candidates: Vec<ValueId>,
        trie: &TokenTrie,
    ) -> Option<Vec<(TrieNode, bool)>> {
        let mut found = Vec::new();
        candidates.retain(|&value| self.remembered.values.can_become(prefix, value));
        let mut stack = vec![(TrieNode::ROOT, prefix, candidates)];
        while let Some((node, prefix, candidates)) = stack.pop() {
            if candidates.is_empty() {
                continue;
            }
            if found.len() > MAX_NODES {
                return None;
            }
            for child in trie.children(node) {
                let values = &mut self.remembered.values;
                let next = values.step(prefix, trie.byte(child));
                let can_become = |&value: &_| values.can_become(next, value);
                let remaining: Vec<_> = candidates.iter().copied().filter(can_become).collect();
                if !remaining.is_empty() {
                    let is_complete = remaining.iter().any(|&value| values.is_complete(next, value));
                    found.push((child, is_complete));
                    stack.push((child, next, remaining));
                }
            }
        }
        Some(found)
    }
}
