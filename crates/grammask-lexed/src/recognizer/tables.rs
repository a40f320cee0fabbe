//! The tables of the recogniser: runs are stepped, dropped where they have no completion, and interned as sets.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::completion::lexeme_costs::spellable_bytes;
use crate::completion::search::ShortestCompletions;
use crate::completion::search_sources::SearchSources;
use crate::delimited::{DelimitedStatesId, DelimitedStatesTable, LexemeBeforeByte};
use crate::lexer::column_units::UnitState;
use crate::lexer::lexer_automaton::{ConfigurationId, GuardsId, Lexer};
use crate::lexer::line_columns::Column;
use crate::lexer::open_lexemes::OpenTerminalsId;
use crate::masks::delimited_masks::DelimitedMasks;
use crate::masks::follow_cache::FollowCache;
use crate::masks::mask_tables::MaskTables;
use crate::masks::spanner_table::ColumnState;
use crate::parser::stacks::{ParseState, TerminalParser};
use grammask_collections::state_table::StateTable;
use grammask_diagnostics::{Deadline, LimitExceeded, Limits};
use grammask_engine::SetId;
use grammask_grammar::TerminalId;
use grammask_vocabulary::{TokenSetId, TokenSetRef, Vocabulary};

use super::LexedRecognizer;

/// The number of transitions stored inline: most sets have transitions for one or two byte classes.
const INLINE_TRANSITIONS: usize = 2;

/// The maximum number of runs in a set; grammars of real languages have few.
const MAX_RUNS: usize = 1 << 10;

/// A way to read the text so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Run {
    pub(crate) parse: ParseState,
    pub(crate) configuration: ConfigurationId,
    /// The column of the lexeme if it may become a newline; otherwise [`Column::UNTRACKED`].
    pub(crate) column: Column,
    /// The position inside the spelling of the last unit, for the column.
    pub(crate) unit: UnitState,
    /// The states of the texts of delimited terminals that the lexeme can become.
    pub(crate) delimited: DelimitedStatesId,
}

/// An interned set of runs.
#[derive(Debug)]
pub(super) struct RunSet {
    pub(super) runs: Arc<[Run]>,
    pub(super) is_complete: bool,
}

/// The sets of a recogniser, by [`SetId`].
pub(super) type Sets = StateTable<OnceLock<RunSet>, INLINE_TRANSITIONS>;

/// The tables that compute new sets and masks.
#[derive(Debug)]
pub(crate) struct RecognizerTables {
    pub(crate) lexer: Lexer,
    pub(crate) parser: TerminalParser,
    pub(crate) delimited: DelimitedStatesTable,
    /// The tables for the tokens alone, and those for the tokens and the exits before some bytes.
    pub(super) masks: Vec<MaskTables>,
    pub(crate) delimited_masks: DelimitedMasks,
    pub(super) follow_cache: FollowCache,
    pub(super) set_ids: FxHashMap<Arc<[Run]>, SetId>,
    /// Whether the parser accepts one of the open terminals.
    pub(super) liveness: FxHashMap<(ParseState, OpenTerminalsId), bool>,
    /// The number of run masks from cached transitions only, and of others.
    pub(super) mask_counts: (u64, u64),
    /// Masks with end tokens, by the identity of the mask without them.
    pub(super) masks_with_end: FxHashMap<TokenSetId, TokenSetRef>,
    /// Shortest completions; `None` until one is asked for.
    pub(super) completions: Option<Box<ShortestCompletions>>,
    pub(super) memory_bytes: usize,
    pub(super) limits: Limits,
}

impl RecognizerTables {
    /// Adds the live runs after a byte.
    pub(super) fn step_run(
        &mut self,
        recognizer: &LexedRecognizer,
        run: Run,
        byte: u8,
        next: &mut Vec<Run>,
    ) -> Result<(), LimitExceeded> {
        self.extend_run(recognizer, run, byte, next)?;
        self.commit_run(recognizer, run, byte, next)?;
        Ok(())
    }

