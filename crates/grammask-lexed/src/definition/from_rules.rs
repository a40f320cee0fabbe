//! Construction of a lexed grammar from rules over bytes and directives, for KBNF and GBNF.
//!
//! Symbols that a directive declares become terminals, together with the rules they refer to. A string in another
//! rule is a terminal of its own, and so is a pattern in KBNF. The other rules that are reachable from the start
//! symbol become productions.
//!
//! Operators are expanded exactly as in the lark library, because the expansion decides whether a grammar is LALR(1):
//! options, choices and repetitions up to [`MAX_INLINE_COPIES`] become alternatives (choices only up to
//! [`MAX_INLINE_SYMBOLS`]), and `x+` becomes one rule `x | x+ x`, shared by all its uses. A grammar therefore has the
//! same conflicts here and in lark. The lexing rule is [maximal munch](LexingRule::MaximalMunch).

use std::ops::RangeInclusive;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::delimited_terminals::DelimitedTexts;
use crate::definition::grammar::{
    ConflictPolicy, LexedDefinition, LexedSymbol, LexerKind, LexingRule, ParserKind, ProductionSource,
    TerminalPattern, TerminalRole, TerminalSource,
};
use crate::definition::terminal_automaton;
use grammask_automata::{TermId, Terms};
use grammask_diagnostics::{Code, Deadline, Diagnostic, GrammarError, LimitExceeded, Limits, Span};
use grammask_grammar::directives::{Directive, DirectiveKind, declares};
use grammask_grammar::{
    Grammar, GrammarBuilder, Node, NodeId, NonterminalDefinition, NonterminalId, Terminal, TerminalId,
    quote_bytes,
};

/// The number of copies from which a repetition is expanded to a chain of rules, as in lark.
const MAX_INLINE_COPIES: u32 = 50;

/// The maximum number of symbols of an expanded repetition of a choice; a larger choice becomes a rule.
const MAX_INLINE_SYMBOLS: usize = 1 << 12;

/// The maximum number of reported errors.
const MAX_DIAGNOSTICS: usize = 100;

/// The treatment of patterns outside terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InlinePatterns {
    /// Each pattern is an anonymous terminal.
    Accept,
    /// A pattern is an error: a character class would be a lexeme of one character.
    Refuse,
}

/// Options for the translation of rules to a lexed grammar.
#[derive(Clone, Copy, Debug)]
pub struct LexedOptions<'a> {
    /// The directives of the grammar's source.
    pub directives: &'a [Directive],
    /// The treatment of patterns outside terminals.
    pub inline_patterns: InlinePatterns,
    /// Which terminals the lexer tries to match.
    pub lexer: LexerKind,
    /// The parsing algorithm.
    pub parser: ParserKind,
}

/// Translates rules and directives; returns the definition and warnings.
///
/// # Errors
/// All errors at once: directives about undefined symbols; contradictory directives; terminals that are recursive,
/// contain tokens, or match the empty text or no text; rules with terminals that the parser does not receive; an
/// exceeded limit.
pub fn definition_from_rules(
    grammar: &Grammar,
    options: &LexedOptions<'_>,
    limits: &Limits,
) -> Result<(LexedDefinition, Vec<Diagnostic>), GrammarError> {
    translate(grammar, options, None, limits)
}

/// Translates the rules of the terminal `owner`. All are lexical, and their names begin with its name, which is that of
/// the start symbol. A pattern that matches the empty text is an optional terminal.
///
/// # Errors
/// As of [`definition_from_rules`].
pub(super) fn definition_of_terminal(
    grammar: &Grammar,
    owner: &str,
    limits: &Limits,
) -> Result<LexedDefinition, GrammarError> {
    let options = LexedOptions {
        directives: &[],
        inline_patterns: InlinePatterns::Accept,
        lexer: LexerKind::Contextual,
        parser: ParserKind::Lalr,
    };
    let (mut definition, _) = translate(grammar, &options, Some(owner), limits)?;
    definition.lexical_rules = definition.productions.iter().map(|rule| rule.lhs.clone()).collect();
    definition.lexical_rules.sort_unstable();
    definition.lexical_rules.dedup();
    Ok(definition)
}

fn translate(
    grammar: &Grammar,
    options: &LexedOptions<'_>,
    owner: Option<&str>,
    limits: &Limits,
) -> Result<(LexedDefinition, Vec<Diagnostic>), GrammarError> {
    let rule_name = |(index, definition): (usize, &NonterminalDefinition)| match owner {
        None => definition.name.to_string(),
        Some(owner) if index == grammar.start().index() => owner.to_owned(),
        Some(owner) => format!("{owner}.{}", definition.name),
    };
    let mut translation = RuleTranslation {
        grammar,
        options: *options,
        owner,
        limits,
        deadline: Deadline::after(limits.time),
        bodies: vec![Vec::new(); grammar.nonterminals().len()],
        declared: FxHashMap::default(),
        lexical: FxHashSet::default(),
        ignored_rules: Vec::new(),
        terms: grammar.terms().clone(),
        languages: FxHashMap::default(),
        terminals: TerminalTable::default(),
        rules: grammar.nonterminals().iter().enumerate().map(rule_name).collect(),
        shared_rules: FxHashMap::default(),
        productions: Vec::new(),
        size: 0,
        diagnostics: Vec::new(),
    };
    for definition in grammar.definitions() {
        translation.bodies[definition.lhs.index()].push(definition.body);
    }
    translation.read_directives();
    translation.declared_terminals();
    if let Err(limit) = translation.translate_rules() {
        translation.diagnostics.push(*limit);
    }
    let mut diagnostics = std::mem::take(&mut translation.diagnostics);
    if !diagnostics.is_empty() {
        diagnostics.sort_by_key(|diagnostic| diagnostic.span.map_or(usize::MAX, |span| span.start));
        diagnostics.truncate(MAX_DIAGNOSTICS);
        return Err(GrammarError::new(diagnostics, grammar.source().clone()));
    }
    let warnings = translation.unused_terminals();
    Ok((translation.finish(), warnings))
}

