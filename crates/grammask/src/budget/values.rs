//! The tokens of states inside values that must differ, by cost.
//!
//! Each text inside such a value has a state of its own. Nearly all tokens have the costs of the state in which the
//! values are [anonymous](grammask_engine::AnonymousValues): their groups are computed once for all texts. The others
//! are read one by one:
//!
//! - the tokens with which a value can become a remembered one, or one that the completion has;
//! - the tokens with a conditional step, and those that end an anonymous value where further ones are needed.
//!
//! Where texts are bound to names, the states in which they are [unknown](grammask_engine::BoundTexts) have such groups.
//! There the tokens that end a bound text are read one by one.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{AnonymousValues, BoundTexts, CompletionDependence, EngineValueId, SetId};
use grammask_vocabulary::{LiveTokens, TokenId, TokenSet, TrieNode};

use super::grouped::{GroupedWalk, MIN_NODES, VisitedTokens, WalkedTexts};
use crate::GrammarCache;

/// Tokens with their cost.
type CostedTokens = (Option<u32>, LiveTokens);

/// The tokens of a state with anonymous values, or with unknown texts, by cost.
#[derive(Debug)]
pub(super) struct SharedGroups {
    groups: Box<[CostedTokens]>,
    /// The tokens of all groups.
    grouped: TokenSet,
    /// The costs hold for texts whose values are none of these.
    values: Box<[EngineValueId]>,
}

impl SharedGroups {
    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let groups = self.groups.iter().map(|(_, tokens)| size_of::<CostedTokens>() + tokens.memory_bytes());
        groups.sum::<usize>() + size_of_val(self.grouped.words()) + size_of_val(&*self.values)
    }
}

impl GrammarCache {
    /// Calls `add` with the legal tokens of a state and their costs, where values are anonymous in `anonymous`.
    pub(super) fn cost_tokens_of_values(
        &self,
        values: &dyn AnonymousValues,
        set: SetId,
        anonymous: SetId,
        deadline: &Deadline,
        add: &mut dyn FnMut(Option<u32>, VisitedTokens<'_>),
    ) -> Result<(), LimitExceeded> {
        let vocabulary = self.vocabulary();
        // Without legal tokens, the text has to end.
        let Ok(legal) = self.mask(set) else { return Ok(()) };
        let legal = legal.live_tokens();
        let groups = self.anonymous_groups(values, anonymous, deadline)?;
        let repeating = values.repeating_tokens(set, &groups.values, vocabulary)?;
        let singles = match &repeating {
            Some(repeating) => {
                let mut singles = legal.outside(&groups.grouped);
                let is_grouped = |token: &TokenId| groups.grouped.contains(*token) && legal.contains(*token);
                singles.extend(repeating.iter().copied().filter(is_grouped));
                singles
            }
            None => legal.iter().collect(),
        };
        if let Some(repeating) = &repeating {
            for (cost, tokens) in &groups.groups {
                let removed: Vec<TokenId> =
                    repeating.iter().copied().filter(|&token| tokens.contains(token)).collect();
                add(*cost, VisitedTokens::Shared(tokens.but(removed, vocabulary.size())));
            }
        }
        let engine = self.engine();
        let texts = WalkedTexts::Known;
        let walk = GroupedWalk { engine, vocabulary, deadline, min_nodes: MIN_NODES, texts, legal: None };
        walk.visit_few(set, &LiveTokens::new(singles, vocabulary.size()), &mut |next, tokens| {
            add(self.spelling_cost(next, deadline)?, tokens);
            Ok(())
        })
    }

    /// The tokens of a state with anonymous values. Cached.
    fn anonymous_groups(
        &self,
        values: &dyn AnonymousValues,
        anonymous: SetId,
        deadline: &Deadline,
    ) -> Result<Arc<SharedGroups>, LimitExceeded> {
        if let Some(known) = self.costs().profiles.find_shared(anonymous) {
            return Ok(known);
        }
        let (vocabulary, texts) = (self.vocabulary(), WalkedTexts::Anonymous(values));
        let mut avoided: Vec<EngineValueId> = Vec::new();
        let groups = self.group_tokens(anonymous, texts, deadline, &mut |next| {
            match values.completion_dependence(next, vocabulary, deadline)? {
                CompletionDependence::None => {}
                CompletionDependence::Avoids(values) => avoided.extend_from_slice(&values),
                CompletionDependence::Other => return Ok(false),
            }
            Ok(true)
        })?;
        avoided.sort_unstable();
        avoided.dedup();
        let groups = SharedGroups { values: avoided.into(), ..groups };
        let max_bytes = self.limits().memory_bytes;
        Ok(self.costs().profiles.insert_shared(anonymous, Arc::new(groups), max_bytes))
    }

    /// The tokens of a state by cost, where `is_grouped` says whether the cost of the state after them holds for all texts.
    fn group_tokens(
        &self,
        set: SetId,
        texts: WalkedTexts<'_>,
        deadline: &Deadline,
        is_grouped: &mut dyn FnMut(SetId) -> Result<bool, LimitExceeded>,
    ) -> Result<SharedGroups, LimitExceeded> {
        let (engine, vocabulary) = (self.engine(), self.vocabulary());
        let size = vocabulary.size();
        // The tokens that stay inside a terminal may be too many for it.
        let min_nodes = if self.counts_tokens() { usize::MAX } else { MIN_NODES };
        let walk = GroupedWalk { engine, vocabulary, deadline, min_nodes, texts, legal: None };
        let mut grouped = TokenSet::new(size);
        let mut listed: FxHashMap<Option<u32>, Vec<TokenId>> = FxHashMap::default();
        let mut groups: Vec<CostedTokens> = Vec::new();
        let mut add = |next, tokens: VisitedTokens<'_>| {
            if !is_grouped(next)? {
                return Ok(());
            }
            let cost = self.spelling_cost(next, deadline)?;
            match tokens {
                VisitedTokens::Listed(tokens) => {
                    grouped.extend(tokens.iter().copied());
                    listed.entry(cost).or_default().extend_from_slice(tokens);
                }
                VisitedTokens::Shared(tokens) => {
                    tokens.add_to(&mut grouped);
                    groups.push((cost, tokens));
                }
            }
            Ok(())
        };
        let reference = match texts {
            WalkedTexts::Unknown(_) => walk.other_reference(set)?,
            WalkedTexts::Known | WalkedTexts::Anonymous(_) => None,
        };
        match reference {
            Some(reference) => {
                // Most tokens lead to the same states as from there.
                let removed = walk.visit_differences(set, reference, TrieNode::ROOT, &mut add)?;
                let shared = self.shared_groups(reference, texts, deadline)?;
                let rest = |tokens: &LiveTokens| {
                    let of_group = removed.iter().copied().filter(|&token| tokens.contains(token));
                    tokens.but(of_group.collect(), size)
                };
                let mut tokens_of_reference = shared.grouped.clone();
                for &token in &removed {
                    tokens_of_reference.remove(token);
                }
                grouped.union_with(&tokens_of_reference);
                groups.extend(shared.groups.iter().map(|(cost, tokens)| (*cost, rest(tokens))));
            }
            None => walk.visit(set, false, &mut add)?,
        }
        groups.extend(listed.into_iter().map(|(cost, tokens)| (cost, LiveTokens::new(tokens, size))));
        Ok(SharedGroups { groups: groups.into(), grouped, values: Box::default() })
    }

