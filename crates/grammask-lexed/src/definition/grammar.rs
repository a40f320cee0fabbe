//! Lexed grammars: prioritised terminals, productions over terminals, and the lexing rule.
//!
//! [`LexedDefinition`] is the plain form that front ends and bindings fill in: names, patterns and lists of names.
//! [`LexedGrammar`] is the checked form with ids, in which every name is defined and no terminal is empty.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::delimited_terminals::DelimitedTexts;
use crate::definition::lexical_rules::LexicalRules;
use crate::definition::terminal_automaton::{self, AutomatonState};
use crate::lexer::column_units::ColumnUnits;
use crate::lexer::line_columns::TAB_STOP;
use grammask_automata::encoding::CharacterEncoding;
use grammask_automata::{Automata, TermId, Terms, regex};
use grammask_diagnostics::{Limits, NamedOption};

use grammask_collections::id_type;
use grammask_diagnostics::{Code, Diagnostic, GrammarError};
use grammask_earley::lowering::NormalForm;
use grammask_grammar::{NonterminalId, TerminalId};

id_type! {
    /// A production of a [`LexedGrammar`].
    ProductionId
}

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
        /// All spellings, as a regular expression in the syntax of [`regex`].
        spellings: String,
    },
    /// A regular expression in the syntax of [`regex`].
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
}

impl NamedOption for TerminalRole {
    const OPTION: &'static str = "role";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("parsed", Self::Parsed),
        ("reserved", Self::Reserved),
        ("ignored", Self::Ignored),
        ("refused", Self::Refused),
    ];
}

impl TerminalRole {
    /// Whether the parser receives the lexemes.
    #[must_use]
    pub fn is_for_parser(self) -> bool {
        matches!(self, Self::Parsed | Self::Reserved)
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
}

/// A symbol of a right-hand side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LexedSymbol {
    /// A terminal.
    Terminal(TerminalId),
    /// A nonterminal.
    Nonterminal(NonterminalId),
}

/// A terminal of a [`LexedGrammar`].
#[derive(Clone, Debug)]
pub struct LexedTerminal {
    /// The name.
    pub name: Arc<str>,
    /// Its language, of a delimited terminal its opening; `None` if it is derived from indentation.
    pub term: Option<TermId>,
    /// Terminals of higher priority win.
    pub priority: i32,
    /// Whether it is a literal.
    pub is_literal: bool,
    /// The treatment of its lexemes.
    pub role: TerminalRole,
    /// The texts of a delimited terminal, whose `term` is its opening.
    pub(crate) delimited: Option<Arc<NormalForm>>,
}

/// A production of a [`LexedGrammar`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LexedProduction {
    /// The nonterminal.
    pub lhs: NonterminalId,
    /// The right-hand side.
    pub rhs: Box<[LexedSymbol]>,
    /// Resolves reduce/reduce conflicts: the rule of higher priority wins.
    pub priority: i32,
}

/// [`IndentationSource`] with ids.
#[derive(Clone, Debug)]
pub struct Indentation {
    /// The terminal for a line end.
    pub newline: TerminalId,
    /// The terminal for the beginning of a block.
    pub indent: TerminalId,
    /// The terminal for the end of a block.
    pub dedent: TerminalId,
    /// How white space at the beginning of a line is measured.
    pub measure: IndentationMeasure,
    /// Terminals that open a bracket.
    pub open: Vec<TerminalId>,
    /// Terminals that close a bracket.
    pub close: Vec<TerminalId>,
}

/// A lexed grammar in checked form.
#[derive(Clone, Debug)]
pub struct LexedGrammar {
    definition: Arc<LexedDefinition>,
    pub(crate) terms: Terms,
    pub(crate) terminals: Vec<LexedTerminal>,
    /// Pairs of a literal and a pattern that matches it entirely; only under [`LexingRule::Lark`].
    pub(crate) keywords: Vec<(TerminalId, TerminalId)>,
    pub(crate) nonterminals: Vec<Arc<str>>,
    pub(crate) productions: Vec<LexedProduction>,
    pub(crate) start: NonterminalId,
    pub(crate) lexical: LexicalRules,
    pub(crate) lexer: LexerKind,
    pub(crate) rule: LexingRule,
    pub(crate) parser: ParserKind,
    pub(crate) conflicts: ConflictPolicy,
    pub(crate) indentation: Option<Indentation>,
    /// The spellings of the characters that decide columns; without states if there is no indentation.
    pub(crate) column_units: Arc<ColumnUnits>,
    /// The bytes of which each text is the continuation, in the encoding of the text.
    pub(crate) beginning: Vec<u8>,
}

