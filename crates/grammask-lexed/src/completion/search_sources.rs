//! The tables that a search for completions reads and extends: steps of the lexer and the parser from a run.

use rustc_hash::FxHashMap;

use crate::delimited::{
    DelimitedRest, DelimitedStatesTable, DelimitedStep, LexemeBeforeByte, runs_after_delimited,
};
use crate::lexer::lexer_automaton::{ConfigurationId, Lexer};
use crate::lexer::line_columns::Column;
use crate::lexer::open_lexemes::OpenTerminalsId;
use crate::masks::spanner_table::{ColumnState, ColumnTracker};
use crate::parser::stacks::{ParseState, TerminalParser};
use crate::prepared::PreparedGrammar;
use crate::recognizer::Run;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_grammar::TerminalId;
use grammask_vocabulary::Vocabulary;

/// The tables that a search reads and extends.
pub(crate) struct SearchSources<'a> {
    pub(crate) prepared: &'a PreparedGrammar,
    pub(crate) columns: &'a ColumnTracker,
    pub(crate) lexer: &'a mut Lexer,
    pub(crate) parser: &'a mut TerminalParser,
    pub(crate) delimited: &'a mut DelimitedStatesTable,
    pub(crate) vocabulary: &'a Vocabulary,
    /// Whether the parser accepts one of the open terminals.
    pub(crate) liveness: &'a mut FxHashMap<(ParseState, OpenTerminalsId), bool>,
    pub(crate) deadline: &'a Deadline,
    /// The maximum memory of the recogniser, in bytes.
    pub(crate) memory_limit: usize,
    /// The memory of its other tables, in bytes, without those of the parser.
    pub(crate) memory_elsewhere: usize,
}

/// Adds the runs in which the open lexeme goes on with one of some bytes, in their order.
pub(super) fn extensions_of(
    sources: &mut SearchSources<'_>,
    run: Run,
    bytes: &[u8],
    extensions: &mut Vec<(u8, Run)>,
) -> Result<(), LimitExceeded> {
    let is_in_brackets = sources.parser.is_in_brackets(run.parse.layout);
    let from = ColumnState { column: run.column, unit: run.unit };
    let opened = sources.lexer.opened(run.configuration).is_some();
    let before = match sources.lexer.is_start(run.configuration) {
        true => LexemeBeforeByte::AtStart,
        false => LexemeBeforeByte::Inside(run.delimited),
    };
    for &byte in bytes {
        if opened {
            sources.extend_delimited(run, byte, extensions)?;
        } else if let Some(configuration) = sources.lexer.step(run.configuration, byte)?.extended {
            let ColumnState { column, unit } = sources.column(configuration, from, byte, is_in_brackets);
            let delimited = sources.delimited.after(before, sources.lexer, configuration, byte)?;
            extensions.push((byte, Run { configuration, column, unit, delimited, ..run }));
        }
    }
    Ok(())
}

impl SearchSources<'_> {
    /// Whether the text may end after a run.
    pub(super) fn can_end(&mut self, run: Run) -> Result<bool, LimitExceeded> {
        let can_end = if self.lexer.is_start(run.configuration) {
            self.parser.can_end(run.parse, None)
        } else {
            let label = self.ended_by_next(run);
            label.is_some_and(|terminal| self.parser.can_end(run.parse, Some((terminal, run.column))))
        };
        self.parser.check().map(|()| can_end)
    }

    /// The terminal of the open lexeme if it may end here.
    pub(super) fn ended_by_next(&self, run: Run) -> Option<TerminalId> {
        self.lexer.label(run.configuration).filter(|_| self.lexer.opened(run.configuration).is_none())
    }

    /// The shortest rest of a delimited terminal that the open lexeme can become.
    pub(super) fn nearest_rest(&self, run: Run) -> Result<Option<DelimitedRest>, LimitExceeded> {
        let rests = self.delimited.shortest_rests(run.delimited, self.vocabulary, self.deadline)?;
        Ok(rests.into_iter().min_by_key(|rest| rest.length))
    }

    /// Whether the open lexeme can become one delimited terminal and no other terminal, and no guard excludes a byte.
    pub(super) fn is_delimited(&self, run: Run) -> bool {
        let mut live = self.lexer.live(run.configuration);
        self.lexer.opened(run.configuration).is_some()
            || (!self.lexer.has_guards(run.configuration)
                && live.next().is_some_and(|terminal| self.delimited.has_state(run.delimited, terminal))
                && live.next().is_none())
    }

    /// Adds the runs after a byte after the opening of a delimited terminal.
    fn extend_delimited(
        &mut self,
        run: Run,
        byte: u8,
        extensions: &mut Vec<(u8, Run)>,
    ) -> Result<(), LimitExceeded> {
        let Some(terminal) = self.lexer.opened(run.configuration) else { return Ok(()) };
        match self.delimited.step(run.delimited, terminal, byte)? {
            None => {}
            Some(DelimitedStep::Inside(delimited)) => extensions.push((byte, Run { delimited, ..run })),
            Some(DelimitedStep::Ended) => {
                let after = runs_after_delimited(
                    self.prepared,
                    self.columns,
                    self.lexer,
                    self.parser,
                    run,
                    terminal,
                )?;
                extensions.extend(after.into_iter().map(|run| (byte, run)));
            }
        }
        Ok(())
    }

    /// Whether a run has a completion, with bytes that may not be spellable.
    pub(super) fn is_live(&mut self, run: Run) -> Result<bool, LimitExceeded> {
        let mode = self.prepared.lex_modes.of_state[self.parser.top(run.parse.stack).index()];
        let open_terminals = &self.prepared.open_terminals;
        let Some(open) = open_terminals.of(run.configuration, mode) else { return Ok(false) };
        if self.lexer.is_start(run.configuration) && self.parser.can_end(run.parse, None) {
            return self.parser.check().map(|()| true);
        }
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
    pub(crate) fn column(
        &self,
        configuration: ConfigurationId,
        from: ColumnState<Column>,
        byte: u8,
        is_in_brackets: bool,
    ) -> ColumnState<Column> {
        if is_in_brackets {
            return ColumnState::UNTRACKED;
        }
        self.columns.step(self.lexer, configuration, from, byte)
    }
}
