//! Pass: large bounded repetitions inside regular expressions become counted repetitions of the grammar.
//!
//! The automaton of `#"[a-z]{1,200}"` has a state for each number of copies, each with a summary of its own. As a
//! repetition of the terminal `[a-z]`, the number is in the dot, and all numbers share the summaries of one letter.
//! Only repetitions of a *prefix code* are split, such as `[a-z]` or a character of UTF-8: then a text has one number
//! of copies, and the recogniser one item, as the automaton has one state. Small bounds remain in the automaton,
//! unless the unit is so wide that the summary of each state would hold much of the vocabulary.
//!
//! If a character may be a copy or begin what follows, as in `[a-z-]{0,61}[a-z]`, most trie nodes end the repetition,
//! and what follows would be read below all of them, for each number of copies again. Such a pair becomes an intersection
//! with a length, `[a-z-]*[a-z]&[a-z-]{1,62}`, of which one walk serves all lengths.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use grammask_automata::{Automata, ByteSet, Structure, TermId};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{Terminal, TerminalId, quote_bytes};

use super::productions::{Body, Productions, Symbol};

/// Maximum bound of a repetition that remains in an automaton.
const MAX_UNROLLED_COPIES: u32 = 8;
/// Minimum number of first bytes of a unit that is counted from two copies on: more than the 22 hexadecimal digits, so
/// that a string whose escapes have four of them can be one terminal.
const MIN_WIDE_BYTES: usize = 24;
/// Maximum number of states of a repeated language that is tested for being a prefix code: letters of Unicode have 283,
/// and 760 in JSON strings with escapes.
const MAX_UNIT_STATES: usize = 1024;
/// Maximum of copies in a repetition that becomes a limit on the length: its automaton has a state for each number.
const MAX_LIMITED_COPIES: u32 = 1024;
/// Minimum of copies from which such a repetition is counted: each number below it has a walk of its own.
const MAX_LIMITED_MINIMUM: u32 = 8;

/// The end of the names of rules for terminals and their parts.
const COUNTED: &str = ".counted";

/// The label of the terminal for which the pass made a rule; `None` for rules that it did not make.
pub(crate) fn whole_terminal(rule: &str) -> Option<&str> {
    rule.rfind(COUNTED).map(|end| &rule[..end])
}

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

/// Unit and bounds of a repetition.
#[derive(Clone, Copy, Debug)]
struct Counter {
    unit: TermId,
    min: u32,
    max: Option<u32>,
}

/// A part of a concatenation.
#[derive(Clone, Copy, Debug)]
enum SequencePart {
    Plain(TermId),
    /// A repetition that is counted.
    Counted(TermId, Counter),
    /// An intersection that replaces a repetition and what follows it.
    Limited(TermId),
}

impl SequencePart {
    fn term(self) -> TermId {
        let (Self::Plain(term) | Self::Counted(term, _) | Self::Limited(term)) = self;
        term
    }
}

struct CounterSplitter<'a> {
    productions: &'a mut Productions,
    /// Symbols generated for parts of terminals.
    symbols: FxHashMap<TermId, Symbol>,
}

