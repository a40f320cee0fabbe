//! Sets of trie nodes: a sorted list while small, a bitset beyond.
//!
//! Symbol summaries start from the nodes where something may begin and end in the nodes where it may end. Most
//! such sets are tiny; those of free text hold most of the trie.

use crate::{NodeSetRef, SummaryCache, TokenTrie, TrieNode, words_of};

/// Largest set kept as a list. A list of this size takes about as long to go through as the bitset of a
/// vocabulary of 128k tokens.
const MOST_LISTED: usize = 4096;

/// Of more than this part of all nodes a bitset finds the order faster than sorting.
const FEW: usize = 512;

/// A set of nodes of one [`TokenTrie`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeSet {
    nodes: Nodes,
    /// The bytes on the edges below the nodes; every byte, where the set is large.
    child_bytes: [u64; 4],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Nodes {
    /// Ascending, at most [`MOST_LISTED`].
    List(Box<[u32]>),
    /// More than [`MOST_LISTED`], 64 nodes a word.
    Bits(Box<[u64]>),
}

impl Nodes {
    /// `nodes` is ascending.
    fn from_sorted(nodes: Vec<u32>, trie: &TokenTrie) -> Self {
        if nodes.len() <= MOST_LISTED {
            return Self::List(nodes.into());
        }
        let mut bits = vec![0_u64; trie.len().div_ceil(64)];
        set_bits(&mut bits, &nodes);
        Self::Bits(bits.into())
    }

    fn from_bits(bits: Vec<u64>) -> Self {
        let mut list = Vec::new();
        for (index, &word) in bits.iter().enumerate().filter(|&(_, &word)| word != 0) {
            if list.len() + word.count_ones() as usize > MOST_LISTED {
                return Self::Bits(bits.into());
            }
            let mut rest = word;
            while rest != 0 {
                // A trie has fewer than 2^32 nodes.
                list.push((index as u32) << 6 | rest.trailing_zeros());
                rest &= rest - 1;
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

    /// The nodes of either set, and those of `more` that are new; `None`, if all of them are.
    fn grow(&self, more: &Self, trie: &TokenTrie) -> (Self, Option<Self>) {
        match (self, more) {
            (Self::List(known), Self::List(more)) => {
                let mut union = Vec::with_capacity(known.len() + more.len());
                let mut new = Vec::with_capacity(more.len());
                let mut rest = &known[..];
                for &node in &more[..] {
                    let before = rest.iter().take_while(|&&other| other < node).count();
                    union.extend_from_slice(&rest[..before]);
                    rest = &rest[before..];
                    if rest.first() == Some(&node) {
                        rest = &rest[1..];
                    } else {
                        new.push(node);
                    }
                    union.push(node);
                }
                union.extend_from_slice(rest);
                let new = (new.len() < more.len()).then(|| Self::List(new.into()));
                (Self::from_sorted(union, trie), new)
            }
            (Self::Bits(known), Self::List(more)) => {
                let new: Vec<u32> = more.iter().copied().filter(|&node| !self.contains(node)).collect();
                let mut union = known.to_vec();
                set_bits(&mut union, &new);
                (Self::Bits(union.into()), (new.len() < more.len()).then(|| Self::List(new.into())))
            }
            (Self::List(known), Self::Bits(more)) => {
                let mut union = more.to_vec();
                set_bits(&mut union, known);
                let mut new = more.to_vec();
                for &node in &known[..] {
                    new[node as usize >> 6] &= !(1 << (node & 63));
                }
                (Self::Bits(union.into()), (new[..] != more[..]).then(|| Self::from_bits(new)))
            }
            (Self::Bits(known), Self::Bits(more)) => {
                let union = known.iter().zip(&more[..]).map(|(known, more)| known | more).collect();
                let new: Vec<u64> = known.iter().zip(&more[..]).map(|(known, more)| more & !known).collect();
                (Self::Bits(union), (new[..] != more[..]).then(|| Self::from_bits(new)))
            }
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::List(nodes) if nodes.is_empty())
    }
}

impl NodeSet {
    /// The set of the given nodes, in any order and with repetition. Nodes without children are left out:
    /// nothing begins below them.
    #[must_use]
    pub fn new(mut nodes: Vec<u32>, trie: &TokenTrie) -> Self {
        if nodes.len() > trie.len() / FEW && !nodes.is_sorted() || nodes.len() > 8 * MOST_LISTED {
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

    /// The set of the nodes whose bits are set, 64 nodes a word, without those that have no children.
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
                let mut child_bytes = [0; 4];
                for &node in &nodes[..] {
                    let own = trie.child_bytes(TrieNode(node));
                    for (all, own) in child_bytes.iter_mut().zip(own) {
                        *all |= own;
                    }
                }
                child_bytes
            }
            Nodes::Bits(_) => [u64::MAX; 4],
        };
        Self { nodes, child_bytes }
    }

    /// Number of nodes. Costs a pass over a large set.
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

    /// Whether the set is kept as a bitset, so that [`NodeSet::contains`] is one lookup.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        matches!(self.nodes, Nodes::Bits(..))
    }

    /// Whether a node is in the set.
    #[must_use]
    pub fn contains(&self, node: TrieNode) -> bool {
        self.nodes.contains(node.0)
    }

    /// The bytes with which something may go on below the nodes, as a bitset; possibly some more.
    #[must_use]
    pub fn child_bytes(&self) -> &[u64; 4] {
        &self.child_bytes
    }

    /// The nodes, ascending.
    pub fn iter(&self) -> impl Iterator<Item = TrieNode> + '_ {
        let (list, bits): (&[u32], &[u64]) = match &self.nodes {
            Nodes::List(nodes) => (nodes, &[]),
            Nodes::Bits(bits) => (&[], bits),
        };
        list.iter().copied().chain(ones(bits)).map(TrieNode)
    }

