//! Masks of sets of runs: the union of the masks of the runs, from the tables of the stack automaton.
//!
//! The tables for the tokens alone and those for the tokens and the exits before some bytes are separate, because the exits
//! are more outputs of the same automaton.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::lexer::open_lexemes::may_end_text;
use crate::masks::mask_tables::MaskTables;
use crate::masks::precompute::{FirstTokens, Precomputation};
use crate::masks::spanner_subset::SubsetSources;
use crate::masks::spanner_table::TriePosition;
use crate::masks::stack_automaton::StackReader;
use crate::masks::successor_groups::GroupedRuns;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{
    Effort, ExitsRequest, MaskCounts, MaskOutcome, MaskRequest, MaskSource, MaskStrategy, PrecomputeBudget,
    SetId, Steps, SuccessorGroups, TokensAndExits, walk,
};
use grammask_vocabulary::{LiveTokens, Mask, TokenSet, TokenSetRef, Vocabulary};

use super::LexedRecognizer;
use super::tables::{RecognizerTables, Run};

/// The index of the tables for the tokens alone.
const WITHOUT_EXITS: usize = 0;

/// The maximum number of tables for tokens and exits; parts are followed by few different bytes.
const MAX_EXIT_TABLES: usize = 3;

impl LexedRecognizer {
    /// The legal next tokens of a set, without end tokens.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn mask(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<TokenSetRef, LimitExceeded> {
        let runs = self.set(set).runs.clone();
        let mut tables = self.lock();
        if let [run] = runs[..]
            && self.delimited.is_empty()
        {
            return tables.mask_of_run(self, run, vocabulary, WITHOUT_EXITS, deadline);
        }
        let mut mask = TokenSet::new(vocabulary.size());
        for &run in &runs[..] {
            if tables.lexer.opened(run.configuration).is_none() {
                mask.union_with(&*tables.mask_of_run(self, run, vocabulary, WITHOUT_EXITS, deadline)?);
            }
        }
        drop(tables);
        if !self.delimited.is_empty() {
            self.add_delimited_tokens(set, vocabulary, deadline, &mut mask)?;
        }
        Ok(mask.into())
    }

    /// The legal next tokens of the requested set, with end tokens if the text is complete.
    fn mask_with_end(
        &self,
        request: &MaskRequest<'_>,
        deadline: &Deadline,
    ) -> Result<TokenSetRef, LimitExceeded> {
        let set = request.set;
        let mask = self.mask(set, request.vocabulary, deadline)?;
        let Some(end_tokens) = request.end_tokens.filter(|_| self.is_complete(set)) else {
            return Ok(mask);
        };
        let mut tables = self.lock();
        if let Some(cached) = tables.masks_with_end.get(&mask.id()) {
            return Ok(cached.clone());
        }
        let mut with_end = TokenSet::clone(&mask);
        end_tokens.add_to(&mut with_end);
        let with_end = TokenSetRef::from(with_end);
        if self.set(set).runs.len() == 1 && self.delimited.is_empty() {
            tables.memory_bytes += size_of_val(mask.words());
            tables.masks_with_end.insert(mask.id(), with_end.clone());
        }
        Ok(with_end)
    }
}

impl MaskSource for LexedRecognizer {
    fn compute(
        &self,
        request: &MaskRequest<'_>,
        effort: Effort,
        deadline: &Deadline,
    ) -> Result<MaskOutcome, LimitExceeded> {
        if effort == Effort::Immediate {
            return Ok(MaskOutcome::Declined);
        }
        let (set, vocabulary) = (request.set, request.vocabulary);
        let tokens = match request.strategy {
            MaskStrategy::Summaries => self.mask_with_end(request, deadline)?,
            MaskStrategy::Walk => {
                self.walked_masks.fetch_add(1, Ordering::Relaxed);
                let mut tokens = walk(self, vocabulary, set, deadline)?;
                if self.is_complete(set)
                    && let Some(end_tokens) = request.end_tokens
                {
                    end_tokens.add_to(&mut tokens);
                }
                TokenSetRef::from(tokens)
            }
        };
        if tokens.is_empty() {
            return Ok(MaskOutcome::DeadEnd);
        }
        let mask = Arc::new(Mask::new(LiveTokens::from_dense(tokens), vocabulary.size()));
        match self.delimited.is_empty() {
            true => request.cache.insert_uncounted(set, mask.clone(), request.max_cache_bytes),
            // No table of this recogniser has the mask.
            false => {
                request.cache.insert(set, mask.clone(), request.max_cache_bytes);
            }
        }
        Ok(MaskOutcome::Mask(mask))
    }

    fn compute_exits(
        &self,
        request: &ExitsRequest<'_>,
        deadline: &Deadline,
    ) -> Result<Option<TokensAndExits>, LimitExceeded> {
        let vocabulary = request.vocabulary;
        if !self.delimited.is_empty() {
            return Ok(None);
        }
        let runs = self.set(request.set).runs.clone();
        let mut tables = self.lock();
        let Some(index) = tables.masks_before(self, request) else { return Ok(None) };
        if let [run] = runs[..] {
            let mask = tables.mask_of_run(self, run, vocabulary, index, deadline)?;
            return Ok(Some(tables.masks[index].parts(&mask)));
        }
        let mut mask = TokenSet::new(tables.masks[index].mask_size());
        for &run in &runs[..] {
            mask.union_with(&*tables.mask_of_run(self, run, vocabulary, index, deadline)?);
        }
        Ok(Some(tables.masks[index].split(&mask)))
    }

