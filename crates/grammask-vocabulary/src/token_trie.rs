//! The trie over all tokens with text, in flat arrays in preorder.
//!
//! A walk over the tokens that a grammar allows visits nodes in preorder and jumps over what is refused, so
//! the first child of a node is the next node, and the next sibling is the end of its subtree. Tokens are
//! listed once, sorted by bytes; those at or below a node are one contiguous range of that list.
//!
//! Building sorts the tokens by their first eight bytes as one integer, by the rest only where these are
//! equal, and makes the nodes in one pass over the longest common prefixes of neighbours.

use std::ops::Range;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::bit_sliced::BitSliced;
use super::{ByteGroups, Character, TokenId, TokenTexts, Vocabulary, words_of};

/// A node of a [`TokenTrie`], numbered in preorder: a nonempty prefix of a token, or the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrieNode(pub u32);

impl TrieNode {
    /// The empty prefix.
    pub const ROOT: Self = Self(0);

    /// The node as a position in the arrays of the trie.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All tokens with text, as a trie over their bytes. See the [module documentation](super).
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
    bytes: Vec<u8>,
    depths: Vec<u16>,
    /// The first node in preorder that is not at or below each node.
    subtree_ends: Vec<u32>,
    /// For each node the position in `sorted_ids` of the first token at or below it, and after the last node
    /// the number of tokens. Tokens at a node come before those below it, so they end where the next node's start.
    token_starts: Vec<u32>,
    sorted_ids: Vec<TokenId>,
    /// The nodes that have children, as a bitset.
    inner_nodes: Vec<u64>,
    /// What is below each node.
    families: Vec<Family>,
    /// Different sets of bytes; the first 256 are those of one byte, then comes the empty one.
    child_sets: Vec<[u64; 4]>,
    /// For each of these how many of its bytes are below each eight: apart, as most loops go through the sets alone.
    child_ranks: Vec<[u8; 32]>,
    /// The children of all nodes, those of one node together and ascending.
    children: Vec<TrieNode>,
    edges: EdgesByByte,
    /// For each node the bytes below it, roughly; broken where the node is inside a character or something below it
    /// belongs to none.
    groups_below: Vec<ByteGroups>,
    /// The nodes whose prefixes are whole characters, as a bitset.
    whole_characters: Vec<u64>,
    /// How many characters begin on the way to each node: bytes but those from 0x80 to 0xBF.
    characters: Vec<u16>,
    /// The same bit by bit, and for each token.
    characters_of_nodes: BitSliced,
    characters_of_tokens: BitSliced,
    max_depth: u16,
    bytes_below: OnceLock<BytesBelow>,
    long_paths: Box<[LongPath]>,
}

/// A node with long tokens at it or below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongPath {
    pub node: TrieNode,
    /// The length of the longest of them.
    pub longest: u16,
}

/// The children of a node.
#[derive(Clone, Copy, Debug)]
struct Family {
    /// Which of the `child_sets` of the trie holds the bytes on the edges to them.
    set: u32,
    /// Where they start in `children`.
    start: u32,
}

/// Which of the sets of bytes on edges is empty.
const NO_CHILDREN: u32 = 256;

/// How many bits of a byte are set. Not every processor that this is compiled for counts them in one instruction.
const ONES: [u8; 256] = {
    let mut ones = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        ones[byte] = byte.count_ones() as u8;
        byte += 1;
    }
    ones
};

/// How many bytes of a set are below each eight.
fn ranks(set: &[u64; 4]) -> [u8; 32] {
    let mut count = 0;
    std::array::from_fn(|eight| {
        let before = count;
        count += (set[eight >> 3] >> (8 * (eight & 7)) & 0xff).count_ones();
        // At most the 248 bytes of the others.
        before as u8
    })
}

/// The children of one node.
#[derive(Clone, Copy, Debug)]
pub struct ChildrenByByte<'a> {
    trie: &'a TokenTrie,
    node: TrieNode,
    /// As in [`Family`].
    set: u32,
    start: u32,
}

