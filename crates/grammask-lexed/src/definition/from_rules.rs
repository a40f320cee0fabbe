//! Makes a lexed grammar of rules over bytes and directives: of KBNF and GBNF.
//!
//! The symbols that directives name become terminals, with whatever they are made of; a string in any other rule is a
//! terminal of its own, and so is a pattern in KBNF. The rules that the start symbol reaches become productions, with their
//! operators written out the way the lark library does it, because LALR(1) tables depend on the way: options, choices and
//! counts up to fifty are spread over alternatives (of choices as far as these are few), and `x+` is a rule `x | x+ x` that all its uses share. So such a grammar
//! has the conflicts that the same grammar in lark has. Texts are cut by [maximal munch](LexingRule::MaximalMunch).

use std::ops::RangeInclusive;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::grammar::{
    ConflictPolicy, LexedDefinition, LexerKind, LexingRule, ParserKind, Pattern, ProductionSource, Symbol,
    TerminalRole, TerminalSource,
};
use crate::definition::terminal_automaton;
use grammask_automata::{Automata, TermId, Terms};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits, Span};
use grammask_grammar::directives::{Directive, DirectiveKind};
use grammask_grammar::{Grammar, Node, NodeId, NonterminalId, Terminal, TerminalId, quote_bytes};

/// From this count on, copies of a repetition are a chain of rules.
const MOST_COPIES_SPREAD: u32 = 50;

/// Symbols up to which copies of a choice are spread over alternatives; more get a rule for the choice.
const MOST_SYMBOLS_SPREAD: usize = 1 << 12;

/// Most errors that one grammar is reported to have.
const MOST_DIAGNOSTICS: usize = 100;

/// What becomes of patterns outside of terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InlinePatterns {
    /// They are terminals without a name.
    Taken,
    /// They are errors: a class of characters would be a lexeme of one character.
    Refused,
}

/// How a grammar is read with a lexer.
#[derive(Clone, Copy, Debug)]
pub struct LexedRules<'a> {
    /// What the text says about its terminals.
    pub directives: &'a [Directive],
    /// What becomes of patterns in other rules.
    pub inline_patterns: InlinePatterns,
    /// Which terminals the lexer looks for.
    pub lexer: LexerKind,
    /// How sequences of terminals are read.
    pub parser: ParserKind,
}

/// The lexed grammar that rules and directives make, and warnings about it.
///
/// # Errors
/// All at once: directives about symbols that are not there or contradict each other; terminals that are made of
/// themselves, of tokens, or match the empty text or nothing; terminals in rules that are not for the parser. Or a limit.
pub fn definition_of_rules(
    grammar: &Grammar,
    how: &LexedRules<'_>,
    limits: &Limits,
) -> Result<(LexedDefinition, Vec<Diagnostic>), GrammarError> {
    let mut reading = Reading {
        grammar,
        how: *how,
        limits,
        bodies: vec![Vec::new(); grammar.nonterminals().len()],
        declared: FxHashMap::default(),
        terms: grammar.terms().clone(),
        languages: FxHashMap::default(),
        terminals: Vec::new(),
        by_symbol: FxHashMap::default(),
        by_text: FxHashMap::default(),
        by_term: FxHashMap::default(),
        is_used: Vec::new(),
        rules: grammar.nonterminals().iter().map(|definition| definition.name.to_string()).collect(),
        shared: FxHashMap::default(),
        productions: Vec::new(),
        size: 0,
        diagnostics: Vec::new(),
    };
    for definition in grammar.definitions() {
        reading.bodies[definition.lhs.index()].push(definition.body);
    }
    reading.declare();
    reading.make_terminals();
    if let Err(limit) = reading.rules() {
        reading.diagnostics.push(*limit);
    }
    let mut diagnostics = std::mem::take(&mut reading.diagnostics);
    if !diagnostics.is_empty() {
        diagnostics.sort_by_key(|diagnostic| diagnostic.span.map_or(usize::MAX, |span| span.start));
        diagnostics.truncate(MOST_DIAGNOSTICS);
        return Err(GrammarError::new(diagnostics, grammar.source().clone()));
    }
    let warnings = reading.unused();
    Ok((reading.finish(), warnings))
}

