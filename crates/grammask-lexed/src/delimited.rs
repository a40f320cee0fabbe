//! Delimited terminals in the recogniser: the states of their texts.
//!
//! The context-free engine of a delimited terminal reads its text from the first byte of the lexeme. While the lexer reads
//! the opening, a run has the states of all delimited terminals that the lexeme can become; after the opening, where the
//! lexer stays in the configuration at its end, only that of the terminal. Where the text of the terminal is complete, the
//! parser reads the terminal and the next lexeme begins.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::completion::UNREACHABLE;
use crate::definition::grammar::LexedGrammar;
use crate::lexer::column_units::UnitState;
use crate::lexer::lexer_automaton::{ConfigurationId, Lexer};
use crate::lexer::line_columns::Column;
use crate::masks::spanner_table::ColumnTracker;
use crate::parser::stacks::TerminalParser;
use crate::prepared::PreparedGrammar;
use crate::recognizer::{LexedRecognizer, RecognizerTables, Run};
use grammask_collections::id_type;
use grammask_diagnostics::{Deadline, LimitExceeded, Limits};
use grammask_earley::recognizer::Recognizer;
use grammask_engine::{CompletionStep, SetId, StateCompletions, Steps, ValueStates};
use grammask_grammar::TerminalId;
use grammask_vocabulary::Vocabulary;

id_type! {
    /// Interned [`DelimitedStates`] of a run.
    DelimitedStatesId
}

impl DelimitedStatesId {
    /// No states: the lexeme can become no delimited terminal.
    pub(crate) const NONE: Self = Self(0);
}

/// The engines of delimited terminals.
#[derive(Debug, Default)]
pub(crate) struct DelimitedEngines {
    /// By terminal, ascending.
    engines: Vec<(TerminalId, Recognizer)>,
}

/// The states of the texts of delimited terminals, by terminal.
type DelimitedStates = Box<[(TerminalId, SetId)]>;

/// Interned states of the texts of delimited terminals.
#[derive(Debug)]
pub(crate) struct DelimitedStatesTable {
    engines: Arc<DelimitedEngines>,
    list: Vec<DelimitedStates>,
    ids: FxHashMap<DelimitedStates, DelimitedStatesId>,
    list_bytes: usize,
}

/// The shortest rest of the text of a delimited terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DelimitedRest {
    pub(crate) terminal: TerminalId,
    /// Its length; `UNREACHABLE` if the vocabulary cannot spell it.
    pub(crate) length: u32,
    /// Its first byte.
    pub(crate) first: Option<u8>,
}

/// The effect of a byte after the opening of a delimited terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DelimitedStep {
    /// The text goes on.
    Inside(DelimitedStatesId),
    /// The text is complete.
    Ended,
}

/// Where a lexeme is before a byte.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LexemeBeforeByte {
    /// The byte is the first of the lexeme.
    AtStart,
    /// The lexeme has these states.
    Inside(DelimitedStatesId),
}

impl DelimitedEngines {
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn new(grammar: &LexedGrammar, limits: &Limits) -> Result<Self, LimitExceeded> {
        let mut engines = Vec::new();
        for (index, terminal) in grammar.terminals.iter().enumerate() {
            if let Some(form) = &terminal.delimited {
                let no_tokens = vec![None; form.terminals().len()];
                let engine = Recognizer::new(form.clone(), no_tokens, Vec::new(), limits)?;
                engines.push((TerminalId::new(index), engine));
            }
        }
        Ok(Self { engines })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.engines.is_empty()
    }

    /// The engine of a delimited terminal; `None` for other terminals.
    pub(crate) fn get(&self, terminal: TerminalId) -> Option<&Recognizer> {
        let place = self.engines.binary_search_by_key(&terminal, |&(terminal, _)| terminal).ok()?;
        Some(&self.engines[place].1)
    }

    /// [`Engine::has_few_texts_of_values`], for each terminal.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn have_few_bound_texts(
        &self,
        vocabulary: &Vocabulary,
        max: usize,
    ) -> Result<bool, LimitExceeded> {
        for (_, engine) in &self.engines {
            if !engine.has_few_texts_of_values(vocabulary, max)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.engines.iter().map(|(_, engine)| engine.memory_bytes()).sum()
    }
}

impl DelimitedStatesTable {
    pub(crate) fn new(engines: Arc<DelimitedEngines>) -> Self {
        let none = DelimitedStates::default();
        let ids = FxHashMap::from_iter([(none.clone(), DelimitedStatesId::NONE)]);
        Self { engines, list: vec![none], ids, list_bytes: 0 }
    }

    fn intern(&mut self, states: Vec<(TerminalId, SetId)>) -> DelimitedStatesId {
        let states: DelimitedStates = states.into();
        let next = DelimitedStatesId::new(self.list.len());
        let id = *self.ids.entry(states.clone()).or_insert(next);
        if id == next {
            self.list_bytes += 64 + 2 * size_of_val(&states[..]);
            self.list.push(states);
        }
        id
    }

