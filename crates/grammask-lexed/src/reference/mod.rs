//! The oracle for lexed grammars: cuts a whole text by the definition of its lexing rule, and parses it with textbook
//! tables.
//!
//! It shares only the grammar and the terminals' automata with the engine. The lexer tries every terminal at every
//! length; the tables are merged canonical LR(1) states; and for the Earley parser, all ways to cut the text form a
//! lattice. A text of an ignored rule is parsed on a stack of its own, up to the first position where it is complete. So is
//! that of a delimited terminal, from its beginning, by the context-free engine, which has oracles of its own.

mod lattice;
mod merged_lr1;

use std::collections::BTreeSet;
use std::sync::Mutex;

use self::merged_lr1::MergedTable;
use crate::definition::grammar::{Indentation, LexedGrammar, LexedSymbol};
use crate::definition::source::{IndentationMeasure, LexerKind, LexingRule, ParserKind, TerminalRole};
use crate::delimited::DelimitedEngines;
use crate::lexer::column_units::{ColumnEffect, UnitState};
use grammask_automata::{Automata, StateId};
use grammask_diagnostics::Limits;
use grammask_engine::Steps;
use grammask_grammar::TerminalId;

/// The oracle of one grammar.
#[derive(Debug)]
pub struct LexedReference {
    grammar: LexedGrammar,
    /// `None` with the Earley parser.
    table: Option<MergedTable>,
    /// The tables of the ignored rules, with the terminals that begin their texts.
    ignored: Vec<(MergedTable, BTreeSet<usize>)>,
    /// The terminals that occur inside lexemes only.
    inside: BTreeSet<usize>,
    automata: Mutex<Automata>,
    delimited: DelimitedEngines,
}

/// The state of a parse with indentation.
struct ReferenceParse {
    /// The stack of the innermost ignored text, or of the whole text.
    stack: Vec<usize>,
    /// The enclosing stacks, outermost first, each with the ignored rule of the stack inside it.
    enclosing: Vec<(Vec<usize>, usize)>,
    /// The columns of the open blocks, and those with tabs of one column.
    blocks: Vec<(usize, usize)>,
    brackets: u32,
    /// Whether the last lexeme is a newline that ends with a continuation.
    is_continued: bool,
}

impl LexedReference {
    /// The oracle of a grammar; `None` if its conflicts are not resolved, or for the Earley parser with indentation.
    #[must_use]
    pub fn new(grammar: &LexedGrammar, limits: &Limits) -> Option<Self> {
        let table = match grammar.parser {
            ParserKind::Lalr => Some(MergedTable::new(grammar, grammar.start)?),
            ParserKind::Earley if grammar.indentation.is_some() => return None,
            ParserKind::Earley => None,
        };
        let mut ignored = Vec::new();
        for &rule in &grammar.lexical.ignored {
            let first = grammar.productions.iter().filter(|production| production.lhs == rule);
            let first = first.filter_map(|production| match production.rhs.first() {
                Some(LexedSymbol::Terminal(terminal)) => Some(terminal.index()),
                _ => None,
            });
            ignored.push((MergedTable::new(grammar, rule)?, first.collect()));
        }
        let tables = || table.iter().chain(ignored.iter().map(|(table, _)| table));
        let mut inside: BTreeSet<usize> = tables().flat_map(|table| table.shifted(true)).collect();
        for terminal in tables().flat_map(|table| table.shifted(false)) {
            inside.remove(&terminal);
        }
        for terminal in ignored.iter().flat_map(|(_, first)| first) {
            inside.remove(terminal);
        }
        let automata = Mutex::new(Automata::new(grammar.terms.clone(), limits.automaton_states));
        let delimited = DelimitedEngines::new(grammar, limits).ok()?;
        Some(Self { grammar: grammar.clone(), table, ignored, inside, automata, delimited })
    }

    /// Whether a text is in the language.
    #[must_use]
    pub fn accepts(&self, text: &[u8]) -> bool {
        let text = &[&self.grammar.beginning, text].concat()[..];
        let Some(table) = &self.table else {
            return self.edges(text).is_some_and(|edges| lattice::derives(&self.grammar, &edges, text.len()));
        };
        let mut parse = ReferenceParse {
            stack: vec![0],
            enclosing: Vec::new(),
            blocks: Vec::new(),
            brackets: 0,
            is_continued: false,
        };
        let mut start = 0;
        while start < text.len() {
            let current = parse.enclosing.last().map_or(table, |&(_, rule)| &self.ignored[rule].0);
            let top = parse.stack.last().copied().unwrap_or(0);
            let has_action = |terminal| current.has_action(top, terminal);
            let is_lexical = current.is_lexical[top];
            let Some((terminal, length)) = self.lexeme(has_action, is_lexical, &text[start..]) else {
                return false;
            };
            let lexeme = &text[start..start + length];
            let entered = self.ignored.iter().position(|(_, first)| first.contains(&terminal.index()));
            let mut current = current;
            if let Some(rule) = entered.filter(|_| !is_lexical) {
                parse.enclosing.push((std::mem::replace(&mut parse.stack, vec![0]), rule));
                current = &self.ignored[rule].0;
            }
            parse.is_continued = false;
            if !self.read(current, &mut parse, terminal, lexeme) {
                return false;
            }
            if !parse.enclosing.is_empty()
                && current.accepts_end(&mut parse.stack.clone(), &self.grammar)
                && let Some((outer, _)) = parse.enclosing.pop()
            {
                parse.stack = outer;
            }
            start += length;
        }
        if !parse.enclosing.is_empty() || parse.is_continued {
            return false;
        }
        if let Some(indentation) = &self.grammar.indentation {
            for _ in 0..parse.blocks.len() {
                if !table.shift(&mut parse.stack, &self.grammar, indentation.dedent) {
                    return false;
                }
            }
        }
        table.accepts_end(&mut parse.stack, &self.grammar)
    }