/// What directives say of a symbol.
#[derive(Clone, Copy, Debug)]
struct Declared {
    role: TerminalRole,
    /// Whether `role` was said, or only a priority.
    has_role: bool,
    priority: Option<i32>,
    span: Span,
}

/// A terminal with what its definition will hold.
struct Found {
    name: Arc<str>,
    pattern: Pattern,
    priority: i32,
    role: TerminalRole,
}

/// Alternatives of symbols, none of them twice.
type Alternatives = Vec<Vec<Symbol>>;

/// Rules that all uses of the same parts share.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Shared {
    /// One of them.
    One(Alternatives),
    /// One or more.
    Many(Alternatives),
    /// So many at most, one at least.
    UpTo(Symbol, u32),
}

struct Reading<'a> {
    grammar: &'a Grammar,
    how: LexedRules<'a>,
    limits: &'a Limits,
    bodies: Vec<Vec<NodeId>>,
    declared: FxHashMap<NonterminalId, Declared>,
    terms: Terms,
    /// The languages of symbols that are parts of terminals.
    languages: FxHashMap<NonterminalId, TermId>,
    terminals: Vec<Found>,
    by_symbol: FxHashMap<NonterminalId, TerminalId>,
    by_text: FxHashMap<Vec<u8>, TerminalId>,
    by_term: FxHashMap<TermId, TerminalId>,
    is_used: Vec<bool>,
    /// The names of nonterminals: those of the grammar, and of shared rules.
    rules: Vec<String>,
    shared: FxHashMap<Shared, Symbol>,
    productions: Vec<(NonterminalId, Vec<Symbol>)>,
    /// Symbols that were written, to compare with the limit.
    size: usize,
    diagnostics: Vec<Diagnostic>,
}

