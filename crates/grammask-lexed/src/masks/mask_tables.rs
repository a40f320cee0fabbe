//! The tables of masks: for the tokens alone, or for the tokens and some exits.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::masks::exit_nodes::ExitNodes;
use crate::masks::spanner_subset::SpannerSubsets;
use crate::masks::spanner_table::{ColumnTracker, SpannerTable};
use crate::masks::stack_automaton::StackAutomaton;
use crate::masks::token_partition::TokenPartitions;
use grammask_automata::ByteSet;
use grammask_engine::TokensAndExits;
use grammask_vocabulary::{LiveTokens, TokenSet, TokenSetId, TokenSetRef, TokenTrie, TrieNode};

/// The tables of masks for one set of exits.
#[derive(Debug)]
pub(crate) struct MaskTables {
    pub(crate) spanners: SpannerTable,
    pub(crate) subsets: SpannerSubsets,
    pub(crate) partitions: TokenPartitions,
    pub(crate) automaton: StackAutomaton,
    /// The bytes before which the exits are.
    next_bytes: ByteSet,
    exits: Arc<ExitNodes>,
    /// The number of tokens.
    vocabulary_size: usize,
    /// The parts of masks, by the identity of the mask.
    parts: FxHashMap<TokenSetId, TokensAndExits>,
    parts_bytes: usize,
}

impl MaskTables {
    /// Tables for the tokens alone.
    pub(crate) fn without_exits(columns: ColumnTracker, vocabulary_size: usize) -> Self {
        Self::new(columns, ByteSet::EMPTY, Arc::default(), vocabulary_size)
    }

    /// Tables for the tokens and the exits before some bytes, where `may_end_text` tells whether a text can end with a
    /// lexeme of each terminal.
    pub(crate) fn with_exits(
        columns: ColumnTracker,
        next_bytes: ByteSet,
        trie: &TokenTrie,
        vocabulary_size: usize,
        may_end_text: Box<[bool]>,
    ) -> Self {
        let exits = ExitNodes::new(next_bytes, trie, vocabulary_size, may_end_text);
        Self::new(columns, next_bytes, Arc::new(exits), vocabulary_size)
    }

    fn new(
        columns: ColumnTracker,
        next_bytes: ByteSet,
        exits: Arc<ExitNodes>,
        vocabulary_size: usize,
    ) -> Self {
        Self {
            spanners: SpannerTable::new(columns, exits.clone(), vocabulary_size),
            subsets: SpannerSubsets::default(),
            partitions: TokenPartitions::default(),
            automaton: StackAutomaton::default(),
            next_bytes,
            exits,
            vocabulary_size,
            parts: FxHashMap::default(),
            parts_bytes: 0,
        }
    }

    /// Whether all nodes before some bytes are exits.
    pub(crate) fn has_exits_before(&self, next_bytes: ByteSet) -> bool {
        next_bytes.without(self.next_bytes).is_empty()
    }

    /// The number of tokens and exits.
    pub(crate) fn mask_size(&self) -> usize {
        self.vocabulary_size + self.exits.len()
    }

    /// The tokens and the exits of a mask; memoised for masks of these tables.
    pub(crate) fn parts(&mut self, mask: &TokenSetRef) -> TokensAndExits {
        if let Some(parts) = self.parts.get(&mask.id()) {
            return parts.clone();
        }
        let parts = self.split(mask);
        self.parts_bytes += size_of_val(mask.words()) + size_of_val(&parts.exits[..]) + 64;
        self.parts.insert(mask.id(), parts.clone());
        parts
    }

    /// As [`parts`](Self::parts), for a union of masks.
    pub(crate) fn split(&self, mask: &TokenSet) -> TokensAndExits {
        let (tokens, exits) = mask.split_at(self.vocabulary_size);
        let exits: Arc<[TrieNode]> = exits.iter().map(|exit| self.exits.node(exit.index())).collect();
        TokensAndExits { tokens: LiveTokens::from_dense(tokens.into()), exits }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.spanners.memory_bytes()
            + self.subsets.memory_bytes()
            + self.partitions.memory_bytes()
            + self.automaton.memory_bytes()
            + self.exits.memory_bytes()
            + self.parts_bytes
    }
}
