//! Translates a syntax tree to a [`Grammar`], and reports errors of its symbols, regexes and exceptions.
//!
//! The arena of the tree has children before parents, in the order in which the builder needs them, so one loop
//! suffices. Equal regexes are compiled once.

use rustc_hash::{FxHashMap, FxHashSet};

use super::ast::{Ast, Bracket, Exception, Expression, ExpressionId, PatternForm, PatternLiteral};
use super::escape::{QuoteStyle, locate};
use super::exception::{DefinitionTable, Expansion, expand};
use super::scan::{MAX_DIAGNOSTICS, is_plain_token_name};
use grammask_automata::{TermId, regex};
use grammask_diagnostics::{Code, Deadline, Diagnostic, LimitExceeded, Limits, Severity, Span, closest};
use grammask_grammar::directives::{Directive, DirectiveKind, declares};
use grammask_grammar::{
    Grammar, GrammarBuilder, NodeId, NonterminalId, NotRegular, RuleLanguages, Terminal, TokenReference,
    quote_bytes, quote_text,
};

/// Approximate memory of the substring automaton per byte of the text, in bytes: at most two states and three
/// transitions.
const SUBSTRING_AUTOMATON_BYTES_PER_BYTE: usize = 48;

/// Builds the grammar of `ast` with start symbol `start`; `None` if there are errors.
///
/// `complete`: whether the tree covers the whole source. If not, undefined symbols are not reported. Symbols that
/// `directives` declare need no definition.
pub(super) fn translate(
    ast: &Ast,
    directives: &[Directive],
    start: &str,
    complete: bool,
    limits: &Limits,
) -> (Option<Grammar>, Vec<Diagnostic>) {
    let mut translator = KbnfTranslator {
        ast,
        symbols: DefinitionTable::of(ast),
        builder: GrammarBuilder::new(&ast.source),
        limits,
        deadline: Deadline::of(limits),
        compiled: FxHashMap::default(),
        expanded: FxHashMap::default(),
        expansion_size: 0,
        limited: Vec::new(),
        diagnostics: Vec::new(),
    };
    if complete {
        translator.check_start(start);
        translator.check_references(directives);
    }
    for definition in &ast.definitions {
        translator.builder.nonterminal(ast.text(definition.name), definition.name);
    }
    let nodes = translator.nodes();
    for definition in &ast.definitions {
        let lhs = translator.builder.nonterminal(ast.text(definition.name), definition.name);
        if let Some(&body) = nodes.get(definition.body.index()) {
            let body = translator.builder.scope_of_bindings(body, definition.span);
            translator.builder.define(lhs, body, definition.span);
        }
    }
    translator.define_limited_symbols();
    let KbnfTranslator { mut builder, diagnostics, .. } = translator;
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        return (None, diagnostics);
    }
    for directive in directives.iter().filter(|directive| directive.kind == DirectiveKind::Declare) {
        builder.nonterminal(&directive.name, directive.span);
    }
    let start = builder.nonterminal(start, Span::default());
    (Some(builder.finish(start)), diagnostics)
}

struct KbnfTranslator<'a> {
    ast: &'a Ast,
    symbols: DefinitionTable<'a>,
    builder: GrammarBuilder,
    limits: &'a Limits,
    deadline: Deadline,
    /// Memo table of compiled patterns; `None` for invalid ones.
    compiled: FxHashMap<(PatternForm, &'a str), Option<TermId>>,
    /// Memo table of symbols that were expanded for `except!`; `None` for invalid ones.
    expanded: FxHashMap<&'a str, Option<TermId>>,
    /// Number of expressions visited by all expansions, which is bounded because they may visit the same definitions.
    expansion_size: usize,
    /// The uses of `limit!`, whose rules are not defined yet.
    limited: Vec<LimitedSymbol>,
    diagnostics: Vec<Diagnostic>,
}

/// A use of `limit!`.
struct LimitedSymbol {
    rule: NonterminalId,
    symbol: Span,
    tokens: u32,
    span: Span,
}

