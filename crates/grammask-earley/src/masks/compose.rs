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

use crate::recognizer::{CompletedValue, ContinuationId, Item, ItemState, MaskItems, OpenValue, SetReader};
use grammask_diagnostics::Deadline;
use grammask_engine::Effort;
use grammask_grammar::ValueKind;
use grammask_vocabulary::{GrowingNodeSet, LiveTokens, TokenId, Vocabulary};

use super::budget::{ComposeError, WorkBudget, setbacks_after};
use super::computation::{MaskComputation, MaskSources, RuleSummaries};
use super::equivalence_cache::Observation;
use super::recall::{observed_core, observed_parts};
use super::summary::{SymbolSummary, Wanted};
use super::values::{DecidedByValues, RepeatingTokens, Suspects};
use super::worklist::Worklist;

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

impl RuleSummaries {
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

    /// Adds the live tokens of an open value, and what follows it, to the worklist; a value that has not begun is
    /// composed with the items before it.
    fn open_value(
        &mut self,
        value: &OpenValue,
        worklist: &mut Worklist<ContinuationId>,
        suspects: &mut Suspects,
    ) -> Result<(), ComposeError> {
        if value.kind == ValueKind::Repeated && value.is_begun {
            return Ok(());
        }
        if !value.is_begun {
            return value.inner.iter().try_for_each(|inner| self.open_value(inner, worklist, suspects));
        }
        let mut inner = Worklist::default();
        let complete = self.set(&value.items, &value.inner, &mut inner, suspects)?;
        worklist.live.append(&mut inner.live);
        suspects.resumed.extend(inner.completed());
        let ends = complete.finish(self.trie, self.vocabulary.summaries());
        worklist.advance(
            self,
            value.item.dot,
            value.item.continuation,
            ends.unwrap_or_else(|| self.nothing.clone()),
        )?;
        Ok(())
    }
}
