//! The trie over all tokens with text, in flat arrays in preorder.
//!
//! A walk visits nodes in preorder and skips the subtrees that the grammar rejects. So nodes are numbered in
//! preorder: the first child of a node is the next node, and the next sibling is the end of its subtree. Tokens are
//! listed once, sorted by bytes; those at or below a node are one contiguous range of that list.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use grammask_collections::byte_set::ByteSet;

use super::bit_sliced::BitSliced;
use super::builder::TrieBuilder;
use super::children::{ChildTable, ChildrenByByte};
use super::indices::{Edge, TrieIndices};
use crate::column::{Column, ImageReader, ImageWriter};
use crate::{ByteGroups, TokenId, TokenTexts, Vocabulary, words_of};

/// A node of a [`TokenTrie`], numbered in preorder: a nonempty prefix of a token, or the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Pod, Zeroable)]
#[repr(transparent)]
pub struct TrieNode(pub u32);

impl TrieNode {
    /// The empty prefix.
    pub const ROOT: Self = Self(0);

    /// The node as an index into the arrays of the trie.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All tokens with text, as a trie over their bytes. See the documentation of the module.
///
/// ```
/// use grammask_vocabulary::{TokenId, TokenTexts, TokenTrie, TrieNode};
///
/// let texts: TokenTexts = [Some("ab"), Some("b"), Some("a")].into_iter().collect();
/// let trie = TokenTrie::new(&texts);
/// let a = trie.child(TrieNode::ROOT, b'a').unwrap();
/// assert_eq!(trie.tokens(a), [TokenId(2)]);
/// assert_eq!(trie.subtree_tokens(a), [TokenId(2), TokenId(0)]);
/// ```
#[derive(Clone, Debug)]
pub struct TokenTrie {
    pub(super) bytes: Column<u8>,
    pub(super) depths: Column<u16>,
    /// The first node in preorder that is not at or below each node.
    pub(super) subtree_ends: Column<u32>,
    /// For each node the position in `sorted_ids` of the first token at or below it, followed by the number of
    /// tokens. Tokens at a node precede those below it, so they end where those of the next node start.
    pub(super) token_starts: Column<u32>,
    pub(super) sorted_ids: Column<TokenId>,
    /// The nodes that have children, as a bitset.
    pub(super) inner_nodes: Column<u64>,
    pub(super) children: ChildTable,
    /// For each node the groups of the bytes below it, with the flag for broken UTF-8 if the node is inside a
    /// character or a byte below it belongs to no character.
    pub(super) groups_below: Column<ByteGroups>,
    pub(super) characters: CharacterIndex,
    pub(super) max_depth: u16,
    pub(super) indices: TrieIndices,
}

/// The characters in the prefixes of nodes and in tokens.
#[derive(Clone, Debug)]
pub(super) struct CharacterIndex {
    /// The nodes whose prefixes consist of whole characters, as a bitset.
    pub(super) whole: Column<u64>,
    /// Number of characters that begin in the prefix of each node: of bytes outside 0x80 to 0xBF.
    pub(super) counts: Column<u16>,
}

/// A selection of the nodes of a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichNodes {
    /// All nodes.
    All,
    /// The nodes whose prefixes consist of whole characters.
    WholeCharacters,
}

/// The arrays of a trie, with an entry per node, for loops over much of it.
#[derive(Clone, Copy, Debug)]
pub struct TrieColumns<'a> {
    /// The byte over which each node is reached.
    pub bytes: &'a [u8],
    /// Number of bytes of each node's prefix.
    pub depths: &'a [u16],
    /// The first node after each subtree.
    pub subtree_ends: &'a [u32],
    /// Start of each node's tokens in `sorted_ids`, with one additional entry for the end of the last.
    pub token_starts: &'a [u32],
    /// The groups of the bytes below each node, with the flag for broken UTF-8 if the node is inside a character or a
    /// byte below it belongs to no character.
    pub groups_below: &'a [ByteGroups],
    /// Number of characters that begin in the prefix of each node.
    pub characters: &'a [u16],
}

