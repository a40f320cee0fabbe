//! The children of trie nodes, for lookups by byte.

use bytemuck::{Pod, Zeroable};
use grammask_collections::byte_set::ByteSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::token_trie::TrieNode;
use crate::column::{Column, ImageReader, ImageWriter};

/// The children of all nodes.
///
/// Most nodes have one child or none. The set of a node with one child is a singleton, whose index is the byte, and
/// the child is the next node; so a lookup reads only the node's [`Family`].
#[derive(Clone, Debug)]
pub(super) struct ChildTable {
    /// The children of each node.
    families: Column<Family>,
    /// The distinct sets of bytes on edges to children: the 256 singletons, the empty set, then all others.
    sets: Column<ByteSet>,
    /// For each of these sets the rank of each eighth byte. Stored separately, because most loops read only the sets.
    ranks: Column<[u8; 32]>,
    /// The children of all nodes with several, grouped by node, ascending.
    nodes: Column<TrieNode>,
}

/// The children of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Family {
    /// Index into [`ChildTable::sets`]: the bytes on the edges.
    set: u32,
    /// Index of the first child in [`ChildTable::nodes`], if there are several.
    start: u32,
}

/// Index of the empty set in [`ChildTable::sets`].
const NO_CHILDREN: u32 = 256;

/// Number of set bits of each byte. The baseline x86-64 target has no instruction for it.
const POPCOUNT: [u8; 256] = {
    let mut counts = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        counts[byte] = byte.count_ones() as u8;
        byte += 1;
    }
    counts
};

impl ChildTable {
    /// The children of all nodes, from the byte of each node and the end of its subtree.
    pub(super) fn new(bytes: &[u8], subtree_ends: &[u32]) -> Self {
        let mut sets = common_sets();
        // For tokens of models, a 29th of the nodes have a set of their own, and two fifths of them have siblings.
        let mut indices: FxHashMap<ByteSet, u32> =
            FxHashMap::with_capacity_and_hasher(bytes.len() / 24, FxBuildHasher);
        let mut families = Vec::with_capacity(bytes.len());
        let mut nodes = Vec::with_capacity(bytes.len() / 2);
        for (node, &end) in subtree_ends.iter().enumerate() {
            // There are fewer edges than nodes, and fewer than 2^32 nodes.
            let start = nodes.len() as u32;
            let first = node + 1;
            let set = if first == end as usize {
                NO_CHILDREN
            } else if subtree_ends[first] == end {
                u32::from(bytes[first])
            } else {
                let mut set = ByteSet::EMPTY;
                let mut child = first;
                while child != end as usize {
                    set.insert(bytes[child]);
                    nodes.push(TrieNode(child as u32));
                    child = subtree_ends[child] as usize;
                }
                *indices.entry(set).or_insert_with(|| {
                    sets.push(set);
                    sets.len() as u32 - 1
                })
            };
            families.push(Family { set, start });
        }
        nodes.shrink_to_fit();
        Self { families: families.into(), ranks: ranks(&sets), sets: sets.into(), nodes: nodes.into() }
    }

    /// Adds the arrays to an image.
    pub(super) fn write(&self, image: &mut ImageWriter) {
        image.column(&self.families);
        image.column(&self.sets);
        image.column(&self.nodes);
    }

    /// The arrays in an image, unchecked.
    pub(super) fn read(image: &mut ImageReader<'_>) -> Option<Self> {
        let (families, sets, nodes) = (image.column()?, image.column()?, image.column()?);
        Some(Self { families, ranks: ranks(&sets), sets, nodes })
    }

    /// Whether the table has the children of these nodes, for arrays of any contents and lengths, and nodes and ends that
    /// are those of a trie.
    pub(super) fn is_of(&self, bytes: &[u8], subtree_ends: &[u32]) -> bool {
        let mut nodes = &self.nodes[..];
        let has_children = |(node, family): (usize, &Family)| {
            let end = subtree_ends[node] as usize;
            let first = node + 1;
            let is_alone = first == end || subtree_ends[first] as usize == end;
            if is_alone {
                return family.set == if first == end { NO_CHILDREN } else { u32::from(bytes[first]) };
            }
            let start = self.nodes.len() - nodes.len();
            let mut set = ByteSet::EMPTY;
            let mut child = first;
            let mut before = None;
            while child != end {
                // Ascending, as the lookup by rank requires.
                if nodes.split_off_first() != Some(&TrieNode(child as u32)) || before >= Some(bytes[child]) {
                    return false;
                }
                set.insert(bytes[child]);
                before = Some(bytes[child]);
                child = subtree_ends[child] as usize;
            }
            family.start as usize == start
                && family.set > NO_CHILDREN
                && self.sets.get(family.set as usize) == Some(&set)
        };
        self.sets.starts_with(&common_sets())
            && self.families.len() == bytes.len()
            && self.families.iter().enumerate().all(has_children)
            && nodes.is_empty()
    }

    /// The children of one node.
    #[inline]
    pub(super) fn of(&self, node: TrieNode) -> ChildrenByByte<'_> {
        let Family { set, start } = self.families[node.index()];
        ChildrenByByte { table: self, node, set, start }
    }

    /// Memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.families[..])
            + size_of_val(&self.sets[..])
            + size_of_val(&self.ranks[..])
            + size_of_val(&self.nodes[..])
    }
}

/// The sets that every table has: the 256 singletons and the empty set.
fn common_sets() -> Vec<ByteSet> {
    (0..=u8::MAX).map(ByteSet::single).chain([ByteSet::EMPTY]).collect()
}

/// For each set and each group of eight bytes, the number of members of the set below it.
fn ranks(sets: &[ByteSet]) -> Column<[u8; 32]> {
    let ranks = |set: &ByteSet| {
        let mut count = 0;
        std::array::from_fn(|eight| {
            let before = count;
            count += (set.words()[eight >> 3] >> (8 * (eight & 7)) & 0xff).count_ones();
            // At most 248.
            before as u8
        })
    };
    sets.iter().map(ranks).collect::<Vec<_>>().into()
}

/// The children of one node, for lookups by byte.
#[derive(Clone, Copy, Debug)]
pub struct ChildrenByByte<'a> {
    table: &'a ChildTable,
    node: TrieNode,
    /// The fields of the node's [`Family`].
    set: u32,
    start: u32,
}

impl<'a> ChildrenByByte<'a> {
    /// Whether there are no children.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.set == NO_CHILDREN
    }

    /// The child and its byte, if there is exactly one child.
    #[inline]
    pub fn only(self) -> Option<(u8, TrieNode)> {
        // An only child is the next node in preorder.
        Some((u8::try_from(self.set).ok()?, TrieNode(self.node.0 + 1)))
    }

    /// The child over `byte`.
    #[inline]
    pub fn get(self, byte: u8) -> Option<TrieNode> {
        if let Some((only, child)) = self.only() {
            return (only == byte).then_some(child);
        }
        let words = self.table.sets[self.set as usize].words();
        let eight = words[usize::from(byte >> 6)] >> (byte & 0b11_1000) & 0xff;
        let bit = 1_u64 << (byte & 7);
        if eight & bit == 0 {
            return None;
        }
        let before = self.table.ranks[self.set as usize][usize::from(byte >> 3)];
        let position = u32::from(before) + u32::from(POPCOUNT[(eight & (bit - 1)) as usize]);
        Some(self.table.nodes[(self.start + position) as usize])
    }

    /// The bytes on the edges to the children.
    #[inline]
    pub fn bytes(self) -> ByteSet {
        self.table.sets[self.set as usize]
    }
}