    /// Adds the run whose lexeme is longer by a byte, if it is live. Where the byte ends a delimited terminal, the next
    /// lexeme has no byte yet.
    pub(crate) fn extend_run(
        &mut self,
        recognizer: &LexedRecognizer,
        run: Run,
        byte: u8,
        next: &mut Vec<Run>,
    ) -> Result<(), LimitExceeded> {
        if self.lexer.opened(run.configuration).is_some() {
            return self.extend_delimited(recognizer, run, byte, next);
        }
        if let Some(configuration) = self.lexer.step(run.configuration, byte)?.extended {
            let from = ColumnState { column: run.column, unit: run.unit };
            let ColumnState { column, unit } =
                recognizer.columns.step(&self.lexer, configuration, from, byte);
            let before = match self.lexer.is_start(run.configuration) {
                true => LexemeBeforeByte::AtStart,
                false => LexemeBeforeByte::Inside(run.delimited),
            };
            let delimited = self.delimited.after(before, &self.lexer, configuration, byte)?;
            self.push_live(recognizer, Run { configuration, column, unit, delimited, ..run }, next);
        }
        Ok(())
    }

    /// Adds the runs whose lexeme ends before a byte, which begins another one, if they are live; returns its terminal.
    pub(crate) fn commit_run(
        &mut self,
        recognizer: &LexedRecognizer,
        run: Run,
        byte: u8,
        next: &mut Vec<Run>,
    ) -> Result<Option<TerminalId>, LimitExceeded> {
        if self.lexer.opened(run.configuration).is_some() {
            return Ok(None);
        }
        let step = self.lexer.step(run.configuration, byte)?;
        let (Some(guards), Some(terminal)) = (step.commit, self.lexer.label(run.configuration)) else {
            return Ok(None);
        };
        let Some(parse) = self.parser.feed_lexeme(run.parse, terminal, run.column) else { return Ok(None) };
        self.enter(recognizer, parse, guards, byte, next)?;
        Ok(Some(terminal))
    }

    /// Adds the runs whose lexeme begins with a byte, if they are live.
    fn enter(
        &mut self,
        recognizer: &LexedRecognizer,
        parse: ParseState,
        guards: GuardsId,
        byte: u8,
        next: &mut Vec<Run>,
    ) -> Result<(), LimitExceeded> {
        let mode = recognizer.mode_at(self.parser.top(parse.stack));
        for configuration in self.lexer.enter(mode, byte, guards)? {
            let ColumnState { column, unit } =
                recognizer.columns.step(&self.lexer, configuration, ColumnState::BEFORE_LEXEME, byte);
            let delimited =
                self.delimited.after(LexemeBeforeByte::AtStart, &self.lexer, configuration, byte)?;
            self.push_live(recognizer, Run { parse, configuration, column, unit, delimited }, next);
        }
        Ok(())
    }

    fn push_live(&mut self, recognizer: &LexedRecognizer, mut run: Run, next: &mut Vec<Run>) {
        if self.parser.is_in_brackets(run.parse.layout) {
            // Inside brackets newlines are ignored, and their lexeme ends before the bracket does, so the column is
            // irrelevant.
            (run.column, run.unit) = (Column::UNTRACKED, UnitState::BOUNDARY);
        }
        let mode = recognizer.mode_at(self.parser.top(run.parse.stack));
        if let Some(open) = recognizer.prepared.open_terminals.of(run.configuration, mode)
            && self.is_live(recognizer, run.parse, open)
        {
            next.push(run);
        }
    }

    /// As [`LexedRecognizer::is_live`], memoised, because all configurations inside a lexeme ask it.
    pub(super) fn is_live(
        &mut self,
        recognizer: &LexedRecognizer,
        parse: ParseState,
        open: OpenTerminalsId,
    ) -> bool {
        if let Some(&cached) = self.liveness.get(&(parse, open)) {
            return cached;
        }
        let is_live = recognizer.is_live(&mut self.parser, parse, open);
        if !self.parser.has_failed() {
            self.liveness.insert((parse, open), is_live);
        }
        is_live
    }