    fn successor_groups(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<SuccessorGroups>, LimitExceeded> {
        // Spanner tables end at the openings of delimited terminals. Earley sets of several runs are united after each byte.
        if !self.delimited.is_empty() || self.prepared.table().is_none() {
            return Ok(None);
        }
        let runs = self.set(set).runs.clone();
        let mut tables = self.lock();
        let mut grouped = GroupedRuns::default();
        for &run in &runs[..] {
            tables.group_successors(self, run, vocabulary, deadline, &mut grouped)?;
        }
        let (groups, others) = grouped.finish(vocabulary.size());
        let interned =
            groups.into_iter().map(|(run, tokens)| Ok((tables.intern(&self.sets, vec![run])?, tokens)));
        Ok(Some(SuccessorGroups { groups: interned.collect::<Result<_, LimitExceeded>>()?, others }))
    }

    fn counts(&self) -> MaskCounts {
        let (recalled, composed) = self.lock().mask_counts;
        MaskCounts { recalled, composed, walked: self.walked_masks.load(Ordering::Relaxed) }
    }

    fn precompute(
        &self,
        vocabulary: &Vocabulary,
        budget: PrecomputeBudget,
        proceed: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Option<usize>, LimitExceeded> {
        if self.prepared.table().is_none() {
            return Ok(None);
        }
        self.mask(self.start, vocabulary, &Deadline::after_first_check(budget.step_time))?;
        let mut first_tokens = FirstTokens::new(&self.prepared.open_terminals);
        while first_tokens.visit_batch(&mut self.lock().lexer, vocabulary.trie())? {
            if !proceed(0, 1) {
                return Ok(Some(0));
            }
        }
        let mut precomputation = Precomputation::new(&self.prepared, first_tokens, &budget);
        loop {
            let (done, count) = precomputation.progress();
            if done == count || !proceed(done, count) {
                return Ok(Some(done));
            }
            let mut tables = self.lock();
            if tables.total_memory().max(precomputation.memory_bytes()) > budget.max_bytes {
                return Ok(Some(done));
            }
            let deadline = Deadline::after_first_check(budget.step_time);
            precomputation.make_batch(&mut tables.reader(self, vocabulary, WITHOUT_EXITS, &deadline))?;
        }
    }
}

impl RecognizerTables {
    /// The tables with the exits before the requested bytes; `None` if there are tables for too many others.
    fn masks_before(&mut self, recognizer: &LexedRecognizer, request: &ExitsRequest<'_>) -> Option<usize> {
        let next_bytes = request.next_bytes;
        if let Some(index) = self.masks.iter().position(|masks| masks.has_exits_before(next_bytes)) {
            return Some(index);
        }
        if self.masks.len() > MAX_EXIT_TABLES {
            return None;
        }
        let (columns, vocabulary) = (recognizer.columns.clone(), request.vocabulary);
        let last = may_end_text(&recognizer.prepared.grammar, &recognizer.prepared.tables);
        let masks = MaskTables::with_exits(columns, next_bytes, vocabulary.trie(), vocabulary.size(), last);
        self.masks.push(masks);
        Some(self.masks.len() - 1)
    }

    /// A reader that makes masks with some of the tables.
    fn reader<'a>(
        &'a mut self,
        recognizer: &'a LexedRecognizer,
        vocabulary: &'a Vocabulary,
        index: usize,
        deadline: &'a Deadline,
    ) -> StackReader<'a> {
        let others = self.masks.iter().enumerate().filter(|&(other, _)| other != index);
        let other_masks: usize = others.map(|(_, masks)| masks.memory_bytes()).sum();
        let masks = &mut self.masks[index];
        let vocabulary_size = masks.mask_size();
        StackReader {
            automaton: &mut masks.automaton,
            parser: &mut self.parser,
            subsets: &mut masks.subsets,
            partitions: &mut masks.partitions,
            sources: SubsetSources {
                spanners: &mut masks.spanners,
                lexer: &mut self.lexer,
                open_terminals: &recognizer.prepared.open_terminals,
                follow_cache: &mut self.follow_cache,
                trie: vocabulary.trie(),
                vocabulary_size,
                deadline,
            },
            prepared: &recognizer.prepared,
            memory_limit: self.limits.memory_bytes,
            memory_elsewhere: self.memory_bytes + self.liveness.capacity() * 20 + other_masks,
        }
    }

    fn mask_of_run(
        &mut self,
        recognizer: &LexedRecognizer,
        run: Run,
        vocabulary: &Vocabulary,
        index: usize,
        deadline: &Deadline,
    ) -> Result<TokenSetRef, LimitExceeded> {
        let mode = recognizer.mode_at(self.parser.top(run.parse.stack));
        let mut reader = self.reader(recognizer, vocabulary, index, deadline);
        let position = TriePosition::before_token(run.configuration, run.unit);
        let root = reader.subsets.root(position, mode, &mut reader.sources)?;
        let (mask, was_cached) = reader.mask(root, run.column, run.parse)?;
        let (cached, computed) = &mut self.mask_counts;
        *(if was_cached { cached } else { computed }) += 1;
        Ok(mask)
    }

    /// Adds the legal tokens of a run by the runs after them.
    fn group_successors(
        &mut self,
        recognizer: &LexedRecognizer,
        run: Run,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
        grouped: &mut GroupedRuns,
    ) -> Result<(), LimitExceeded> {
        let mode = recognizer.mode_at(self.parser.top(run.parse.stack));
        let mut liveness = std::mem::take(&mut self.liveness);
        // All tables have the tokens; the last ones are those of the masks.
        let mut reader = self.reader(recognizer, vocabulary, self.masks.len() - 1, deadline);
        let grouping = reader.group_successors(run, mode, &mut liveness, vocabulary.size(), grouped);
        self.liveness = liveness;
        grouping
    }
}
