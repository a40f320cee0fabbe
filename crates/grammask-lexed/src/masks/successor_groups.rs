//! The legal tokens of a run by the run after them.
//!
//! The tokens below a branch of a spanner table emit the same terminals, so the parser reads these once for all of them, and
//! the configurations where tokens end complete the runs. A token that leads to several runs, since the end of a lexeme is
//! undecided, is left to the caller, and so is one that ends inside a newline, whose column is not in the tables.

use rustc_hash::FxHashMap;

use crate::lexer::column_units::UnitState;
use crate::lexer::lexer_automaton::LexModeId;
use crate::lexer::line_columns::Column;
use crate::lexer::open_lexemes::OpenTerminalsId;
use crate::masks::spanner_subset::SubsetStep;
use crate::masks::spanner_table::TriePosition;
use crate::masks::stack_automaton::StackReader;
use crate::parser::stacks::ParseState;
use crate::recognizer::Run;
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{LiveTokens, TokenId, TokenSet};

/// Legal tokens by the run after them.
#[derive(Debug, Default)]
pub(crate) struct GroupedRuns {
    groups: Vec<(Run, LiveTokens)>,
    others: Vec<TokenId>,
}

impl GroupedRuns {
    /// Disjoint groups, and the tokens that may be in several ones or in none.
    pub(crate) fn finish(self, size: usize) -> (Vec<(Run, LiveTokens)>, Vec<TokenId>) {
        let Self { mut groups, mut others } = self;
        let mut seen = TokenSet::new(size);
        others.retain(|&token| seen.insert(token));
        let mut count = others.len();
        for (_, tokens) in &groups {
            tokens.add_to(&mut seen);
            count += tokens.len();
        }
        if seen.len() == count {
            return (groups, others);
        }
        seen.clear();
        let mut repeated = others;
        seen.extend(repeated.iter().copied());
        for (_, tokens) in &groups {
            repeated.extend(tokens.iter().filter(|&token| !seen.insert(token)));
        }
        repeated.sort_unstable();
        repeated.dedup();
        for (_, tokens) in &mut groups {
            *tokens = tokens.but(repeated.clone(), size);
        }
        groups.retain(|(_, tokens)| !tokens.is_empty());
        (groups, repeated)
    }
}

impl StackReader<'_> {
    /// Adds the legal tokens after a run, given the mode of its lexeme.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn group_successors(
        &mut self,
        run: Run,
        mode: LexModeId,
        liveness: &mut FxHashMap<(ParseState, OpenTerminalsId), bool>,
        token_count: usize,
        grouped: &mut GroupedRuns,
    ) -> Result<(), LimitExceeded> {
        let position = TriePosition::before_token(run.configuration, run.unit);
        let root = self.subsets.root(position, mode, &mut self.sources)?;
        let mut pending = vec![(root, run.parse)];
        while let Some((subset, parse)) = pending.pop() {
            self.sources.deadline.check()?;
            let ends = self.subsets.ends_by_configuration(subset, &self.sources, token_count);
            for end in &ends[..] {
                let is_live = match liveness.get(&(parse, end.open)) {
                    Some(&known) => known,
                    None => {
                        let open = self.prepared.open_terminals.get(end.open);
                        let is_live = open.accepted_by(self.parser, parse, self.prepared.grammar.end());
                        self.parser.check()?;
                        liveness.insert((parse, end.open), is_live);
                        is_live
                    }
                };
                if !is_live {
                    continue;
                }
                let is_in_brackets = self.parser.is_in_brackets(parse.layout);
                if !is_in_brackets && self.sources.is_tracked(end.configuration) {
                    grouped.others.extend(end.tokens.iter());
                    continue;
                }
                let (column, unit) = (Column::UNTRACKED, UnitState::BOUNDARY);
                let after = Run { parse, configuration: end.configuration, column, unit, ..run };
                grouped.groups.push((after, end.tokens.clone()));
            }
            for branch in 0..self.subsets.get(subset).branches.len() {
                let of_subset = &self.subsets.get(subset).branches[branch];
                let column = self.sources.spanners.resolve(of_subset.column, run.column);
                let Some(parse) = self.parser.feed_lexeme(parse, of_subset.terminal, column) else {
                    continue;
                };
                let mode = self.prepared.lex_modes.of_state[self.parser.top(parse.stack).index()];
                let step = SubsetStep { subset, branch, mode };
                let child = match self.subsets.cached_child(step) {
                    Some(child) => child,
                    None => self.subsets.child(step, &mut self.sources)?,
                };
                pending.push((child, parse));
            }
            self.parser.check()?;
        }
        Ok(())
    }
}
