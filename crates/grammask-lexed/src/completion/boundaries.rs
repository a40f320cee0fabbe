//! The boundaries between lexemes: the lexemes that can begin at the end of another one.
//!
//! Hundreds can begin in most states of programming languages, and the same ones after most lexemes, so their lists are
//! interned. So are the lexemes that an open one can become with another byte.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::completion::search_sources::{SearchSources, extensions_of};
use crate::delimited::{DelimitedStatesId, LexemeBeforeByte};
use crate::lexer::column_units::UnitState;
use crate::lexer::lexer_automaton::{ConfigurationId, LexModeId};
use crate::lexer::line_columns::Column;
use crate::masks::spanner_table::ColumnState;
use crate::masks::token_set_store::hash_map_bytes;
use crate::parser::stacks::ParseState;
use crate::recognizer::Run;
use grammask_collections::id_type;
use grammask_diagnostics::LimitExceeded;

/// The end of a lexeme before the first byte of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Boundary {
    /// After the lexeme.
    pub(crate) parse: ParseState,
    pub(crate) begun: BegunLexemesId,
}

/// Where an open lexeme is ended by the first byte of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LexemeEnd {
    pub(crate) ended: ConfigurationId,
    /// The mode of the next lexeme.
    pub(crate) mode: LexModeId,
    pub(crate) is_in_brackets: bool,
}

id_type! {
    /// Interned lexemes that can begin at a boundary.
    BegunLexemesId
}

/// The next lexeme after its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BegunLexeme {
    /// The smallest one.
    pub(crate) byte: u8,
    pub(crate) configuration: ConfigurationId,
    pub(crate) column: Column,
    pub(crate) unit: UnitState,
    pub(crate) delimited: DelimitedStatesId,
}

/// An open lexeme, and all on which the lexemes depend that it can become with another byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ExtendedLexeme {
    configuration: ConfigurationId,
    column: Column,
    unit: UnitState,
    delimited: DelimitedStatesId,
    is_in_brackets: bool,
}

/// Interned lists of the lexemes that can begin, or go on.
#[derive(Debug, Default)]
pub(crate) struct BegunLexemes {
    of_end: FxHashMap<LexemeEnd, BegunLexemesId>,
    of_extended: FxHashMap<ExtendedLexeme, BegunLexemesId>,
    /// Ascending by byte.
    lists: Vec<Arc<[BegunLexeme]>>,
    ids: FxHashMap<Arc<[BegunLexeme]>, BegunLexemesId>,
    /// The total number of lexemes.
    count: usize,
}

impl BegunLexeme {
    /// The run of the lexeme in a parser state.
    pub(crate) fn run(&self, parse: ParseState) -> Run {
        let &Self { configuration, column, unit, delimited, .. } = self;
        Run { parse, configuration, column, unit, delimited }
    }
}

impl BegunLexemes {
    /// A list, ascending by byte.
    pub(crate) fn list(&self, id: BegunLexemesId) -> &Arc<[BegunLexeme]> {
        &self.lists[id.index()]
    }

    /// The lexemes that can begin with one of `bytes`, which are ascending, at the end of another lexeme. Memoised.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn after(
        &mut self,
        sources: &mut SearchSources<'_>,
        end: LexemeEnd,
        bytes: &[u8],
    ) -> Result<BegunLexemesId, LimitExceeded> {
        if let Some(&known) = self.of_end.get(&end) {
            return Ok(known);
        }
        let mut begun: Vec<BegunLexeme> = Vec::new();
        for &byte in bytes {
            let Some(guards) = sources.lexer.step(end.ended, byte)?.commit else { continue };
            for configuration in sources.lexer.enter(end.mode, byte, guards)? {
                let from = ColumnState::BEFORE_LEXEME;
                let ColumnState { column, unit } =
                    sources.column(configuration, from, byte, end.is_in_brackets);
                let before = LexemeBeforeByte::AtStart;
                let delimited = sources.delimited.after(before, sources.lexer, configuration, byte)?;
                begun.push(BegunLexeme { byte, configuration, column, unit, delimited });
            }
        }
        let id = self.intern(begun);
        self.of_end.insert(end, id);
        Ok(id)
    }

    /// The lexemes that the open lexeme of a run can become with one of `bytes`, which are ascending; `None` inside a delimited
    /// terminal that was opened, where they depend on the parser. Memoised.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn extending(
        &mut self,
        sources: &mut SearchSources<'_>,
        run: Run,
        bytes: &[u8],
    ) -> Result<Option<BegunLexemesId>, LimitExceeded> {
        let Run { configuration, column, unit, delimited, parse } = run;
        if sources.lexer.opened(configuration).is_some() {
            return Ok(None);
        }
        let is_in_brackets = sources.parser.is_in_brackets(parse.layout);
        let key = ExtendedLexeme { configuration, column, unit, delimited, is_in_brackets };
        if let Some(&known) = self.of_extended.get(&key) {
            return Ok(Some(known));
        }
        let mut extensions = Vec::new();
        extensions_of(sources, run, bytes, &mut extensions)?;
        let begun = extensions.into_iter().map(|(byte, run)| {
            let Run { configuration, column, unit, delimited, .. } = run;
            BegunLexeme { byte, configuration, column, unit, delimited }
        });
        let id = self.intern(begun.collect());
        self.of_extended.insert(key, id);
        Ok(Some(id))
    }

    /// The list of some lexemes, of which each has its smallest byte.
    fn intern(&mut self, mut begun: Vec<BegunLexeme>) -> BegunLexemesId {
        let lexeme = |begun: &BegunLexeme| (begun.configuration, begun.column, begun.unit, begun.delimited);
        begun.sort_unstable_by_key(|begun| (lexeme(begun), begun.byte));
        begun.dedup_by_key(|begun| lexeme(begun));
        begun.sort_by_key(|begun| begun.byte);
        let begun: Arc<[BegunLexeme]> = begun.into();
        if let Some(&known) = self.ids.get(&begun) {
            return known;
        }
        let id = BegunLexemesId::new(self.lists.len());
        self.count += begun.len();
        self.lists.push(begun.clone());
        self.ids.insert(begun, id);
        id
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        hash_map_bytes(&self.of_end)
            + hash_map_bytes(&self.of_extended)
            + hash_map_bytes(&self.ids)
            + self.count * size_of::<BegunLexeme>()
    }
}
