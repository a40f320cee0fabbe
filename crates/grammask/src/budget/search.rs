//! The fewest tokens that finish a text, by A* search over interned states.
//!
//! Hart, Nilsson and Raphael, "A Formal Basis for the Heuristic Determination of Minimum Cost Paths", 1968. States are
//! expanded in the order of the sum of tokens so far and a lower bound of the tokens still needed, all states of one
//! sum before the next, up to the number of tokens of the state's spelling. The search gives up at a large state, and
//! after a number of transitions or of states, counted over whole sums: if a search from a state succeeds, one from the
//! state after the first token of a shortest path reads subsets of these and succeeds too. So the states whose cost is
//! exact are closed under their shortest completions, and the result depends on the state alone.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::SetId;
use grammask_vocabulary::{TokenId, TrieNode};

use super::costs::MAX_ITEMS;
use super::memo::Encoded;
use super::successors::{ConditionalSteps, SuccessorWalk};
use crate::GrammarCache;

/// Maximum number of transitions of a search.
const MAX_TRANSITIONS: usize = 1 << 12;
/// Maximum number of states that a search reaches: each costs the engine a shortest completion.
const MAX_STATES: usize = 1 << 9;

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FewestTokens {
    /// The number of tokens.
    Exactly(u32),
    /// No sequence of tokens finishes the text.
    Unreachable,
    /// The search gave up.
    NotFound,
}

/// The result of a search from a state with anonymous values; `None` if it depends on them.
#[derive(Clone, Copy, Debug)]
pub(super) struct RepresentativeSearch(Option<FewestTokens>);

impl GrammarCache {
    /// The fewest tokens that finish the text of a state to which a token led. Memoised.
    pub(super) fn fewest_tokens(
        &self,
        set: SetId,
        deadline: &Deadline,
    ) -> Result<FewestTokens, LimitExceeded> {
        let memo = &self.costs().fewest;
        if let Some(known) = memo.get(set) {
            return Ok(known);
        }
        let found = match self.search(set, deadline) {
            Err(limit) if limit.is_set_items() => FewestTokens::NotFound,
            found => found?,
        };
        memo.insert(set, found);
        Ok(found)
    }

    /// Searches from a state with the same completions, if no value on the way depends on those of this text.
    fn search(&self, set: SetId, deadline: &Deadline) -> Result<FewestTokens, LimitExceeded> {
        if let Some(values) = self.engine().anonymous_values() {
            let representative = self.representative(set, deadline)?;
            if representative != set {
                let memo = &self.costs().fewest_of_representatives;
                let result = match memo.get(representative) {
                    Some(known) => known,
                    None => {
                        let steps = ConditionalSteps::LeftOut(values);
                        let found = self.search_from(representative, steps, deadline)?;
                        let found = RepresentativeSearch(found);
                        memo.insert(representative, found);
                        found
                    }
                };
                if let RepresentativeSearch(Some(found)) = result {
                    return Ok(found);
                }
            }
        }
        let found = self.search_from(set, ConditionalSteps::Visited, deadline)?;
        Ok(found.unwrap_or(FewestTokens::NotFound))
    }

    /// Whether the cost of a state is the fewest tokens.
    pub(super) fn has_fewest_tokens(&self, set: SetId, deadline: &Deadline) -> Result<bool, LimitExceeded> {
        Ok(self.engine().is_complete(set) || self.fewest_tokens(set, deadline)? != FewestTokens::NotFound)
    }

