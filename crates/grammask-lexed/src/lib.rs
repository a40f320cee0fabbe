//! Lexed grammars: programming languages, read by a lexer and a parser over terminals, mostly an LALR(1) one.
//!
//! In a programming language `returnx` is a name, not `return x`: which texts are in the language is fixed by the rule
//! by which a lexer cuts them ([`LexingRule`]), and a mask is exact for that rule. A [`LexedGrammar`] is made of
//! terminals and productions over them; [`PreparedGrammar`] holds its tables; [`LexedRecognizer`] reads texts byte by
//! byte and makes masks.
//!
//! | folder | what it does |
//! |---|---|
//! | `definition` | the definition in plain form, checked form, and as bytes; definitions from rules and directives |
//! | `lexer` | the lexer as a lazy automaton; which terminals an open lexeme can become |
//! | `parser` | LALR(1) tables, or Earley's algorithm over terminals; stacks, blocks and brackets of a text |
//! | `analysis` | checks before a text is read: emptiness, viable completion, indentation |
//! | `masks` | token spanner tables, their subsets, and the automaton that reads the stack from the top |
//! | `recognizer` | sets of runs as interned values, and their masks |
//! | `streamlining` | which terminals can follow each other, whatever was read before, and the report on it |
//! | `reference` | the oracle |
//!
//! What cannot be exact is refused when a grammar is prepared: conflicts of the parser that its policy does not decide,
//! terminals that cannot be written where the rules need them, and layouts that no column can make.
#![forbid(unsafe_code)]

mod analysis;
mod definition;
mod lexer;
mod masks;
mod parser;
mod prepared;
mod recognizer;
pub mod reference;
mod streamlining;

pub use definition::from_rules::{InlinePatterns, LexedOptions, definition_from_rules};
pub use definition::grammar::{
    ConflictPolicy, Indentation, IndentationSource, LexedDefinition, LexedGrammar, LexedProduction,
    LexedSymbol, LexedTerminal, LexerKind, LexingRule, ParserKind, ProductionId, ProductionSource,
    TerminalPattern, TerminalRole, TerminalSource,
};
pub use definition::terminal_automaton::AutomatonState;
pub use parser::lalr::{Conflict, LalrTable, ParserAction};
pub use parser::lr_automaton::LrState;
pub use prepared::PreparedGrammar;
pub use recognizer::LexedRecognizer;
pub use streamlining::entry_counts::{EntryCounts, STREAMLINING_STEPS, StateEntries};
pub use streamlining::legality::{Legality, PairCounts, Streamlining};
