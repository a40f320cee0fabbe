//! The construction of a trie: one pass over the tokens in sorted order, then two passes over the nodes.
//!
//! Tokens are sorted by their first eight bytes as one integer, with the remaining bytes as a tie-break. Adjacent
//! tokens share their longest common prefix, so the nodes arise in preorder. The passes over nodes need no pointers to
//! parents: values of the path to a node are arrays by depth. In preorder, the entry before a node's depth is that of
//! its parent; in the opposite order, the entry after its depth has collected the values of all of its children.

use std::sync::OnceLock;

use super::children::ChildTable;
use super::token_trie::{CharacterIndex, TokenTrie};
use crate::{ByteGroups, Character, TokenId, TokenTexts};

/// Builds a [`TokenTrie`] from tokens in the order of their bytes, then of their ids.
#[derive(Debug)]
pub(crate) struct TrieBuilder {
    bytes: Vec<u8>,
    depths: Vec<u16>,
    subtree_ends: Vec<u32>,
    token_starts: Vec<u32>,
    sorted_ids: Vec<TokenId>,
    /// The nodes from the root to that of the last token.
    path: Vec<u32>,
    max_depth: usize,
}

impl TrieBuilder {
    /// A trie without tokens, with capacity for `tokens` of them and `nodes` nodes besides the root.
    pub(crate) fn with_capacity(tokens: usize, nodes: usize) -> Self {
        let mut builder = Self {
            bytes: Vec::with_capacity(nodes + 1),
            depths: Vec::with_capacity(nodes + 1),
            subtree_ends: Vec::with_capacity(nodes + 1),
            token_starts: Vec::with_capacity(nodes + 2),
            sorted_ids: Vec::with_capacity(tokens),
            path: vec![0],
            max_depth: 0,
        };
        builder.bytes.push(0);
        builder.depths.push(0);
        builder.subtree_ends.push(0);
        builder.token_starts.push(0);
        builder
    }

    /// Adds all tokens with text.
    pub(super) fn of_texts(texts: &TokenTexts) -> Self {
        let sorted = sorted(texts);
        // Tokens of models share most of their prefixes: two nodes per token.
        let mut builder = Self::with_capacity(sorted.len(), 2 * sorted.len());
        let mut previous: &[u8] = &[];
        for (_, text, id) in sorted {
            let shared = shared_prefix(previous, text);
            builder.push(shared, &text[shared..], id);
            previous = text;
        }
        builder
    }

    /// Adds the next token: the first `shared` bytes of the token before it, followed by `suffix`.
    ///
    /// The token before it has no more bytes in common with the new one, and is less than it, or equal with a smaller
    /// id. No token has more than 65,535 bytes.
    pub(crate) fn push(&mut self, shared: usize, suffix: &[u8], id: TokenId) {
        self.close(shared + 1);
        // Tokens, nodes and lengths are within the maxima of `Vocabulary`.
        let position = self.sorted_ids.len() as u32;
        for (depth, &byte) in (shared + 1..).zip(suffix) {
            self.path.push(self.bytes.len() as u32);
            self.bytes.push(byte);
            self.depths.push(depth as u16);
            self.subtree_ends.push(0);
            self.token_starts.push(position);
        }
        self.max_depth = self.max_depth.max(shared + suffix.len());
        self.sorted_ids.push(id);
    }

    /// Ends the subtrees of all nodes on the path but the first `kept`.
    fn close(&mut self, kept: usize) {
        let end = self.bytes.len() as u32;
        for node in self.path.drain(kept..) {
            self.subtree_ends[node as usize] = end;
        }
    }

