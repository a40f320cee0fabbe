//! The fewest tokens that finish a text, by breadth-first search over interned states.
//!
//! Costs are those of spellings of completions in single bytes ([`spelling`](super::spelling)). Where the vocabulary lacks
//! the bytes for any completion, as one of whole words does, the fewest tokens take their place.
//!
//! The search reads all states of one number of tokens before those of the next. It gives up at a large state, and after
//! a number of transitions or of states: if a search from a state succeeds, one from the state after the first token of a
//! shortest path reads subsets of these and succeeds too. So the states whose cost is known are closed under their
//! shortest completions, and the result depends on the state alone.

use rustc_hash::FxHashSet;

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::SetId;
use grammask_vocabulary::TokenId;

use super::costs::MAX_ITEMS;
use super::memo::Encoded;
use super::successors::SuccessorWalk;
use crate::GrammarCache;

/// Maximum number of transitions of a search.
const MAX_TRANSITIONS: usize = 1 << 12;
/// Maximum number of states that a search reaches.
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

    fn search(&self, start: SetId, deadline: &Deadline) -> Result<FewestTokens, LimitExceeded> {
        let mut reached = FxHashSet::from_iter([start]);
        let mut last = vec![start];
        let mut transitions = 0;
        for tokens in 0.. {
            if last.iter().any(|&set| self.engine().is_complete(set)) {
                return Ok(FewestTokens::Exactly(tokens + self.end_cost()));
            }
            if last.is_empty() {
                return Ok(FewestTokens::Unreachable);
            }
            let mut next_sets: Vec<SetId> = Vec::new();
            for &set in &last {
                if self.engine().state_size(set) > MAX_ITEMS {
                    return Ok(FewestTokens::NotFound);
                }
                deadline.check()?;
                let (engine, vocabulary) = (self.engine(), self.vocabulary());
                let walk = SuccessorWalk { engine, vocabulary, deadline, max_size: Some(MAX_ITEMS) };
                let visited = walk.visit(set, true, &mut |next, group: &[TokenId]| {
                    transitions += group.len();
                    if reached.insert(next) {
                        next_sets.push(next);
                    }
                    match transitions > MAX_TRANSITIONS || reached.len() > MAX_STATES {
                        true => Err(LimitExceeded::new("transitions", MAX_TRANSITIONS)),
                        false => Ok(()),
                    }
                });
                if transitions > MAX_TRANSITIONS || reached.len() > MAX_STATES {
                    return Ok(FewestTokens::NotFound);
                }
                visited?;
            }
            last = next_sets;
        }
        unreachable!("the number of states is limited")
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