impl TrieColumns<'_> {
    /// The entries of the nodes before `end`, so that a loop over these needs no bounds checks. `token_starts` is as
    /// before.
    #[inline]
    #[must_use]
    pub fn up_to(self, end: usize) -> Self {
        Self {
            bytes: &self.bytes[..end],
            depths: &self.depths[..end],
            subtree_ends: &self.subtree_ends[..end],
            token_starts: self.token_starts,
            groups_below: &self.groups_below[..end],
            characters: &self.characters[..end],
        }
    }
}

impl TokenTrie {
    /// The trie over all tokens with text.
    ///
    /// Costs a sort of the tokens and passes over the nodes, about 40 ms for 200,000 tokens.
    ///
    /// # Panics
    /// When a text, the number of texts or their total length exceeds the maxima of [`Vocabulary`].
    #[must_use]
    pub fn new(texts: &TokenTexts) -> Self {
        assert!(texts.len() <= Vocabulary::MAX_SIZE && texts.text_bytes() <= Vocabulary::MAX_TEXT_BYTES);
        TrieBuilder::of_texts(texts).finish()
    }

    /// Whether all arrays but those of children equal those of another trie.
    #[cfg(test)]
    pub(crate) fn has_equal_arrays(&self, other: &Self) -> bool {
        (&self.bytes, &self.depths, &self.subtree_ends, &self.token_starts, &self.sorted_ids)
            == (&other.bytes, &other.depths, &other.subtree_ends, &other.token_starts, &other.sorted_ids)
            && (&self.inner_nodes, &self.groups_below, &self.characters.whole, &self.characters.counts)
                == (
                    &other.inner_nodes,
                    &other.groups_below,
                    &other.characters.whole,
                    &other.characters.counts,
                )
    }

    /// Adds the arrays to an image.
    pub(crate) fn write(&self, image: &mut ImageWriter) {
        image.column(&self.bytes);
        image.column(&self.depths);
        image.column(&self.subtree_ends);
        image.column(&self.token_starts);
        image.column(&self.sorted_ids);
        image.column(&self.inner_nodes);
        image.column(&self.groups_below);
        image.column(&self.characters.whole);
        image.column(&self.characters.counts);
        self.children.write(image);
        self.indices.write(image);
    }

    /// The trie in an image of a vocabulary with so many ids; `None` if its structure is wrong.
    pub(crate) fn read(image: &mut ImageReader<'_>, ids: usize) -> Option<Self> {
        let mut trie = Self {
            bytes: image.column()?,
            depths: image.column()?,
            subtree_ends: image.column()?,
            token_starts: image.column()?,
            sorted_ids: image.column()?,
            inner_nodes: image.column()?,
            groups_below: image.column()?,
            characters: CharacterIndex { whole: image.column()?, counts: image.column()? },
            children: ChildTable::read(image)?,
            max_depth: 0,
            indices: TrieIndices::read(image)?,
        };
        trie.max_depth = trie.depths.iter().copied().max()?;
        trie.has_structure(ids).then_some(trie)
    }

    /// Whether arrays of any contents and lengths are those of a tree with tokens below these ids, so that no method
    /// fails or does not end.
    fn has_structure(&self, ids: usize) -> bool {
        let nodes = self.bytes.len();
        let words = nodes.div_ceil(64);
        let lengths = [
            (self.depths.len(), nodes),
            (self.subtree_ends.len(), nodes),
            (self.token_starts.len(), nodes + 1),
            (self.inner_nodes.len(), words),
            (self.groups_below.len(), nodes),
            (self.characters.whole.len(), words),
            (self.characters.counts.len(), nodes),
        ];
        lengths.iter().all(|(length, expected)| length == expected)
            && self.token_starts.is_sorted()
            && self.token_starts.last().is_some_and(|&tokens| tokens as usize == self.sorted_ids.len())
            && self.sorted_ids.iter().all(|id| id.index() < ids)
            && is_tree(&self.depths, &self.subtree_ends)
            && self.children.is_of(&self.bytes, &self.subtree_ends)
            && self.indices.has_structure(nodes, ids)
    }