    /// The states after a byte that leads the lexeme to a configuration.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn after(
        &mut self,
        before: LexemeBeforeByte,
        lexer: &Lexer,
        configuration: ConfigurationId,
        byte: u8,
    ) -> Result<DelimitedStatesId, LimitExceeded> {
        if self.engines.is_empty() || matches!(before, LexemeBeforeByte::Inside(DelimitedStatesId::NONE)) {
            return Ok(DelimitedStatesId::NONE);
        }
        let engines = self.engines.clone();
        let opened = lexer.opened(configuration);
        let mut states = Vec::new();
        for terminal in lexer.live(configuration) {
            let Some(engine) = engines.get(terminal) else { continue };
            if opened.is_some_and(|opened| opened != terminal) {
                continue;
            }
            let state = match before {
                LexemeBeforeByte::AtStart => Some(engine.start()),
                LexemeBeforeByte::Inside(before) => self.state(before, terminal),
            };
            if let Some(state) = state
                && let Some(next) = engine.step(state, byte)?
            {
                states.push((terminal, next));
            }
        }
        states.sort_unstable();
        Ok(self.intern(states))
    }

    /// The effect of a byte after the opening of a terminal; `None` if it is illegal.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn step(
        &mut self,
        before: DelimitedStatesId,
        terminal: TerminalId,
        byte: u8,
    ) -> Result<Option<DelimitedStep>, LimitExceeded> {
        let engines = self.engines.clone();
        let (Some(engine), Some(state)) = (engines.get(terminal), self.state(before, terminal)) else {
            return Ok(None);
        };
        Ok(match engine.step(state, byte)? {
            None => None,
            Some(state) if engine.is_complete(state) => Some(DelimitedStep::Ended),
            Some(state) => Some(DelimitedStep::Inside(self.intern(vec![(terminal, state)]))),
        })
    }

    /// Whether the lexeme can become a terminal, which is delimited.
    pub(crate) fn has_state(&self, id: DelimitedStatesId, terminal: TerminalId) -> bool {
        self.state(id, terminal).is_some()
    }

    /// The shortest texts of all delimited terminals.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn shortest_texts(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Vec<DelimitedRest>, LimitExceeded> {
        let engines = self.engines.engines.iter();
        engines
            .map(|(terminal, engine)| {
                DelimitedRest::shortest(engine, *terminal, engine.start(), vocabulary, deadline)
            })
            .collect()
    }

    /// The shortest rests of the texts of the delimited terminals that the lexeme can become.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn shortest_rests(
        &self,
        id: DelimitedStatesId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Vec<DelimitedRest>, LimitExceeded> {
        let mut rests = Vec::new();
        for &(terminal, state) in &self.list[id.index()] {
            if let Some(engine) = self.engines.get(terminal) {
                rests.push(DelimitedRest::shortest(engine, terminal, state, vocabulary, deadline)?);
            }
        }
        Ok(rests)
    }

    /// The state of the text of a terminal.
    pub(crate) fn state(&self, id: DelimitedStatesId, terminal: TerminalId) -> Option<SetId> {
        self.list[id.index()].iter().find(|&&(of, _)| of == terminal).map(|&(_, state)| state)
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.list_bytes + self.engines.memory_bytes()
    }
}

impl DelimitedRest {
    fn shortest(
        engine: &Recognizer,
        terminal: TerminalId,
        state: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Self, LimitExceeded> {
        let rest = engine.shortest_completion(state, vocabulary, deadline)?;
        let first = match rest.and_then(|rest| rest.first) {
            Some(CompletionStep::Byte(byte)) => Some(byte),
            Some(CompletionStep::Token(_)) | None => None,
        };
        Ok(Self { terminal, length: rest.map_or(UNREACHABLE, |rest| rest.length), first })
    }
}

impl RecognizerTables {
    /// The state of the text of a run after the opening of a terminal.
    pub(crate) fn delimited_text(&self, run: Run) -> Option<(TerminalId, SetId)> {
        let terminal = self.lexer.opened(run.configuration)?;
        Some((terminal, self.delimited.state(run.delimited, terminal)?))
    }

    /// Adds the run after a byte after the opening of a terminal, or the runs after its end.
    pub(crate) fn extend_delimited(
        &mut self,
        recognizer: &LexedRecognizer,
        run: Run,
        byte: u8,
        next: &mut Vec<Run>,
    ) -> Result<(), LimitExceeded> {
        let Some(terminal) = self.lexer.opened(run.configuration) else { return Ok(()) };
        match self.delimited.step(run.delimited, terminal, byte)? {
            None => {}
            Some(DelimitedStep::Inside(delimited)) => next.push(Run { delimited, ..run }),
            Some(DelimitedStep::Ended) => next.extend(self.after_delimited(recognizer, run, terminal)?),
        }
        Ok(())
    }

    /// The runs after the end of a delimited terminal.
    pub(crate) fn after_delimited(
        &mut self,
        recognizer: &LexedRecognizer,
        run: Run,
        terminal: TerminalId,
    ) -> Result<Vec<Run>, LimitExceeded> {
        let (prepared, columns) = (recognizer.prepared(), recognizer.columns());
        runs_after_delimited(prepared, columns, &mut self.lexer, &mut self.parser, run, terminal)
    }
}

/// The runs after the end of a delimited terminal. They are live, because the run after its opening was.
///
/// # Errors
/// When a limit is exceeded.
pub(crate) fn runs_after_delimited(
    prepared: &PreparedGrammar,
    columns: &ColumnTracker,
    lexer: &mut Lexer,
    parser: &mut TerminalParser,
    run: Run,
    terminal: TerminalId,
) -> Result<Vec<Run>, LimitExceeded> {
    let Some(parse) = parser.feed_lexeme(run.parse, terminal, run.column) else { return Ok(Vec::new()) };
    let mode = prepared.lex_modes.of_state[parser.top(parse.stack).index()];
    // Inside brackets the column is irrelevant.
    let column = match parser.is_in_brackets(parse.layout) {
        true => Column::UNTRACKED,
        false => columns.before_lexeme(),
    };
    let (unit, delimited) = (UnitState::BOUNDARY, DelimitedStatesId::NONE);
    let runs = lexer.starts(mode)?.into_iter().map(|configuration| Run {
        parse,
        configuration,
        column,
        unit,
        delimited,
    });
    Ok(runs.collect())
}
