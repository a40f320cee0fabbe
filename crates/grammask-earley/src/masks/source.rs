//! Masks of the context-free engine: which strategy computes them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use grammask_collections::measured_size::MeasuredSize;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{
    Effort, MaskCounts, MaskOutcome, MaskRequest, MaskSource, MaskStrategy, PrecomputeBudget, SetId, Steps,
    SuccessorGroups, walk,
};
use grammask_vocabulary::{LiveTokens, Mask, TokenId, Vocabulary};

use super::budget::{ComposeError, within_budget};
use super::compose::ComposedMask;
use super::computation::{MaskSources, RecalledSuperset, RuleSummaries};
use super::embedded_masks::EmbeddedMasks;
use super::equivalence_cache::{EquivalentMask, Superset};
use super::token_terminals::tokens_of_terminals;
use super::values::RepeatingTokens;
use crate::recognizer::{Recognizer, SetReader};
use grammask_grammar::EmbeddedId;

/// Computes masks of a [`Recognizer`]'s sets from summaries, or by a walk.
///
/// A new mask takes two locks, once each: that of the summaries, then that of the recogniser.
#[derive(Debug)]
pub struct ContextFreeMasks {
    recognizer: Arc<Recognizer>,
    pub(super) summaries: Mutex<RuleSummaries>,
    measured: MeasuredSize,
    /// The masks of the embedded grammars. Those with one engine share them.
    embedded: Vec<Arc<EmbeddedMasks>>,
    recalled: AtomicU64,
    composed: AtomicU64,
    walked: AtomicU64,
}

impl ContextFreeMasks {
    /// Masks of a recogniser's sets; nothing is computed yet. `embedded` has the sources of the embedded grammars'
    /// masks.
    #[must_use]
    pub fn new(recognizer: Arc<Recognizer>, embedded: Vec<Arc<dyn MaskSource>>) -> Self {
        Self {
            recognizer,
            summaries: Mutex::default(),
            measured: MeasuredSize::default(),
            embedded: EmbeddedMasks::of_sources(embedded),
            recalled: AtomicU64::new(0),
            composed: AtomicU64::new(0),
            walked: AtomicU64::new(0),
        }
    }

    pub(super) fn recognizer(&self) -> &Recognizer {
        &self.recognizer
    }

    /// The source of the masks of an embedded grammar.
    pub(super) fn embedded_source(&self, grammar: EmbeddedId) -> &dyn MaskSource {
        self.embedded[grammar.index()].source()
    }

    /// The outcome of the first attempt that applies: a cached mask, a cached superset whose tokens are confirmed, a mask
    /// that is composed. `None` if only a walk tells.
    fn attempt_without_walk(
        &self,
        request: &MaskRequest<'_>,
        effort: Effort,
        deadline: &Deadline,
    ) -> Result<Option<MaskOutcome>, LimitExceeded> {
        let summaries = match effort {
            Effort::Full => Some(self.summaries.lock().unwrap_or_else(PoisonError::into_inner)),
            Effort::Immediate => self.summaries.try_lock().ok(),
        };
        let Some(mut summaries) = summaries else { return Ok(Some(MaskOutcome::Declined)) };
        let mut reader = self.recognizer.read(request.set);
        if reader.may_exceed_bound(request.vocabulary.trie()) {
            return Ok(None);
        }
        // An immediate computation follows a lookup of an equivalent mask.
        if !reader.has_values()
            && effort == Effort::Full
            && let Some(mask) = self.recall(request, &reader, &mut summaries)
        {
            return Ok(Some(MaskOutcome::Mask(mask.cloned().unwrap_or_else(|mask| mask))));
        }
        if reader.has_values()
            && let Some(RecalledSuperset { superset, repeating }) =
                summaries.recall_superset(&mut reader, request.vocabulary)?
        {
            drop(reader);
            self.count_recalled();
            let confirmed = self.confirm(request, &superset, &repeating, effort, deadline);
            return Ok(Some(within_budget(confirmed)?.unwrap_or(MaskOutcome::Declined)));
        }
        if !reader.can_compose()? {
            return Ok(None);
        }
        within_budget(self.compose(request, reader, &mut summaries, effort, deadline))
    }