    /// Searches from a state; `None` if a token with a conditional step would have to be left out.
    fn search_from(
        &self,
        start: SetId,
        steps: ConditionalSteps<'_>,
        deadline: &Deadline,
    ) -> Result<Option<FewestTokens>, LimitExceeded> {
        let mut tokens_to: FxHashMap<SetId, u32> = FxHashMap::default();
        let mut open: BTreeMap<u32, Vec<(SetId, u32)>> = BTreeMap::new();
        let mut transitions = 0;
        let Some(estimate) = self.fewest_at_least(start, deadline)? else {
            return Ok(Some(FewestTokens::Unreachable));
        };
        let spelling = self.spelling_cost(start, deadline)?;
        if estimate as usize > MAX_STATES && spelling.is_none_or(|spelling| spelling > estimate) {
            // A path to the end has more states.
            return Ok(Some(FewestTokens::NotFound));
        }
        tokens_to.insert(start, 0);
        open.entry(estimate).or_default().push((start, 0));
        while let Some((&total, _)) = open.first_key_value() {
            if let Some(spelling) = spelling.filter(|&spelling| spelling <= total) {
                return Ok(Some(FewestTokens::Exactly(spelling)));
            }
            let mut is_found = false;
            while let Some((set, tokens)) = open.get_mut(&total).and_then(Vec::pop) {
                if tokens_to[&set] < tokens {
                    continue;
                }
                if self.engine().is_complete(set) {
                    is_found = true;
                    continue;
                }
                if self.engine().state_size(set) > MAX_ITEMS {
                    return Ok(Some(FewestTokens::NotFound));
                }
                deadline.check()?;
                let mut next_sets: Vec<SetId> = Vec::new();
                let (engine, vocabulary) = (self.engine(), self.vocabulary());
                let walk = SuccessorWalk { engine, vocabulary, deadline, max_size: Some(MAX_ITEMS) };
                let visit = &mut |next, group: &[TokenId]| {
                    next_sets.push(next);
                    transitions += group.len();
                    match transitions > MAX_TRANSITIONS {
                        true => Err(LimitExceeded::new("transitions", MAX_TRANSITIONS)),
                        false => Ok(()),
                    }
                };
                let visited = match steps {
                    ConditionalSteps::Visited => walk.visit(set, true, visit).map(|()| true),
                    ConditionalSteps::LeftOut(_) if !engine.token_matches(set)?.is_empty() => Ok(false),
                    ConditionalSteps::LeftOut(_) => walk.visit_by_bytes(set, steps, visit),
                };
                if transitions > MAX_TRANSITIONS {
                    return Ok(Some(FewestTokens::NotFound));
                }
                if !visited? {
                    return Ok(None);
                }
                next_sets.sort_unstable();
                next_sets.dedup();
                for next in next_sets {
                    let tokens = tokens + 1;
                    let known = tokens_to.entry(next).or_insert(u32::MAX);
                    if *known <= tokens {
                        continue;
                    }
                    *known = tokens;
                    if let Some(estimate) = self.fewest_at_least(next, deadline)? {
                        open.entry(tokens + estimate).or_default().push((next, tokens));
                    }
                    if tokens_to.len() > MAX_STATES {
                        return Ok(Some(FewestTokens::NotFound));
                    }
                }
            }
            open.remove(&total);
            if is_found {
                return Ok(Some(FewestTokens::Exactly(total)));
            }
        }
        Ok(Some(FewestTokens::Unreachable))
    }

    /// A lower bound of the tokens that finish the text of a state: a consistent heuristic. `None` if no sequence of
    /// tokens does.
    fn fewest_at_least(&self, set: SetId, deadline: &Deadline) -> Result<Option<u32>, LimitExceeded> {
        if self.engine().is_complete(set) {
            return Ok(Some(self.end_cost()));
        }
        if !self.completions_are_shortest() {
            return Ok(Some(1 + self.end_cost()));
        }
        let length = self.engine().completion_at_least(set, self.vocabulary(), deadline)?;
        Ok(length.map(|length| length.div_ceil(self.longest_token()) + self.end_cost()))
    }

    /// Whether no sequence of tokens is shorter, in bytes, than the engine's shortest completion: each byte of a token
    /// is a token by itself, and tokens are not counted.
    fn completions_are_shortest(&self) -> bool {
        *self.costs().facts.completions_are_shortest.get_or_init(|| {
            let trie = self.vocabulary().trie();
            let is_token =
                |byte| trie.child(TrieNode::ROOT, byte).is_some_and(|node| !trie.tokens(node).is_empty());
            !self.counts_tokens() && (1..trie.len() as u32).all(|node| is_token(trie.byte(TrieNode(node))))
        })
    }
}

impl Encoded for FewestTokens {
    fn encode(self) -> u32 {
        match self {
            Self::Unreachable => 1,
            Self::NotFound => 2,
            Self::Exactly(tokens) => tokens.saturating_add(3).min(u32::MAX - 1),
        }
    }

    fn decode(code: u32) -> Self {
        match code {
            1 => Self::Unreachable,
            2 => Self::NotFound,
            code => Self::Exactly(code - 3),
        }
    }
}

impl Encoded for RepresentativeSearch {
    fn encode(self) -> u32 {
        self.0.map_or(u32::MAX, FewestTokens::encode)
    }

    fn decode(code: u32) -> Self {
        Self((code != u32::MAX).then(|| FewestTokens::decode(code)))
    }
}