/// The directives about one symbol, combined.
#[derive(Clone, Copy, Debug)]
struct SymbolDirectives {
    role: TerminalRole,
    /// Whether another grammar defines it.
    is_declared: bool,
    /// Whether a directive gave the role; a priority alone does not.
    has_role: bool,
    priority: Option<i32>,
    span: Span,
}

/// A terminal of the definition under construction.
struct TerminalDraft {
    name: Arc<str>,
    pattern: TerminalPattern,
    priority: i32,
    role: TerminalRole,
    /// Whether a rule uses it.
    is_used: bool,
}

/// The terminals so far, with indices by symbol, string and language.
#[derive(Default)]
struct TerminalTable {
    list: Vec<TerminalDraft>,
    by_symbol: FxHashMap<NonterminalId, TerminalId>,
    by_text: FxHashMap<Vec<u8>, TerminalId>,
    by_term: FxHashMap<TermId, TerminalId>,
    /// The names of the terminals of an owner, which are labels of patterns and not distinct.
    names: FxHashSet<Arc<str>>,
}

/// Distinct right-hand sides.
type Alternatives = Vec<Vec<LexedSymbol>>;

/// The key of a rule for an operator. Equal operands share one rule.
#[derive(Clone, PartialEq, Eq, Hash)]
enum SharedRule {
    /// One of the alternatives.
    Choice(Alternatives),
    /// One or more copies of the alternatives.
    OneOrMore(Alternatives),
    /// One to `n` copies of the symbol.
    UpTo(LexedSymbol, u32),
}

/// The state of a translation.
struct RuleTranslation<'a> {
    grammar: &'a Grammar,
    options: LexedOptions<'a>,
    /// The terminal that the rules define.
    owner: Option<&'a str>,
    limits: &'a Limits,
    deadline: Deadline,
    bodies: Vec<Vec<NodeId>>,
    declared: FxHashMap<NonterminalId, SymbolDirectives>,
    /// The lexical rules, with those for operators in them.
    lexical: FxHashSet<NonterminalId>,
    /// The lexical rules whose texts are ignored.
    ignored_rules: Vec<NonterminalId>,
    terms: Terms,
    /// The languages of terminals and of the rules they refer to.
    languages: FxHashMap<NonterminalId, TermId>,
    terminals: TerminalTable,
    /// The names of nonterminals: those of the grammar, then those of shared rules.
    rules: Vec<String>,
    /// By key, and by whether they are in a lexical rule.
    shared_rules: FxHashMap<(SharedRule, bool), LexedSymbol>,
    productions: Vec<(NonterminalId, Vec<LexedSymbol>)>,
    /// The number of symbols written so far, bounded by [`Limits::grammar_size`].
    size: usize,
    diagnostics: Vec<Diagnostic>,
}

