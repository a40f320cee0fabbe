//! Parses a KBNF source to a tree, without recursion and with error recovery.
//!
//! The grammar of grammars (white space and comments are allowed between all tokens):
//!
//! ```text
//! text        = { definition | directive };
//! definition  = NAME ("::=" | "=") choice ";";
//! choice      = sequence { "|" sequence };
//! sequence    = item { [","] item };
//! item        = primary ["?" | "*" | "+" | "{" BOUNDS "}"];
//! primary     = STRING | PATTERN | TOKEN | NAME | "any!" | except | limit | same | binding
//!             | "(" choice ")" | "[" choice "]" | "{" choice "}";
//! except      = "except!" "(" (NAME | STRING { "|" STRING }) ["," NUMBER] ")";
//! limit       = "limit!" "(" NAME "," NUMBER ")";
//! same        = "same!" "(" NAME ")";
//! binding     = ("bind!" | "other!" | "without_prefix!") "(" NAME "," choice ")";
//! directive   = "%" NAME { NAME [","] } [NUMBER] ";";
//! ```
//!
//! Directives are parsed for grammars with a lexer only. Open brackets are frames on an explicit stack. After an
//! unexpected token the parser resumes at the next `|`, `;`, closing bracket or definition, so each alternative reports
//! at most one syntax error.

use std::sync::Arc;

use super::ast::{Ast, Bracket, Exception, Expression, ExpressionId, KbnfDefinition, PatternLiteral};
use super::describe::{advice, describe, shorten};
use super::escape::{QuoteStyle, decode_bytes, decode_text};
use super::scan::{KbnfScanner, KbnfToken, KbnfTokenKind};
use grammask_diagnostics::{Code, Diagnostic, LimitExceeded, Limits, Span};
use grammask_grammar::directives::{Directive, DirectiveMode};
use grammask_grammar::{BindingKind, TokenReference, directives};

/// The tree of a source as far as it could be parsed, and its diagnostics.
#[derive(Debug)]
pub struct ParseOutput {
    /// The tree; malformed parts are [`Expression::Error`].
    pub ast: Ast,
    /// Errors and warnings, in source order.
    pub diagnostics: Vec<Diagnostic>,
    /// The directives for the lexer, if they were to be parsed.
    pub directives: Vec<Directive>,
    /// Whether the whole source was read; if not, a definition may exist although it is not in the tree.
    pub(super) complete: bool,
}

impl ParseOutput {
    /// The output for a source of `length` bytes, which exceeds the limit.
    pub(super) fn too_long(length: usize, limits: &Limits) -> Self {
        let limit = LimitExceeded::new("grammar_bytes", limits.grammar_bytes);
        let ast = Ast {
            source: Arc::from(""),
            definitions: Vec::new(),
            expressions: Vec::new(),
            spans: Vec::new(),
        };
        let diagnostic = limit.diagnostic().found(format!("a text of {length} bytes"));
        Self { ast, diagnostics: vec![diagnostic], directives: Vec::new(), complete: false }
    }
}

/// Parses `source`, in which invalid UTF-8 was replaced with U+FFFD at the spans `invalid`.
pub(super) fn parse_text(
    source: &Arc<str>,
    invalid: &[Span],
    mode: DirectiveMode,
    max_expressions: usize,
) -> ParseOutput {
    let mut scanner = KbnfScanner::new(source, invalid, mode);
    let token = scanner.next();
    let following = scanner.next();
    let ast =
        Ast { source: source.clone(), definitions: Vec::new(), expressions: Vec::new(), spans: Vec::new() };
    let directives = Vec::new();
    let mut parser =
        KbnfParser { scanner, token, following, previous_end: 0, ast, directives, max_expressions };
    while parser.token.kind != KbnfTokenKind::End {
        parser.top_level();
    }
    let complete = !parser.scanner.stopped();
    let KbnfParser { scanner, ast, directives, .. } = parser;
    ParseOutput { ast, diagnostics: scanner.into_diagnostics(), directives, complete }
}

