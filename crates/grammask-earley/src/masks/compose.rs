//! Masks composed from symbol summaries.
//!
//! For a symbol X and a set P of trie nodes let
//!
//! ```text
//! ends(X, P) = nodes below some node of P whose path from it is a word of X
//! live(X, P) = tokens below some node of P whose path from it is a nonempty prefix of a word of X
//! ```
//!
//! Then `live(XY, P) = live(X, P) ∪ live(Y, ends(X, P))` and `ends(XY, P) = ends(Y, ends(X, P))`, alternatives are
//! unions, and nonterminals are least fixpoints ([`super::fixpoint`]): nothing is nullable, so nodes only get deeper
//! and the recursion terminates. Both are linear in P, so fixpoints and continuations process new nodes only. The mask
//! of a set is the union, over the items of its kernel, of the live tokens of the rest of their productions and of the
//! continuations that these resume.
//!
//! This is exact for every context-free grammar. Each part is computed once: summaries of terminals are cached with the
//! vocabulary ([`SummaryCache`](grammask_vocabulary::SummaryCache)), those of nonterminals here, by node set.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lowering::{Advance, DotId};
use crate::recognizer::{
    CompletedValue, ContinuationId, CoreId, Item, ItemState, Machine, MaskItems, OpenValue, RepeatingNodes,
    SetReader,
};
use grammask_automata::{LengthLimit, StateId, TermId};
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{CachedMask, Effort, SetId};
use grammask_vocabulary::{
    GrowingNodeSet, LiveTokens, NodeSetId, NodeSetRef, TerminalSummary, TokenId, TokenSetId, TokenTrie,
    TrieNode, Vocabulary,
};

use super::budget::{ComposeError, WorkBudget, setbacks_after};
use super::embedded::{EmbeddedMasks, EmbeddedSummaries};
use super::equivalence_cache::{EquivalenceCache, EquivalentMask, Observation, ObservedParts, Superset};
use super::fixpoint::{ClosurePlace, LeftCornerClosure, Worklist};
use super::terminal::length_limits::FirstLimitedWalk;
use super::terminal::table_walk::TableScratch;
use super::terminal::walk::{BaseSummary, Wanted};
use super::values::{DecidedByValues, RepeatingTokens, Suspects, ValueNodes};

/// Memo table by symbol and node set.
type ByNodes<K, V> = FxHashMap<(K, NodeSetId), V>;

/// The live tokens and ends of a symbol below a node set.
#[derive(Clone, Debug)]
pub(super) struct SymbolSummary {
    pub(super) live: LiveTokens,
    pub(super) ends: NodeSetRef,
    /// The nodes of values, if some may begin after the root.
    pub(super) values: Option<Arc<ValueNodes>>,
}

/// The result of a computation.
struct MaskParts {
    /// Tokens, as sets to be united.
    live: Vec<LiveTokens>,
    /// The continuations that were resumed, in order.
    resumed: Vec<ContinuationId>,
    /// The tokens that may be illegal whatever is remembered.
    suspects: Vec<TokenId>,
    /// The inexhaustible values that are complete, of those that began after the root, sorted.
    complete: Box<[CompletedValue]>,
}

