//! Lexed grammars: programming languages, read by a lexer and an LALR(1) parser.

mod futures;
mod grammar;
mod indentation;
mod lalr;
mod lexer;
mod lr_automaton;
mod memo;
mod parser;
mod productivity;
mod recognizer;
pub mod reference;
mod spanners;
mod terminal_set;
mod walk;

pub use grammar::{
    ConflictPolicy, Indentation, IndentationSource, LexedDefinition, LexedGrammar, LexerKind, LexingRule,
    Pattern, Production, ProductionId, ProductionSource, Symbol, Terminal, TerminalSource,
};
pub use lalr::{Action, Conflict, LalrTable};
pub use lr_automaton::LrState;
pub use recognizer::{ExpectedTerminal, LexedRecognizer, PreparedGrammar, RunsId};
pub use walk::walk;