struct KbnfParser<'s> {
    scanner: KbnfScanner<'s>,
    token: KbnfToken,
    /// The token after [`KbnfParser::token`].
    following: KbnfToken,
    /// End of the last consumed token.
    previous_end: usize,
    ast: Ast,
    directives: Vec<Directive>,
    max_expressions: usize,
}

/// A binding whose operand is being parsed.
struct KbnfBinding {
    kind: BindingKind,
    name: Span,
    /// Where the binding begins.
    start: Span,
}

/// An open bracket, or the body of a definition (without a bracket).
struct KbnfFrame {
    bracket: Option<(Bracket, Span)>,
    /// The binding whose operand the bracket contains.
    binding: Option<KbnfBinding>,
    alternatives: Vec<ExpressionId>,
    items: Vec<ExpressionId>,
    /// A comma without its right operand so far.
    comma: Option<Span>,
    /// Whether an error was reported in the current alternative, which then may be empty without another error.
    has_error: bool,
}

impl KbnfFrame {
    fn new(bracket: Option<(Bracket, Span)>) -> Self {
        Self {
            bracket,
            binding: None,
            alternatives: Vec::new(),
            items: Vec::new(),
            comma: None,
            has_error: false,
        }
    }
}

/// The stack of frames of one body.
struct FrameStack {
    top: KbnfFrame,
    outer: Vec<KbnfFrame>,
    /// Number of open brackets of each kind.
    open: [usize; 3],
}

/// Advice on `*)` outside of comments.
const NO_NESTED_COMMENTS: &str = "comments do not nest: the first `*)` ends them all";

/// The notation of a definition.
const DEFINITION: &str = "a definition is written `name ::= ...;`";

/// The notation of a limit.
const LIMIT: &str = "write `limit!(symbol, 20)`, with the most tokens of the text";
/// The notation of the bound text.
const SAME: &str = "write `same!(name)` with the name of a text that `bind!` has bound";
/// The notation of bindings with an operand.
const BINDING: &str = "write `bind!(name, part)`, `other!(name, part)` or `without_prefix!(name, part)`";
/// The notation of an exception.
const EXCEPTION: &str =
    "write `except!(\"a\" | \"b\")` or `except!(symbol)`, with the most tokens `except!(\"a\", 5)`";

/// The tokens that can begin an expression.
const PRIMARIES: [&str; 5] = ["a terminal", "a symbol", "`(`", "`[`", "`{`"];

impl<'s> KbnfParser<'s> {
    fn advance(&mut self) -> KbnfToken {
        let token = self.token;
        self.previous_end = token.span.end;
        self.token = self.following;
        self.following = self.scanner.next();
        token
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        // After the scanner has stopped, tokens that seem to be missing may exist in the unread source.
        if !(self.scanner.stopped() && self.token.kind == KbnfTokenKind::End) {
            self.scanner.report(diagnostic);
        }
    }