    /// The trie of all tokens.
    pub(crate) fn finish(mut self) -> TokenTrie {
        self.close(0);
        self.token_starts.push(self.sorted_ids.len() as u32);
        self.bytes.shrink_to_fit();
        self.depths.shrink_to_fit();
        self.subtree_ends.shrink_to_fit();
        self.token_starts.shrink_to_fit();
        let mut inner_nodes = vec![0; self.bytes.len().div_ceil(64)];
        for (node, &end) in self.subtree_ends.iter().enumerate() {
            inner_nodes[node >> 6] |= u64::from(end as usize > node + 1) << (node & 63);
        }
        let (characters, is_broken) = self.characters();
        TokenTrie {
            inner_nodes,
            children: ChildTable::new(&self.bytes, &self.subtree_ends),
            groups_below: self.groups_below(&characters, &is_broken),
            characters,
            // The maximum depth is the length of a token.
            max_depth: self.max_depth as u16,
            edges: OnceLock::new(),
            character_slices: OnceLock::new(),
            bytes_below: OnceLock::new(),
            bytes: self.bytes,
            depths: self.depths,
            subtree_ends: self.subtree_ends,
            token_starts: self.token_starts,
            sorted_ids: self.sorted_ids,
        }
    }

    /// The characters of all prefixes, and the nodes whose prefixes are not the beginning of a text in UTF-8, as a
    /// bitset.
    fn characters(&self) -> (CharacterIndex, Vec<u64>) {
        let mut index = CharacterIndex::default();
        index.counts.reserve_exact(self.bytes.len());
        index.whole = vec![0; self.bytes.len().div_ceil(64)];
        let mut is_broken = index.whole.clone();
        // By depth.
        let mut path = vec![(Character::Boundary, 0_u16); self.max_depth + 1];
        for (node, (&byte, &depth)) in self.bytes.iter().zip(&self.depths).enumerate() {
            let depth = usize::from(depth);
            if depth > 0 {
                let (before, count) = path[depth - 1];
                path[depth] = (before.step(byte), count + u16::from(!(0x80..0xc0).contains(&byte)));
            }
            let (character, count) = path[depth];
            index.counts.push(count);
            index.whole[node >> 6] |= u64::from(character == Character::Boundary) << (node & 63);
            is_broken[node >> 6] |= u64::from(character == Character::Broken) << (node & 63);
        }
        (index, is_broken)
    }

    /// The groups of bytes below each node, with the flag for broken UTF-8 as in [`TokenTrie`].
    fn groups_below(&self, characters: &CharacterIndex, is_broken: &[u64]) -> Vec<ByteGroups> {
        let flag = |bits: &[u64], node: usize| bits[node >> 6] >> (node & 63) & 1 == 1;
        let mut groups_below = vec![ByteGroups::default(); self.bytes.len()];
        // By depth: the groups of all bytes on edges from nodes of the depth before it.
        let mut path = vec![ByteGroups::default(); self.max_depth + 2];
        for node in (0..self.bytes.len()).rev() {
            let depth = usize::from(self.depths[node]);
            let below = std::mem::take(&mut path[depth + 1]);
            let mut with_edge = below.union(ByteGroups::of(self.bytes[node]));
            if flag(is_broken, node) {
                with_edge = with_edge.union(ByteGroups::broken());
            }
            path[depth] = path[depth].union(with_edge);
            let is_whole = flag(&characters.whole, node);
            groups_below[node] = if is_whole { below } else { below.union(ByteGroups::broken()) };
        }
        groups_below
    }
}

/// Number of leading bytes that two texts share.
pub(crate) fn shared_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// All tokens with text as (first eight bytes, text, id), sorted by text, then by id.
fn sorted(texts: &TokenTexts) -> Vec<(u64, &[u8], TokenId)> {
    let mut tokens: Vec<_> = texts
        .iter()
        .enumerate()
        .filter_map(|(index, text)| text.map(|text| (leading_bytes(text), text, TokenId(index as u32))))
        .collect();
    tokens.sort_unstable();
    tokens
}

/// The first eight bytes of a text as a big-endian number, padded with zeros: monotone in the text.
fn leading_bytes(text: &[u8]) -> u64 {
    let mut key = [0; 8];
    let length = text.len().min(8);
    key[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(key)
}
