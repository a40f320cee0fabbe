//! The recogniser of a lexed grammar: interned sets of runs, and their masks.
//!
//! A run is a configuration of the lexer with a parser state. A text mostly has one run; it has several while the end
//! of a lexeme is undecided. Runs that differ only in their Earley sets are united, so a set has at most one for each
//! configuration and layout. Runs without a completion are dropped at once, so every set has a completion. Equal sets
//! have equal ids, and a step is a memoised function of set and byte class, which is read without a lock.

mod mask_source;
mod tables;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::definition::grammar::{ByteClasses, LexedProduction, LexedSymbol};
use crate::delimited::{DelimitedEngines, DelimitedStatesId, DelimitedStatesTable};
use crate::lexer::column_units::UnitState;
use crate::lexer::lexer_automaton::{LexModeId, Lexer};
use crate::lexer::line_columns::Column;
use crate::lexer::open_lexemes::OpenTerminalsId;
use crate::masks::delimited_masks::DelimitedMasks;
use crate::masks::follow_cache::FollowCache;
use crate::masks::mask_tables::MaskTables;
use crate::masks::spanner_table::ColumnTracker;
use crate::parser::lr_automaton::{LrItem, LrState};
use crate::parser::stacks::{ParseState, TerminalParser};
use crate::prepared::PreparedGrammar;
use grammask_collections::measured_size::MeasuredSize;
use grammask_collections::state_table::MemoTransition;
use grammask_diagnostics::{Deadline, LimitExceeded, Limits};
use grammask_engine::{
    Descriptions, Expectation, FirstTerminals, LexerReading, Reach, SetId, ShortestCompletion,
    StateCompletions, Steps, TokenGrowths, ValueStates,
};
use grammask_grammar::TerminalId;
use grammask_vocabulary::Vocabulary;

pub(crate) use tables::{RecognizerTables, Run};
use tables::{RunSet, Sets};

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
    measured: MeasuredSize,
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
            measured: MeasuredSize::default(),
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
        let mut item = closure.iter().find(scans).or(closure.first());
        // A refined grammar has nonterminals in place of terminals.
        if let Some(&LrItem { production, .. }) = item
            && let lhs = automaton.productions[production as usize].lhs
            && (self.prepared.source().nonterminals.len()..grammar.nonterminals.len()).contains(&lhs.index())
        {
            let needs =
                |item: &&LrItem| automaton.symbol_after(**item) == Some(LexedSymbol::Nonterminal(lhs));
            item = closure.iter().find(needs).or(item);
        }
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

impl Steps for LexedRecognizer {
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
        self.measured.of(&self.tables, RecognizerTables::total_memory)
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

    fn state_size(&self, set: SetId) -> usize {
        let tables = self.lock();
        let runs = &self.set(set).runs;
        runs.iter().map(|run| 1 + tables.parser.set_size(run.parse.stack)).sum()
    }
}

impl ValueStates for LexedRecognizer {
    fn depends_on_all_values(&self) -> bool {
        !self.delimited.is_empty()
    }

    fn has_few_texts_of_values(&self, vocabulary: &Vocabulary, max: usize) -> Result<bool, LimitExceeded> {
        self.delimited.have_few_bound_texts(vocabulary, max)
    }
}

impl StateCompletions for LexedRecognizer {
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

impl Descriptions for LexedRecognizer {
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
}
