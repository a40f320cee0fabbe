//! The partition of a subset's tokens by the state on top of the parser's stack.
//!
//! The top state alone decides most tokens: a terminal that it shifts is legal regardless of the stack below, and one
//! without an action is illegal. Only a reduction makes a token depend on the rest of the stack. A partition holds
//! the accepted context-independent tokens as one set, the context-dependent tokens by the terminals of which one
//! must be accepted, and the branches that may be taken. This is the division of Y. Dong et al., "XGrammar: Flexible
//! and Efficient Structured Generation Engine for Large Language Models" (2024), and of the tables of K. Park, T.
//! Zhou and L. D'Antoni, "Flexible and Efficient Grammar-Constrained Decoding" (ICML 2025), computed only for the
//! pairs of subset and state that texts reach.

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

/// Whether a bracket is open, inside which newlines are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Nesting {
    /// No bracket is open.
    Outside,
    /// A bracket is open.
    Inside,
}

/// Context-dependent tokens: legal if the parser accepts one of some terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DependentTokens {
    /// May contain the end of the text.
    pub(crate) terminals: TerminalListId,
    pub(crate) tokens: TokenGroupId,
}

/// The tokens and branches of a subset below one top state.
#[derive(Debug)]
pub(crate) struct TokenPartition {
    pub(crate) accepted: Option<TokenGroupId>,
    pub(crate) dependent: Box<[DependentTokens]>,
    /// The indices of the branches that the parser may take.
    pub(crate) branches: Box<[u32]>,
    /// The indices of the exits that may end the text.
    pub(crate) exits: Box<[u32]>,
}

impl TokenPartition {
    /// The number of items that depend on the stack.
    pub(crate) fn pending_count(&self) -> usize {
        self.dependent.len() + self.branches.len() + self.exits.len()
    }
}

/// The static tables that partitions are computed from.
#[derive(Clone, Copy)]
pub(crate) struct PartitionTables<'a> {
    pub(crate) grammar: &'a LexedGrammar,
    pub(crate) tables: &'a ParsingTables,
    pub(crate) open_terminals: &'a OpenTerminalsTable,
}

/// A subset, and the tables that intern its parts.
pub(crate) struct PartitionInput<'a> {
    pub(crate) subset: &'a SpannerSubset,
    pub(crate) token_sets: &'a mut TokenSetStore,
    pub(crate) terminals: &'a mut TerminalLists,
}

/// The cached partitions of a recogniser.
#[derive(Debug, Default)]
pub(crate) struct TokenPartitions {
    partitions: FxHashMap<(SubsetId, LrState, Nesting), Arc<TokenPartition>>,
    memory_bytes: usize,
}

impl TokenPartitions {
    /// The cached partition of a subset.
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
        size_of::<Self>()
            + size_of_val(&self.dependent[..])
            + size_of_val(&self.branches[..])
            + size_of_val(&self.exits[..])
    }
}

/// The class of tokens that emit no further terminal.
enum TokenClass {
    Accepted,
    Dependent(TerminalListId),
    Rejected,
}

impl PartitionTables<'_> {
    /// Computes the partition of a subset.
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
        let may_be_read = |terminal: TerminalId| {
            self.leaves_parser(terminal) || self.action(top, terminal) != Some(ParserAction::Error)
        };
        let branches = (0_u32..).zip(&subset.branches).filter(|(_, branch)| may_be_read(branch.terminal));
        let exits = (0_u32..).zip(&subset.exits).filter(|(_, exit)| may_be_read(exit.terminal));
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
            branches: branches.map(|(index, _)| index).collect(),
            exits: exits.map(|(index, _)| index).collect(),
        }
    }

    /// The class of tokens with these open terminals.
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
                // With open blocks, dedents precede the end of the text.
                Some(ParserAction::Error) if !is_end || self.grammar.indentation.is_none() => {}
                _ => reducing.push(terminal),
            }
        }
        if reducing.is_empty() { TokenClass::Rejected } else { TokenClass::Dependent(lists.id(reducing)) }
    }

    /// The action of the LALR(1) tables; `None` with the Earley recogniser.
    fn action(self, top: LrState, terminal: TerminalId) -> Option<ParserAction> {
        self.tables.lalr().map(|table| table.action(top, terminal))
    }

    /// Whether a lexeme of the terminal may leave the stack unchanged.
    fn leaves_parser(self, terminal: TerminalId) -> bool {
        let indentation = self.grammar.indentation.as_ref();
        self.grammar.terminals[terminal.index()].is_ignored()
            || indentation.is_some_and(|indentation| indentation.newline == terminal)
    }
}
