//! Sets of trie nodes: sorted lists while small, bitsets beyond that.
//!
//! The summary of a symbol starts from a node set, and the nodes where the symbol can end are another one. Most
//! node sets are tiny; those of free text hold most of the trie.

use grammask_collections::byte_set::ByteSet;

use crate::{NodeSetRef, SummaryCache, TokenTrie, TrieNode};

/// Maximum number of nodes in a list. Traversing a list of this length takes about as long as traversing the bitset
/// of a vocabulary of 128k tokens.
const MAX_LISTED: usize = 4096;

/// More than this share of all nodes, given in no order, is sorted faster by setting bits than by comparisons.
const SORTED_SHARE: usize = 512;

/// A set of nodes of one [`TokenTrie`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeSet {
    nodes: Nodes,
    /// A superset of the bytes on the edges below the nodes: all bytes for a bitset.
    child_bytes: ByteSet,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Nodes {
    /// Ascending, at most [`MAX_LISTED`].
    List(Box<[u32]>),
    /// More than [`MAX_LISTED`], as 64-bit words.
    Bits(Box<[u64]>),
}

impl Nodes {
    /// `nodes` is ascending.
    fn from_sorted(nodes: Vec<u32>, trie: &TokenTrie) -> Self {
        if nodes.len() <= MAX_LISTED {
            return Self::List(nodes.into());
        }
        let mut bits = vec![0_u64; trie.len().div_ceil(64)];
        set_bits(&mut bits, &nodes);
        Self::Bits(bits.into())
    }

