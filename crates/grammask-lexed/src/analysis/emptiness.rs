//! Emptiness: whether any text exists under the lexing rule, and if not, why.
//!
//! Productions may derive only sequences of terminals that cannot be written: with `A: "ab"` and `B.1: "a"` under
//! lark's rule, the lexer never yields `A`; or the first terminal is always matched as an ignored one. A grammar has
//! a text if the empty text is complete, or the parser accepts one of the open terminals of a start configuration.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::grammar::LexedGrammar;
use crate::definition::source::TerminalRole;
use crate::lexer::lexer_automaton::{ConfigurationId, Lexer};
use crate::lexer::open_lexemes::{LexModes, OpenTerminalsTable};
use crate::parser::lr_automaton::LrState;
use crate::parser::parsing_tables::ParsingTables;
use crate::parser::stacks::TerminalParser;
use grammask_automata::{Automata, StateId};
use grammask_diagnostics::{Code, Diagnostic, LimitExceeded, Limits};
use grammask_grammar::{TerminalId, quote_bytes};

/// The maximum number of terminals that the diagnostic explains.
const MAX_REASONS: usize = 4;

/// Whether the grammar has a text.
pub(crate) fn has_text(
    grammar: &Arc<LexedGrammar>,
    tables: &Arc<ParsingTables>,
    modes: &LexModes,
    open_terminals: &OpenTerminalsTable,
    lexer: &mut Lexer,
    limits: &Limits,
) -> Result<bool, LimitExceeded> {
    let mut parser = TerminalParser::new(grammar.clone(), tables.clone(), limits)?;
    let parse = parser.start();
    let mode = modes.of_state[LrState::START.index()];
    let starts = lexer.starts(mode)?;
    let has_text = parser.can_end(parse, None)
        || starts.iter().any(|&start| {
            let open = open_terminals.of(start, mode).map(|open| open_terminals.get(open));
            open.is_some_and(|open| open.accepted_by(&mut parser, parse, grammar.end()))
        });
    parser.check()?;
    Ok(has_text)
}

/// The diagnostic of a grammar without a text, with the reasons.
pub(crate) fn explain_emptiness(
    grammar: &Arc<LexedGrammar>,
    tables: &Arc<ParsingTables>,
    modes: &LexModes,
    lexer: &mut Lexer,
    limits: &Limits,
) -> Result<Diagnostic, LimitExceeded> {
    let mut parser = TerminalParser::new(grammar.clone(), tables.clone(), limits)?;
    let parse = parser.start();
    let starts = lexer.starts(modes.of_state[LrState::START.index()])?;
    let terminals = (0..grammar.terminals.len()).map(TerminalId::new);
    let wanted: Vec<TerminalId> =
        terminals.filter(|&terminal| parser.accepts(parse.stack, terminal)).collect();
    parser.check()?;
    let matched = labels(lexer, &starts)?;
    let mut reasons = Vec::new();
    for &terminal in wanted.iter().take(MAX_REASONS) {
        reasons.push(reason(grammar, lexer, &starts, terminal, matched.contains(&terminal), limits)?);
    }
    let help = match wanted.len() > MAX_REASONS {
        true => format!("{}; and so on", reasons.join("; ")),
        false => reasons.join("; "),
    };
    let message = "no text matches the grammar: the lexer finds nothing that a text could begin with";
    Ok(Diagnostic::error(Code::EmptyLanguage, message).help(help))
}

/// The terminals that the first lexeme of a text can match.
fn labels(lexer: &mut Lexer, starts: &[ConfigurationId]) -> Result<FxHashSet<TerminalId>, LimitExceeded> {
    let mut seen: FxHashSet<ConfigurationId> = starts.iter().copied().collect();
    let mut pending = starts.to_vec();
    let mut labels = FxHashSet::default();
    while let Some(configuration) = pending.pop() {
        labels.extend(lexer.label(configuration));
        let next: Vec<_> = lexer.steps(configuration)?.filter_map(|steps| steps.extended).collect();
        pending.extend(next.into_iter().filter(|&next| seen.insert(next)));
    }
    Ok(labels)
}

/// The reason why no text begins with a terminal. `is_matched` tells whether the lexer can match it first.
fn reason(
    grammar: &LexedGrammar,
    lexer: &mut Lexer,
    starts: &[ConfigurationId],
    terminal: TerminalId,
    is_matched: bool,
    limits: &Limits,
) -> Result<String, LimitExceeded> {
    let name = grammar.terminal_name(terminal);
    if is_matched {
        return Ok(format!("nothing that the rules allow after a first `{name}` can be written there"));
    }
    let Some(word) = shortest_word(grammar, terminal, limits)? else {
        return Ok(format!("`{name}` has no text"));
    };
    let mut other = None;
    for &start in starts {
        let mut current = Some(start);
        for &byte in &word {
            let Some(configuration) = current else { break };
            current = lexer.step(configuration, byte)?.extended;
            other = current.and_then(|next| lexer.label(next)).or(other);
        }
    }
    let word = quote_bytes(&word);
    Ok(match other {
        Some(other) => {
            let what = match grammar.terminals[other.index()].role {
                TerminalRole::Parsed | TerminalRole::Reserved => "",
                TerminalRole::Ignored => ", which is ignored",
                TerminalRole::Refused | TerminalRole::Violation => ", which no text may have",
            };
            let other = grammar.terminal_name(other);
            format!("the lexer never finds `{name}`: at the beginning of {word} it takes `{other}`{what}")
        }
        None => format!("the lexer never finds `{name}`, for example not in {word}"),
    })
}

/// A shortest text of a terminal.
fn shortest_word(
    grammar: &LexedGrammar,
    terminal: TerminalId,
    limits: &Limits,
) -> Result<Option<Vec<u8>>, LimitExceeded> {
    let Some(term) = grammar.terminals[terminal.index()].term else { return Ok(None) };
    let mut automata = Automata::new(grammar.terms.clone(), limits.automaton_states);
    let Some(start) = automata.start(term)? else { return Ok(None) };
    let mut before: FxHashMap<StateId, (StateId, u8)> = FxHashMap::default();
    let mut pending = VecDeque::from([start]);
    while let Some(state) = pending.pop_front() {
        if automata.is_accepting(state) {
            let mut word = Vec::new();
            let mut current = state;
            while current != start
                && let Some(&(from, byte)) = before.get(&current)
            {
                word.push(byte);
                current = from;
            }
            word.reverse();
            return Ok(Some(word));
        }
        for (bytes, next) in automata.successors(state)? {
            if let Some(byte) = bytes.iter().next()
                && next != start
                && !before.contains_key(&next)
            {
                before.insert(next, (state, byte));
                pending.push_back(next);
            }
        }
    }
    Ok(None)
}
