//! The legal tokens of a state, grouped by the cost of the state after them.
//!
//! A mask under a budget is the union of the groups of sufficiently small costs. One profile serves all budgets, and is
//! cached by state. It reads the legal tokens one by one if they are few, and takes shared groups of those that stay
//! inside a terminal.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use grammask_collections::append_only_vec::AppendOnlyVec;
use grammask_collections::segmented_array::SegmentedArray;
use grammask_diagnostics::{Code, Deadline, GrammarError, LimitExceeded};
use grammask_engine::{AnonymousValues, BoundTexts, SetId, TokenEvent};
use grammask_vocabulary::{LiveTokens, Mask, TokenId};

use super::grouped::{GroupedWalk, MIN_NODES, VisitGroup, VisitedTokens, WalkedTexts};
use super::successors::SuccessorWalk;
use super::values::SharedGroups;
use crate::GrammarCache;
use crate::options::EndMode;

/// Maximum number of legal tokens that are read one by one.
const MAX_FEW_TOKENS: usize = 64;

/// The legal tokens of a state by cost.
#[derive(Debug)]
pub(super) struct CostProfile {
    /// Ascending by cost.
    groups: Box<[CostGroup]>,
    /// Whether some tokens are in no group, since no completion is known after them.
    has_endless: bool,
}

/// Tokens of one cost.
#[derive(Debug)]
struct CostGroup {
    cost: u32,
    /// Their union is the tokens.
    parts: Box<[LiveTokens]>,
    /// The tokens of this and of all smaller costs.
    mask: OnceLock<Arc<Mask>>,
}

/// Tokens while they are being grouped.
#[derive(Default)]
struct Grouping {
    groups: Vec<GrowingGroup>,
    /// Index of the group to which tokens were added last; usually they go to it again.
    last: usize,
    has_endless: bool,
}

/// Tokens of one cost while they are being collected.
struct GrowingGroup {
    cost: u32,
    listed: Vec<TokenId>,
    shared: Vec<LiveTokens>,
}