impl LexedTerminal {
    /// Whether its lexemes are allowed anywhere and dropped.
    #[must_use]
    pub fn is_ignored(&self) -> bool {
        self.role == TerminalRole::Ignored
    }
}

/// Classes of bytes that are equivalent in all texts.
#[derive(Clone, Debug)]
pub struct ByteClasses {
    /// The class of each byte.
    pub class_of_byte: Box<[u8; 256]>,
    /// One byte of each class.
    pub byte_of_class: Box<[u8]>,
}

impl LexedGrammar {
    /// Checks a definition. Unproductive nonterminals and their productions are dropped.
    ///
    /// # Errors
    /// All errors at once: undefined names, unsupported patterns, terminals that match the empty text or no text; an
    /// empty language; an exceeded limit.
    pub fn new(definition: &LexedDefinition, limits: &Limits) -> Result<Self, GrammarError> {
        let size: usize = definition.productions.iter().map(|production| production.rhs.len() + 1).sum();
        if size + definition.terminals.len() > limits.grammar_size {
            return Err(grammask_diagnostics::LimitExceeded::new("grammar_size", limits.grammar_size)
                .diagnostic()
                .into());
        }
        let mut check = DefinitionCheck::new(limits);
        let terminals = definition.terminals_with_conditions();
        check.terminals(&terminals);
        check.productions(&definition.productions);
        let start = check.nonterminal_ids.get(&*definition.start).copied();
        if start.is_none() {
            let message = format!("there is no rule named `{}` to start with", definition.start);
            check.diagnostics.push(Diagnostic::error(Code::MissingStart, message));
        }
        let (lexical, start) = check.split_lexical_rules(definition, start);
        let indentation = definition.indentation.as_ref().and_then(|source| check.indentation(source));
        check.check_lexer_and_parser(definition);
        check.check_declared(indentation.as_ref());
        check.check_delimited(definition);
        let keywords = match definition.rule {
            LexingRule::MaximalMunch => Vec::new(),
            LexingRule::Lark => check.keywords(&terminals),
        };
        let Some(start) = start.filter(|_| check.diagnostics.is_empty()) else {
            return Err(GrammarError::new(check.diagnostics, Arc::from("")));
        };
        let mut grammar = Self {
            definition: Arc::new(definition.clone()),
            terms: check.terms,
            terminals: check.terminals,
            keywords,
            nonterminals: check.nonterminals,
            productions: check.productions,
            start,
            lexical,
            lexer: definition.lexer,
            rule: definition.rule,
            parser: definition.parser,
            conflicts: definition.conflicts,
            beginning: match &definition.indentation {
                Some(indentation) if definition.beginning.is_empty() && indentation.begins_line => {
                    b"\n".to_vec()
                }
                _ => definition.beginning.clone(),
            },
            indentation,
            column_units: Arc::default(),
        };
        grammar.drop_unproductive()?;
        grammar.encode_terminals(&definition.encodings, limits)?;
        if let Some(indentation) = &grammar.indentation {
            let units = ColumnUnits::new(indentation.measure, &definition.encodings, limits);
            grammar.column_units = Arc::new(units.map_err(|limit| GrammarError::from(limit.diagnostic()))?);
        }
        Ok(grammar)
    }

    /// The grammar of the byte strings that decode to a text of this one.
    ///
    /// The lexer reads the decoded text: lexemes end where characters end, so the longest match of inverse images is
    /// the inverse image of the longest match. Columns are those of the decoded text.
    ///
    /// # Errors
    /// If a terminal cuts characters, or none of its lexemes can be spelled; if a dynamic lexer reads an indented block;
    /// if a limit is exceeded.
    pub fn encoded(&self, encoding: &CharacterEncoding, limits: &Limits) -> Result<Self, GrammarError> {
        let mut definition = LexedDefinition::clone(&self.definition);
        definition.encodings.push(encoding.clone());
        Self::new(&definition, limits)
    }

