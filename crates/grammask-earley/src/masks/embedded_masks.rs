//! The masks of embedded grammars, and what was computed about them. [`super::embedded`] has the algorithm.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::recognizer::EmbeddedState;
use grammask_automata::ByteSet;
use grammask_engine::{EngineValueId, MaskCache, MaskSource};
use grammask_vocabulary::{LiveTokens, NodeSetId, TokenSet, TokenTrie, TrieNode};

use super::summary::SymbolSummary;

/// The masks of an embedded grammar.
#[derive(Debug)]
pub(super) struct EmbeddedMasks {
    pub(super) source: Arc<dyn MaskSource>,
    pub(super) cache: MaskCache,
}

impl EmbeddedMasks {
    /// The masks of several grammars. A source remembers masks by their place in the cache, so it has only one.
    pub(super) fn of_sources(sources: Vec<Arc<dyn MaskSource>>) -> Vec<Arc<Self>> {
        let mut all: Vec<Arc<Self>> = Vec::with_capacity(sources.len());
        for source in sources {
            let known = all.iter().find(|known| Arc::ptr_eq(&known.source, &source)).cloned();
            all.push(known.unwrap_or_else(|| Arc::new(Self { source, cache: MaskCache::default() })));
        }
        all
    }

    pub(super) fn source(&self) -> &dyn MaskSource {
        &*self.source
    }

    /// Memory in bytes, without that of the engine.
    pub(super) fn memory_bytes(&self) -> usize {
        self.source.summary_bytes() + self.cache.memory_bytes()
    }
}

/// The trie nodes from which an edge leads over one of some bytes, with the nodes on the paths to them, in preorder.
#[derive(Debug)]
pub(super) struct ExitTrie {
    pub(super) nodes: Vec<ExitNode>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ExitNode {
    pub(super) node: TrieNode,
    /// The position after the last node below this one.
    pub(super) end: u32,
    /// Whether an edge over one of the bytes begins here.
    pub(super) is_exit: bool,
}

/// What was computed about the embedded grammars of a compiled grammar.
#[derive(Debug, Default)]
pub(super) struct EmbeddedSummaries {
    pub(super) exits: FxHashMap<ByteSet, Arc<ExitTrie>>,
    /// The first bytes of the texts of each state.
    pub(super) first_bytes: FxHashMap<EmbeddedState, ByteSet>,
    /// By the first state, the maximum number of tokens, and the nodes.
    pub(super) begun: FxHashMap<(EmbeddedState, Option<u32>, NodeSetId), SymbolSummary>,
    /// The tokens of states by the number of tokens that end the text after them.
    pub(super) by_end: FxHashMap<EmbeddedState, Arc<TokensByEnd>>,
}

impl ExitTrie {
    pub(super) fn new(bytes: ByteSet, trie: &TokenTrie) -> Self {
        let mut exits: Vec<TrieNode> =
            bytes.iter().flat_map(|byte| trie.edges_over(byte)).map(|edge| edge.parent).collect();
        exits.sort_unstable();
        exits.dedup();
        let mut nodes: Vec<ExitNode> = Vec::new();
        // The positions of the nodes on the path to the last one.
        let mut path: Vec<usize> = Vec::new();
        for exit in exits.into_iter().filter(|&exit| exit != TrieNode::ROOT) {
            while let Some(&last) = path.last()
                && trie.subtree_end(nodes[last].node) <= exit
            {
                nodes[last].end = nodes.len() as u32;
                path.pop();
            }
            // The ancestors below the last common one.
            let mut above = path.last().map_or(TrieNode::ROOT, |&last| nodes[last].node);
            while above != exit {
                let child = trie.children(above).find(|&child| trie.subtree_end(child) > exit);
                let Some(child) = child else { break };
                path.push(nodes.len());
                nodes.push(ExitNode { node: child, end: 0, is_exit: child == exit });
                above = child;
            }
            if let Some(&last) = path.last() {
                nodes[last].is_exit |= nodes[last].node == exit;
            }
        }
        for last in path {
            nodes[last].end = nodes.len() as u32;
        }
        Self { nodes }
    }
}

/// The tokens of a state of an embedded grammar by the number of tokens that end its text after them.
#[derive(Debug)]
pub(super) struct TokensByEnd {
    /// Disjoint groups with their numbers.
    pub(super) groups: Box<[(u32, LiveTokens)]>,
    /// The tokens of all groups, and those after which no end is known; `None` if these are all legal ones.
    pub(super) grouped: Option<TokenSet>,
    /// The numbers hold for texts whose values are none of these.
    pub(super) values: Box<[EngineValueId]>,
}

impl TokensByEnd {
    /// Memory in bytes, without that of the groups.
    pub(super) fn memory_bytes(&self) -> usize {
        let grouped = self.grouped.as_ref().map_or(0, |grouped| size_of_val(grouped.words()));
        grouped + size_of_val(&*self.values) + size_of_val(&*self.groups) + size_of::<Self>()
    }
}