impl<'a> ChildrenByByte<'a> {
    /// Whether there is none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.set == NO_CHILDREN
    }

    /// The one child, with its byte, where there is one.
    #[inline]
    pub fn only(self) -> Option<(u8, TrieNode)> {
        // It is the next node.
        Some((u8::try_from(self.set).ok()?, TrieNode(self.node.0 + 1)))
    }

    /// The child over `byte`.
    #[inline]
    pub fn get(self, byte: u8) -> Option<TrieNode> {
        if let Some((only, child)) = self.only() {
            return (only == byte).then_some(child);
        }
        let set = &self.trie.child_sets[self.set as usize];
        let eight = set[usize::from(byte >> 6)] >> (byte & 0b11_1000) & 0xff;
        let bit = 1_u64 << (byte & 7);
        if eight & bit == 0 {
            return None;
        }
        let before = self.trie.child_ranks[self.set as usize][usize::from(byte >> 3)];
        let position = u32::from(before) + u32::from(ONES[(eight & (bit - 1)) as usize]);
        Some(self.trie.children[(self.start + position) as usize])
    }

    /// The bytes on the edges to them, as a bitset.
    #[inline]
    pub fn bytes(self) -> &'a [u64; 4] {
        &self.trie.child_sets[self.set as usize]
    }
}

/// For each node which of `sets` holds the bytes on all edges below it; [`NONE`](Self::NONE) where few nodes are below.
#[derive(Clone, Debug)]
struct BytesBelow {
    set_of: Box<[u32]>,
    sets: Box<[[u64; 4]]>,
}

impl BytesBelow {
    const NONE: u32 = u32::MAX;
    /// How many nodes are below a node that has a set.
    const LEAST_NODES: usize = 8;
}

/// Which nodes of a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichNodes {
    /// Each.
    All,
    /// Those that end a character.
    WholeCharacters,
}

/// The arrays of a trie, for loops that go through much of it. All have an entry per node.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    pub bytes: &'a [u8],
    pub depths: &'a [u16],
    pub subtree_ends: &'a [u32],
    /// Where the tokens of each node start in `sorted_ids`, and one entry more for their end.
    pub token_starts: &'a [u32],
    /// What is below each node; broken where the node is inside a character or something below it belongs to none.
    pub groups_below: &'a [ByteGroups],
    /// How many characters begin on the way to each node.
    pub characters: &'a [u16],
}

/// All edges of the trie, those over one byte together.
#[derive(Clone, Debug, Default)]
struct EdgesByByte {
    /// Where the edges over each byte start, and at the end their number.
    starts: Vec<u32>,
    /// Parent and child, ascending by parent.
    edges: Box<[(TrieNode, TrieNode)]>,
}

impl TokenTrie {
    /// The trie over all texts that are there.
    ///
    /// Costs one sort of the tokens, about 25 ms for 200,000 of them.
    ///
    /// # Panics
    /// When a text, their number or their total length passes the maxima of [`Vocabulary`].
    #[must_use]
    pub fn new(texts: &TokenTexts) -> Self {
        assert!(texts.len() <= Vocabulary::MAX_SIZE && texts.text_bytes() <= Vocabulary::MAX_TEXT_BYTES);
        let sorted = sorted(texts);
        let mut trie = Self {
            bytes: vec![0],
            depths: vec![0],
            subtree_ends: vec![0],
            token_starts: vec![0],
            sorted_ids: Vec::with_capacity(sorted.len()),
            inner_nodes: Vec::new(),
            families: Vec::new(),
            child_sets: Vec::new(),
            child_ranks: Vec::new(),
            children: Vec::new(),
            edges: EdgesByByte::default(),
            groups_below: Vec::new(),
            whole_characters: Vec::new(),
            characters: Vec::new(),
            characters_of_nodes: BitSliced::default(),
            characters_of_tokens: BitSliced::default(),
            max_depth: 0,
            bytes_below: OnceLock::new(),
            long_paths: Box::default(),
        };
        let mut path = vec![0];
        let mut previous: &[u8] = &[];
        for (position, (_, text, id)) in sorted.into_iter().enumerate() {
            let shared = previous.iter().zip(text).take_while(|(left, right)| left == right).count();
            trie.close(&path[shared + 1..]);
            path.truncate(shared + 1);
            for (depth, &byte) in text.iter().enumerate().skip(shared) {
                path.push(trie.bytes.len() as u32);
                trie.bytes.push(byte);
                trie.depths.push(u16::try_from(depth + 1).expect("tokens have at most 65,535 bytes"));
                trie.subtree_ends.push(0);
                trie.token_starts.push(position as u32);
            }
            trie.sorted_ids.push(id);
            previous = text;
        }
        trie.close(&path);
        trie.token_starts.push(trie.sorted_ids.len() as u32);
        trie.inner_nodes = vec![0; trie.bytes.len().div_ceil(64)];
        for (node, &end) in trie.subtree_ends.iter().enumerate() {
            trie.inner_nodes[node >> 6] |= u64::from(end as usize > node + 1) << (node & 63);
        }
        trie.max_depth = trie.depths.iter().copied().max().unwrap_or(0);
        trie.index_children();
        trie.edges = trie.edges_by_byte();
        trie.long_paths = trie.collect_long_paths();
        trie.index_texts_below();
        trie.index_characters(texts.len());
        trie.bytes.shrink_to_fit();
        trie.depths.shrink_to_fit();
        trie.subtree_ends.shrink_to_fit();
        trie.token_starts.shrink_to_fit();
        trie
    }

