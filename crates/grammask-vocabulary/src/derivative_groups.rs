//! The tokens below a trie node, grouped by the derivative of a terminal by them.
//!
//! Tokens of one group are interchangeable to everything that follows, whatever the grammar is. So a property of the
//! text after a token, such as its shortest completion, is computed once per group, and a large group is a set that
//! all grammars share.
//!
//! The text *leaves* a terminal where a word may end. What follows then depends on the grammar, so these tokens are
//! grouped by the derivative before the byte at which they leave, and read on from there by the rest of their bytes.

use std::ops::Range;

use crate::{LiveTokens, TokenId, TokenTrie, TrieNode, Vocabulary};

/// Minimum number of nodes of a subtree whose tokens are not listed.
const MIN_LARGE_SUBTREE: usize = 64;

/// Tokens below a node by the derivative of a terminal. See the documentation of the module.
#[derive(Clone, Debug)]
pub struct DerivativeGroups {
    inside: Box<[DerivativeGroup]>,
    leaving: Box<[LeavingTokens]>,
    subtrees: Box<[LeavingSubtree]>,
}

/// Tokens on whose path no word ends, and after which the derivative is the same.
#[derive(Clone, Debug)]
pub struct DerivativeGroup {
    /// The bytes of one of the tokens below the start node.
    pub path: Box<[u8]>,
    /// The tokens.
    pub tokens: LiveTokens,
}

/// Tokens that leave the terminal with the same byte and after the same derivative.
#[derive(Clone, Debug)]
pub struct LeavingTokens {
    /// The bytes of one of the tokens from the start node to the first end of a word.
    pub path: Box<[u8]>,
    /// Ascending, so that suffixes with a common prefix follow each other.
    suffixes: Box<[Suffix]>,
    bytes: Box<[u8]>,
    tokens: Box<[TokenId]>,
}

/// A subtree of tokens that leave the terminal with the last byte before it. What follows may be a terminal that has
/// groups for them.
#[derive(Clone, Debug)]
pub struct LeavingSubtree {
    /// The bytes from the start node to this one.
    pub path: Box<[u8]>,
    /// The tokens are at this node and below it.
    pub node: TrieNode,
}

/// The bytes of tokens after they leave the terminal.
#[derive(Clone, Debug)]
struct Suffix {
    bytes: Range<u32>,
    tokens: Range<u32>,
    /// Length of the common prefix with the suffix before.
    shared: u32,
}

impl DerivativeGroups {
    /// The groups of tokens below `start`: for each derivative a node after it with the tokens, and for each byte at
    /// which words end after some derivative the nodes after it.
    #[must_use]
    pub fn new(
        inside: impl IntoIterator<Item = (TrieNode, Vec<TokenId>)>,
        leaving: impl IntoIterator<Item = Vec<TrieNode>>,
        start: TrieNode,
        vocabulary: &Vocabulary,
    ) -> Self {
        let trie = vocabulary.trie();
        let path = |node| text_between(vocabulary, start, node).into();
        let inside = inside.into_iter().filter(|(_, tokens)| !tokens.is_empty()).map(|(node, tokens)| {
            let tokens = vocabulary.summaries().share(LiveTokens::new(tokens, vocabulary.size()));
            DerivativeGroup { path: path(node), tokens }
        });
        let (mut lists, mut subtrees) = (Vec::new(), Vec::new());
        for nodes in leaving {
            let (large, small): (Vec<TrieNode>, Vec<TrieNode>) =
                nodes.into_iter().partition(|&node| trie.subtree_len(node) >= MIN_LARGE_SUBTREE);
            subtrees.extend(large.into_iter().map(|node| LeavingSubtree { path: path(node), node }));
            if let Some(&first) = small.first() {
                lists.push(LeavingTokens::new(path(first), &small, trie, vocabulary));
            }
        }
        Self { inside: inside.collect(), leaving: lists.into(), subtrees: subtrees.into() }
    }

    /// Tokens that do not leave the terminal.
    #[must_use]
    pub fn inside(&self) -> &[DerivativeGroup] {
        &self.inside
    }

    /// Tokens that leave the terminal.
    #[must_use]
    pub fn leaving(&self) -> &[LeavingTokens] {
        &self.leaving
    }