    /// The lattice of a text, for the Earley parser; `None` if the lexer fails.
    fn edges(&self, text: &[u8]) -> Option<Vec<lattice::LexemeEdge>> {
        let is_ignored = |terminal: TerminalId| self.grammar.terminals[terminal.index()].is_ignored();
        let mut edges = Vec::new();
        let mut add = |start: usize, terminal: TerminalId, length: usize| {
            edges.push((start, start + length, (!is_ignored(terminal)).then_some(terminal)));
        };
        if !self.grammar.lexer.is_dynamic() {
            let mut start = 0;
            while start < text.len() {
                let (terminal, length) = self.lexeme(|_| false, false, &text[start..])?;
                if self.grammar.terminals[terminal.index()].role.is_refused() {
                    return None;
                }
                add(start, terminal, length);
                start += length;
            }
            return Some(edges);
        }
        for start in 0..text.len() {
            for terminal in (0..self.grammar.terminals.len()).map(TerminalId::new) {
                let violations = self.grammar.violations_of(terminal);
                let is_violated = violations.is_some_and(|id| !self.matches(id, &text[start..]).is_empty());
                if is_violated || self.grammar.terminals[terminal.index()].role.is_refused() {
                    continue;
                }
                let lengths = self.matches(terminal, &text[start..]);
                let is_complete = self.grammar.lexer == LexerKind::DynamicComplete
                    && !is_ignored(terminal)
                    && violations.is_none();
                let skipped = if is_complete { 0 } else { lengths.len().saturating_sub(1) };
                for &length in &lengths[skipped..] {
                    add(start, terminal, length);
                }
            }
        }
        Some(edges)
    }

    /// The first lexeme of a text.
    fn lexeme(
        &self,
        has_action: impl Fn(TerminalId) -> bool,
        is_lexical: bool,
        text: &[u8],
    ) -> Option<(TerminalId, usize)> {
        let (terminal, length) = self.lexeme_or_opening(has_action, is_lexical, text)?;
        let Some(engine) = self.delimited.get(terminal) else { return Some((terminal, length)) };
        let is_complete = |&length: &usize| {
            let state = text[..length]
                .iter()
                .try_fold(engine.start(), |state, &byte| engine.step(state, byte).ok().flatten());
            state.is_some_and(|state| engine.is_complete(state))
        };
        (length..=text.len()).find(is_complete).map(|length| (terminal, length))
    }