/// The parts of a mask.
#[derive(Debug)]
pub(crate) struct ComposedMask {
    /// Tokens, as sets to be united.
    pub(crate) live: Vec<LiveTokens>,
    /// The observed part of the set; `None` if the mask depends on more.
    pub(crate) observation: Option<Observation>,
    /// How the values of the set and those after it constrain them.
    pub(crate) decided: DecidedByValues,
    /// The tokens whose legality depends on the remembered values.
    pub(crate) repeating: RepeatingTokens,
}

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
    last_nonterminals: Option<Box<[bool]>>,
    equivalent: EquivalenceCache,
    worklist: Worklist<ContinuationId>,
    /// A recalled superset of which the mask was not shared. It is looked up a second time.
    pub(super) last_recalled: Option<(SetId, RecalledSuperset)>,
    /// The last set without an equivalent cached mask, while no mask was added.
    last_miss: Option<SetId>,
    /// Addresses of the token sets counted in `bytes`. The summaries keep the sets alive.
    token_sets: FxHashSet<TokenSetId>,
    pub(super) bytes: usize,
    /// See [`setbacks_after`].
    setbacks: u32,
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

    /// The cached mask of a set that is equivalent to the reader's, in a grammar without values.
    pub(crate) fn recall(&mut self, reader: &SetReader<'_>, vocabulary: &Vocabulary) -> Option<&CachedMask> {
        // The mask of a set is looked up a second time before it is computed.
        if self.last_miss == Some(reader.set()) {
            return None;
        }
        let Self { equivalent, last_miss, .. } = self;
        let (core, kernel) = reader.core();
        let cached = equivalent.recall(observed_parts(reader, vocabulary), core, kernel);
        *last_miss = cached.is_none().then_some(reader.set());
        match cached? {
            EquivalentMask::Mask(mask) => Some(mask),
            EquivalentMask::Superset(_) => None,
        }
    }

    /// The cached mask of a set that is equivalent to the reader's but for its values, and the tokens whose legality
    /// depends on them.
    pub(crate) fn recall_superset(
        &mut self,
        reader: &mut SetReader<'_>,
        vocabulary: &Vocabulary,
    ) -> Result<Option<RecalledSuperset>, LimitExceeded> {
        if self.last_miss == Some(reader.set()) {
            return Ok(None);
        }
        if let Some((set, recalled)) = self.last_recalled.take()
            && set == reader.set()
        {
            return Ok(Some(recalled));
        }
        let Self { equivalent, last_miss, .. } = self;
        let without_values = reader.core_without_values();
        let (core, kernel) = observed_core(reader, &without_values);
        let found = equivalent.recall(observed_parts(reader, vocabulary), core, kernel);
        let Some(EquivalentMask::Superset(superset)) = found else {
            *last_miss = Some(reader.set());
            return Ok(None);
        };
        let (trie, decided) = (vocabulary.trie(), &superset.decided);
        let nodes = match (reader.may_run_out_of_values(), decided.has_open_values, decided.begins_value) {
            (false, false, _) => Some(RepeatingNodes::default()),
            (false, true, begins_value) => reader.repeating_nodes(begins_value, trie)?,
            _ => None,
        };
        let repeating = match nodes {
            Some(nodes) => RepeatingTokens::of_nodes(nodes, decided, reader, trie),
            None => {
                let Some(values) = reader.open_values(trie)? else { return Ok(None) };
                RepeatingTokens::new(&values, decided, reader, trie)
            }
        };
        Ok(Some(RecalledSuperset { superset: superset.clone(), repeating }))
    }

    /// Adds the memory of a new cache entry: that of its live tokens, and some bytes more.
    pub(super) fn add_bytes(&mut self, live: &LiveTokens, more: usize) {
        let new = live.base().filter(|base| self.token_sets.insert(base.id()));
        self.bytes += live.memory_bytes() + new.map_or(0, |base| size_of_val(base.words())) + more;
    }

    /// Caches the finished mask of all sets with this observation.
    pub(crate) fn remember(&mut self, observation: Observation, mask: EquivalentMask) {
        self.last_miss = None;
        if let EquivalentMask::Superset(superset) = &mask {
            self.add_bytes(&superset.live, superset.decided.memory_bytes());
        }
        self.equivalent.remember(observation, mask);
    }

    /// The tokens that can follow the reader's set. End tokens and the tokens of token terminals are left out. Terminals
    /// that count tokens must have ample ones, embedded grammars aside.
    ///
    /// # Errors
    /// When a limit is exceeded, or a walk is the better strategy.
    pub(crate) fn compose(
        &mut self,
        reader: &mut SetReader<'_>,
        sources: MaskSources<'_>,
        effort: Effort,
        deadline: &Deadline,
    ) -> Result<ComposedMask, ComposeError> {
        let vocabulary = sources.vocabulary;
        let (values, MaskItems { items, is_embedded, tokens_left }) = mask_input(reader, vocabulary)?;
        let budget = WorkBudget::new(effort, self.setbacks, deadline);
        let result = self.computation(reader, sources, budget, tokens_left).mask(&items, &values);
        self.setbacks = setbacks_after(self.setbacks, effort, &result);
        let MaskParts { live, resumed, suspects, complete } = result?;
        let trie = vocabulary.trie();
        let completing = reader.values_completed_at(&complete, trie);
        let decided = DecidedByValues::new(suspects, completing, &values);
        let repeating = RepeatingTokens::new(&values, &decided, reader, trie);
        if is_embedded {
            // The computation read continuations that it did not resume.
            return Ok(ComposedMask { live, observation: None, decided, repeating });
        }
        let without_values = reader.core_without_values();
        let (core, kernel) = observed_core(reader, &without_values);
        let observation = self.equivalent.observe(observed_parts(reader, vocabulary), core, kernel, &resumed);
        Ok(ComposedMask { live, observation: Some(observation), decided, repeating })
    }

    /// Computes the mask of the reader's set, and describes the plans of the terminals that it reads, a line each.
    ///
    /// # Errors
    /// As for [`Self::compose`].
    pub(crate) fn plans(
        &mut self,
        reader: &mut SetReader<'_>,
        sources: MaskSources<'_>,
        deadline: &Deadline,
    ) -> Result<String, ComposeError> {
        let (values, MaskItems { items, tokens_left, .. }) = mask_input(reader, sources.vocabulary)?;
        let budget = WorkBudget::new(Effort::Full, 0, deadline);
        let mut computation = self.computation(reader, sources, budget, tokens_left);
        computation.plans = Some(String::new());
        computation.mask(&items, &values)?;
        Ok(computation.plans.unwrap_or_default())
    }

    fn computation<'a>(
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

