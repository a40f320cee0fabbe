//! Recognises texts of a lexed grammar: sets of runs as interned values, and their masks.
//!
//! A run is a configuration of the lexer with a parse. Mostly there is one; there are several while it is open where
//! a lexeme ended. Runs that no text completes are dropped at once, so a set that exists can be completed. Equal sets
//! of runs have one id, and a step over a byte is a memoised function of set and byte class; reading it takes no lock.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use crate::analysis::{emptiness, indentation};
use crate::definition::grammar::{LexedGrammar, LexerKind, TerminalRole};
use crate::lexer::lexer_automaton::{ClassId, ConfigurationId, GuardsId, Lexer};
use crate::lexer::open_lexemes::{Classes, FutureId, Futures, Proof};
use crate::masks::follow_cache::Pairs;
use crate::masks::precompute::Ahead;
use crate::masks::spanner_subset::{self, Bundles};
use crate::masks::spanner_table::{Column, Columns, Place, Spanners};
use crate::masks::stack_automaton::{Reading, StackAutomaton};
use crate::masks::token_partition::Views;
use crate::parser::lalr::LalrTable;
use crate::parser::lr_automaton::LrState;
use crate::parser::parsing_tables::ParsingTables;
use crate::parser::stacks::{Parse, Parser};
use crate::parser::terminal_set::TerminalSet;
use grammask_collections::state_table::{StateTable, Transition};
use grammask_diagnostics::{Deadline, GrammarError, LimitExceeded, Limits};
use grammask_engine::{
    Effort, Engine, Expectation, MaskCounts, MaskOutcome, MaskRequest, MaskSource, MaskStrategy,
    PrecomputeBudget, SetId, walk,
};
use grammask_grammar::TerminalId;
use grammask_vocabulary::{LiveTokens, Mask, TokenSet, Vocabulary};

/// Transitions that a set keeps inline: most sets are left over one or two classes of bytes.
const INLINE_TRANSITIONS: usize = 2;
/// Most runs of a set. No grammar of a real language has more than a few.
const MOST_RUNS: usize = 1 << 10;

/// A grammar with all that is known about it before a text is read: immutable, and shared.
#[derive(Clone, Debug)]
pub struct PreparedGrammar {
    pub(crate) grammar: Arc<LexedGrammar>,
    pub(crate) tables: Arc<ParsingTables>,
    pub(crate) classes: Arc<Classes>,
    pub(crate) futures: Arc<Futures>,
    lexer: Arc<Lexer>,
}

impl PreparedGrammar {
    /// Makes the tables of a grammar.
    ///
    /// # Errors
    /// Conflicts; terminals that cannot follow each other though the rules say so; a grammar without texts; a limit that was
    /// passed.
    pub fn new(grammar: LexedGrammar, limits: &Limits) -> Result<Self, GrammarError> {
        Self::with_proof(grammar, limits, Proof::Needed)
    }

    /// The same, of a grammar for which it was done before without an error.
    ///
    /// # Errors
    /// A limit that was passed; errors if it was not done before, but not all of them.
    pub fn again(grammar: LexedGrammar, limits: &Limits) -> Result<Self, GrammarError> {
        Self::with_proof(grammar, limits, Proof::Known)
    }

    fn with_proof(grammar: LexedGrammar, limits: &Limits, proof: Proof) -> Result<Self, GrammarError> {
        if let Some(fault) = indentation::find_fault(&grammar) {
            return Err(fault.into());
        }
        let tables = ParsingTables::new(&grammar, limits)?;
        let classes = classes(&grammar, &tables);
        let mut lexer =
            Lexer::new(&grammar, &classes.terminals, limits).map_err(|limit| limit.diagnostic())?;
        let futures = Futures::of_lexer(&mut lexer, &grammar, &tables, (&classes, proof))?;
        let (grammar, tables) = (Arc::new(grammar), Arc::new(tables));
        if proof == Proof::Needed {
            let empty =
                emptiness::find_emptiness(&grammar, &tables, (&classes, &futures), &mut lexer, limits);
            if let Some(empty) = empty.map_err(|limit| limit.diagnostic())? {
                return Err(empty.into());
            }
        }
        let (classes, futures, lexer) = (Arc::new(classes), Arc::new(futures), Arc::new(lexer));
        Ok(Self { grammar, tables, classes, futures, lexer })
    }

    /// The grammar.
    #[must_use]
    pub fn grammar(&self) -> &LexedGrammar {
        &self.grammar
    }

    /// The parser's tables, where it has some.
    #[must_use]
    pub fn table(&self) -> Option<&LalrTable> {
        self.tables.lalr()
    }

