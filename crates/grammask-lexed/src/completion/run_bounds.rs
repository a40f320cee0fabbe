//! The lower bound of the length of a run's completion: the bytes that its open lexeme misses, and those of the stack.
//!
//! The bound is consistent: a byte decreases it by at most one. It is the minimum over the terminals that the lexeme
//! can become. A newline costs at least the bytes to a column that the layout accepts.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::completion::lexeme_costs::{FREE, LexemeCosts, ProfileId};
use crate::completion::stack_costs::{NextTerminals, OpenStack, StackCosts};
use crate::completion::{UNREACHABLE, sum};
use crate::delimited::DelimitedRest;
use crate::lexer::lexer_automaton::{ConfigurationId, Lexer};
use crate::lexer::line_columns::{Column, Width};
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
    bounds: FxHashMap<(ProfileId, ParseState, Column), u32>,
}

impl RunBounds {
    /// Bounds of completions that consist of `bytes`, given the shortest texts of delimited terminals.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn new(
        prepared: &PreparedGrammar,
        lexer: &mut Lexer,
        bytes: &[u8],
        delimited: &[DelimitedRest],
    ) -> Result<Self, LimitExceeded> {
        let lexemes = Arc::new(LexemeCosts::new(prepared, lexer, bytes, delimited)?);
        let stacks = StackCosts::new(prepared, lexemes.clone());
        Ok(Self { lexemes, stacks, bounds: FxHashMap::default() })
    }

    /// The costs of lexemes.
    pub(crate) fn lexemes(&self) -> &LexemeCosts {
        &self.lexemes
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
        let key = (profile, run.parse, run.column);
        // Before the first byte the stack decides alone.
        let is_start = lexer.is_start(run.configuration);
        if let Some(&cached) = self.bounds.get(&key).filter(|_| !is_start) {
            return Ok(cached);
        }
        let blocks = self.stacks.blocks.of_layout(parser, run.parse.layout, &mut self.stacks.sentences);
        let open = OpenStack { stack: run.parse.stack, blocks };
        if is_start {
            let bound = self.stacks.of(prepared, parser, open)[usize::from(FREE)];
            return parser.check().map(|()| bound);
        }
        let bound = self.by_terminals(prepared, parser, (run, open), profile, &[]);
        parser.check()?;
        self.bounds.insert(key, bound);
        Ok(bound)
    }

    /// As [`of`](Self::of), or a number between `maximum` and the bound, which mostly takes no step of the parser.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn of_within(
        &mut self,
        prepared: &PreparedGrammar,
        lexer: &Lexer,
        parser: &mut TerminalParser,
        run: Run,
        maximum: u32,
    ) -> Result<u32, LimitExceeded> {
        let Some(profile) = self.lexemes.profile_of(run.configuration) else { return Ok(UNREACHABLE) };
        if !lexer.is_start(run.configuration) {
            if let Some(&cached) = self.bounds.get(&(profile, run.parse, run.column)) {
                return Ok(cached);
            }
            let least = self.without_steps(prepared, parser, run, 0, maximum);
            parser.check()?;
            if least > maximum {
                return Ok(least);
            }
        }
        self.of(prepared, lexer, parser, run)
    }

    /// A lower bound of the completions in which the open lexeme goes on with another byte, or a number up to `maximum`.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn of_extensions(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &mut TerminalParser,
        run: Run,
        maximum: u32,
    ) -> Result<u32, LimitExceeded> {
        let least = self.without_steps(prepared, parser, run, 1, maximum);
        parser.check().map(|()| least)
    }

    /// A lower bound of the completions of a run in which its lexeme has at least some more bytes, without steps of the
    /// parser; or a number up to `maximum`, if the bound is not greater.
    fn without_steps(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &mut TerminalParser,
        run: Run,
        missing: u32,
        maximum: u32,
    ) -> u32 {
        let Some(profile) = self.lexemes.profile_of(run.configuration) else { return UNREACHABLE };
        let blocks = self.stacks.blocks.of_layout(parser, run.parse.layout, &mut self.stacks.sentences);
        let open = OpenStack { stack: run.parse.stack, blocks };
        let next = self.stacks.next_terminals(prepared, parser, open);
        let lexemes = self.lexemes.clone();
        let mut least = UNREACHABLE;
        for &(distance, terminal) in lexemes.profile(profile) {
            let distance = distance.max(missing);
            if distance > maximum {
                return distance.min(least);
            }
            let mut after = self.after_at_least(prepared, next, terminal);
            if sum(distance, after) <= maximum
                && let Some(known) = self.stacks.known_after_terminal(open, terminal)
            {
                after = known;
            }
            least = sum(distance, after).min(least);
            if least <= maximum {
                return least;
            }
        }
        least
    }

    /// The bounds of the lexemes that begin in a parser state, by the next terminal.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn next_terminals(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &mut TerminalParser,
        parse: ParseState,
    ) -> Result<NextTerminals, LimitExceeded> {
        let blocks = self.stacks.blocks.of_layout(parser, parse.layout, &mut self.stacks.sentences);
        let next = self.stacks.next_terminals(prepared, parser, OpenStack { stack: parse.stack, blocks });
        parser.check().map(|()| next)
    }

    /// A lower bound of the completions of a lexeme that has begun, given the bounds by the next terminal. It takes no lookups,
    /// and is weaker than [`of_within`](Self::of_within).
    pub(crate) fn of_begun(
        &self,
        prepared: &PreparedGrammar,
        next: NextTerminals,
        configuration: ConfigurationId,
    ) -> u32 {
        let Some(profile) = self.lexemes.profile_of(configuration) else { return UNREACHABLE };
        let bounds = self.lexemes.profile(profile).iter();
        let bounds =
            bounds.map(|&(distance, terminal)| sum(distance, self.after_at_least(prepared, next, terminal)));
        bounds.min().unwrap_or(UNREACHABLE)
    }

    /// A lower bound of the text after a lexeme of a terminal, without steps of the parser.
    fn after_at_least(&self, prepared: &PreparedGrammar, next: NextTerminals, terminal: TerminalId) -> u32 {
        let grammar = &prepared.grammar;
        if grammar.indentation.as_ref().is_some_and(|indentation| indentation.newline == terminal) {
            return 0;
        }
        match grammar.terminals[terminal.index()].is_ignored() {
            true => next.least(),
            false => self.stacks.after_terminal_at_least(next, &self.lexemes, terminal),
        }
    }

    /// As [`of`](Self::of), given the shortest rests of the delimited terminals that the lexeme can become.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn with_delimited(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &mut TerminalParser,
        run: Run,
        rests: &[DelimitedRest],
    ) -> Result<u32, LimitExceeded> {
        let Some(profile) = self.lexemes.profile_of(run.configuration) else { return Ok(UNREACHABLE) };
        let blocks = self.stacks.blocks.of_layout(parser, run.parse.layout, &mut self.stacks.sentences);
        let open = OpenStack { stack: run.parse.stack, blocks };
        let bound = self.by_terminals(prepared, parser, (run, open), profile, rests);
        parser.check().map(|()| bound)
    }

    /// The least bound over the terminals that the lexeme can become.
    fn by_terminals(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &mut TerminalParser,
        (run, open): (Run, OpenStack),
        profile: ProfileId,
        rests: &[DelimitedRest],
    ) -> u32 {
        let next = self.stacks.next_terminals(prepared, parser, open);
        let lexemes = self.lexemes.clone();
        let mut bound = UNREACHABLE;
        for &(distance, terminal) in lexemes.profile(profile) {
            if distance >= bound {
                break;
            }
            if bound < UNREACHABLE && sum(distance, self.after_at_least(prepared, next, terminal)) >= bound {
                continue;
            }
            let rest = rests.iter().find(|rest| rest.terminal == terminal);
            let rest = rest.map_or(distance, |rest| rest.length);
            if rest < UNREACHABLE {
                bound = self.by_terminal(prepared, parser, (run, open), rest, terminal).min(bound);
            }
        }
        bound
    }

    /// A lower bound of the length of the completion after a lexeme, positive if the text cannot end with it; `UNREACHABLE` if
    /// there surely is none. Separators count as if none were needed.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn after_lexeme(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &mut TerminalParser,
        parse: ParseState,
    ) -> Result<u32, LimitExceeded> {
        let blocks = self.stacks.blocks.of_layout(parser, parse.layout, &mut self.stacks.sentences);
        let bound = self.stacks.of(prepared, parser, OpenStack { stack: parse.stack, blocks });
        parser.check().map(|()| bound[usize::from(FREE)])
    }

    /// The bound if the open lexeme becomes one of `terminal`, to which it misses `distance` bytes.
    fn by_terminal(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &mut TerminalParser,
        (run, open): (Run, OpenStack),
        distance: u32,
        terminal: TerminalId,
    ) -> u32 {
        let is_newline =
            prepared.grammar.indentation.as_ref().is_some_and(|indentation| indentation.newline == terminal);
        let is_ignored = prepared.grammar.terminals[terminal.index()].is_ignored();
        if is_ignored || (is_newline && parser.is_in_brackets(run.parse.layout)) {
            return sum(distance, self.stacks.of(prepared, parser, open)[usize::from(FREE)]);
        }
        if !is_newline {
            return sum(distance, self.stacks.after_terminal(prepared, parser, open, terminal));
        }
        let steps = self.stacks.blocks.steps();
        let widths = parser.block_widths(run.parse.layout).to_vec();
        let innermost = widths.last().copied().unwrap_or_default();
        let mut bound = UNREACHABLE;
        for width in [Width::default()].into_iter().chain(widths) {
            if let Some(parse) = parser.feed_lexeme(run.parse, terminal, Column::Counted(width)) {
                let blocks = self.stacks.blocks.of_layout(parser, parse.layout, &mut self.stacks.sentences);
                let bytes = distance.max(steps.to(run.column, width));
                bound = self
                    .after_newline(prepared, parser, OpenStack { stack: parse.stack, blocks }, bytes)
                    .min(bound);
            }
        }
        let inside = Column::Counted(innermost.plus_spaces(1));
        if let Some(parse) = parser.feed_lexeme(run.parse, terminal, inside) {
            let blocks = self.stacks.blocks.begin_beyond(open.blocks, innermost, &mut self.stacks.sentences);
            let bytes = distance.max(steps.beyond(run.column, innermost));
            bound = self
                .after_newline(prepared, parser, OpenStack { stack: parse.stack, blocks }, bytes)
                .min(bound);
        }
        bound
    }

    /// The bound after a newline whose column costs `bytes` bytes.
    fn after_newline(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &mut TerminalParser,
        open: OpenStack,
        bytes: u32,
    ) -> u32 {
        sum(bytes, self.stacks.of(prepared, parser, open)[usize::from(FREE)])
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.lexemes.memory_bytes() + self.stacks.memory_bytes() + hash_map_bytes(&self.bounds)
    }
}