/// The open values and the items of the mask of the reader's set.
///
/// # Errors
/// When a limit is exceeded, or a walk is the better strategy.
fn mask_input(
    reader: &mut SetReader<'_>,
    vocabulary: &Vocabulary,
) -> Result<(Vec<OpenValue>, MaskItems), ComposeError> {
    let values = reader.open_values(vocabulary.trie())?.ok_or(ComposeError::TooMuchWork)?;
    let items = reader.mask_items()?;
    if items.is_embedded && !values.is_empty() {
        // Open values are composed with the items of the kernel.
        return Err(ComposeError::TooMuchWork);
    }
    Ok((values, items))
}

/// The core of a set and its continuations: those without values if the set has some.
fn observed_core<'a>(
    reader: &'a SetReader<'_>,
    without_values: &'a Option<(CoreId, Box<[ContinuationId]>)>,
) -> (CoreId, &'a [ContinuationId]) {
    match without_values {
        Some((core, kernel)) => (*core, kernel),
        None => reader.core(),
    }
}

fn observed_parts<'a>(reader: &'a SetReader<'_>, vocabulary: &Vocabulary) -> ObservedParts<'a> {
    let reach = u32::try_from(vocabulary.trie().max_depth()).unwrap_or(u32::MAX);
    ObservedParts { form: reader.normal_form(), continuations: reader.continuations(), reach }
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
    /// The parts of the mask.
    fn mask(&mut self, items: &[Item], values: &[OpenValue]) -> Result<MaskParts, ComposeError> {
        let mut worklist = std::mem::take(&mut self.summaries.worklist);
        let mut suspects = Suspects::default();
        self.set(items, values, &mut worklist, &mut suspects)?;
        let live = std::mem::take(&mut worklist.live);
        let mut resumed = std::mem::take(&mut suspects.resumed);
        resumed.extend(worklist.completed());
        self.summaries.worklist = worklist.cleared();
        let complete = suspects.complete();
        let suspects = suspects.tokens(self.trie, &live);
        Ok(MaskParts { live, resumed, suspects, complete })
    }

    /// Adds the live tokens of a set to the worklist; returns the nodes at which its text may be complete.
    pub(super) fn set(
        &mut self,
        items: &[Item],
        values: &[OpenValue],
        worklist: &mut Worklist<ContinuationId>,
        suspects: &mut Suspects,
    ) -> Result<GrowingNodeSet, ComposeError> {
        let root = self.root;
        // With room for the continuations of an item, and for the end of the text.
        worklist.live = Vec::with_capacity(items.len() + 3);
        for value in values {
            self.open_value(value, worklist, suspects)?;
        }
        let mut embedded: Vec<(ItemState, SymbolSummary)> = Vec::new();
        for item in items {
            match item.state.automaton_state() {
                Some(state) => {
                    if self.is_last(item.dot) {
                        worklist.live.push(self.summary(state, root, Wanted::Live)?.live.clone());
                        continue;
                    }
                    let SymbolSummary { live, ends, .. } = self.terminal(state, root)?;
                    worklist.live.push(live);
                    worklist.advance(self, item.dot, item.continuation, ends)?;
                }
                None if item.state.embedded_index().is_some() => {
                    let summary = match embedded.iter().find(|(state, _)| *state == item.state) {
                        Some((_, known)) => known.clone(),
                        None => {
                            let summary = self.inside_embedded(item.state, items)?;
                            embedded.push((item.state, summary.clone()));
                            worklist.live.push(summary.live.clone());
                            summary
                        }
                    };
                    if !self.is_last(item.dot) {
                        worklist.advance(self, item.dot, item.continuation, summary.ends)?;
                    }
                }
                None if item.state == ItemState::TOKEN || item.state.is_in_value() => {}
                None => {
                    for dot in self.machine.form.expanded(item.dot)? {
                        worklist.push(dot, item.continuation, root.clone());
                    }
                }
            }
        }
        let mut complete = GrowingNodeSet::default();
        loop {
            if worklist.process_dot(self, 0)? {
                continue;
            }
            let Some((continuation, nodes)) = worklist.next_completed(self) else { break };
            let content = self.machine.continuations.get(continuation);
            if content.core.ends && self.machine.has_values {
                let _ = complete.add(&nodes, self.trie, self.vocabulary.summaries());
            }
            for (dot, next) in content.entries() {
                if self.machine.form.is_scope_end(dot) {
                    worklist.complete(self, next, &nodes);
                    continue;
                }
                for dot in self.machine.form.expanded(dot)? {
                    worklist.push(dot, next, nodes.clone());
                }
            }
        }
        suspects.values.append(&mut worklist.values);
        Ok(complete)
    }

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
