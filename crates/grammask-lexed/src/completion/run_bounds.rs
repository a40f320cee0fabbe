//! The lower bound of the length of a run's completion: the bytes that its open lexeme misses, and those of the stack.
//!
//! The bound is consistent: a byte decreases it by at most one. It is the minimum over the terminals that the lexeme
//! can become. A newline costs at least the bytes to a column that the layout accepts.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::completion::lexeme_costs::{FREE, LexemeCosts, ProfileId};
use crate::completion::sentence_costs::SentenceCosts;
use crate::completion::stack_costs::StackCosts;
use crate::completion::{UNREACHABLE, sum};
use crate::lexer::lexer_automaton::Lexer;
use crate::masks::spanner_table::LexemeColumn;
use crate::masks::token_set_store::hash_map_bytes;
use crate::parser::stacks::{ParseState, TerminalParser};
use crate::prepared::PreparedGrammar;
use crate::recognizer::Run;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::TerminalId;

/// Memoised lower bounds of runs.
#[derive(Debug)]
pub(crate) struct RunBounds {
    lexemes: Arc<LexemeCosts>,
    stacks: StackCosts,
    bounds: FxHashMap<(ProfileId, ParseState, u32), u32>,
}

impl RunBounds {
    /// Bounds of completions that consist of `bytes`.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn new(
        prepared: &PreparedGrammar,
        lexer: &mut Lexer,
        bytes: &[u8],
    ) -> Result<Self, LimitExceeded> {
        let lexemes = Arc::new(LexemeCosts::new(prepared, lexer, bytes)?);
        let stacks = StackCosts::new(SentenceCosts::new(&prepared.grammar, lexemes.clone()));
        Ok(Self { lexemes, stacks, bounds: FxHashMap::default() })
    }

    /// A lower bound of the length of the run's shortest completion; `UNREACHABLE` if it surely has none.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn of(
        &mut self,
        prepared: &PreparedGrammar,
        lexer: &Lexer,
        parser: &mut TerminalParser,
        run: Run,
    ) -> Result<u32, LimitExceeded> {
        let Some(profile) = self.lexemes.profile_of(run.configuration) else { return Ok(UNREACHABLE) };
        // Before the first byte the stack decides alone.
        if lexer.is_start(run.configuration) {
            let bound = self.after_ignored(prepared, parser, run.parse);
            return parser.check().map(|()| bound);
        }
        let key = (profile, run.parse, run.column);
        if let Some(&cached) = self.bounds.get(&key) {
            return Ok(cached);
        }
        let lexemes = self.lexemes.clone();
        let mut bound = UNREACHABLE;
        for &(distance, terminal) in lexemes.profile(profile) {
            if distance >= bound {
                break;
            }
            bound = self.by_terminal(prepared, parser, run, distance, terminal).min(bound);
        }
        parser.check()?;
        self.bounds.insert(key, bound);
        Ok(bound)
    }

    /// The bound if the open lexeme becomes one of `terminal`, to which it misses `distance` bytes.
    fn by_terminal(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &mut TerminalParser,
        run: Run,
        distance: u32,
        terminal: TerminalId,
    ) -> u32 {
        let grammar = &prepared.grammar;
        if grammar.terminals[terminal.index()].is_ignored() {
            return sum(distance, self.after_ignored(prepared, parser, run.parse));
        }
        match &grammar.indentation {
            Some(indentation) if indentation.newline == terminal => {
                if parser.is_in_brackets(run.parse.layout) {
                    return sum(distance, self.after_ignored(prepared, parser, run.parse));
                }
                let columns = ColumnSteps { tab_length: indentation.tab_length.max(1) };
                let blocks = parser.block_columns(run.parse.layout).to_vec();
                let innermost = blocks.last().copied().unwrap_or(0);
                let mut bound = UNREACHABLE;
                let known = [0].into_iter().chain(blocks).map(|column| (column, columns.to(run.column, column)));
                let deeper = (innermost.saturating_add(1), columns.beyond(run.column, innermost));
                for (column, bytes) in known.chain([deeper]) {
                    if let Some(parse) = parser.feed_lexeme(run.parse, terminal, column) {
                        let rest = self.stacks.of(parser, prepared.table(), parse.stack);
                        let rest = rest[self.lexemes.left_class(terminal)];
                        bound = sum(distance.max(bytes), rest).min(bound);
                    }
                }
                bound
            }
            _ => {
                let rest = self.stacks.after_terminal(parser, prepared.table(), run.parse.stack, terminal);
                sum(distance, rest)
            }
        }
    }

    /// The cost of the stack where nothing needs a separator.
    fn after_ignored(&mut self, prepared: &PreparedGrammar, parser: &mut TerminalParser, parse: ParseState) -> u32 {
        self.stacks.of(parser, prepared.table(), parse.stack)[usize::from(FREE)]
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.lexemes.memory_bytes() + self.stacks.memory_bytes() + hash_map_bytes(&self.bounds)
    }
}

/// The bytes between columns: a space is one column, a tab several, and a line break returns to column 0.
struct ColumnSteps {
    tab_length: u32,
}

impl ColumnSteps {
    /// The fewest bytes from a column to exactly another.
    fn to(&self, from: u32, column: u32) -> u32 {
        let spaces = |columns: u32| columns / self.tab_length + columns % self.tab_length;
        self.fewest(from, column, spaces)
    }

    /// The fewest bytes from a column to one that is larger than `column`.
    fn beyond(&self, from: u32, column: u32) -> u32 {
        if from != LexemeColumn::NO_BREAK && from > column {
            return 0;
        }
        self.fewest(from, column.saturating_add(1), |columns| columns.div_ceil(self.tab_length))
    }

    fn fewest(&self, from: u32, column: u32, bytes: impl Fn(u32) -> u32) -> u32 {
        let after_break = sum(1, bytes(column).min(UNREACHABLE));
        match column.checked_sub(from) {
            Some(columns) if from != LexemeColumn::NO_BREAK => bytes(columns).min(after_break),
            _ => after_break,
        }
    }
}