    /// Number of nodes, the root included.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is always a root")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The byte on the edge into a node; 0 for the root, which has none.
    #[inline]
    #[must_use]
    pub fn byte(&self, node: TrieNode) -> u8 {
        self.bytes[node.index()]
    }

    /// Length of the node's prefix, in bytes.
    #[inline]
    #[must_use]
    pub fn depth(&self, node: TrieNode) -> u16 {
        self.depths[node.index()]
    }

    /// The first node in preorder that is neither `node` nor below it: its next sibling, if it has one.
    #[inline]
    #[must_use]
    pub fn subtree_end(&self, node: TrieNode) -> TrieNode {
        TrieNode(self.subtree_ends[node.index()])
    }

    /// The number of nodes at and below a node.
    #[inline]
    #[must_use]
    pub fn subtree_len(&self, node: TrieNode) -> usize {
        self.subtree_end(node).index() - node.index()
    }

    /// The tokens whose text is the node's prefix, ascending.
    #[inline]
    #[must_use]
    pub fn tokens(&self, node: TrieNode) -> &[TokenId] {
        let index = node.index();
        &self.sorted_ids[self.token_starts[index] as usize..self.token_starts[index + 1] as usize]
    }

    /// The tokens at or below a node, in the order of their bytes, then of their ids.
    #[inline]
    #[must_use]
    pub fn subtree_tokens(&self, node: TrieNode) -> &[TokenId] {
        let end = self.subtree_end(node).index();
        &self.sorted_ids[self.token_starts[node.index()] as usize..self.token_starts[end] as usize]
    }

