//! Turns a syntax tree into a [`Grammar`], and reports what is wrong with its symbols, regexes and exceptions.
//!
//! The arena of the tree already has children before parents, as the grammar wants them, so this is one loop. Equal
//! regexes are compiled once.

use rustc_hash::{FxHashMap, FxHashSet};

use super::ast::{Ast, Bracket, Exception, Expression, ExpressionId, Pattern, PatternForm};
use super::escape::{Style, locate};
use super::exception::{Expansion, Symbols, expand};
use super::scan::{MOST_DIAGNOSTICS, is_plain_token_name};
use grammask_automata::{TermId, regex};
use grammask_diagnostics::{Code, Deadline, Diagnostic, LimitExceeded, Limits, Severity, Span, closest};
use grammask_grammar::{Grammar, GrammarBuilder, NodeId, Terminal, TokenReference, quote_bytes, quote_text};

/// Memory that the automaton of all parts of a text takes for each byte of the text, about: at most two states and three
/// transitions.
const BYTES_PER_SUBSTRING_BYTE: usize = 48;

/// Builds the grammar of `ast` with start symbol `start`, if nothing is wrong with it.
///
/// `complete` says whether the tree is of the whole text: if not, symbols that have no definition are not reported.
pub(super) fn translate(
    ast: &Ast,
    start: &str,
    complete: bool,
    limits: &Limits,
) -> (Option<Grammar>, Vec<Diagnostic>) {
    let mut translation = Translation {
        ast,
        symbols: Symbols::of(ast),
        builder: GrammarBuilder::new(&ast.source),
        limits,
        deadline: Deadline::after(limits.time),
        compiled: FxHashMap::default(),
        expanded: FxHashMap::default(),
        expansion_size: 0,
        diagnostics: Vec::new(),
    };
    if complete {
        translation.check_start(start);
        translation.check_references();
    }
    for definition in &ast.definitions {
        translation.builder.nonterminal(ast.text(definition.name), definition.name);
    }
    let nodes = translation.nodes();
    for definition in &ast.definitions {
        let lhs = translation.builder.nonterminal(ast.text(definition.name), definition.name);
        if let Some(&body) = nodes.get(definition.body.index()) {
            translation.builder.define(lhs, body, definition.span);
        }
    }
    let Translation { mut builder, diagnostics, .. } = translation;
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        return (None, diagnostics);
    }
    let start = builder.nonterminal(start, Span::default());
    (Some(builder.finish(start)), diagnostics)
}

