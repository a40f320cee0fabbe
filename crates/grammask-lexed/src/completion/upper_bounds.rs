//! Upper bounds of the shortest completions of all states that a number of bytes, or a token, can reach.
//!
//! The plan of [`viable_completion`] completes every stack of the parser. A terminal costs the longest of the shortest
//! lexemes with which it can be written after a separable lexeme. A text replaces the upper part of a stack. The plan
//! first completes the new part, whose cost is bounded by the length of the text, and then the old one, whose cost is
//! that of the stack before the text ([`plan_costs`](crate::completion::plan_costs)).
//!
//! In a language with indentation a newline of the plan also needs white space: in the innermost open block, that up
//! to its column. The plan has a constant number of newlines in each block. The columns of blocks that the text began
//! were written in the text, so their sum is bounded by its length.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::analysis::viable_completion::{self, TerminalPair};
use crate::completion::UNREACHABLE;
use crate::completion::lexeme_costs::LexemeCosts;
use crate::completion::plan_costs::{PlanCost, PlanCosts, PlanGrowth};
use crate::completion::separable_lexemes::{ColumnCosts, SeparableLengths};
use crate::completion::token_growth::{self, TokenColumns};
use crate::lexer::lexer_automaton::Lexer;
use crate::parser::lr_automaton::LrItem;
use crate::parser::stacks::TerminalParser;
use crate::prepared::PreparedGrammar;
use crate::recognizer::Run;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{Reach, TokenGrowths};
use grammask_vocabulary::Vocabulary;

/// Upper bounds of completions.
#[derive(Debug)]
pub(crate) struct UpperBounds {
    /// The bytes that close an open lexeme.
    open_lexeme: u32,
    plan: PlanCosts,
    growth: PlanGrowth,
    columns: ColumnCosts,
    /// How much completions grow with each token; `None` until it is asked for, `Some(None)` if it is not known.
    token_growths: Option<Option<Arc<TokenGrowths>>>,
}

impl UpperBounds {
    /// Computes the bounds of a grammar with LALR(1) tables and without ignored rules, whose open lexemes can become all of
    /// their terminals in `bytes`. After an ignored rule the parser returns to the state before it, which is no step of the
    /// plan. `None` for refined grammars, and if completions may grow without a bound, or the newlines that one block needs.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn new(
        prepared: &PreparedGrammar,
        lexer: &mut Lexer,
        bytes: &[u8],
        lexemes: &LexemeCosts,
    ) -> Result<Option<Self>, LimitExceeded> {
        let grammar = &prepared.grammar;
        let Some(table) = prepared.table() else { return Ok(None) };
        // No plan completes all stacks, but only those that occur.
        if prepared.is_refined() {
            return Ok(None);
        }
        let open_terminals = &prepared.open_terminals;
        let plan = match open_terminals.plan() {
            Some(plan) => plan.clone(),
            None => {
                let avoided: FxHashSet<TerminalPair> = open_terminals.exempt().iter().copied().collect();
                match viable_completion::completion_plan(grammar, table, &avoided) {
                    Ok(plan) => plan.into(),
                    Err(_) => return Ok(None),
                }
            }
        };
        let lengths = SeparableLengths::new(prepared, lexer, bytes)?;
        let plan: Vec<(LrItem, PlanCost)> = plan
            .iter()
            .map(|(item, derivation)| (*item, PlanCost::of(derivation, grammar, &lengths)))
            .collect();
        let Some(plan) = PlanCosts::new(table, &plan) else { return Ok(None) };
        // Tokens may have bytes that are none by themselves, and shorter lexemes with them.
        let all_bytes = lexer.byte_of_class().to_vec();
        let of_all_bytes = match bytes.len() == all_bytes.len() {
            true => None,
            false => Some(LexemeCosts::new(prepared, lexer, &all_bytes, &[])?),
        };
        let growth = plan.growth(grammar, table, of_all_bytes.as_ref().unwrap_or(lexemes));
        let SeparableLengths { open_lexeme, columns, .. } = lengths;
        Ok(growth.map(|growth| Self { open_lexeme, plan, growth, columns, token_growths: None }))
    }

    /// An upper bound of the length of the shortest completions of all runs within reach of a run.
    pub(crate) fn after(
        &mut self,
        prepared: &PreparedGrammar,
        lexer: &Lexer,
        parser: &TerminalParser,
        run: Run,
        reach: Reach,
    ) -> Option<u32> {
        let table = prepared.table()?;
        let Self { growth, columns, open_lexeme, .. } = self;
        let newlines = growth.newlines_of_open_blocks();
        // The open blocks, and a newline that was begun before the text.
        let open = parser.block_widths(run.parse.layout).iter().copied().chain(run.column.width());
        let steps: u64 = open.map(|width| columns.steps(width.columns)).sum();
        // The columns that the text writes, and the growth by its lexemes.
        let (written, growth) = match reach {
            Reach::Bytes(bytes) => {
                let written = newlines.saturating_mul(columns.steps_per_byte()).saturating_mul(bytes as u64);
                let by_bytes = u64::from(growth.per_byte).saturating_mul(bytes as u64);
                (written, by_bytes.saturating_sub(written).saturating_add(u64::from(growth.once)))
            }
            // The columns of a newline that was begun before the token may complete a step.
            Reach::Token => {
                let by_lexeme = growth.by_lexeme.as_ref()?;
                let step = newlines.saturating_mul(u64::from(columns.bytes_per_step));
                (
                    step,
                    u64::from(by_lexeme.once) + u64::from(by_lexeme.weight_of_open(lexer, run.configuration)),
                )
            }
        };
        // The plan completes one symbol above the stack or its lower part, or all symbols that the text adds first.
        let above = self.plan.above(table, parser, run.parse.stack);
        let bound = u64::from(above.symbol)
            .max(growth.saturating_add(u64::from(above.nonterminal)))
            .saturating_add(written)
            .saturating_add(newlines.saturating_mul(steps))
            .saturating_add(u64::from(*open_lexeme));
        u32::try_from(bound).ok().filter(|&bound| bound < UNREACHABLE)
    }

    /// How much each token adds to the bound within reach of a token; `None` if there is no bound.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn token_growths(
        &mut self,
        prepared: &PreparedGrammar,
        lexer: &mut Lexer,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<Arc<TokenGrowths>>, LimitExceeded> {
        if let Some(known) = &self.token_growths {
            return Ok(known.clone());
        }
        let PlanGrowth { by_lexeme, .. } = &self.growth;
        let growths = match by_lexeme {
            Some(by_lexeme) => {
                let newlines = self.growth.newlines_of_open_blocks();
                let columns = TokenColumns { costs: self.columns, newlines };
                Some(token_growth::token_growths(prepared, lexer, by_lexeme, columns, vocabulary, deadline)?)
            }
            None => None,
        };
        Ok(self.token_growths.insert(growths.map(Arc::new)).clone())
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        let growths = self.token_growths.iter().flatten().map(|growths| growths.memory_bytes());
        self.plan.memory_bytes() + growths.sum::<usize>()
    }
}