    /// The nodes as bits, 64 a word.
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

    /// Sets the bits, 64 nodes a word, of the nodes of the set that are in a range.
    pub fn copy_range(&self, range: std::ops::Range<usize>, bits: &mut [u64]) {
        match &self.nodes {
            Nodes::List(nodes) => {
                let first = nodes.partition_point(|&node| (node as usize) < range.start);
                let inside = nodes[first..].iter().take_while(|&&node| (node as usize) < range.end);
                for &node in inside {
                    bits[node as usize >> 6] |= 1 << (node & 63);
                }
            }
            Nodes::Bits(own) => {
                for (word, inside) in words_of(range) {
                    bits[word] |= own[word] & inside;
                }
            }
        }
    }

    /// Bytes of memory that the set takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + match &self.nodes {
                Nodes::List(nodes) => size_of_val(&nodes[..]),
                Nodes::Bits(bits) => size_of_val(&bits[..]),
            }
    }
}

/// A set that grows, and says what is new each time. What is the same set as before is not made again.
#[derive(Clone, Debug, Default)]
pub struct GrowingNodeSet {
    parts: Parts,
}

#[derive(Clone, Debug, Default)]
enum Parts {
    #[default]
    Nothing,
    /// Only one set was added.
    One(NodeSetRef),
    Union(Nodes),
}

impl GrowingNodeSet {
    /// Adds nodes; returns those that are new, if there are any.
    pub fn add(&mut self, more: &NodeSetRef, trie: &TokenTrie, store: &SummaryCache) -> Option<NodeSetRef> {
        if more.is_empty() {
            return None;
        }
        let known = match &self.parts {
            Parts::Nothing => {
                self.parts = Parts::One(more.clone());
                return Some(more.clone());
            }
            Parts::One(one) if one == more => return None,
            Parts::One(one) => &one.nodes,
            Parts::Union(nodes) => nodes,
        };
        let (union, new) = known.grow(&more.nodes, trie);
        match new {
            None => {
                self.parts = Parts::Union(union);
                Some(more.clone())
            }
            Some(new) if new.is_empty() => None,
            Some(new) => {
                self.parts = Parts::Union(union);
                Some(store.intern(NodeSet::of(new, trie)))
            }
        }
    }

    /// Whether no nodes were added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self.parts, Parts::Nothing)
    }

    /// All nodes that were added; none if there are none.
    #[must_use]
    pub fn finish(self, trie: &TokenTrie, store: &SummaryCache) -> Option<NodeSetRef> {
        match self.parts {
            Parts::Nothing => None,
            Parts::One(one) => Some(one),
            Parts::Union(nodes) => Some(store.intern(NodeSet::of(nodes, trie))),
        }
    }
}

fn set_bits(bits: &mut [u64], nodes: &[u32]) {
    for &node in nodes {
        bits[node as usize >> 6] |= 1 << (node & 63);
    }
}

/// Positions of the bits that are set, ascending.
pub fn ones(bits: &[u64]) -> impl Iterator<Item = u32> + '_ {
    bits.iter().enumerate().flat_map(|(index, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
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

    /// A trie with more inner nodes than a list may hold.
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
        let store = SummaryCache::default();
        let (a, b) = (NodeSet::new(left.to_vec(), trie), NodeSet::new(right.to_vec(), trie));
        let listed = |set: &NodeSet| set.iter().map(|node| node.0).collect::<Vec<_>>();
        assert_eq!(listed(&a), inner(left));
        assert_eq!(a.len(), inner(left).len());
        let only_right: Vec<u32> = right.iter().copied().filter(|node| !left.contains(node)).collect();
        let mut growing = GrowingNodeSet::default();
        let _ = growing.add(&store.intern(a), trie, &store);
        let new = growing.add(&store.intern(b), trie, &store);
        assert_eq!(new.map_or(Vec::new(), |new| listed(&new)), inner(&only_right));
        let union = growing.finish(trie, &store);
        assert_eq!(union.map_or(Vec::new(), |union| listed(&union)), inner(&[left, right].concat()));
        let whole = NodeSet::new(left.to_vec(), trie);
        for range in [0..trie.len(), 0..64, 5..5, 7..8, 63..129, 100..trie.len() - 1, 4095..4097] {
            let mut bits = vec![0; trie.len().div_ceil(64)];
            whole.copy_range(range.clone(), &mut bits);
            let copied: Vec<u32> = ones(&bits).collect();
            let expected: Vec<u32> =
                inner(left).into_iter().filter(|&node| range.contains(&(node as usize))).collect();
            assert_eq!(copied, expected, "{range:?}");
        }
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
        assert!(NodeSet::new(all, &trie).len() < MOST_LISTED, "inner nodes of numbers are few");
    }

    #[test]
    fn large_sets_are_bitsets() {
        let texts: TokenTexts =
            (0..10_000_u32).map(|number| Some(format!("{number:05}x{number:05}").into_bytes())).collect();
        let trie = TokenTrie::new(&texts);
        let all: Vec<u32> = (0..trie.len() as u32).collect();
        let set = NodeSet::new(all.clone(), &trie);
        assert!(set.is_dense());
        assert_eq!(set.child_bytes(), &[u64::MAX; 4]);
        let half: Vec<u32> = all.iter().copied().filter(|node| node % 2 == 0).collect();
        check(&all, &half, &trie);
        check(&half, &[3, 1, 2], &trie);
        check(&[3, 1, 2], &half, &trie);
    }
}
