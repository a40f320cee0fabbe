//! A* over runs, with bytes as edges.
//!
//! The completion of a set of runs is the shortest one of its runs. Lengths of runs are exact; the first byte of a
//! completion is the smallest one after which the completion is shorter by one, so it depends on the run only and not
//! on the order of searches.
//!
//! A search leaves behind what it learned: exact lengths along its path, where later searches end, and better lower
//! bounds of all runs that it expanded (S. Koenig and M. Likhachev, "Adaptive A*", 2005). Most searches therefore end
//! after the open lexeme.
//!
//! The lower bound of an Earley set is weaker than that of a stack. So is that of a stack whose parser resolves conflicts,
//! since it may be unable to parse the sentences that the bound counts. Where no completion exists the bound may then
//! be finite. LALR(1) tables with resolved conflicts have a [plan](crate::analysis::viable_completion) that completes
//! every live run, so their searches end if all lexemes can be spelled. In the other grammars with weak bounds the search
//! gives up after a number of runs, and the set counts as one without a completion. These are all runs whose estimate is at
//! most the length of the completion. The search from the next set of a completion expands some of these and no others, so
//! it succeeds too. Their number must not depend on earlier searches, so it is that of the bounds that these did not raise.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::completion::UNREACHABLE;
use crate::completion::run_bounds::RunBounds;
use crate::completion::upper_bounds::{self, UpperBounds};
use crate::lexer::column_units::UnitState;
use crate::lexer::lexer_automaton::{ConfigurationId, LexModeId, Lexer};
use crate::lexer::open_lexemes::OpenTerminalsId;
use crate::masks::spanner_table::{ColumnState, ColumnTracker};
use crate::masks::token_set_store::hash_map_bytes;
use crate::parser::stacks::{ParseState, TerminalParser};
use crate::prepared::PreparedGrammar;
use crate::recognizer::Run;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{CompletionStep, Reach, SetId, ShortestCompletion, TokenGrowths};
use grammask_vocabulary::Vocabulary;

/// The maximum number of runs that a search with weak bounds expands. Those with large Earley sets count several times.
const MAX_WEAKLY_BOUNDED_RUNS: usize = 1 << 12;
/// The size of an Earley set that counts as another run.
const ITEMS_PER_RUN: usize = 256;
/// The number of expanded runs between two checks of the limits.
const RUNS_PER_CHECK: usize = 64;

/// The tables that a search reads and extends.
pub(crate) struct SearchSources<'a> {
    pub(crate) prepared: &'a PreparedGrammar,
    pub(crate) columns: &'a ColumnTracker,
    pub(crate) lexer: &'a mut Lexer,
    pub(crate) parser: &'a mut TerminalParser,
    /// Whether the parser accepts one of the open terminals.
    pub(crate) liveness: &'a mut FxHashMap<(ParseState, OpenTerminalsId), bool>,
    pub(crate) deadline: &'a Deadline,
    /// The maximum memory of the recogniser, in bytes.
    pub(crate) memory_limit: usize,
    /// The memory of its other tables, in bytes, without those of the parser.
    pub(crate) memory_elsewhere: usize,
}

/// A run that a search reached.
struct ReachedRun {
    /// The number of bytes from the first run.
    bytes: u32,
    previous: Option<Run>,
}

/// Where an open lexeme is ended by the first byte of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LexemeEnd {
    ended: ConfigurationId,
    /// The mode of the next lexeme.
    mode: LexModeId,
    is_in_brackets: bool,
}

/// The next lexeme after its first byte.
#[derive(Clone, Copy, Debug)]
struct BegunLexeme {
    /// The smallest one.
    byte: u8,
    configuration: ConfigurationId,
    column: u32,
    unit: UnitState,
}

