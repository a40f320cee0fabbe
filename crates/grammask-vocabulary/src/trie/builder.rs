//! The construction of a trie: one pass over the tokens in sorted order.
//!
//! Tokens are sorted by their first eight bytes as one integer, with the remaining bytes as a tie-break. Adjacent
//! tokens share their longest common prefix, so the nodes arise in preorder. Values that depend on the prefix of a node
//! are computed when the node is made, and those that depend on its subtree when the last token below it is followed by
//! another one. Until then they are on the path from the root, so no pass needs pointers to parents.

use super::children::ChildTable;
use super::indices::TrieIndices;
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
    inner_nodes: Vec<u64>,
    groups_below: Vec<ByteGroups>,
    /// As in [`CharacterIndex`].
    whole: Vec<u64>,
    character_counts: Vec<u16>,
    /// The nodes from the root to that of the last token.
    path: Vec<OpenNode>,
    max_depth: usize,
}

/// A node whose subtree is not complete.
#[derive(Debug)]
struct OpenNode {
    node: u32,
    /// Number of characters that begin in the prefix.
    characters: u16,
    /// The end of the prefix.
    character: Character,
    /// The groups of the bytes below the node so far, with the flag if a prefix below it is not UTF-8.
    groups: ByteGroups,
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
            inner_nodes: Vec::with_capacity(nodes / 64 + 1),
            groups_below: Vec::with_capacity(nodes + 1),
            whole: Vec::with_capacity(nodes / 64 + 1),
            character_counts: Vec::with_capacity(nodes + 1),
            path: Vec::new(),
            max_depth: 0,
        };
        builder.open(0, Character::Boundary, 0, 0);
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
        for &byte in suffix {
            let (character, characters) = match self.path.last() {
                Some(parent) => (parent.character.step(byte), parent.characters),
                None => (Character::Boundary, 0),
            };
            let characters = characters + u16::from(!(0x80..0xc0).contains(&byte));
            // The depth is at most the length of the token.
            self.open(byte, character, characters, self.path.len() as u16);
        }
        self.max_depth = self.max_depth.max(shared + suffix.len());
        self.sorted_ids.push(id);
    }

    /// Adds a node at the end of the path.
    #[inline]
    fn open(&mut self, byte: u8, character: Character, characters: u16, depth: u16) {
        // Tokens and nodes are within the maxima of `Vocabulary`.
        let node = self.bytes.len();
        self.path.push(OpenNode { node: node as u32, characters, character, groups: ByteGroups::default() });
        self.bytes.push(byte);
        self.depths.push(depth);
        self.subtree_ends.push(0);
        self.token_starts.push(self.sorted_ids.len() as u32);
        self.groups_below.push(ByteGroups::default());
        self.character_counts.push(characters);
        if node >> 6 == self.inner_nodes.len() {
            self.inner_nodes.push(0);
            self.whole.push(0);
        }
        self.whole[node >> 6] |= u64::from(character == Character::Boundary) << (node & 63);
    }

    /// Ends the subtrees of all nodes on the path but the first `kept`.
    #[inline]
    fn close(&mut self, kept: usize) {
        let end = self.bytes.len() as u32;
        while self.path.len() > kept {
            let Some(OpenNode { node, character, groups, .. }) = self.path.pop() else { break };
            let index = node as usize;
            self.subtree_ends[index] = end;
            self.inner_nodes[index >> 6] |= u64::from(end > node + 1) << (index & 63);
            let is_whole = character == Character::Boundary;
            self.groups_below[index] = if is_whole { groups } else { groups.union(ByteGroups::broken()) };
            if let Some(parent) = self.path.last_mut() {
                let mut with_edge = groups.union(ByteGroups::of(self.bytes[index]));
                if character == Character::Broken {
                    with_edge = with_edge.union(ByteGroups::broken());
                }
                parent.groups = parent.groups.union(with_edge);
            }
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
        self.groups_below.shrink_to_fit();
        self.character_counts.shrink_to_fit();
        let mut trie = TokenTrie {
            inner_nodes: self.inner_nodes.into(),
            children: ChildTable::new(&self.bytes, &self.subtree_ends),
            groups_below: self.groups_below.into(),
            characters: CharacterIndex { whole: self.whole.into(), counts: self.character_counts.into() },
            // The maximum depth is the length of a token.
            max_depth: self.max_depth as u16,
            indices: TrieIndices::default(),
            bytes: self.bytes.into(),
            depths: self.depths.into(),
            subtree_ends: self.subtree_ends.into(),
            token_starts: self.token_starts.into(),
            sorted_ids: self.sorted_ids.into(),
        };
        trie.indices = TrieIndices::new(&trie);
        trie
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