    /// A lexer of its own, with what can come out of its configurations.
    #[cfg(test)]
    pub(crate) fn lexer_and_futures(&self) -> (Lexer, &Futures) {
        (Lexer::clone(&self.lexer), &self.futures)
    }

    /// How many configurations of the lexer texts can lead to.
    #[must_use]
    pub fn configuration_count(&self) -> usize {
        self.lexer.configuration_count()
    }
}

/// The terminals that the lexer looks for in each state of the parser.
fn classes(grammar: &LexedGrammar, tables: &ParsingTables) -> Classes {
    let width = grammar.terminals.len() + 1;
    let mut everywhere = TerminalSet::new(width);
    for (index, terminal) in grammar.terminals.iter().enumerate() {
        let id = TerminalId::new(index);
        let is_newline = grammar.indentation.as_ref().is_some_and(|indentation| indentation.newline == id);
        if terminal.role != TerminalRole::Parsed || is_newline || grammar.lexer != LexerKind::Contextual {
            everywhere.insert(id);
        }
    }
    let mut known: FxHashMap<TerminalSet, ClassId> = FxHashMap::default();
    let mut terminals = Vec::new();
    let of_state = tables
        .accepted(grammar)
        .into_iter()
        .map(|accepted| {
            let mut class = everywhere.clone();
            if grammar.lexer == LexerKind::Contextual {
                class.union_with(&accepted);
            }
            *known.entry(class.clone()).or_insert_with(|| {
                terminals.push(class);
                ClassId::new(terminals.len() - 1)
            })
        })
        .collect();
    Classes { of_state, terminals }
}

/// One way to read a text so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Run {
    parse: Parse,
    configuration: ConfigurationId,
    /// The column of the lexeme, where it may become the terminal for newlines; else 0.
    column: u32,
}

/// An interned set of runs.
#[derive(Debug)]
struct RunSet {
    runs: Arc<[Run]>,
    is_complete: bool,
}

/// All sets of a recogniser, by [`SetId`].
type Sets = StateTable<OnceLock<RunSet>, INLINE_TRANSITIONS>;

/// What is needed to make new sets and masks.
#[derive(Debug)]
struct Builder {
    lexer: Lexer,
    parser: Parser,
    spanners: Spanners,
    bundles: Bundles,
    views: Views,
    pairs: Pairs,
    automaton: StackAutomaton,
    set_ids: FxHashMap<Arc<[Run]>, SetId>,
    /// Whether a parse can go on with a future.
    alive: FxHashMap<(Parse, FutureId), bool>,
    /// How many masks of runs were known, and how many were made.
    mask_counts: (u64, u64),
    /// Masks of runs by address, which they keep as long as the first of the pair is there, and the same with the
    /// end tokens.
    with_end: FxHashMap<usize, (Arc<TokenSet>, Arc<TokenSet>)>,
    memory_bytes: usize,
    limits: Limits,
}

/// Recognises texts of one lexed grammar; shared by all that read texts under it.
#[derive(Debug)]
pub struct LexedRecognizer {
    prepared: PreparedGrammar,
    columns: Columns,
    class_of_byte: Box<[u8; 256]>,
    byte_of_class: Box<[u8]>,
    sets: Sets,
    start: SetId,
    new_steps: AtomicUsize,
    /// Masks computed by a walk.
    walked: AtomicU64,
    builder: Mutex<Builder>,
}

