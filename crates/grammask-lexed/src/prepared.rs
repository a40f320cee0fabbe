//! A lexed grammar with all tables that are independent of the vocabulary.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::analysis::{delimited_openings, emptiness, indentation};
use crate::definition::grammar::LexedGrammar;
use crate::definition::source::{LexerKind, TerminalRole};
use crate::lexer::lexer_automaton::{LexModeId, Lexer};
use crate::lexer::open_lexemes::{CompletionProof, LexModes, OpenTerminalsTable};
use crate::parser::lalr::LalrTable;
use crate::parser::lr_automaton::LrState;
use crate::parser::parsing_tables::ParsingTables;
use crate::parser::terminal_set::TerminalSet;
use grammask_diagnostics::{GrammarError, Limits};
use grammask_grammar::TerminalId;

/// A lexed grammar with its static tables: lexer, parser tables, lexer modes and open terminals. Immutable and
/// shared.
#[derive(Clone, Debug)]
pub struct PreparedGrammar {
    pub(crate) grammar: Arc<LexedGrammar>,
    pub(crate) tables: Arc<ParsingTables>,
    pub(crate) lex_modes: Arc<LexModes>,
    pub(crate) open_terminals: Arc<OpenTerminalsTable>,
    pub(crate) lexer: Arc<Lexer>,
}

impl PreparedGrammar {
    /// Constructs the tables.
    ///
    /// # Errors
    /// Conflicts; terminals that cannot be written one after the other although the productions require it; an empty
    /// language; an exceeded limit.
    pub fn new(grammar: LexedGrammar, limits: &Limits) -> Result<Self, GrammarError> {
        Self::with_proof(grammar, limits, CompletionProof::Required)
    }

    /// As [`new`](Self::new), for a grammar that passed all checks before: the proofs of non-emptiness and viable
    /// completion are skipped.
    ///
    /// # Errors
    /// An exceeded limit. Errors of a grammar that never passed the checks may remain undetected.
    pub fn without_proof(grammar: LexedGrammar, limits: &Limits) -> Result<Self, GrammarError> {
        Self::with_proof(grammar, limits, CompletionProof::Trusted)
    }

    fn with_proof(
        grammar: LexedGrammar,
        limits: &Limits,
        proof: CompletionProof,
    ) -> Result<Self, GrammarError> {
        if let Some(fault) = indentation::find_fault(&grammar) {
            return Err(fault.into());
        }
        let tables = ParsingTables::new(&grammar, limits)?;
        let lex_modes = lex_modes(&grammar, &tables);
        let mut lexer =
            Lexer::new(&grammar, &lex_modes.terminals, limits).map_err(|limit| limit.diagnostic())?;
        let open_terminals = OpenTerminalsTable::compute(&mut lexer, &grammar, &tables, &lex_modes, proof)?;
        let undecided = delimited_openings::find_undecided(&grammar, &mut lexer, &open_terminals);
        if let Some(undecided) = undecided.map_err(|limit| limit.diagnostic())? {
            return Err(undecided.into());
        }
        let (grammar, tables) = (Arc::new(grammar), Arc::new(tables));
        if proof == CompletionProof::Required {
            let empty =
                emptiness::find_emptiness(&grammar, &tables, &lex_modes, &open_terminals, &mut lexer, limits);
            if let Some(empty) = empty.map_err(|limit| limit.diagnostic())? {
                return Err(empty.into());
            }
        }
        let (lex_modes, open_terminals, lexer) =
            (Arc::new(lex_modes), Arc::new(open_terminals), Arc::new(lexer));
        Ok(Self { grammar, tables, lex_modes, open_terminals, lexer })
    }

    /// The grammar.
    #[must_use]
    pub fn grammar(&self) -> &LexedGrammar {
        &self.grammar
    }

    /// The LALR(1) tables; `None` with the Earley parser.
    #[must_use]
    pub fn table(&self) -> Option<&LalrTable> {
        self.tables.lalr()
    }

    /// A clone of the lexer, and the open terminals.
    #[cfg(test)]
    pub(crate) fn lexer_and_open_terminals(&self) -> (Lexer, &OpenTerminalsTable) {
        (Lexer::clone(&self.lexer), &self.open_terminals)
    }
}

/// The lexer mode of each parser state.
pub(crate) fn lex_modes(grammar: &LexedGrammar, tables: &ParsingTables) -> LexModes {
    let width = grammar.terminals.len() + 1;
    let inside_lexemes = tables.lalr().map(|table| table.terminals_inside_lexemes());
    let is_inside = |id| inside_lexemes.as_ref().is_some_and(|inside| inside.contains(id));
    let mut everywhere = TerminalSet::new(width);
    for (index, terminal) in grammar.terminals.iter().enumerate() {
        let id = TerminalId::new(index);
        let is_newline = grammar.indentation.as_ref().is_some_and(|indentation| indentation.newline == id);
        let is_everywhere =
            terminal.role != TerminalRole::Parsed || is_newline || grammar.lexer != LexerKind::Contextual;
        if is_everywhere && !is_inside(id) {
            everywhere.insert(id);
        }
    }
    let mut ids: FxHashMap<TerminalSet, LexModeId> = FxHashMap::default();
    let mut terminals = Vec::new();
    let of_state = tables
        .accepted(grammar)
        .into_iter()
        .enumerate()
        .map(|(state, accepted)| {
            let is_lexical = tables.lalr().is_some_and(|table| table.is_lexical(LrState::new(state)));
            let mut mode = if is_lexical { TerminalSet::new(width) } else { everywhere.clone() };
            if is_lexical || grammar.lexer == LexerKind::Contextual {
                mode.union_with(&accepted);
            }
            *ids.entry(mode.clone()).or_insert_with(|| {
                terminals.push(mode);
                LexModeId::new(terminals.len() - 1)
            })
        })
        .collect();
    LexModes { of_state, terminals }
}
