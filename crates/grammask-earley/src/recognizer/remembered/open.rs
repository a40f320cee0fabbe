//! The open values of a set, for its mask: where in a token can a remembered value be repeated?

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lowering::Symbol;
use grammask_automata::ByteSet;
use grammask_diagnostics::LimitExceeded;
use grammask_engine::SetId;
use grammask_grammar::ValueKind;
use grammask_vocabulary::{TokenTrie, TrieNode};

use super::super::kernel::{Item, ItemState};
use super::super::set::Set;
use super::super::{Builder, Recognizer, index_u32};
use super::json::{PrefixId, ValueId, Values};
use super::value_set::ValueSetId;
use super::{Remembered, ValueState, value_at};

/// Maximum number of values inside each other for which a mask is composed.
const MAX_DEPTH: usize = 8;
/// Maximum number of trie nodes along which one value is followed.
const MAX_NODES: usize = 1 << 12;

/// A value that a text is inside of, or that can begin.
#[derive(Debug)]
pub(crate) struct OpenValue {
    /// Its item.
    pub(crate) item: Item,
    /// The condition on it.
    pub(crate) kind: ValueKind,
    /// Whether the text is inside of it.
    pub(crate) is_begun: bool,
    /// The items of the set inside it.
    pub(crate) items: Vec<Item>,
    /// The open values of that set.
    pub(crate) inner: Vec<OpenValue>,
    /// What has been read of it.
    pub(crate) prefix: PrefixId,
    /// The nodes, except for the root, after which a remembered value can begin with the text of the value, and whether
    /// it is one. For an inexhaustible value only those after which it is one.
    pub(crate) repeatable: Vec<(TrieNode, bool)>,
}

/// Where the values that a text is inside of repeat a remembered one.
#[derive(Debug, Default)]
pub(crate) struct RepeatingNodes {
    /// The nodes at which they are complete.
    pub(crate) nodes: Vec<TrieNode>,
    /// What has been read of those that have begun.
    pub(crate) prefixes: Vec<PrefixId>,
}

/// An inexhaustible value that begins and is complete below the root of a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CompletedValue {
    /// The node at which it is complete.
    pub(crate) node: TrieNode,
    /// The node at which it begins.
    pub(crate) first: TrieNode,
}

