//! Recalls the finished masks of equivalent sets.

use grammask_diagnostics::LimitExceeded;
use grammask_engine::CachedMask;
use grammask_vocabulary::Vocabulary;

use super::computation::{RecalledSuperset, RuleSummaries};
use super::equivalence_cache::{EquivalentMask, Observation, ObservedParts};
use super::values::RepeatingTokens;
use crate::recognizer::{ContinuationId, CoreId, RepeatingNodes, SetReader};

impl RuleSummaries {
    /// The cached mask of a set that is equivalent to the reader's, in a grammar without values.
    pub(crate) fn recall(&mut self, reader: &SetReader<'_>, vocabulary: &Vocabulary) -> Option<&CachedMask> {
        // The mask of a set is looked up a second time before it is computed.
        if self.last_miss == Some(reader.set()) {
            return None;
        }
        let Self { equivalent, last_miss, .. } = self;
        let (core, kernel) = reader.core();
        let cached = equivalent.recall(observed_parts(reader, vocabulary), core, kernel);
        *last_miss = cached.is_none().then_some(reader.set());
        match cached? {
            EquivalentMask::Mask(mask) => Some(mask),
            EquivalentMask::Superset(_) => None,
        }
    }

    /// The cached mask of a set that is equivalent to the reader's but for its values, and the tokens whose legality
    /// depends on them.
    pub(crate) fn recall_superset(
        &mut self,
        reader: &mut SetReader<'_>,
        vocabulary: &Vocabulary,
    ) -> Result<Option<RecalledSuperset>, LimitExceeded> {
        if self.last_miss == Some(reader.set()) {
            return Ok(None);
        }
        if let Some((set, recalled)) = self.last_recalled.take()
            && set == reader.set()
        {
            return Ok(Some(recalled));
        }
        let Self { equivalent, last_miss, .. } = self;
        let without_values = reader.core_without_values();
        let (core, kernel) = observed_core(reader, &without_values);
        let found = equivalent.recall(observed_parts(reader, vocabulary), core, kernel);
        let Some(EquivalentMask::Superset(superset)) = found else {
            *last_miss = Some(reader.set());
            return Ok(None);
        };
        let (trie, decided) = (vocabulary.trie(), &superset.decided);
        let nodes = match (reader.may_run_out_of_values(), decided.has_open_values, decided.begins_value) {
            (false, false, _) => Some(RepeatingNodes::default()),
            (false, true, begins_value) => reader.repeating_nodes(begins_value, trie)?,
            _ => None,
        };
        let repeating = match nodes {
            Some(nodes) => RepeatingTokens::of_nodes(nodes, decided, reader, trie),
            None => {
                let Some(values) = reader.open_values(trie)? else { return Ok(None) };
                RepeatingTokens::new(&values, decided, reader, trie)
            }
        };
        Ok(Some(RecalledSuperset { superset: superset.clone(), repeating }))
    }

    /// Caches the finished mask of all sets with this observation.
    pub(crate) fn remember(&mut self, observation: Observation, mask: EquivalentMask) {
        self.last_miss = None;
        if let EquivalentMask::Superset(superset) = &mask {
            self.add_bytes(&superset.live, superset.decided.memory_bytes());
        }
        self.equivalent.remember(observation, mask);
    }
}

/// The core of a set and its continuations: those without values if the set has some.
pub(super) fn observed_core<'a>(
    reader: &'a SetReader<'_>,
    without_values: &'a Option<(CoreId, Box<[ContinuationId]>)>,
) -> (CoreId, &'a [ContinuationId]) {
    match without_values {
        Some((core, kernel)) => (*core, kernel),
        None => reader.core(),
    }
}

pub(super) fn observed_parts<'a>(reader: &'a SetReader<'_>, vocabulary: &Vocabulary) -> ObservedParts<'a> {
    let reach = u32::try_from(vocabulary.trie().max_depth()).unwrap_or(u32::MAX);
    ObservedParts { form: reader.normal_form(), continuations: reader.continuations(), reach }
}