impl Reading<'_> {
    fn report(&mut self, code: Code, message: String, span: Span, help: &str) {
        self.diagnostics.push(Diagnostic::error(code, message).at(span).help(help));
    }

    fn name(&self, symbol: NonterminalId) -> &str {
        &self.grammar.nonterminals()[symbol.index()].name
    }

    /// Reads the directives.
    fn declare(&mut self) {
        let symbols = self.grammar.nonterminals().iter().enumerate();
        let symbols: FxHashMap<&str, NonterminalId> = symbols
            .filter(|(_, definition)| definition.defined)
            .map(|(index, definition)| (&*definition.name, NonterminalId::new(index)))
            .collect();
        for Directive { kind, name, span } in self.how.directives {
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
            let new = Declared { role: TerminalRole::Parsed, has_role: false, priority: None, span: *span };
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
                DirectiveKind::Terminal => TerminalRole::Parsed,
                DirectiveKind::Ignore => TerminalRole::Ignored,
                DirectiveKind::Refuse => TerminalRole::Refused,
            };
            if declared.has_role && declared.role != role {
                let message = format!("two directives say different things of `{name}`");
                let help = "a terminal is for the parser, ignored or refused";
                self.report(Code::UnexpectedInput, message, *span, help);
            }
            (declared.role, declared.has_role) = (role, true);
            self.declared.insert(symbol, declared);
        }
        let mut without_role: Vec<(NonterminalId, Span)> = self
            .declared
            .iter()
            .filter(|(_, declared)| !declared.has_role)
            .map(|(&symbol, declared)| (symbol, declared.span))
            .collect();
        without_role.sort_unstable_by_key(|&(_, span)| span.start);
        for (symbol, span) in without_role {
            let message = format!("`{}` has a priority and is no terminal", self.name(symbol));
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
            self.report(Code::UnexpectedInput, message, span, "start with a rule that is made of it");
        }
    }

    /// The nodes below `roots` and themselves, parts first; what references lead to is left out.
    fn below(&self, roots: &[NodeId]) -> Vec<NodeId> {
        let mut found: FxHashSet<NodeId> = FxHashSet::default();
        let mut stack = roots.to_vec();
        while let Some(node) = stack.pop() {
            if !found.insert(node) {
                continue;
            }
            match &self.grammar.nodes()[node.index()] {
                Node::Sequence(parts) | Node::Choice(parts) => stack.extend(parts),
                Node::Repeat { node, .. } => stack.push(*node),
                Node::Selection { parts, separator, .. } => {
                    stack.extend(parts);
                    stack.push(*separator);
                }
                Node::Terminal(_) | Node::Nonterminal(_) => {}
            }
        }
        let mut found: Vec<NodeId> = found.into_iter().collect();
        found.sort_unstable();
        found
    }

    /// Makes all terminals that directives declare, in the order of their definitions.
    fn make_terminals(&mut self) {
        let mut symbols: Vec<NonterminalId> = self.declared.keys().copied().collect();
        symbols.sort_unstable_by_key(|symbol| self.grammar.nonterminals()[symbol.index()].span.start);
        for symbol in symbols {
            let (name, span) =
                (self.name(symbol).to_owned(), self.grammar.nonterminals()[symbol.index()].span);
            let Some(term) = self.language(symbol, span) else { continue };
            let Some(pattern) = self.pattern(term, &name, span) else { continue };
            let declared = self.declared[&symbol];
            let id = self.add(Arc::from(name), pattern, declared.priority.unwrap_or(0), declared.role);
            self.by_symbol.insert(symbol, id);
            let known = self.by_term.entry(term).or_insert(id);
            if declared.priority.unwrap_or(0) > self.terminals[known.index()].priority {
                *known = id;
            }
        }
    }

    fn add(&mut self, name: Arc<str>, pattern: Pattern, priority: i32, role: TerminalRole) -> TerminalId {
        let id = TerminalId::new(self.terminals.len());
        if let Pattern::Literal(text) = &pattern {
            // What is written in a rule is the terminal that wins.
            let known = self.by_text.entry(text.clone()).or_insert(id);
            if self.terminals.get(known.index()).is_some_and(|known| known.priority < priority) {
                *known = id;
            }
        }
        self.terminals.push(Found { name, pattern, priority, role });
        self.is_used.push(false);
        id
    }

    /// The language of a symbol that is a terminal or a part of one.
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
                    if !open.insert(part) {
                        let message = format!("the terminal `{}` is made of itself", self.name(symbol));
                        self.report(
                            Code::UnsupportedGrammar,
                            message,
                            span,
                            "a terminal is a regular language: write a repetition, `x*`, in place of the recursion",
                        );
                        return None;
                    }
                    stack.push(Visit::Leave(part));
                    for node in self.below(&self.bodies[part.index()]) {
                        if let Node::Nonterminal(next) = self.grammar.nodes()[node.index()] {
                            stack.push(Visit::Enter(next, self.grammar.span(node)));
                        }
                    }
                }
                Visit::Leave(part) => {
                    open.remove(&part);
                    let term = self.term_of(&self.bodies[part.index()].clone())?;
                    self.languages.insert(part, term);
                }
            }
        }
        self.languages.get(&symbol).copied()
    }

    /// The language of the nodes `roots`, the languages of whose references are known.
    fn term_of(&mut self, roots: &[NodeId]) -> Option<TermId> {
        let mut of_node: FxHashMap<NodeId, TermId> = FxHashMap::default();
        for node in self.below(roots) {
            let parts =
                |parts: &[NodeId]| -> Vec<TermId> { parts.iter().map(|part| of_node[part]).collect() };
            let term = match &self.grammar.nodes()[node.index()] {
                Node::Terminal(id) => match &self.grammar.terminals()[id.index()].terminal {
                    Terminal::Literal(text) => self.terms.literal(text),
                    &Terminal::Regular(term) => term,
                    _ => {
                        self.report_token(node);
                        return None;
                    }
                },
                Node::Nonterminal(symbol) => self.languages[symbol],
                Node::Sequence(nodes) => self.terms.concat(&parts(nodes)),
                Node::Choice(nodes) => self.terms.union(&parts(nodes)),
                &Node::Repeat { node, min, max } => self.terms.repeat(of_node[&node], min, max),
                Node::Selection { .. } => {
                    self.diagnostics.push(*self.selection(node));
                    return None;
                }
            };
            of_node.insert(node, term);
        }
        let alternatives: Vec<TermId> = roots.iter().map(|root| of_node[root]).collect();
        Some(self.terms.union(&alternatives))
    }

    fn report_token(&mut self, node: NodeId) {
        let message = "tokens of the vocabulary have no place in a grammar with a lexer".to_owned();
        self.report(
            Code::UnsupportedGrammar,
            message,
            self.grammar.span(node),
            "the lexer cuts texts, whatever tokens they are written in",
        );
    }

    /// What a terminal with this language looks for.
    fn pattern(&mut self, term: TermId, name: &str, span: Span) -> Option<Pattern> {
        if self.terms.is_nullable(term) {
            let message = format!("the terminal `{name}` matches the empty text");
            let help = "a lexeme has at least one byte; make the terminal optional in the rules instead";
            self.report(Code::EmptyTerminal, message, span, help);
            return None;
        }
        if let Some(text) = self.terms.word(term) {
            return Some(Pattern::Literal(text));
        }
        let most_states = self.limits.automaton_states;
        match Automata::new(self.terms.clone(), most_states).start(term) {
            Ok(Some(_)) => {}
            Ok(None) => {
                let message = format!("the terminal `{name}` matches nothing");
                self.diagnostics.push(Diagnostic::error(Code::EmptyLanguage, message).at(span));
                return None;
            }
            Err(limit) => {
                self.diagnostics.push(limit.diagnostic().at(span));
                return None;
            }
        }
        let states = terminal_automaton::states(&self.terms, term, most_states);
        if states.is_none() {
            let limit = LimitExceeded::new("automaton_states", most_states);
            self.diagnostics.push(limit.diagnostic().at(span).found(format!("the terminal `{name}`")));
        }
        Some(Pattern::Automaton(states?))
    }

    /// Makes the productions of what the start symbol reaches.
    fn rules(&mut self) -> Result<(), Box<Diagnostic>> {
        let start = self.grammar.start();
        let mut seen: FxHashSet<NonterminalId> = FxHashSet::from_iter([start]);
        let mut pending = vec![start];
        let mut found = Vec::new();
        while let Some(rule) = pending.pop() {
            found.push(rule);
            for node in self.below(&self.bodies[rule.index()]) {
                if let Node::Nonterminal(next) = self.grammar.nodes()[node.index()]
                    && !self.declared.contains_key(&next)
                    && seen.insert(next)
                {
                    pending.push(next);
                }
            }
        }
        // In the order of the text, so that terminals without a name are, too.
        found.sort_unstable_by_key(|rule| {
            self.bodies[rule.index()].first().map_or(Span::default(), |&body| self.grammar.span(body))
        });
        for rule in found {
            let bodies = self.bodies[rule.index()].clone();
            let alternatives = self.alternatives(rule, &bodies)?;
            for rhs in alternatives {
                // A rule that is itself derives nothing new.
                if rhs != [Symbol::Nonterminal(rule)] {
                    self.productions.push((rule, rhs));
                }
            }
        }
        Ok(())
    }

    /// The alternatives of a rule, without operators.
    fn alternatives(
        &mut self,
        rule: NonterminalId,
        roots: &[NodeId],
    ) -> Result<Alternatives, Box<Diagnostic>> {
        let mut of_node: FxHashMap<NodeId, Alternatives> = FxHashMap::default();
        for node in self.below(roots) {
            let alternatives = match &self.grammar.nodes()[node.index()] {
                Node::Terminal(id) => {
                    self.terminal_at(*id, node).map_or_else(Vec::new, |id| vec![vec![Symbol::Terminal(id)]])
                }
                Node::Nonterminal(symbol) if self.declared.contains_key(symbol) => self
                    .declared_at(*symbol, node)
                    .map_or_else(Vec::new, |id| vec![vec![Symbol::Terminal(id)]]),
                Node::Nonterminal(symbol) => vec![vec![Symbol::Nonterminal(*symbol)]],
                Node::Sequence(parts) => {
                    let mut joined = vec![Vec::new()];
                    for part in parts {
                        joined = self.products(&joined, &of_node[part], node)?;
                    }
                    joined
                }
                Node::Choice(parts) => distinct(parts.iter().flat_map(|part| of_node[part].iter().cloned())),
                &Node::Repeat { node: part, min, max } => {
                    let inner = of_node[&part].clone();
                    self.repetition(rule, inner, (min, max), node)?
                }
                Node::Selection { .. } => return Err(self.selection(node)),
            };
            self.count(&alternatives, node)?;
            of_node.insert(node, alternatives);
        }
        Ok(distinct(roots.iter().flat_map(|root| of_node[root].iter().cloned())))
    }

    /// Why a selection is refused. No grammar that a person writes has one.
    fn selection(&self, node: NodeId) -> Box<Diagnostic> {
        let message = "parts that are chosen by a schema have no place in a grammar with a lexer";
        Box::new(
            Diagnostic::error(Code::UnsupportedGrammar, message)
                .at(self.grammar.span(node))
                .help("compile the schema without a lexer"),
        )
    }

    fn count(&mut self, alternatives: &Alternatives, node: NodeId) -> Result<(), Box<Diagnostic>> {
        let size = alternatives.iter().map(|rhs| rhs.len() + 1).sum();
        self.reserve(size, node)
    }

    /// Counts symbols before they are written.
    fn reserve(&mut self, size: usize, node: NodeId) -> Result<(), Box<Diagnostic>> {
        self.size = self.size.saturating_add(size);
        if self.size <= self.limits.grammar_size {
            return Ok(());
        }
        let limit = LimitExceeded::new("grammar_size", self.limits.grammar_size).diagnostic();
        let help = "options and choices are spread over alternatives: give a part of them a rule of its own";
        Err(Box::new(limit.at(self.grammar.span(node)).help(help)))
    }

    fn products(
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

    /// `min` to `max` copies.
    fn repetition(
        &mut self,
        rule: NonterminalId,
        mut inner: Alternatives,
        (min, max): (u32, Option<u32>),
        node: NodeId,
    ) -> Result<Alternatives, Box<Diagnostic>> {
        let count = inner.len();
        inner.retain(|rhs| !rhs.is_empty());
        let min = if inner.len() < count { 0 } else { min };
        if inner.is_empty() && count == 0 {
            // What is wrong in it was reported.
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
            let many = self.shared(rule, Shared::Many(inner), node)?;
            let mut alternatives = vec![vec![many]];
            if min == 0 {
                alternatives.push(Vec::new());
            }
            return Ok(alternatives);
        }
        let is_spread = max.is_none_or(|max| max < MOST_COPIES_SPREAD);
        if let Some(max) = max.filter(|_| is_spread && inner.len() > 1)
            && let Some(alternatives) = spread(&inner, min..=max)
        {
            return Ok(alternatives);
        }
        let item = match &inner[..] {
            [only] if is_spread || only.len() == 1 => only.clone(),
            _ => vec![self.shared(rule, Shared::One(inner.clone()), node)?],
        };
        let copies = |reading: &mut Self, count: u32| {
            reading.reserve(item.len().saturating_mul(count as usize), node)?;
            Ok(item.repeat(count as usize))
        };
        match max {
            None => {
                let mut rhs = copies(self, min - 1)?;
                rhs.push(self.shared(rule, Shared::Many(inner), node)?);
                Ok(vec![rhs])
            }
            Some(max) if is_spread => (min..=max).map(|count| copies(self, count)).collect(),
            Some(max) => {
                let least = copies(self, min)?;
                if min == max {
                    return Ok(vec![least]);
                }
                let mut tail = item[0];
                for count in 1..=max - min {
                    tail = self.shared(rule, Shared::UpTo(item[0], count), node)?;
                }
                let more = [&least[..], &[tail]].concat();
                Ok(vec![least, more])
            }
        }
    }

    /// The rule for parts that several places share, with its productions if it is new.
    fn shared(&mut self, rule: NonterminalId, key: Shared, node: NodeId) -> Result<Symbol, Box<Diagnostic>> {
        if let Some(&known) = self.shared.get(&key) {
            return Ok(known);
        }
        let id = NonterminalId::new(self.rules.len());
        let own = Symbol::Nonterminal(id);
        let (name, alternatives) = match &key {
            Shared::One(parts) => (format!("{}({})", self.rules[rule.index()], id.index()), parts.clone()),
            Shared::Many(parts) => {
                let name = match &parts[..] {
                    [only] if only.len() == 1 => format!("{}+", self.symbol_name(only[0])),
                    _ => format!("{}({})+", self.rules[rule.index()], id.index()),
                };
                let more = parts.iter().map(|rhs| [&[own], &rhs[..]].concat());
                (name, parts.iter().cloned().chain(more).collect())
            }
            &Shared::UpTo(item, count) => {
                let mut alternatives = vec![vec![item]];
                if let Some(&fewer) = self.shared.get(&Shared::UpTo(item, count - 1)) {
                    alternatives.push(vec![item, fewer]);
                }
                (format!("{}{{1,{count}}}", self.symbol_name(item)), alternatives)
            }
        };
        self.count(&alternatives, node)?;
        self.rules.push(name);
        self.productions.extend(alternatives.into_iter().map(|rhs| (id, rhs)));
        self.shared.insert(key, own);
        Ok(own)
    }

    fn symbol_name(&self, symbol: Symbol) -> &str {
        match symbol {
            Symbol::Terminal(terminal) => &self.terminals[terminal.index()].name,
            Symbol::Nonterminal(rule) => &self.rules[rule.index()],
        }
    }

    /// A terminal that a directive declared, where a rule uses it; none, with a report, if it is not for the parser.
    fn declared_at(&mut self, symbol: NonterminalId, node: NodeId) -> Option<TerminalId> {
        let id = *self.by_symbol.get(&symbol)?;
        self.use_at(id, node)
    }

    fn use_at(&mut self, id: TerminalId, node: NodeId) -> Option<TerminalId> {
        let Found { name, role, .. } = &self.terminals[id.index()];
        if *role == TerminalRole::Parsed {
            self.is_used[id.index()] = true;
            return Some(id);
        }
        let what = if *role == TerminalRole::Ignored { "ignored" } else { "refused" };
        let message = format!("the terminal `{name}` is {what}, and a rule uses it");
        let help = "the parser sees neither ignored nor refused terminals; take it out of the rule";
        self.report(Code::UnsupportedGrammar, message, self.grammar.span(node), help);
        None
    }

    /// The terminal for a string or a pattern in a rule; none, with a report, if there is no such terminal.
    fn terminal_at(&mut self, id: TerminalId, node: NodeId) -> Option<TerminalId> {
        let definition = &self.grammar.terminals()[id.index()];
        match &definition.terminal {
            Terminal::Literal(text) => {
                if let Some(&known) = self.by_text.get(&**text) {
                    return self.use_at(known, node);
                }
                let name = Arc::from(quote_bytes(text));
                let id = self.add(name, Pattern::Literal(text.to_vec()), 0, TerminalRole::Parsed);
                self.use_at(id, node)
            }
            &Terminal::Regular(term) => {
                if let Some(&known) = self.by_term.get(&term) {
                    return self.use_at(known, node);
                }
                let span = self.grammar.span(node);
                if self.how.inline_patterns == InlinePatterns::Refused {
                    let message = format!("the characters `{}` stand outside of terminals", definition.label);
                    let help = "declare the rule that they make a lexeme of with `%terminal`";
                    self.report(Code::UnsupportedGrammar, message, span, help);
                    return None;
                }
                let label = definition.label.clone();
                let pattern = self.pattern(term, &label, span)?;
                let known = match &pattern {
                    Pattern::Literal(text) => self.by_text.get(text).copied(),
                    _ => None,
                };
                let id = known.unwrap_or_else(|| self.add(label, pattern, 0, TerminalRole::Parsed));
                self.by_term.insert(term, id);
                self.use_at(id, node)
            }
            _ => {
                self.report_token(node);
                None
            }
        }
    }

    /// Warnings about terminals that no rule uses.
    fn unused(&self) -> Vec<Diagnostic> {
        let mut warnings: Vec<Diagnostic> = Vec::new();
        for (&symbol, &id) in &self.by_symbol {
            let Found { name, role, .. } = &self.terminals[id.index()];
            if *role == TerminalRole::Parsed && !self.is_used[id.index()] {
                let message =
                    format!("no rule uses the terminal `{name}`, so the lexer does not look for it");
                let help = format!("remove it, or write `%refuse {name}` if no text may have it");
                let warning = Diagnostic::warning(Code::UnusedRule, message);
                warnings.push(warning.at(self.declared[&symbol].span).help(help));
            }
        }
        warnings.sort_by_key(|warning| warning.span.map_or(usize::MAX, |span| span.start));
        warnings
    }

    fn finish(self) -> LexedDefinition {
        let name = |symbol: &Symbol| self.symbol_name(*symbol).to_owned();
        let productions = self.productions.iter().map(|(rule, rhs)| ProductionSource {
            lhs: self.rules[rule.index()].clone(),
            rhs: rhs.iter().map(name).collect(),
            priority: 0,
        });
        let productions = productions.collect();
        let used = self.terminals.iter().zip(&self.is_used);
        let terminals = used.filter(|(found, is_used)| **is_used || found.role != TerminalRole::Parsed);
        let terminals = terminals.map(|(found, _)| TerminalSource {
            name: found.name.to_string(),
            pattern: found.pattern.clone(),
            priority: found.priority,
            role: found.role,
        });
        LexedDefinition {
            terminals: terminals.collect(),
            productions,
            start: self.rules[self.grammar.start().index()].clone(),
            lexer: self.how.lexer,
            rule: LexingRule::MaximalMunch,
            parser: self.how.parser,
            conflicts: ConflictPolicy::PreferShift,
            indentation: None,
        }
    }
}

/// The alternatives without those that came before.
/// All ways to write so many copies, if these are few. The library always writes them out, however many they are.
fn spread(inner: &Alternatives, counts: RangeInclusive<u32>) -> Option<Alternatives> {
    let mut copies: Alternatives = vec![Vec::new()];
    let mut found = Vec::new();
    for count in 0..=*counts.end() {
        if count > 0 {
            let size: usize = copies.iter().map(|rhs| rhs.len() + 1).sum();
            if size.saturating_mul(inner.len()) > MOST_SYMBOLS_SPREAD {
                return None;
            }
            let pairs =
                copies.iter().flat_map(|one| inner.iter().map(move |other| [&one[..], other].concat()));
            copies = distinct(pairs);
        }
        if counts.contains(&count) {
            found.extend_from_slice(&copies);
        }
    }
    Some(distinct(found.into_iter()))
}

fn distinct(alternatives: impl Iterator<Item = Vec<Symbol>>) -> Alternatives {
    let mut seen = FxHashSet::default();
    alternatives.filter(|rhs| seen.insert(rhs.clone())).collect()
}