impl LexedRecognizer {
    /// A recogniser for masks over a vocabulary of this size.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn new(
        prepared: &PreparedGrammar,
        vocabulary_size: usize,
        limits: &Limits,
    ) -> Result<Self, LimitExceeded> {
        let columns = Columns::of(&prepared.grammar);
        let mut lexer = Lexer::clone(&prepared.lexer);
        let class = prepared.classes.of_state[LrState::START.index()];
        let starts = lexer.starts(class)?;
        let mut builder = Builder {
            lexer,
            parser: Parser::new(prepared.grammar.clone(), prepared.tables.clone(), limits)?,
            spanners: Spanners::new(columns, vocabulary_size),
            bundles: Bundles::default(),
            views: Views::default(),
            pairs: Pairs::new(prepared.grammar.clone(), prepared.tables.clone()),
            automaton: StackAutomaton::default(),
            set_ids: FxHashMap::default(),
            alive: FxHashMap::default(),
            mask_counts: (0, 0),
            with_end: FxHashMap::default(),
            memory_bytes: 0,
            limits: limits.clone(),
        };
        let sets = Sets::default();
        let parse = builder.parser.start();
        let runs =
            starts.into_iter().map(|configuration| Run { parse, configuration, column: Column::NO_BREAK });
        let start = builder.intern(&sets, runs.collect())?;
        Ok(Self {
            prepared: prepared.clone(),
            columns,
            class_of_byte: Box::new(*builder.lexer.class_of_byte()),
            byte_of_class: builder.lexer.byte_of_class().into(),
            sets,
            start,
            new_steps: AtomicUsize::new(0),
            walked: AtomicU64::new(0),
            builder: Mutex::new(builder),
        })
    }

    /// The grammar with its tables.
    #[must_use]
    pub fn prepared(&self) -> &PreparedGrammar {
        &self.prepared
    }

    /// The tokens that can follow the text that led to a set, without end tokens.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn mask(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Arc<TokenSet>, LimitExceeded> {
        let runs = self.set(set).runs.clone();
        let mut builder = self.lock();
        if let [run] = runs[..] {
            return builder.mask_of_run(self, run, vocabulary, deadline);
        }
        let mut mask = TokenSet::new(vocabulary.size());
        for &run in &runs[..] {
            mask.union_with(&*builder.mask_of_run(self, run, vocabulary, deadline)?);
        }
        Ok(Arc::new(mask))
    }

    /// The tokens that can follow the text that led to the requested set, with the end tokens where the text is complete.
    fn mask_with_end(
        &self,
        request: &MaskRequest<'_>,
        deadline: &Deadline,
    ) -> Result<Arc<TokenSet>, LimitExceeded> {
        let set = request.set;
        let mask = self.mask(set, request.vocabulary, deadline)?;
        let Some(end_tokens) = request.end_tokens.filter(|_| self.is_complete(set)) else {
            return Ok(mask);
        };
        let mut builder = self.lock();
        if let Some((_, known)) = builder.with_end.get(&Arc::as_ptr(&mask).addr()) {
            return Ok(known.clone());
        }
        let mut with_end = (*mask).clone();
        end_tokens.add_to(&mut with_end);
        let with_end = Arc::new(with_end);
        if self.set(set).runs.len() == 1 {
            builder.memory_bytes += size_of_val(mask.words());
            builder.with_end.insert(Arc::as_ptr(&mask).addr(), (mask, with_end.clone()));
        }
        Ok(with_end)
    }

    /// A rule of the closure of a state that goes on with a terminal, or that ends before it.
    fn rule_that_needs(&self, state: LrState, terminal: TerminalId) -> Arc<str> {
        let grammar = &self.prepared.grammar;
        let Some(table) = self.prepared.table() else {
            let needs =
                |production: &&crate::Production| production.rhs.contains(&crate::Symbol::Terminal(terminal));
            let production = grammar.productions.iter().find(needs);
            let lhs = production.map_or(grammar.start, |production| production.lhs);
            return grammar.nonterminals[lhs.index()].clone();
        };
        let automaton = &table.automaton;
        let closure = automaton.closure(state);
        let scans = |item: &&crate::parser::lr_automaton::Item| {
            automaton.symbol_after(**item) == Some(crate::Symbol::Terminal(terminal))
        };
        let item = closure.iter().find(scans).or(closure.first());
        let lhs = item.map(|item| automaton.productions[item.production as usize].lhs);
        lhs.and_then(|lhs| grammar.nonterminals.get(lhs.index()))
            .unwrap_or(&grammar.nonterminals[grammar.start.index()])
            .clone()
    }

    #[cold]
    fn make_step(&self, set: SetId, byte: u8, class: usize) -> Result<Option<SetId>, LimitExceeded> {
        let entry = self.set(set);
        let mut builder = self.lock();
        let mut next = Vec::new();
        for &run in &entry.runs[..] {
            builder.step_run(self, run, byte, &mut next)?;
        }
        builder.parser.check()?;
        let next = if next.is_empty() { None } else { Some(builder.intern(&self.sets, next)?) };
        self.new_steps.fetch_add(1, Ordering::Relaxed);
        let state = self.sets.get(set.index());
        builder.memory_bytes += state.memoise(class, next.map(SetId::index), self.byte_of_class.len());
        Ok(next)
    }

    fn set(&self, set: SetId) -> &RunSet {
        self.sets.get(set.index()).data.get().expect("a set is filled in before its id is known")
    }

    fn lock(&self) -> MutexGuard<'_, Builder> {
        // A builder that a panicking thread left is still consistent: tables only grow, by complete entries.
        self.builder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the parser takes something that can come out of a future.
    fn is_alive(&self, parser: &mut Parser, parse: Parse, future: FutureId) -> bool {
        self.prepared.futures.get(future).is_wanted(parser, parse, self.prepared.grammar.end())
    }

    fn class_at(&self, state: LrState) -> ClassId {
        self.prepared.classes.of_state[state.index()]
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
            Transition::Unknown => self.make_step(set, byte, class),
            Transition::Dead => Ok(None),
            Transition::To(next) => Ok(Some(SetId::new(next as usize))),
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

    fn expectations(&self, set: SetId) -> Result<Vec<Expectation>, LimitExceeded> {
        let runs = self.set(set).runs.clone();
        let mut builder = self.lock();
        let mut expected = Vec::new();
        for run in &runs[..] {
            let begun: Vec<TerminalId> = if builder.lexer.is_fresh(run.configuration) {
                Vec::new()
            } else {
                builder.lexer.live(run.configuration).collect()
            };
            let state = builder.parser.top(run.parse.stack);
            for terminal in (0..self.prepared.grammar.terminals.len()).map(TerminalId::new) {
                if builder.parser.accepts(run.parse.stack, terminal) {
                    expected.push(Expectation {
                        terminal: self.prepared.grammar.terminal_name(terminal).to_owned(),
                        rule: self.rule_that_needs(state, terminal).to_string(),
                        has_begun: begun.contains(&terminal),
                    });
                }
            }
        }
        // What a limit keeps from being found is left out.
        let _ = builder.parser.check();
        expected.sort_by_key(|expected| !expected.has_begun);
        expected.dedup();
        Ok(expected)
    }

    fn describe(&self, set: SetId) -> String {
        let entry = self.set(set);
        let builder = self.lock();
        let grammar = &self.prepared.grammar;
        let mut text = format!("set {}", set.as_u32());
        text.push_str(if entry.is_complete { ", the text may be complete\n" } else { "\n" });
        for run in &entry.runs[..] {
            let live: Vec<&str> = builder
                .lexer
                .live(run.configuration)
                .map(|terminal| grammar.terminal_name(terminal))
                .collect();
            let mut stack: Vec<&str> = Vec::new();
            if let Some(table) = self.prepared.table() {
                let states = builder.parser.states(run.parse.stack);
                let symbols = states.filter_map(|state| table.automaton.entered_by[state.index()]);
                stack.extend(symbols.map(|symbol| grammar.symbol_name(symbol)));
            }
            stack.reverse();
            text.push_str(&format!("  {} • lexeme: {}\n", stack.join(" "), live.join(" or ")));
        }
        text
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
                self.walked.fetch_add(1, Ordering::Relaxed);
                let mut tokens = walk(self, vocabulary, set, deadline)?;
                if self.is_complete(set)
                    && let Some(end_tokens) = request.end_tokens
                {
                    end_tokens.add_to(&mut tokens);
                }
                Arc::new(tokens)
            }
        };
        if tokens.is_empty() {
            return Ok(MaskOutcome::DeadEnd);
        }
        let mask = Arc::new(Mask::new(LiveTokens::Set(tokens), vocabulary.size()));
        request.cache.insert_uncounted(set, mask.clone(), request.max_cache_bytes);
        Ok(MaskOutcome::Mask(mask))
    }

    fn counts(&self) -> MaskCounts {
        let (recalled, composed) = self.lock().mask_counts;
        MaskCounts { recalled, composed, walked: self.walked.load(Ordering::Relaxed) }
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
        let most = (budget.max_states.unwrap_or(usize::MAX), budget.is_timed);
        let mut ahead = Ahead::new(&self.prepared, &mut self.lock().lexer, vocabulary.trie(), most)?;
        loop {
            let (done, count) = ahead.progress();
            if done == count || !proceed(done, count) {
                return Ok(Some(done));
            }
            let mut builder = self.lock();
            if builder.total_memory().max(ahead.memory_bytes()) > budget.max_bytes {
                return Ok(Some(done));
            }
            let deadline = Deadline::after_first_check(budget.step_time);
            ahead.make_some(&mut builder.reading(self, vocabulary, &deadline))?;
        }
    }
}

