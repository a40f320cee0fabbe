//! The plain form of lexed grammars, which front ends and bindings fill in: names, patterns and lists of names.
//!
//! [`LexedGrammar`](crate::LexedGrammar) is the checked form.

use std::collections::BTreeMap;

use crate::definition::delimited_terminals::DelimitedTexts;
use crate::definition::terminal_automaton::AutomatonState;
use crate::lexer::line_columns::TAB_STOP;
use grammask_automata::encoding::CharacterEncoding;
use grammask_diagnostics::NamedOption;

/// Which terminals the lexer tries to match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LexerKind {
    /// All terminals, at every position.
    #[default]
    Basic,
    /// The terminals for which the current parser state has an action, and the ignored ones.
    Contextual,
    /// Each terminal that the parser accepts at a position, and each ignored one, is matched separately, with its
    /// longest match. Lexemes of different terminals may overlap; a text is in the language if the parser accepts one
    /// way to cut it.
    Dynamic,
    /// As [`Dynamic`](Self::Dynamic), but a lexeme may also end where a longer match of the same terminal is
    /// possible.
    DynamicComplete,
}

impl LexerKind {
    /// Whether each terminal is matched separately.
    #[must_use]
    pub fn is_dynamic(self) -> bool {
        matches!(self, Self::Dynamic | Self::DynamicComplete)
    }
}

impl NamedOption for LexerKind {
    const OPTION: &'static str = "lexer";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("basic", Self::Basic),
        ("contextual", Self::Contextual),
        ("dynamic", Self::Dynamic),
        ("dynamic_complete", Self::DynamicComplete),
    ];
}

/// The parsing algorithm for sequences of terminals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ParserKind {
    /// LALR(1) tables; [`ConflictPolicy`] decides conflicts.
    #[default]
    Lalr,
    /// The Earley recogniser, which takes every context-free grammar. Not available with a contextual lexer, which
    /// selects terminals by LALR(1) state.
    Earley,
}

impl NamedOption for ParserKind {
    const OPTION: &'static str = "parser";
    const NAMES: &'static [(&'static str, Self)] = &[("lalr", Self::Lalr), ("earley", Self::Earley)];
}

/// The rule by which the lexer chooses between terminals that match at the same position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LexingRule {
    /// Longest match; then the highest priority, then literals before patterns, then the order of the definition.
    #[default]
    MaximalMunch,
    /// The rule of the lark library: the first terminal that matches at all, by priority and then by the order of the
    /// definition, with its longest match. A literal that a pattern of the same priority matches entirely is scanned
    /// with that pattern and recognised by comparing the lexeme; the pattern must match all its spellings.
    Lark,
}

/// The resolution of LALR(1) conflicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConflictPolicy {
    /// A conflict is an error.
    #[default]
    Refuse,
    /// Shift/reduce conflicts are resolved by shifting, as in lark and yacc. A reduce/reduce conflict is an error
    /// unless the priorities of the rules differ.
    PreferShift,
}

/// The language of a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TerminalPattern {
    /// This byte string.
    Literal(Vec<u8>),
    /// A literal with alternative spellings, such as one that ignores case.
    Spelled {
        /// The literal.
        text: Vec<u8>,
        /// All spellings, as a regular expression in the syntax of [`grammask_automata::regex`].
        spellings: String,
    },
    /// A regular expression in the syntax of [`grammask_automata::regex`].
    Regex(String),
    /// An automaton, from front ends whose patterns exceed regular expressions.
    Automaton(Vec<AutomatonState>),
    /// The texts of a grammar with bindings, each up to where it is first complete.
    Delimited(DelimitedTexts),
    /// No text of its own: the terminal is derived from indentation.
    Declared,
}

/// The source of a [`TerminalPattern`], as files and bindings have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternSource {
    /// A literal or a regular expression.
    Text(String),
    /// An automaton as bytes ([`AutomatonState::automaton_from_bytes`]).
    Automaton(Vec<u8>),
}

impl TerminalPattern {
    /// The pattern of a kind by its name: `literal` (with alternative spellings, unless these are empty), `regex`,
    /// `automaton` or `declared`. `None` for other kinds and sources. A damaged automaton has no states, which is an
    /// error of the terminal.
    #[must_use]
    pub fn of_kind(kind: &str, source: PatternSource, spellings: String) -> Option<Self> {
        match (kind, source) {
            ("literal", PatternSource::Text(text)) if spellings.is_empty() => {
                Some(Self::Literal(text.into_bytes()))
            }
            ("literal", PatternSource::Text(text)) => {
                Some(Self::Spelled { text: text.into_bytes(), spellings })
            }
            ("regex", PatternSource::Text(text)) => Some(Self::Regex(text)),
            ("automaton", PatternSource::Automaton(bytes)) => {
                let states = AutomatonState::automaton_from_bytes(&bytes);
                Some(Self::Automaton(states.unwrap_or_default()))
            }
            ("declared", _) => Some(Self::Declared),
            _ => None,
        }
    }

    /// The byte string of a literal.
    #[must_use]
    pub fn literal(&self) -> Option<&[u8]> {
        match self {
            Self::Literal(text) | Self::Spelled { text, .. } => Some(text),
            Self::Regex(_) | Self::Automaton(_) | Self::Delimited(_) | Self::Declared => None,
        }
    }
}

