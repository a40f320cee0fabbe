//! The state of computing one mask, and the caches of the summaries that it is composed from.
//!
//! The computation itself is in [`super::compose`] (sets), [`super::fixpoint`] (nonterminals), [`super::terminal`] and
//! [`super::embedded`].

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lowering::{Advance, DotId};
use crate::recognizer::{ContinuationId, ItemState, Machine, SetReader};
use grammask_automata::{LengthLimit, StateId, TermId};
use grammask_engine::SetId;
use grammask_vocabulary::{
    LiveTokens, NodeSetId, NodeSetRef, TerminalSummary, TokenSetId, TokenTrie, TrieNode, Vocabulary,
};

use super::budget::WorkBudget;
use super::embedded_masks::{EmbeddedMasks, EmbeddedSummaries};
use super::equivalence_cache::{EquivalenceCache, Superset};
use super::summary::{BaseSummary, FirstLimitedWalk, SymbolSummary};
use super::terminal::table_walk::TableScratch;
use super::values::{RepeatingTokens, ValueNodes};
use super::worklist::{ClosurePlace, LeftCornerClosure, Worklist};

/// Memo table by symbol and node set.
type ByNodes<K, V> = FxHashMap<(K, NodeSetId), V>;

/// The cached mask of a set that is equivalent but for its values.
#[derive(Debug)]
pub(crate) struct RecalledSuperset {
    pub(crate) superset: Arc<Superset>,
    /// The tokens whose legality depends on the remembered values.
    pub(crate) repeating: RepeatingTokens,
}

/// Caches of the summaries and masks of one compiled grammar.
#[derive(Debug, Default)]
pub(crate) struct RuleSummaries {
    pub(super) closures: FxHashMap<(usize, ClosurePlace), Arc<LeftCornerClosure>>,
    pub(super) nonterminals: ByNodes<usize, SymbolSummary>,
    /// Summaries of the remaining copies of a repetition, by the dot before them.
    pub(super) repetitions: ByNodes<DotId, SymbolSummary>,
    pub(super) terminals: TerminalCache,
    /// The nodes at which inexhaustible values are complete, by their initial state.
    pub(super) completed_values: ByNodes<StateId, Option<Arc<ValueNodes>>>,
    /// The nodes at and below a node at which a word is complete, by the state in which it is entered.
    pub(super) words_below: FxHashMap<(StateId, TrieNode), Arc<[TrieNode]>>,
    pub(super) embedded: EmbeddedSummaries,
    /// The nonterminals that nothing can follow; computed on demand.
    pub(super) last_nonterminals: Option<Box<[bool]>>,
    pub(super) equivalent: EquivalenceCache,
    pub(super) worklist: Worklist<ContinuationId>,
    /// A recalled superset of which the mask was not shared. It is looked up a second time.
    pub(super) last_recalled: Option<(SetId, RecalledSuperset)>,
    /// The last set without an equivalent cached mask, while no mask was added.
    pub(super) last_miss: Option<SetId>,
    /// Addresses of the token sets counted in `bytes`. The summaries keep the sets alive.
    token_sets: FxHashSet<TokenSetId>,
    pub(super) bytes: usize,
    /// See [`setbacks_after`].
    pub(super) setbacks: u32,
}

/// Caches of the automaton states of one compiled grammar.
#[derive(Debug, Default)]
pub(super) struct TerminalCache {
    pub(super) summaries: ByNodes<StateId, Arc<TerminalSummary>>,
    /// The most recent summaries of states with many live tokens below the root.
    pub(super) bases: Vec<BaseSummary>,
    /// Whether a state begins a prefix code.
    pub(super) prefix_codes: FxHashMap<StateId, bool>,
    /// See [`MaskComputation::longest_completion`].
    pub(super) longest_completions: FxHashMap<StateId, Option<usize>>,
    /// Summaries of an intersection with a length limit and the term after it, and whether the intersection may be
    /// left out.
    pub(super) limited: FxHashMap<(LengthLimit, bool, TermId, NodeSetId), TerminalSummary>,
    /// Number of walks without a length limit that gave up.
    pub(super) limited_setbacks: u32,
    /// The first walk among intersections that differ only in the bounds of repetitions, by the hashes of the one
    /// without bounds.
    pub(super) first_limited_walks: FxHashMap<([u128; 3], NodeSetId), FirstLimitedWalk>,
    pub(super) table_scratch: TableScratch,
}

impl RuleSummaries {
    /// Estimated memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes + self.equivalent.memory_bytes() + self.terminals.table_scratch.memory_bytes()
    }

    /// Adds the memory of a new cache entry: that of its live tokens, and some bytes more.
    pub(super) fn add_bytes(&mut self, live: &LiveTokens, more: usize) {
        let new = live.base().filter(|base| self.token_sets.insert(base.id()));
        self.bytes += live.memory_bytes() + new.map_or(0, |base| size_of_val(base.words())) + more;
    }

    /// The computation of the mask of the reader's set.
    pub(super) fn computation<'a>(
        &'a mut self,
        reader: &'a mut SetReader<'_>,
        sources: MaskSources<'a>,
        budget: WorkBudget<'a>,
        tokens_left: Vec<(ItemState, u32)>,
    ) -> MaskComputation<'a> {
        let MaskSources { vocabulary, embedded: embedded_masks, max_cache_bytes } = sources;
        let [nothing, root] = vocabulary.summaries().empty_and_root(vocabulary.trie());
        MaskComputation {
            machine: reader.machine(),
            vocabulary,
            embedded_masks,
            max_cache_bytes,
            trie: vocabulary.trie(),
            nothing,
            root,
            summaries: self,
            budget,
            tokens_left,
            plans: None,
        }
    }
}

/// The parts of a mask that are computed elsewhere.
#[derive(Clone, Copy)]
pub(super) struct MaskSources<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) embedded: &'a [Arc<EmbeddedMasks>],
    /// Maximum size of the cache of each embedded grammar's masks, in bytes.
    pub(super) max_cache_bytes: usize,
}

/// The computation of one mask.
pub(super) struct MaskComputation<'a> {
    pub(super) machine: Machine<'a>,
    pub(super) vocabulary: &'a Vocabulary,
    /// The masks of the embedded grammars, and the maximum size of the cache of each, in bytes.
    pub(super) embedded_masks: &'a [Arc<EmbeddedMasks>],
    pub(super) max_cache_bytes: usize,
    pub(super) trie: &'a TokenTrie,
    /// The interned empty node set, and that of the root.
    pub(super) nothing: &'a NodeSetRef,
    pub(super) root: &'a NodeSetRef,
    pub(super) summaries: &'a mut RuleSummaries,
    pub(super) budget: WorkBudget<'a>,
    /// See [`MaskItems::tokens_left`].
    pub(super) tokens_left: Vec<(ItemState, u32)>,
    /// A line for the plan of each terminal, recorded for `grammask debug plans`.
    pub(super) plans: Option<String>,
}

impl MaskComputation<'_> {
    /// Whether nothing can follow the symbol after a dot, in any text.
    pub(super) fn is_last(&mut self, dot: DotId) -> bool {
        let form = self.machine.form;
        let Advance { completes, next } = form.advance(dot);
        if !completes || next.is_some() {
            return false;
        }
        let last = self.summaries.last_nonterminals.get_or_insert_with(|| form.last_nonterminals());
        last[form.production_of(dot).lhs.index()]
    }

    /// The summary of a symbol without words below a node set.
    pub(super) fn empty(&self) -> SymbolSummary {
        SymbolSummary { live: LiveTokens::none(), ends: self.nothing.clone(), values: None }
    }
}
