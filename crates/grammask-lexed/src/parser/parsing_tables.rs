//! The tables of the parser: LALR(1) tables, or the grammar for the Earley recogniser.
//!
//! Analyses of the lexer need parser states with the terminals accepted in each. For LALR(1) tables these are the LR
//! states. The Earley recogniser has no static states, so they are approximated from above by a start state and one
//! state per terminal, with the terminals that are [adjacent](crate::analysis::adjacency) to it.

use std::sync::Arc;

use crate::definition::grammar::{LexedGrammar, LexedSymbol};
use crate::definition::source::ParserKind;
use crate::parser::lalr::LalrTable;
use crate::parser::lr_automaton::LrState;
use crate::parser::terminal_language::TerminalLanguage;
use crate::parser::terminal_set::TerminalSet;
use grammask_diagnostics::{GrammarError, Limits};
use grammask_grammar::TerminalId;

/// The tables of a parser.
#[derive(Clone, Debug)]
pub(crate) enum ParsingTables {
    /// LALR(1) tables.
    Lalr(Arc<LalrTable>),
    /// The grammar over terminals.
    Earley(TerminalLanguage),
}

impl ParsingTables {
    /// Constructs the tables of a grammar.
    ///
    /// # Errors
    /// Conflicts; an exceeded limit.
    pub(crate) fn new(grammar: &LexedGrammar, limits: &Limits) -> Result<Self, GrammarError> {
        Ok(match grammar.parser {
            ParserKind::Lalr => Self::Lalr(Arc::new(LalrTable::new(grammar, limits)?)),
            ParserKind::Earley => Self::Earley(TerminalLanguage::of(grammar, limits)?),
        })
    }

    pub(crate) fn lalr(&self) -> Option<&LalrTable> {
        match self {
            Self::Lalr(table) => Some(table),
            Self::Earley(_) => None,
        }
    }

    /// For each state: the terminals that may be accepted in it, without the end of the text.
    pub(crate) fn accepted(&self, grammar: &LexedGrammar) -> Vec<TerminalSet> {
        match self {
            Self::Lalr(table) => {
                let states = (0..table.state_count()).map(LrState::new);
                states
                    .map(|state| {
                        let mut accepted = table.accepts(state);
                        accepted.remove(table.end());
                        accepted
                    })
                    .collect()
            }
            Self::Earley(language) => {
                let adjacency = language.adjacency();
                let terminals = (0..grammar.terminals.len()).map(TerminalId::new);
                let after = terminals.map(|terminal| adjacency.after(terminal).clone());
                std::iter::once(adjacency.first_terminals().clone()).chain(after).collect()
            }
        }
    }

    /// For each terminal: the states that follow it.
    pub(crate) fn states_after(&self, grammar: &LexedGrammar) -> Vec<Vec<LrState>> {
        match self {
            Self::Lalr(table) => {
                let mut after: Vec<Vec<LrState>> = vec![Vec::new(); grammar.terminals.len()];
                for (state, entered_by) in table.automaton.entered_by.iter().enumerate() {
                    if let Some(LexedSymbol::Terminal(terminal)) = *entered_by {
                        after[terminal.index()].push(LrState::new(state));
                    }
                }
                after
            }
            Self::Earley(_) => (1..=grammar.terminals.len()).map(|state| vec![LrState::new(state)]).collect(),
        }
    }
}
