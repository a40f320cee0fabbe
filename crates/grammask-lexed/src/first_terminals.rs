//! The terminals with which texts begin, for tables of tokens by terminal.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::definition::grammar::LexedSymbol;
use crate::parser::lr_automaton::LrState;
use crate::recognizer::{LexedRecognizer, RecognizerTables, Run};
use grammask_diagnostics::LimitExceeded;
use grammask_engine::{Expectation, FirstTerminals, SetId};
use grammask_grammar::{TerminalId, quote_bytes};

/// The name of the rule of ignored terminals.
const IGNORED: &str = "ignored";

/// A run after the first byte of a text, and whether that byte continues the open lexeme.
#[derive(Clone, Copy)]
struct RunAfterByte {
    run: Run,
    has_begun: bool,
}

impl LexedRecognizer {
    /// As [`Descriptions::first_terminals`](grammask_engine::Descriptions::first_terminals).
    pub(crate) fn find_first_terminals(
        &self,
        set: SetId,
        texts: &[&[u8]],
    ) -> Result<FirstTerminals, LimitExceeded> {
        let runs = self.runs_of(set);
        let mut tables = self.lock();
        let mut found = FirstTerminals::default();
        let mut after_byte: FxHashMap<u8, Vec<RunAfterByte>> = FxHashMap::default();
        let mut known: FxHashMap<(Run, bool, TerminalId), u32> = FxHashMap::default();
        for text in texts {
            let mut terminals: Vec<u32> = Vec::new();
            if let Some((&first, rest)) = text.split_first() {
                let after = match after_byte.entry(first) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(self.after_byte(&mut tables, &runs, first)?),
                };
                for &RunAfterByte { run, has_begun } in after.iter() {
                    for terminal in tables.first_lexeme(run, rest)? {
                        // The stack decides which rule needs the terminal; the lexeme does not count.
                        let key = (Run { configuration: runs[0].configuration, ..run }, has_begun, terminal);
                        let index = match known.get(&key) {
                            Some(&index) => index,
                            None => {
                                let index = self
                                    .expectation(&mut tables, run, terminal, has_begun)
                                    .map_or(u32::MAX, |expectation| found.index_of(expectation));
                                known.insert(key, index);
                                index
                            }
                        };
                        terminals.extend((index != u32::MAX).then_some(index));
                    }
                }
            }
            terminals.sort_unstable();
            terminals.dedup();
            found.of_text.push(terminals);
        }
        tables.parser.check()?;
        Ok(found)
    }

    /// The terminals that some next byte begins or
    /// continues, in the order of the grammar.
    pub(crate) fn find_expectations(&self, set: SetId) -> Result<Vec<Expectation>, LimitExceeded> {
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        let texts: Vec<&[u8]> = bytes.chunks(1).collect();
        let found = self.find_first_terminals(set, &texts)?.terminals;
        let grammar = &self.prepared().grammar;
        let mut expected = Vec::with_capacity(found.len());
        for (position, terminal) in grammar.terminals.iter().enumerate() {
            let name = grammar.terminal_name(TerminalId::new(position));
            let is_expected = |expected: &&Expectation| expected.terminal == name && !terminal.is_ignored();
            expected.extend(found.iter().filter(is_expected).cloned());
        }
        expected.sort_by_key(|expected| !expected.has_begun);
        Ok(expected)
    }

    fn after_byte(
        &self,
        tables: &mut RecognizerTables,
        runs: &[Run],
        byte: u8,
    ) -> Result<Vec<RunAfterByte>, LimitExceeded> {
        let (mut all, mut next) = (Vec::new(), Vec::new());
        for &run in runs {
            let is_start = tables.lexer.is_start(run.configuration);
            tables.extend_run(self, run, byte, &mut next)?;
            if tables.lexer.opened(run.configuration).is_some() && !next.is_empty() {
                // The byte may end the terminal.
                next = vec![run];
            }
            all.extend(next.drain(..).map(|run| RunAfterByte { run, has_begun: !is_start }));
            tables.commit_run(self, run, byte, &mut next)?;
            all.extend(next.drain(..).map(|run| RunAfterByte { run, has_begun: false }));
        }
        Ok(all)
    }

    /// The terminal as an expectation; `None` if the parser does not accept it.
    fn expectation(
        &self,
        tables: &mut RecognizerTables,
        run: Run,
        terminal: TerminalId,
        has_begun: bool,
    ) -> Option<Expectation> {
        let grammar = &self.prepared().grammar;
        let rule = if grammar.terminals[terminal.index()].is_ignored() {
            IGNORED.to_owned()
        } else {
            let mut classes = self.prepared().classes_of(terminal);
            let class = classes.find(|&class| tables.parser.accepts(run.parse.stack, class))?;
            user_rule(&self.rule_that_needs(tables.parser.top(run.parse.stack), class)).to_owned()
        };
        let name = grammar.terminal_name(terminal).to_owned();
        let source = self.prepared().source();
        let is_own = source.terminal_name(terminal) == name;
        let definition = source.definition().terminals.get(terminal.index()).filter(|_| is_own);
        let literal = definition.and_then(|definition| definition.pattern.literal()).map(quote_bytes);
        let descriptions = &source.definition().descriptions;
        let state = tables.parser.top(run.parse.stack);
        let construct = || self.described_construct(state).unwrap_or_default().to_owned();
        let described = grammar.terminal_name(self.block_of_newline(state, terminal).unwrap_or(terminal));
        Some(Expectation {
            terminal_label: literal.or_else(|| descriptions.get(described).cloned()),
            rule_label: (!descriptions.is_empty()).then(construct),
            terminal: name,
            rule,
            has_begun,
        })
    }
}