    /// Records that the subtrees of `nodes` end with the nodes made so far.
    fn close(&mut self, nodes: &[u32]) {
        let end = self.bytes.len() as u32;
        for &node in nodes {
            self.subtree_ends[node as usize] = end;
        }
    }

    /// Number of nodes, the root included.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is always a root")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The byte on the edge into a node; 0 at the root, which has none.
    #[inline]
    #[must_use]
    pub fn byte(&self, node: TrieNode) -> u8 {
        self.bytes[node.index()]
    }

    /// Length of the prefix that a node stands for.
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

    /// The tokens whose text is the prefix that a node stands for, ascending.
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

    /// Whether some token goes on below a node.
    #[inline]
    #[must_use]
    pub fn has_children(&self, node: TrieNode) -> bool {
        self.families[node.index()].set != NO_CHILDREN
    }

    /// The nodes that have children, as a bitset of 64 nodes a word.
    #[must_use]
    pub fn inner_nodes(&self) -> &[u64] {
        &self.inner_nodes
    }

    /// The bytes on the edges below a node, as a bitset.
    #[inline]
    #[must_use]
    pub fn child_bytes(&self, node: TrieNode) -> &[u64; 4] {
        &self.child_sets[self.families[node.index()].set as usize]
    }

    fn index_children(&mut self) {
        let add = |set: &mut [u64; 4], byte: u8| set[usize::from(byte >> 6)] |= 1 << (byte & 63);
        let single = |byte: u8| {
            let mut set = [0; 4];
            add(&mut set, byte);
            set
        };
        self.child_sets = (0..=u8::MAX).map(single).collect();
        self.child_sets.push([0; 4]);
        let mut known: FxHashMap<[u64; 4], u32> = FxHashMap::default();
        let count = self.bytes.len();
        let mut children = Vec::with_capacity(count - 1);
        self.families.reserve_exact(count);
        for node in (0..count as u32).map(TrieNode) {
            let start = children.len();
            children.extend(self.children(node));
            let set = match children[start..] {
                [] => NO_CHILDREN,
                [only] => u32::from(self.byte(only)),
                ref several => {
                    let mut set = [0; 4];
                    several.iter().for_each(|&child| add(&mut set, self.byte(child)));
                    *known.entry(set).or_insert_with(|| {
                        self.child_sets.push(set);
                        self.child_sets.len() as u32 - 1
                    })
                }
            };
            // There are fewer edges than nodes.
            self.families.push(Family { set, start: start as u32 });
        }
        self.child_ranks = self.child_sets.iter().map(ranks).collect();
        self.children = children;
    }

