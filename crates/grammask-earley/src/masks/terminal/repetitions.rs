//! Summaries of the remaining copies of a repetition in a production, if its unit is a prefix code.

use std::sync::Arc;

use crate::lowering::DotId;
use grammask_automata::StateId;
use grammask_vocabulary::{
    CopyBounds, CountedSummary, CountedSummaryBuilder, NodeSet, NodeSetRef, Repetition,
};

use super::super::ablation::{Technique, is_enabled};
use super::super::budget::ComposeError;
use super::super::computation::MaskComputation;
use super::super::summary::SymbolSummary;
use super::super::tuning::MAX_UNBOUNDED_STATES;
use super::counted_walk::{Copies, CopyState};
use super::subtree_walk::SubtreeWalk;

impl MaskComputation<'_> {
    /// The live tokens in all copies that can come after a dot, and the ends of the repetition; `None` if the dot is
    /// not in a repetition of a prefix code.
    pub(in crate::masks) fn repetition(
        &mut self,
        dot: DotId,
        nodes: &NodeSetRef,
    ) -> Result<Option<SymbolSummary>, ComposeError> {
        let Some((terminal, min, max)) = self.machine.form.copies_left(dot) else { return Ok(None) };
        let Some(unit) = self.machine.starts[terminal.index()].automaton_state() else { return Ok(None) };
        if !is_enabled(Technique::Repetitions) || !self.is_prefix_code(unit)? {
            return Ok(None);
        }
        if !self.first_bytes(unit)?.intersects(nodes.child_bytes()) {
            return Ok(Some(self.empty()));
        }
        let reach = u32::try_from(self.trie.max_depth()).unwrap_or(u32::MAX);
        let key = (self.machine.form.saturate(dot, reach), nodes.id());
        if let Some(cached) = self.summaries.repetitions.get(&key) {
            return Ok(Some(cached.clone()));
        }
        let automata = &self.machine.automata;
        let code = automata.terms().content_hash(automata.term(unit));
        // No token has more than `reach` copies, so it distinguishes no bounds beyond that.
        let bounds =
            CopyBounds { min: min.min(reach + 1), max: max.filter(|&max| max < reach).unwrap_or(u32::MAX) };
        let store = self.vocabulary.summaries();
        let Repetition { live, ends } = match store.get_repetition(code, nodes, bounds) {
            Some(cached) => cached,
            None => {
                self.budget.require_full_effort()?;
                let counted = match store.get_counted(code, nodes) {
                    Some(cached) => cached,
                    None => Arc::new(self.walk_repetition(unit, nodes)?),
                };
                store.insert_counted(code, nodes, counted.clone());
                let CopyBounds { min, max } = bounds;
                let live = store.share(counted.live(Some(max), self.vocabulary));
                let ends = store.intern(counted.ends(min, Some(max), self.trie));
                let repetition = Repetition { live, ends };
                store.insert_repetition(code, nodes, bounds, repetition.clone());
                repetition
            }
        };
        let summary = SymbolSummary { live, ends, values: None };
        self.summaries.add_bytes(&summary.live, 128);
        self.summaries.repetitions.insert(key, summary.clone());
        Ok(Some(summary))
    }

    pub(in crate::masks) fn is_prefix_code(&mut self, start: StateId) -> Result<bool, ComposeError> {
        if let Some(&cached) = self.summaries.terminals.prefix_codes.get(&start) {
            return Ok(cached);
        }
        let term = self.machine.automata.term(start);
        let is_prefix_code = self.machine.automata.is_prefix_code(term, MAX_UNBOUNDED_STATES)?;
        self.summaries.terminals.prefix_codes.insert(start, is_prefix_code);
        Ok(is_prefix_code)
    }

    /// Walks any number of copies of the prefix code with start state `unit`.
    fn walk_repetition(&mut self, unit: StateId, nodes: &NodeSet) -> Result<CountedSummary, ComposeError> {
        let automata = &mut *self.machine.automata;
        let mut copies = Copies::new(automata, unit)?;
        let start = CopyState::start(copies.cell(automata, None), true, true);
        let mut walk = SubtreeWalk::new(copies, CountedSummaryBuilder::default());
        let work = walk.run_below(automata, self.trie, nodes, start)?;
        self.budget.spend(work)?;
        Ok(walk.sink.finish(self.vocabulary))
    }
}