impl RuleTranslation<'_> {
    fn report(&mut self, code: Code, message: String, span: Span, help: &str) {
        self.diagnostics.push(Diagnostic::error(code, message).at(span).help(help));
    }

    fn name(&self, symbol: NonterminalId) -> &str {
        &self.grammar.nonterminals()[symbol.index()].name
    }

    /// Combines the directives by symbol.
    fn read_directives(&mut self) {
        let symbols = self.grammar.nonterminals().iter().enumerate();
        let symbols: FxHashMap<&str, NonterminalId> = symbols
            .filter(|(_, definition)| {
                definition.defined || declares(self.options.directives, &definition.name)
            })
            .map(|(index, definition)| (&*definition.name, NonterminalId::new(index)))
            .collect();
        let lexical =
            self.options.directives.iter().filter(|directive| directive.kind == DirectiveKind::Lexical);
        self.lexical = lexical.filter_map(|directive| symbols.get(&*directive.name).copied()).collect();
        for Directive { kind, name, span } in self.options.directives {
            let Some(&symbol) = symbols.get(&**name) else {
                let message = format!("the symbol `{name}` of a directive is not defined");
                self.report(
                    Code::UndefinedSymbol,
                    message,
                    *span,
                    "define it, or remove it from the directive",
                );
                continue;
            };
            if self.lexical.contains(&symbol) {
                match kind {
                    DirectiveKind::Lexical => {}
                    DirectiveKind::Ignore => self.ignored_rules.push(symbol),
                    DirectiveKind::Terminal
                    | DirectiveKind::Declare
                    | DirectiveKind::Refuse
                    | DirectiveKind::Priority(_) => {
                        let message = format!("two directives about `{name}` contradict each other");
                        let help = "a lexical rule may be ignored, but is no terminal";
                        self.report(Code::UnexpectedInput, message, *span, help);
                    }
                }
                continue;
            }
            let new = SymbolDirectives {
                role: TerminalRole::Parsed,
                is_declared: false,
                has_role: false,
                priority: None,
                span: *span,
            };
            let mut declared = self.declared.get(&symbol).copied().unwrap_or(new);
            let role = match *kind {
                DirectiveKind::Priority(priority) => {
                    if declared.priority.replace(priority).is_some() {
                        let message = format!("the terminal `{name}` has two priorities");
                        self.report(Code::UnexpectedInput, message, *span, "remove one of them");
                    }
                    self.declared.insert(symbol, declared);
                    continue;
                }
                DirectiveKind::Declare => {
                    if self.grammar.nonterminals()[symbol.index()].defined {
                        let message = format!("the declared terminal `{name}` has a definition");
                        let help = "remove one of them; `%terminal` is for symbols with a definition";
                        self.report(Code::UnexpectedInput, message, *span, help);
                    }
                    declared.is_declared = true;
                    self.declared.insert(symbol, declared);
                    continue;
                }
                DirectiveKind::Terminal | DirectiveKind::Lexical => TerminalRole::Parsed,
                DirectiveKind::Ignore => TerminalRole::Ignored,
                DirectiveKind::Refuse => TerminalRole::Refused,
            };
            if declared.has_role && declared.role != role {
                let message = format!("two directives about `{name}` contradict each other");
                let help = "a terminal is parsed, ignored or refused";
                self.report(Code::UnexpectedInput, message, *span, help);
            }
            (declared.role, declared.has_role) = (role, true);
            self.declared.insert(symbol, declared);
        }
        let mut without_role: Vec<(NonterminalId, Span)> = self
            .declared
            .iter()
            .filter(|(_, declared)| !declared.has_role && !declared.is_declared)
            .map(|(&symbol, declared)| (symbol, declared.span))
            .collect();
        without_role.sort_unstable_by_key(|&(_, span)| span.start);
        for (symbol, span) in without_role {
            let message = format!("`{}` has a priority but is not a terminal", self.name(symbol));
            self.report(
                Code::UnexpectedInput,
                message,
                span,
                "declare it with `%terminal`, or remove the priority",
            );
        }
        let start = self.grammar.start();
        if let Some(declared) = self.declared.get(&start) {
            let (message, span) =
                (format!("the start symbol `{}` is a terminal", self.name(start)), declared.span);
            self.report(Code::UnexpectedInput, message, span, "start with a rule that refers to it");
        }
    }

    /// The nodes below `roots`, children first, roots included. References are not followed.
    fn subtree(&self, roots: &[NodeId]) -> Vec<NodeId> {
        let mut nodes: FxHashSet<NodeId> = FxHashSet::default();
        let mut stack = roots.to_vec();
        while let Some(node) = stack.pop() {
            if !nodes.insert(node) {
                continue;
            }
            match &self.grammar.nodes()[node.index()] {
                Node::Sequence(parts) | Node::Choice(parts) => stack.extend(parts),
                Node::Repeat { node, .. } | Node::Scope(node) | Node::Value { node, .. } => stack.push(*node),
                Node::Selection { parts, separator, .. } => {
                    stack.extend(parts);
                    stack.push(*separator);
                }
                Node::Binding(binding) => stack.extend(binding.node),
                Node::Terminal(_) | Node::Nonterminal(_) => {}
            }
        }
        let mut nodes: Vec<NodeId> = nodes.into_iter().collect();
        nodes.sort_unstable();
        nodes
    }

    /// Creates the terminals that directives declare, in the order of their definitions.
    fn declared_terminals(&mut self) {
        let mut symbols: Vec<NonterminalId> = self.declared.keys().copied().collect();
        symbols.sort_unstable_by_key(|symbol| self.grammar.nonterminals()[symbol.index()].span.start);
        for symbol in symbols {
            let (name, span) =
                (self.name(symbol).to_owned(), self.grammar.nonterminals()[symbol.index()].span);
            let declared = self.declared[&symbol];
            let priority = declared.priority.unwrap_or(0);
            if declared.is_declared {
                let pattern = TerminalPattern::Declared;
                let id = self.add_terminal(Arc::from(name), pattern, priority, declared.role);
                self.terminals.by_symbol.insert(symbol, id);
                continue;
            }
            if self.refers_to_bindings(symbol) {
                if let Some(pattern) = self.delimited_pattern(symbol, &name, span) {
                    let id = self.add_terminal(Arc::from(name), pattern, priority, declared.role);
                    self.terminals.by_symbol.insert(symbol, id);
                }
                continue;
            }
            let Some(term) = self.language(symbol, span) else { continue };
            let Some(pattern) = self.terminal_pattern(term, &name, span) else { continue };
            let id = self.add_terminal(Arc::from(name), pattern, priority, declared.role);
            self.terminals.by_symbol.insert(symbol, id);
            let winner = self.terminals.by_term.entry(term).or_insert(id);
            if priority > self.terminals.list[winner.index()].priority {
                *winner = id;
            }
        }
    }

    /// Whether a rule, or one that it refers to, has bindings.
    fn refers_to_bindings(&self, symbol: NonterminalId) -> bool {
        let mut reached = FxHashSet::from_iter([symbol]);
        let mut pending = vec![symbol];
        while let Some(rule) = pending.pop() {
            for node in self.subtree(&self.bodies[rule.index()]) {
                match self.grammar.nodes()[node.index()] {
                    Node::Binding(_) => return true,
                    Node::Nonterminal(next) if reached.insert(next) => pending.push(next),
                    _ => {}
                }
            }
        }
        false
    }

    /// The pattern of a delimited terminal; `None`, after a report, if its rules define none.
    fn delimited_pattern(
        &mut self,
        symbol: NonterminalId,
        name: &str,
        span: Span,
    ) -> Option<TerminalPattern> {
        let mut builder = GrammarBuilder::new("");
        // Rules keep their numbers: those of the first grafted grammar are the first.
        builder.graft(self.grammar);
        let rule = builder.reference(symbol, span);
        let texts = match builder.extract(rule) {
            Ok(rules) => DelimitedTexts::new(&rules.grammar, self.limits, &self.deadline),
            Err(reason) => {
                let message = reason.reason().to_owned();
                Err(Diagnostic::error(Code::UnsupportedGrammar, message).into())
            }
        };
        let error = match texts {
            Ok(texts) => return Some(TerminalPattern::Delimited(texts)),
            Err(error) => error,
        };
        let of_terminal = error.diagnostics().iter().map(|diagnostic| {
            let message = format!("the terminal `{name}`: {}", diagnostic.message);
            Diagnostic { message, ..diagnostic.clone() }.at(span)
        });
        self.diagnostics.extend(of_terminal);
        None
    }

    fn add_terminal(
        &mut self,
        name: Arc<str>,
        pattern: TerminalPattern,
        priority: i32,
        role: TerminalRole,
    ) -> TerminalId {
        let id = TerminalId::new(self.terminals.list.len());
        let name = match self.owner {
            Some(owner) => self.distinct_name(format!("{owner} {name}")),
            None => name,
        };
        if let TerminalPattern::Literal(text) = &pattern {
            // A string in a rule refers to the terminal of highest priority.
            let winner = self.terminals.by_text.entry(text.clone()).or_insert(id);
            if self.terminals.list.get(winner.index()).is_some_and(|winner| winner.priority < priority) {
                *winner = id;
            }
        }
        self.terminals.list.push(TerminalDraft { name, pattern, priority, role, is_used: false });
        id
    }

    /// The name, with a number if another terminal has it.
    fn distinct_name(&mut self, name: String) -> Arc<str> {
        let mut distinct: Arc<str> = Arc::from(&*name);
        let mut count = 1;
        while !self.terminals.names.insert(distinct.clone()) {
            count += 1;
            distinct = Arc::from(format!("{name} ({count})"));
        }
        distinct
    }

    /// The language of a terminal or of a rule that a terminal refers to.
    fn language(&mut self, symbol: NonterminalId, span: Span) -> Option<TermId> {
        enum Visit {
            Enter(NonterminalId, Span),
            Leave(NonterminalId),
        }
        let mut open: FxHashSet<NonterminalId> = FxHashSet::default();
        let mut stack = vec![Visit::Enter(symbol, span)];
        while let Some(visit) = stack.pop() {
            match visit {
                Visit::Enter(part, _) if self.languages.contains_key(&part) => {}
                Visit::Enter(part, span) => {
                    if self.declared.get(&part).is_some_and(|declared| declared.is_declared) {
                        let (own, other) = (self.name(symbol), self.name(part));
                        let message =
                            format!("the terminal `{own}` refers to the declared terminal `{other}`");
                        let help = "use declared terminals in rules";
                        self.report(Code::UnsupportedGrammar, message, span, help);
                        return None;
                    }
                    if !open.insert(part) {
                        let message = format!("the terminal `{}` refers to itself", self.name(symbol));
                        self.report(
                            Code::UnsupportedGrammar,
                            message,
                            span,
                            "a terminal is a regular language: write a repetition, `x*`, in place of the recursion",
                        );
                        return None;
                    }
                    stack.push(Visit::Leave(part));
                    for node in self.subtree(&self.bodies[part.index()]) {
                        if let Node::Nonterminal(next) = self.grammar.nodes()[node.index()] {
                            stack.push(Visit::Enter(next, self.grammar.span(node)));
                        }
                    }
                }
                Visit::Leave(part) => {
                    open.remove(&part);
                    let term = self.term_of_bodies(&self.bodies[part.index()].clone())?;
                    self.languages.insert(part, term);
                }
            }
        }
        self.languages.get(&symbol).copied()
    }

    /// The union of the languages of `roots`. The languages of all references must be in `languages`.
    fn term_of_bodies(&mut self, roots: &[NodeId]) -> Option<TermId> {
        let mut of_node: FxHashMap<NodeId, TermId> = FxHashMap::default();
        for node in self.subtree(roots) {
            let parts =
                |parts: &[NodeId]| -> Vec<TermId> { parts.iter().map(|part| of_node[part]).collect() };
            let term = match &self.grammar.nodes()[node.index()] {
                Node::Terminal(id) => match &self.grammar.terminals()[id.index()].terminal {
                    Terminal::Literal(text) => self.terms.literal(text),
                    &Terminal::Regular(term) => term,
                    _ => {
                        self.report_unsupported_terminal(*id, node);
                        return None;
                    }
                },
                Node::Nonterminal(symbol) => self.languages[symbol],
                Node::Sequence(nodes) => self.terms.concat(&parts(nodes)),
                Node::Choice(nodes) => self.terms.union(&parts(nodes)),
                &Node::Repeat { node, min, max } => self.terms.repeat(of_node[&node], min, max),
                Node::Selection { .. } | Node::Scope(_) | Node::Value { .. } | Node::Binding(_) => {
                    self.diagnostics.push(*self.selection_error(node));
                    return None;
                }
            };
            of_node.insert(node, term);
        }
        let alternatives: Vec<TermId> = roots.iter().map(|root| of_node[root]).collect();
        Some(self.terms.union(&alternatives))
    }

    /// Reports a terminal that is neither a string nor a pattern.
    fn report_unsupported_terminal(&mut self, id: TerminalId, node: NodeId) {
        let (message, help) = match self.grammar.terminals()[id.index()].terminal {
            Terminal::Embedded { .. } => (
                "a grammar with a lexer cannot contain another one, or a part with a maximum number of tokens",
                "put it into a composition with the grammar",
            ),
            Terminal::Limited { .. } => (
                "a grammar with a lexer cannot contain a part with a maximum number of tokens",
                "limit a part of a composition",
            ),
            _ => (
                "a grammar with a lexer cannot contain tokens of the vocabulary",
                "the lexer cuts texts independently of their tokens",
            ),
        };
        self.report(Code::UnsupportedGrammar, message.to_owned(), self.grammar.span(node), help);
    }

    /// The pattern of a terminal with the given language.
    fn terminal_pattern(&mut self, term: TermId, name: &str, span: Span) -> Option<TerminalPattern> {
        match terminal_pattern(&self.terms, term, name, self.limits.automaton_states, &self.deadline) {
            Ok(pattern) => Some(pattern),
            Err(diagnostic) => {
                self.diagnostics.push(diagnostic.at(span));
                None
            }
        }
    }

    /// Creates the productions of the rules that are reachable from the start symbol.
    fn translate_rules(&mut self) -> Result<(), Box<Diagnostic>> {
        let start = self.grammar.start();
        let mut pending = vec![start];
        pending.extend(&self.ignored_rules);
        let mut seen: FxHashSet<NonterminalId> = pending.iter().copied().collect();
        let mut reached = Vec::new();
        while let Some(rule) = pending.pop() {
            reached.push(rule);
            for node in self.subtree(&self.bodies[rule.index()]) {
                if let Node::Nonterminal(next) = self.grammar.nodes()[node.index()]
                    && !self.declared.contains_key(&next)
                    && seen.insert(next)
                {
                    pending.push(next);
                }
            }
        }
        // Source order, so that anonymous terminals are in source order too.
        reached.sort_unstable_by_key(|rule| {
            self.bodies[rule.index()].first().map_or(Span::default(), |&body| self.grammar.span(body))
        });
        for rule in reached {
            let bodies = self.bodies[rule.index()].clone();
            let alternatives = self.alternatives(rule, &bodies)?;
            for rhs in alternatives {
                // The production `a: a` is redundant.
                if rhs != [LexedSymbol::Nonterminal(rule)] {
                    self.productions.push((rule, rhs));
                }
            }
        }
        Ok(())
    }

    /// The alternatives of a rule with all operators expanded.
    fn alternatives(
        &mut self,
        rule: NonterminalId,
        roots: &[NodeId],
    ) -> Result<Alternatives, Box<Diagnostic>> {
        let mut of_node: FxHashMap<NodeId, Alternatives> = FxHashMap::default();
        for node in self.subtree(roots) {
            let alternatives = match &self.grammar.nodes()[node.index()] {
                Node::Terminal(id) => self.terminal_alternatives(*id, node),
                Node::Nonterminal(symbol) if self.declared.contains_key(symbol) => self
                    .declared_at(*symbol, node)
                    .map_or_else(Vec::new, |id| vec![vec![LexedSymbol::Terminal(id)]]),
                Node::Nonterminal(symbol) => vec![vec![LexedSymbol::Nonterminal(*symbol)]],
                Node::Sequence(parts) => {
                    let mut joined = vec![Vec::new()];
                    for part in parts {
                        joined = self.concatenations(&joined, &of_node[part], node)?;
                    }
                    joined
                }
                Node::Choice(parts) => distinct(parts.iter().flat_map(|part| of_node[part].iter().cloned())),
                &Node::Repeat { node: part, min, max } => {
                    let inner = of_node[&part].clone();
                    self.repetition(rule, inner, min, max, node)?
                }
                Node::Selection { .. } | Node::Scope(_) | Node::Value { .. } | Node::Binding(_) => {
                    return Err(self.selection_error(node));
                }
            };
            self.count_symbols(&alternatives, node)?;
            of_node.insert(node, alternatives);
        }
        Ok(distinct(roots.iter().flat_map(|root| of_node[root].iter().cloned())))
    }

    /// The error for selections and for values that must differ, which only JSON Schemas produce, and for bindings.
    fn selection_error(&self, node: NodeId) -> Box<Diagnostic> {
        let mut nodes = self.subtree(&[node]).into_iter();
        let binding = nodes.find(|node| matches!(self.grammar.nodes()[node.index()], Node::Binding(_)));
        let (message, help) = match binding {
            Some(_) => (
                "the rules of a grammar with a lexer cannot bind texts to names",
                "bind them in a terminal, or put the part with the binding around it in a composition",
            ),
            None => (
                "a grammar with a lexer cannot contain selections or unique values of a JSON Schema",
                "compile the schema without a lexer",
            ),
        };
        Box::new(
            Diagnostic::error(Code::UnsupportedGrammar, message)
                .at(self.grammar.span(binding.unwrap_or(node)))
                .help(help),
        )
    }

    fn count_symbols(&mut self, alternatives: &Alternatives, node: NodeId) -> Result<(), Box<Diagnostic>> {
        let size = alternatives.iter().map(|rhs| rhs.len() + 1).sum();
        self.reserve(size, node)
    }

    /// Accounts for symbols before they are written.
    fn reserve(&mut self, size: usize, node: NodeId) -> Result<(), Box<Diagnostic>> {
        self.size = self.size.saturating_add(size);
        if self.size <= self.limits.grammar_size {
            return Ok(());
        }
        let limit = LimitExceeded::new("grammar_size", self.limits.grammar_size).diagnostic();
        let help =
            "options and choices are expanded to alternatives: move a part of them to a rule of its own";
        Err(Box::new(limit.at(self.grammar.span(node)).help(help)))
    }

    fn concatenations(
        &mut self,
        left: &Alternatives,
        right: &Alternatives,
        node: NodeId,
    ) -> Result<Alternatives, Box<Diagnostic>> {
        let size = |side: &Alternatives| side.iter().map(|rhs| rhs.len() + 1).sum::<usize>();
        self.reserve(
            size(left).saturating_mul(right.len()).max(size(right).saturating_mul(left.len())),
            node,
        )?;
        let pairs = left.iter().flat_map(|one| right.iter().map(move |other| [&one[..], other].concat()));
        Ok(distinct(pairs))
    }

    /// `min` to `max` copies of the alternatives.
    fn repetition(
        &mut self,
        rule: NonterminalId,
        mut inner: Alternatives,
        min: u32,
        max: Option<u32>,
        node: NodeId,
    ) -> Result<Alternatives, Box<Diagnostic>> {
        let count = inner.len();
        inner.retain(|rhs| !rhs.is_empty());
        let min = if inner.len() < count { 0 } else { min };
        if inner.is_empty() && count == 0 {
            // The operand has no alternatives because of an error that was already reported.
            return Ok(Vec::new());
        }
        if inner.is_empty() || max == Some(0) {
            return Ok(vec![Vec::new()]);
        }
        if max == Some(1) {
            if min == 0 {
                inner.push(Vec::new());
            }
            return Ok(inner);
        }
        if max.is_none() && min <= 1 {
            let many = self.shared_rule(rule, SharedRule::OneOrMore(inner), node)?;
            let mut alternatives = vec![vec![many]];
            if min == 0 {
                alternatives.push(Vec::new());
            }
            return Ok(alternatives);
        }
        let is_inlined = max.is_none_or(|max| max < MAX_INLINE_COPIES);
        if let Some(max) = max.filter(|_| is_inlined && inner.len() > 1)
            && let Some(alternatives) = inline_copies(&inner, min..=max)
        {
            return Ok(alternatives);
        }
        let item = match &inner[..] {
            [only] if is_inlined || only.len() == 1 => only.clone(),
            _ => vec![self.shared_rule(rule, SharedRule::Choice(inner.clone()), node)?],
        };
        let copies = |translation: &mut Self, count: u32| {
            translation.reserve(item.len().saturating_mul(count as usize), node)?;
            Ok(item.repeat(count as usize))
        };
        match max {
            None => {
                let mut rhs = copies(self, min - 1)?;
                rhs.push(self.shared_rule(rule, SharedRule::OneOrMore(inner), node)?);
                Ok(vec![rhs])
            }
            Some(max) if is_inlined => (min..=max).map(|count| copies(self, count)).collect(),
            Some(max) => {
                let required = copies(self, min)?;
                if min == max {
                    return Ok(vec![required]);
                }
                let mut tail = item[0];
                for count in 1..=max - min {
                    tail = self.shared_rule(rule, SharedRule::UpTo(item[0], count), node)?;
                }
                let more = [&required[..], &[tail]].concat();
                Ok(vec![required, more])
            }
        }
    }

    /// The nonterminal of a shared rule; creates its productions on first use.
    fn shared_rule(
        &mut self,
        rule: NonterminalId,
        key: SharedRule,
        node: NodeId,
    ) -> Result<LexedSymbol, Box<Diagnostic>> {
        let is_lexical = self.lexical.contains(&rule);
        let key = (key, is_lexical);
        if let Some(&id) = self.shared_rules.get(&key) {
            return Ok(id);
        }
        let id = NonterminalId::new(self.rules.len());
        let own = LexedSymbol::Nonterminal(id);
        let (name, alternatives) = match &key.0 {
            SharedRule::Choice(parts) => {
                (format!("{}({})", self.rules[rule.index()], id.index()), parts.clone())
            }
            SharedRule::OneOrMore(parts) => {
                let name = match &parts[..] {
                    [only] if only.len() == 1 => format!("{}+", self.symbol_name(only[0])),
                    _ => format!("{}({})+", self.rules[rule.index()], id.index()),
                };
                let more = parts.iter().map(|rhs| [&[own], &rhs[..]].concat());
                (name, parts.iter().cloned().chain(more).collect())
            }
            &SharedRule::UpTo(item, count) => {
                let mut alternatives = vec![vec![item]];
                let fewer = (SharedRule::UpTo(item, count - 1), is_lexical);
                if let Some(&fewer) = self.shared_rules.get(&fewer) {
                    alternatives.push(vec![item, fewer]);
                }
                (format!("{}{{1,{count}}}", self.symbol_name(item)), alternatives)
            }
        };
        self.count_symbols(&alternatives, node)?;
        if is_lexical {
            self.lexical.insert(id);
        }
        self.rules.push(if is_lexical { format!("lexical {name}") } else { name });
        self.productions.extend(alternatives.into_iter().map(|rhs| (id, rhs)));
        self.shared_rules.insert(key, own);
        Ok(own)
    }

    fn symbol_name(&self, symbol: LexedSymbol) -> &str {
        match symbol {
            LexedSymbol::Terminal(terminal) => &self.terminals.list[terminal.index()].name,
            LexedSymbol::Nonterminal(rule) => &self.rules[rule.index()],
        }
    }

    /// The terminal of a declared symbol in a rule; `None`, after a report, if the parser does not receive it.
    fn declared_at(&mut self, symbol: NonterminalId, node: NodeId) -> Option<TerminalId> {
        let id = *self.terminals.by_symbol.get(&symbol)?;
        self.use_at(id, node)
    }

    fn use_at(&mut self, id: TerminalId, node: NodeId) -> Option<TerminalId> {
        let TerminalDraft { name, role, .. } = &self.terminals.list[id.index()];
        if role.is_for_parser() {
            self.terminals.list[id.index()].is_used = true;
            return Some(id);
        }
        let what = if *role == TerminalRole::Ignored { "ignored" } else { "refused" };
        let message = format!("the terminal `{name}` is {what}, and a rule uses it");
        let help = "the parser receives neither ignored nor refused terminals; remove it from the rule";
        self.report(Code::UnsupportedGrammar, message, self.grammar.span(node), help);
        None
    }

    /// The alternatives of a string or pattern in a rule; none, after a report, if it is not supported.
    fn terminal_alternatives(&mut self, id: TerminalId, node: NodeId) -> Alternatives {
        let nonempty = match self.grammar.terminals()[id.index()].terminal {
            Terminal::Regular(term) if self.owner.is_some() && self.terms.is_nullable(term) => {
                let empty = self.terms.epsilon();
                let not_empty = self.terms.complement(empty);
                Some(self.terms.intersection(&[term, not_empty]))
            }
            _ => None,
        };
        let terminal = match nonempty {
            Some(term) => self.pattern_at(term, id, node),
            None => self.terminal_at(id, node),
        };
        let written = terminal.map(|terminal| vec![LexedSymbol::Terminal(terminal)]);
        written.into_iter().chain(nonempty.map(|_| Vec::new())).collect()
    }

    /// The terminal for a string or pattern in a rule; `None`, after a report, if it is not supported.
    fn terminal_at(&mut self, id: TerminalId, node: NodeId) -> Option<TerminalId> {
        let definition = &self.grammar.terminals()[id.index()];
        match &definition.terminal {
            Terminal::Literal(text) => {
                if let Some(&id) = self.terminals.by_text.get(&**text) {
                    return self.use_at(id, node);
                }
                let name = Arc::from(quote_bytes(text));
                let id =
                    self.add_terminal(name, TerminalPattern::Literal(text.to_vec()), 0, TerminalRole::Parsed);
                self.use_at(id, node)
            }
            &Terminal::Regular(term) => self.pattern_at(term, id, node),
            _ => {
                self.report_unsupported_terminal(id, node);
                None
            }
        }
    }

    /// The terminal for a pattern in a rule with the language of `term`.
    fn pattern_at(&mut self, term: TermId, id: TerminalId, node: NodeId) -> Option<TerminalId> {
        if let Some(&id) = self.terminals.by_term.get(&term) {
            return self.use_at(id, node);
        }
        let label = self.grammar.terminals()[id.index()].label.clone();
        let span = self.grammar.span(node);
        if self.options.inline_patterns == InlinePatterns::Refuse {
            let message = format!("the characters `{label}` occur outside of terminals");
            let help = "declare the rule for the lexeme with `%terminal`";
            self.report(Code::UnsupportedGrammar, message, span, help);
            return None;
        }
        let pattern = self.terminal_pattern(term, &label, span)?;
        let id = match &pattern {
            TerminalPattern::Literal(text) => self.terminals.by_text.get(text).copied(),
            _ => None,
        };
        let id = id.unwrap_or_else(|| self.add_terminal(label, pattern, 0, TerminalRole::Parsed));
        self.terminals.by_term.insert(term, id);
        self.use_at(id, node)
    }

    /// Warnings about terminals that occur in no rule.
    fn unused_terminals(&self) -> Vec<Diagnostic> {
        let mut warnings: Vec<Diagnostic> = Vec::new();
        for (&symbol, &id) in &self.terminals.by_symbol {
            let TerminalDraft { name, role, .. } = &self.terminals.list[id.index()];
            if *role == TerminalRole::Parsed && !self.terminals.list[id.index()].is_used {
                let message = format!("no rule uses the terminal `{name}`, so the lexer does not match it");
                let help = format!("remove it, or write `%refuse {name}` if no text may have it");
                let warning = Diagnostic::warning(Code::UnusedRule, message);
                warnings.push(warning.at(self.declared[&symbol].span).help(help));
            }
        }
        warnings.sort_by_key(|warning| warning.span.map_or(usize::MAX, |span| span.start));
        warnings
    }

    fn finish(self) -> LexedDefinition {
        let name = |symbol: &LexedSymbol| self.symbol_name(*symbol).to_owned();
        let productions = self.productions.iter().map(|(rule, rhs)| ProductionSource {
            lhs: self.rules[rule.index()].clone(),
            rhs: rhs.iter().map(name).collect(),
            priority: 0,
        });
        let productions = productions.collect();
        let names = |rules: &mut dyn Iterator<Item = NonterminalId>| {
            let mut names: Vec<String> = rules.map(|rule| self.rules[rule.index()].clone()).collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let defined: FxHashSet<NonterminalId> = self.productions.iter().map(|&(lhs, _)| lhs).collect();
        let lexical_rules = names(&mut self.lexical.intersection(&defined).copied());
        let ignored_rules = names(&mut self.ignored_rules.iter().copied());
        let used = self
            .terminals
            .list
            .iter()
            .filter(|terminal| terminal.is_used || terminal.role != TerminalRole::Parsed);
        let terminals = used.map(|terminal| TerminalSource {
            name: terminal.name.to_string(),
            pattern: terminal.pattern.clone(),
            priority: terminal.priority,
            role: terminal.role,
        });
        LexedDefinition {
            terminals: terminals.collect(),
            productions,
            start: self.rules[self.grammar.start().index()].clone(),
            lexical_rules,
            ignored_rules,
            lexer: self.options.lexer,
            rule: LexingRule::MaximalMunch,
            parser: self.options.parser,
            conflicts: ConflictPolicy::PreferShift,
            indentation: None,
            beginning: Vec::new(),
            encodings: Vec::new(),
        }
    }
}

