//! Interned lists of terminals, so that equality and memo lookups cost one comparison.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::masks::token_set_store::hash_map_bytes;
use grammask_collections::id_type;
use grammask_grammar::TerminalId;

id_type! {
    /// An interned list of terminals.
    TerminalListId
}

/// The lists by id, and ids by list.
#[derive(Debug, Default)]
pub(crate) struct TerminalLists {
    lists: Vec<Arc<[TerminalId]>>,
    ids: FxHashMap<Arc<[TerminalId]>, TerminalListId>,
    content_bytes: usize,
}

impl TerminalLists {
    /// The id of a list.
    pub(crate) fn id(&mut self, terminals: impl IntoIterator<Item = TerminalId>) -> TerminalListId {
        let list: Vec<TerminalId> = terminals.into_iter().collect();
        if let Some(&cached) = self.ids.get(&list[..]) {
            return cached;
        }
        let id = TerminalListId::new(self.lists.len());
        let list: Arc<[TerminalId]> = list[..].into();
        self.content_bytes += 16 + size_of_val(&list[..]);
        self.lists.push(list.clone());
        self.ids.insert(list, id);
        id
    }

    pub(crate) fn get(&self, id: TerminalListId) -> Arc<[TerminalId]> {
        self.lists[id.index()].clone()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.content_bytes
            + self.lists.capacity() * size_of::<Arc<[TerminalId]>>()
            + hash_map_bytes(&self.ids)
    }
}
