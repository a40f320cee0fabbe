//! The open values of a set, for its mask: where in a token can a remembered value be repeated?

use grammask_diagnostics::LimitExceeded;
use grammask_engine::SetId;
use grammask_grammar::ValueKind;
use grammask_vocabulary::{TokenTrie, TrieNode};

use super::super::kernel::Item;
use super::super::{Builder, Recognizer};
use super::environment::ScopeEnd;
use super::json::PrefixId;
use super::value_at;
use super::value_set::ValueSetId;

/// Maximum number of values inside each other for which a mask is composed.
const MAX_DEPTH: usize = 8;
/// Maximum number of trie nodes along which one value is followed.
const MAX_NODES: usize = 1 << 12;

/// A value that a text is inside of, or that can begin.
#[derive(Debug)]
pub(crate) struct OpenValue {
    /// Its item.
    pub(crate) item: Item,
    /// Whether the text is inside of it.
    pub(crate) is_begun: bool,
    /// The items of the set inside it.
    pub(crate) items: Vec<Item>,
    /// The open values of that set.
    pub(crate) inner: Vec<OpenValue>,
    /// The nodes, except for the root, after which a remembered value can begin with the text of the value.
    pub(crate) repeatable: Vec<TrieNode>,
    /// Whether the symbols of the values ahead may run out of values.
    pub(crate) is_scarce: bool,
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
        if depth == 0 && self.may_run_out(recognizer, &items, trie.max_depth())? {
            return Ok(None);
        }
        let scans = self.scans(recognizer, set)?;
        let mut values = Vec::new();
        for item in scans.into_iter().filter(|item| item.state.is_in_value()) {
            let Some((number, condition)) = value_at(&recognizer.form, item.dot) else { continue };
            if condition.kind == ValueKind::Repeated || depth == MAX_DEPTH {
                return Ok(None);
            }
            let state = self.remembered.state(item.state);
            let (mut remembered, mut is_scarce) = (Vec::new(), false);
            for ScopeEnd { remembered: set, ahead } in &*self.scope_ends(recognizer, item.continuation) {
                remembered.push(*set);
                let ahead = self.remembered.scopes.value(number as u32).then(ahead);
                is_scarce = is_scarce || self.is_scarce(recognizer, &ahead, *set, trie.max_depth())?;
            }
            let Some(repeatable) = self.repeatable_nodes(state.prefix, &remembered, trie) else {
                return Ok(None);
            };
            let inner = self.open_values(recognizer, state.set, trie, depth + 1)?;
            let Some(inner) = inner else { return Ok(None) };
            values.push(OpenValue {
                item,
                is_begun: items.binary_search(&item).is_ok(),
                items: self.items(recognizer.set(state.set)),
                inner,
                repeatable,
                is_scarce,
            });
        }
        Ok(Some(values))
    }

    /// The trie nodes below the root after which a value of the sets can begin with the text of a value; `None` if they
    /// are too many.
    fn repeatable_nodes(
        &mut self,
        prefix: PrefixId,
        sets: &[ValueSetId],
        trie: &TokenTrie,
    ) -> Option<Vec<TrieNode>> {
        let mut found = Vec::new();
        let mut candidates: Vec<_> = Vec::new();
        for &set in sets {
            let values = &self.remembered.values;
            let repeated = self.remembered.sets.values(set);
            candidates.extend(repeated.filter(|&value| values.can_become(prefix, value)));
        }
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
                    found.push(child);
                    stack.push((child, next, remaining));
                }
            }
        }
        Some(found)
    }
}
