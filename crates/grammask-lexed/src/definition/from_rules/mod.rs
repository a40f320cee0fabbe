//! Construction of a lexed grammar from rules over bytes and directives, for KBNF and GBNF.
//!
//! Symbols that a directive declares become terminals, together with the rules they refer to. A string in another
//! rule is a terminal of its own, and so is a pattern in KBNF. The other rules that are reachable from the start
//! symbol become productions.
//!
//! Operators are expanded exactly as in the lark library, because the expansion decides whether a grammar is LALR(1):
//! options, choices and repetitions become alternatives, and `x+` becomes one rule `x | x+ x`, shared by all its uses
//! ([`operators`]). A grammar therefore has the same conflicts here and in lark. The lexing rule is [maximal munch](LexingRule::MaximalMunch).

mod directives;
mod operators;
mod terminals;

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::grammar::LexedSymbol;
use crate::definition::source::{
    ConflictPolicy, LexedDefinition, LexerKind, LexingRule, ParserKind, ProductionSource, TerminalRole,
    TerminalSource,
};
use grammask_automata::{TermId, Terms};
use grammask_diagnostics::{Code, Deadline, Diagnostic, GrammarError, Limits, Span};
use grammask_grammar::directives::Directive;
use grammask_grammar::{Grammar, Node, NodeId, NonterminalDefinition, NonterminalId};

use directives::SymbolDirectives;
use operators::SharedRule;
use terminals::TerminalTable;

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
        deadline: Deadline::of(limits),
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

    /// The nodes below `roots`, children first, roots included. References are not followed.
    fn subtree(&self, roots: &[NodeId]) -> Vec<NodeId> {
        let mut nodes: FxHashSet<NodeId> = FxHashSet::default();
        let mut stack = roots.to_vec();
        while let Some(node) = stack.pop() {
            if !nodes.insert(node) {
                continue;
            }
            stack.extend(self.grammar.nodes()[node.index()].children());
        }
        let mut nodes: Vec<NodeId> = nodes.into_iter().collect();
        nodes.sort_unstable();
        nodes
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

    fn symbol_name(&self, symbol: LexedSymbol) -> &str {
        match symbol {
            LexedSymbol::Terminal(terminal) => &self.terminals.list[terminal.index()].name,
            LexedSymbol::Nonterminal(rule) => &self.rules[rule.index()],
        }
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
            descriptions: BTreeMap::new(),
        }
    }
}
