//! Refinement of a grammar whose parser has stacks that no text completes.
//!
//! The open terminals of a configuration tell whether a run is live only if every stack of the parser has a completion that
//! can be written. This fails where terminals that the productions put next to each other are adjacent in no text, or
//! where a resolved conflict leads the parser away from all texts. Such a grammar is replaced by one with the same texts
//! and without such stacks:
//!
//! - [Commit classes](crate::lexer::open_lexemes::commit_classes) take the place of terminals, so that the sequences of
//!   lexemes that can be written are a relation between adjacent terminals.
//! - The Earley parser reads the intersection of the productions with this relation
//!   ([`adjacent_product`](crate::analysis::adjacent_product)).
//! - LALR(1) tables are split by the regular sets of stacks that have a completion
//!   ([`live_stacks`](crate::analysis::live_stacks)). Conflicts and lexer modes are those of the tables before the split.
//!
//! Only grammars that fail the other analysis are refined.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::analysis::adjacent_product::product_with_adjacency;
use crate::analysis::live_stacks::split_by_liveness;
use crate::definition::grammar::{LexedGrammar, LexedProduction, LexedSymbol};
use crate::definition::source::{LexerKind, TerminalRole};
use crate::lexer::lexer_automaton::{LexModeId, Lexer};
use crate::lexer::open_lexemes::commit_classes::CommitClasses;
use crate::lexer::open_lexemes::{LexModes, OpenTerminalsTable};
use crate::parser::lalr::LalrTable;
use crate::parser::lr_automaton::LrState;
use crate::parser::parsing_tables::ParsingTables;
use crate::parser::terminal_set::TerminalSet;
use grammask_diagnostics::{GrammarError, Limits};
use grammask_grammar::{NonterminalId, TerminalId};

/// A refined grammar with its tables.
pub(crate) struct Refinement {
    pub(crate) grammar: LexedGrammar,
    pub(crate) tables: ParsingTables,
    pub(crate) lex_modes: LexModes,
    pub(crate) open_terminals: OpenTerminalsTable,
}

/// Whether grammars of this kind can be refined: no layouts, and no texts that the lexer reads by other rules.
pub(crate) fn is_refinable(grammar: &LexedGrammar) -> bool {
    grammar.indentation.is_none() && grammar.lexical.is_empty() && !grammar.has_delimited_terminals()
}

/// Refines a grammar, and labels the configurations of its lexer with commit classes; `None` if no text is left.
///
/// # Errors
/// When a limit is exceeded.
pub(crate) fn refine(
    grammar: &LexedGrammar,
    tables: &ParsingTables,
    lex_modes: &LexModes,
    lexer: &mut Lexer,
    limits: &Limits,
) -> Result<Option<Refinement>, GrammarError> {
    let classes = CommitClasses::compute(lexer, grammar, tables, lex_modes)?;
    let refined = match tables {
        ParsingTables::Earley(_) => {
            let mode = lex_modes.of_state[LrState::START.index()];
            let mut first = TerminalSet::new(classes.terminal_of.len() + 1);
            for start in lexer.starts(mode).map_err(|limit| limit.diagnostic())? {
                if let Some(at_start) = classes.first(start, mode) {
                    first.union_with(at_start);
                }
            }
            let product =
                product_with_adjacency(with_classes(grammar, &classes), &classes, &first, mode, limits)
                    .map_err(|limit| limit.diagnostic())?;
            match product {
                Some(grammar) => {
                    let tables = ParsingTables::new(&grammar, limits)?;
                    let of_state = vec![mode; grammar.terminals.len() + 1];
                    Some((grammar, tables, of_state))
                }
                None => None,
            }
        }
        ParsingTables::Lalr(_) => {
            let (grammar, nonterminals) = with_split_terminals(grammar, &classes);
            let table = LalrTable::new(&grammar, limits)?;
            let split = match modes_of_states(&grammar, &table, &classes, lex_modes, &nonterminals) {
                Some(modes) => split_by_liveness(&table, &classes, &modes, limits),
                None => Ok(None),
            };
            let split = split.map_err(|limit| limit.diagnostic())?;
            split.map(|(table, of_state)| (grammar, ParsingTables::Lalr(Arc::new(table)), of_state))
        }
    };
    let Some((grammar, tables, of_state)) = refined else { return Ok(None) };
    let lex_modes = LexModes { of_state, terminals: lex_modes.terminals.clone() };
    let (labels, open_terminals) = classes.into_open_terminals();
    lexer.set_class_labels(labels);
    Ok(Some(Refinement { grammar, tables, lex_modes, open_terminals }))
}