/// How lexemes of a terminal are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TerminalRole {
    /// They are passed to the parser.
    #[default]
    Parsed,
    /// They are passed to the parser, and a contextual lexer finds them where the parser cannot use them too: reserved
    /// words, which are no names anywhere.
    Reserved,
    /// They are allowed between all other lexemes and dropped.
    Ignored,
    /// They make the text invalid. A refused terminal excludes a match before certain text: a refused `0[0-9]` means
    /// that `0` is not a number before another digit.
    Refused,
    /// They are refused as matches of the next terminal of the definition: a match of that terminal is no lexeme where
    /// a text of this one begins too. Lexers that match each terminal separately know a look-ahead at the end of a
    /// terminal by these texts.
    Violation,
}

impl NamedOption for TerminalRole {
    const OPTION: &'static str = "role";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("parsed", Self::Parsed),
        ("reserved", Self::Reserved),
        ("ignored", Self::Ignored),
        ("refused", Self::Refused),
        ("violation", Self::Violation),
    ];
}

impl TerminalRole {
    /// Whether the parser receives the lexemes.
    #[must_use]
    pub fn is_for_parser(self) -> bool {
        matches!(self, Self::Parsed | Self::Reserved)
    }

    /// Whether no text has the lexemes.
    #[must_use]
    pub fn is_refused(self) -> bool {
        matches!(self, Self::Refused | Self::Violation)
    }
}

/// A terminal of a [`LexedDefinition`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TerminalSource {
    /// The name.
    pub name: String,
    /// Its language.
    pub pattern: TerminalPattern,
    /// Terminals of higher priority win.
    pub priority: i32,
    /// The treatment of its lexemes.
    pub role: TerminalRole,
}

/// A production of a [`LexedDefinition`]: `lhs` derives the symbols of `rhs` in order; an empty `rhs` derives the
/// empty text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProductionSource {
    /// The nonterminal.
    pub lhs: String,
    /// The names of terminals and nonterminals.
    pub rhs: Vec<String>,
    /// Resolves reduce/reduce conflicts: the rule of higher priority wins.
    pub priority: i32,
}

/// The derivation of blocks from indentation: after a newline outside all
/// brackets, the column decides whether a block begins or blocks end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndentationSource {
    /// The terminal for a line end with the white space at the start of the next line.
    pub newline: String,
    /// The declared terminal for the beginning of a block.
    pub indent: String,
    /// The declared terminal for the end of a block.
    pub dedent: String,
    /// How white space at the beginning of a line is measured.
    pub measure: IndentationMeasure,
    /// Terminals that open a bracket.
    pub open: Vec<String>,
    /// Terminals that close a bracket.
    pub close: Vec<String>,
    /// Whether a text begins a line: white space before its first lexeme is part of a newline, as after any line break.
    pub begins_line: bool,
}

/// How white space at the beginning of a line is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndentationMeasure {
    /// As the post-lexers of the lark library do: the number of spaces, and of the columns of tabs.
    Columns {
        /// The width of a tab, in columns.
        tab_length: u32,
    },
    /// As CPython's tokenizer does. A tab goes to the next multiple of 8 columns. A line whose place among the open
    /// blocks would be another one if tabs had one column is refused. A form feed returns to column 0. A comment up to
    /// the end of its line makes no difference; a backslash and a line break continue a line, of which the white space
    /// before the first backslash counts, if there is any. The last line is not continued.
    Python,
}

impl From<Option<u32>> for IndentationMeasure {
    /// The measure with tabs of a number of columns, or Python's.
    fn from(tab_length: Option<u32>) -> Self {
        tab_length.map_or(Self::Python, |tab_length| Self::Columns { tab_length })
    }
}

impl IndentationMeasure {
    /// The maximum number of columns of a tab.
    pub(crate) fn max_tab_length(self) -> u32 {
        match self {
            Self::Columns { tab_length } => tab_length,
            Self::Python => TAB_STOP,
        }
    }
}

/// A lexed grammar in plain form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LexedDefinition {
    /// The terminals. Their order matters: see [`LexingRule`].
    pub terminals: Vec<TerminalSource>,
    /// The productions, without operators: repetitions and options are expanded.
    pub productions: Vec<ProductionSource>,
    /// The start symbol.
    pub start: String,
    /// Nonterminals that the lexer reads as it reads terminals: there is no ignored text between the symbols of their
    /// productions, and only the terminals that the parser can take are tried there. Other nonterminals may occur in
    /// them between two terminals, and are read as usual.
    pub lexical_rules: Vec<String>,
    /// Further lexical rules, whose texts are allowed between all lexemes and dropped. Needs the basic lexer; each
    /// alternative begins with a terminal that nothing else begins with.
    pub ignored_rules: Vec<String>,
    /// Which terminals the lexer tries to match.
    pub lexer: LexerKind,
    /// The rule for choosing between them.
    pub rule: LexingRule,
    /// The parsing algorithm.
    pub parser: ParserKind,
    /// The resolution of conflicts.
    pub conflicts: ConflictPolicy,
    /// Blocks by indentation, if the language has them.
    pub indentation: Option<IndentationSource>,
    /// The bytes of which each text is the continuation: the language has the rest of each sentence that begins with
    /// them. They are a line break if they are empty and `indentation` says that a text begins a line. Under encodings they
    /// have their shortest spelling; after a line feed at their end, texts in an indented block begin with its prefix.
    pub beginning: Vec<u8>,
    /// The encodings of the text, the innermost first. Patterns, columns and literals are those of the decoded text.
    pub encodings: Vec<CharacterEncoding>,
    /// What messages call terminals and rules, by name: `a number`. Others have their names; an empty text is not shown.
    pub descriptions: BTreeMap<String, String>,
}