    /// Large subtrees of other tokens that leave the terminal.
    #[must_use]
    pub fn subtrees(&self) -> &[LeavingSubtree] {
        &self.subtrees
    }

    /// Estimated memory, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let inside = self
            .inside
            .iter()
            .map(|group| size_of::<DerivativeGroup>() + group.path.len() + group.tokens.memory_bytes());
        let leaving = self.leaving.iter().map(|leaving| {
            size_of::<LeavingTokens>()
                + leaving.path.len()
                + leaving.bytes.len()
                + size_of_val(&*leaving.suffixes)
                + size_of_val(&*leaving.tokens)
        });
        let subtrees = self.subtrees.iter().map(|subtree| size_of::<LeavingSubtree>() + subtree.path.len());
        inside.sum::<usize>() + leaving.sum::<usize>() + subtrees.sum::<usize>()
    }
}

impl LeavingTokens {
    fn new(path: Box<[u8]>, nodes: &[TrieNode], trie: &TokenTrie, vocabulary: &Vocabulary) -> Self {
        let mut pairs: Vec<(&[u8], TokenId)> = Vec::new();
        for &node in nodes {
            let depth = usize::from(trie.depth(node));
            let suffix = |&token| (&vocabulary.token(token).unwrap_or_default()[depth..], token);
            pairs.extend(trie.subtree_tokens(node).iter().map(suffix));
        }
        pairs.sort_unstable();
        let (mut suffixes, mut bytes): (Vec<Suffix>, Vec<u8>) = (Vec::new(), Vec::new());
        let mut last: Option<&[u8]> = None;
        // A vocabulary has fewer than 2^32 bytes and tokens.
        for (position, &(suffix, _)) in (0_u32..).zip(&pairs) {
            if last != Some(suffix) {
                let shared = last.map_or(0, |last| common_prefix(last, suffix)) as u32;
                let begin = bytes.len() as u32;
                bytes.extend_from_slice(suffix);
                suffixes.push(Suffix {
                    bytes: begin..bytes.len() as u32,
                    tokens: position..position,
                    shared,
                });
                last = Some(suffix);
            }
            if let Some(suffix) = suffixes.last_mut() {
                suffix.tokens.end = position + 1;
            }
        }
        let tokens = pairs.into_iter().map(|(_, token)| token).collect();
        Self { path, suffixes: suffixes.into(), bytes: bytes.into(), tokens }
    }

    /// Calls `visit` with the tokens whose suffix is read from a state, and the state after them. Tokens for which
    /// `is_visited` is false are left out.
    ///
    /// Cost: a step per prefix of a suffix that is read, and a comparison per suffix that is not.
    ///
    /// # Errors
    /// When `step` or `visit` fails.
    pub fn for_each<S: Copy, E>(
        &self,
        after: S,
        is_visited: impl Fn(TokenId) -> bool,
        mut step: impl FnMut(S, u8) -> Result<Option<S>, E>,
        mut visit: impl FnMut(S, &[TokenId]) -> Result<(), E>,
    ) -> Result<(), E> {
        // The state after each prefix of the current suffix, as far as it is legal.
        let mut states = vec![after];
        let mut is_dead = false;
        for Suffix { bytes, tokens, shared } in &self.suffixes {
            let shared = *shared as usize;
            if is_dead && shared >= states.len() {
                continue;
            }
            states.truncate(shared + 1);
            is_dead = false;
            let tokens = &self.tokens[tokens.start as usize..tokens.end as usize];
            if !tokens.iter().any(|&token| is_visited(token)) {
                continue;
            }
            for &byte in &self.bytes[bytes.start as usize + states.len() - 1..bytes.end as usize] {
                match step(states[states.len() - 1], byte)? {
                    Some(next) => states.push(next),
                    None => {
                        is_dead = true;
                        break;
                    }
                }
            }
            if !is_dead {
                visit(states[states.len() - 1], tokens)?;
            }
        }
        Ok(())
    }
}

fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// The bytes on the path from a node to one below it.
fn text_between(vocabulary: &Vocabulary, above: TrieNode, below: TrieNode) -> &[u8] {
    let trie = vocabulary.trie();
    // Every node is on the path to a token.
    let token = trie.subtree_tokens(below)[0];
    let text = vocabulary.token(token).unwrap_or_default();
    &text[usize::from(trie.depth(above))..usize::from(trie.depth(below))]
}