impl LexedRecognizer {
    /// The terminal for the beginning of a block, if the terminal is a newline after which a block has to begin.
    fn block_of_newline(&self, state: LrState, terminal: TerminalId) -> Option<TerminalId> {
        let indentation = self.prepared().grammar.indentation.as_ref()?;
        let automaton = &self.prepared().table()?.automaton;
        let newline = (terminal == indentation.newline).then_some(LexedSymbol::Terminal(terminal))?;
        let indent = LexedSymbol::Terminal(indentation.indent);
        let mut kernel = automaton.kernels[automaton.step(state, newline)?.index()].iter();
        kernel.all(|&item| automaton.symbol_after(item) == Some(indent)).then_some(indentation.indent)
    }

    /// The description of the rules of which a state has read a part, if they share one.
    fn described_construct(&self, state: LrState) -> Option<&str> {
        let descriptions = &self.prepared().source().definition().descriptions;
        let automaton = &self.prepared().table()?.automaton;
        let kernel = automaton.kernels[state.index()].iter();
        let mut described = kernel.filter(|item| automaton.symbol_after(**item).is_some()).map(|item| {
            let lhs = automaton.productions[item.production as usize].lhs;
            let name = self.prepared().grammar.nonterminals.get(lhs.index())?;
            descriptions.get(user_rule(name)).map(String::as_str)
        });
        let first = described.next()??;
        described.all(|other| other == Some(first)).then_some(first)
    }
}

/// The rule of the author from which a rule was made: Lark names repetitions `__rule_star_0`, templates have arguments in
/// braces, and the lexical rules of a bundled language begin with `__lexical__`.
fn user_rule(name: &str) -> &str {
    let name = name.split('{').next().unwrap_or(name);
    let Some((_, made)) = name.strip_prefix("__").map(|made| made.rsplit_once("__").unwrap_or(("", made)))
    else {
        return name;
    };
    let end = ["_star_", "_plus_"].iter().filter_map(|operator| made.rfind(operator)).max();
    end.map_or(made, |end| &made[..end])
}

impl RecognizerTables {
    /// The terminals of the open lexeme of a run when a text follows: the one that it is where it cannot continue, or
    /// those that it can become after the whole text.
    fn first_lexeme(&mut self, run: Run, text: &[u8]) -> Result<Vec<TerminalId>, LimitExceeded> {
        let mut configuration = run.configuration;
        for &byte in text {
            let step = self.lexer.step(configuration, byte)?;
            match step.extended {
                Some(next) => configuration = next,
                None => return Ok(self.lexer.label(configuration).into_iter().collect()),
            }
        }
        match self.lexer.opened(configuration) {
            Some(terminal) => Ok(vec![terminal]),
            None => Ok(self.lexer.live(configuration).collect()),
        }
    }
}
