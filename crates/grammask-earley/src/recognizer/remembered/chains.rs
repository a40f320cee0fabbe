//! Hash-consed lists that grow at their end: equal lists have equal ids, and a longer list shares the shorter one.
//!
//! Beginnings are found in logarithmic time by the jumps of Myers, "An applicative random-access stack" (1983).

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
    links: Vec<Link>,
    ids: FxHashMap<(ChainId, u32), ChainId>,
}

/// A list, as its last item and what is before it.
#[derive(Clone, Copy, Debug)]
struct Link {
    parent: ChainId,
    /// The parent, or a shorter beginning.
    jump: ChainId,
    item: u32,
    length: u32,
}

impl Default for Chains {
    fn default() -> Self {
        let empty = Link { parent: ChainId::EMPTY, jump: ChainId::EMPTY, item: 0, length: 0 };
        Self { links: vec![empty], ids: FxHashMap::default() }
    }
}

impl Chains {
    /// The list with one more item.
    pub(super) fn push(&mut self, parent: ChainId, item: u32) -> ChainId {
        let Self { links, ids } = self;
        *ids.entry((parent, item)).or_insert_with(|| {
            let before = links[parent.index()];
            let jumped = links[before.jump.index()];
            // The next jump combines two of equal width.
            let is_pair = before.length - jumped.length == jumped.length - links[jumped.jump.index()].length;
            let jump = if is_pair { jumped.jump } else { parent };
            links.push(Link { parent, jump, item, length: before.length + 1 });
            ChainId::new(links.len() - 1)
        })
    }

    pub(super) fn len(&self, chain: ChainId) -> u32 {
        self.links[chain.index()].length
    }

    /// The first `length` items of a list that has as many.
    pub(super) fn prefix(&self, mut chain: ChainId, length: u32) -> ChainId {
        while self.len(chain) > length {
            let Link { parent, jump, .. } = self.links[chain.index()];
            chain = if self.len(jump) < length { parent } else { jump };
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
            let Link { parent, item, length, .. } = self.links[chain.index()];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_found() {
        let mut chains = Chains::default();
        let mut beginnings = vec![ChainId::EMPTY];
        for item in 0..300 {
            let longer = chains.push(beginnings[beginnings.len() - 1], item);
            assert!(
                (0_u32..).zip(&beginnings).all(|(length, &chain)| chains.prefix(longer, length) == chain)
            );
            beginnings.push(longer);
            let other = chains.push(longer, 1_000);
            assert!(beginnings.iter().all(|&beginning| chains.begins_with(other, beginning)));
            assert_eq!((chains.get(longer, item), chains.get(longer, item + 1)), (Some(item), None));
        }
        assert!(!chains.begins_with(beginnings[7], beginnings[8]));
        assert!(chains.reversed(beginnings[9]).eq((0..9).rev()));
    }
}
