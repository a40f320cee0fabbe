//! Summaries of intersections whose length is limited, composed from those without the limit.
//!
//! A text with a pattern and a largest length has another state after each token, for what is left of the length; and after
//! each word, where the pattern counts words. So the limit is taken out, and all lengths share one walk (see
//! [`super::limited_walk`]). Bounds of what else is counted are taken out where that changes nothing: if masks cannot tell
//! the intersection with few copies of everything from the one with any number, they are the same for all bounds between.

use std::sync::Arc;

use grammask_automata::{LengthLimit, StateId};
use grammask_vocabulary::{CountedSummary, GrowingNodeSet, LiveTokens, NodeSetRef, TerminalSummary};

use super::super::compose::{ComposeError, Composition};
use super::limited_walk::{LimitedState, walk_limited};

/// Copies of a wide thing, such as a word of a text, that few tokens hold.
const FEW_COPIES: u32 = 6;
/// What is known of intersections that are alike but for the bounds of repetitions.
#[derive(Clone, Copy, Debug)]
pub(in crate::masks) enum Clamped {
    /// One was walked.
    Met,
    /// The walk of one was given up, so that of others would be too.
    TooHard,
}

impl Composition<'_> {
    /// The summary of a terminal that goes on with an intersection whose length is limited; none where it does not, or
    /// where that is no help.
    pub(in crate::masks) fn limited(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
    ) -> Result<Option<TerminalSummary>, ComposeError> {
        let term = self.machine.automata.term(state);
        let Some((head, tail)) = self.machine.automata.terms().leading_intersection(term) else {
            return Ok(None);
        };
        // The tail is asked for its own summary, so it must not come here again.
        if self.machine.automata.terms().leading_intersection(tail).is_some() {
            return Ok(None);
        }
        let is_nullable = self.machine.automata.terms().is_nullable(head);
        for limit in self.machine.automata.terms_mut().length_limits(head) {
            // What ends soon is walked soon.
            if limit.max_units < FEW_COPIES {
                continue;
            }
            let Some(counted) = self.all_limits(limit, nodes)? else { continue };
            let store = self.vocabulary.summaries();
            let mut live = vec![store.share(counted.live(Some(limit.max_units), self.vocabulary))];
            let ends = counted.ends(0, Some(limit.max_units), self.trie);
            let mut ends = store.intern(ends);
            if tail != self.machine.automata.terms().epsilon() {
                let Some(tail) = self.machine.automata.start(tail)? else { return Ok(None) };
                let mut all_ends = GrowingNodeSet::default();
                let starts = if is_nullable { &[ends, nodes.clone()][..] } else { &[ends] };
                for nodes in starts {
                    let (more, ends) = self.terminal(tail, nodes)?;
                    live.push(more);
                    let _ = all_ends.add(&ends, self.trie, self.vocabulary.summaries());
                }
                ends = all_ends
                    .finish(self.trie, self.vocabulary.summaries())
                    .unwrap_or_else(|| self.nothing.clone());
            }
            let live = LiveTokens::union(&live, self.vocabulary.size(), self.vocabulary.summaries());
            return Ok(Some(TerminalSummary { live, ends: Some(ends) }));
        }
        Ok(None)
    }

    /// What is known of an intersection for all limits on its length.
    fn all_limits(
        &mut self,
        limit: LengthLimit,
        nodes: &NodeSetRef,
    ) -> Result<Option<Arc<CountedSummary>>, ComposeError> {
        let languages = self.languages(limit);
        if let Some(known) = self.vocabulary.summaries().get_limited(languages, nodes) {
            return Ok(known);
        }
        let Some(between) = self.machine.automata.terms_mut().clamp_maxima(limit.unlimited, FEW_COPIES)
        else {
            return self.walk_limited(limit, nodes);
        };
        let [lower, upper] =
            [between.lower, between.upper].map(|unlimited| LengthLimit { unlimited, ..limit });
        let key = (self.languages(upper), nodes.id());
        let mut counted = None;
        match self.known.clamped.get(&key) {
            // The first of those that are alike above is walked as it is: there may be no other.
            None => {
                counted = self.walk_limited(limit, nodes)?;
                let clamped = if counted.is_some() { Clamped::Met } else { Clamped::TooHard };
                self.known.clamped.insert(key, clamped);
                return Ok(counted);
            }
            Some(Clamped::TooHard) => {}
            Some(Clamped::Met) => {
                let upper = self.walk_limited(upper, nodes)?;
                let lower = if upper.is_some() { self.walk_limited(lower, nodes)? } else { None };
                counted = upper.filter(|upper| lower.is_some_and(|lower| lower == *upper));
                if counted.is_none() {
                    return self.walk_limited(limit, nodes);
                }
            }
        }
        self.vocabulary.summaries().insert_limited(languages, nodes, counted.clone());
        Ok(counted)
    }

    fn languages(&self, limit: LengthLimit) -> [u128; 3] {
        let terms = self.machine.automata.terms();
        [limit.unlimited, limit.unit_rest, limit.unit].map(|term| terms.content_hash(term))
    }

    /// What is known of an intersection for all limits on its length, by going through the trie if nothing is.
    fn walk_limited(
        &mut self,
        limit: LengthLimit,
        nodes: &NodeSetRef,
    ) -> Result<Option<Arc<CountedSummary>>, ComposeError> {
        let languages = self.languages(limit);
        if let Some(known) = self.vocabulary.summaries().get_limited(languages, nodes) {
            return Ok(known);
        }
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
        // What comes before the copies may be anything; if some word of it begins another, there are several ways to count.
        let is_counted_in_one_way = match inside {
            Some(inside) => self.is_prefix_code(inside)? && self.is_prefix_code(unit)?,
            None => self.is_prefix_code(unit)?,
        };
        let mut counted = None;
        if is_counted_in_one_way {
            let state = LimitedState { unlimited, unit, inside };
            let (automata, vocabulary) = (&mut *self.machine.automata, self.vocabulary);
            let setbacks = self.known.limited_setbacks;
            match walk_limited(automata, vocabulary, state, nodes, setbacks)? {
                Some((found, work)) => {
                    self.spend(work)?;
                    counted = Some(Arc::new(found));
                }
                None => self.known.limited_setbacks += 1,
            }
        }
        self.vocabulary.summaries().insert_limited(languages, nodes, counted.clone());
        Ok(counted)
    }
}
