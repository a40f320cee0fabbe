//! The recogniser of a lexed grammar: interned sets of runs, and their masks.
//!
//! A run is a configuration of the lexer with a parser state. A text mostly has one run; it has several while the end
//! of a lexeme is undecided. Runs that differ only in their Earley sets are united, so a set has at most one for each
//! configuration and layout. Runs without a completion are dropped at once, so every set has a completion. Equal sets
//! have equal ids, and a step is a memoised function of set and byte class, which is read without a lock.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use crate::completion::lexeme_costs::spellable_bytes;
use crate::completion::search::{SearchSources, ShortestCompletions};
use crate::definition::grammar::{ByteClasses, LexedProduction, LexedSymbol};
use crate::delimited::{DelimitedEngines, DelimitedStatesId, DelimitedStatesTable, LexemeBeforeByte};
use crate::lexer::column_units::UnitState;
use crate::lexer::lexer_automaton::{ConfigurationId, GuardsId, LexModeId, Lexer};
use crate::lexer::line_columns::Column;
use crate::lexer::open_lexemes::{OpenTerminalsId, may_end_text};
use crate::masks::delimited_masks::DelimitedMasks;
use crate::masks::follow_cache::FollowCache;
use crate::masks::mask_tables::MaskTables;
use crate::masks::precompute::Precomputation;
use crate::masks::spanner_subset::SubsetSources;
use crate::masks::spanner_table::{ColumnState, ColumnTracker, TriePosition};
use crate::masks::stack_automaton::StackReader;
use crate::masks::successor_groups::GroupedRuns;
use crate::parser::lr_automaton::{LrItem, LrState};
use crate::parser::stacks::{ParseState, TerminalParser};
use crate::prepared::PreparedGrammar;
use grammask_collections::state_table::{MemoTransition, StateTable};
use grammask_diagnostics::{Deadline, LimitExceeded, Limits};
use grammask_engine::{
    Effort, Engine, ExitsRequest, Expectation, FirstTerminals, LexerReading, MaskCounts, MaskOutcome,
    MaskRequest, MaskSource, MaskStrategy, PrecomputeBudget, Reach, SetId, ShortestCompletion,
    SuccessorGroups, TokenGrowths, TokensAndExits, walk,
};
use grammask_grammar::TerminalId;
use grammask_vocabulary::{LiveTokens, Mask, TokenSet, TokenSetId, TokenSetRef, Vocabulary};

/// The number of transitions stored inline: most sets have transitions for one or two byte classes.
const INLINE_TRANSITIONS: usize = 2;
/// The maximum number of runs in a set; grammars of real languages have few.
const MAX_RUNS: usize = 1 << 10;
/// The index of the tables for the tokens alone.
const WITHOUT_EXITS: usize = 0;
/// The maximum number of tables for tokens and exits; parts are followed by few different bytes.
const MAX_EXIT_TABLES: usize = 3;

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
struct RunSet {
    runs: Arc<[Run]>,
    is_complete: bool,
}

/// The sets of a recogniser, by [`SetId`].
type Sets = StateTable<OnceLock<RunSet>, INLINE_TRANSITIONS>;

/// The tables that compute new sets and masks.
#[derive(Debug)]
pub(crate) struct RecognizerTables {
    pub(crate) lexer: Lexer,
    pub(crate) parser: TerminalParser,
    pub(crate) delimited: DelimitedStatesTable,
    /// The tables for the tokens alone, and those for the tokens and the exits before some bytes.
    masks: Vec<MaskTables>,
    pub(crate) delimited_masks: DelimitedMasks,
    follow_cache: FollowCache,
    set_ids: FxHashMap<Arc<[Run]>, SetId>,
    /// Whether the parser accepts one of the open terminals.
    liveness: FxHashMap<(ParseState, OpenTerminalsId), bool>,
    /// The number of run masks from cached transitions only, and of others.
    mask_counts: (u64, u64),
    /// Masks with end tokens, by the identity of the mask without them.
    masks_with_end: FxHashMap<TokenSetId, TokenSetRef>,
    /// Shortest completions; `None` until one is asked for.
    completions: Option<Box<ShortestCompletions>>,
    memory_bytes: usize,
    limits: Limits,
}