    fn from_bits(bits: Vec<u64>) -> Self {
        let mut list = Vec::new();
        for (index, &word) in bits.iter().enumerate().filter(|&(_, &word)| word != 0) {
            if list.len() + word.count_ones() as usize > MAX_LISTED {
                return Self::Bits(bits.into());
            }
            let mut bits = word;
            while bits != 0 {
                // A trie has fewer than 2^32 nodes.
                list.push((index as u32) << 6 | bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        Self::List(list.into())
    }

    fn contains(&self, node: u32) -> bool {
        match self {
            Self::List(nodes) => nodes.binary_search(&node).is_ok(),
            Self::Bits(bits) => bits[node as usize >> 6] >> (node & 63) & 1 == 1,
        }
    }

    /// The union of both sets, and the nodes of `more` that are not in `self`; `None` if that is all of `more`.
    fn grow(&self, more: &Self, trie: &TokenTrie) -> (Self, Option<Self>) {
        match (self, more) {
            (Self::List(own), Self::List(more)) => {
                let mut union = Vec::with_capacity(own.len() + more.len());
                let mut new = Vec::with_capacity(more.len());
                let mut remaining = &own[..];
                for &node in &more[..] {
                    let before = remaining.iter().take_while(|&&other| other < node).count();
                    union.extend_from_slice(&remaining[..before]);
                    remaining = &remaining[before..];
                    if remaining.first() == Some(&node) {
                        remaining = &remaining[1..];
                    } else {
                        new.push(node);
                    }
                    union.push(node);
                }
                union.extend_from_slice(remaining);
                let new = (new.len() < more.len()).then(|| Self::List(new.into()));
                (Self::from_sorted(union, trie), new)
            }
            (Self::Bits(own), Self::List(more)) => {
                let new: Vec<u32> = more.iter().copied().filter(|&node| !self.contains(node)).collect();
                let mut union = own.to_vec();
                set_bits(&mut union, &new);
                (Self::Bits(union.into()), (new.len() < more.len()).then(|| Self::List(new.into())))
            }
            (Self::List(own), Self::Bits(more)) => {
                let mut union = more.to_vec();
                set_bits(&mut union, own);
                let mut new = more.to_vec();
                for &node in &own[..] {
                    new[node as usize >> 6] &= !(1 << (node & 63));
                }
                (Self::Bits(union.into()), (new[..] != more[..]).then(|| Self::from_bits(new)))
            }
            (Self::Bits(own), Self::Bits(more)) => {
                let union = own.iter().zip(&more[..]).map(|(own, more)| own | more).collect();
                let new: Vec<u64> = own.iter().zip(&more[..]).map(|(own, more)| more & !own).collect();
                (Self::Bits(union), (new[..] != more[..]).then(|| Self::from_bits(new)))
            }
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::List(nodes) if nodes.is_empty())
    }
}

impl NodeSet {
    /// The set of the given nodes, in any order and with repetition, without those that have no children: no
    /// token continues below them.
    #[must_use]
    pub fn new(mut nodes: Vec<u32>, trie: &TokenTrie) -> Self {
        if nodes.len() > trie.len() / SORTED_SHARE && !nodes.is_sorted() || nodes.len() > 8 * MAX_LISTED {
            let mut bits = vec![0_u64; trie.len().div_ceil(64)];
            set_bits(&mut bits, &nodes);
            return Self::from_bits(bits, trie);
        }
        nodes.retain(|&node| trie.has_children(TrieNode(node)));
        if !nodes.is_sorted() {
            nodes.sort_unstable();
        }
        nodes.dedup();
        Self::of(Nodes::from_sorted(nodes, trie), trie)
    }

    /// The set of the nodes whose bits are set, without those that have no children.
    #[must_use]
    pub fn from_bits(mut bits: Vec<u64>, trie: &TokenTrie) -> Self {
        for (word, inner) in bits.iter_mut().zip(trie.inner_nodes()) {
            *word &= inner;
        }
        Self::of(Nodes::from_bits(bits), trie)
    }

    fn of(nodes: Nodes, trie: &TokenTrie) -> Self {
        let child_bytes = match &nodes {
            Nodes::List(nodes) => {
                nodes.iter().fold(ByteSet::EMPTY, |all, &node| all.union(trie.child_bytes(TrieNode(node))))
            }
            Nodes::Bits(_) => ByteSet::ALL,
        };
        Self { nodes, child_bytes }
    }

    /// Number of nodes. Costs a pass over a bitset.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.nodes {
            Nodes::List(nodes) => nodes.len(),
            Nodes::Bits(bits) => bits.iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether the set is a bitset, so that [`NodeSet::contains`] is one lookup.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        matches!(self.nodes, Nodes::Bits(..))
    }

    /// Whether a node is in the set.
    #[must_use]
    pub fn contains(&self, node: TrieNode) -> bool {
        self.nodes.contains(node.0)
    }

    /// A superset of the bytes on the edges below the nodes.
    #[must_use]
    pub fn child_bytes(&self) -> ByteSet {
        self.child_bytes
    }

    /// The nodes, ascending.
    pub fn iter(&self) -> impl Iterator<Item = TrieNode> + '_ {
        let (list, bits): (&[u32], &[u64]) = match &self.nodes {
            Nodes::List(nodes) => (nodes, &[]),
            Nodes::Bits(bits) => (&[], bits),
        };
        list.iter().copied().chain(ones(bits)).map(TrieNode)
    }

    /// The nodes as a bitset of 64-bit words.
    pub fn to_bits(&self, trie: &TokenTrie) -> Vec<u64> {
        match &self.nodes {
            Nodes::List(nodes) => {
                let mut bits = vec![0; trie.len().div_ceil(64)];
                set_bits(&mut bits, nodes);
                bits
            }
            Nodes::Bits(bits) => bits.to_vec(),
        }
    }

    /// Memory of the set, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + match &self.nodes {
                Nodes::List(nodes) => size_of_val(&nodes[..]),
                Nodes::Bits(bits) => size_of_val(&bits[..]),
            }
    }
}

/// A node set under construction, as in a semi-naive fixpoint: each addition returns the nodes that are new.
///
/// It keeps the handle of a single added set, so that nothing is computed or interned for it.
#[derive(Clone, Debug, Default)]
pub struct GrowingNodeSet {
    state: GrowthState,
}

#[derive(Clone, Debug, Default)]
enum GrowthState {
    #[default]
    Empty,
    /// One set was added.
    One(NodeSetRef),
    Union(Nodes),
}

impl GrowingNodeSet {
    /// Adds nodes and returns the new ones among them; `None` if there are none.
    pub fn add(&mut self, more: &NodeSetRef, trie: &TokenTrie, cache: &SummaryCache) -> Option<NodeSetRef> {
        if more.is_empty() {
            return None;
        }
        let own = match &self.state {
            GrowthState::Empty => {
                self.state = GrowthState::One(more.clone());
                return Some(more.clone());
            }
            GrowthState::One(one) if one == more => return None,
            GrowthState::One(one) => &one.nodes,
            GrowthState::Union(nodes) => nodes,
        };
        let (union, new) = own.grow(&more.nodes, trie);
        match new {
            None => {
                self.state = GrowthState::Union(union);
                Some(more.clone())
            }
            Some(new) if new.is_empty() => None,
            Some(new) => {
                self.state = GrowthState::Union(union);
                Some(cache.intern(NodeSet::of(new, trie)))
            }
        }
    }