    /// The bytes on all edges below a node, as a bitset; `None` if so few nodes are below that looking at each costs no
    /// more. The first call costs a pass over the trie.
    #[must_use]
    pub fn bytes_below(&self, node: TrieNode) -> Option<&[u64; 4]> {
        let below = self.bytes_below.get_or_init(|| self.collect_bytes_below());
        let set = below.set_of[node.index()];
        (set != BytesBelow::NONE).then(|| &below.sets[set as usize])
    }

    fn collect_bytes_below(&self) -> BytesBelow {
        let mut known: FxHashMap<[u64; 4], u32> = FxHashMap::default();
        let mut sets: Vec<[u64; 4]> = Vec::new();
        let mut set_of = vec![BytesBelow::NONE; self.bytes.len()].into_boxed_slice();
        let nodes_below = |node: TrieNode| node.index() + 1..self.subtree_end(node).index();
        // Children come after their parents.
        for node in (0..self.bytes.len() as u32).rev().map(TrieNode) {
            if nodes_below(node).len() < BytesBelow::LEAST_NODES {
                continue;
            }
            let mut set = *self.child_bytes(node);
            for child in self.children(node) {
                match set_of[child.index()] {
                    BytesBelow::NONE => {
                        for &byte in &self.bytes[nodes_below(child)] {
                            set[usize::from(byte >> 6)] |= 1 << (byte & 63);
                        }
                    }
                    below => set.iter_mut().zip(sets[below as usize]).for_each(|(word, more)| *word |= more),
                }
            }
            set_of[node.index()] = *known.entry(set).or_insert_with(|| {
                sets.push(set);
                sets.len() as u32 - 1
            });
        }
        BytesBelow { set_of, sets: sets.into() }
    }

    /// Longer tokens than this are few.
    pub const LONG: u16 = 24;

    /// The nodes that lead to tokens of more than [`LONG`](Self::LONG) bytes, in preorder.
    pub fn long_paths(&self) -> &[LongPath] {
        &self.long_paths
    }

    fn collect_long_paths(&self) -> Box<[LongPath]> {
        let mut paths = Vec::new();
        // The longest prefix below the current node, by depth of its children.
        let mut longest = vec![0_u16; usize::from(self.max_depth) + 2];
        for (node, &depth) in self.depths.iter().enumerate().rev() {
            let below = std::mem::take(&mut longest[usize::from(depth) + 1]).max(depth);
            if below > Self::LONG {
                paths.push(LongPath { node: TrieNode(node as u32), longest: below });
            }
            let siblings = &mut longest[usize::from(depth)];
            *siblings = below.max(*siblings);
        }
        paths.reverse();
        paths.into()
    }

    /// Whether the prefix that a node stands for is whole characters of UTF-8.
    #[inline]
    #[must_use]
    pub(crate) fn is_whole(&self, node: TrieNode) -> bool {
        self.whole_characters[node.index() >> 6] >> (node.0 & 63) & 1 == 1
    }

    /// Sets the bits, 64 nodes a word, of nodes in a range; returns how many words it looked at.
    pub fn set_bits(&self, nodes: Range<usize>, which: WhichNodes, bits: &mut [u64]) -> usize {
        let mut count = 0;
        for (word, inside) in words_of(nodes) {
            bits[word] |= match which {
                WhichNodes::All => inside,
                WhichNodes::WholeCharacters => inside & self.whole_characters[word],
            };
            count += 1;
        }
        count
    }

    /// How many characters begin on the way to a node, whole or not: bytes but those from 0x80 to 0xBF.
    #[inline]
    #[must_use]
    pub(crate) fn characters(&self, node: TrieNode) -> u16 {
        self.characters[node.index()]
    }

    /// The same for all nodes.
    #[must_use]
    pub(crate) fn characters_of_nodes(&self) -> &BitSliced {
        &self.characters_of_nodes
    }

    /// The same for all tokens, by id.
    #[must_use]
    pub(crate) fn characters_of_tokens(&self) -> &BitSliced {
        &self.characters_of_tokens
    }

