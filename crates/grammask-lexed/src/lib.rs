//! The engine for lexed grammars: programming languages, which a lexer cuts into lexemes before a parser reads them.
//!
//! In a programming language `returnx` is a name and not `return x`: the language depends on the rule by which the
//! lexer chooses lexemes ([`LexingRule`]). Masks of this engine are exact with respect to that rule: a token is legal
//! if and only if the text with the token's bytes is a prefix of a text that the lexer cuts into a sentence of the
//! grammar.
//!
//! # Definitions
//!
//! - A *lexeme* is the part of a text that the lexer matched for a *terminal*. The *open lexeme* is the one at the
//!   end of the text, which later bytes may still extend.
//! - A *lexer mode* is the set of terminals that a lexeme may begin with. A basic lexer has one mode; a contextual
//!   lexer has one per set of terminals that LR states accept. States inside a lexical rule have the latter modes
//!   under both lexers, without ignored terminals.
//! - A *configuration* is the state of the lexer: the automaton states of its live terminals, and *guards*, states of
//!   longer matches that must not accept because a shorter match was committed.
//! - A *run* is a configuration with a parser stack and, for languages with indentation, a *layout*: the widths of
//!   open blocks and the number of open brackets.
//!
//! # From a definition to a mask
//!
//! 1. **Definition** (`definition`). [`LexedDefinition`] is the plain form that front ends fill in, by hand or from
//!    KBNF and GBNF rules with [`definition_from_rules`]; [`LexedGrammar`] is the checked form. Lexical rules
//!    (`definition::lexical_rules`) are nonterminals that the lexer reads as terminals: nested comments, and strings
//!    with expressions in them. The parser's stack remembers the nesting, and parser states inside such a rule have
//!    lexer modes of their own, so all later steps are the same for them.
//! 2. **Lexer** (`lexer::lexer_automaton`). A lazy automaton over configurations. A byte extends the open lexeme,
//!    commits it, or both. Of a *delimited terminal* (`definition::delimited_terminals`), such as a raw string, it reads the
//!    opening; after it a run carries a state of the terminal's context-free engine (`delimited`).
//! 3. **Open terminals** (`lexer::open_lexemes`). For each configuration: the terminals that the open lexeme can
//!    become such that the parser's next terminal can be written after it. A run is live if and only if the parser
//!    accepts one of them.
//! 4. **Parser** (`parser`). LALR(1) tables on the LR(0) automaton, with look-aheads by DeRemer and Pennello; or, for
//!    other grammars, the Earley recogniser over terminals. Stacks are interned.
//! 5. **Checks** (`analysis`). A grammar is refused if its language is empty. If some stack of the parser has no finite
//!    completion, the grammar is refined to one without such stacks (`analysis::refinement`), or refused if it has
//!    indentation, lexical rules or delimited terminals. [`PreparedGrammar`] holds the result of steps 2 to 5.
//! 6. **Spanner table** (`masks::spanner_table`). For each configuration, the tokens by the sequence of terminals
//!    that they emit (GreatGramma's token spanner table), as a prefix tree that is grown on demand.
//! 7. **Spanner subset** (`masks::spanner_subset`). The nodes of the table that one parse reaches together, by subset
//!    construction, with statically illegal tokens removed.
//! 8. **Token partition** (`masks::token_partition`). The tokens of a subset whose legality the top state of the
//!    stack decides (context-independent tokens, as in XGrammar), and the others.
//! 9. **Stack automaton** (`masks::stack_automaton`). A lazy finite automaton that reads the stack from the top. Its
//!    states are sets of pending goals for context-dependent tokens; its outputs are sets of tokens, whose union is
//!    the mask.
//!
//! [`LexedRecognizer`] executes the pipeline: it interns sets of runs, memoises steps by byte class, and computes
//! masks. `masks::precompute` constructs the stack automaton ahead of time. `streamlining` decides statically which
//! terminals always, never or sometimes follow each other; step 7 uses it, and [`EntryCounts`] reports its effect.
//! `readings` reads a text again with its lexemes and its derivation, for display.
//! `completion` searches the shortest completion of a text, by A* over runs.
//! `reference` is the oracle, which shares only the grammar and the terminals' automata with the engine.
//!
//! # Limits
//!
//! A grammar that cannot be enforced exactly is refused when it is prepared: unresolved conflicts, layouts that no column
//! can produce, and in languages with layouts or lexical rules pairs of terminals that must follow each other and cannot
//! be written so. Every live prefix has a
//! finite completion, so infinite texts do not arise. Masks do not check that the vocabulary can spell the
//! completion.
//!
//! # Papers
//!
//! - K. Park, T. Zhou, L. D'Antoni, "Flexible and Efficient Grammar-Constrained Decoding" (ICML 2025): token spanner
//!   tables.
//! - Y. Dong et al., "XGrammar: Flexible and Efficient Structured Generation Engine for Large Language Models"
//!   (2024): context-independent and context-dependent tokens.
//! - D. Knuth, "On the Translation of Languages from Left to Right" (1965); F. DeRemer, T. Pennello, "Efficient
//!   Computation of LALR(1) Look-Ahead Sets" (TOPLAS 1982).
//! - P. Hart, N. Nilsson, B. Raphael, "A Formal Basis for the Heuristic Determination of Minimum Cost Paths" (1968): A*.
//! - A. Bouajjani, J. Esparza, O. Maler, "Reachability Analysis of Pushdown Automata" (CONCUR 1997): regular sets of
//!   stacks.
//! - L. Beurer-Kellner, M. Fischer, M. Vechev, "Guiding LLMs The Right Way" (ICML 2024): subterminal trees.
//! - vivien000, "Mask store streamlining" (blog post): static legality of terminal sequences.
#![forbid(unsafe_code)]

mod analysis;
mod completion;
mod definition;
mod delimited;
#[cfg(test)]
mod figure_1;
mod first_terminals;
mod lexer;
mod masks;
mod parser;
mod prepared;
mod readings;
mod recognizer;
pub mod reference;
mod streamlining;

pub use definition::delimited_terminals::DelimitedTexts;
pub use definition::from_rules::{InlinePatterns, LexedOptions, definition_from_rules};
pub use definition::grammar::{
    ByteClasses, Indentation, LexedGrammar, LexedProduction, LexedSymbol, LexedTerminal, ProductionId,
};
pub use definition::source::{
    ConflictPolicy, IndentationMeasure, IndentationSource, LexedDefinition, LexerKind, LexingRule,
    ParserKind, PatternSource, ProductionSource, TerminalPattern, TerminalRole, TerminalSource,
};
pub use definition::terminal_automaton::AutomatonState;
pub use definition::terminal_grammars::TerminalGrammar;
pub use parser::lalr::{Conflict, LalrTable, ParserAction};
pub use parser::lr_automaton::LrState;
pub use prepared::PreparedGrammar;
pub use recognizer::LexedRecognizer;
pub use streamlining::entry_counts::{EntryCounts, STREAMLINING_STEPS, StateEntries};
pub use streamlining::legality::{Legality, PairCounts, Streamlining};