    /// Whether no set was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self.state, GrowthState::Empty)
    }

    /// The union of all added sets; `None` if no set was added.
    #[must_use]
    pub fn finish(self, trie: &TokenTrie, cache: &SummaryCache) -> Option<NodeSetRef> {
        match self.state {
            GrowthState::Empty => None,
            GrowthState::One(one) => Some(one),
            GrowthState::Union(nodes) => Some(cache.intern(NodeSet::of(nodes, trie))),
        }
    }
}

fn set_bits(bits: &mut [u64], nodes: &[u32]) {
    for &node in nodes {
        bits[node as usize >> 6] |= 1 << (node & 63);
    }
}

/// Positions of the set bits, ascending.
pub fn ones(bits: &[u64]) -> impl Iterator<Item = u32> + '_ {
    bits.iter().enumerate().flat_map(|(index, &word)| {
        let mut bits = word;
        std::iter::from_fn(move || {
            (bits != 0).then(|| {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                // A trie has fewer than 2^32 nodes.
                (index as u32) << 6 | bit
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenTexts;

    /// A trie with more nodes than a list may hold.
    fn large_trie() -> TokenTrie {
        let texts: TokenTexts =
            (0..20_000_u32).map(|number| Some(format!("{number:05}").into_bytes())).collect();
        TokenTrie::new(&texts)
    }

    fn check(left: &[u32], right: &[u32], trie: &TokenTrie) {
        let inner = |nodes: &[u32]| {
            let mut nodes: Vec<u32> =
                nodes.iter().copied().filter(|&node| trie.has_children(TrieNode(node))).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes
        };
        let cache = SummaryCache::default();
        let (a, b) = (NodeSet::new(left.to_vec(), trie), NodeSet::new(right.to_vec(), trie));
        let listed = |set: &NodeSet| set.iter().map(|node| node.0).collect::<Vec<_>>();
        assert_eq!(listed(&a), inner(left));
        assert_eq!(a.len(), inner(left).len());
        let only_right: Vec<u32> = right.iter().copied().filter(|node| !left.contains(node)).collect();
        let mut growing = GrowingNodeSet::default();
        let _ = growing.add(&cache.intern(a), trie, &cache);
        let new = growing.add(&cache.intern(b), trie, &cache);
        assert_eq!(new.map_or(Vec::new(), |new| listed(&new)), inner(&only_right));
        let union = growing.finish(trie, &cache);
        assert_eq!(union.map_or(Vec::new(), |union| listed(&union)), inner(&[left, right].concat()));
    }

    #[test]
    fn lists_and_bitsets_are_sets() {
        let trie = large_trie();
        let all: Vec<u32> = (0..trie.len() as u32).collect();
        let some: Vec<u32> = all.iter().copied().filter(|node| node % 3 == 0).collect();
        let few: Vec<u32> = all.iter().copied().filter(|node| node % 97 == 5).rev().collect();
        for left in [&all, &some, &few, &Vec::new()] {
            for right in [&all, &some, &few, &Vec::new()] {
                check(left, right, &trie);
            }
        }
        assert!(NodeSet::new(all, &trie).len() < MAX_LISTED, "inner nodes of numbers are few");
    }

    #[test]
    fn large_sets_are_bitsets() {
        let texts: TokenTexts =
            (0..10_000_u32).map(|number| Some(format!("{number:05}x{number:05}").into_bytes())).collect();
        let trie = TokenTrie::new(&texts);
        let all: Vec<u32> = (0..trie.len() as u32).collect();
        let set = NodeSet::new(all.clone(), &trie);
        assert!(set.is_dense());
        assert_eq!(set.child_bytes(), ByteSet::ALL);
        let half: Vec<u32> = all.iter().copied().filter(|node| node % 2 == 0).collect();
        check(&all, &half, &trie);
        check(&half, &[3, 1, 2], &trie);
        check(&[3, 1, 2], &half, &trie);
    }
}