impl<'a> KbnfTranslator<'a> {
    /// Reports an undefined start symbol.
    fn check_start(&mut self, start: &str) {
        if self.symbols.defines(start) {
            return;
        }
        let mut diagnostic =
            Diagnostic::error(Code::MissingStart, format!("the start symbol `{start}` is not defined"));
        let candidates = self.ast.definitions.iter().map(|definition| self.ast.text(definition.name));
        let close = closest(start, candidates);
        diagnostic.help = Some(match (close, self.ast.definitions.first()) {
            (Some(close), _) => {
                format!("did you mean `{close}`? define `{start}`, or choose another start symbol")
            }
            (None, Some(first)) => {
                let first = self.ast.text(first.name);
                format!("define `{start}`, or choose another start symbol, for example `{first}`")
            }
            (None, None) => format!("the text defines nothing: write `{start} ::= ...;`"),
        });
        let place =
            self.ast.definitions.iter().find(|&&definition| close == Some(self.ast.text(definition.name)));
        let place = place.or(self.ast.definitions.first());
        diagnostic.span = Some(place.map_or(Span::default(), |definition| definition.name));
        self.diagnostics.push(diagnostic);
    }

    /// Reports each undefined symbol at its first use.
    fn check_references(&mut self, directives: &[Directive]) {
        let ast = self.ast;
        let mut uses: Vec<Span> = Vec::new();
        for id in ast.reachable(ast.definitions.iter().map(|definition| definition.body)) {
            match ast.expression(id) {
                Expression::Reference => uses.push(ast.span(id)),
                Expression::Except { exception: Exception::Symbol(name), .. } => uses.push(*name),
                Expression::Limit { symbol, .. } => uses.push(*symbol),
                _ => {}
            }
        }
        // The parser has reported malformed names.
        let is_name = |name: &str| {
            name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
                && !name.starts_with(|c: char| c.is_ascii_digit())
        };
        uses.retain(|&name| {
            let name = ast.text(name);
            is_name(name) && !self.symbols.defines(name) && !declares(directives, name)
        });
        uses.sort_unstable();
        let mut reported: FxHashSet<&str> = FxHashSet::default();
        for span in uses {
            let name = ast.text(span);
            if reported.len() >= MAX_DIAGNOSTICS || !reported.insert(name) {
                continue;
            }
            // Candidates are in source order, so that the suggestion does not depend on hashing.
            let candidates = ast.definitions.iter().map(|definition| ast.text(definition.name));
            let help = match closest(name, candidates) {
                Some(close) => format!("did you mean `{close}`?"),
                None => {
                    let name: String = name.chars().take(40).collect();
                    format!("define it (`{name} ::= ...;`), or write \"{name}\" if it stands for text")
                }
            };
            let shown: String = name.chars().take(40).collect();
            self.diagnostics.push(
                Diagnostic::error(Code::UndefinedSymbol, format!("the symbol `{shown}` is not defined"))
                    .at(span)
                    .help(help),
            );
        }
    }