    /// Where the tokens of neighbouring nodes are in [`TokenTrie::sorted_ids`].
    #[inline]
    #[must_use]
    pub(crate) fn token_positions(&self, nodes: Range<usize>) -> Range<usize> {
        self.token_starts[nodes.start] as usize..self.token_starts[nodes.end] as usize
    }

    /// The nodes with children in a range of positions, ascending: the first node that each word of 64 stands for, and its
    /// bits.
    pub(crate) fn inner_words_in(
        &self,
        range: Range<usize>,
        which: WhichNodes,
    ) -> impl Iterator<Item = (u32, u64)> {
        words_of(range).map(move |(word, inside)| {
            let whole = match which {
                WhichNodes::All => u64::MAX,
                WhichNodes::WholeCharacters => self.whole_characters[word],
            };
            // A trie has fewer than 2^32 nodes.
            ((word as u32) << 6, self.inner_nodes[word] & inside & whole)
        })
    }

    /// Finds out for each node what is below it, and how many characters lead to it.
    fn index_texts_below(&mut self) {
        /// A node of the path to the current one.
        struct Open {
            node: usize,
            character: Character,
            below: ByteGroups,
        }
        self.groups_below = vec![ByteGroups::default(); self.bytes.len()];
        self.whole_characters = vec![0; self.bytes.len().div_ceil(64)];
        let mut path: Vec<Open> = Vec::new();
        for node in 0..=self.bytes.len() {
            let depth = self.depths.get(node).map_or(0, |&depth| usize::from(depth));
            while path.len() > depth {
                let Some(Open { node, character, below }) = path.pop() else { break };
                let is_whole = character == Character::Boundary;
                self.groups_below[node] = if is_whole { below } else { below.union(ByteGroups::broken()) };
                self.whole_characters[node >> 6] |= u64::from(is_whole) << (node & 63);
                if let Some(parent) = path.last_mut() {
                    let edge = ByteGroups::of(self.bytes[node]);
                    parent.below = parent.below.union(below).union(edge);
                    if character == Character::Broken {
                        parent.below = parent.below.union(ByteGroups::broken());
                    }
                }
            }
            if node < self.bytes.len() {
                let before = path.last().map(|parent| parent.character);
                let character = before.map_or(Character::Boundary, |before| before.step(self.bytes[node]));
                path.push(Open { node, character, below: ByteGroups::default() });
                let parent = path.len().checked_sub(2).map(|parent| path[parent].node);
                let before = parent.map_or(0, |parent| self.characters[parent]);
                let begins = node > 0 && !(0x80..0xc0).contains(&self.bytes[node]);
                let characters = before + u16::from(begins);
                self.characters.push(characters);
            }
        }
    }

    /// Keeps the characters of nodes and of tokens with ids below `ids` bit by bit.
    fn index_characters(&mut self, ids: usize) {
        self.characters_of_nodes = BitSliced::new(&self.characters);
        let mut of_tokens = vec![0; ids];
        for (node, &characters) in self.characters.iter().enumerate() {
            for id in self.tokens(TrieNode(node as u32)) {
                of_tokens[id.index()] = characters;
            }
        }
        self.characters_of_tokens = BitSliced::new(&of_tokens);
    }

    /// All edges over `byte` as (parent, child), ascending by parent.
    #[must_use]
    pub fn edges_over(&self, byte: u8) -> &[(TrieNode, TrieNode)] {
        let starts = &self.edges.starts[usize::from(byte)..];
        &self.edges.edges[starts[0] as usize..starts[1] as usize]
    }

