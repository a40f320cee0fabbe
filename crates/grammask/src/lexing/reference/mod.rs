//! The oracle for lexed grammars: cuts a whole text as its lexing rule is defined, and parses it with textbook tables.
//!
//! Nothing here is shared with the engine but the grammar and the terminals' automata. The lexer tries every terminal
//! at every length; the tables are made by merging canonical LR(1) states.

mod merged_lr1;

use std::sync::Mutex;

use self::merged_lr1::MergedTable;
use super::grammar::{Indentation, LexedGrammar, LexerKind, LexingRule, TerminalRole};
use crate::Limits;
use crate::automata::{Automata, StateId};
use crate::grammar::TerminalId;

/// See the module.
#[derive(Debug)]
pub struct LexedReference {
    grammar: LexedGrammar,
    table: MergedTable,
    automata: Mutex<Automata>,
}

/// What a parser with an indentation keeps.
struct Reading {
    stack: Vec<usize>,
    blocks: Vec<u32>,
    brackets: u32,
}

impl LexedReference {
    /// The oracle of a grammar; none if its parser has conflicts that its policy does not decide.
    #[must_use]
    pub fn new(grammar: &LexedGrammar, limits: &Limits) -> Option<Self> {
        let table = MergedTable::new(grammar)?;
        let automata = Mutex::new(Automata::new(grammar.terms.clone(), limits.automaton_states));
        Some(Self { grammar: grammar.clone(), table, automata })
    }

    /// Whether a text is in the language.
    #[must_use]
    pub fn accepts(&self, text: &[u8]) -> bool {
        let mut reading = Reading { stack: vec![0], blocks: Vec::new(), brackets: 0 };
        let mut start = 0;
        while start < text.len() {
            let Some((terminal, length)) = self.lexeme(&reading, &text[start..]) else { return false };
            let lexeme = &text[start..start + length];
            if !self.read(&mut reading, terminal, lexeme) {
                return false;
            }
            start += length;
        }
        if let Some(indentation) = &self.grammar.indentation {
            for _ in 0..reading.blocks.len() {
                if !self.table.shift(&mut reading.stack, &self.grammar, indentation.dedent) {
                    return false;
                }
            }
        }
        self.table.accepts_end(&mut reading.stack, &self.grammar)
    }

    /// The lexeme that a text begins with.
    fn lexeme(&self, reading: &Reading, text: &[u8]) -> Option<(TerminalId, usize)> {
        let state = *reading.stack.last()?;
        let newline = self.grammar.indentation.as_ref().map(|indentation| indentation.newline);
        let wanted: Vec<TerminalId> = (0..self.grammar.terminals.len())
            .map(TerminalId::new)
            .filter(|&terminal| {
                self.grammar.lexer == LexerKind::Basic
                    || self.grammar.terminals[terminal.index()].role != TerminalRole::Parsed
                    || newline == Some(terminal)
                    || self.table.has_action(state, terminal)
            })
            .collect();
        let matches: Vec<(TerminalId, usize)> = wanted
            .iter()
            .filter_map(|&terminal| Some((terminal, self.longest_match(terminal, text)?)))
            .collect();
        let priority = |terminal: TerminalId| self.grammar.terminals[terminal.index()].priority;
        let is_literal = |terminal: TerminalId| self.grammar.terminals[terminal.index()].is_literal;
        match self.grammar.rule {
            LexingRule::MaximalMunch => {
                let longest = matches.iter().map(|&(_, length)| length).max()?;
                let mut best: Vec<_> = matches.into_iter().filter(|&(_, length)| length == longest).collect();
                best.sort_by_key(|&(terminal, _)| (-priority(terminal), !is_literal(terminal), terminal));
                best.first().copied()
            }
            LexingRule::Lark => {
                let patterns_of = |keyword: TerminalId| {
                    let pairs = self.grammar.keywords.iter();
                    pairs.filter(move |&&(literal, _)| literal == keyword).map(|&(_, pattern)| pattern)
                };
                let mut scanned: Vec<_> = matches
                    .iter()
                    .copied()
                    .filter(|&(terminal, _)| !patterns_of(terminal).any(|pattern| wanted.contains(&pattern)))
                    .collect();
                scanned.sort_by_key(|&(terminal, _)| (-priority(terminal), terminal));
                let &(terminal, length) = scanned.first()?;
                let keyword = matches.iter().find(|&&(keyword, keyword_length)| {
                    keyword_length == length && patterns_of(keyword).any(|pattern| pattern == terminal)
                });
                Some((keyword.map_or(terminal, |&(keyword, _)| keyword), length))
            }
        }
    }

    /// Length of the longest word of a terminal that a text begins with.
    fn longest_match(&self, terminal: TerminalId, text: &[u8]) -> Option<usize> {
        let mut automata = self.automata.lock().ok()?;
        let term = self.grammar.terminals[terminal.index()].term?;
        let mut state: Option<StateId> = automata.start(term).ok()?;
        let mut longest = None;
        for (position, &byte) in text.iter().enumerate() {
            state = automata.step(state?, byte).ok()?;
            match state {
                Some(state) if automata.is_accepting(state) => longest = Some(position + 1),
                Some(_) => {}
                None => break,
            }
        }
        longest
    }

    /// Reads a lexeme; false if it cannot come here.
    fn read(&self, reading: &mut Reading, terminal: TerminalId, lexeme: &[u8]) -> bool {
        if self.grammar.terminals[terminal.index()].is_ignored() {
            return true;
        }
        let Some(indentation) = &self.grammar.indentation else {
            return self.table.shift(&mut reading.stack, &self.grammar, terminal);
        };
        if terminal == indentation.newline {
            return reading.brackets > 0 || self.read_newline(reading, indentation, lexeme);
        }
        if !self.table.shift(&mut reading.stack, &self.grammar, terminal) {
            return false;
        }
        if indentation.open.contains(&terminal) {
            reading.brackets += 1;
        } else if indentation.close.contains(&terminal) {
            match reading.brackets.checked_sub(1) {
                Some(less) => reading.brackets = less,
                None => return false,
            }
        }
        true
    }

    fn read_newline(&self, reading: &mut Reading, indentation: &Indentation, lexeme: &[u8]) -> bool {
        if !self.table.shift(&mut reading.stack, &self.grammar, indentation.newline) {
            return false;
        }
        let Some(last) = lexeme.iter().rposition(|&byte| byte == b'\n') else { return false };
        let line = &lexeme[last + 1..];
        let count = |wanted: u8| line.iter().filter(|&&byte| byte == wanted).count() as u32;
        let column = count(b' ') + count(b'\t') * indentation.tab_length;
        let current = |reading: &Reading| reading.blocks.last().copied().unwrap_or(0);
        if column > current(reading) {
            reading.blocks.push(column);
            return self.table.shift(&mut reading.stack, &self.grammar, indentation.indent);
        }
        while column < current(reading) {
            reading.blocks.pop();
            if !self.table.shift(&mut reading.stack, &self.grammar, indentation.dedent) {
                return false;
            }
        }
        column == current(reading)
    }
}