    /// The children of a node, ascending by byte.
    #[inline]
    #[must_use]
    pub fn children(&self, node: TrieNode) -> Children<'_> {
        Children { trie: self, next: TrieNode(node.0 + 1), end: self.subtree_end(node) }
    }

    /// Whether a node has children: a token of which its prefix is a proper prefix.
    #[inline]
    #[must_use]
    pub fn has_children(&self, node: TrieNode) -> bool {
        !self.children_by_byte(node).is_empty()
    }

    /// The nodes that have children, as a bitset of 64-bit words.
    #[must_use]
    pub fn inner_nodes(&self) -> &[u64] {
        &self.inner_nodes
    }

    /// The bytes on the edges to a node's children.
    #[inline]
    #[must_use]
    pub fn child_bytes(&self, node: TrieNode) -> ByteSet {
        self.children_by_byte(node).bytes()
    }

    /// The bytes on all edges below a node; `None` for subtrees that are so small that visiting their
    /// nodes is as fast.
    #[must_use]
    pub fn bytes_below(&self, node: TrieNode) -> Option<ByteSet> {
        self.indices.bytes_below.get(node).copied()
    }

    /// The number of bytes of the longest path below each node, at most 255.
    #[must_use]
    pub fn heights(&self) -> &[u8] {
        &self.indices.heights
    }

    /// Whether the node's prefix consists of whole characters of UTF-8.
    #[inline]
    #[must_use]
    pub fn is_whole(&self, node: TrieNode) -> bool {
        self.characters.whole[node.index() >> 6] >> (node.0 & 63) & 1 == 1
    }

    /// Sets the bits of the selected nodes in a range; returns the number of words that it visited.
    pub fn set_bits(&self, nodes: Range<usize>, which: WhichNodes, bits: &mut [u64]) -> usize {
        let mut count = 0;
        for (word, inside) in words_of(nodes) {
            bits[word] |= match which {
                WhichNodes::All => inside,
                WhichNodes::WholeCharacters => inside & self.characters.whole[word],
            };
            count += 1;
        }
        count
    }

    /// Number of characters that begin in the node's prefix, complete or not: of bytes outside 0x80 to 0xBF.
    #[inline]
    #[must_use]
    pub(crate) fn characters(&self, node: TrieNode) -> u16 {
        self.characters.counts[node.index()]
    }

    /// The number of characters of all nodes, as a bit-sliced index.
    #[must_use]
    pub(crate) fn characters_of_nodes(&self) -> &BitSliced {
        &self.indices.characters_of_nodes
    }

    /// The number of characters of all tokens by id, as a bit-sliced index up to the last token with text.
    #[must_use]
    pub(crate) fn characters_of_tokens(&self) -> &BitSliced {
        &self.indices.characters_of_tokens
    }

    /// The positions in [`TokenTrie::sorted_ids`] of the tokens at a range of nodes.
    #[inline]
    #[must_use]
    pub fn token_positions(&self, nodes: Range<usize>) -> Range<usize> {
        self.token_starts[nodes.start] as usize..self.token_starts[nodes.end] as usize
    }

    /// The nodes of a range whose prefixes end inside a character or are not UTF-8, ascending.
    pub fn nodes_inside_characters(&self, nodes: Range<usize>) -> impl Iterator<Item = TrieNode> {
        words_of(nodes).flat_map(move |(word, inside)| {
            let mut remaining = inside & !self.characters.whole[word];
            std::iter::from_fn(move || {
                let bit = (remaining != 0).then(|| remaining.trailing_zeros())?;
                remaining &= remaining - 1;
                // A trie has fewer than 2^32 nodes.
                Some(TrieNode((word as u32) << 6 | bit))
            })
        })
    }

    /// The selected nodes with children in a range, as 64-bit words: the node of the lowest bit of each word, and the
    /// word.
    pub(crate) fn inner_words_in(
        &self,
        range: Range<usize>,
        which: WhichNodes,
    ) -> impl Iterator<Item = (u32, u64)> {
        words_of(range).map(move |(word, inside)| {
            let whole = match which {
                WhichNodes::All => u64::MAX,
                WhichNodes::WholeCharacters => self.characters.whole[word],
            };
            // A trie has fewer than 2^32 nodes.
            ((word as u32) << 6, self.inner_nodes[word] & inside & whole)
        })
    }

    /// All edges over `byte` as (parent, child), ascending by child.
    #[must_use]
    pub fn edges_over(&self, byte: u8) -> &[Edge] {
        self.indices.edges.over(byte)
    }

    /// The arrays of the trie.
    pub fn columns(&self) -> TrieColumns<'_> {
        TrieColumns {
            bytes: &self.bytes,
            depths: &self.depths,
            subtree_ends: &self.subtree_ends,
            token_starts: &self.token_starts,
            groups_below: &self.groups_below,
            characters: &self.characters.counts,
        }
    }

    /// Length of the longest token with text.
    #[must_use]
    pub fn max_depth(&self) -> usize {
        usize::from(self.max_depth)
    }

    /// The child of a node over `byte`.
    #[inline]
    #[must_use]
    pub fn child(&self, node: TrieNode, byte: u8) -> Option<TrieNode> {
        self.children_by_byte(node).get(byte)
    }

    /// The children of a node, for lookups by byte.
    #[inline]
    pub fn children_by_byte(&self, node: TrieNode) -> ChildrenByByte<'_> {
        self.children.of(node)
    }

    /// The node of `prefix`; `None` if no token starts with it.
    #[must_use]
    pub fn find(&self, prefix: &[u8]) -> Option<TrieNode> {
        prefix.iter().try_fold(TrieNode::ROOT, |node, &byte| self.child(node, byte))
    }

    /// All tokens with text, in the order of their bytes, then of their ids.
    #[must_use]
    pub fn sorted_ids(&self) -> &[TokenId] {
        &self.sorted_ids
    }

    /// Memory of the trie, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&self.bytes[..])
            + size_of_val(&self.depths[..])
            + size_of_val(&self.subtree_ends[..])
            + size_of_val(&self.token_starts[..])
            + size_of_val(&self.sorted_ids[..])
            + size_of_val(&self.inner_nodes[..])
            + size_of_val(&self.groups_below[..])
            + size_of_val(&self.characters.whole[..])
            + size_of_val(&self.characters.counts[..])
            + self.children.memory_bytes()
            + self.indices.memory_bytes()
    }
}

