//! Masks of runs by what was looked at while they were made.
//!
//! Making a mask reads the parser's stack from the top down to some depth, and what it does is a function of what it
//! reads. So its result holds for every stack with the same states down to there, and is kept in a tree: from the
//! lexer's configuration over the states, top down, to the mask. The tree is what the regular sets of stacks, which
//! precomputing would give, amount to for the stacks that really occur.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::lexer::ConfigurationId;
use super::lr_automaton::LrState;
use super::parser::LayoutId;
use crate::vocabulary::TokenSet;

/// What a mask depends on besides the stack.
pub(crate) type MemoKey = (ConfigurationId, LayoutId, u32);

/// Position of a node of the tree.
type Node = u32;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct MaskMemo {
    roots: FxHashMap<MemoKey, Node>,
    edges: FxHashMap<(Node, LrState), Entry>,
    nodes: Node,
    distinct: FxHashSet<Arc<TokenSet>>,
    mask_bytes: usize,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
}

#[derive(Clone, Debug)]
enum Entry {
    Inner(Node),
    Mask(Arc<TokenSet>),
}

impl MaskMemo {
    /// The mask for a stack with these states from the top down, if it is known.
    pub(crate) fn get(
        &mut self,
        key: MemoKey,
        states: impl Iterator<Item = LrState>,
    ) -> Option<Arc<TokenSet>> {
        let found = self.find(key, states);
        *(if found.is_some() { &mut self.hits } else { &mut self.misses }) += 1;
        found
    }

    fn find(&self, key: MemoKey, states: impl Iterator<Item = LrState>) -> Option<Arc<TokenSet>> {
        let mut node = *self.roots.get(&key)?;
        for state in states {
            match self.edges.get(&(node, state))? {
                Entry::Inner(next) => node = *next,
                Entry::Mask(mask) => return Some(mask.clone()),
            }
        }
        None
    }

    /// Keeps the mask that was made by looking at `states` and nothing below; an equal mask is kept once.
    pub(crate) fn insert(&mut self, key: MemoKey, states: &[LrState], mask: Arc<TokenSet>) -> Arc<TokenSet> {
        let mask = match self.distinct.get(&mask) {
            Some(equal) => equal.clone(),
            None => {
                self.mask_bytes += size_of_val(mask.words());
                self.distinct.insert(mask.clone());
                mask
            }
        };
        let Some((&last, before)) = states.split_last() else { return mask };
        let nodes = &mut self.nodes;
        let mut new_node = || {
            *nodes += 1;
            *nodes
        };
        let mut node = *self.roots.entry(key).or_insert_with(&mut new_node);
        for &state in before {
            match self.edges.entry((node, state)).or_insert_with(|| Entry::Inner(new_node())) {
                Entry::Inner(next) => node = *next,
                // What a mask depends on is decided by what was read so far, so no mask stands on this way.
                Entry::Mask(known) => return known.clone(),
            }
        }
        match self.edges.entry((node, last)) {
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(Entry::Mask(mask.clone()));
            }
            std::collections::hash_map::Entry::Occupied(_) => {}
        }
        mask
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.mask_bytes + hash_bytes(&self.roots) + hash_bytes(&self.edges)
    }
}

fn hash_bytes<K, V, S>(map: &HashMap<K, V, S>) -> usize {
    map.capacity() * (size_of::<(K, V)>() + 1)
}
