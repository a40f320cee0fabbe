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
use crate::lexer::open_lexemes::{OpenTerminals, OpenTerminalsTable};
use crate::masks::spanner_subset::{SpannerSubset, SubsetId};
use crate::masks::terminal_lists::{TerminalListId, TerminalLists};
use crate::masks::token_set_store::{TokenGroupId, TokenSetStore, hash_map_bytes};
use crate::parser::lalr::ParserAction;
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
pub(crate) struct DependentTokens {
    /// The end of the text may be among them.
    pub(crate) terminals: TerminalListId,
    pub(crate) tokens: TokenGroupId,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct TokenPartition {
    pub(crate) accepted: Option<TokenGroupId>,
    pub(crate) dependent: Box<[DependentTokens]>,
    /// The branches of the bundle that the parser may take.
    pub(crate) branches: Box<[u32]>,
}

impl TokenPartition {
    /// How many things a walk does here.
    pub(crate) fn pending_count(&self) -> usize {
        self.dependent.len() + self.branches.len()
    }
}

/// What views are made from.
#[derive(Clone, Copy)]
pub(crate) struct PartitionTables<'a> {
    pub(crate) grammar: &'a LexedGrammar,
    pub(crate) tables: &'a ParsingTables,
    pub(crate) open_terminals: &'a OpenTerminalsTable,
}

/// A bundle that is looked at, and what is known by number.
pub(crate) struct PartitionInput<'a> {
    pub(crate) subset: &'a SpannerSubset,
    pub(crate) token_sets: &'a mut TokenSetStore,
    pub(crate) terminals: &'a mut TerminalLists,
}

/// All views.
#[derive(Debug, Default)]
pub(crate) struct TokenPartitions {
    partitions: FxHashMap<(SubsetId, LrState, Nesting), Arc<TokenPartition>>,
    memory_bytes: usize,
}

impl TokenPartitions {
    /// The view of a bundle, which is kept.
    #[inline]
    pub(crate) fn of(
        &mut self,
        key: (SubsetId, LrState, Nesting),
        input: PartitionInput<'_>,
        tables: PartitionTables<'_>,
    ) -> Arc<TokenPartition> {
        if let Some(cached) = self.partitions.get(&key) {
            return cached.clone();
        }
        let partition = Arc::new(tables.partition(input, key.1, key.2));
        self.memory_bytes += partition.memory_bytes();
        self.partitions.insert(key, partition.clone());
        partition
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes + hash_map_bytes(&self.partitions)
    }
}

impl TokenPartition {
    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&self.dependent[..]) + size_of_val(&self.branches[..])
    }
}

/// What is known about tokens that emit nothing more.
enum TokenClass {
    Accepted,
    Dependent(TerminalListId),
    Rejected,
}

impl PartitionTables<'_> {
    /// The view of a bundle, made for once.
    pub(crate) fn partition(
        self,
        input: PartitionInput<'_>,
        top: LrState,
        nesting: Nesting,
    ) -> TokenPartition {
        let PartitionInput { subset, token_sets, terminals: lists } = input;
        let mut accepted: Vec<TokenGroupId> =
            subset.always.iter().map(|tokens| token_sets.id(tokens)).collect();
        let mut dependent: FxHashMap<TerminalListId, Vec<TokenGroupId>> = FxHashMap::default();
        for (open, tokens) in &subset.ends {
            match self.classify(self.open_terminals.get(*open), top, nesting, lists) {
                TokenClass::Accepted => accepted.push(token_sets.id(tokens)),
                TokenClass::Dependent(terminals) => {
                    dependent.entry(terminals).or_default().push(token_sets.id(tokens));
                }
                TokenClass::Rejected => {}
            }
        }
        let may_be_taken = |&index: &u32| {
            let terminal = subset.branches[index as usize].terminal;
            self.leaves_parser(terminal) || self.action(top, terminal) != Some(ParserAction::Error)
        };
        let mut dependent: Vec<DependentTokens> = dependent
            .into_iter()
            .filter_map(|(terminals, mut of)| {
                Some(DependentTokens { terminals, tokens: token_sets.union(&mut of)? })
            })
            .collect();
        dependent.sort_unstable();
        TokenPartition {
            accepted: token_sets.union(&mut accepted),
            dependent: dependent.into(),
            branches: (0..subset.branches.len() as u32).filter(may_be_taken).collect(),
        }
    }

    /// What becomes of tokens with a future.
    fn classify(
        self,
        open: &OpenTerminals,
        top: LrState,
        nesting: Nesting,
        lists: &mut TerminalLists,
    ) -> TokenClass {
        let terminals = match nesting {
            Nesting::Outside => &open.outside,
            Nesting::Inside => &open.inside,
        };
        let mut reducing = Vec::new();
        for terminal in terminals.iter() {
            let is_end = terminal == self.grammar.end();
            match self.action(top, terminal) {
                Some(ParserAction::Shift(_)) => return TokenClass::Accepted,
                // Blocks may have to end before the text can.
                Some(ParserAction::Error) if !is_end || self.grammar.indentation.is_none() => {}
                _ => reducing.push(terminal),
            }
        }
        if reducing.is_empty() { TokenClass::Rejected } else { TokenClass::Dependent(lists.id(reducing)) }
    }

    /// The action of LALR(1) tables.
    fn action(self, top: LrState, terminal: TerminalId) -> Option<ParserAction> {
        self.tables.lalr().map(|table| table.action(top, terminal))
    }

    /// Whether a lexeme may be read without the parser.
    fn leaves_parser(self, terminal: TerminalId) -> bool {
        let indentation = self.grammar.indentation.as_ref();
        self.grammar.terminals[terminal.index()].is_ignored()
            || indentation.is_some_and(|indentation| indentation.newline == terminal)
    }
}
