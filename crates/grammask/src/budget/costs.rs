//! The number of tokens that finish the text of a state.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use grammask_diagnostics::{Deadline, GrammarError, LimitExceeded};
use grammask_engine::{BoundTexts, SetId};
use grammask_vocabulary::TokenId;

use super::ample::{AmpleBudget, AmpleFacts, ScarceBudget};
use super::memo::Memo;
use super::profile::ProfileCache;
use super::search::{FewestTokens, RepresentativeSearch};
use super::spelling::{ByteCompletion, SpellingCost};
use crate::GrammarCache;
use crate::options::EndMode;

/// Maximum number of ids of a vocabulary for which the fewest tokens are searched for.
const MAX_SEARCHED_SIZE: usize = 1024;
/// The same where each text inside a value has its own cost: a search reaches many states.
const MAX_SEARCHED_SIZE_WITH_VALUES: usize = 128;
/// Maximum number of prefixes of tokens inside values, for budgets where each text inside a value has its own cost: a mask
/// takes a state and a completion for each of them.
const MAX_TEXTS_OF_VALUES: usize = 1024;

/// Maximum size of the states that a search or a spelling goes through. In ambiguous grammars the cost of a step grows
/// with the product of the nonterminals that it predicts and of what follows them, so with the square of the size. The
/// cost of a larger state is the length of its shortest completion, which takes no steps.
pub(super) const MAX_ITEMS: usize = 512;

/// The costs of texts inside values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BudgetSupport {
    /// None are known, so texts cannot have a budget.
    None,
    /// Each state has its own cost.
    Own,
    /// Texts that are being bound share upper bounds. The cost of a token may be greater than that of the state after it.
    Grouped,
}

/// The caches of token budgets.
#[derive(Debug, Default)]
pub(crate) struct CostCache {
    pub(super) fewest: Memo<FewestTokens>,
    pub(super) fewest_of_representatives: Memo<RepresentativeSearch>,
    pub(super) spellings: Memo<SpellingCost>,
    /// The costs of completions by their first byte and the state after it.
    pub(super) by_first_byte: Mutex<FxHashMap<(SetId, u8), SpellingCost>>,
    /// The engine's shortest completions.
    pub(super) completions: Memo<ByteCompletion>,
    pub(super) scarce: Memo<ScarceBudget>,
    pub(super) ample: Memo<AmpleBudget>,
    /// Facts about the vocabulary and the grammar.
    pub(super) facts: AmpleFacts,
    pub(super) profiles: ProfileCache,
    /// Number of masks whose costs are the fewest tokens.
    pub(super) exact_masks: AtomicU64,
    /// Number of masks without some tokens whose costs are upper bounds.
    pub(super) bounded_masks: AtomicU64,
}

/// Numbers of masks under scarce budgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetStatistics {
    /// Masks with every token after which the text can be finished within the budget.
    pub exact_masks: u64,
    /// Masks from which an upper bound excluded a token; a shorter completion may exist.
    pub bounded_masks: u64,
    /// Memory of the costs and of the tokens by cost, in bytes.
    pub bytes: usize,
}

impl CostCache {
    pub(crate) fn statistics(&self) -> BudgetStatistics {
        BudgetStatistics {
            exact_masks: self.exact_masks.load(Ordering::Relaxed),
            bounded_masks: self.bounded_masks.load(Ordering::Relaxed),
            bytes: self.memory_bytes(),
        }
    }

    pub(super) fn by_first_byte(&self) -> MutexGuard<'_, FxHashMap<(SetId, u8), SpellingCost>> {
        self.by_first_byte.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Estimated memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.fewest.memory_bytes()
            + self.fewest_of_representatives.memory_bytes()
            + self.spellings.memory_bytes()
            + self.completions.memory_bytes()
            + self.scarce.memory_bytes()
            + self.ample.memory_bytes()
            + self.by_first_byte().capacity() * size_of::<((SetId, u8), SpellingCost)>()
            + self.profiles.memory_bytes()
    }
}

impl GrammarCache {
    /// The number of tokens that finish the text of a state to which a token led; `None` if no such number is known.
    ///
    /// If it is `n` and not zero, some legal token leads to a state of a cost less than `n`.
    pub(super) fn cost(&self, set: SetId, deadline: &Deadline) -> Result<Option<u32>, LimitExceeded> {
        if self.engine().is_complete(set) {
            return Ok(Some(self.end_cost()));
        }
        if self.searches() {
            match self.fewest_tokens(set, deadline)? {
                FewestTokens::Exactly(tokens) => return Ok(Some(tokens)),
                FewestTokens::Unreachable => return Ok(None),
                FewestTokens::NotFound => {}
            }
        }
        self.spelling_cost(set, deadline)
    }