/// A node at which an inexhaustible value is complete that began after the root.
#[derive(Debug)]
pub(crate) struct CompletingNode {
    pub(crate) node: TrieNode,
    /// Values among which it is. Empty if the path to the node may contain it twice, the first time also from the root on.
    values: Box<[ValueId]>,
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
        let scans = match self.begins_value(recognizer, &items)? {
            true => self.scans(recognizer, set)?,
            false => items.clone(),
        };
        let mut values = Vec::new();
        for item in scans.into_iter().filter(|item| item.state.is_in_value()) {
            let Some((number, condition)) = value_at(&recognizer.form, item.dot) else { continue };
            if depth == MAX_DEPTH {
                return Ok(None);
            }
            let state = self.remembered.state(item.state);
            let ends = self.scope_ends(recognizer, item.continuation);
            let remembered: Vec<ValueSetId> = ends.iter().map(|end| end.remembered).collect();
            let has_prefix = |&set: &ValueSetId| self.remembered.has_prefix(set, state.prefix);
            if condition.kind == ValueKind::Unprefixed && remembered.iter().any(has_prefix) {
                // It is a value in some scopes only, so what follows it depends on them.
                return Ok(None);
            }
            let repeatable = match condition.kind {
                ValueKind::Bound => Some(Vec::new()),
                _ if self.remembered.is_inexhaustible(number) => {
                    Some(self.completing_nodes(recognizer, state, &remembered, trie)?)
                }
                _ => {
                    let sets = remembered.iter();
                    let candidates = sets.flat_map(|&set| self.remembered.sets.values(set)).collect();
                    self.repeatable_nodes(state.prefix, candidates, trie)
                }
            };
            let Some(repeatable) = repeatable else { return Ok(None) };
            let inner = self.open_values(recognizer, state.set, trie, depth + 1)?;
            let Some(inner) = inner else { return Ok(None) };
            values.push(OpenValue {
                item,
                kind: condition.kind,
                is_begun: items.binary_search(&item).is_ok(),
                items: self.items(recognizer.set(state.set)),
                inner,
                prefix: state.prefix,
                repeatable,
            });
        }
        Ok(Some(values))
    }

    /// Whether a value can begin after some items of a kernel.
    fn begins_value(&self, recognizer: &Recognizer, items: &[Item]) -> Result<bool, LimitExceeded> {
        let form = &recognizer.form;
        let (left_corners, _) = self.stepper.predictor.parts();
        for item in items.iter().filter(|item| item.state == ItemState::FRESH) {
            let mut symbols = form.expanded(item.dot)?.map(|dot| form.symbol_after(dot));
            if symbols.any(|symbol| match symbol {
                Symbol::Nonterminal(id) => left_corners.begins_with_value(id.index()),
                Symbol::Terminal(_) => false,
            }) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The items of a set, each item inside a value followed by those of the set inside it, in place of its text. The
    /// state of such an item is the number of the items inside.
    pub(in super::super) fn items_without_values(&self, recognizer: &Recognizer, set: &Set) -> Vec<Item> {
        let mut items = self.items(set);
        let mut next = 0;
        while let Some(item) = items.get(next).copied() {
            next += 1;
            if item.state.is_in_value() {
                let inner = self.items(recognizer.set(self.remembered.state(item.state).set));
                items[next - 1].state = ItemState(ItemState::FIRST_VALUE + index_u32(inner.len()));
                items.splice(next..next, inner);
            }
        }
        items
    }

    /// The trie nodes below the root at which a value of the sets is complete. Amortised cost: a lookup for each value.
    fn completing_nodes(
        &mut self,
        recognizer: &Recognizer,
        ValueState { set, prefix }: ValueState,
        sets: &[ValueSetId],
        trie: &TokenTrie,
    ) -> Result<Vec<(TrieNode, bool)>, LimitExceeded> {
        let mut found = Vec::new();
        if !self.remembered.may_begin(prefix) {
            return Ok(found);
        }
        // A trie has many nodes of white space, with which few values begin.
        let mut skipped = ByteSet::EMPTY;
        if prefix == Values::EMPTY_JSON {
            for byte in *b" \t\r\n" {
                if self.step_inside(recognizer, set, byte)?.is_none() {
                    skipped.insert(byte);
                }
            }
        }
        for &set in sets {
            let Remembered { sets, values, completing, .. } = &mut self.remembered;
            for value in sets.values(set) {
                if !values.can_become(prefix, value) {
                    continue;
                }
                let nodes = completing
                    .entry((prefix, value, skipped))
                    .or_insert_with(|| nodes_completing(values, prefix, value, skipped, trie).into());
                found.extend(nodes.iter().map(|&node| (node, true)));
            }
        }
        Ok(found)
    }

    /// The nodes at which values repeat a remembered one that the text of a set is inside of, or that begin there if
    /// `begins_value`; `None` if some of them is exhaustible, or may contain others. Faster than [`Self::open_values`].
    pub(in super::super) fn repeating_nodes(
        &mut self,
        recognizer: &Recognizer,
        set: SetId,
        begins_value: bool,
        trie: &TokenTrie,
    ) -> Result<Option<RepeatingNodes>, LimitExceeded> {
        let mut found = RepeatingNodes::default();
        let items = match begins_value {
            true => self.scans(recognizer, set)?,
            false => self.items(recognizer.set(set)),
        };
        for item in items.into_iter().filter(|item| item.state.is_in_value()) {
            let Some((number, _)) = value_at(&recognizer.form, item.dot) else { return Ok(None) };
            if !self.remembered.is_inexhaustible(number) || !self.remembered.is_flat[number] {
                return Ok(None);
            }
            let state = self.remembered.state(item.state);
            let prefix = state.prefix;
            if prefix != self.remembered.start_state(index_u32(number)).prefix {
                found.prefixes.push(prefix);
            }
            if !self.remembered.may_begin(prefix) {
                continue;
            }
            let ends = self.scope_ends(recognizer, item.continuation);
            let remembered: Vec<ValueSetId> = ends.iter().map(|end| end.remembered).collect();
            let nodes = self.completing_nodes(recognizer, state, &remembered, trie)?;
            found.nodes.extend(nodes.into_iter().map(|(node, _)| node));
        }
        Ok(Some(found))
    }

    /// Nodes at which inexhaustible values are complete, with these values, of a sorted list. Memoised.
    pub(in super::super) fn values_completed_at(
        &mut self,
        completed: &[CompletedValue],
        trie: &TokenTrie,
    ) -> Arc<[CompletingNode]> {
        if let Some(known) = self.remembered.completed_at.get(completed) {
            return known.clone();
        }
        let first_prefixes = self.remembered.first_prefixes();
        let mut above: FxHashMap<TrieNode, Vec<ValueId>> = FxHashMap::default();
        let mut completing = Vec::with_capacity(completed.len());
        // Nodes are numbered in preorder, so those above others come first.
        for of_node in completed.chunk_by(|value, other| value.node == other.node) {
            let node = of_node[0].node;
            let mut path: Vec<u8> = Vec::new();
            let mut earlier: Vec<ValueId> = Vec::new();
            let mut starts: Vec<usize> = Vec::new();
            let mut at = TrieNode::ROOT;
            while at != node {
                let mut children = trie.children(at);
                let Some(child) = children.find(|&child| node < trie.subtree_end(child)) else { break };
                path.push(trie.byte(child));
                earlier.extend(above.get(&child).into_iter().flatten());
                starts.extend(of_node.iter().any(|value| value.first == child).then_some(path.len()));
                at = child;
            }
            let mut values: Vec<ValueId> = Vec::new();
            for start in starts {
                for &empty in &first_prefixes {
                    let prefix = self.remembered.values.read(empty, &path[start..]);
                    values.push(self.remembered.values.finish(prefix));
                }
            }
            values.sort_unstable();
            values.dedup();
            let is_twice = values.iter().any(|value| earlier.contains(value))
                || first_prefixes.iter().any(|&empty| self.has_value_before(empty, &path, &values));
            above.insert(node, values.clone());
            completing
                .push(CompletingNode { node, values: if is_twice { Box::default() } else { values.into() } });
        }
        let completing: Arc<[CompletingNode]> = completing.into();
        let node_bytes = size_of::<CompletingNode>() + size_of::<ValueId>();
        self.remembered.completed_at_bytes += size_of_val(completed) + completing.len() * node_bytes + 64;
        self.remembered.completed_at.insert(completed.into(), completing.clone());
        completing
    }

    /// Whether a value that begins at the root is one of these after some bytes of a path, but not after all of them.
    fn has_value_before(&mut self, empty: PrefixId, path: &[u8], found: &[ValueId]) -> bool {
        let Some((_, before)) = path.split_last() else { return false };
        let values = &mut self.remembered.values;
        let mut prefix = empty;
        before.iter().any(|&byte| {
            prefix = values.step(prefix, byte);
            found.iter().any(|&value| values.is_complete(prefix, value))
        })
    }

    /// Whether a value that is complete at a node may repeat one, in any scope, or one that is read in the same token,
    /// from the root on or after one of the prefixes `open`.
    pub(in super::super) fn may_repeat(&self, completing: &CompletingNode, open: &[PrefixId]) -> bool {
        let remembered = &self.remembered;
        let repeats = |&value: &ValueId| {
            let is_open = || open.iter().any(|&prefix| remembered.values.can_become(prefix, value));
            remembered.ever_remembered.contains(&value) || is_open()
        };
        completing.values.is_empty() || completing.values.iter().any(repeats)
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
            let children = trie.children_by_byte(node);
            let values = &mut self.remembered.values;
            let mut by_byte: BTreeMap<u8, Vec<ValueId>> = BTreeMap::new();
            for value in candidates {
                for byte in values.next_bytes(prefix, value).intersection(children.bytes()).iter() {
                    by_byte.entry(byte).or_default().push(value);
                }
            }
            for (byte, mut remaining) in by_byte {
                let Some(child) = children.get(byte) else { continue };
                let next = values.step(prefix, byte);
                remaining.retain(|&value| values.can_become(next, value));
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

/// The trie nodes below the root, except for those below its children over the bytes `skipped`, at which a value is
/// complete after a prefix.
fn nodes_completing(
    values: &mut Values,
    prefix: PrefixId,
    value: ValueId,
    skipped: ByteSet,
    trie: &TokenTrie,
) -> Vec<TrieNode> {
    let mut found = Vec::new();
    let mut stack = vec![(TrieNode::ROOT, prefix)];
    while let Some((node, prefix)) = stack.pop() {
        let children = trie.children_by_byte(node);
        let mut bytes = values.next_bytes(prefix, value).intersection(children.bytes());
        if node == TrieNode::ROOT {
            bytes = bytes.without(skipped);
        }
        for byte in bytes.iter() {
            let Some(child) = children.get(byte) else { continue };
            let next = values.step(prefix, byte);
            if values.can_become(next, value) {
                if values.is_complete(next, value) {
                    found.push(child);
                }
                stack.push((child, next));
            }
        }
    }
    found
}
