//! The legal tokens of a state, grouped by the cost of the state after them.
//!
//! A mask under a budget is the union of the groups of sufficiently small costs. One profile serves all budgets; it
//! costs a walk along the trie, and is cached by state.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use grammask_collections::append_only_vec::AppendOnlyVec;
use grammask_collections::segmented_array::SegmentedArray;
use grammask_diagnostics::{Deadline, GrammarError, LimitExceeded};
use grammask_engine::SetId;
use grammask_vocabulary::{LiveTokens, Mask, TokenId, TokenSet};

use super::successors;
use crate::GrammarCache;
use crate::options::EndMode;

/// The legal tokens of a state by cost.
#[derive(Debug)]
pub(super) struct Profile {
    /// Ascending by cost.
    groups: Box<[CostGroup]>,
    /// Whether no completion is known after some legal token.
    has_endless: bool,
}

/// The legal tokens of one cost.
#[derive(Debug)]
struct CostGroup {
    cost: u32,
    tokens: LiveTokens,
    /// The tokens of this and of all smaller costs.
    mask: OnceLock<Arc<Mask>>,
}

/// Profiles by state.
#[derive(Debug, Default)]
pub(super) struct ProfileCache {
    /// For each state the index of its profile plus one; zero if it is not cached.
    by_set: SegmentedArray<AtomicU32>,
    profiles: AppendOnlyVec<Arc<Profile>>,
    writers: Mutex<()>,
    bytes: Arc<AtomicUsize>,
}

impl ProfileCache {
    fn find(&self, set: SetId) -> Option<&Arc<Profile>> {
        let number = self.by_set.get(set.index())?.load(Ordering::Acquire).checked_sub(1)?;
        Some(self.profiles.get(number as usize))
    }

    fn insert(&self, set: SetId, profile: Arc<Profile>, max_bytes: usize) -> Arc<Profile> {
        let bytes = profile.memory_bytes() + size_of::<AtomicU32>();
        let _writer = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.find(set) {
            return known.clone();
        }
        if self.memory_bytes() + bytes <= max_bytes {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            // There are at most as many profiles as states, whose ids have 32 bits.
            let number = self.profiles.push(profile.clone()) as u32;
            self.by_set.get_or_alloc(set.index()).store(number + 1, Ordering::Release);
        }
        profile
    }

    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Profile {
    /// The least cost of a state after a token.
    pub(super) fn least_cost(&self) -> Option<u32> {
        self.groups.first().map(|group| group.cost)
    }

    /// The token of the smallest id among those of the least cost.
    pub(super) fn cheapest(&self) -> Option<TokenId> {
        self.groups.first().and_then(|group| group.tokens.iter().next())
    }

    /// Number of groups with a cost below `tokens`.
    fn affordable(&self, tokens: u32) -> usize {
        self.groups.partition_point(|group| group.cost < tokens)
    }

    /// Whether every legal token has a cost below `tokens`.
    fn is_ample(&self, tokens: u32) -> bool {
        !self.has_endless && self.affordable(tokens) == self.groups.len()
    }

    fn memory_bytes(&self) -> usize {
        let groups = self.groups.iter().map(|group| size_of::<CostGroup>() + group.tokens.memory_bytes());
        size_of::<Self>() + groups.sum::<usize>()
    }
}

impl GrammarCache {
    /// The mask of a state under a scarce budget, if it takes only lookups.
    pub(crate) fn lookup_scarce(&self, set: SetId, tokens: u32) -> Option<&Arc<Mask>> {
        let profile = self.costs().profiles.find(set)?;
        if profile.is_ample(tokens) {
            return self.lookup(set);
        }
        profile.groups[profile.affordable(tokens).checked_sub(1)?].mask.get()
    }

    /// The mask of a state under a scarce budget. It is not empty if the budget is at least the state's cost.
    pub(crate) fn scarce_mask(&self, set: SetId, tokens: u32) -> Result<Arc<Mask>, GrammarError> {
        let deadline = Deadline::after_first_check(self.limits().time);
        let profile = self.profile(set, &deadline).map_err(|limit| self.limit_error(limit))?;
        if profile.is_ample(tokens) {
            return self.mask(set);
        }
        let Some(last) = profile.affordable(tokens).checked_sub(1) else {
            return Err(self.dead_end(set));
        };
        Ok(profile.groups[last].mask.get_or_init(|| self.mask_of(&profile.groups[..=last])).clone())
    }

    fn mask_of(&self, groups: &[CostGroup]) -> Arc<Mask> {
        let size = self.vocabulary().size();
        let mut tokens = TokenSet::new(size);
        groups.iter().for_each(|group| group.tokens.add_to(&mut tokens));
        let tokens = LiveTokens::from_set(tokens);
        let bytes = &self.costs().profiles.bytes;
        bytes.fetch_add(size_of::<Mask>() + tokens.memory_bytes(), Ordering::Relaxed);
        self.costs().exact_masks.fetch_add(1, Ordering::Relaxed);
        Arc::new(Mask::counted(tokens, size, bytes.clone()))
    }

    /// The legal tokens of a state by cost. Cached.
    pub(super) fn profile(&self, set: SetId, deadline: &Deadline) -> Result<Arc<Profile>, LimitExceeded> {
        let profiles = &self.costs().profiles;
        if let Some(profile) = profiles.find(set) {
            return Ok(profile.clone());
        }
        let (engine, vocabulary) = (self.engine(), self.vocabulary());
        let ends = self.end() == EndMode::Eos && engine.is_complete(set);
        let mut by_cost: BTreeMap<u32, Vec<TokenId>> = BTreeMap::new();
        if ends {
            by_cost.insert(0, vocabulary.eos().to_vec());
        }
        let mut has_endless = false;
        successors::visit(engine, vocabulary, set, !ends, deadline, &mut |next, tokens| {
            match self.cost(next, deadline)? {
                Some(cost) => by_cost.entry(cost).or_default().extend_from_slice(tokens),
                None => has_endless = true,
            }
            Ok(())
        })?;
        let groups = by_cost.into_iter().map(|(cost, tokens)| CostGroup {
            cost,
            tokens: LiveTokens::new(tokens, vocabulary.size()),
            mask: OnceLock::new(),
        });
        let profile = Profile { groups: groups.collect(), has_endless };
        Ok(profiles.insert(set, Arc::new(profile), self.limits().memory_bytes))
    }
}