    /// The interned set of some live runs; empty at most for the start set.
    pub(super) fn intern(&mut self, sets: &Sets, mut runs: Vec<Run>) -> Result<SetId, LimitExceeded> {
        runs.sort_unstable();
        runs.dedup();
        if runs.len() > 1 && self.parser.has_unions() {
            self.unite(&mut runs)?;
        }
        if let Some(&cached) = self.set_ids.get(&runs[..]) {
            return Ok(cached);
        }
        if runs.len() > MAX_RUNS {
            return Err(LimitExceeded::new("set_items", MAX_RUNS));
        }
        if self.total_memory() > self.limits.memory_bytes {
            return Err(LimitExceeded::new("memory_bytes", self.limits.memory_bytes));
        }
        let is_complete = runs.iter().any(|run| self.can_end(run));
        self.parser.check()?;
        let runs: Arc<[Run]> = runs.into();
        self.memory_bytes += 96 + 2 * size_of_val(&runs[..]);
        let set = RunSet { runs: runs.clone(), is_complete };
        let id = SetId::new(sets.push(|data| {
            // The table provides a fresh cell, so `set` cannot fail.
            let _ = data.set(set);
        }));
        self.set_ids.insert(runs, id);
        Ok(id)
    }

    /// Replaces runs that differ only in their Earley sets by one with the union. The ends of lexemes may be undecided
    /// anywhere in a text, so the number of these sets can grow exponentially with its length; that of unions is the
    /// number of configurations and layouts.
    fn unite(&mut self, runs: &mut Vec<Run>) -> Result<(), LimitExceeded> {
        let lexeme = |run: &Run| (run.parse.layout, run.configuration, run.column, run.unit, run.delimited);
        runs.sort_unstable_by_key(|run| (lexeme(run), run.parse.stack));
        let mut united: Vec<Run> = Vec::with_capacity(runs.len());
        for &run in &*runs {
            match united.last_mut().filter(|last| lexeme(last) == lexeme(&run)) {
                Some(last) => last.parse.stack = self.parser.union(last.parse.stack, run.parse.stack),
                None => united.push(run),
            }
        }
        self.parser.check()?;
        united.sort_unstable();
        *runs = united;
        Ok(())
    }

    /// The completions of the recogniser, with the tables that they extend.
    pub(super) fn completions<'a>(
        &'a mut self,
        recognizer: &'a LexedRecognizer,
        vocabulary: &'a Vocabulary,
        deadline: &'a Deadline,
    ) -> Result<(&'a mut ShortestCompletions, SearchSources<'a>), LimitExceeded> {
        let memory_elsewhere = self.memory_without_completions() - self.parser.memory_bytes();
        let completions = match self.completions.take() {
            Some(completions) => completions,
            None => {
                let bytes = spellable_bytes(vocabulary, &recognizer.class_of_byte);
                let delimited = self.delimited.shortest_texts(vocabulary, deadline)?;
                Box::new(ShortestCompletions::new(&recognizer.prepared, &mut self.lexer, bytes, &delimited)?)
            }
        };
        let completions = self.completions.insert(completions);
        let sources = SearchSources {
            prepared: &recognizer.prepared,
            columns: &recognizer.columns,
            lexer: &mut self.lexer,
            parser: &mut self.parser,
            delimited: &mut self.delimited,
            vocabulary,
            liveness: &mut self.liveness,
            deadline,
            memory_limit: self.limits.memory_bytes,
            memory_elsewhere,
        };
        Ok((completions, sources))
    }

    fn can_end(&mut self, run: &Run) -> bool {
        if self.lexer.is_start(run.configuration) {
            return self.parser.can_end(run.parse, None);
        }
        match self.lexer.label(run.configuration) {
            // The text of a delimited terminal is not complete.
            Some(_) if self.lexer.opened(run.configuration).is_some() => false,
            Some(terminal) => self.parser.can_end(run.parse, Some((terminal, run.column))),
            None => false,
        }
    }

    pub(super) fn total_memory(&self) -> usize {
        self.memory_without_completions()
            + self.completions.as_ref().map_or(0, |completions| completions.memory_bytes())
    }

    fn memory_without_completions(&self) -> usize {
        self.memory_bytes
            + self.liveness.capacity() * 20
            + self.parser.memory_bytes()
            + self.delimited.memory_bytes()
            + self.delimited_masks.memory_bytes()
            + self.masks.iter().map(MaskTables::memory_bytes).sum::<usize>()
    }
}
