//! Indices of the nodes of a trie, which follow from its arrays.

use bytemuck::{Pod, Zeroable};
use grammask_collections::byte_set::ByteSet;
use rustc_hash::FxHashMap;

use super::bit_sliced::BitSliced;
use super::token_trie::{TokenTrie, TrieNode};
use crate::column::{Column, ImageReader, ImageWriter};

/// The indices of a trie.
#[derive(Clone, Debug, Default)]
pub(super) struct TrieIndices {
    /// The number of bytes of the longest path below each node, at most 255.
    pub(super) heights: Column<u8>,
    pub(super) bytes_below: BytesBelow,
    pub(super) edges: EdgesByByte,
    pub(super) characters_of_nodes: BitSliced,
    /// By token id, up to the last token with text.
    pub(super) characters_of_tokens: BitSliced,
}

impl TrieIndices {
    /// The indices of a trie, which has none yet.
    pub(super) fn new(trie: &TokenTrie) -> Self {
        Self {
            heights: heights(trie).into(),
            bytes_below: BytesBelow::new(trie),
            edges: EdgesByByte::new(trie),
            characters_of_nodes: BitSliced::new(trie.columns().characters),
            characters_of_tokens: BitSliced::new(&characters_of_tokens(trie)),
        }
    }

    /// Adds the arrays to an image.
    pub(super) fn write(&self, image: &mut ImageWriter) {
        image.column(&self.heights);
        image.column(&self.bytes_below.set_of);
        image.column(&self.bytes_below.sets);
        image.column(&self.edges.starts);
        image.column(&self.edges.edges);
        self.characters_of_nodes.write(image);
        self.characters_of_tokens.write(image);
    }

    /// The arrays in an image, unchecked.
    pub(super) fn read(image: &mut ImageReader<'_>) -> Option<Self> {
        Some(Self {
            heights: image.column()?,
            bytes_below: BytesBelow { set_of: image.column()?, sets: image.column()? },
            edges: EdgesByByte { starts: image.column()?, edges: image.column()? },
            characters_of_nodes: BitSliced::read(image)?,
            characters_of_tokens: BitSliced::read(image)?,
        })
    }

    /// Whether arrays of any contents and lengths fit to so many nodes and ids, so that no method fails.
    pub(super) fn has_structure(&self, nodes: usize, ids: usize) -> bool {
        self.heights.len() == nodes
            && self.bytes_below.has_structure(nodes)
            && self.edges.has_structure(nodes)
            && self.characters_of_nodes.words() == BitSliced::words_for(nodes)
            && self.characters_of_tokens.words() <= BitSliced::words_for(ids)
    }

    /// Memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.heights.len()
            + size_of_val(&self.bytes_below.set_of[..])
            + size_of_val(&self.bytes_below.sets[..])
            + size_of_val(&self.edges.edges[..])
            + self.characters_of_nodes.memory_bytes()
            + self.characters_of_tokens.memory_bytes()
    }
}

fn heights(trie: &TokenTrie) -> Vec<u8> {
    let mut heights = vec![0_u8; trie.len()];
    // Children come after their parents.
    for node in (0..trie.len() as u32).rev().map(TrieNode) {
        let children = trie.children(node).map(|child| heights[child.index()].saturating_add(1));
        heights[node.index()] = children.max().unwrap_or(0);
    }
    heights
}

/// The number of characters of each token.
fn characters_of_tokens(trie: &TokenTrie) -> Vec<u16> {
    let ids = trie.sorted_ids().iter().map(|id| id.index() + 1).max().unwrap_or(0);
    let mut of_tokens = vec![0; ids];
    let columns = trie.columns();
    for (tokens, &count) in columns.token_starts.windows(2).zip(columns.characters) {
        let [start, end] = [tokens[0], tokens[1]].map(|position| position as usize);
        // Without a branch on whether the node has tokens: if not, the first of the next node that has some is
        // overwritten there.
        if let Some(id) = trie.sorted_ids().get(start) {
            of_tokens[id.index()] = count;
        }
        for id in trie.sorted_ids().get(start + 1..end).unwrap_or_default() {
            of_tokens[id.index()] = count;
        }
    }
    of_tokens
}

