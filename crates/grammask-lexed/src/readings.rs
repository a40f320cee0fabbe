//! The ways to read a text as lexemes, for people who look at a grammar: lexemes, stacks of the parser, and trees.
//!
//! The recogniser keeps no history. This module reads the text from its beginning with the recogniser's own steps, and
//! keeps for each run the lexemes that lead to it. Cost: a list entry per lexeme and run, besides the steps.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::definition::grammar::LexedSymbol;
use crate::parser::parse_tree::{LexemeSpan, TreeBuilder};
use crate::recognizer::{LexedRecognizer, Run};
use grammask_diagnostics::LimitExceeded;
use grammask_engine::{Lexeme, LexerReading, OpenLexeme};

/// A run, and how it came about.
#[derive(Clone, Copy, Debug)]
struct TracedRun {
    run: Run,
    /// The last lexeme that has ended.
    last: Option<usize>,
    /// Start of the open lexeme.
    open_start: usize,
}

/// A lexeme that has ended, after an earlier one.
#[derive(Clone, Copy, Debug)]
struct TracedLexeme {
    before: Option<usize>,
    span: LexemeSpan,
}

impl LexedRecognizer {
    /// As [`Descriptions::readings`](grammask_engine::Descriptions::readings).
    pub(crate) fn all_readings(&self, text: &[u8]) -> Result<Vec<LexerReading>, LimitExceeded> {
        let (traced, lexemes) = self.trace(text)?;
        let grammar = &self.prepared().grammar;
        let name = |terminal| Arc::from(grammar.terminal_name(terminal));
        let mut tables = self.lock();
        let mut readings = Vec::with_capacity(traced.len());
        for TracedRun { run, last, open_start } in traced {
            let mut spans: Vec<LexemeSpan> = Vec::new();
            let mut next = last;
            while let Some(index) = next {
                spans.push(lexemes[index].span);
                next = lexemes[index].before;
            }
            spans.reverse();
            let is_start = tables.lexer.is_start(run.configuration);
            let opened = tables.lexer.opened(run.configuration);
            let label = tables.lexer.label(run.configuration).filter(|_| !is_start && opened.is_none());
            let terminals = match opened {
                Some(terminal) => vec![name(terminal)],
                None => tables.lexer.live(run.configuration).filter(|_| !is_start).map(name).collect(),
            };
            let open = OpenLexeme { start: open_start, terminals, complete_as: label.map(name) };
            let mut stack: Vec<Arc<str>> = Vec::new();
            let mut tree = None;
            if let Some(table) = self.prepared().table() {
                let states = tables.parser.states(run.parse.stack);
                let symbols = states.filter_map(|state| table.automaton.entered_by[state.index()]);
                stack.extend(symbols.map(|symbol: LexedSymbol| Arc::from(grammar.symbol_name(symbol))));
                stack.reverse();
                let last = label.map(|terminal| LexemeSpan {
                    terminal,
                    column: run.column,
                    start: open_start,
                    end: text.len(),
                });
                tree = TreeBuilder::new(grammar, table).build(&mut tables.parser, &spans, last);
            }
            let lexemes = spans
                .iter()
                .map(|span| Lexeme { terminal: name(span.terminal), start: span.start, end: span.end })
                .collect();
            readings.push(LexerReading { lexemes, open, stack, tree });
        }
        tables.parser.check()?;
        Ok(readings)
    }

    /// The runs after a text with their lexemes.
    fn trace(&self, text: &[u8]) -> Result<(Vec<TracedRun>, Vec<TracedLexeme>), LimitExceeded> {
        let start = self.runs_at_start();
        let mut runs: Vec<TracedRun> =
            start.iter().map(|&run| TracedRun { run, last: None, open_start: 0 }).collect();
        let mut lexemes: Vec<TracedLexeme> = Vec::new();
        let mut tables = self.lock();
        let (mut next, mut found) = (Vec::new(), Vec::new());
        let mut distinct: FxHashSet<Run> = FxHashSet::default();
        for (position, &byte) in text.iter().enumerate() {
            distinct.clear();
            for traced in runs.drain(..) {
                tables.extend_run(self, traced.run, byte, &mut found)?;
                let opened = tables.lexer.opened(traced.run.configuration);
                let ended = found.iter().any(|run| tables.lexer.is_start(run.configuration));
                let mut after = traced;
                if let Some(terminal) = opened.filter(|_| ended) {
                    let (column, start, end) = (traced.run.column, traced.open_start, position + 1);
                    after = TracedRun { last: Some(lexemes.len()), open_start: end, ..traced };
                    let span = LexemeSpan { terminal, column, start, end };
                    lexemes.push(TracedLexeme { before: traced.last, span });
                }
                next.extend(
                    found.drain(..).filter(|&run| distinct.insert(run)).map(|run| TracedRun { run, ..after }),
                );
                let Some(terminal) = tables.commit_run(self, traced.run, byte, &mut found)? else { continue };
                let span = LexemeSpan {
                    terminal,
                    column: traced.run.column,
                    start: traced.open_start,
                    end: position,
                };
                let last = Some(lexemes.len());
                lexemes.push(TracedLexeme { before: traced.last, span });
                next.extend(found.drain(..).filter(|&run| distinct.insert(run)).map(|run| TracedRun {
                    run,
                    last,
                    open_start: position,
                }));
            }
            std::mem::swap(&mut runs, &mut next);
        }
        tables.parser.check()?;
        Ok((runs, lexemes))
    }
}
