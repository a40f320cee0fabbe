//! A cache of the static legality of terminals after a terminal, for the construction of spanner subsets.
//!
//! Tokens whose next terminal is never legal are dropped, and tokens whose next terminal is always legal need no
//! parser; see [`Streamlining`], whose answers hold for every stack. Newlines depend on the layout and ignored
//! terminals leave the parser unchanged, so both count as [`Legality::Sometimes`].

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::definition::grammar::LexedGrammar;
use crate::lexer::open_lexemes::OpenTerminals;
use crate::parser::lalr::LalrTable;
use crate::parser::parsing_tables::ParsingTables;
use crate::streamlining::legality::{Legality, Streamlining};
use grammask_grammar::TerminalId;

/// The legality of all terminals after each terminal, computed on demand.
#[derive(Debug)]
pub(crate) struct FollowCache {
    grammar: Arc<LexedGrammar>,
    tables: Arc<ParsingTables>,
    streamlining: Option<Streamlining<Arc<LalrTable>>>,
    /// By the last terminal that the parser read: the legality of each next terminal.
    legalities: FxHashMap<TerminalId, Box<[Legality]>>,
}

impl FollowCache {
    pub(crate) fn new(grammar: Arc<LexedGrammar>, tables: Arc<ParsingTables>) -> Self {
        let streamlining = match &*tables {
            ParsingTables::Lalr(table) => Some(Streamlining::new(table.clone())),
            ParsingTables::Earley(_) => None,
        };
        Self { grammar, tables, streamlining, legalities: FxHashMap::default() }
    }

    /// The last terminal that the parser read, after one more lexeme; `None` if unknown.
    pub(crate) fn last_after(&self, last: Option<TerminalId>, terminal: TerminalId) -> Option<TerminalId> {
        match self.grammar.terminals[terminal.index()].is_ignored() {
            true => last,
            false => Some(terminal).filter(|&terminal| !self.is_newline(terminal)),
        }
    }

    /// The legality of a lexeme directly after the parser read `last`.
    pub(crate) fn lexeme_legality(&mut self, last: TerminalId, next: TerminalId) -> Legality {
        if self.is_newline(next) || self.grammar.terminals[next.index()].is_ignored() {
            return Legality::Sometimes;
        }
        match (&self.streamlining, &*self.tables) {
            (Some(streamlining), _) => {
                let legalities =
                    self.legalities.entry(last).or_insert_with(|| streamlining.legalities_after(last));
                legalities[next.index()]
            }
            (None, ParsingTables::Earley(language)) if !language.adjacency().are_adjacent(last, next) => {
                Legality::Never
            }
            (None, _) => Legality::Sometimes,
        }
    }

    /// The legality of tokens with these open terminals directly after the parser read `last`.
    pub(crate) fn open_terminals_legality(&mut self, last: TerminalId, open: &OpenTerminals) -> Legality {
        let mut legality = Legality::Never;
        for terminal in open.outside.iter().chain(open.inside.iter()) {
            if terminal == self.grammar.end() {
                legality = legality.max(Legality::Sometimes);
                continue;
            }
            let is_certain = open.outside.contains(terminal) && open.inside.contains(terminal);
            match self.lexeme_legality(last, terminal) {
                Legality::Always if is_certain => return Legality::Always,
                Legality::Never => {}
                Legality::Always | Legality::Sometimes => legality = Legality::Sometimes,
            }
        }
        legality
    }

    fn is_newline(&self, terminal: TerminalId) -> bool {
        self.grammar.indentation.as_ref().is_some_and(|indentation| indentation.newline == terminal)
    }
}