    /// The byte classes: bytes of one class are equivalent in all texts.
    #[must_use]
    pub fn byte_classes(&self) -> ByteClasses {
        // Every byte can make a difference to a bound text.
        match self.has_delimited_terminals() {
            true => ByteClasses {
                class_of_byte: Box::new(std::array::from_fn(|byte| byte as u8)),
                byte_of_class: (0..=u8::MAX).collect(),
            },
            false => self.lexer_byte_classes(),
        }
    }

    /// Whether a terminal has texts that the lexer does not read.
    #[must_use]
    pub fn has_delimited_terminals(&self) -> bool {
        self.terminals.iter().any(|terminal| terminal.delimited.is_some())
    }

    /// The byte classes of the lexer: bytes of one class are equivalent for the automata of terminals and for columns.
    pub(crate) fn lexer_byte_classes(&self) -> ByteClasses {
        let terms: Vec<_> = self.terminals.iter().filter_map(|terminal| terminal.term).collect();
        let mut class_of_byte = Box::new(self.terms.byte_classes(&terms));
        if self.indentation.is_some() {
            self.column_units.refine(&mut class_of_byte);
        }
        let class_count = class_of_byte.iter().max().map_or(1, |&max| usize::from(max) + 1);
        let mut byte_of_class = vec![0_u8; class_count].into_boxed_slice();
        for byte in (0..=u8::MAX).rev() {
            byte_of_class[usize::from(class_of_byte[usize::from(byte)])] = byte;
        }
        ByteClasses { class_of_byte, byte_of_class }
    }

    /// The definition of the grammar.
    #[must_use]
    pub fn definition(&self) -> &LexedDefinition {
        &self.definition
    }

    /// All terminals.
    #[must_use]
    pub fn terminals(&self) -> &[LexedTerminal] {
        &self.terminals
    }

    /// The names of all nonterminals.
    #[must_use]
    pub fn nonterminals(&self) -> &[Arc<str>] {
        &self.nonterminals
    }

    /// All productions, in the order of the definition.
    #[must_use]
    pub fn productions(&self) -> &[LexedProduction] {
        &self.productions
    }

    /// The start symbol.
    #[must_use]
    pub fn start(&self) -> NonterminalId {
        self.start
    }

    /// Which terminals the lexer tries to match.
    #[must_use]
    pub fn lexer(&self) -> LexerKind {
        self.lexer
    }

    /// Blocks by indentation, if the language has them.
    #[must_use]
    pub fn indentation(&self) -> Option<&Indentation> {
        self.indentation.as_ref()
    }

    /// The terminal called `name`.
    #[must_use]
    pub fn terminal(&self, name: &str) -> Option<TerminalId> {
        self.terminals.iter().position(|terminal| &*terminal.name == name).map(TerminalId::new)
    }

    /// The end of the text as a terminal: the id after the last terminal.
    #[must_use]
    pub fn end(&self) -> TerminalId {
        TerminalId::new(self.terminals.len())
    }

    /// The name of a terminal or of the [end of the text](Self::end).
    #[must_use]
    pub fn terminal_name(&self, terminal: TerminalId) -> &str {
        self.terminals.get(terminal.index()).map_or("end of text", |terminal| &terminal.name)
    }

    /// The name of a symbol.
    #[must_use]
    pub fn symbol_name(&self, symbol: LexedSymbol) -> &str {
        match symbol {
            LexedSymbol::Terminal(terminal) => self.terminal_name(terminal),
            LexedSymbol::Nonterminal(nonterminal) => &self.nonterminals[nonterminal.index()],
        }
    }

    /// A production as `lhs: a b`, with a dot before the symbol at index `dot` if given.
    #[must_use]
    pub fn production_text(&self, production: &LexedProduction, dot: Option<usize>) -> String {
        let mut text = format!("{}:", self.nonterminals[production.lhs.index()]);
        for (position, &symbol) in production.rhs.iter().enumerate() {
            text.push_str(if dot == Some(position) { " • " } else { " " });
            text.push_str(self.symbol_name(symbol));
        }
        if dot == Some(production.rhs.len()) {
            text.push_str(" •");
        }
        text
    }