impl Builder {
    /// Adds the live runs after a byte.
    fn step_run(
        &mut self,
        recognizer: &LexedRecognizer,
        run: Run,
        byte: u8,
        next: &mut Vec<Run>,
    ) -> Result<(), LimitExceeded> {
        let steps = self.lexer.step(run.configuration, byte)?;
        if let Some(configuration) = steps.go_on {
            let column = Column::At(run.column);
            let column = recognizer.columns.step(&self.lexer, configuration, column, byte).resolve(0);
            self.push_live(recognizer, Run { configuration, column, ..run }, next);
        }
        if let (Some(guards), Some(terminal)) = (steps.commit, self.lexer.label(run.configuration))
            && let Some(parse) = self.parser.feed_lexeme(run.parse, terminal, run.column)
        {
            self.enter(recognizer, parse, guards, byte, next)?;
        }
        Ok(())
    }

    /// Adds the run whose lexeme begins with a byte, if it is live.
    fn enter(
        &mut self,
        recognizer: &LexedRecognizer,
        parse: Parse,
        guards: GuardsId,
        byte: u8,
        next: &mut Vec<Run>,
    ) -> Result<(), LimitExceeded> {
        let class = recognizer.class_at(self.parser.top(parse.stack));
        for configuration in self.lexer.enter(class, byte, guards)? {
            let column = recognizer
                .columns
                .step(&self.lexer, configuration, Column::At(Column::NO_BREAK), byte)
                .resolve(0);
            self.push_live(recognizer, Run { parse, configuration, column }, next);
        }
        Ok(())
    }