struct Translation<'a> {
    ast: &'a Ast,
    symbols: Symbols<'a>,
    builder: GrammarBuilder,
    limits: &'a Limits,
    deadline: Deadline,
    /// Patterns that were compiled; nothing if they are wrong.
    compiled: FxHashMap<(PatternForm, &'a str), Option<TermId>>,
    /// Symbols that were expanded for `except!`; nothing if they cannot be.
    expanded: FxHashMap<&'a str, Option<TermId>>,
    /// Expressions visited by all expansions; a budget, since many may visit the same definitions.
    expansion_size: usize,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Translation<'a> {
    /// Reports a start symbol that is not defined.
    fn check_start(&mut self, start: &str) {
        if self.symbols.defines(start) {
            return;
        }
        let mut diagnostic =
            Diagnostic::error(Code::MissingStart, format!("the start symbol `{start}` is not defined"));
        let known = self.ast.definitions.iter().map(|definition| self.ast.text(definition.name));
        let close = closest(start, known);
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

    /// Reports every symbol that is used and never defined, at its first use.
    fn check_references(&mut self) {
        let ast = self.ast;
        let mut uses: Vec<Span> = Vec::new();
        for id in ast.reachable(ast.definitions.iter().map(|definition| definition.body)) {
            match ast.expression(id) {
                Expression::Reference => uses.push(ast.span(id)),
                Expression::Except { exception: Exception::Symbol(name), .. } => uses.push(*name),
                _ => {}
            }
        }
        // The parser has reported what is not a name.
        let is_name = |name: &str| {
            name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
                && !name.starts_with(|c: char| c.is_ascii_digit())
        };
        uses.retain(|&name| is_name(ast.text(name)) && !self.symbols.defines(ast.text(name)));
        uses.sort_unstable();
        let mut reported: FxHashSet<&str> = FxHashSet::default();
        for span in uses {
            let name = ast.text(span);
            if reported.len() >= MOST_DIAGNOSTICS || !reported.insert(name) {
                continue;
            }
            // Names are compared in the order of the text, so that the suggestion does not depend on hashing.
            let known = ast.definitions.iter().map(|definition| ast.text(definition.name));
            let help = match closest(name, known) {
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

    /// The node of each expression, in order; fewer, with a report, if a limit was passed.
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

    /// The terminal of a `#` form; an empty sequence, with a report, if the regex is wrong.
    fn pattern(&mut self, pattern: &'a Pattern, span: Span) -> Result<NodeId, LimitExceeded> {
        let key = (pattern.form, &*pattern.text);
        let term = match self.compiled.get(&key) {
            Some(&term) => term,
            None => {
                self.deadline.check()?;
                let bytes = pattern.text.len().saturating_mul(BYTES_PER_SUBSTRING_BYTE);
                if pattern.form == PatternForm::Substrings && bytes > self.limits.memory_bytes {
                    return Err(LimitExceeded::new("memory_bytes", self.limits.memory_bytes));
                }
                let term = self.compile(pattern);
                self.compiled.insert(key, term);
                term
            }
        };
        let Some(term) = term else { return Ok(self.builder.sequence(Vec::new(), span)) };
        let written = self.ast.text(span);
        let label =
            if written.chars().any(char::is_control) { pattern_label(pattern) } else { written.into() };
        Ok(self.builder.terminal(Terminal::Regular(term), &label, span))
    }

    fn compile(&mut self, pattern: &Pattern) -> Option<TermId> {
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
                let span = locate(&self.ast.source, pattern.content, pattern.style, error.span());
                let mut diagnostic = Diagnostic::error(error.code(), error.message()).at(span);
                let help = error.help().unwrap_or("the syntax is that of the Rust crate `regex`");
                // What to write in the regex is written twice where the escape layer comes first.
                let doubled = pattern.style == Style::Regex;
                diagnostic.help = Some(if doubled { help.replace('\\', "\\\\") } else { help.into() });
                self.diagnostics.push(diagnostic);
            })
            .ok()
    }

    /// The terminal of `except!`; an empty sequence, with a report, if its argument is wrong.
    fn except(
        &mut self,
        exception: &'a Exception,
        tokens: Option<u32>,
        span: Span,
    ) -> Result<NodeId, LimitExceeded> {
        let (term, argument) = match exception {
            Exception::Strings(strings) => {
                let written: Vec<String> = strings.iter().map(|(bytes, _)| quote_bytes(bytes)).collect();
                (self.without_strings(strings), written.join(" | "))
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

    fn without_strings(&mut self, strings: &[(Box<[u8]>, Span)]) -> Option<TermId> {
        let mut sound = true;
        for (bytes, place) in strings {
            if bytes.is_empty() {
                sound = false;
                self.diagnostics.push(
                    Diagnostic::error(Code::InvalidException, "every text contains the empty string")
                        .at(*place)
                        .help("remove it; for any text write #\"(?s).+\""),
                );
            }
        }
        let words: Vec<&[u8]> = strings.iter().map(|(bytes, _)| &**bytes).collect();
        sound.then(|| self.without_words(&words))
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
            Ok(strings) => Some(self.without_words(&strings)),
            Err(diagnostic) => {
                self.diagnostics.extend(diagnostic.map(|boxed| *boxed));
                None
            }
        };
        self.expanded.insert(name, term);
        Ok(term)
    }

    /// The nonempty texts that contain none of `words`.
    fn without_words(&mut self, words: &[&[u8]]) -> TermId {
        let terms = self.builder.terms();
        let words = terms.literals(words);
        terms.without_match(words)
    }
}

/// How a token reference is written.
fn token_label(reference: &TokenReference) -> String {
    match reference {
        TokenReference::Id(id) => format!("<[{id}]>"),
        TokenReference::Written(text) => format!("<{}>", quote_text(text)),
        TokenReference::Name(name) if name.strip_prefix('<').is_some_and(is_plain_token_name) => name.clone(),
        TokenReference::Name(name) => format!("<{}>", quote_text(name)),
    }
}

/// A pattern on one line, whatever it was written like.
fn pattern_label(pattern: &Pattern) -> String {
    let form = match pattern.form {
        PatternForm::Whole => "#",
        PatternForm::FirstMatch => "#e",
        PatternForm::WithoutMatch => "#ex",
        PatternForm::Substrings => "#substrs",
    };
    format!("{form}{}", quote_text(&pattern.text))
}
