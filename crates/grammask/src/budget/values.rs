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
use grammask_vocabulary::{LiveTokens, TokenId, TokenSet};

use super::grouped::{GroupedWalk, MIN_NODES, VisitedTokens, WalkedTexts};
use crate::GrammarCache;

/// Tokens with their cost.
type CostedTokens = (Option<u32>, LiveTokens);

/// The tokens of a state with anonymous values by cost.
#[derive(Debug)]
pub(super) struct AnonymousGroups {
    groups: Box<[CostedTokens]>,
    /// The tokens of all groups.
    grouped: TokenSet,
    /// The costs hold for texts whose values are none of these.
    values: Box<[EngineValueId]>,
}

impl AnonymousGroups {
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
        let single = |token: &TokenId| match &repeating {
            Some(repeating) => !groups.grouped.contains(*token) || repeating.binary_search(token).is_ok(),
            None => true,
        };
        let singles: Vec<TokenId> = legal.iter().filter(single).collect();
        if let Some(repeating) = &repeating {
            for (cost, tokens) in &groups.groups {
                let removed: Vec<TokenId> =
                    repeating.iter().copied().filter(|&token| tokens.contains(token)).collect();
                add(*cost, VisitedTokens::Shared(tokens.but(removed, vocabulary.size())));
            }
        }
        let engine = self.engine();
        let texts = WalkedTexts::Known;
        let walk = GroupedWalk { engine, vocabulary, deadline, min_nodes: MIN_NODES, texts };
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
    ) -> Result<Arc<AnonymousGroups>, LimitExceeded> {
        if let Some(known) = self.costs().profiles.find_anonymous(anonymous) {
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
        let groups = AnonymousGroups { values: avoided.into(), ..groups };
        let max_bytes = self.limits().memory_bytes;
        Ok(self.costs().profiles.insert_anonymous(anonymous, Arc::new(groups), max_bytes))
    }

    /// The tokens of a state by cost, where `is_grouped` says whether the cost of the state after them holds for all texts.
    fn group_tokens(
        &self,
        set: SetId,
        texts: WalkedTexts<'_>,
        deadline: &Deadline,
        is_grouped: &mut dyn FnMut(SetId) -> Result<bool, LimitExceeded>,
    ) -> Result<AnonymousGroups, LimitExceeded> {
        let (engine, vocabulary) = (self.engine(), self.vocabulary());
        let size = vocabulary.size();
        let walk = GroupedWalk { engine, vocabulary, deadline, min_nodes: MIN_NODES, texts };
        let mut grouped = TokenSet::new(size);
        let mut listed: FxHashMap<Option<u32>, Vec<TokenId>> = FxHashMap::default();
        let mut groups: Vec<CostedTokens> = Vec::new();
        walk.visit(set, false, &mut |next, tokens| {
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
        })?;
        groups.extend(listed.into_iter().map(|(cost, tokens)| (cost, LiveTokens::new(tokens, size))));
        Ok(AnonymousGroups { groups: groups.into(), grouped, values: Box::default() })
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
        let profiles = &self.costs().profiles;
        let groups = match profiles.find_anonymous(unknown) {
            Some(known) => known,
            None => {
                let groups =
                    self.group_tokens(unknown, WalkedTexts::Unknown(texts), deadline, &mut |_| Ok(true))?;
                profiles.insert_anonymous(unknown, Arc::new(groups), self.limits().memory_bytes)
            }
        };
        for (cost, tokens) in &groups.groups {
            add(*cost, VisitedTokens::Shared(tokens.clone()));
        }
        let single = |token: &TokenId| !groups.grouped.contains(*token);
        let singles: Vec<TokenId> = legal.live_tokens().iter().filter(single).collect();
        let walk =
            GroupedWalk { engine, vocabulary, deadline, min_nodes: MIN_NODES, texts: WalkedTexts::Known };
        walk.visit_few(set, &LiveTokens::new(singles, vocabulary.size()), &mut |next, tokens| {
            add(self.spelling_cost(next, deadline)?, tokens);
            Ok(())
        })
    }
}