    /// Drops productions with unproductive nonterminals.
    fn drop_unproductive(&mut self) -> Result<(), GrammarError> {
        let mut is_productive = vec![false; self.nonterminals.len()];
        loop {
            let before = is_productive.iter().filter(|&&productive| productive).count();
            for production in &self.productions {
                let derives = production.rhs.iter().all(|symbol| match symbol {
                    LexedSymbol::Terminal(_) => true,
                    LexedSymbol::Nonterminal(nonterminal) => is_productive[nonterminal.index()],
                });
                is_productive[production.lhs.index()] |= derives;
            }
            if is_productive.iter().filter(|&&productive| productive).count() == before {
                break;
            }
        }
        if !is_productive[self.start.index()] {
            return Err(Diagnostic::error(Code::EmptyLanguage, "no text matches the grammar").into());
        }
        if let Some(rule) = self.lexical.ignored.iter().find(|rule| !is_productive[rule.index()]) {
            let message = format!("the ignored rule `{}` derives no text", self.nonterminals[rule.index()]);
            return Err(Diagnostic::error(Code::EmptyLanguage, message).into());
        }
        let unproductive = is_productive.iter().position(|&productive| !productive);
        if let (Some(rule), LexerKind::Contextual) = (unproductive, self.lexer) {
            // An unproductive rule would enlarge the terminals that the parser accepts, and so change the contextual
            // lexer.
            let message = format!("the rule `{}` derives no text", self.nonterminals[rule]);
            return Err(Diagnostic::error(Code::EmptyLanguage, message)
                .help("remove it, or use the basic lexer")
                .into());
        }
        self.productions.retain(|production| {
            production.rhs.iter().all(|symbol| match symbol {
                LexedSymbol::Terminal(_) => true,
                LexedSymbol::Nonterminal(nonterminal) => is_productive[nonterminal.index()],
            })
        });
        Ok(())
    }
}