/// A state that several texts share.
enum SharedState<'a> {
    /// One with anonymous values.
    Anonymous(&'a dyn AnonymousValues, SetId),
    /// One with unknown bound texts.
    Unknown(&'a dyn BoundTexts, SetId),
}

/// Profiles by state.
#[derive(Debug, Default)]
pub(super) struct ProfileCache {
    /// For each state the index of its profile plus one; zero if it is not cached.
    by_set: SegmentedArray<AtomicU32>,
    profiles: AppendOnlyVec<Arc<CostProfile>>,
    /// The groups of states with anonymous values, or with unknown texts.
    shared: Mutex<FxHashMap<SetId, Arc<SharedGroups>>>,
    writers: Mutex<()>,
    bytes: Arc<AtomicUsize>,
}

impl ProfileCache {
    fn find(&self, set: SetId) -> Option<&Arc<CostProfile>> {
        let number = self.by_set.get(set.index())?.load(Ordering::Acquire).checked_sub(1)?;
        Some(self.profiles.get(number as usize))
    }

    fn insert(&self, set: SetId, profile: Arc<CostProfile>, max_bytes: usize) -> Arc<CostProfile> {
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

    pub(super) fn find_shared(&self, set: SetId) -> Option<Arc<SharedGroups>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).get(&set).cloned()
    }

    pub(super) fn insert_shared(
        &self,
        set: SetId,
        groups: Arc<SharedGroups>,
        max_bytes: usize,
    ) -> Arc<SharedGroups> {
        let bytes = groups.memory_bytes() + size_of::<(SetId, Arc<SharedGroups>)>();
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if self.memory_bytes() + bytes > max_bytes {
            return groups;
        }
        let known = shared.entry(set).or_insert_with(|| {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            groups
        });
        known.clone()
    }

    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl CostProfile {
    /// The least cost of a state after a token.
    pub(super) fn least_cost(&self) -> Option<u32> {
        self.groups.first().map(|group| group.cost)
    }

    /// The token of the smallest id among those of the least cost.
    pub(super) fn cheapest(&self) -> Option<TokenId> {
        let firsts = self.groups.first()?.parts.iter().filter_map(|part| part.iter().next());
        firsts.min()
    }

    /// Number of groups with a cost below `tokens`.
    fn affordable(&self, tokens: u32) -> usize {
        self.groups.partition_point(|group| group.cost < tokens)
    }

    /// The cost of a token; `None` if it is in no group.
    fn cost_of(&self, token: TokenId) -> Option<u32> {
        let has_token = |group: &&CostGroup| group.parts.iter().any(|part| part.contains(token));
        self.groups.iter().find(has_token).map(|group| group.cost)
    }

    /// Whether every legal token has a cost below `tokens`.
    fn is_ample(&self, tokens: u32) -> bool {
        !self.has_endless && self.affordable(tokens) == self.groups.len()
    }

    fn memory_bytes(&self) -> usize {
        let parts = |group: &CostGroup| group.parts.iter().map(LiveTokens::memory_bytes).sum::<usize>();
        let groups = self.groups.iter().map(|group| size_of::<CostGroup>() + parts(group));
        size_of::<Self>() + groups.sum::<usize>()
    }
}

impl Grouping {
    fn add(&mut self, cost: Option<u32>, tokens: VisitedTokens<'_>) {
        let Some(cost) = cost else {
            self.has_endless = true;
            return;
        };
        if self.groups.get(self.last).is_none_or(|group| group.cost != cost) {
            let position = self.groups.iter().position(|group| group.cost == cost);
            self.last = position.unwrap_or_else(|| {
                self.groups.push(GrowingGroup { cost, listed: Vec::new(), shared: Vec::new() });
                self.groups.len() - 1
            });
        }
        let group = &mut self.groups[self.last];
        match tokens {
            VisitedTokens::Listed(tokens) => group.listed.extend_from_slice(tokens),
            VisitedTokens::Shared(tokens) if tokens.is_list() => group.listed.extend(tokens.iter()),
            VisitedTokens::Shared(tokens) => group.shared.push(tokens),
        }
    }

    fn finish(mut self, size: usize) -> CostProfile {
        self.groups.sort_unstable_by_key(|group| group.cost);
        let groups = self.groups.into_iter().map(|GrowingGroup { cost, listed, shared: mut parts }| {
            if !listed.is_empty() {
                parts.push(LiveTokens::new(listed, size));
            }
            CostGroup { cost, parts: parts.into(), mask: OnceLock::new() }
        });
        CostProfile { groups: groups.collect(), has_endless: self.has_endless }
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
        let deadline = self.deadline();
        let profile = self.profile(set, &deadline).map_err(|limit| self.limit_error(limit))?;
        if profile.is_ample(tokens) {
            return self.mask(set);
        }
        let Some(last) = profile.affordable(tokens).checked_sub(1) else {
            return Err(self.dead_end(set));
        };
        Ok(profile.groups[last].mask.get_or_init(|| self.mask_of(&profile, last)).clone())
    }

    /// The least budget with which a legal token of a state is allowed; `None` if no completion is known.
    pub(super) fn needed_by_profile(&self, set: SetId, token: TokenId) -> Result<Option<u32>, GrammarError> {
        let deadline = self.deadline();
        let profile = self.profile(set, &deadline).map_err(|limit| self.limit_error(limit))?;
        Ok(profile.cost_of(token).map(|cost| cost + 1))
    }

    /// The tokens of all groups up to the last one.
    fn mask_of(&self, profile: &CostProfile, last: usize) -> Arc<Mask> {
        let size = self.vocabulary().size();
        let summaries = self.vocabulary().summaries();
        let parts = profile.groups[..=last].iter().flat_map(|group| group.parts.iter().cloned());
        let tokens = LiveTokens::union(&parts.collect::<Vec<_>>(), size, summaries);
        let costs = self.costs();
        costs.masks.fetch_add(1, Ordering::Relaxed);
        if let Some(mask) = summaries.mask(&tokens, size) {
            return mask;
        }
        let bytes = &costs.profiles.bytes;
        bytes.fetch_add(size_of::<Mask>() + tokens.memory_bytes(), Ordering::Relaxed);
        Arc::new(Mask::counted(tokens, size, bytes.clone()))
    }

    /// The legal tokens of a state by cost. Cached.
    pub(super) fn profile(&self, set: SetId, deadline: &Deadline) -> Result<Arc<CostProfile>, LimitExceeded> {
        let profiles = &self.costs().profiles;
        if let Some(profile) = profiles.find(set) {
            return Ok(profile.clone());
        }
        let (engine, vocabulary) = (self.engine(), self.vocabulary());
        let ends = self.end() == EndMode::Eos && engine.is_complete(set);
        let first = || {
            let mut grouping = Grouping::default();
            if ends {
                grouping.add(Some(0), VisitedTokens::Listed(vocabulary.eos()));
            }
            grouping
        };
        let mut grouping = first();
        // Neighbours in the trie usually lead to the same state.
        let mut last: Option<(SetId, Option<u32>)> = None;
        let visited = match self.shared_state(set, deadline)? {
            Some(SharedState::Anonymous(values, anonymous)) => {
                let add = &mut |cost, tokens: VisitedTokens<'_>| grouping.add(cost, tokens);
                self.cost_tokens_of_values(values, set, anonymous, deadline, add)
            }
            Some(SharedState::Unknown(texts, unknown)) => {
                let add = &mut |cost, tokens: VisitedTokens<'_>| grouping.add(cost, tokens);
                self.cost_tokens_of_bound_texts(texts, set, unknown, deadline, add)
            }
            None => self.visit_legal(set, !ends, deadline, &mut |next, tokens| {
                if last.is_none_or(|(known, _)| known != next) {
                    last = Some((next, self.cost(next, deadline)?));
                }
                grouping.add(last.and_then(|(_, cost)| cost), tokens);
                Ok(())
            }),
        };
        match visited {
            Err(limit) if limit.is_set_items() => {
                // Some token leads to a state with too many items, and belongs to no group.
                grouping = first();
                let Ok(mask) = self.mask(set) else { return Err(limit) };
                for token in mask.iter().filter(|&token| !ends || !vocabulary.is_eos(token)) {
                    let text = vocabulary.token(token);
                    let event = TokenEvent { id: token, has_text: text.is_some() };
                    let next = match engine.read_token(set, event, text, deadline) {
                        Err(limit) if limit.is_set_items() => None,
                        next => next?,
                    };
                    let Some(next) = next else {
                        grouping.has_endless = true;
                        continue;
                    };
                    grouping.add(self.cost(next, deadline)?, VisitedTokens::Listed(&[token]));
                }
            }
            visited => visited?,
        }
        let profile = grouping.finish(vocabulary.size());
        Ok(profiles.insert(set, Arc::new(profile), self.limits().memory_bytes))
    }

    /// The state, shared by several texts, from which the costs of a state's tokens are found, if there is one.
    fn shared_state(
        &self,
        set: SetId,
        deadline: &Deadline,
    ) -> Result<Option<SharedState<'_>>, LimitExceeded> {
        let Some(values) = self.engine().anonymous_values() else { return Ok(None) };
        if self.searches(deadline)?
            || !self.engine().token_matches(set)?.is_empty()
            || self.legal_tokens(set)?.is_some_and(|mask| is_few(mask.live_tokens()))
            // The walk of `visit_legal` reports the limit that the mask exceeded.
            || self.mask(set).is_err_and(|error| error.code() != Code::DeadEnd)
        {
            return Ok(None);
        }
        if let Some(texts) = self.grouped_texts(deadline)? {
            let unknown = texts.before_token(set, self.vocabulary())?;
            return Ok(Some(SharedState::Unknown(texts, unknown)));
        }
        if self.counts_tokens() {
            return Ok(None);
        }
        let anonymous = values.with_anonymous_values(set, self.vocabulary())?;
        Ok(anonymous.map(|anonymous| SharedState::Anonymous(values, anonymous)))
    }

    /// Calls `visit` with the legal tokens of a state by the state after them.
    fn visit_legal(
        &self,
        set: SetId,
        reads_end_tokens: bool,
        deadline: &Deadline,
        visit: &mut VisitGroup<'_>,
    ) -> Result<(), LimitExceeded> {
        let (engine, vocabulary) = (self.engine(), self.vocabulary());
        if self.searches(deadline)? || self.counts_tokens() {
            let walk = SuccessorWalk { engine, vocabulary, deadline, max_size: None };
            let visit = &mut |next, tokens: &[TokenId]| visit(next, VisitedTokens::Listed(tokens));
            return walk.visit(set, reads_end_tokens, visit);
        }
        let (texts, mask) = (WalkedTexts::Known, self.legal_tokens(set)?);
        let legal = mask.as_ref().map(|mask| mask.live_tokens());
        let walk = GroupedWalk { engine, vocabulary, deadline, min_nodes: MIN_NODES, texts, legal };
        if let Some(few) = legal.filter(|legal| is_few(legal)) {
            return walk.visit_few(set, few, visit);
        }
        if engine.token_matches(set)?.is_empty()
            && let Some(groups) = self.successor_groups(set, deadline)?
        {
            return walk.visit_groups(set, groups, visit);
        }
        walk.visit(set, reads_end_tokens, visit)
    }

    /// The mask without a budget of a state that reads no tokens as such. An error of the mask is one of the walk too.
    fn legal_tokens(&self, set: SetId) -> Result<Option<Arc<Mask>>, LimitExceeded> {
        if self.reads_tokens() && !self.engine().token_matches(set)?.is_empty() {
            return Ok(None);
        }
        Ok(self.mask(set).ok())
    }
}

/// Whether tokens are so few that their paths are fewer steps than the bytes of the root.
fn is_few(tokens: &LiveTokens) -> bool {
    tokens.is_list() && tokens.differences().1.len() <= MAX_FEW_TOKENS
}
