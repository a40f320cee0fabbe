//! The checks of a definition, which find all errors at once.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::grammar::{Indentation, LexedProduction, LexedSymbol, LexedTerminal};
use crate::definition::source::{
    IndentationSource, LexedDefinition, LexerKind, LexingRule, ParserKind, TerminalPattern, TerminalRole,
    TerminalSource,
};
use crate::definition::terminal_automaton;
use grammask_automata::encoding::CharacterEncoding;
use grammask_automata::{Automata, TermId, Terms, regex};
use grammask_diagnostics::{Code, Diagnostic, Limits};
use grammask_grammar::{NonterminalId, TerminalId};

/// The state of the checks of a definition.
pub(super) struct DefinitionCheck<'a> {
    limits: &'a Limits,
    pub(super) terms: Terms,
    pub(super) terminals: Vec<LexedTerminal>,
    terminal_ids: FxHashMap<Arc<str>, TerminalId>,
    pub(super) nonterminals: Vec<Arc<str>>,
    pub(super) nonterminal_ids: FxHashMap<Arc<str>, NonterminalId>,
    pub(super) productions: Vec<LexedProduction>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl<'a> DefinitionCheck<'a> {
    pub(super) fn new(limits: &'a Limits) -> Self {
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

    pub(super) fn terminals(&mut self, sources: &[TerminalSource]) {
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

    pub(super) fn productions(&mut self, definition: &LexedDefinition) {
        let sources = &definition.productions;
        // The parser of lark never receives an ignored terminal, so productions with one derive no text.
        let drops_ignored = definition.rule == LexingRule::Lark
            && definition.indentation.is_none()
            && definition.lexical_rules.is_empty()
            && self.terminals.iter().all(|terminal| terminal.delimited.is_none());
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
                    && !(drops_ignored && self.terminals[terminal.index()].is_ignored())
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

    pub(super) fn indentation(&mut self, source: &IndentationSource) -> Option<Indentation> {
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
    pub(super) fn check_lexer_and_parser(&mut self, definition: &LexedDefinition) {
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
    pub(super) fn check_declared(&mut self, indentation: Option<&Indentation>) {
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
    pub(super) fn check_delimited(&mut self, definition: &LexedDefinition) {
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
            } else if terminal.role.is_refused() {
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
    pub(super) fn keywords(&mut self, sources: &[TerminalSource]) -> Vec<(TerminalId, TerminalId)> {
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
