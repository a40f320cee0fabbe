//! The terminals of a grammar in their matching order, and lists of those with a partial match.
//!
//! Under [`LexingRule::Lark`] terminals form groups, by rank; a terminal of a group that matches excludes those of later
//! groups. Under [`LexingRule::MaximalMunch`] all terminals are one group.

use crate::definition::grammar::LexedGrammar;
use crate::definition::source::{LexerKind, LexingRule};
use crate::parser::terminal_set::TerminalSet;
use grammask_automata::{Automata, StateId, TermId, Terms};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::TerminalId;

/// A terminal with a partial match. The order of the fields is the matching order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LiveTerminal {
    pub(super) group: u32,
    pub(super) preference: u32,
    pub(super) terminal: TerminalId,
    pub(super) state: StateId,
}

/// A literal that a pattern matches, and that is distinguished from it afterwards.
#[derive(Clone, Copy, Debug)]
struct Keyword {
    literal: TerminalId,
    pattern: TerminalId,
    /// The start state of the spellings that the pattern matches, if there are others: a literal that ignores case also
    /// has a long s for `s`. These others are matched after the pattern.
    common: Option<StateId>,
}

/// The terms of the spellings that each keyword of a grammar has in common with its pattern.
pub(super) fn common_spellings(grammar: &LexedGrammar, terms: &mut Terms) -> Vec<TermId> {
    let nothing = terms.nothing();
    let term_of = |terminal: TerminalId| grammar.terminals[terminal.index()].term.unwrap_or(nothing);
    let keywords = grammar.keywords.iter();
    keywords.map(|&(literal, pattern)| terms.intersection(&[term_of(literal), term_of(pattern)])).collect()
}

/// The terminals of a grammar in their matching order, indexed by [`TerminalId`].
#[derive(Clone, Debug)]
pub(super) struct MatchOrder {
    rule: LexingRule,
    /// The start state of each terminal's automaton; none for declared terminals.
    starts: Vec<Option<StateId>>,
    /// The position of each terminal in the order; the lowest rank wins.
    ranks: Vec<u32>,
    /// Literals that are matched as a pattern first; only under [`LexingRule::Lark`].
    keywords: Vec<Keyword>,
    /// Whether a lexeme of each terminal is invalid where a longer one is possible.
    pub(super) is_longest: Vec<bool>,
    /// Whether each terminal is refused.
    is_refused: Vec<bool>,
    /// Whether each terminal is delimited.
    pub(super) is_delimited: Vec<bool>,
    /// Whether a guard of refused terminals is redundant where the open lexeme has the same terminals.
    pub(super) drops_refused_guards: bool,
}

impl MatchOrder {
    /// The matching order of a grammar, with the start states of its terminals and of the [`common_spellings`] of its
    /// keywords in `automata`.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(super) fn new(
        grammar: &LexedGrammar,
        automata: &mut Automata,
        common: &[TermId],
    ) -> Result<Self, LimitExceeded> {
        let terminals = &grammar.terminals;
        let starts = terminals.iter().map(|terminal| match terminal.term {
            Some(term) => automata.start(term),
            None => Ok(None),
        });
        let starts = starts.collect::<Result<Vec<_>, _>>()?;
        let mut keywords = Vec::with_capacity(common.len());
        for (&(literal, pattern), &common) in grammar.keywords.iter().zip(common) {
            let has_others = match (starts[literal.index()], starts[pattern.index()]) {
                (Some(literal), Some(pattern)) => !is_included(automata, literal, pattern)?,
                _ => false,
            };
            let common = if has_others { automata.start(common)? } else { None };
            keywords.push(Keyword { literal, pattern, common });
        }
        let ends_anywhere = grammar.lexer == LexerKind::DynamicComplete;
        Ok(Self {
            rule: grammar.rule,
            starts,
            ranks: ranks(grammar),
            keywords,
            is_longest: (0..terminals.len())
                .map(TerminalId::new)
                .map(|id| {
                    !ends_anywhere
                        || terminals[id.index()].is_ignored()
                        || grammar.violations_of(id).is_some()
                })
                .collect(),
            is_refused: terminals.iter().map(|terminal| terminal.role.is_refused()).collect(),
            is_delimited: terminals.iter().map(|terminal| terminal.delimited.is_some()).collect(),
            drops_refused_guards: grammar.rule == LexingRule::Lark && !grammar.lexer.is_dynamic(),
        })
    }

    /// Whether all of these terminals are refused.
    pub(super) fn are_refused(&self, live: &[LiveTerminal]) -> bool {
        self.leading_refused(live).len() == live.len()
    }

    /// The refused terminals before all others.
    pub(super) fn leading_refused<'a>(&self, live: &'a [LiveTerminal]) -> &'a [LiveTerminal] {
        let count = live.iter().take_while(|live| self.is_refused[live.terminal.index()]).count();
        &live[..count]
    }

    /// The terminals of a mode in their start states.
    pub(super) fn initial(&self, mode: &TerminalSet) -> Box<[LiveTerminal]> {
        let mut live = Vec::new();
        for terminal in mode.iter() {
            let Some(&Some(state)) = self.starts.get(terminal.index()) else { continue };
            let rank = self.ranks[terminal.index()];
            match self.rule {
                LexingRule::MaximalMunch => {
                    live.push(LiveTerminal { group: 0, preference: rank, terminal, state })
                }
                LexingRule::Lark => {
                    let read_as = self.keywords.iter();
                    let read_as: Vec<_> = read_as
                        .filter(|keyword| keyword.literal == terminal && mode.contains(keyword.pattern))
                        .collect();
                    if read_as.iter().all(|keyword| keyword.common.is_some()) {
                        live.push(LiveTerminal { group: rank, preference: 1, terminal, state });
                    }
                    for keyword in read_as {
                        let group = self.ranks[keyword.pattern.index()];
                        let state = keyword.common.unwrap_or(state);
                        live.push(LiveTerminal { group, preference: 0, terminal, state });
                    }
                }
            }
        }
        live.sort_unstable();
        live.into()
    }
}

/// The rank of each terminal in the matching order.
fn ranks(grammar: &LexedGrammar) -> Vec<u32> {
    let mut order: Vec<usize> = (0..grammar.terminals.len()).collect();
    order.sort_by_key(|&index| {
        let terminal = &grammar.terminals[index];
        let is_pattern = grammar.rule == LexingRule::MaximalMunch && !terminal.is_literal;
        (std::cmp::Reverse(terminal.priority), is_pattern, index)
    });
    let mut ranks = vec![0; order.len()];
    for (rank, index) in order.into_iter().enumerate() {
        ranks[index] = rank as u32;
    }
    ranks
}

/// Whether all words of a state are words of another one.
fn is_included(automata: &mut Automata, inner: StateId, outer: StateId) -> Result<bool, LimitExceeded> {
    let mut pairs = vec![(inner, outer)];
    let mut next = 0;
    while let Some(&(inner, outer)) = pairs.get(next) {
        next += 1;
        if automata.is_accepting(inner) && !automata.is_accepting(outer) {
            return Ok(false);
        }
        for (bytes, target) in automata.successors(inner)? {
            for byte in bytes.iter() {
                let Some(reached) = automata.step(outer, byte)? else { return Ok(false) };
                if !pairs.contains(&(target, reached)) {
                    pairs.push((target, reached));
                }
            }
        }
    }
    Ok(true)
}