    /// Whether the fewest tokens are searched for: a property of the vocabulary, so that masks do not depend on what was
    /// computed before.
    pub(super) fn searches(&self) -> bool {
        if self.costs().facts.support.get() == Some(&BudgetSupport::Grouped) {
            return false;
        }
        let max_size = match self.engine().depends_on_all_values() {
            true => MAX_SEARCHED_SIZE_WITH_VALUES,
            false => MAX_SEARCHED_SIZE,
        };
        self.vocabulary().size() <= max_size
    }

    /// Whether texts can have a budget, and whose costs those inside values have.
    pub(super) fn budget_support(&self, deadline: &Deadline) -> Result<BudgetSupport, LimitExceeded> {
        let (facts, vocabulary, engine) = (&self.costs().facts, self.vocabulary(), self.engine());
        if let Some(&known) = facts.support.get() {
            return Ok(known);
        }
        let found = if vocabulary.size() <= MAX_SEARCHED_SIZE
            || engine.has_few_texts_of_values(vocabulary, MAX_TEXTS_OF_VALUES)?
        {
            BudgetSupport::Own
        } else if engine.bound_texts(vocabulary, deadline)?.is_some() {
            BudgetSupport::Grouped
        } else {
            BudgetSupport::None
        };
        Ok(*facts.support.get_or_init(|| found))
    }

    /// The states with unknown texts, where texts that are being bound share their costs.
    pub(super) fn grouped_texts(
        &self,
        deadline: &Deadline,
    ) -> Result<Option<&dyn BoundTexts>, LimitExceeded> {
        match self.budget_support(deadline)? {
            BudgetSupport::Grouped => self.engine().bound_texts(self.vocabulary(), deadline),
            BudgetSupport::None | BudgetSupport::Own => Ok(None),
        }
    }

    /// Whether a token may be too expensive under a scarce budget although the state after it is not.
    pub(crate) fn has_shared_costs(&self) -> Result<bool, GrammarError> {
        let support = self.budget_support(&self.deadline()).map_err(|limit| self.limit_error(limit))?;
        Ok(support == BudgetSupport::Grouped)
    }

    /// The number of tokens that finish the text of a state in which the text has not ended.
    pub(super) fn unfinished_cost(
        &self,
        set: SetId,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        if self.end() == EndMode::Eager && self.engine().is_complete(set) {
            // The beginning of a text, which has at least one token.
            let profile = self.profile(set, deadline)?;
            let by_cost = self.refined(&profile, deadline)?;
            return Ok(by_cost.least_cost().map(|cost| cost + 1));
        }
        self.cost(set, deadline)
    }

    /// The first token of a completion of the least known cost, the end token included.
    pub(super) fn cheapest_token(
        &self,
        set: SetId,
        deadline: &Deadline,
    ) -> Result<Option<TokenId>, LimitExceeded> {
        let is_complete = self.engine().is_complete(set);
        if self.end() == EndMode::Eos && is_complete {
            return Ok(self.vocabulary().eos().first().copied());
        }
        if !is_complete && !self.searches() {
            let spelled = self.first_token_of_spelling(set, deadline)?;
            match (spelled, self.cost(set, deadline)?) {
                (Some((cost, token)), Some(own)) if cost < own => return Ok(Some(token)),
                // Bounds need not be those of the shortest completion.
                (_, Some(_)) => {}
                (_, None) => return Ok(None),
            }
        }
        let profile = self.profile(set, deadline)?;
        Ok(self.refined(&profile, deadline)?.cheapest())
    }

    /// The number of tokens that finish a complete text.
    pub(super) fn end_cost(&self) -> u32 {
        u32::from(self.end() == EndMode::Eos)
    }

    /// Whether the text of a state to which a token led can be finished with `tokens` tokens.
    pub(super) fn fits(&self, set: SetId, tokens: u32, deadline: &Deadline) -> Result<bool, LimitExceeded> {
        let fits = |cost: Option<u32>| cost.is_some_and(|cost| cost <= tokens);
        Ok(fits(self.spelling_cost(set, deadline)?) || (self.searches() && fits(self.cost(set, deadline)?)))
    }
}
