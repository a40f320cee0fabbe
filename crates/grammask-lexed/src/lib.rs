//! Lexed grammars: programming languages, read by a lexer and a parser over terminals, mostly an LALR(1) one.
//!
//! In a programming language `returnx` is a name, not `return x`: which texts are in the language is fixed by the rule
//! by which a lexer cuts them ([`LexingRule`]), and a mask is exact for that rule. A [`LexedGrammar`] is made of
//! terminals and productions over them; [`PreparedGrammar`] holds its tables; [`LexedRecognizer`] reads texts byte by
//! byte and makes masks.
//!
//! | file | what it does |
//! |---|---|
//! | `grammar`, `definition_bytes` | the definition in plain form, as bytes, and checked |
//! | `definition_of_rules`, `terminal_automaton` | the definition of a grammar of another notation and its directives |
//! | `lexer` | the lexer as a lazy automaton: ordered live terminals, and guards for matches that could still be longer |
//! | `lr_automaton`, `lalr` | LR(0) states, look-aheads, conflicts |
//! | `futures` | what can come out of a configuration of the lexer, and whether what the parser wants can be written |
//! | `emptiness` | whether the lexer leaves the grammar any text |
//! | `productivity` | whether every stack of the parser can be completed, where that is not plain |
//! | `indentation` | what grammars with blocks by indentation must look like |
//! | `parsing_tables`, `terminal_language` | what the parser reads with: LALR(1) tables, or Earley's algorithm over terminals |
//! | `parser` | stacks, blocks and brackets of a text |
//! | `spanners` | tokens by the terminals that they emit, as a tree that grows where parsers go |
//! | `bundles`, `pairs` | nodes of spanner tables that are walked together, without what can never come there |
//! | `views` | bundles as a state of the parser sees them |
//! | `stack_automaton`, `parts` | masks by an automaton that reads the stack from the top; the tokens that they are made of |
//! | `terminal_lists` | lists of terminals by number, for what is known about them |
//! | `precompute` | makes that automaton ahead, for all stacks |
//! | `recognizer` | sets of runs as interned values, and their masks |
//! | `streamlining` | which terminals can follow each other, whatever was read before |
//! | `entry_counts`, `neighbours` | what streamlining leaves of the tables of a whole lexer |
//! | `walk` | the cross-check: masks by stepping along the token trie |
//! | `reference` | the oracle |
//!
//! What cannot be exact is refused when a grammar is prepared: conflicts of the parser that its policy does not decide,
//! terminals that cannot be written where the rules need them, and layouts that no column can make.
#![forbid(unsafe_code)]

mod bundles;
mod definition_bytes;
mod definition_of_rules;
mod emptiness;
mod entry_counts;
mod futures;
mod grammar;
mod indentation;
mod lalr;
mod lexer;
mod lr_automaton;
mod neighbours;
mod pairs;
mod parser;
mod parsing_tables;
mod parts;
mod precompute;
mod productivity;
mod recognizer;
pub mod reference;
mod spanners;
mod stack_automaton;
mod streamlining;
mod terminal_automaton;
mod terminal_language;
mod terminal_lists;
mod terminal_set;
mod views;
mod walk;

pub use definition_of_rules::{InlinePatterns, LexedRules, definition_of_rules};
pub use entry_counts::{EntryCounts, STREAMLINING_STEPS, StateEntries};
pub use grammar::{
    ConflictPolicy, Indentation, IndentationSource, LexedDefinition, LexedGrammar, LexerKind, LexingRule,
    ParserKind, Pattern, Production, ProductionId, ProductionSource, Symbol, Terminal, TerminalRole,
    TerminalSource,
};
pub use lalr::{Action, Conflict, LalrTable};
pub use lr_automaton::LrState;
pub use recognizer::{ExpectedTerminal, LexedRecognizer, PreparedGrammar, RunsId};
pub use streamlining::{Legality, PairCounts, Streamlining};
pub use terminal_automaton::AutomatonState;
pub use walk::walk;