/// The state of the checks of a definition.
pub(super) struct DefinitionCheck<'a> {
    limits: &'a Limits,
    terms: Terms,
    terminals: Vec<LexedTerminal>,
    terminal_ids: FxHashMap<Arc<str>, TerminalId>,
    pub(super) nonterminals: Vec<Arc<str>>,
    pub(super) nonterminal_ids: FxHashMap<Arc<str>, NonterminalId>,
    pub(super) productions: Vec<LexedProduction>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl<'a> DefinitionCheck<'a> {
    fn new(limits: &'a Limits) -> Self {
        Self {
            limits,
            terms: Terms::new(),
            terminals: Vec::new(),
            terminal_ids: FxHashMap::default(),
            nonterminals: Vec::new(),
            nonterminal_ids: FxHashMap::default(),
            productions: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    fn terminals(&mut self, sources: &[TerminalSource]) {
        for source in sources {
            let name: Arc<str> = Arc::from(&*source.name);
            let term = match &source.pattern {
                TerminalPattern::Literal(bytes) => Some(self.terms.literal(bytes)),
                TerminalPattern::Regex(pattern) | TerminalPattern::Spelled { spellings: pattern, .. } => {
                    self.regex(pattern, &name)
                }
                TerminalPattern::Automaton(states) => match terminal_automaton::term(&mut self.terms, states)
                {
                    Some(term) => self.nonempty_term(term, &name),
                    None => {
                        let message = format!("the terminal `{name}` is no automaton");
                        self.diagnostics.push(Diagnostic::error(Code::UnexpectedInput, message));
                        None
                    }
                },
                TerminalPattern::Delimited(texts) => {
                    terminal_automaton::term(&mut self.terms, texts.opening())
                }
                TerminalPattern::Declared => None,
            };
            let delimited = match &source.pattern {
                TerminalPattern::Delimited(texts) => match texts.normal_form(self.limits) {
                    Ok(form) => Some(Arc::new(form)),
                    Err(error) => {
                        self.diagnostics.extend_from_slice(error.diagnostics());
                        None
                    }
                },
                _ => None,
            };
            if let Some(term) = term
                && self.terms.is_nullable(term)
            {
                let message = format!("the terminal `{name}` matches the empty text");
                self.diagnostics.push(
                    Diagnostic::error(Code::EmptyTerminal, message).help(
                        "a lexeme has at least one byte; make the terminal optional in the rules instead",
                    ),
                );
            }
            let id = TerminalId::new(self.terminals.len());
            if self.terminal_ids.insert(name.clone(), id).is_some() {
                let message = format!("the terminal `{name}` is defined twice");
                self.diagnostics.push(Diagnostic::error(Code::UnexpectedInput, message));
            }
            self.terminals.push(LexedTerminal {
                name,
                term,
                priority: source.priority,
                is_literal: source.pattern.literal().is_some(),
                role: source.role,
                delimited,
            });
        }
    }

    /// The term of a regular expression.
    fn regex(&mut self, pattern: &str, name: &str) -> Option<TermId> {
        match regex::term(&mut self.terms, pattern, self.limits) {
            Ok(term) => self.nonempty_term(term, name),
            Err(error) => {
                let mut diagnostic =
                    Diagnostic::error(error.code(), format!("the terminal `{name}`: {error}")).found(pattern);
                diagnostic.help = error.help().map(str::to_owned);
                self.diagnostics.push(diagnostic);
                None
            }
        }
    }

    /// The term, unless its language is empty.
    fn nonempty_term(&mut self, term: TermId, name: &str) -> Option<TermId> {
        let mut automata = Automata::new(self.terms.clone(), self.limits.automaton_states);
        match automata.start(term) {
            Ok(Some(_)) => return Some(term),
            Ok(None) => {
                let message = format!("the terminal `{name}` matches nothing");
                self.diagnostics.push(Diagnostic::error(Code::EmptyLanguage, message));
            }
            Err(limit) => self.diagnostics.push(limit.diagnostic()),
        }
        None
    }

    fn productions(&mut self, sources: &[ProductionSource]) {
        for source in sources {
            if !self.nonterminal_ids.contains_key(&*source.lhs) {
                let name: Arc<str> = Arc::from(&*source.lhs);
                if self.terminal_ids.contains_key(&name) {
                    let message = format!("`{name}` is a terminal and a rule");
                    self.diagnostics.push(Diagnostic::error(Code::UnexpectedInput, message));
                }
                self.nonterminal_ids.insert(name.clone(), NonterminalId::new(self.nonterminals.len()));
                self.nonterminals.push(name);
            }
        }
        let mut undefined = FxHashSet::default();
        for source in sources {
            let mut rhs = Vec::with_capacity(source.rhs.len());
            for name in &source.rhs {
                if let Some(&terminal) = self.terminal_ids.get(&**name) {
                    rhs.push(LexedSymbol::Terminal(terminal));
                } else if let Some(&nonterminal) = self.nonterminal_ids.get(&**name) {
                    rhs.push(LexedSymbol::Nonterminal(nonterminal));
                } else if undefined.insert(name) {
                    let message = format!("the symbol `{name}` is not defined");
                    self.diagnostics.push(Diagnostic::error(Code::UndefinedSymbol, message));
                }
            }
            for symbol in &rhs {
                if let LexedSymbol::Terminal(terminal) = *symbol
                    && !self.terminals[terminal.index()].role.is_for_parser()
                {
                    let name = &self.terminals[terminal.index()].name;
                    let message = format!(
                        "the terminal `{name}`, which is not for the parser, stands in the rule `{}`",
                        source.lhs
                    );
                    self.diagnostics.push(Diagnostic::error(Code::UnsupportedGrammar, message).help(
                        "the parser receives neither ignored nor refused terminals; remove it from the rule",
                    ));
                }
            }
            let lhs = self.nonterminal_ids[&*source.lhs];
            self.productions.push(LexedProduction { lhs, rhs: rhs.into(), priority: source.priority });
        }
    }

    fn indentation(&mut self, source: &IndentationSource) -> Option<Indentation> {
        let mut find = |name: &String| {
            let id = self.terminal_ids.get(&**name).copied();
            if id.is_none() {
                let message = format!("the indentation names the terminal `{name}`, which is not defined");
                self.diagnostics.push(Diagnostic::error(Code::UndefinedSymbol, message));
            }
            id
        };
        let newline = find(&source.newline);
        let indent = find(&source.indent);
        let dedent = find(&source.dedent);
        let open: Option<Vec<_>> = source.open.iter().map(&mut find).collect();
        let close: Option<Vec<_>> = source.close.iter().map(&mut find).collect();
        Some(Indentation {
            newline: newline?,
            indent: indent?,
            dedent: dedent?,
            measure: source.measure,
            open: open?,
            close: close?,
        })
    }

    /// Reports unsupported combinations of lexer and parser.
    fn check_lexer_and_parser(&mut self, definition: &LexedDefinition) {
        let message = match (definition.lexer, definition.parser) {
            (LexerKind::Contextual, ParserKind::Earley) => "a contextual lexer needs LALR(1) tables",
            (LexerKind::Dynamic | LexerKind::DynamicComplete, ParserKind::Lalr) => {
                "a dynamic lexer needs the Earley parser"
            }
            (LexerKind::Dynamic | LexerKind::DynamicComplete, ParserKind::Earley) => {
                let is_refused = |source: &TerminalSource| source.role == TerminalRole::Refused;
                if definition.indentation.is_none()
                    && !definition.terminals_with_conditions().iter().any(is_refused)
                {
                    return;
                }
                "a dynamic lexer supports neither indentation nor refused terminals"
            }
            _ => return,
        };
        self.diagnostics.push(Diagnostic::error(Code::UnsupportedGrammar, message));
    }

    /// Reports terminals without a pattern that are not derived from indentation.
    fn check_declared(&mut self, indentation: Option<&Indentation>) {
        let used: FxHashSet<LexedSymbol> =
            self.productions.iter().flat_map(|production| production.rhs.iter().copied()).collect();
        for (index, terminal) in self.terminals.iter().enumerate() {
            let id = TerminalId::new(index);
            let comes_from_layout =
                indentation.is_some_and(|layout| layout.indent == id || layout.dedent == id);
            if terminal.term.is_none()
                && !comes_from_layout
                && used.contains(&LexedSymbol::Terminal(id))
                && self.diagnostics.is_empty()
            {
                let message = format!("the terminal `{}` is declared but never produced", terminal.name);
                let help = "define it by a grammar, `terminals={...}`, or by blocks from indentation";
                self.diagnostics.push(Diagnostic::error(Code::UnsupportedGrammar, message).help(help));
            }
        }
    }

    /// Reports delimited terminals with options that exclude them.
    fn check_delimited(&mut self, definition: &LexedDefinition) {
        // Where each character has spellings of its own, an encoded text is complete where the decoded one is.
        let is_by_character = |encoding: &CharacterEncoding| {
            matches!(
                encoding,
                CharacterEncoding::Utf8
                    | CharacterEncoding::JsonString(_)
                    | CharacterEncoding::PythonString(..)
            )
        };
        for terminal in self.terminals.iter().filter(|terminal| terminal.delimited.is_some()) {
            let reason = if definition.lexer.is_dynamic() {
                "needs the basic or the contextual lexer"
            } else if terminal.role == TerminalRole::Refused {
                "cannot be refused"
            } else if !definition.encodings.iter().all(is_by_character) {
                "can be encoded as strings of JSON and Python only"
            } else {
                continue;
            };
            let message = format!("the terminal `{}`, whose grammar has bindings, {reason}", terminal.name);
            self.diagnostics.push(Diagnostic::error(Code::UnsupportedGrammar, message));
        }
    }

    /// Pairs of a literal and a pattern of the same priority that matches it entirely.
    fn keywords(&mut self, sources: &[TerminalSource]) -> Vec<(TerminalId, TerminalId)> {
        let mut keywords = Vec::new();
        let mut automata = Automata::new(self.terms.clone(), self.limits.automaton_states);
        for (index, pattern) in self.terminals.iter().enumerate() {
            let Some(term) = pattern.term.filter(|_| !pattern.is_literal) else { continue };
            for (literal, source) in sources.iter().enumerate() {
                let Some(bytes) = source.pattern.literal() else { continue };
                if source.priority != pattern.priority {
                    continue;
                }
                match accepts(&mut automata, term, bytes) {
                    Ok(true) => keywords.push((TerminalId::new(literal), TerminalId::new(index))),
                    Ok(false) => {}
                    Err(limit) => self.diagnostics.push(limit.diagnostic()),
                }
            }
        }
        keywords
    }
}

/// Whether a byte string is in the language of a term.
pub(crate) fn accepts(
    automata: &mut Automata,
    term: TermId,
    word: &[u8],
) -> Result<bool, grammask_diagnostics::LimitExceeded> {
    let mut state = automata.start(term)?;
    for &byte in word {
        let Some(current) = state else { return Ok(false) };
        state = automata.step(current, byte)?;
    }
    Ok(state.is_some_and(|state| automata.is_accepting(state)))
}
