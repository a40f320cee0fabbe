//! The number of tokens that finish the text of a state.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use grammask_collections::byte_set::ByteSet;
use grammask_diagnostics::{Deadline, GrammarError, LimitExceeded};
use grammask_engine::{BoundTexts, SetId, UnboundedText};
use grammask_vocabulary::TokenId;

use super::ample::{AmpleBudget, AmpleFacts, ScarceBudget};
use super::memo::Memo;
use super::profile::ProfileCache;
use super::search::FewestTokens;
use super::spelling::{ByteCompletion, SpellingCost};
use crate::GrammarCache;
use crate::options::EndMode;

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
    None(UnboundedText),
    /// Each state has its own cost.
    Own,
    /// Texts that are being bound share upper bounds. The cost of a token may be greater than that of the state after it.
    Grouped,
}

/// The caches of token budgets.
#[derive(Debug, Default)]
pub(crate) struct CostCache {
    pub(super) fewest: Memo<FewestTokens>,
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
    /// Number of masks under scarce budgets.
    pub(super) masks: AtomicU64,
}

/// Numbers of masks under scarce budgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetStatistics {
    /// Distinct masks.
    pub masks: u64,
    /// Memory of the costs and of the tokens by cost, in bytes.
    pub bytes: usize,
}

impl CostCache {
    pub(crate) fn statistics(&self) -> BudgetStatistics {
        BudgetStatistics { masks: self.masks.load(Ordering::Relaxed), bytes: self.memory_bytes() }
    }

    pub(super) fn by_first_byte(&self) -> MutexGuard<'_, FxHashMap<(SetId, u8), SpellingCost>> {
        self.by_first_byte.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Estimated memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.fewest.memory_bytes()
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
        if self.searches(deadline)? {
            match self.fewest_tokens(set, deadline)? {
                FewestTokens::Exactly(tokens) => return Ok(Some(tokens)),
                FewestTokens::Unreachable => return Ok(None),
                FewestTokens::NotFound => {}
            }
        }
        self.spelling_cost(set, deadline)
    }

    /// Whether the fewest tokens are searched for: whether the vocabulary lacks single bytes, and spells no completion of
    /// the beginning of a text without them.
    pub(super) fn searches(&self, deadline: &Deadline) -> Result<bool, LimitExceeded> {
        let facts = &self.costs().facts;
        if let Some(&known) = facts.searches.get() {
            return Ok(known);
        }
        let found = self.budget_support(deadline)? == BudgetSupport::Own
            && (self.counts_tokens() || self.vocabulary().single_bytes() != ByteSet::ALL)
            && self.spelling_cost(self.engine().start(), deadline)?.is_none();
        Ok(*facts.searches.get_or_init(|| found))
    }

    /// Whether texts can have a budget, and whose costs those inside values have.
    pub(super) fn budget_support(&self, deadline: &Deadline) -> Result<BudgetSupport, LimitExceeded> {
        let (facts, vocabulary, engine) = (&self.costs().facts, self.vocabulary(), self.engine());
        if let Some(&known) = facts.support.get() {
            return Ok(known);
        }
        // The prefixes of tokens are the nodes of the trie.
        let found = if vocabulary.trie().len() <= MAX_TEXTS_OF_VALUES
            || engine.has_few_texts_of_values(vocabulary, MAX_TEXTS_OF_VALUES)?
        {
            BudgetSupport::Own
        } else {
            match engine.bound_texts(vocabulary, deadline)? {
                Ok(_) => BudgetSupport::Grouped,
                Err(reason) => BudgetSupport::None(reason),
            }
        };
        Ok(*facts.support.get_or_init(|| found))
    }

    /// The states with unknown texts, where texts that are being bound share their costs.
    pub(super) fn grouped_texts(
        &self,
        deadline: &Deadline,
    ) -> Result<Option<&dyn BoundTexts>, LimitExceeded> {
        match self.budget_support(deadline)? {
            BudgetSupport::Grouped => Ok(self.engine().bound_texts(self.vocabulary(), deadline)?.ok()),
            BudgetSupport::None(_) | BudgetSupport::Own => Ok(None),
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
            return Ok(self.profile(set, deadline)?.least_cost().map(|cost| cost + 1));
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
        if !is_complete && !self.searches(deadline)? {
            let spelled = self.first_token_of_spelling(set, deadline)?;
            match (spelled, self.cost(set, deadline)?) {
                (Some((cost, token)), Some(own)) if cost < own => return Ok(Some(token)),
                // Bounds need not be those of the shortest completion.
                (_, Some(_)) => {}
                (_, None) => return Ok(None),
            }
        }
        Ok(self.profile(set, deadline)?.cheapest())
    }

    /// The number of tokens that finish a complete text.
    pub(super) fn end_cost(&self) -> u32 {
        u32::from(self.end() == EndMode::Eos)
    }

    /// Whether the text of a state to which a token led can be finished with `tokens` tokens.
    pub(super) fn fits(&self, set: SetId, tokens: u32, deadline: &Deadline) -> Result<bool, LimitExceeded> {
        Ok(self.cost(set, deadline)?.is_some_and(|cost| cost <= tokens))
    }
}