    /// The arrays of the trie.
    pub fn columns(&self) -> Columns<'_> {
        Columns {
            bytes: &self.bytes,
            depths: &self.depths,
            subtree_ends: &self.subtree_ends,
            token_starts: &self.token_starts,
            groups_below: &self.groups_below,
            characters: &self.characters,
        }
    }

    fn edges_by_byte(&self) -> EdgesByByte {
        let mut starts = vec![0_u32; 257];
        for &byte in &self.bytes[1..] {
            starts[usize::from(byte) + 1] += 1;
        }
        for byte in 0..256 {
            starts[byte + 1] += starts[byte];
        }
        let mut next = starts.clone();
        let mut edges = vec![(TrieNode::ROOT, TrieNode::ROOT); self.bytes.len() - 1].into_boxed_slice();
        for parent in (0..self.bytes.len() as u32).map(TrieNode) {
            for child in self.children(parent) {
                let slot = &mut next[usize::from(self.byte(child))];
                edges[*slot as usize] = (parent, child);
                *slot += 1;
            }
        }
        EdgesByByte { starts, edges }
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

    /// The children of a node, to be asked for by their bytes.
    #[inline]
    pub fn children_by_byte(&self, node: TrieNode) -> ChildrenByByte<'_> {
        let Family { set, start } = self.families[node.index()];
        ChildrenByByte { trie: self, node, set, start }
    }

    /// The node that stands for `prefix`; `None` if no token starts with it.
    #[must_use]
    pub fn find(&self, prefix: &[u8]) -> Option<TrieNode> {
        prefix.iter().try_fold(TrieNode::ROOT, |node, &byte| self.child(node, byte))
    }

    /// All tokens with text, in the order of their bytes, then of their ids.
    #[must_use]
    pub fn sorted_ids(&self) -> &[TokenId] {
        &self.sorted_ids
    }

    /// Bytes of memory that the trie takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
            + self.depths.capacity() * size_of::<u16>()
            + (self.subtree_ends.capacity() + self.token_starts.capacity()) * size_of::<u32>()
            + self.sorted_ids.capacity() * size_of::<TokenId>()
            + size_of_val(&self.edges.edges[..])
            + size_of_val(&self.inner_nodes[..])
            + size_of_val(&self.families[..])
            + size_of_val(&self.child_sets[..])
            + size_of_val(&self.child_ranks[..])
            + size_of_val(&self.children[..])
            + size_of_val(&self.groups_below[..])
            + size_of_val(&self.whole_characters[..])
            + size_of_val(&self.characters[..])
            + size_of_val(&self.long_paths[..])
            + self.characters_of_nodes.memory_bytes()
            + self.characters_of_tokens.memory_bytes()
    }
}

/// All texts that are there with their first eight bytes and their ids, in the order of the texts, then of the ids.
fn sorted(texts: &TokenTexts) -> Vec<(u64, &[u8], TokenId)> {
    let mut tokens: Vec<_> = texts
        .iter()
        .enumerate()
        .filter_map(|(index, text)| text.map(|text| (leading_bytes(text), text, TokenId(index as u32))))
        .collect();
    tokens.sort_unstable();
    tokens
}

/// The first eight bytes of a text, filled up with zeros: never greater than that of a greater text.
fn leading_bytes(text: &[u8]) -> u64 {
    let mut key = [0; 8];
    let length = text.len().min(8);
    key[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(key)
}

/// The children of a node of a [`TokenTrie`], ascending by byte.
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

    use super::*;

    /// Compares every accessor with maps from prefixes to tokens that are made without any trie.
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
            let longest =
                prefixes.iter().filter(|other| other.starts_with(prefix)).map(|other| other.len()).max();
            let longest = longest.filter(|&longest| longest > usize::from(TokenTrie::LONG));
            let long_path = trie.long_paths().iter().find(|path| path.node == node);
            assert_eq!(long_path.map(|path| usize::from(path.longest)), longest);
            assert_eq!(trie.bytes_below(node).is_some(), subtree > BytesBelow::LEAST_NODES);
            if let Some(found) = trie.bytes_below(node) {
                let is_found = |byte: &u8| found[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1;
                assert_eq!((0..=255).filter(is_found).collect::<BTreeSet<u8>>(), below);
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
            let begun = prefix.iter().filter(|byte| !(0x80..0xc0).contains(*byte)).count();
            assert_eq!(usize::from(trie.characters(node)), begun);
            let own = trie.token_positions(node.index()..node.index() + 1);
            assert_eq!(own.len(), trie.tokens(node).len());
            let has_begun = |sliced: &BitSliced, place: usize| {
                let count = begun as u32;
                sliced.within(count, count)[place / 64] >> (place % 64) & 1 == 1
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