    /// The first lexeme of a text, or its opening if it is a delimited terminal.
    fn lexeme_or_opening(
        &self,
        has_action: impl Fn(TerminalId) -> bool,
        is_lexical: bool,
        text: &[u8],
    ) -> Option<(TerminalId, usize)> {
        let newline = self.grammar.indentation.as_ref().map(|indentation| indentation.newline);
        let wanted: Vec<TerminalId> = (0..self.grammar.terminals.len())
            .map(TerminalId::new)
            .filter(|&terminal| {
                if is_lexical || self.inside.contains(&terminal.index()) {
                    return is_lexical && has_action(terminal);
                }
                self.grammar.lexer == LexerKind::Basic
                    || self.grammar.terminals[terminal.index()].role != TerminalRole::Parsed
                    || newline == Some(terminal)
                    || has_action(terminal)
            })
            .collect();
        let matches: Vec<(TerminalId, usize)> = wanted
            .iter()
            .filter_map(|&terminal| Some((terminal, *self.matches(terminal, text).last()?)))
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

    /// The lengths of all matches of a terminal at the beginning of a text, ascending.
    fn matches(&self, terminal: TerminalId, text: &[u8]) -> Vec<usize> {
        let mut lengths = Vec::new();
        let Ok(mut automata) = self.automata.lock() else { return lengths };
        let Some(term) = self.grammar.terminals[terminal.index()].term else { return lengths };
        let mut state: Option<StateId> = automata.start(term).ok().flatten();
        for (position, &byte) in text.iter().enumerate() {
            let Some(current) = state else { break };
            state = automata.step(current, byte).ok().flatten();
            if state.is_some_and(|state| automata.is_accepting(state)) {
                lengths.push(position + 1);
            }
        }
        lengths
    }

    /// Reads a lexeme; `false` if it is illegal.
    fn read(
        &self,
        table: &MergedTable,
        parse: &mut ReferenceParse,
        terminal: TerminalId,
        lexeme: &[u8],
    ) -> bool {
        if self.grammar.terminals[terminal.index()].is_ignored() {
            return true;
        }
        let Some(indentation) = &self.grammar.indentation else {
            return table.shift(&mut parse.stack, &self.grammar, terminal);
        };
        if terminal == indentation.newline {
            return parse.brackets > 0 || self.read_newline(table, parse, indentation, lexeme);
        }
        if !table.shift(&mut parse.stack, &self.grammar, terminal) {
            return false;
        }
        if indentation.open.contains(&terminal) {
            parse.brackets += 1;
        } else if indentation.close.contains(&terminal) {
            match parse.brackets.checked_sub(1) {
                Some(less) => parse.brackets = less,
                None => return false,
            }
        }
        true
    }

    fn read_newline(
        &self,
        table: &MergedTable,
        parse: &mut ReferenceParse,
        indentation: &Indentation,
        lexeme: &[u8],
    ) -> bool {
        if !table.shift(&mut parse.stack, &self.grammar, indentation.newline) {
            return false;
        }
        let characters = self.characters_of_newline(lexeme);
        let (columns, alternative) = match indentation.measure {
            IndentationMeasure::Columns { tab_length } => {
                let Some(last) = characters.iter().rposition(|&character| character == b'\n') else {
                    return false;
                };
                let count = |wanted| characters[last + 1..].iter().filter(|&&found| found == wanted).count();
                let columns = count(b' ') + count(b'\t') * tab_length as usize;
                (columns, columns)
            }
            IndentationMeasure::Python => match python_indentation(&characters) {
                Some(PythonIndentation { columns, alternative, is_continued }) => {
                    parse.is_continued = is_continued;
                    (columns, alternative)
                }
                None => return false,
            },
        };
        let current = |parse: &ReferenceParse| parse.blocks.last().copied().unwrap_or((0, 0));
        if columns > current(parse).0 {
            if alternative <= current(parse).1 {
                return false;
            }
            parse.blocks.push((columns, alternative));
            return table.shift(&mut parse.stack, &self.grammar, indentation.indent);
        }
        while columns < current(parse).0 {
            parse.blocks.pop();
            if !table.shift(&mut parse.stack, &self.grammar, indentation.dedent) {
                return false;
            }
        }
        (columns, alternative) == current(parse)
    }

    /// The characters of a newline that decide columns, decoded.
    fn characters_of_newline(&self, lexeme: &[u8]) -> Vec<u8> {
        if self.grammar.definition().encodings.is_empty() {
            return lexeme.to_vec();
        }
        let mut unit = UnitState::BOUNDARY;
        let mut characters = Vec::new();
        for &byte in lexeme {
            let (next, effect) = self.grammar.column_units.step(unit, byte);
            unit = next;
            characters.extend_from_slice(match effect {
                ColumnEffect::LineBreak => b"\n",
                ColumnEffect::Space => b" ",
                ColumnEffect::Tab => b"\t",
                ColumnEffect::FormFeed => b"\x0c",
                ColumnEffect::Continuation => b"\\\n",
                ColumnEffect::None => b"",
            });
        }
        characters
    }
}

/// The indentation of the last line of a newline.
struct PythonIndentation {
    columns: usize,
    /// With tabs of one column.
    alternative: usize,
    /// Whether the newline ends with a continuation.
    is_continued: bool,
}

/// The variables `col`, `altcol` and `cont_line_col` of CPython's tokenizer at the end of a newline; `None` without a line
/// break.
fn python_indentation(characters: &[u8]) -> Option<PythonIndentation> {
    let mut line = None;
    let mut is_continued = false;
    let mut rest = characters;
    while let Some((&character, after)) = rest.split_first() {
        rest = after;
        is_continued = false;
        if character == b'\n' {
            line = Some((0, 0, 0));
        }
        if character == b'#' {
            let length = rest.iter().position(|&character| character == b'\n').unwrap_or(rest.len());
            rest = &rest[length..];
        }
        let Some((columns, alternative, continued)) = &mut line else { continue };
        match character {
            b' ' => {
                *columns += 1;
                *alternative += 1;
            }
            b'\t' => {
                *columns = (*columns / 8 + 1) * 8;
                *alternative += 1;
            }
            b'\x0c' => (*columns, *alternative) = (0, 0),
            b'\\' => {
                if let Some(after) = rest.strip_prefix(b"\n").or_else(|| rest.strip_prefix(b"\r\n")) {
                    rest = after;
                    is_continued = true;
                    if *continued == 0 {
                        *continued = *columns;
                    }
                }
            }
            _ => {}
        }
    }
    let (columns, alternative, continued) = line?;
    let (columns, alternative) = if continued > 0 { (continued, continued) } else { (columns, alternative) };
    Some(PythonIndentation { columns, alternative, is_continued })
}