/// Whether the nodes are those of a tree in preorder with these depths and ends of subtrees.
fn is_tree(depths: &[u16], subtree_ends: &[u32]) -> bool {
    // The ends of the subtrees that contain the node.
    let mut ends = Vec::new();
    let mut is_below = |(node, (&depth, &end)): (usize, (&u16, &u32))| {
        while ends.last().is_some_and(|&end| end == node) {
            ends.pop();
        }
        let (parent_end, end) = (ends.last().copied().unwrap_or(depths.len()), end as usize);
        let is_below = usize::from(depth) == ends.len() && node < end && end <= parent_end;
        ends.push(end);
        is_below
    };
    subtree_ends.first().is_some_and(|&end| end as usize == depths.len())
        && depths.iter().zip(subtree_ends).enumerate().all(&mut is_below)
}

/// Iterator over the children of a node of a [`TokenTrie`], ascending by byte.
#[derive(Clone, Debug)]
pub struct Children<'a> {
    trie: &'a TokenTrie,
    next: TrieNode,
    end: TrieNode,
}

impl Iterator for Children<'_> {
    type Item = TrieNode;

    #[inline]
    fn next(&mut self) -> Option<TrieNode> {
        if self.next == self.end {
            return None;
        }
        let child = self.next;
        self.next = self.trie.subtree_end(child);
        Some(child)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::super::indices::BytesBelow;
    use super::*;

    /// Compares every accessor with maps from prefixes to tokens, built without a trie.
    fn assert_equals_naive_maps(tokens: &[Option<Vec<u8>>]) {
        let texts: TokenTexts = tokens.iter().map(Option::as_ref).collect();
        let trie = TokenTrie::new(&texts);
        let mut at: BTreeMap<&[u8], Vec<TokenId>> = BTreeMap::new();
        for (text, id) in tokens.iter().zip(0..) {
            if let Some(text) = text.as_deref().filter(|text| !text.is_empty()) {
                at.entry(text).or_default().push(TokenId(id));
            }
        }
        let prefixes: BTreeSet<&[u8]> =
            at.keys().flat_map(|text| (0..=text.len()).map(|end| &text[..end])).chain([&[][..]]).collect();
        assert_eq!(trie.len(), prefixes.len());
        assert_eq!(trie.sorted_ids(), at.values().flatten().copied().collect::<Vec<_>>());
        // Prefixes in byte order are nodes in preorder.
        for (prefix, index) in prefixes.iter().zip(0..) {
            let node = TrieNode(index);
            assert_eq!(trie.find(prefix), Some(node));
            assert_eq!(trie.byte(node), prefix.last().copied().unwrap_or(0));
            assert_eq!(usize::from(trie.depth(node)), prefix.len());
            assert_eq!(trie.tokens(node), at.get(prefix).map_or(&[][..], Vec::as_slice));
            let below = at.iter().filter(|(text, _)| text.starts_with(prefix)).flat_map(|(_, ids)| ids);
            assert_eq!(trie.subtree_tokens(node), below.copied().collect::<Vec<_>>());
            let subtree = prefixes.iter().filter(|other| other.starts_with(prefix)).count();
            assert_eq!(trie.subtree_end(node).index(), node.index() + subtree);
            let below: BTreeSet<u8> = prefixes
                .iter()
                .filter(|other| other.starts_with(prefix))
                .flat_map(|other| other[prefix.len()..].iter().copied())
                .collect();
            assert_eq!(trie.bytes_below(node).is_some(), subtree > BytesBelow::MIN_NODES);
            if let Some(set) = trie.bytes_below(node) {
                assert_eq!(set.iter().collect::<BTreeSet<u8>>(), below);
            }
            let children: Vec<&[u8]> = prefixes
                .iter()
                .copied()
                .filter(|child| child.len() == prefix.len() + 1 && child.starts_with(prefix))
                .collect();
            assert_eq!(
                trie.children(node).map(|child| trie.byte(child)).collect::<Vec<_>>(),
                children.iter().map(|child| child[prefix.len()]).collect::<Vec<_>>()
            );
            let whole = trie.is_whole(node);
            assert_eq!(whole, std::str::from_utf8(prefix).is_ok());
            let subtree_nodes = node.index()..trie.subtree_end(node).index();
            assert!(
                trie.nodes_inside_characters(subtree_nodes.clone()).eq(subtree_nodes
                    .map(|index| TrieNode(index as u32))
                    .filter(|&node| !trie.is_whole(node)))
            );
            let begun = prefix.iter().filter(|byte| !(0x80..0xc0).contains(*byte)).count();
            assert_eq!(usize::from(trie.characters(node)), begun);
            let own = trie.token_positions(node.index()..node.index() + 1);
            assert_eq!(own.len(), trie.tokens(node).len());
            let has_begun = |sliced: &BitSliced, index: usize| {
                let count = begun as u32;
                sliced.within(count, count)[index / 64] >> (index % 64) & 1 == 1
            };
            assert!(has_begun(trie.characters_of_nodes(), node.index()));
            assert!(trie.tokens(node).iter().all(|id| has_begun(trie.characters_of_tokens(), id.index())));
            let is_broken =
                |text: &[u8]| std::str::from_utf8(text).is_err_and(|error| error.error_len().is_some());
            let below: Vec<&[u8]> = prefixes
                .iter()
                .filter(|other| other.starts_with(prefix))
                .map(|other| &other[prefix.len()..])
                .collect();
            let groups = trie.columns().groups_below[node.index()];
            let bytes: BTreeSet<u8> = below.concat().into_iter().collect();
            assert!(groups.is_within(ByteGroups::within(|byte| bytes.contains(&byte)).union(
                bytes.iter().map(|&byte| ByteGroups::of(byte)).fold(ByteGroups::default(), ByteGroups::union)
            )));
            for &byte in &bytes {
                assert!(ByteGroups::of(byte).is_within(groups));
            }
            let is_text = whole && !below.iter().any(|text| is_broken(text));
            assert_eq!(!ByteGroups::broken().is_within(groups), is_text);
            for byte in [0, b'a', b'b', 0xa4, 0xc3, 255] {
                let child = [prefix, &[byte][..]].concat();
                assert_eq!(trie.child(node, byte), trie.find(&child));
                assert_eq!(trie.find(&child).is_some(), prefixes.contains(&child[..]));
            }
        }
    }

    #[test]
    fn no_token_has_text() {
        assert_equals_naive_maps(&[]);
        assert_equals_naive_maps(&[None, Some(vec![])]);
    }

    #[test]
    fn some_tokens_are_long() {
        let long = [(b"a", 20), (b"a", 25), (b"b", 24), (b"b", 61), (b"b", 30), (b"c", 24)];
        let mut tokens: Vec<_> = long.map(|(byte, length)| Some(byte.repeat(length))).into();
        tokens.push(Some([b"b".repeat(27), b"c".repeat(4)].concat()));
        assert_equals_naive_maps(&tokens);
    }

    #[test]
    fn zero_bytes_are_not_the_end_of_a_token() {
        let tokens = ["a", "a\0", "a\0\0", "a\0\0\0\0\0\0\0", "a\0\0\0\0\0\0\0b", "\0", "a\0"];
        assert_equals_naive_maps(&tokens.map(|text| Some(text.as_bytes().to_vec())));
    }

    proptest! {
        #[test]
        fn equals_naive_maps(
            tokens in prop::collection::vec(
                prop::option::weighted(
                    0.9,
                    prop::collection::vec(prop::sample::select(&[0, b'a', b'b', 0xc3, 0xa4, 255][..]), 0..14),
                ),
                0..40,
            ),
        ) {
            assert_equals_naive_maps(&tokens);
        }
    }
}