/// Shortest completions of runs and of sets of runs.
#[derive(Debug)]
pub(crate) struct ShortestCompletions {
    /// A spellable byte of each byte class that has one, ascending.
    bytes: Box<[u8]>,
    bounds: RunBounds,
    /// Whether searches give up after a number of runs.
    is_limited: bool,
    /// Lower bounds that searches raised.
    raised: FxHashMap<Run, u32>,
    lengths: FxHashMap<Run, u32>,
    first_bytes: FxHashMap<Run, u8>,
    of_set: FxHashMap<SetId, Option<ShortestCompletion>>,
    /// Upper bounds; `None` until they are asked for, `Some(None)` if there are none.
    upper_bounds: Option<Option<UpperBounds>>,
    begun_lexemes: FxHashMap<LexemeEnd, Arc<[BegunLexeme]>>,
    /// The total number of these lexemes.
    begun_count: usize,
    successors: Vec<(u8, Run)>,
}

impl ShortestCompletions {
    /// Completions that consist of `bytes`.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn new(
        prepared: &PreparedGrammar,
        lexer: &mut Lexer,
        bytes: Box<[u8]>,
    ) -> Result<Self, LimitExceeded> {
        let is_limited = match prepared.table() {
            Some(table) if table.resolved().is_empty() => false,
            Some(_) if prepared.grammar.lexical.ignored.is_empty() => {
                !upper_bounds::are_all_spellable(prepared, lexer, &bytes)?
            }
            _ => true,
        };
        Ok(Self {
            bounds: RunBounds::new(prepared, lexer, &bytes)?,
            is_limited,
            bytes,
            raised: FxHashMap::default(),
            lengths: FxHashMap::default(),
            first_bytes: FxHashMap::default(),
            of_set: FxHashMap::default(),
            upper_bounds: None,
            begun_lexemes: FxHashMap::default(),
            begun_count: 0,
            successors: Vec::new(),
        })
    }

    /// The shortest completion of a set of runs; `None` if it has none.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn of_set(
        &mut self,
        sources: &mut SearchSources<'_>,
        set: SetId,
        runs: &[Run],
    ) -> Result<Option<ShortestCompletion>, LimitExceeded> {
        if let Some(&cached) = self.of_set.get(&set) {
            return Ok(cached);
        }
        // The runs are searched together, because one of them may have no completion and infinitely many successors.
        let length = match self.is_limited && !self.is_within_limit(sources, runs)? {
            true => None,
            false => self.length(sources, runs, UNREACHABLE - 1)?,
        };
        let mut completion = length.map(|length| ShortestCompletion { length, first: None });
        if let Some(ShortestCompletion { length: length @ 1.., first }) = &mut completion {
            let mut smallest: Option<u8> = None;
            for &run in runs {
                if self.length(sources, &[run], *length)?.is_some() {
                    let byte = self.first_byte(sources, run, *length)?;
                    smallest = Some(smallest.map_or(byte, |smallest| smallest.min(byte)));
                }
            }
            *first = smallest.map(CompletionStep::Byte);
        }
        self.of_set.insert(set, completion);
        Ok(completion)
    }

    /// An upper bound of the lengths of the shortest completions of all states within reach of these runs; `None` if it
    /// is not known.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn longest_after(
        &mut self,
        sources: &mut SearchSources<'_>,
        runs: &[Run],
        reach: Reach,
    ) -> Result<Option<u32>, LimitExceeded> {
        let Some(upper_bounds) = self.upper_bounds(sources)? else { return Ok(None) };
        // Every state within reach has a run that was read from one of these.
        let mut longest = Some(0);
        for &run in runs {
            let bound = upper_bounds.after(sources.prepared, sources.lexer, sources.parser, run, reach);
            longest = longest.zip(bound).map(|(longest, bound): (u32, u32)| longest.max(bound));
        }
        Ok(longest)
    }

    /// How much each token adds to these bounds within reach of a token; `None` if it is not known.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn token_growths(
        &mut self,
        sources: &mut SearchSources<'_>,
        vocabulary: &Vocabulary,
    ) -> Result<Option<Arc<TokenGrowths>>, LimitExceeded> {
        match self.upper_bounds(sources)? {
            Some(bounds) => {
                bounds.token_growths(sources.prepared, sources.lexer, vocabulary, sources.deadline)
            }
            None => Ok(None),
        }
    }

    fn upper_bounds(
        &mut self,
        sources: &mut SearchSources<'_>,
    ) -> Result<Option<&mut UpperBounds>, LimitExceeded> {
        if self.upper_bounds.is_none() {
            let lexemes = self.bounds.lexemes();
            let bounds = UpperBounds::new(sources.prepared, sources.lexer, &self.bytes, lexemes)?;
            self.upper_bounds = Some(bounds);
        }
        Ok(self.upper_bounds.as_mut().and_then(Option::as_mut))
    }

    /// The length of the shortest completion of some runs; `None` if it is longer than `maximum`, which is less than
    /// `UNREACHABLE`.
    fn length(
        &mut self,
        sources: &mut SearchSources<'_>,
        runs: &[Run],
        maximum: u32,
    ) -> Result<Option<u32>, LimitExceeded> {
        if let [run] = *runs {
            let least = self.bound(sources, run)?;
            if least > maximum || self.lengths.contains_key(&run) {
                return Ok((least <= maximum).then_some(least));
            }
        }
        let mut reached: FxHashMap<Run, ReachedRun> = FxHashMap::default();
        let mut expanded: Vec<(Run, u32)> = Vec::new();
        // The open runs by the estimated length of a completion through them.
        let mut open: BTreeMap<u32, Vec<(Run, u32)>> = BTreeMap::new();
        for &run in runs {
            let bound = self.bound(sources, run)?;
            if bound <= maximum {
                open.entry(bound).or_default().push((run, 0));
                reached.insert(run, ReachedRun { bytes: 0, previous: None });
            }
        }
        let mut successors = std::mem::take(&mut self.successors);
        // The last run of a shortest completion, or of the part of it that is not yet known; and its length.
        let (last, length) = loop {
            let Some(mut estimated) = open.first_entry() else { break (None, UNREACHABLE) };
            let estimate = *estimated.key();
            if estimate > maximum {
                break (None, estimate);
            }
            let Some((current, bytes)) = estimated.get_mut().pop() else {
                estimated.remove();
                continue;
            };
            if reached[&current].bytes < bytes {
                continue;
            }
            if self.lengths.contains_key(&current) {
                break (Some(current), estimate);
            }
            if estimate == bytes && sources.can_end(current)? {
                self.lengths.insert(current, 0);
                break (Some(current), estimate);
            }
            if !sources.is_live(current)? {
                self.raised.insert(current, UNREACHABLE);
                continue;
            }
            expanded.push((current, bytes));
            if expanded.len().is_multiple_of(RUNS_PER_CHECK) {
                sources.deadline.check()?;
                self.check_memory(sources, &reached)?;
            }
            self.successors_of(sources, current, &mut successors)?;
            for &(_, next) in successors.iter().rev() {
                if reached.get(&next).is_some_and(|reached| reached.bytes <= bytes + 1) {
                    continue;
                }
                let bound = self.bound(sources, next)?;
                if bound >= UNREACHABLE {
                    continue;
                }
                let next_estimate = (bytes + 1 + bound).max(estimate);
                open.entry(next_estimate).or_default().push((next, bytes + 1));
                reached.insert(next, ReachedRun { bytes: bytes + 1, previous: Some(current) });
            }
        };
        self.successors = successors;
        for (run, bytes) in expanded {
            let bound = if length < UNREACHABLE { length - bytes } else { UNREACHABLE };
            let raised = self.raised.entry(run).or_insert(0);
            *raised = bound.max(*raised);
        }
        let mut current = last;
        while let Some(run) = current {
            let ReachedRun { bytes, previous } = reached[&run];
            self.lengths.insert(run, length - bytes);
            current = previous;
        }
        Ok(last.map(|_| length))
    }

    /// Whether no more than [`MAX_WEAKLY_BOUNDED_RUNS`] runs have an estimate of at most the length of the shortest completion of
    /// some runs, or there are no more if they have none.
    fn is_within_limit(
        &mut self,
        sources: &mut SearchSources<'_>,
        runs: &[Run],
    ) -> Result<bool, LimitExceeded> {
        let mut reached: FxHashMap<Run, u32> = FxHashMap::default();
        let mut open: BTreeMap<u32, Vec<(Run, u32)>> = BTreeMap::new();
        for &run in runs {
            let bound = self.bounds.of(sources.prepared, sources.lexer, sources.parser, run)?;
            if bound < UNREACHABLE {
                open.entry(bound).or_default().push((run, 0));
                reached.insert(run, 0);
            }
        }
        let (mut expanded, mut work): (usize, usize) = (0, 0);
        let mut successors = Vec::new();
        while let Some((&estimate, _)) = open.first_key_value() {
            let mut is_found = false;
            while let Some((current, bytes)) = open.get_mut(&estimate).and_then(Vec::pop) {
                if reached[&current] < bytes {
                    continue;
                }
                is_found |= estimate == bytes && sources.can_end(current)?;
                if !sources.is_live(current)? {
                    continue;
                }
                expanded += 1;
                work += 1 + sources.parser.set_size(current.parse.stack) / ITEMS_PER_RUN;
                if work > MAX_WEAKLY_BOUNDED_RUNS {
                    return Ok(false);
                }
                if expanded.is_multiple_of(RUNS_PER_CHECK) {
                    sources.deadline.check()?;
                }
                self.successors_of(sources, current, &mut successors)?;
                for &(_, next) in &successors {
                    let bound = self.bounds.of(sources.prepared, sources.lexer, sources.parser, next)?;
                    if bound < UNREACHABLE && reached.get(&next).is_none_or(|&known| bytes + 1 < known) {
                        reached.insert(next, bytes + 1);
                        open.entry((bytes + 1 + bound).max(estimate)).or_default().push((next, bytes + 1));
                    }
                }
            }
            if is_found {
                return Ok(true);
            }
            open.remove(&estimate);
        }
        Ok(true)
    }

    /// The first byte of the completion of a run whose length is known and positive.
    fn first_byte(
        &mut self,
        sources: &mut SearchSources<'_>,
        run: Run,
        length: u32,
    ) -> Result<u8, LimitExceeded> {
        if let Some(&cached) = self.first_bytes.get(&run) {
            return Ok(cached);
        }
        let mut successors = Vec::new();
        self.successors_of(sources, run, &mut successors)?;
        for (byte, next) in successors {
            if self.length(sources, &[next], length - 1)?.is_some() {
                self.first_bytes.insert(run, byte);
                return Ok(byte);
            }
        }
        unreachable!("a run with a completion has a first byte")
    }

    /// A lower bound of the length of a run's completion; the length itself if it is known.
    fn bound(&mut self, sources: &mut SearchSources<'_>, run: Run) -> Result<u32, LimitExceeded> {
        if let Some(&length) = self.lengths.get(&run) {
            return Ok(length);
        }
        let bound = self.bounds.of(sources.prepared, sources.lexer, sources.parser, run)?;
        Ok(self.raised.get(&run).map_or(bound, |&raised| raised.max(bound)))
    }

    /// The runs after each byte, with the smallest byte of each, ascending by byte.
    fn successors_of(
        &mut self,
        sources: &mut SearchSources<'_>,
        run: Run,
        successors: &mut Vec<(u8, Run)>,
    ) -> Result<(), LimitExceeded> {
        successors.clear();
        let mut may_end = false;
        for &byte in &self.bytes {
            let step = sources.lexer.step(run.configuration, byte)?;
            may_end |= step.commit.is_some();
            if let Some(configuration) = step.extended {
                let from = ColumnState::at(run.column, run.unit);
                let is_in_brackets = sources.parser.is_in_brackets(run.parse.layout);
                let (column, unit) = sources.column(configuration, from, byte, is_in_brackets);
                successors.push((byte, Run { configuration, column, unit, ..run }));
            }
        }
        // The parser state after the lexeme, if it can end here.
        let ended = sources.lexer.label(run.configuration).filter(|_| may_end);
        if let Some(terminal) = ended
            && let Some(parse) = sources.parser.feed_lexeme(run.parse, terminal, run.column)
        {
            let mode = sources.prepared.lex_modes.of_state[sources.parser.top(parse.stack).index()];
            let is_in_brackets = sources.parser.is_in_brackets(parse.layout);
            let end = LexemeEnd { ended: run.configuration, mode, is_in_brackets };
            let begun = self.begun_lexemes(sources, end)?;
            successors.extend(begun.iter().map(|&BegunLexeme { byte, configuration, column, unit }| {
                (byte, Run { parse, configuration, column, unit })
            }));
        }
        sources.parser.check()?;
        successors.sort_by_key(|&(byte, run)| (run, byte));
        successors.dedup_by_key(|&mut (_, run)| run);
        successors.sort_unstable_by_key(|&(byte, run)| (byte, run));
        Ok(())
    }

    /// The lexemes that can begin at the end of another one. Memoised: most stacks have the same ones.
    fn begun_lexemes(
        &mut self,
        sources: &mut SearchSources<'_>,
        end: LexemeEnd,
    ) -> Result<Arc<[BegunLexeme]>, LimitExceeded> {
        if let Some(known) = self.begun_lexemes.get(&end) {
            return Ok(known.clone());
        }
        let mut begun: Vec<BegunLexeme> = Vec::new();
        for &byte in &self.bytes {
            let Some(guards) = sources.lexer.step(end.ended, byte)?.commit else { continue };
            for configuration in sources.lexer.enter(end.mode, byte, guards)? {
                let from = ColumnState::BEFORE_LEXEME;
                let (column, unit) = sources.column(configuration, from, byte, end.is_in_brackets);
                begun.push(BegunLexeme { byte, configuration, column, unit });
            }
        }
        // As runs of one parser state are ordered.
        begun.sort_unstable_by_key(|begun| (begun.configuration, begun.column, begun.unit, begun.byte));
        begun.dedup_by_key(|begun| (begun.configuration, begun.column, begun.unit));
        let begun: Arc<[BegunLexeme]> = begun.into();
        self.begun_count += begun.len();
        self.begun_lexemes.insert(end, begun.clone());
        Ok(begun)
    }

    fn check_memory(
        &self,
        sources: &SearchSources<'_>,
        reached: &FxHashMap<Run, ReachedRun>,
    ) -> Result<(), LimitExceeded> {
        let elsewhere = sources.memory_elsewhere + sources.parser.memory_bytes();
        if elsewhere + self.memory_bytes() + 2 * hash_map_bytes(reached) > sources.memory_limit {
            return Err(LimitExceeded::new("memory_bytes", sources.memory_limit));
        }
        Ok(())
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bounds.memory_bytes()
            + hash_map_bytes(&self.raised)
            + hash_map_bytes(&self.lengths)
            + hash_map_bytes(&self.first_bytes)
            + hash_map_bytes(&self.of_set)
            + hash_map_bytes(&self.begun_lexemes)
            + self.begun_count * size_of::<BegunLexeme>()
            + self.upper_bounds.iter().flatten().map(UpperBounds::memory_bytes).sum::<usize>()
    }
}

