//! A lexed grammar with all tables that are independent of the vocabulary.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::analysis::refinement::{self, Refinement};
use crate::analysis::{delimited_openings, emptiness, indentation};
use crate::definition::grammar::LexedGrammar;
use crate::definition::source::{LexerKind, TerminalRole};
use crate::lexer::lexer_automaton::{LexModeId, Lexer};
use crate::lexer::open_lexemes::{CompletionProof, LexModes, OpenTerminalsError, OpenTerminalsTable};
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
    /// The grammar that was prepared.
    source: Arc<LexedGrammar>,
    /// The grammar of the tables: the same one unless it was refined.
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
    /// Conflicts; an empty language; terminals that cannot be written one after the other although the productions require
    /// it, in a grammar that cannot be refined; an exceeded limit.
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
        if grammar.has_ignored_symbols() && refinement::is_refinable(&grammar) {
            return Self::refined(grammar, tables, lex_modes, lexer, limits);
        }
        let open_terminals = OpenTerminalsTable::compute(&mut lexer, &grammar, &tables, &lex_modes, proof);
        let open_terminals = match open_terminals {
            Ok(open_terminals) => open_terminals,
            Err(OpenTerminalsError::Incompletable(_)) if refinement::is_refinable(&grammar) => {
                return Self::refined(grammar, tables, lex_modes, lexer, limits);
            }
            Err(OpenTerminalsError::Incompletable(error) | OpenTerminalsError::Other(error)) => {
                return Err(error);
            }
        };
        let undecided = delimited_openings::find_undecided(&grammar, &mut lexer, &open_terminals);
        if let Some(undecided) = undecided.map_err(|limit| limit.diagnostic())? {
            return Err(undecided.into());
        }
        let (grammar, tables) = (Arc::new(grammar), Arc::new(tables));
        if proof == CompletionProof::Required {
            let has_text =
                emptiness::has_text(&grammar, &tables, &lex_modes, &open_terminals, &mut lexer, limits);
            if !has_text.map_err(|limit| limit.diagnostic())? {
                let empty = emptiness::explain_emptiness(&grammar, &tables, &lex_modes, &mut lexer, limits);
                return Err(empty.map_err(|limit| limit.diagnostic())?.into());
            }
        }
        let (lex_modes, open_terminals, lexer) =
            (Arc::new(lex_modes), Arc::new(open_terminals), Arc::new(lexer));
        Ok(Self { source: grammar.clone(), grammar, tables, lex_modes, open_terminals, lexer })
    }

    /// The prepared grammar without the stacks that no text completes.
    fn refined(
        grammar: LexedGrammar,
        tables: ParsingTables,
        lex_modes: LexModes,
        mut lexer: Lexer,
        limits: &Limits,
    ) -> Result<Self, GrammarError> {
        let (source, tables) = (Arc::new(grammar), Arc::new(tables));
        if let Some(refinement) = refinement::refine(&source, &tables, &lex_modes, &mut lexer, limits)? {
            let Refinement { grammar, tables, lex_modes, open_terminals } = refinement;
            let (grammar, tables) = (Arc::new(grammar), Arc::new(tables));
            let has_text =
                emptiness::has_text(&grammar, &tables, &lex_modes, &open_terminals, &mut lexer, limits);
            if has_text.map_err(|limit| limit.diagnostic())? {
                let (lex_modes, open_terminals) = (Arc::new(lex_modes), Arc::new(open_terminals));
                let lexer = Arc::new(lexer);
                return Ok(Self { source, grammar, tables, lex_modes, open_terminals, lexer });
            }
        }
        lexer.set_class_labels(FxHashMap::default());
        let empty = emptiness::explain_emptiness(&source, &tables, &lex_modes, &mut lexer, limits);
        Err(empty.map_err(|limit| limit.diagnostic())?.into())
    }

    /// Whether the tables are those of a [refined](crate::analysis::refinement) grammar. It must be proved again when it
    /// is prepared without a proof.
    #[must_use]
    pub fn is_refined(&self) -> bool {
        !Arc::ptr_eq(&self.source, &self.grammar)
    }

    /// The terminals of the tables that are classes of the lexemes of a terminal: the terminal itself, and others with its
    /// name if the grammar was refined.
    pub(crate) fn classes_of(&self, terminal: TerminalId) -> impl Iterator<Item = TerminalId> {
        let others = (self.source.terminals.len()..self.grammar.terminals.len()).map(TerminalId::new);
        let name = self.grammar.terminal_name(terminal);
        std::iter::once(terminal)
            .chain(others.filter(move |&other| self.grammar.terminal_name(other) == name))
    }

    /// The grammar that was prepared, before any refinement.
    #[must_use]
    pub fn source(&self) -> &LexedGrammar {
        &self.source
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