impl CounterSplitter<'_> {
    /// The symbol that replaces a terminal; `None` if it has no counter.
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
        let mut is_changed = false;
        for alternative in alternatives {
            let parts = match self.productions.automata.terms().structure(alternative) {
                Structure::Concatenation(parts) => parts,
                _ => vec![alternative],
            };
            let mut sequence: Vec<Symbol> = Vec::new();
            let mut plain: Vec<TermId> = Vec::new();
            for part in self.sequence_parts(parts)? {
                if let SequencePart::Plain(term) = part {
                    let limited = self.with_limited_alternatives(term)?;
                    is_changed |= limited != term;
                    plain.push(limited);
                    continue;
                }
                is_changed = true;
                sequence.extend(self.plain_part(&mut plain, id));
                sequence.push(match part {
                    SequencePart::Counted(term, counter) => self.repetition(term, counter, id),
                    SequencePart::Plain(term) | SequencePart::Limited(term) => self.terminal(term, id),
                });
            }
            sequence.extend(self.plain_part(&mut plain, id));
            sequences.push(sequence);
        }
        if !is_changed {
            return Ok(None);
        }
        let name = self.name(id);
        let rule = self.productions.add_rule(name, Body::Alternatives(sequences));
        Ok(Some(Symbol::Nonterminal(rule)))
    }

    /// The parts of a concatenation. A repetition and the part after it may become one.
    fn sequence_parts(&mut self, parts: Vec<TermId>) -> Result<Vec<SequencePart>, LimitExceeded> {
        let mut sequence = Vec::with_capacity(parts.len());
        let mut parts = parts.into_iter().peekable();
        while let Some(part) = parts.next() {
            let Some(counter) = self.counter(part)? else {
                sequence.push(SequencePart::Plain(part));
                continue;
            };
            let limited = match parts.peek() {
                Some(&next) => self.with_length_limit(counter, next)?,
                None => None,
            };
            sequence.push(match limited {
                Some(limited) => {
                    parts.next();
                    SequencePart::Limited(limited)
                }
                None => SequencePart::Counted(part, counter),
            });
        }
        Ok(sequence)
    }

    /// The intersection that replaces a repetition and the part after it, if a text may go on with either. Copies and
    /// that part are together a prefix code, so a word has one number of copies, and its length limits them.
    fn with_length_limit(&mut self, counter: Counter, next: TermId) -> Result<Option<TermId>, LimitExceeded> {
        let Counter { unit, min, max: Some(max) } = counter else { return Ok(None) };
        if max > MAX_LIMITED_COPIES || min > MAX_LIMITED_MINIMUM {
            return Ok(None);
        }
        let automata = &mut self.productions.automata;
        let mut first_bytes = ByteSet::ALL;
        for term in [unit, next] {
            let Some(start) = automata.start(term)? else { return Ok(None) };
            first_bytes = first_bytes.intersection(automata.first_bytes(start)?);
        }
        if first_bytes.is_empty() {
            return Ok(None);
        }
        let either = automata.terms_mut().union(&[unit, next]);
        if !automata.is_prefix_code(either, MAX_UNIT_STATES)? {
            return Ok(None);
        }
        let terms = automata.terms_mut();
        let unlimited = terms.repeat(unit, min, None);
        let unlimited = terms.concat(&[unlimited, next]);
        let length = terms.repeat(either, min + 1, Some(max + 1));
        Ok(Some(terms.intersection(&[unlimited, length])))
    }

    /// An optional part or a union, with length limits instead of repetitions, as in `([a-z-]{0,61}[a-z])?`; other terms
    /// as they are.
    fn with_limited_alternatives(&mut self, term: TermId) -> Result<TermId, LimitExceeded> {
        let terms = self.productions.automata.terms();
        let alternatives = match terms.structure(term) {
            Structure::Union(alternatives) => alternatives,
            Structure::Repetition { term, min: 0, max: Some(1) } => vec![term, terms.epsilon()],
            _ => return Ok(term),
        };
        let mut limited = Vec::with_capacity(alternatives.len());
        for &alternative in &alternatives {
            let Structure::Concatenation(parts) = self.productions.automata.terms().structure(alternative)
            else {
                limited.push(alternative);
                continue;
            };
            let parts = self.sequence_parts(parts)?;
            let parts: Vec<TermId> = parts.into_iter().map(SequencePart::term).collect();
            limited.push(self.productions.automata.terms_mut().concat(&parts));
        }
        Ok(match limited == alternatives {
            true => term,
            false => self.productions.automata.terms_mut().union(&limited),
        })
    }

    /// Unit and bounds of a large repetition of a prefix code.
    fn counter(&mut self, term: TermId) -> Result<Option<Counter>, LimitExceeded> {
        let Structure::Repetition { term: unit, min, max } =
            self.productions.automata.terms().structure(term)
        else {
            return Ok(None);
        };
        let is_split = is_counted(&mut self.productions.automata, unit, min, max)?;
        Ok(is_split.then_some(Counter { unit, min, max }))
    }

    /// The symbol for the pending parts without counters, if there are any.
    fn plain_part(&mut self, parts: &mut Vec<TermId>, id: TerminalId) -> Option<Symbol> {
        if parts.is_empty() {
            return None;
        }
        let term = self.productions.automata.terms_mut().concat(parts);
        parts.clear();
        Some(self.terminal(term, id))
    }

    /// The name of a rule for a terminal or a part of it.
    fn name(&self, id: TerminalId) -> Arc<str> {
        format!("{}{COUNTED}", self.productions.terminals[id.index()].label).into()
    }

    /// The terminal of a part of terminal `id`.
    fn terminal(&mut self, term: TermId, id: TerminalId) -> Symbol {
        if let Some(&symbol) = self.symbols.get(&term) {
            return symbol;
        }
        let label = match self.productions.automata.terms().word(term) {
            Some(word) => quote_bytes(&word).into(),
            None => self.productions.terminals[id.index()].label.clone(),
        };
        let symbol = Symbol::Terminal(self.productions.add_terminal(Terminal::Regular(term), label));
        self.symbols.insert(term, symbol);
        symbol
    }

    fn repetition(&mut self, term: TermId, counter: Counter, id: TerminalId) -> Symbol {
        if let Some(&symbol) = self.symbols.get(&term) {
            return symbol;
        }
        let Counter { unit, min, max } = counter;
        let symbol = self.terminal(unit, id);
        let name = self.name(id);
        let rule = self.productions.add_rule(name, Body::Repeat { symbol, min, max });
        self.symbols.insert(term, Symbol::Nonterminal(rule));
        Symbol::Nonterminal(rule)
    }
}

