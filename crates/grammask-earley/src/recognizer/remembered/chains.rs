//! Hash-consed lists that grow at their end: equal lists have equal ids, and a longer list shares the shorter one.

use rustc_hash::FxHashMap;

use grammask_collections::id_type;

id_type! {
    /// An interned list.
    ChainId
}

impl ChainId {
    /// The empty list.
    pub(super) const EMPTY: Self = Self(0);
}

/// All lists.
#[derive(Debug)]
pub(super) struct Chains {
    /// The parent, the last item and the length of each list.
    links: Vec<Link>,
    ids: FxHashMap<(ChainId, u32), ChainId>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    parent: ChainId,
    item: u32,
    length: u32,
}

impl Default for Chains {
    fn default() -> Self {
        let empty = Link { parent: ChainId::EMPTY, item: 0, length: 0 };
        Self { links: vec![empty], ids: FxHashMap::default() }
    }
}

impl Chains {
    /// The list with one more item.
    pub(super) fn push(&mut self, parent: ChainId, item: u32) -> ChainId {
        let Self { links, ids } = self;
        *ids.entry((parent, item)).or_insert_with(|| {
            let length = links[parent.index()].length + 1;
            links.push(Link { parent, item, length });
            ChainId::new(links.len() - 1)
        })
    }

    pub(super) fn len(&self, chain: ChainId) -> u32 {
        self.links[chain.index()].length
    }

    /// The first `length` items of a list that has as many.
    pub(super) fn prefix(&self, mut chain: ChainId, length: u32) -> ChainId {
        while self.len(chain) > length {
            chain = self.links[chain.index()].parent;
        }
        chain
    }

    /// Whether `prefix` is the beginning of `chain`.
    pub(super) fn begins_with(&self, chain: ChainId, prefix: ChainId) -> bool {
        self.len(prefix) <= self.len(chain) && self.prefix(chain, self.len(prefix)) == prefix
    }

    /// The item at a position of a list.
    pub(super) fn get(&self, chain: ChainId, position: u32) -> Option<u32> {
        (position < self.len(chain)).then(|| self.links[self.prefix(chain, position + 1).index()].item)
    }

    /// The items, last one first.
    pub(super) fn reversed(&self, mut chain: ChainId) -> impl Iterator<Item = u32> {
        std::iter::from_fn(move || {
            let Link { parent, item, length } = self.links[chain.index()];
            chain = parent;
            (length > 0).then_some(item)
        })
    }

    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.links.capacity() * size_of::<Link>()
            + self.ids.capacity() * (size_of::<((ChainId, u32), ChainId)>() + 1)
    }
}