/// The bytes on all edges below each node, as an index into `sets`; [`NONE`](Self::NONE) for small subtrees.
#[derive(Clone, Debug, Default)]
pub(super) struct BytesBelow {
    set_of: Column<u32>,
    sets: Column<ByteSet>,
}

impl BytesBelow {
    const NONE: u32 = u32::MAX;
    /// Minimum number of nodes below a node that has a set.
    pub(super) const MIN_NODES: usize = 8;

    fn new(trie: &TokenTrie) -> Self {
        let bytes = trie.columns().bytes;
        let mut indices: FxHashMap<ByteSet, u32> = FxHashMap::default();
        let mut sets: Vec<ByteSet> = Vec::new();
        let mut set_of = vec![Self::NONE; trie.len()];
        let nodes_below = |node: TrieNode| node.index() + 1..trie.subtree_end(node).index();
        // Children come after their parents.
        for node in (0..trie.len() as u32).rev().map(TrieNode) {
            if nodes_below(node).len() < Self::MIN_NODES {
                continue;
            }
            let mut set = trie.child_bytes(node);
            for child in trie.children(node) {
                match set_of[child.index()] {
                    Self::NONE => {
                        bytes[nodes_below(child)].iter().for_each(|&byte| set.insert(byte));
                    }
                    below => set = set.union(sets[below as usize]),
                }
            }
            set_of[node.index()] = *indices.entry(set).or_insert_with(|| {
                sets.push(set);
                sets.len() as u32 - 1
            });
        }
        Self { set_of: set_of.into(), sets: sets.into() }
    }

    /// The set of a node, unless its subtree is small.
    pub(super) fn get(&self, node: TrieNode) -> Option<&ByteSet> {
        let set = self.set_of[node.index()];
        (set != Self::NONE).then(|| &self.sets[set as usize])
    }

    fn has_structure(&self, nodes: usize) -> bool {
        let is_set = |&set: &u32| set == Self::NONE || (set as usize) < self.sets.len();
        self.set_of.len() == nodes && self.set_of.iter().all(is_set)
    }
}

/// An edge of a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Edge {
    /// The node that it leaves.
    pub parent: TrieNode,
    /// The node that it enters.
    pub child: TrieNode,
}

/// All edges of the trie, grouped by byte.
#[derive(Clone, Debug, Default)]
pub(super) struct EdgesByByte {
    /// Start of the edges over each byte, followed by the number of edges.
    starts: Column<u32>,
    /// Ascending by child for each byte.
    edges: Column<Edge>,
}

impl EdgesByByte {
    /// All edges, by a counting sort.
    fn new(trie: &TokenTrie) -> Self {
        let columns = trie.columns();
        let mut starts = vec![0_u32; 257];
        for &byte in &columns.bytes[1..] {
            starts[usize::from(byte) + 1] += 1;
        }
        for byte in 0..256 {
            starts[byte + 1] += starts[byte];
        }
        let mut next = starts.clone();
        let mut edges = vec![Edge::zeroed(); columns.bytes.len() - 1];
        // By depth.
        let mut path = vec![TrieNode::ROOT; trie.max_depth() + 1];
        for (node, (&byte, &depth)) in columns.bytes.iter().zip(columns.depths).enumerate().skip(1) {
            let (child, depth) = (TrieNode(node as u32), usize::from(depth));
            path[depth] = child;
            let slot = &mut next[usize::from(byte)];
            edges[*slot as usize] = Edge { parent: path[depth - 1], child };
            *slot += 1;
        }
        Self { starts: starts.into(), edges: edges.into() }
    }

    /// The edges over a byte.
    pub(super) fn over(&self, byte: u8) -> &[Edge] {
        let starts = &self.starts[usize::from(byte)..];
        &self.edges[starts[0] as usize..starts[1] as usize]
    }

    fn has_structure(&self, nodes: usize) -> bool {
        self.starts.len() == 257
            && self.starts.is_sorted()
            && self.starts[256] as usize == self.edges.len()
            && self.edges.len() == nodes - 1
            && self.edges.iter().all(|edge| edge.parent < edge.child && edge.child.index() < nodes)
    }
}