#[cfg(test)]
mod tests {
    use super::super::merged_parts::Merges;
    use super::*;
    use grammask_automata::{Terms, regex};
    use grammask_diagnostics::Limits;
    use grammask_grammar::NonterminalId;

    /// A length limit that replaces a repetition has the same words, as the emptiness of both differences shows.
    #[test]
    fn length_limits_keep_the_language() {
        for (pattern, is_limited) in [
            ("([a-z-]{0,61}[a-z])?", true),
            ("x{1,9}[xy]z|[a-c]{4,12}[b-d]|w", true),
            ("(.{0,20}[^ ])?", true),
            ("([a-z-]{8,61}[a-z])?", true),
            // It begins otherwise; it is no prefix code with the copies; a minimum is large.
            ("([a-z]{0,61}[0-9])?", false),
            ("([ab]{0,61}ab)?", false),
            ("([a-z]{9,61}[a-f])?", false),
        ] {
            let mut terms = Terms::new();
            let term = regex::term(&mut terms, pattern, &Limits::default()).expect("a pattern");
            let mut productions = Productions {
                automata: Automata::new(terms, 100_000),
                terminals: Vec::new(),
                merges: Merges::default(),
                embedded: Vec::new(),
                rules: Vec::new(),
                start: NonterminalId::new(0),
                start_is_nullable: false,
            };
            let mut splitter =
                CounterSplitter { productions: &mut productions, symbols: FxHashMap::default() };
            let limited = splitter.with_limited_alternatives(term).expect("within limits");
            assert_eq!(limited != term, is_limited, "{pattern}");
            let automata = &mut productions.automata;
            for [one, other] in [[term, limited], [limited, term]] {
                let others = automata.terms_mut().complement(other);
                let difference = automata.terms_mut().intersection(&[one, others]);
                assert_eq!(automata.start(difference).expect("within limits"), None, "{pattern}");
            }
        }
    }
}
