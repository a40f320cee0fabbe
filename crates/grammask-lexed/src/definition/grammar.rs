//! Lexed grammars: prioritised terminals, productions over terminals, and the lexing rule.
//!
//! [`LexedDefinition`] is the plain form that front ends and bindings fill in: names, patterns and lists of names.
//! [`LexedGrammar`] is the checked form with ids, in which every name is defined and no terminal is empty.

use std::sync::Arc;

use crate::definition::checks::DefinitionCheck;
use crate::definition::lexical_rules::LexicalRules;
use crate::definition::source::{
    ConflictPolicy, IndentationMeasure, LexedDefinition, LexerKind, LexingRule, ParserKind, TerminalRole,
};
use crate::lexer::column_units::ColumnUnits;
use grammask_automata::encoding::CharacterEncoding;
use grammask_automata::{TermId, Terms};
use grammask_collections::id_type;
use grammask_diagnostics::{Code, Diagnostic, GrammarError, Limits};
use grammask_earley::lowering::NormalForm;
use grammask_grammar::{NonterminalId, TerminalId};

id_type! {
    /// A production of a [`LexedGrammar`].
    ProductionId
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

/// [`IndentationSource`](crate::IndentationSource) with ids.
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
        check.productions(definition);
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

    /// The terminal of the [violations](TerminalRole::Violation) of another one.
    pub(crate) fn violations_of(&self, terminal: TerminalId) -> Option<TerminalId> {
        let before = terminal.index().checked_sub(1)?;
        (self.terminals[before].role == TerminalRole::Violation).then(|| TerminalId::new(before))
    }

    /// Whether a production has an ignored terminal, which the parser never receives.
    pub(crate) fn has_ignored_symbols(&self) -> bool {
        let mut symbols = self.productions.iter().flat_map(|production| &production.rhs);
        symbols.any(|symbol| matches!(symbol, LexedSymbol::Terminal(terminal) if self.terminals[terminal.index()].is_ignored()))
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

    /// Which terminals the lexer tries to match.
    #[must_use]
    pub fn lexer(&self) -> LexerKind {
        self.lexer
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