    /// The cached mask of a set that is equivalent to the requested one: as the cache holds it, or by itself where that
    /// is full.
    fn recall<'c>(
        &self,
        request: &MaskRequest<'c>,
        reader: &SetReader<'_>,
        summaries: &mut RuleSummaries,
    ) -> Option<Result<&'c Arc<Mask>, Arc<Mask>>> {
        let cached = summaries.recall(reader, request.vocabulary)?;
        self.count_recalled();
        let shared = request.cache.share(request.set, cached, request.max_cache_bytes);
        Some(shared.ok_or_else(|| cached.mask.clone()))
    }

    /// Counts a recalled mask. The lock on the summaries serialises writers.
    fn count_recalled(&self) {
        self.recalled.store(self.recalled.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn sources<'a>(&'a self, vocabulary: &'a Vocabulary, max_cache_bytes: usize) -> MaskSources<'a> {
        MaskSources { vocabulary, embedded: &self.embedded, max_cache_bytes }
    }

    /// Composes a mask from summaries.
    fn compose(
        &self,
        request: &MaskRequest<'_>,
        mut reader: SetReader<'_>,
        summaries: &mut RuleSummaries,
        effort: Effort,
        deadline: &Deadline,
    ) -> Result<MaskOutcome, ComposeError> {
        let vocabulary = request.vocabulary;
        let sources = self.sources(vocabulary, request.max_cache_bytes);
        let ComposedMask { live: mut parts, observation, decided, repeating } =
            summaries.compose(&mut reader, sources, effort, deadline)?;
        self.composed.fetch_add(1, Ordering::Relaxed);
        let mut of_terminals = tokens_of_terminals(&mut reader, vocabulary)?;
        for tokens in &mut of_terminals {
            if tokens.is_list() {
                *tokens = vocabulary.summaries().share(std::mem::replace(tokens, LiveTokens::none()));
            }
        }
        if reader.has_values() {
            drop(reader);
            let live = LiveTokens::union(&parts, vocabulary.size(), vocabulary.summaries());
            let superset = Arc::new(Superset { live, of_terminals, decided, mask: OnceLock::new() });
            if let Some(observation) = observation {
                summaries.remember(observation, EquivalentMask::Superset(superset.clone()));
            }
            return self.confirm(request, &superset, &repeating, effort, deadline);
        }
        drop(reader);
        parts.append(&mut of_terminals);
        let is_complete = self.recognizer.is_complete(request.set);
        let Some(cached) = request.finish(parts, is_complete) else { return Ok(MaskOutcome::DeadEnd) };
        if let Some(observation) = observation {
            summaries.remember(observation, EquivalentMask::Mask(cached.clone()));
        }
        Ok(MaskOutcome::Mask(cached.mask))
    }

    /// The mask of a set, given the one without conditions on values. Reads the tokens that may break a condition, with
    /// the lock of the recogniser.
    fn confirm(
        &self,
        request: &MaskRequest<'_>,
        superset: &Superset,
        repeating: &RepeatingTokens,
        effort: Effort,
        deadline: &Deadline,
    ) -> Result<MaskOutcome, ComposeError> {
        let Superset { live, of_terminals, mask: finished, .. } = superset;
        let candidates = superset.candidates(repeating);
        if !candidates.is_empty() && effort == Effort::Immediate {
            return Err(ComposeError::TooMuchWork);
        }
        let (mut illegal, mut added) = (Vec::new(), Vec::new());
        for token in candidates {
            let text = request.vocabulary.token(token).unwrap_or_default();
            let is_legal = self.recognizer.step_all(request.set, text, deadline)?.is_ok();
            match (live.contains(token), is_legal) {
                (true, false) => illegal.push(token),
                (false, true) => added.push(token),
                _ => {}
            }
        }
        let is_complete = self.recognizer.is_complete(request.set);
        let size = request.vocabulary.size();
        let is_whole = illegal.is_empty() && added.is_empty();
        if is_whole && let Some(cached) = finished.get() {
            let shared = request.cache.share(request.set, cached, request.max_cache_bytes);
            return Ok(MaskOutcome::Mask(shared.unwrap_or(&cached.mask).clone()));
        }
        let mut parts = vec![if is_whole { live.clone() } else { live.but(illegal, size) }];
        if !added.is_empty() {
            parts.push(LiveTokens::new(added, size));
        }
        parts.extend_from_slice(of_terminals);
        let Some(cached) = request.finish(parts, is_complete) else { return Ok(MaskOutcome::DeadEnd) };
        if is_whole {
            // Sets with the same superset are complete or not alike.
            let _ = finished.set(cached.clone());
        }
        Ok(MaskOutcome::Mask(cached.mask))
    }

    /// Computes a mask by a walk along the token trie.
    fn walk(&self, request: &MaskRequest<'_>, deadline: &Deadline) -> Result<MaskOutcome, LimitExceeded> {
        self.walked.fetch_add(1, Ordering::Relaxed);
        let (vocabulary, set) = (request.vocabulary, request.set);
        let mut tokens = walk(&*self.recognizer, vocabulary, set, deadline)?;
        let of_terminals = tokens_of_terminals(&mut self.recognizer.read(set), vocabulary)?;
        of_terminals.iter().for_each(|part| part.add_to(&mut tokens));
        let tokens = vocabulary.summaries().share(LiveTokens::from_set(tokens));
        let cached = request.finish(vec![tokens], self.recognizer.is_complete(set));
        Ok(cached.map_or(MaskOutcome::DeadEnd, |cached| MaskOutcome::Mask(cached.mask)))
    }
}

impl Superset {
    /// The tokens that may break a condition, sorted.
    fn candidates(&self, repeating: &RepeatingTokens) -> Vec<TokenId> {
        let excluded = repeating.excluded.iter().filter(|&&token| self.live.contains(token));
        let suspects = self.decided.suspects.iter();
        let mut candidates: Vec<TokenId> =
            suspects.chain(excluded).chain(&repeating.repeated).copied().collect();
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }
}

impl MaskSource for ContextFreeMasks {
    fn lookup_equivalent<'c>(&self, request: &MaskRequest<'c>) -> Option<&'c Arc<Mask>> {
        if request.strategy != MaskStrategy::Summaries {
            return None;
        }
        let mut summaries = self.summaries.try_lock().ok()?;
        let mut reader = self.recognizer.read(request.set);
        if !reader.has_values() {
            return self.recall(request, &reader, &mut summaries)?.ok();
        }
        if reader.may_exceed_bound(request.vocabulary.trie()) {
            return None;
        }
        let recalled = summaries.recall_superset(&mut reader, request.vocabulary).ok()??;
        let RecalledSuperset { superset, repeating } = &recalled;
        let cached = superset.mask.get().filter(|_| superset.candidates(repeating).is_empty());
        let Some(cached) = cached else {
            summaries.last_recalled = Some((request.set, recalled));
            return None;
        };
        self.count_recalled();
        request.cache.share(request.set, cached, request.max_cache_bytes)
    }

    fn compute(
        &self,
        request: &MaskRequest<'_>,
        effort: Effort,
        deadline: &Deadline,
    ) -> Result<MaskOutcome, LimitExceeded> {
        if request.strategy == MaskStrategy::Summaries
            && let Some(outcome) = self.attempt_without_walk(request, effort, deadline)?
        {
            return Ok(outcome);
        }
        match effort {
            Effort::Immediate => Ok(MaskOutcome::Declined),
            Effort::Full => self.walk(request, deadline),
        }
    }

    fn successor_groups(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<SuccessorGroups>, LimitExceeded> {
        self.groups_inside_embedded(set, vocabulary, deadline)
    }

    fn summary_bytes(&self) -> usize {
        let is_first = |&index: &usize| {
            !self.embedded[..index].iter().any(|masks| Arc::ptr_eq(masks, &self.embedded[index]))
        };
        let distinct = (0..self.embedded.len()).filter(is_first);
        let of_embedded: usize = distinct.map(|index| self.embedded[index].memory_bytes()).sum();
        self.measured.of(&self.summaries, RuleSummaries::memory_bytes) + of_embedded
    }

    fn describe_plans(
        &self,
        vocabulary: &Vocabulary,
        set: SetId,
        deadline: &Deadline,
    ) -> Result<String, LimitExceeded> {
        let mut reader = self.recognizer.read(set);
        if !reader.can_compose()? {
            return Ok("walk along the trie: the grammar counts tokens\n".to_owned());
        }
        let sources = self.sources(vocabulary, usize::MAX);
        let plans = within_budget(RuleSummaries::default().plans(&mut reader, sources, deadline))?;
        Ok(plans.unwrap_or_else(|| "walk along the trie: composing takes too much work\n".to_owned()))
    }

    /// Computes the summaries of terminals, the slow part of first masks; masks are left to the caller.
    fn precompute(
        &self,
        vocabulary: &Vocabulary,
        budget: PrecomputeBudget,
        proceed: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Option<usize>, LimitExceeded> {
        let sources = self.sources(vocabulary, budget.max_bytes);
        let is_stopped = self.precompute_terminals(sources, budget, proceed)?;
        Ok(is_stopped.then_some(0))
    }

    fn counts(&self) -> MaskCounts {
        MaskCounts {
            recalled: self.recalled.load(Ordering::Relaxed),
            composed: self.composed.load(Ordering::Relaxed),
            walked: self.walked.load(Ordering::Relaxed),
        }
    }
}
