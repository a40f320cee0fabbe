//! Bundles as a parser sees them that has a certain state on top of its stack.
//!
//! Most of what a mask asks about a bundle that state answers alone: a terminal that it shifts can come whatever is
//! below, and one for which it has no action cannot. Only where it reduces first does the rest of the stack count. So a
//! *view* holds the tokens that are certain, as one part, those that depend on what is below, by the terminals of which
//! one has to be taken, and the branches that may be. It divides tokens as the tables of K. Park, T. Zhou and L.
//! D'Antoni, "Flexible and Efficient Grammar-Constrained Decoding" (2025), do, but only for the pairs of bundles and states
//! that texts lead to.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::definition::grammar::LexedGrammar;
use crate::lexer::open_lexemes::{Future, Futures};
use crate::masks::spanner_subset::{Bundle, BundleId};
use crate::masks::terminal_lists::{TerminalLists, TerminalsId};
use crate::masks::token_set_store::{PartId, Parts, hash_bytes};
use crate::parser::lalr::Action;
use crate::parser::lr_automaton::LrState;
use crate::parser::parsing_tables::ParsingTables;
use grammask_grammar::TerminalId;

/// Whether a bracket is open, so that newlines mean nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Nesting {
    /// None is.
    Outside,
    /// One is.
    Inside,
}

/// Tokens that can come if the parser takes one of some terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Dependent {
    /// The end of the text may be among them.
    pub(crate) terminals: TerminalsId,
    pub(crate) tokens: PartId,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) certain: Option<PartId>,
    pub(crate) dependent: Box<[Dependent]>,
    /// The branches of the bundle that the parser may take.
    pub(crate) branches: Box<[u32]>,
}

impl View {
    /// How many things a walk does here.
    pub(crate) fn len(&self) -> usize {
        self.dependent.len() + self.branches.len()
    }
}

/// What views are made from.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) grammar: &'a LexedGrammar,
    pub(crate) tables: &'a ParsingTables,
    pub(crate) futures: &'a Futures,
}

/// A bundle that is looked at, and what is known by number.
pub(crate) struct Sight<'a> {
    pub(crate) bundle: &'a Bundle,
    pub(crate) parts: &'a mut Parts,
    pub(crate) terminals: &'a mut TerminalLists,
}

/// All views.
#[derive(Debug, Default)]
pub(crate) struct Views {
    views: FxHashMap<(BundleId, LrState, Nesting), Arc<View>>,
    memory_bytes: usize,
}

impl Views {
    /// The view of a bundle, which is kept.
    #[inline]
    pub(crate) fn of(
        &mut self,
        key: (BundleId, LrState, Nesting),
        sight: Sight<'_>,
        sources: Sources<'_>,
    ) -> Arc<View> {
        if let Some(known) = self.views.get(&key) {
            return known.clone();
        }
        let view = Arc::new(sources.view(sight, key.1, key.2));
        self.memory_bytes += view.memory_bytes();
        self.views.insert(key, view.clone());
        view
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes + hash_bytes(&self.views)
    }
}

impl View {
    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&self.dependent[..]) + size_of_val(&self.branches[..])
    }
}

/// What is known about tokens that emit nothing more.
enum Fate {
    Certain,
    Dependent(TerminalsId),
    Dead,
}

impl Sources<'_> {
    /// The view of a bundle, made for once.
    pub(crate) fn view(self, sight: Sight<'_>, top: LrState, nesting: Nesting) -> View {
        let Sight { bundle, parts, terminals: lists } = sight;
        let mut certain: Vec<PartId> = bundle.always.iter().map(|tokens| parts.id(tokens)).collect();
        let mut dependent: FxHashMap<TerminalsId, Vec<PartId>> = FxHashMap::default();
        for (future, tokens) in &bundle.ends {
            match self.fate(self.futures.get(*future), (top, nesting), lists) {
                Fate::Certain => certain.push(parts.id(tokens)),
                Fate::Dependent(terminals) => {
                    dependent.entry(terminals).or_default().push(parts.id(tokens));
                }
                Fate::Dead => {}
            }
        }
        let may_come = |&index: &u32| {
            let terminal = bundle.branches[index as usize].terminal;
            self.leaves_parser(terminal) || self.action(top, terminal) != Some(Action::Error)
        };
        let mut dependent: Vec<Dependent> = dependent
            .into_iter()
            .filter_map(|(terminals, mut of)| Some(Dependent { terminals, tokens: parts.union(&mut of)? }))
            .collect();
        dependent.sort_unstable();
        View {
            certain: parts.union(&mut certain),
            dependent: dependent.into(),
            branches: (0..bundle.branches.len() as u32).filter(may_come).collect(),
        }
    }

    /// What becomes of tokens with a future.
    fn fate(self, future: &Future, (top, nesting): (LrState, Nesting), lists: &mut TerminalLists) -> Fate {
        let terminals = match nesting {
            Nesting::Outside => &future.outside,
            Nesting::Inside => &future.inside,
        };
        let mut open = Vec::new();
        for terminal in terminals.iter() {
            let is_end = terminal == self.grammar.end();
            match self.action(top, terminal) {
                Some(Action::Shift(_)) => return Fate::Certain,
                // Blocks may have to end before the text can.
                Some(Action::Error) if !is_end || self.grammar.indentation.is_none() => {}
                _ => open.push(terminal),
            }
        }
        if open.is_empty() { Fate::Dead } else { Fate::Dependent(lists.id(open)) }
    }

    /// The action of LALR(1) tables.
    fn action(self, top: LrState, terminal: TerminalId) -> Option<Action> {
        self.tables.lalr().map(|table| table.action(top, terminal))
    }

    /// Whether a lexeme may be read without the parser.
    fn leaves_parser(self, terminal: TerminalId) -> bool {
        let indentation = self.grammar.indentation.as_ref();
        self.grammar.terminals[terminal.index()].is_ignored()
            || indentation.is_some_and(|indentation| indentation.newline == terminal)
    }
}