/// The recogniser of a lexed grammar, shared by all matchers.
#[derive(Debug)]
pub struct LexedRecognizer {
    prepared: PreparedGrammar,
    columns: ColumnTracker,
    delimited: Arc<DelimitedEngines>,
    class_of_byte: Box<[u8; 256]>,
    byte_of_class: Box<[u8]>,
    sets: Sets,
    start: SetId,
    new_steps: AtomicUsize,
    /// The number of masks computed by a walk.
    walked_masks: AtomicU64,
    tables: Mutex<RecognizerTables>,
}

impl LexedRecognizer {
    /// The start of every recogniser: the first of its sets.
    #[must_use]
    pub fn start_set() -> SetId {
        SetId::new(0)
    }

    /// A recogniser for masks over a vocabulary of this size.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn new(
        prepared: &PreparedGrammar,
        vocabulary_size: usize,
        limits: &Limits,
    ) -> Result<Self, LimitExceeded> {
        let columns = ColumnTracker::of(&prepared.grammar);
        let mut lexer = Lexer::clone(&prepared.lexer);
        let mode = prepared.lex_modes.of_state[LrState::START.index()];
        let starts = lexer.starts(mode)?;
        let delimited = Arc::new(DelimitedEngines::new(&prepared.grammar, limits)?);
        let mut tables = RecognizerTables {
            lexer,
            parser: TerminalParser::new(prepared.grammar.clone(), prepared.tables.clone(), limits)?,
            delimited: DelimitedStatesTable::new(delimited.clone()),
            masks: vec![MaskTables::without_exits(columns.clone(), vocabulary_size)],
            delimited_masks: DelimitedMasks::default(),
            follow_cache: FollowCache::new(prepared.grammar.clone(), prepared.tables.clone()),
            set_ids: FxHashMap::default(),
            liveness: FxHashMap::default(),
            mask_counts: (0, 0),
            masks_with_end: FxHashMap::default(),
            completions: None,
            memory_bytes: 0,
            limits: limits.clone(),
        };
        let sets = Sets::default();
        let parse = tables.parser.start();
        let runs = starts.into_iter().map(|configuration| Run {
            parse,
            configuration,
            column: Column::NoBreak,
            unit: UnitState::BOUNDARY,
            delimited: DelimitedStatesId::NONE,
        });
        let start = tables.intern(&sets, runs.collect())?;
        let ByteClasses { class_of_byte, byte_of_class } = match delimited.is_empty() {
            true => ByteClasses {
                class_of_byte: Box::new(*tables.lexer.class_of_byte()),
                byte_of_class: tables.lexer.byte_of_class().into(),
            },
            false => prepared.grammar.byte_classes(),
        };
        let mut recognizer = Self {
            prepared: prepared.clone(),
            columns,
            delimited,
            class_of_byte,
            byte_of_class,
            sets,
            start,
            new_steps: AtomicUsize::new(0),
            walked_masks: AtomicU64::new(0),
            tables: Mutex::new(tables),
        };
        if !prepared.grammar.beginning.is_empty() {
            recognizer.start_after_beginning()?;
        }
        Ok(recognizer)
    }

    /// Makes the set after the bytes that precede every text the start, and the first of all sets.
    fn start_after_beginning(&mut self) -> Result<(), LimitExceeded> {
        let grammar = self.prepared.grammar.clone();
        let mut start = Some(self.start);
        for &byte in &grammar.beginning {
            start = match start {
                Some(start) => self.step(start, byte)?,
                None => None,
            };
        }
        let runs = match start {
            Some(start) => self.set(start).runs.to_vec(),
            // A line break is read if the parser can read one.
            None if grammar.definition().beginning.is_empty() => self.set(self.start).runs.to_vec(),
            None => Vec::new(),
        };
        self.sets = Sets::default();
        let tables = self.tables.get_mut().unwrap_or_else(PoisonError::into_inner);
        tables.set_ids.clear();
        self.start = tables.intern(&self.sets, runs)?;
        Ok(())
    }

    /// The grammar with its static tables.
    #[must_use]
    pub fn prepared(&self) -> &PreparedGrammar {
        &self.prepared
    }

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

    /// The name of a rule that needs the terminal in a state: one with the terminal after the dot, or else one that
    /// ends there.
    pub(crate) fn rule_that_needs(&self, state: LrState, terminal: TerminalId) -> Arc<str> {
        let grammar = &self.prepared.grammar;
        let Some(table) = self.prepared.table() else {
            let needs =
                |production: &&LexedProduction| production.rhs.contains(&LexedSymbol::Terminal(terminal));
            let production = grammar.productions.iter().find(needs);
            let lhs = production.map_or(grammar.start, |production| production.lhs);
            return grammar.nonterminals[lhs.index()].clone();
        };
        let automaton = &table.automaton;
        let closure = automaton.closure(state);
        let scans = |item: &&LrItem| automaton.symbol_after(**item) == Some(LexedSymbol::Terminal(terminal));
        let item = closure.iter().find(scans).or(closure.first());
        let lhs = item.map(|item| automaton.productions[item.production as usize].lhs);
        lhs.and_then(|lhs| grammar.nonterminals.get(lhs.index()))
            .unwrap_or(&grammar.nonterminals[grammar.start.index()])
            .clone()
    }

    #[cold]
    fn compute_step(&self, set: SetId, byte: u8, class: usize) -> Result<Option<SetId>, LimitExceeded> {
        let entry = self.set(set);
        let mut tables = self.lock();
        let mut next = Vec::new();
        for &run in &entry.runs[..] {
            tables.step_run(self, run, byte, &mut next)?;
        }
        tables.parser.check()?;
        let next = if next.is_empty() { None } else { Some(tables.intern(&self.sets, next)?) };
        self.new_steps.fetch_add(1, Ordering::Relaxed);
        let state = self.sets.get(set.index());
        tables.memory_bytes += state.memoise(class, next.map(SetId::index), self.byte_of_class.len());
        Ok(next)
    }

    fn set(&self, set: SetId) -> &RunSet {
        self.sets.get(set.index()).data.get().expect("a set is filled in before its id is known")
    }

    /// The interned set of some live runs.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn intern_runs(&self, runs: Vec<Run>) -> Result<SetId, LimitExceeded> {
        self.lock().intern(&self.sets, runs)
    }

    /// The maximum number of states of automata that masks need.
    pub(crate) fn max_automaton_states(&self) -> usize {
        self.lock().limits.automaton_states
    }

    /// The runs before any text.
    pub(crate) fn runs_at_start(&self) -> Arc<[Run]> {
        self.runs_of(self.start)
    }

    /// The runs of a set.
    pub(crate) fn runs_of(&self, set: SetId) -> Arc<[Run]> {
        self.set(set).runs.clone()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, RecognizerTables> {
        // After a panic the tables are still consistent: they only grow, by complete entries.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the parser accepts one of the open terminals.
    fn is_live(&self, parser: &mut TerminalParser, parse: ParseState, open: OpenTerminalsId) -> bool {
        self.prepared.open_terminals.get(open).accepted_by(parser, parse, self.prepared.grammar.end())
    }

    pub(crate) fn columns(&self) -> &ColumnTracker {
        &self.columns
    }

    pub(crate) fn delimited_engines(&self) -> &Arc<DelimitedEngines> {
        &self.delimited
    }

    pub(crate) fn mode_at(&self, state: LrState) -> LexModeId {
        self.prepared.lex_modes.of_state[state.index()]
    }
}

impl Engine for LexedRecognizer {
    fn start(&self) -> SetId {
        self.start
    }

    fn is_complete(&self, set: SetId) -> bool {
        self.set(set).is_complete
    }

    fn set_count(&self) -> usize {
        self.sets.len()
    }

    fn class_of_byte(&self) -> &[u8; 256] {
        &self.class_of_byte
    }

    fn byte_of_class(&self) -> &[u8] {
        &self.byte_of_class
    }

    fn memory_bytes(&self) -> usize {
        self.lock().total_memory()
    }

    fn new_steps(&self) -> usize {
        self.new_steps.load(Ordering::Relaxed)
    }

    #[inline]
    fn step(&self, set: SetId, byte: u8) -> Result<Option<SetId>, LimitExceeded> {
        let class = usize::from(self.class_of_byte[usize::from(byte)]);
        match self.sets.get(set.index()).transition(class) {
            MemoTransition::Unknown => self.compute_step(set, byte, class),
            MemoTransition::Dead => Ok(None),
            MemoTransition::To(next) => Ok(Some(SetId::new(next as usize))),
        }
    }

    fn union(&self, left: SetId, right: SetId) -> Result<SetId, LimitExceeded> {
        if left == right {
            return Ok(left);
        }
        let mut runs = self.set(left).runs.to_vec();
        runs.extend_from_slice(&self.set(right).runs);
        self.lock().intern(&self.sets, runs)
    }

    fn depends_on_all_values(&self) -> bool {
        !self.delimited.is_empty()
    }

    fn has_few_texts_of_values(&self, vocabulary: &Vocabulary, max: usize) -> Result<bool, LimitExceeded> {
        self.delimited.have_few_bound_texts(vocabulary, max)
    }

    fn expectations(&self, set: SetId) -> Result<Vec<Expectation>, LimitExceeded> {
        self.find_expectations(set)
    }

    fn first_terminals(&self, set: SetId, texts: &[&[u8]]) -> Result<FirstTerminals, LimitExceeded> {
        self.find_first_terminals(set, texts)
    }

    fn readings(&self, text: &[u8]) -> Result<Vec<LexerReading>, LimitExceeded> {
        self.all_readings(text)
    }

    fn describe(&self, set: SetId) -> String {
        let entry = self.set(set);
        let tables = self.lock();
        let grammar = &self.prepared.grammar;
        let mut text = format!("set {}", set.as_u32());
        text.push_str(if entry.is_complete { ", the text may be complete\n" } else { "\n" });
        for run in &entry.runs[..] {
            let live: Vec<&str> = tables
                .lexer
                .live(run.configuration)
                .map(|terminal| grammar.terminal_name(terminal))
                .collect();
            let mut stack: Vec<&str> = Vec::new();
            if let Some(table) = self.prepared.table() {
                let states = tables.parser.states(run.parse.stack);
                let symbols = states.filter_map(|state| table.automaton.entered_by[state.index()]);
                stack.extend(symbols.map(|symbol| grammar.symbol_name(symbol)));
            }
            stack.reverse();
            text.push_str(&format!("  {} • lexeme: {}\n", stack.join(" "), live.join(" or ")));
        }
        text
    }

    fn state_size(&self, set: SetId) -> usize {
        let tables = self.lock();
        let runs = &self.set(set).runs;
        runs.iter().map(|run| 1 + tables.parser.set_size(run.parse.stack)).sum()
    }

    fn shortest_completion(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<ShortestCompletion>, LimitExceeded> {
        let mut tables = self.lock();
        let (completions, mut sources) = tables.completions(self, vocabulary, deadline)?;
        completions.of_set(&mut sources, set, &self.set(set).runs)
    }

    fn longest_completion_after(
        &self,
        set: SetId,
        reach: Reach,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        let mut tables = self.lock();
        let (completions, mut sources) = tables.completions(self, vocabulary, deadline)?;
        completions.longest_after(&mut sources, &self.set(set).runs, reach)
    }

    fn token_growths(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<Arc<TokenGrowths>>, LimitExceeded> {
        let mut tables = self.lock();
        let (completions, mut sources) = tables.completions(self, vocabulary, deadline)?;
        completions.token_growths(&mut sources, vocabulary)
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
        let mut precomputation =
            Precomputation::new(&self.prepared, &mut self.lock().lexer, vocabulary.trie(), &budget)?;
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
    /// Adds the live runs after a byte.
    fn step_run(
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
    fn is_live(&mut self, recognizer: &LexedRecognizer, parse: ParseState, open: OpenTerminalsId) -> bool {
        if let Some(&cached) = self.liveness.get(&(parse, open)) {
            return cached;
        }
        let is_live = recognizer.is_live(&mut self.parser, parse, open);
        if !self.parser.has_failed() {
            self.liveness.insert((parse, open), is_live);
        }
        is_live
    }

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

    /// The interned set of some live runs; empty at most for the start set.
    fn intern(&mut self, sets: &Sets, mut runs: Vec<Run>) -> Result<SetId, LimitExceeded> {
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
    fn completions<'a>(
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

    fn total_memory(&self) -> usize {
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