    /// The groups of a state with unknown texts. Cached.
    fn shared_groups(
        &self,
        unknown: SetId,
        texts: WalkedTexts<'_>,
        deadline: &Deadline,
    ) -> Result<Arc<SharedGroups>, LimitExceeded> {
        let profiles = &self.costs().profiles;
        if let Some(known) = profiles.find_shared(unknown) {
            return Ok(known);
        }
        let groups = self.group_tokens(unknown, texts, deadline, &mut |_| Ok(true))?;
        Ok(profiles.insert_shared(unknown, Arc::new(groups), self.limits().memory_bytes))
    }

    /// Calls `add` with the legal tokens of a state and their costs, where the texts that are being bound are unknown in
    /// `unknown`.
    pub(super) fn cost_tokens_of_bound_texts(
        &self,
        texts: &dyn BoundTexts,
        set: SetId,
        unknown: SetId,
        deadline: &Deadline,
        add: &mut dyn FnMut(Option<u32>, VisitedTokens<'_>),
    ) -> Result<(), LimitExceeded> {
        let (engine, vocabulary) = (self.engine(), self.vocabulary());
        // Without legal tokens, the text has to end.
        let Ok(legal) = self.mask(set) else { return Ok(()) };
        let groups = self.shared_groups(unknown, WalkedTexts::Unknown(texts), deadline)?;
        for (cost, tokens) in &groups.groups {
            add(*cost, VisitedTokens::Shared(tokens.clone()));
        }
        let singles = legal.live_tokens().outside(&groups.grouped);
        let texts = WalkedTexts::Known;
        let walk = GroupedWalk { engine, vocabulary, deadline, min_nodes: MIN_NODES, texts, legal: None };
        walk.visit_few(set, &LiveTokens::new(singles, vocabulary.size()), &mut |next, tokens| {
            add(self.spelling_cost(next, deadline)?, tokens);
            Ok(())
        })
    }
}