/// The pattern of the terminal `name` with the language of `term`.
///
/// # Errors
/// If the terminal matches the empty text or no text, its automaton exceeds the limit, or the deadline passes.
pub(super) fn terminal_pattern(
    terms: &Terms,
    term: TermId,
    name: &str,
    max_states: usize,
    deadline: &Deadline,
) -> Result<TerminalPattern, Box<Diagnostic>> {
    if terms.is_nullable(term) {
        let message = format!("the terminal `{name}` matches the empty text");
        return Err(Box::new(
            Diagnostic::error(Code::EmptyTerminal, message)
                .help("a lexeme has at least one byte; make the terminal optional in the rules instead"),
        ));
    }
    if let Some(text) = terms.word(term) {
        return Ok(TerminalPattern::Literal(text));
    }
    match terminal_automaton::states(terms, term, max_states, deadline) {
        Ok(Some(states)) => Ok(TerminalPattern::Automaton(states)),
        Ok(None) => {
            let message = format!("the terminal `{name}` matches nothing");
            Err(Box::new(Diagnostic::error(Code::EmptyLanguage, message)))
        }
        Err(limit) => Err(Box::new(limit.diagnostic().found(format!("the terminal `{name}`")))),
    }
}

/// All sequences of copies, or `None` if they exceed [`MAX_INLINE_SYMBOLS`], a bound that lark lacks.
fn inline_copies(inner: &Alternatives, counts: RangeInclusive<u32>) -> Option<Alternatives> {
    let mut copies: Alternatives = vec![Vec::new()];
    let mut alternatives = Vec::new();
    for count in 0..=*counts.end() {
        if count > 0 {
            let size: usize = copies.iter().map(|rhs| rhs.len() + 1).sum();
            if size.saturating_mul(inner.len()) > MAX_INLINE_SYMBOLS {
                return None;
            }
            let pairs =
                copies.iter().flat_map(|one| inner.iter().map(move |other| [&one[..], other].concat()));
            copies = distinct(pairs);
        }
        if counts.contains(&count) {
            alternatives.extend_from_slice(&copies);
        }
    }
    Some(distinct(alternatives.into_iter()))
}

fn distinct(alternatives: impl Iterator<Item = Vec<LexedSymbol>>) -> Alternatives {
    let mut seen = FxHashSet::default();
    alternatives.filter(|rhs| seen.insert(rhs.clone())).collect()
}