impl SearchSources<'_> {
    /// Whether the text may end after a run.
    fn can_end(&mut self, run: Run) -> Result<bool, LimitExceeded> {
        let can_end = if self.lexer.is_start(run.configuration) {
            self.parser.can_end(run.parse, None)
        } else {
            let label = self.lexer.label(run.configuration);
            label.is_some_and(|terminal| self.parser.can_end(run.parse, Some((terminal, run.column))))
        };
        self.parser.check().map(|()| can_end)
    }

    /// Whether a run has a completion, with bytes that may not be spellable.
    fn is_live(&mut self, run: Run) -> Result<bool, LimitExceeded> {
        let mode = self.prepared.lex_modes.of_state[self.parser.top(run.parse.stack).index()];
        let open_terminals = &self.prepared.open_terminals;
        let Some(open) = open_terminals.of(run.configuration, mode) else { return Ok(false) };
        if let Some(&cached) = self.liveness.get(&(run.parse, open)) {
            return Ok(cached);
        }
        let end = self.prepared.grammar.end();
        let is_live = open_terminals.get(open).accepted_by(self.parser, run.parse, end);
        self.parser.check()?;
        self.liveness.insert((run.parse, open), is_live);
        Ok(is_live)
    }

    /// The column of a lexeme after a byte, as in the runs of the recogniser.
    fn column(
        &self,
        configuration: ConfigurationId,
        from: ColumnState,
        byte: u8,
        is_in_brackets: bool,
    ) -> (u32, UnitState) {
        if is_in_brackets {
            return (0, UnitState::BOUNDARY);
        }
        let to = self.columns.step(self.lexer, configuration, from, byte);
        (to.column.resolve(0), to.unit)
    }
}
