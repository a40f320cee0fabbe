//! Lists of terminals by number, so that equal ones are compared, and what is known about them is found, at once.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::masks::token_set_store::hash_map_bytes;
use grammask_collections::id_type;
use grammask_grammar::TerminalId;

id_type! {
    /// A list of terminals.
    TerminalListId
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct TerminalLists {
    lists: Vec<Arc<[TerminalId]>>,
    ids: FxHashMap<Arc<[TerminalId]>, TerminalListId>,
    content_bytes: usize,
}

impl TerminalLists {
    /// The number of a list.
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
