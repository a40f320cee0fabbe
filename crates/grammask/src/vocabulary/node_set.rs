//! Sets of trie nodes: a sorted list while small, a bitset beyond.
//!
//! Symbol summaries start from the nodes where something may begin and end in the nodes where it may end. Most
//! such sets are tiny; those of free text hold most of the trie.

use super::{TokenTrie, TrieNode};

/// Largest set kept as a list. A list of this size takes about as long to go through as the bitset of a
/// vocabulary of 128k tokens.
const MOST_LISTED: usize = 4096;

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
    /// More than [`MOST_LISTED`], with their number.
    Bits(Box<[u64]>, usize),
}

impl NodeSet {
    /// The set of the given nodes, in any order and with repetition. Nodes without children are left out:
    /// nothing begins below them.
    #[must_use]
    pub fn new(mut nodes: Vec<u32>, trie: &TokenTrie) -> Self {
        if nodes.len() > MOST_LISTED {
            let mut bits = vec![0_u64; trie.len().div_ceil(64)];
            for &node in &nodes {
                bits[node as usize >> 6] |= 1 << (node & 63);
            }
            return Self::from_bits(bits, trie);
        }
        nodes.retain(|&node| trie.has_children(TrieNode(node)));
        nodes.sort_unstable();
        nodes.dedup();
        Self::from_list(nodes, trie)
    }

    fn from_list(nodes: Vec<u32>, trie: &TokenTrie) -> Self {
        let mut child_bytes = [0; 4];
        for &node in &nodes {
            for child in trie.children(TrieNode(node)) {
                let byte = trie.byte(child);
                child_bytes[usize::from(byte >> 6)] |= 1 << (byte & 63);
            }
        }
        Self { nodes: Nodes::List(nodes.into()), child_bytes }
    }

    /// The set of the nodes whose bits are set, 64 nodes a word, without those that have no children.
    #[must_use]
    pub fn from_bits(mut bits: Vec<u64>, trie: &TokenTrie) -> Self {
        for (word, inner) in bits.iter_mut().zip(trie.inner_nodes()) {
            *word &= inner;
        }
        let count = bits.iter().map(|word| word.count_ones() as usize).sum();
        if count > MOST_LISTED {
            return Self { nodes: Nodes::Bits(bits.into(), count), child_bytes: [u64::MAX; 4] };
        }
        Self::from_list(ones(&bits).collect(), trie)
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.nodes {
            Nodes::List(nodes) => nodes.len(),
            Nodes::Bits(_, count) => *count,
        }
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the set is kept as a bitset, so that [`NodeSet::contains`] is one lookup.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        matches!(self.nodes, Nodes::Bits(..))
    }

    /// Whether a node is in the set.
    #[must_use]
    pub fn contains(&self, node: TrieNode) -> bool {
        match &self.nodes {
            Nodes::List(nodes) => nodes.binary_search(&node.0).is_ok(),
            Nodes::Bits(bits, _) => bits[node.index() >> 6] >> (node.0 & 63) & 1 == 1,
        }
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
            Nodes::Bits(bits, _) => (&[], bits),
        };
        list.iter().copied().chain(ones(bits)).map(TrieNode)
    }

    /// The nodes of either set.
    #[must_use]
    pub fn union(&self, other: &Self, trie: &TokenTrie) -> Self {
        match (&self.nodes, &other.nodes) {
            (Nodes::List(left), Nodes::List(right)) => {
                Self::new(left.iter().chain(right).copied().collect(), trie)
            }
            (Nodes::Bits(bits, _), Nodes::List(list)) | (Nodes::List(list), Nodes::Bits(bits, _)) => {
                let mut bits = bits.to_vec();
                for &node in list {
                    bits[node as usize >> 6] |= 1 << (node & 63);
                }
                Self::from_bits(bits, trie)
            }
            (Nodes::Bits(left, _), Nodes::Bits(right, _)) => {
                Self::from_bits(left.iter().zip(right).map(|(left, right)| left | right).collect(), trie)
            }
        }
    }

    /// The nodes of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self, trie: &TokenTrie) -> Self {
        match (&self.nodes, &other.nodes) {
            (Nodes::List(nodes), _) => {
                let kept = nodes.iter().copied().filter(|&node| !other.contains(TrieNode(node))).collect();
                Self::from_list(kept, trie)
            }
            (Nodes::Bits(bits, _), Nodes::List(list)) => {
                let mut bits = bits.to_vec();
                for &node in list {
                    bits[node as usize >> 6] &= !(1 << (node & 63));
                }
                Self::from_bits(bits, trie)
            }
            (Nodes::Bits(left, _), Nodes::Bits(right, _)) => {
                Self::from_bits(left.iter().zip(right).map(|(left, right)| left & !right).collect(), trie)
            }
        }
    }

    /// Bytes of memory that the set takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + match &self.nodes {
                Nodes::List(nodes) => size_of_val(&nodes[..]),
                Nodes::Bits(bits, _) => size_of_val(&bits[..]),
            }
    }
}

/// Positions of the bits that are set, ascending.
fn ones(bits: &[u64]) -> impl Iterator<Item = u32> + '_ {
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
    use crate::vocabulary::TokenTexts;

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
        let (a, b) = (NodeSet::new(left.to_vec(), trie), NodeSet::new(right.to_vec(), trie));
        let listed = |set: &NodeSet| set.iter().map(|node| node.0).collect::<Vec<_>>();
        assert_eq!(listed(&a), inner(left));
        assert_eq!(a.len(), inner(left).len());
        assert_eq!(listed(&a.union(&b, trie)), inner(&[left, right].concat()));
        let only_left: Vec<u32> = left.iter().copied().filter(|node| !right.contains(node)).collect();
        assert_eq!(a.difference(&b, trie), NodeSet::new(only_left.clone(), trie));
        assert_eq!(listed(&a.difference(&b, trie)), inner(&only_left));
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