    fn text(&self, span: Span) -> &'s str {
        self.scanner.text(span)
    }

    fn add(&mut self, expression: Expression, span: Span) -> ExpressionId {
        if self.ast.expressions.len() >= self.max_expressions {
            let limit = LimitExceeded::new("grammar_size", self.max_expressions);
            self.scanner.stop(limit.diagnostic().at(span));
        }
        self.ast.expressions.push(expression);
        self.ast.spans.push(span);
        ExpressionId::new(self.ast.expressions.len() - 1)
    }

    /// Whether a definition begins at the current token; a misspelled `::=` counts at the start of a line.
    fn at_definition(&self) -> bool {
        if self.token.kind != KbnfTokenKind::Identifier {
            return false;
        }
        match self.following.kind {
            KbnfTokenKind::Define => true,
            KbnfTokenKind::DefineSlip => {
                let before = self.scanner.source()[..self.token.span.start].trim_end_matches([' ', '\t']);
                before.is_empty() || before.ends_with('\n')
            }
            _ => false,
        }
    }

    /// Parses a definition or a directive, or skips to the next one after an error.
    fn top_level(&mut self) {
        match self.token.kind {
            KbnfTokenKind::Identifier => self.definition(),
            KbnfTokenKind::Directive => self.directive(),
            KbnfTokenKind::Semicolon => {
                let span = self.advance().span;
                self.report(
                    Diagnostic::error(Code::UnexpectedInput, "there is nothing before this semicolon")
                        .at(span)
                        .found("`;`")
                        .expected(["a definition"])
                        .help("remove it: a definition ends with one `;`"),
                );
            }
            kind => {
                if kind != KbnfTokenKind::Broken {
                    self.unexpected("a definition must stand here", &["a definition"], DEFINITION);
                }
                if kind == KbnfTokenKind::Unknown && self.text(self.token.span).starts_with('%') {
                    // The token covers the whole line.
                    self.advance();
                    return;
                }
                self.skip_definition();
            }
        }
    }

    /// Skips the next semicolon, or stops before a token that begins something else.
    fn skip_definition(&mut self) {
        while !matches!(
            self.token.kind,
            KbnfTokenKind::End | KbnfTokenKind::Semicolon | KbnfTokenKind::Directive
        ) && !self.at_definition()
        {
            self.advance();
        }
        if self.token.kind == KbnfTokenKind::Semicolon {
            self.advance();
        }
    }

    /// `%name a b 1;`
    fn directive(&mut self) {
        let keyword = self.advance().span;
        let mut words: Vec<(&'s str, Span)> = Vec::new();
        loop {
            let KbnfToken { kind, span } = self.token;
            match kind {
                KbnfTokenKind::Identifier if !self.at_definition() => words.push((self.text(span), span)),
                KbnfTokenKind::Number => words.push((self.text(span), span)),
                KbnfTokenKind::Comma if !words.is_empty() => {}
                KbnfTokenKind::Unknown
                    if self.text(span) == "-" && self.following.kind == KbnfTokenKind::Number =>
                {
                    self.advance();
                    let span = span.to(self.token.span);
                    words.push((self.text(span), span));
                }
                KbnfTokenKind::Semicolon => {
                    self.advance();
                    break;
                }
                _ => {
                    self.unexpected(
                        "a directive lists symbols, and ends with `;`",
                        &["a symbol", "`;`"],
                        "write `%terminal NAME, NUMBER;`",
                    );
                    self.skip_definition();
                    return;
                }
            }
            self.advance();
        }
        match directives::parse(self.text(keyword), keyword, &words) {
            Ok(read) => self.directives.extend(read),
            Err(diagnostic) => self.report(*diagnostic),
        }
    }

    /// `name ::= body;`
    fn definition(&mut self) {
        let name = self.advance().span;
        let shown = shorten(self.text(name));
        match self.token.kind {
            KbnfTokenKind::Define => {
                self.advance();
            }
            KbnfTokenKind::DefineSlip => {
                let span = self.advance().span;
                self.report(
                    Diagnostic::error(
                        Code::UnexpectedInput,
                        format!("`{}` does not define", self.text(span)),
                    )
                    .at(span)
                    .found(format!("`{}`", self.text(span)))
                    .expected(["`::=`", "`=`"])
                    .help("write `::=`"),
                );
            }
            _ => {
                let message = format!("the name `{shown}` begins a definition, which needs `::=`");
                self.unexpected(&message, &["`::=`", "`=`"], DEFINITION);
                let body = self.add(Expression::Error, name);
                self.ast.definitions.push(KbnfDefinition { name, body, span: name });
                self.skip_definition();
                return;
            }
        }
        let body = self.body(&shown);
        let span = Span::new(name.start, self.previous_end);
        self.ast.definitions.push(KbnfDefinition { name, body, span });
    }

    /// Parses the right-hand side of `name` and its semicolon.
    fn body(&mut self, name: &str) -> ExpressionId {
        let mut frames = FrameStack { top: KbnfFrame::new(None), outer: Vec::new(), open: [0; 3] };
        loop {
            match self.token.kind {
                KbnfTokenKind::End | KbnfTokenKind::Semicolon | KbnfTokenKind::Directive => break,
                _ if self.at_definition() => break,
                KbnfTokenKind::Open(bracket) => {
                    let span = self.advance().span;
                    frames.open[bracket as usize] += 1;
                    let outer = std::mem::replace(&mut frames.top, KbnfFrame::new(Some((bracket, span))));
                    frames.outer.push(outer);
                }
                KbnfTokenKind::Binding(kind) => self.binding(&mut frames, kind),
                KbnfTokenKind::Close(bracket) => self.close(&mut frames, bracket),
                KbnfTokenKind::Bar => {
                    self.end_alternative(&mut frames.top);
                    self.advance();
                }
                KbnfTokenKind::Comma => self.comma(&mut frames.top),
                KbnfTokenKind::Postfix(_) => self.stray_postfix(),
                _ => match self.primary() {
                    Some(item) => self.push_item(&mut frames.top, item),
                    None => self.recover(&mut frames.top),
                },
            }
        }
        self.end_body(frames, name)
    }

    /// Closes all frames at the end of a body and consumes the semicolon.
    fn end_body(&mut self, mut frames: FrameStack, name: &str) -> ExpressionId {
        let unclosed = !frames.outer.is_empty();
        while !frames.outer.is_empty() {
            self.close_unclosed(&mut frames);
        }
        let empty =
            frames.top.items.is_empty() && frames.top.alternatives.is_empty() && !frames.top.has_error;
        if empty && frames.top.comma.is_none() {
            frames.top.has_error = true;
            let diagnostic =
                Diagnostic::error(Code::UnexpectedInput, format!("the definition of `{name}` is empty"))
                    .at(self.token.span)
                    .found(describe(self.token.kind, self.text(self.token.span)))
                    .expected(PRIMARIES)
                    .help("write \"\" for the empty text");
            self.report(diagnostic);
        }
        let body = self.end_choice(&mut frames.top);
        if self.token.kind == KbnfTokenKind::Semicolon {
            self.advance();
        } else if !unclosed && !empty {
            let help = if self.token.kind == KbnfTokenKind::End {
                "end the definition with `;`".into()
            } else {
                format!(
                    "end the definition with `;` before `{}` is defined",
                    shorten(self.text(self.token.span))
                )
            };
            let diagnostic =
                Diagnostic::error(Code::UnexpectedInput, format!("the definition of `{name}` has no `;`"))
                    .at(Span::new(self.previous_end, self.previous_end))
                    .found(describe(self.token.kind, self.text(self.token.span)))
                    .expected(["`;`"])
                    .help(help);
            self.report(diagnostic);
        }
        body
    }

    /// Adds `item`, with the postfix operator that follows it, to an alternative.
    fn push_item(&mut self, frame: &mut KbnfFrame, item: ExpressionId) {
        let mut item = item;
        let mut operators = 0;
        while let KbnfTokenKind::Postfix(operator) = self.token.kind {
            let token = self.advance();
            operators += 1;
            if operators == 2 {
                let span = self.ast.span(item).to(token.span);
                let operand = shorten(self.text(self.ast.span(item)));
                let operator = self.text(token.span);
                self.report(
                    Diagnostic::error(Code::UnexpectedInput, "one operator follows another")
                        .at(token.span)
                        .found(format!("`{}`", shorten(self.text(span))))
                        .help(format!("put the first one in brackets: `({operand}){operator}`")),
                );
            }
            let span = self.ast.span(item).to(token.span);
            item = self.add(Expression::Postfix { operand: item, operator }, span);
        }
        frame.comma = None;
        frame.items.push(item);
    }

    /// Parses an expression without brackets and operators. `None`, without a report, if none begins here.
    fn primary(&mut self) -> Option<ExpressionId> {
        let token = self.token;
        let source = self.scanner.source();
        let mut diagnostics = Vec::new();
        let expression = match token.kind {
            KbnfTokenKind::Identifier => Expression::Reference,
            KbnfTokenKind::Any => Expression::AnyToken,
            KbnfTokenKind::Broken => Expression::Error,
            KbnfTokenKind::Quoted { content } => Expression::Literal(
                decode_bytes(source, content, &mut |diagnostic| diagnostics.push(diagnostic)).into(),
            ),
            KbnfTokenKind::Pattern { form, style, content } => {
                let text =
                    decode_text(source, content, style, &mut |diagnostic| diagnostics.push(diagnostic));
                Expression::Pattern(PatternLiteral { form, text: text.into(), content, style })
            }
            KbnfTokenKind::TokenName => Expression::Token(TokenReference::Name(self.text(token.span).into())),
            KbnfTokenKind::TokenId(id) => Expression::Token(TokenReference::Id(id)),
            KbnfTokenKind::TokenQuoted { content } => {
                let name = decode_text(source, content, QuoteStyle::Text, &mut |diagnostic| {
                    diagnostics.push(diagnostic)
                });
                if name.is_empty() && diagnostics.is_empty() {
                    diagnostics.push(
                        Diagnostic::error(Code::InvalidTokenReference, "the name of a token is empty")
                            .at(token.span)
                            .help("write the token's name, or its id as `<[123]>`"),
                    );
                }
                Expression::Token(TokenReference::Name(name))
            }
            KbnfTokenKind::Except => {
                self.advance();
                return Some(self.except(token.span));
            }
            KbnfTokenKind::Limit => {
                self.advance();
                return Some(self.limit(token.span));
            }
            _ => return None,
        };
        for diagnostic in diagnostics {
            self.report(diagnostic);
        }
        self.advance();
        let called =
            self.token.kind == KbnfTokenKind::Open(Bracket::Round) && self.token.span.start == token.span.end;
        if token.kind == KbnfTokenKind::Broken && called {
            self.advance();
            self.skip_arguments();
        }
        Some(self.add(expression, token.span))
    }

    /// Parses the arguments of `except!`.
    fn except(&mut self, start: Span) -> ExpressionId {
        let result = self.except_arguments();
        let expression = match result {
            Some((exception, tokens)) => Expression::Except { exception, tokens },
            None => Expression::Error,
        };
        self.add(expression, Span::new(start.start, self.previous_end))
    }

    /// Parses the arguments of `limit!`.
    fn limit(&mut self, start: Span) -> ExpressionId {
        let open = KbnfTokenKind::Open(Bracket::Round);
        let is_open = self.expect(open, "`limit!` needs its arguments in brackets", "`(`", LIMIT);
        let arguments = is_open.and_then(|_| {
            let arguments = self.limit_arguments();
            if arguments.is_none() {
                self.skip_arguments();
            }
            arguments
        });
        let limit = |(symbol, tokens)| Expression::Limit { symbol, tokens };
        self.add(arguments.map_or(Expression::Error, limit), Span::new(start.start, self.previous_end))
    }

    /// Parses `same!(name)`, or the beginning of a binding up to its operand, for which it opens a frame.
    fn binding(&mut self, frames: &mut FrameStack, kind: BindingKind) {
        let start = self.advance().span;
        let open = KbnfTokenKind::Open(Bracket::Round);
        let notation = if kind == BindingKind::Same { SAME } else { BINDING };
        let opened = self.expect(open, "a binding needs its arguments in brackets", "`(`", notation);
        let bracket = opened.map(|open| open.span);
        let name = bracket.and_then(|bracket| {
            let name =
                self.expect(KbnfTokenKind::Identifier, "a binding takes a name", "a name", notation)?.span;
            let (next, message, expected) = match kind {
                BindingKind::Same => (
                    KbnfTokenKind::Close(Bracket::Round),
                    "the name of a bound text is the only argument",
                    "`)`",
                ),
                _ => (KbnfTokenKind::Comma, "a binding takes a part of the text after its name", "`,`"),
            };
            self.expect(next, message, expected, notation)?;
            Some((bracket, name))
        });
        match name {
            Some((bracket, name)) if kind != BindingKind::Same => {
                frames.open[Bracket::Round as usize] += 1;
                let binding = Some(KbnfBinding { kind, name, start });
                let operand = KbnfFrame { binding, ..KbnfFrame::new(Some((Bracket::Round, bracket))) };
                let outer = std::mem::replace(&mut frames.top, operand);
                frames.outer.push(outer);
            }
            Some((_, name)) => {
                let span = Span::new(start.start, self.previous_end);
                let item = self.add(Expression::Binding { kind, name, operand: None }, span);
                self.push_item(&mut frames.top, item);
            }
            None => {
                if bracket.is_some() {
                    self.skip_arguments();
                }
                let item = self.add(Expression::Error, Span::new(start.start, self.previous_end));
                self.push_item(&mut frames.top, item);
            }
        }
    }

    /// Parses a symbol, the number of tokens, and the closing bracket.
    fn limit_arguments(&mut self) -> Option<(Span, u32)> {
        let symbol = self.expect(KbnfTokenKind::Identifier, "`limit!` takes a symbol", "a symbol", LIMIT)?;
        self.expect(KbnfTokenKind::Comma, "`limit!` takes a number of tokens", "`,`", LIMIT)?;
        let tokens = self.max_tokens(LIMIT)?;
        self.expect(
            KbnfTokenKind::Close(Bracket::Round),
            "the arguments of `limit!` end with a bracket",
            "`)`",
            LIMIT,
        )?;
        Some((symbol.span, tokens.unwrap_or(1)))
    }

    /// Parses a number of tokens; `Some(None)`, with a report, if it is out of range.
    fn max_tokens(&mut self, notation: &'static str) -> Option<Option<u32>> {
        let span = self.token.span;
        self.expect(
            KbnfTokenKind::Number,
            "after the comma stands the most tokens the text may have",
            "a number",
            notation,
        )?;
        Some(match self.text(span).parse() {
            Ok(number @ 1..) => Some(number),
            _ => {
                self.report(
                    Diagnostic::error(
                        Code::InvalidException,
                        "the number of tokens is not between 1 and 4294967295",
                    )
                    .at(span)
                    .found(format!("`{}`", shorten(self.text(span))))
                    .help("leave the number out for any number of tokens"),
                );
                None
            }
        })
    }

    /// Skips the closing round bracket of the innermost open one.
    fn skip_arguments(&mut self) {
        let mut depth = 0usize;
        while !matches!(self.token.kind, KbnfTokenKind::End | KbnfTokenKind::Semicolon)
            && !self.at_definition()
        {
            match self.advance().kind {
                KbnfTokenKind::Open(Bracket::Round) => depth += 1,
                KbnfTokenKind::Close(Bracket::Round) if depth == 0 => return,
                KbnfTokenKind::Close(Bracket::Round) => depth -= 1,
                _ => {}
            }
        }
    }

    /// Parses the arguments of `except!` with their brackets. `None`, with a report, if they are malformed.
    fn except_arguments(&mut self) -> Option<(Exception, Option<u32>)> {
        let open = KbnfTokenKind::Open(Bracket::Round);
        self.expect(open, "`except!` needs its arguments in brackets", "`(`", EXCEPTION)?;
        let arguments = self.exception();
        if arguments.is_none() {
            self.skip_arguments();
        }
        arguments
    }

    /// Parses `NAME` or `"a" | "b"`, the optional number of tokens, and the closing bracket.
    fn exception(&mut self) -> Option<(Exception, Option<u32>)> {
        let exception = if self.token.kind == KbnfTokenKind::Identifier {
            Exception::Symbol(self.advance().span)
        } else {
            let mut strings = Vec::new();
            loop {
                let KbnfTokenKind::Quoted { content } = self.token.kind else {
                    self.unexpected(
                        "`except!` takes strings or a symbol",
                        &["a string", "a symbol"],
                        EXCEPTION,
                    );
                    return None;
                };
                let mut diagnostics = Vec::new();
                let bytes = decode_bytes(self.scanner.source(), content, &mut |diagnostic| {
                    diagnostics.push(diagnostic)
                });
                for diagnostic in diagnostics {
                    self.report(diagnostic);
                }
                strings.push((bytes.into(), self.advance().span));
                if self.token.kind != KbnfTokenKind::Bar {
                    break;
                }
                self.advance();
            }
            Exception::Strings(strings.into())
        };
        let mut tokens = None;
        if self.token.kind == KbnfTokenKind::Comma {
            self.advance();
            tokens = self.max_tokens(EXCEPTION)?;
        }
        self.expect(
            KbnfTokenKind::Close(Bracket::Round),
            "the arguments of `except!` end with a bracket",
            "`)`",
            EXCEPTION,
        )?;
        Some((exception, tokens))
    }

    /// Consumes a token in the arguments of a name with `!`.
    fn expect(
        &mut self,
        kind: KbnfTokenKind,
        message: &str,
        expected: &str,
        notation: &'static str,
    ) -> Option<KbnfToken> {
        if self.token.kind == kind {
            return Some(self.advance());
        }
        self.unexpected(message, &[expected], notation);
        None
    }

    fn comma(&mut self, frame: &mut KbnfFrame) {
        let span = self.advance().span;
        if (frame.items.is_empty() || frame.comma.is_some()) && !frame.has_error {
            frame.has_error = true;
            self.report(
                Diagnostic::error(Code::UnexpectedInput, "there is nothing before this comma")
                    .at(span)
                    .found("`,`")
                    .expected(PRIMARIES)
                    .help("remove the comma: it stands between two expressions, and may be left out"),
            );
        }
        frame.comma = Some(span);
    }

    /// A postfix operator without an operand.
    fn stray_postfix(&mut self) {
        let token = self.advance();
        let text = shorten(self.text(token.span));
        let ends_comment = self.scanner.source()[token.span.start..].starts_with("*)");
        let (code, help) = match token.kind {
            KbnfTokenKind::Postfix(super::ast::Postfix::Bounds { .. }) => {
                (Code::InvalidRepetition, "write the bounds after what is repeated")
            }
            _ if ends_comment => (Code::UnexpectedInput, NO_NESTED_COMMENTS),
            _ => (Code::UnexpectedInput, "write the operator after what it applies to"),
        };
        self.report(
            Diagnostic::error(code, format!("there is nothing before `{text}`"))
                .at(token.span)
                .expected(PRIMARIES)
                .help(help),
        );
    }

    /// Ends the current alternative.
    fn end_alternative(&mut self, frame: &mut KbnfFrame) {
        let place = Span::new(self.token.span.start, self.token.span.start);
        if let Some(comma) = frame.comma.take()
            && !frame.has_error
        {
            frame.has_error = true;
            let diagnostic = Diagnostic::error(Code::UnexpectedInput, "there is nothing after this comma")
                .at(comma)
                .found(describe(self.token.kind, self.text(self.token.span)))
                .expected(PRIMARIES)
                .help("remove the comma: it stands between two expressions, and may be left out");
            self.report(diagnostic);
        }
        let items = std::mem::take(&mut frame.items);
        let alternative = match items[..] {
            [] => {
                if !frame.has_error {
                    let message = match frame.bracket {
                        Some((bracket, _))
                            if frame.alternatives.is_empty() && self.token.kind != KbnfTokenKind::Bar =>
                        {
                            format!("the brackets `{} {}` are empty", bracket.open(), bracket.close())
                        }
                        _ => "an alternative is empty".into(),
                    };
                    let diagnostic = Diagnostic::error(Code::UnexpectedInput, message)
                        .at(self.token.span)
                        .found(describe(self.token.kind, self.text(self.token.span)))
                        .expected(PRIMARIES)
                        .help("write \"\" for the empty text");
                    self.report(diagnostic);
                }
                self.add(Expression::Error, place)
            }
            [only] => only,
            [first, .., last] => {
                let span = self.ast.span(first).to(self.ast.span(last));
                self.add(Expression::Sequence(items.into()), span)
            }
        };
        frame.has_error = false;
        frame.alternatives.push(alternative);
    }

    /// Ends the last alternative and adds the expression of all.
    fn end_choice(&mut self, frame: &mut KbnfFrame) -> ExpressionId {
        self.end_alternative(frame);
        let alternatives = std::mem::take(&mut frame.alternatives);
        match alternatives[..] {
            [first, .., last] => {
                let span = self.ast.span(first).to(self.ast.span(last));
                self.add(Expression::Choice(alternatives.into()), span)
            }
            _ => alternatives[0],
        }
    }

    /// A closing bracket of the innermost frame, of an outer one, or of none.
    fn close(&mut self, frames: &mut FrameStack, bracket: Bracket) {
        if frames.open[bracket as usize] == 0 {
            let span = self.advance().span;
            let help = match frames.top.bracket {
                _ if self.scanner.source()[..span.end].ends_with("*)") => NO_NESTED_COMMENTS.into(),
                Some((open, _)) => format!(
                    "the innermost open bracket is `{}`, which `{}` closes",
                    open.open(),
                    open.close()
                ),
                None => format!("remove it, or write `{}` before", bracket.open()),
            };
            self.report(
                Diagnostic::error(Code::UnclosedBracket, format!("`{}` closes nothing", bracket.close()))
                    .at(span)
                    .help(help),
            );
            return;
        }
        while frames.top.bracket.is_some_and(|(open, _)| open != bracket) {
            self.close_unclosed(frames);
        }
        let body = self.end_choice(&mut frames.top);
        let end = self.advance().span;
        self.leave(frames, body, end);
    }

    /// Closes the innermost bracket, which has no closing token.
    fn close_unclosed(&mut self, frames: &mut FrameStack) {
        if let Some((bracket, span)) = frames.top.bracket {
            frames.top.has_error |= frames.top.items.is_empty();
            let diagnostic =
                Diagnostic::error(Code::UnclosedBracket, format!("`{}` is not closed", bracket.open()))
                    .at(span)
                    .found(describe(self.token.kind, self.text(self.token.span)))
                    .expected([format!("`{}`", bracket.close())])
                    .help(format!("write the `{}` that belongs to it", bracket.close()));
            self.report(diagnostic);
        }
        let body = self.end_choice(&mut frames.top);
        let end = Span::new(self.previous_end, self.previous_end);
        self.leave(frames, body, end);
    }

    /// Pops the innermost frame, whose body is complete.
    fn leave(&mut self, frames: &mut FrameStack, body: ExpressionId, end: Span) {
        let Some(outer) = frames.outer.pop() else { return };
        let inner = std::mem::replace(&mut frames.top, outer);
        if let Some((bracket, open)) = inner.bracket {
            frames.open[bracket as usize] -= 1;
            let item = match inner.binding {
                Some(KbnfBinding { kind, name, start }) => {
                    self.add(Expression::Binding { kind, name, operand: Some(body) }, start.to(end))
                }
                None => self.add(Expression::Bracketed { bracket, body }, open.to(end)),
            };
            self.push_item(&mut frames.top, item);
        }
    }

    /// Reports a token with which no expression begins, and skips to the next token at which parsing can resume.
    fn recover(&mut self, frame: &mut KbnfFrame) {
        if !frame.has_error {
            self.unexpected("this does not belong to an expression", &PRIMARIES, "write text in quotes");
        }
        frame.has_error = true;
        frame.comma = None;
        let mut depth = 0usize;
        // The token itself is skipped even if parsing could resume at it, which guarantees progress.
        self.advance();
        loop {
            match self.token.kind {
                KbnfTokenKind::End | KbnfTokenKind::Semicolon | KbnfTokenKind::Directive => break,
                KbnfTokenKind::Bar if depth == 0 => break,
                KbnfTokenKind::Close(_) if depth == 0 => break,
                KbnfTokenKind::Close(_) => depth -= 1,
                KbnfTokenKind::Open(_) => depth += 1,
                _ if self.at_definition() => break,
                _ => {}
            }
            self.advance();
        }
        let error = self.add(Expression::Error, Span::new(self.previous_end, self.previous_end));
        frame.items.push(error);
    }

    /// Reports the current token as unexpected.
    fn unexpected(&mut self, message: &str, expected: &[&str], help: &str) {
        let diagnostic = Diagnostic::error(Code::UnexpectedInput, message)
            .at(self.token.span)
            .found(describe(self.token.kind, self.text(self.token.span)))
            .expected(expected.iter().copied())
            .help(advice(self.token.kind, self.text(self.token.span)).unwrap_or(help));
        self.report(diagnostic);
    }
}