/// The grammar with a terminal for each commit class.
fn with_classes(grammar: &LexedGrammar, classes: &CommitClasses) -> LexedGrammar {
    let mut refined = grammar.clone();
    let added = &classes.terminal_of[grammar.terminals.len()..];
    refined.terminals.extend(added.iter().map(|terminal| grammar.terminals[terminal.index()].clone()));
    refined
}

/// The grammar in which a terminal with several classes is a nonterminal with a production for each of them, and these
/// nonterminals by class.
fn with_split_terminals(
    grammar: &LexedGrammar,
    classes: &CommitClasses,
) -> (LexedGrammar, FxHashMap<TerminalId, NonterminalId>) {
    let mut refined = with_classes(grammar, classes);
    let mut nonterminal_of: FxHashMap<TerminalId, NonterminalId> = FxHashMap::default();
    let mut by_class = FxHashMap::default();
    for &terminal in &classes.terminal_of[grammar.terminals.len()..] {
        nonterminal_of.entry(terminal).or_insert_with(|| {
            refined.nonterminals.push(grammar.terminals[terminal.index()].name.clone());
            NonterminalId::new(refined.nonterminals.len() - 1)
        });
    }
    for symbol in refined.productions.iter_mut().flat_map(|production| &mut production.rhs) {
        if let LexedSymbol::Terminal(terminal) = symbol
            && let Some(&nonterminal) = nonterminal_of.get(terminal)
        {
            *symbol = LexedSymbol::Nonterminal(nonterminal);
        }
    }
    let mut split: Vec<_> = nonterminal_of.into_iter().collect();
    split.sort_unstable();
    for (terminal, lhs) in split {
        for class in classes.classes_of(terminal) {
            by_class.insert(class, lhs);
            let rhs = Box::new([LexedSymbol::Terminal(class)]);
            refined.productions.push(LexedProduction { lhs, rhs, priority: 0 });
        }
    }
    (refined, by_class)
}

/// The lexer mode of a state of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ModeOfState {
    Fixed(LexModeId),
    /// That of the state after the nonterminal, on top of the state below.
    After(NonterminalId),
}

/// The lexer mode of each state: that of the tables before terminals were split; `None` if the lexer has no such mode.
fn modes_of_states(
    grammar: &LexedGrammar,
    table: &LalrTable,
    classes: &CommitClasses,
    lex_modes: &LexModes,
    nonterminals: &FxHashMap<TerminalId, NonterminalId>,
) -> Option<Vec<ModeOfState>> {
    let is_contextual = grammar.lexer == LexerKind::Contextual;
    let mut everywhere = TerminalSet::new(grammar.terminals.len() + 1);
    for (index, terminal) in grammar.terminals.iter().enumerate() {
        if !is_contextual || terminal.role != TerminalRole::Parsed {
            everywhere.insert(classes.terminal_of[index]);
        }
    }
    let mode_of = |state: LrState| {
        if let Some(LexedSymbol::Terminal(class)) = table.automaton.entered_by[state.index()]
            && let Some(&nonterminal) = nonterminals.get(&class)
        {
            return Some(ModeOfState::After(nonterminal));
        }
        let mut mode = everywhere.clone();
        if is_contextual {
            for class in table.accepts(state).iter().filter(|&class| class != table.end()) {
                mode.insert(classes.terminal_of[class.index()]);
            }
        }
        let position = lex_modes.terminals.iter().position(|terminals| terminals.iter().eq(mode.iter()));
        position.map(|position| ModeOfState::Fixed(LexModeId::new(position)))
    };
    (0..table.state_count()).map(LrState::new).map(mode_of).collect()
}