    fn push_live(&mut self, recognizer: &LexedRecognizer, mut run: Run, next: &mut Vec<Run>) {
        if self.parser.is_in_brackets(run.parse.layout) {
            // Newlines mean nothing here, and the lexeme ends before the bracket does.
            run.column = 0;
        }
        let class = recognizer.class_at(self.parser.top(run.parse.stack));
        if let Some(future) = recognizer.prepared.futures.of(run.configuration, class)
            && self.is_alive(recognizer, run.parse, future)
        {
            next.push(run);
        }
    }

    /// Whether a run with this future can be completed; asked again and again inside a lexeme.
    fn is_alive(&mut self, recognizer: &LexedRecognizer, parse: Parse, future: FutureId) -> bool {
        if let Some(&known) = self.alive.get(&(parse, future)) {
            return known;
        }
        let is_alive = recognizer.is_alive(&mut self.parser, parse, future);
        if !self.parser.has_failed() {
            self.alive.insert((parse, future), is_alive);
        }
        is_alive
    }

    fn reading<'a>(
        &'a mut self,
        recognizer: &'a LexedRecognizer,
        vocabulary: &'a Vocabulary,
        deadline: &'a Deadline,
    ) -> Reading<'a> {
        Reading {
            automaton: &mut self.automaton,
            parser: &mut self.parser,
            bundles: &mut self.bundles,
            views: &mut self.views,
            tables: spanner_subset::Tables {
                spanners: &mut self.spanners,
                lexer: &mut self.lexer,
                futures: &recognizer.prepared.futures,
                pairs: &mut self.pairs,
                trie: vocabulary.trie(),
                vocabulary_size: vocabulary.size(),
                deadline,
            },
            prepared: &recognizer.prepared,
            memory_limit: self.limits.memory_bytes,
            memory_elsewhere: self.memory_bytes + self.alive.capacity() * 20,
        }
    }

    fn mask_of_run(
        &mut self,
        recognizer: &LexedRecognizer,
        run: Run,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Arc<TokenSet>, LimitExceeded> {
        let class = recognizer.class_at(self.parser.top(run.parse.stack));
        let mut reading = self.reading(recognizer, vocabulary, deadline);
        let place = Place::before_token(run.configuration);
        let root = reading.bundles.at(place, class, &mut reading.tables)?;
        let (mask, is_known) = reading.mask((root, run.column), run.parse)?;
        let (known, made) = &mut self.mask_counts;
        *(if is_known { known } else { made }) += 1;
        Ok(mask)
    }

    /// The set of some live runs, which may be none only at the beginning.
    fn intern(&mut self, sets: &Sets, mut runs: Vec<Run>) -> Result<SetId, LimitExceeded> {
        runs.sort_unstable();
        runs.dedup();
        if let Some(&known) = self.set_ids.get(&runs[..]) {
            return Ok(known);
        }
        if runs.len() > MOST_RUNS {
            return Err(LimitExceeded::new("set_items", MOST_RUNS));
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
            // The table hands out fresh data, so nothing is there yet.
            let _ = data.set(set);
        }));
        self.set_ids.insert(runs, id);
        Ok(id)
    }

    fn can_end(&mut self, run: &Run) -> bool {
        if self.lexer.is_fresh(run.configuration) {
            return self.parser.can_end(run.parse, None);
        }
        match self.lexer.label(run.configuration) {
            Some(terminal) => self.parser.can_end(run.parse, Some((terminal, run.column))),
            None => false,
        }
    }

    fn total_memory(&self) -> usize {
        self.memory_bytes
            + self.alive.capacity() * 20
            + self.parser.memory_bytes()
            + self.spanners.memory_bytes()
            + self.bundles.memory_bytes()
            + self.views.memory_bytes()
            + self.automaton.memory_bytes()
    }
}
