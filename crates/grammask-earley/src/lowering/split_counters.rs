//! Pass: large bounded repetitions inside regular expressions become counted repetitions of the grammar.
//!
//! The automaton of `#"[a-z]{1,200}"` has a state for each number of copies, each with a summary of its own. As a
//! repetition of the terminal `[a-z]`, the number is in the dot, and all numbers share the summaries of one letter.
//! Only repetitions of a *prefix code* are split, such as `[a-z]` or a character of UTF-8: then a text has one number
//! of copies, and the recogniser one item, as the automaton has one state. Small bounds remain in the automaton,
//! unless the unit is so wide that the summary of each state would hold much of the vocabulary.

use rustc_hash::FxHashMap;

use grammask_automata::{Automata, Structure, TermId};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{Terminal, TerminalId};

use super::productions::{Body, Productions, Symbol};

/// Maximum bound of a repetition that remains in an automaton.
const MAX_UNROLLED_COPIES: u32 = 8;
/// Minimum number of first bytes of a unit that is counted from two copies on: more than the 22 hexadecimal digits, so
/// that a string whose escapes have four of them can be one terminal.
const MIN_WIDE_BYTES: usize = 24;
/// Maximum number of states of a repeated language that is tested for being a prefix code: letters of Unicode have 283,
/// and 760 in JSON strings with escapes.
const MAX_UNIT_STATES: usize = 1024;

/// Splits terminals with large counters.
///
/// # Errors
/// When an automaton exceeds the limit on states.
pub fn split_counters(productions: &mut Productions) -> Result<(), LimitExceeded> {
    let count = productions.terminals.len();
    let mut splitter = CounterSplitter { productions, symbols: FxHashMap::default() };
    let mut replaced: FxHashMap<TerminalId, Symbol> = FxHashMap::default();
    for id in (0..count).map(TerminalId::new) {
        let Terminal::Regular(term) = splitter.productions.terminals[id.index()].terminal else { continue };
        if let Some(symbol) = splitter.split(term, id)? {
            replaced.insert(id, symbol);
        }
    }
    if !replaced.is_empty() {
        for rule in &mut productions.rules {
            rule.body.map(|symbol| match symbol {
                Symbol::Terminal(id) => replaced.get(&id).copied().unwrap_or(symbol),
                Symbol::Nonterminal(_) => symbol,
            });
        }
    }
    Ok(())
}

/// Whether `min` to `max` copies of `unit` are counted rather than unrolled.
///
/// # Errors
/// When an automaton exceeds the limit on states.
pub(super) fn is_counted(
    automata: &mut Automata,
    unit: TermId,
    min: u32,
    max: Option<u32>,
) -> Result<bool, LimitExceeded> {
    let is_large = min.max(max.unwrap_or(0)) > MAX_UNROLLED_COPIES
        || max.is_some_and(|max| max > 1)
            && match automata.start(unit)? {
                Some(start) => automata.first_bytes(start)?.len() >= MIN_WIDE_BYTES,
                None => false,
            };
    Ok(is_large && automata.is_prefix_code(unit, MAX_UNIT_STATES)?)
}

struct CounterSplitter<'a> {
    productions: &'a mut Productions,
    /// Symbols generated for parts of terminals.
    symbols: FxHashMap<TermId, Symbol>,
}

impl CounterSplitter<'_> {
    /// The symbol that replaces a terminal; `None` if it has no counter to split off.
    fn split(&mut self, term: TermId, id: TerminalId) -> Result<Option<Symbol>, LimitExceeded> {
        if !self.productions.automata.terms().has_repetition(term) {
            return Ok(None);
        }
        let structure = self.productions.automata.terms().structure(term);
        let alternatives = match structure {
            Structure::Union(parts) => parts,
            _ => vec![term],
        };
        let mut sequences = Vec::with_capacity(alternatives.len());
        let mut has_counter = false;
        for alternative in alternatives {
            let parts = match self.productions.automata.terms().structure(alternative) {
                Structure::Concatenation(parts) => parts,
                _ => vec![alternative],
            };
            let mut sequence: Vec<Symbol> = Vec::new();
            let mut plain: Vec<TermId> = Vec::new();
            for part in parts {
                match self.counter(part)? {
                    Some((unit, min, max)) => {
                        has_counter = true;
                        sequence.extend(self.plain_part(&mut plain));
                        sequence.push(self.repetition(part, unit, min, max, id));
                    }
                    None => plain.push(part),
                }
            }
            sequence.extend(self.plain_part(&mut plain));
            sequences.push(sequence);
        }
        if !has_counter {
            return Ok(None);
        }
        let name = format!("{}.counted", self.productions.terminals[id.index()].label).into();
        let rule = self.productions.add_rule(name, Body::Alternatives(sequences));
        Ok(Some(Symbol::Nonterminal(rule)))
    }

    /// Unit and bounds of a large repetition of a prefix code.
    fn counter(&mut self, term: TermId) -> Result<Option<(TermId, u32, Option<u32>)>, LimitExceeded> {
        let Structure::Repetition { term: unit, min, max } =
            self.productions.automata.terms().structure(term)
        else {
            return Ok(None);
        };
        let is_split = is_counted(&mut self.productions.automata, unit, min, max)?;
        Ok(is_split.then_some((unit, min, max)))
    }

    /// The symbol for the pending parts without counters, if there are any.
    fn plain_part(&mut self, parts: &mut Vec<TermId>) -> Option<Symbol> {
        if parts.is_empty() {
            return None;
        }
        let term = self.productions.automata.terms_mut().concat(parts);
        parts.clear();
        Some(self.terminal(term))
    }

    fn terminal(&mut self, term: TermId) -> Symbol {
        if let Some(&symbol) = self.symbols.get(&term) {
            return symbol;
        }
        let label = format!("#\"{}\"", self.productions.automata.terms().display(term)).into();
        let symbol = Symbol::Terminal(self.productions.add_terminal(Terminal::Regular(term), label));
        self.symbols.insert(term, symbol);
        symbol
    }

    fn repetition(
        &mut self,
        term: TermId,
        unit: TermId,
        min: u32,
        max: Option<u32>,
        id: TerminalId,
    ) -> Symbol {
        if let Some(&symbol) = self.symbols.get(&term) {
            return symbol;
        }
        let symbol = self.terminal(unit);
        let name = format!("{}.repeat", self.productions.terminals[id.index()].label).into();
        let rule = self.productions.add_rule(name, Body::Repeat { symbol, min, max });
        self.symbols.insert(term, Symbol::Nonterminal(rule));
        Symbol::Nonterminal(rule)
    }
}