    /// The node of each expression, in order. Stops with a report if a limit is exceeded.
    fn nodes(&mut self) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = Vec::with_capacity(self.ast.expressions.len());
        for (index, expression) in self.ast.expressions.iter().enumerate() {
            let id = ExpressionId::new(index);
            match self.node(id, expression, &nodes) {
                Ok(node) => nodes.push(node),
                Err(limit) => {
                    self.diagnostics.push(limit.diagnostic().at(self.ast.span(id)));
                    break;
                }
            }
        }
        nodes
    }

    fn node(
        &mut self,
        id: ExpressionId,
        expression: &'a Expression,
        nodes: &[NodeId],
    ) -> Result<NodeId, LimitExceeded> {
        let span = self.ast.span(id);
        let translated = |parts: &[ExpressionId]| parts.iter().map(|part| nodes[part.index()]).collect();
        if id.index().is_multiple_of(1024) {
            self.deadline.check()?;
        }
        Ok(match expression {
            Expression::Error => self.builder.sequence(Vec::new(), span),
            Expression::Literal(bytes) if bytes.is_empty() => self.builder.sequence(Vec::new(), span),
            Expression::Literal(bytes) => self.builder.literal(bytes, span),
            Expression::Reference => {
                let symbol = self.builder.nonterminal(self.ast.text(span), span);
                self.builder.reference(symbol, span)
            }
            Expression::Pattern(pattern) => self.pattern(pattern, span)?,
            Expression::Token(reference) => {
                let label = token_label(reference);
                self.builder.terminal(Terminal::Token(reference.clone()), &label, span)
            }
            Expression::AnyToken => self.builder.terminal(Terminal::AnyToken, "any!", span),
            Expression::Except { exception, tokens } => self.except(exception, *tokens, span)?,
            &Expression::Limit { symbol, tokens } => self.limit(symbol, tokens, span),
            &Expression::Binding { kind, name, operand } => {
                let operand = operand.map(|operand| nodes[operand.index()]);
                self.builder.binding(kind, self.ast.text(name), operand, span)
            }
            Expression::Bracketed { bracket, body } => {
                let body = nodes[body.index()];
                match bracket {
                    Bracket::Round => body,
                    Bracket::Square => self.builder.repeat(body, 0, Some(1), span),
                    Bracket::Curly => self.builder.repeat(body, 0, None, span),
                }
            }
            Expression::Postfix { operand, operator } => {
                let (min, max) = operator.bounds();
                self.builder.repeat(nodes[operand.index()], min, max, span)
            }
            Expression::Sequence(parts) => self.builder.sequence(translated(parts), span),
            Expression::Choice(parts) => self.builder.choice(translated(parts), span),
        })
    }

    /// The terminal of a `#` form; an empty sequence, with a report, if the regex is invalid.
    fn pattern(&mut self, pattern: &'a PatternLiteral, span: Span) -> Result<NodeId, LimitExceeded> {
        let key = (pattern.form, &*pattern.text);
        let term = match self.compiled.get(&key) {
            Some(&term) => term,
            None => {
                self.deadline.check()?;
                let bytes = pattern.text.len().saturating_mul(SUBSTRING_AUTOMATON_BYTES_PER_BYTE);
                if pattern.form == PatternForm::Substrings && bytes > self.limits.memory_bytes {
                    return Err(LimitExceeded::new("memory_bytes", self.limits.memory_bytes));
                }
                let term = self.compile(pattern);
                self.compiled.insert(key, term);
                term
            }
        };
        let Some(term) = term else { return Ok(self.builder.sequence(Vec::new(), span)) };
        let notation = self.ast.text(span);
        let label =
            if notation.chars().any(char::is_control) { pattern_label(pattern) } else { notation.into() };
        Ok(self.builder.terminal(Terminal::Regular(term), &label, span))
    }

    fn compile(&mut self, pattern: &PatternLiteral) -> Option<TermId> {
        if pattern.form != PatternForm::Substrings {
            for difference in regex::dialect_differences(&pattern.text) {
                let warning = Diagnostic::warning(Code::RegexDialect, difference.message);
                self.report_in_pattern(pattern, difference.span, warning, difference.help);
            }
        }
        let terms = self.builder.terms();
        let result = match pattern.form {
            PatternForm::Whole => regex::term(terms, &pattern.text, self.limits),
            PatternForm::FirstMatch => {
                regex::term(terms, &pattern.text, self.limits).map(|term| terms.first_match(term))
            }
            PatternForm::WithoutMatch => regex::search_term(terms, &pattern.text, self.limits),
            PatternForm::Substrings => Ok(terms.substrings(&pattern.text)),
        };
        result
            .map_err(|error| {
                let help = error.help().unwrap_or("the syntax is that of the Rust crate `regex`");
                let diagnostic = Diagnostic::error(error.code(), error.message());
                self.report_in_pattern(pattern, error.span(), diagnostic, help);
            })
            .ok()
    }

    /// Adds a diagnostic about a part of a regex.
    fn report_in_pattern(
        &mut self,
        pattern: &PatternLiteral,
        part: Span,
        diagnostic: Diagnostic,
        help: &str,
    ) {
        let span = locate(&self.ast.source, pattern.content, pattern.style, part);
        // A regex in a string with escapes is written with doubled backslashes, and so is advice about it.
        let in_escaped_string = pattern.style == QuoteStyle::Regex;
        let help = if in_escaped_string { help.replace('\\', "\\\\") } else { help.into() };
        self.diagnostics.push(diagnostic.at(span).help(help));
    }

    /// The terminal of `except!`; an empty sequence, with a report, if its argument is invalid.
    fn except(
        &mut self,
        exception: &'a Exception,
        tokens: Option<u32>,
        span: Span,
    ) -> Result<NodeId, LimitExceeded> {
        let (term, argument) = match exception {
            Exception::Strings(strings) => {
                let quoted: Vec<String> = strings.iter().map(|(bytes, _)| quote_bytes(bytes)).collect();
                (self.without_strings(strings), quoted.join(" | "))
            }
            Exception::Symbol(name) => (self.without_symbol(*name)?, self.ast.text(*name).into()),
        };
        let Some(term) = term else { return Ok(self.builder.sequence(Vec::new(), span)) };
        Ok(match tokens {
            None => self.builder.terminal(Terminal::Regular(term), &format!("except!({argument})"), span),
            Some(tokens) => {
                let label = format!("except!({argument}, {tokens})");
                self.builder.terminal(Terminal::Limited { term, tokens }, &label, span)
            }
        })
    }

    /// A reference to a rule for `limit!`, which is defined when all other rules are.
    fn limit(&mut self, symbol: Span, tokens: u32, span: Span) -> NodeId {
        let name = format!("{}.{tokens}_tokens", self.ast.text(symbol));
        let rule = self.builder.fresh_nonterminal(&name, span);
        self.limited.push(LimitedSymbol { rule, symbol, tokens, span });
        self.builder.reference(rule, span)
    }

    /// Defines the rules for `limit!`.
    fn define_limited_symbols(&mut self) {
        let mut languages = RuleLanguages::new(&self.builder);
        for LimitedSymbol { rule, symbol, tokens, span } in std::mem::take(&mut self.limited) {
            let inner = self.builder.nonterminal(self.ast.text(symbol), symbol);
            match languages.of_rule(&mut self.builder, inner, &mut |_, _, term| Ok(term)) {
                Ok(term) => {
                    let label = format!("limit!({}, {tokens})", self.ast.text(symbol));
                    let body = self.builder.terminal(Terminal::Limited { term, tokens }, &label, span);
                    self.builder.define(rule, body, span);
                }
                // Reported where references are checked, unless the text has syntax errors.
                Err(NotRegular::Undefined) => {}
                Err(reason) => {
                    let name = self.ast.text(symbol);
                    let message = format!("`{name}` has a limit but is not a regular language");
                    let help = format!("{}; limit the symbols that it refers to", reason.reason());
                    self.diagnostics
                        .push(Diagnostic::error(Code::UnsupportedGrammar, message).at(symbol).help(help));
                }
            }
        }
    }

    fn without_strings(&mut self, strings: &[(Box<[u8]>, Span)]) -> Option<TermId> {
        let mut is_valid = true;
        for (bytes, span) in strings {
            if bytes.is_empty() {
                is_valid = false;
                self.diagnostics.push(
                    Diagnostic::error(Code::InvalidException, "every text contains the empty string")
                        .at(*span)
                        .help("remove it; for any text write #\"(?s).+\""),
                );
            }
        }
        let literals: Vec<&[u8]> = strings.iter().map(|(bytes, _)| &**bytes).collect();
        is_valid.then(|| self.without_literals(&literals))
    }

    fn without_symbol(&mut self, symbol: Span) -> Result<Option<TermId>, LimitExceeded> {
        let name = self.ast.text(symbol);
        if let Some(&term) = self.expanded.get(name) {
            return Ok(term);
        }
        let Expansion { strings, visited } = expand(self.ast, &self.symbols, symbol);
        self.expansion_size += visited;
        if self.expansion_size > self.limits.grammar_size {
            return Err(LimitExceeded::new("grammar_size", self.limits.grammar_size));
        }
        let term = match strings {
            Ok(strings) => Some(self.without_literals(&strings)),
            Err(diagnostic) => {
                self.diagnostics.extend(diagnostic.map(|boxed| *boxed));
                None
            }
        };
        self.expanded.insert(name, term);
        Ok(term)
    }

    /// The nonempty texts that contain none of `literals`.
    fn without_literals(&mut self, literals: &[&[u8]]) -> TermId {
        let terms = self.builder.terms();
        let literals = terms.literals(literals);
        terms.without_match(literals)
    }
}

/// The notation of a token reference.
fn token_label(reference: &TokenReference) -> String {
    match reference {
        TokenReference::Id(id) => format!("<[{id}]>"),
        TokenReference::Written(text) => format!("<{}>", quote_text(text)),
        TokenReference::Name(name) if name.strip_prefix('<').is_some_and(is_plain_token_name) => name.clone(),
        TokenReference::Name(name) => format!("<{}>", quote_text(name)),
    }
}

/// The notation of a pattern on one line.
fn pattern_label(pattern: &PatternLiteral) -> String {
    let form = match pattern.form {
        PatternForm::Whole => "#",
        PatternForm::FirstMatch => "#e",
        PatternForm::WithoutMatch => "#ex",
        PatternForm::Substrings => "#substrs",
    };
    format!("{form}{}", quote_text(&pattern.text))
}
