//! Summaries of intersections with a length limit, composed from those without the limit.
//!
//! A text with a pattern and a maximum length is in another state after each token, since its remaining length differs.
//! So the limit is removed, and all limits share one walk ([`super::limited_walk`]). Other bounds in the pattern are
//! generalised where that does not change the summary: languages are monotone in their bounds, so if the summary with
//! few copies of everything equals the one with any number, it holds for all bounds in between.

use std::sync::Arc;

use grammask_automata::{LeadingIntersection, LengthLimit, StateId};
use grammask_vocabulary::{CountedSummary, GrowingNodeSet, LiveTokens, NodeSetRef, TerminalSummary};

use super::super::ablation::{Technique, is_enabled};
use super::super::budget::ComposeError;
use super::super::computation::MaskComputation;
use super::super::summary::{FirstLimitedWalk, SymbolSummary};
use super::super::tuning::MIN_GENERALISED_COPIES;
use super::limited_walk::{LimitedState, walk_limited};

/// The summary of an intersection for all limits on its length; `None` if it cannot be counted.
type AllLimitsSummary = Option<Arc<CountedSummary>>;

impl MaskComputation<'_> {
    /// The summary of a terminal that begins with an intersection with a length limit; `None` if it does not, or if the
    /// walk without the limit gave up.
    pub(super) fn without_length_limit(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
    ) -> Result<Option<TerminalSummary>, ComposeError> {
        let term = self.machine.automata.term(state);
        let Some(leading) = self.machine.automata.terms().leading_intersection(term) else {
            return Ok(None);
        };
        let LeadingIntersection { intersection: head, is_optional, tail } = leading;
        // The summary of the tail is computed separately, so this must not recurse.
        if self.machine.automata.terms().leading_intersection(tail).is_some() {
            return Ok(None);
        }
        let is_nullable = self.machine.automata.terms().is_nullable(head) || is_optional;
        for limit in self.machine.automata.terms_mut().length_limits(head) {
            let counted = match limit.max_units < MIN_GENERALISED_COPIES {
                // Short words are walked soon, unless a longer limit was there before.
                true => self.vocabulary.summaries().get_limited(self.languages(limit), nodes).flatten(),
                false => self.memoised(limit, nodes, Self::all_limits)?,
            };
            let Some(counted) = counted else { continue };
            let limit = LengthLimit { max_units: counted.effective_max(limit.max_units), ..limit };
            let key = (limit, is_nullable, tail, nodes.id());
            if let Some(known) = self.summaries.terminals.limited.get(&key) {
                return Ok(Some(known.clone()));
            }
            let store = self.vocabulary.summaries();
            let mut live = vec![store.share(counted.live(Some(limit.max_units), self.vocabulary))];
            let ends = counted.ends(0, Some(limit.max_units), self.trie);
            let mut ends = store.intern(ends);
            if tail != self.machine.automata.terms().epsilon() {
                let Some(tail) = self.machine.automata.start(tail)? else { return Ok(None) };
                let mut all_ends = GrowingNodeSet::default();
                let starts = if is_nullable { &[ends, nodes.clone()][..] } else { &[ends] };
                for nodes in starts {
                    let SymbolSummary { live: more, ends, .. } = self.terminal(tail, nodes)?;
                    live.push(more);
                    let _ = all_ends.add(&ends, self.trie, self.vocabulary.summaries());
                }
                ends = all_ends
                    .finish(self.trie, self.vocabulary.summaries())
                    .unwrap_or_else(|| self.nothing.clone());
            }
            let live = LiveTokens::union(&live, self.vocabulary.size(), self.vocabulary.summaries());
            let summary = TerminalSummary { live, ends: Some(ends) };
            self.summaries.bytes += size_of_val(&key) + size_of_val(&summary);
            self.summaries.terminals.limited.insert(key, summary.clone());
            return Ok(Some(summary));
        }
        Ok(None)
    }

    /// The summary of an intersection for all limits on its length, from the cache of the vocabulary or computed.
    fn memoised(
        &mut self,
        limit: LengthLimit,
        nodes: &NodeSetRef,
        compute: fn(&mut Self, LengthLimit, &NodeSetRef) -> Result<AllLimitsSummary, ComposeError>,
    ) -> Result<AllLimitsSummary, ComposeError> {
        let languages = self.languages(limit);
        if let Some(known) = self.vocabulary.summaries().get_limited(languages, nodes) {
            return Ok(known);
        }
        let counted = compute(self, limit, nodes)?;
        self.vocabulary.summaries().insert_limited(languages, nodes, counted.clone());
        Ok(counted)
    }

    /// Computes the summary for all limits, from the same with generalised bounds where these make no difference.
    fn all_limits(
        &mut self,
        limit: LengthLimit,
        nodes: &NodeSetRef,
    ) -> Result<AllLimitsSummary, ComposeError> {
        let between = match is_enabled(Technique::GeneralisedBounds) {
            true => self.machine.automata.terms_mut().clamp_maxima(limit.unlimited, MIN_GENERALISED_COPIES),
            false => None,
        };
        let Some(between) = between else { return self.walk_limited(limit, nodes) };
        let [lower, upper] =
            [between.lower, between.upper].map(|unlimited| LengthLimit { unlimited, ..limit });
        let key = (self.languages(upper), nodes.id());
        match self.summaries.terminals.first_limited_walks.get(&key) {
            // The first is walked with its own bounds: there may be no other.
            None => {
                let counted = self.walk_limited(limit, nodes)?;
                let outcome =
                    if counted.is_some() { FirstLimitedWalk::Finished } else { FirstLimitedWalk::GaveUp };
                self.summaries.terminals.first_limited_walks.insert(key, outcome);
                Ok(counted)
            }
            Some(FirstLimitedWalk::GaveUp) => Ok(None),
            Some(FirstLimitedWalk::Finished) => {
                let Some(upper) = self.memoised(upper, nodes, Self::walk_limited)? else {
                    return self.walk_limited(limit, nodes);
                };
                match self.memoised(lower, nodes, Self::walk_limited)? {
                    Some(lower) if lower == upper => Ok(Some(upper)),
                    _ => self.walk_limited(limit, nodes),
                }
            }
        }
    }

    fn languages(&self, limit: LengthLimit) -> [u128; 3] {
        let terms = self.machine.automata.terms();
        [limit.unlimited, limit.unit_rest, limit.unit].map(|term| terms.content_hash(term))
    }

    /// Computes the summary for all limits by a walk.
    fn walk_limited(
        &mut self,
        limit: LengthLimit,
        nodes: &NodeSetRef,
    ) -> Result<AllLimitsSummary, ComposeError> {
        let automata = &mut *self.machine.automata;
        let (unlimited, unit) = (automata.start(limit.unlimited)?, automata.start(limit.unit)?);
        let (Some(unlimited), Some(unit)) = (unlimited, unit) else { return Ok(None) };
        let inside = match limit.unit_rest {
            rest if rest == automata.terms().epsilon() => None,
            rest => match automata.start(rest)? {
                Some(inside) => Some(inside),
                None => return Ok(None),
            },
        };
        // The rest of the current copy may be any language; if it is not a prefix code, the copies of a path are
        // ambiguous.
        let is_unambiguous = match inside {
            Some(inside) => self.is_prefix_code(inside)? && self.is_prefix_code(unit)?,
            None => self.is_prefix_code(unit)?,
        };
        if !is_unambiguous {
            return Ok(None);
        }
        let state = LimitedState { unlimited, unit, inside };
        let setbacks = &mut self.summaries.terminals.limited_setbacks;
        let walked = walk_limited(self.machine.automata, self.vocabulary, state, nodes, *setbacks)?;
        let Some((counted, work)) = walked else {
            *setbacks += 1;
            return Ok(None);
        };
        self.budget.spend(work)?;
        Ok(Some(Arc::new(counted)))
    }
}
