//! Upper bounds of the shortest completions of all states that a number of bytes can reach.
//!
//! The plan of [`viable_completion`] completes every stack of the parser. A terminal costs the longest of the shortest
//! lexemes with which it can be written after a separable lexeme. A text replaces the upper part of a stack. The plan
//! first completes the new part, whose cost is bounded by the length of the text, and then the old one, whose cost is
//! that of the stack before the text ([`plan_costs`](crate::completion::plan_costs)).
//!
//! In a language with indentation a newline of the plan also needs white space: in the innermost open block, that up
//! to its column. The plan has a constant number of newlines in each block. The columns of blocks that the text began
//! were written in the text, so their sum is bounded by its length.

use rustc_hash::FxHashSet;

use crate::analysis::viable_completion::{self, TerminalPair};
use crate::completion::UNREACHABLE;
use crate::completion::lexeme_costs::LexemeCosts;
use crate::completion::plan_costs::{PlanCost, PlanCosts, PlanGrowth};
use crate::completion::separable_lexemes::{ColumnCosts, SeparableLengths};
use crate::lexer::lexer_automaton::{GuardsId, LexModeId, Lexer};
use crate::masks::spanner_table::LexemeColumn;
use crate::parser::lr_automaton::LrItem;
use crate::parser::stacks::TerminalParser;
use crate::prepared::PreparedGrammar;
use crate::recognizer::Run;
use grammask_diagnostics::LimitExceeded;

/// Upper bounds of completions.
#[derive(Debug)]
pub(crate) struct UpperBounds {
    /// The bytes that close an open lexeme.
    open_lexeme: u32,
    plan: PlanCosts,
    growth: PlanGrowth,
    columns: ColumnCosts,
}

impl UpperBounds {
    /// Computes the bounds. `None` for grammars without LALR(1) tables, if a byte class of a lexeme has no spellable
    /// byte, and if completions may grow without a bound, or the newlines that one block needs.
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
        // After an ignored rule, the parser returns to the state before it, which is no step of the plan.
        if !grammar.lexical.ignored.is_empty() {
            return Ok(None);
        }
        if !are_all_spellable(prepared, lexer, bytes)? {
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
        let growth = plan.growth(grammar, table, lexemes);
        let SeparableLengths { open_lexeme, columns, .. } = lengths;
        Ok(growth.map(|growth| Self { open_lexeme, plan, growth, columns }))
    }

    /// An upper bound of the length of the shortest completions of all runs that at most `bytes` bytes reach from a run.
    pub(crate) fn after(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &TerminalParser,
        run: Run,
        bytes: usize,
    ) -> Option<u32> {
        let table = prepared.table()?;
        let Self { growth, columns, open_lexeme, .. } = *self;
        // The open blocks, and a newline that was begun before the bytes.
        let begun = Some(run.column).filter(|&column| column != LexemeColumn::NO_BREAK);
        let open = parser.block_columns(run.parse.layout).iter().copied().chain(begun);
        let steps: u64 = open.map(|column| columns.steps(column)).sum();
        // The newlines of a block, and the open lexeme.
        let newlines = u64::from(growth.newlines) + 1;
        let per_byte = u64::from(growth.per_byte).max(newlines.saturating_mul(columns.steps_per_byte()));
        let bound = u64::from(self.plan.above(table, parser, run.parse.stack))
            .saturating_add(newlines.saturating_mul(steps))
            .saturating_add(per_byte.saturating_mul(bytes as u64))
            .saturating_add(u64::from(growth.once) + u64::from(open_lexeme));
        u32::try_from(bound).ok().filter(|&bound| bound < UNREACHABLE)
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.plan.memory_bytes()
    }
}

/// Whether each byte class that occurs in lexemes has one of `bytes`.
fn are_all_spellable(
    prepared: &PreparedGrammar,
    lexer: &mut Lexer,
    bytes: &[u8],
) -> Result<bool, LimitExceeded> {
    let class = |byte: u8| lexer.class_of_byte()[usize::from(byte)];
    let spellable: Vec<u8> = bytes.iter().map(|&byte| class(byte)).collect();
    let others: Vec<u8> =
        lexer.byte_of_class().iter().copied().filter(|&byte| !spellable.contains(&class(byte))).collect();
    for byte in others {
        for mode in (0..prepared.lex_modes.terminals.len()).map(LexModeId::new) {
            if !lexer.enter(mode, byte, GuardsId::NONE)?.is_empty() {
                return Ok(false);
            }
        }
        for (configuration, _) in prepared.open_terminals.configurations() {
            if lexer.step(configuration, byte)?.extended.is_some() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
