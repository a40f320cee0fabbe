//! Parses a KBNF text into a tree, without recursion and without stopping at the first error.
//!
//! The grammar of grammars (blanks and comments may stand between all tokens):
//!
//! ```text
//! text        = { definition | directive };
//! definition  = NAME ("::=" | "=") choice ";";
//! choice      = sequence { "|" sequence };
//! sequence    = item { [","] item };
//! item        = primary ["?" | "*" | "+" | "{" BOUNDS "}"];
//! primary     = STRING | PATTERN | TOKEN | NAME | "any!" | except | "(" choice ")" | "[" choice "]" | "{" choice "}";
//! except      = "except!" "(" (NAME | STRING { "|" STRING }) ["," NUMBER] ")";
//! directive   = "%" NAME { NAME [","] } [NUMBER] ";";
//! ```
//!
//! Directives are read for grammars with a lexer only. Open brackets are frames on an explicit stack. After an unexpected token the parser goes on at the next `|`, `;`,
//! closing bracket or definition, so that each alternative reports at most one error of its own.

use std::sync::Arc;

use super::ast::{Ast, Bracket, Definition, Exception, Expression, ExpressionId, Pattern};
use super::describe::{advice, describe, shorten};
use super::escape::{Style, decode_bytes, decode_text};
use super::scan::{Kind, Scanner, Token};
use grammask_diagnostics::{Code, Diagnostic, LimitExceeded, Limits, Span};
use grammask_grammar::directives::{Directive, DirectiveMode};
use grammask_grammar::{TokenReference, directives};

/// What a text is made of, as far as it could be read, and what is wrong with it.
#[derive(Debug)]
pub struct Parsed {
    /// The tree; broken parts are [`Expression::Error`].
    pub ast: Ast,
    /// Errors and warnings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// What the text says about its lexer, if that was to be read.
    pub directives: Vec<Directive>,
    /// Whether the whole text was read, so that a symbol without a definition really has none.
    pub(super) complete: bool,
}

impl Parsed {
    /// The answer to a text of `length` bytes, which is more than is allowed.
    pub(super) fn refused(length: usize, limits: &Limits) -> Self {
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

/// Parses `source`, in which bytes that were not UTF-8 stand as U+FFFD at the places `invalid`.
pub(super) fn parse_text(
    source: &Arc<str>,
    invalid: &[Span],
    mode: DirectiveMode,
    most_expressions: usize,
) -> Parsed {
    let mut scanner = Scanner::new(source, invalid, mode);
    let token = scanner.next();
    let following = scanner.next();
    let ast =
        Ast { source: source.clone(), definitions: Vec::new(), expressions: Vec::new(), spans: Vec::new() };
    let directives = Vec::new();
    let mut parser = Parser { scanner, token, following, previous_end: 0, ast, directives, most_expressions };
    while parser.token.kind != Kind::End {
        parser.top_level();
    }
    let complete = !parser.scanner.stopped();
    let Parser { scanner, ast, directives, .. } = parser;
    Parsed { ast, diagnostics: scanner.into_diagnostics(), directives, complete }
}

struct Parser<'s> {
    scanner: Scanner<'s>,
    token: Token,
    /// The token after [`Parser::token`].
    following: Token,
    /// Where the last token that was taken ends.
    previous_end: usize,
    ast: Ast,
    directives: Vec<Directive>,
    most_expressions: usize,
}

/// What is open: a definition's body (no bracket) or a bracket.
struct Frame {
    bracket: Option<(Bracket, Span)>,
    alternatives: Vec<ExpressionId>,
    items: Vec<ExpressionId>,
    /// A comma that waits for its right side.
    comma: Option<Span>,
    /// Whether the alternative at hand has reported an error, so that being empty is not another.
    broken: bool,
}

impl Frame {
    fn new(bracket: Option<(Bracket, Span)>) -> Self {
        Self { bracket, alternatives: Vec::new(), items: Vec::new(), comma: None, broken: false }
    }
}

/// The frames of one body: the innermost one, and those around it.
struct Frames {
    top: Frame,
    outer: Vec<Frame>,
    /// How many brackets of each kind are open.
    open: [usize; 3],
}

/// Advice where `*)` stands outside comments.
const NO_NESTED_COMMENTS: &str = "comments do not nest: the first `*)` ends them all";

/// How a definition is written.
const DEFINITION: &str = "a definition is written `name ::= ...;`";

/// How an exception is written.
const EXCEPTION: &str =
    "write `except!(\"a\" | \"b\")` or `except!(symbol)`, with the most tokens `except!(\"a\", 5)`";

/// What can begin an expression.
const PRIMARIES: [&str; 5] = ["a terminal", "a symbol", "`(`", "`[`", "`{`"];

impl<'s> Parser<'s> {
    fn take(&mut self) -> Token {
        let token = self.token;
        self.previous_end = token.span.end;
        self.token = self.following;
        self.following = self.scanner.next();
        token
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        // Where the scanner stopped, what seems to be missing may stand further on.
        if !(self.scanner.stopped() && self.token.kind == Kind::End) {
            self.scanner.report(diagnostic);
        }
    }

    fn text(&self, span: Span) -> &'s str {
        self.scanner.text(span)
    }

    fn add(&mut self, expression: Expression, span: Span) -> ExpressionId {
        if self.ast.expressions.len() >= self.most_expressions {
            let limit = LimitExceeded::new("grammar_size", self.most_expressions);
            self.scanner.stop(limit.diagnostic().at(span));
        }
        self.ast.expressions.push(expression);
        self.ast.spans.push(span);
        ExpressionId::new(self.ast.expressions.len() - 1)
    }

    /// Whether a definition begins here; a misspelled `::=` counts at the beginning of a line.
    fn at_definition(&self) -> bool {
        if self.token.kind != Kind::Identifier {
            return false;
        }
        match self.following.kind {
            Kind::Define => true,
            Kind::DefineSlip => {
                let before = self.scanner.source()[..self.token.span.start].trim_end_matches([' ', '\t']);
                before.is_empty() || before.ends_with('\n')
            }
            _ => false,
        }
    }

    /// A definition, or an error up to the next one.
    fn top_level(&mut self) {
        match self.token.kind {
            Kind::Identifier => self.definition(),
            Kind::Directive => self.directive(),
            Kind::Semicolon => {
                let span = self.take().span;
                self.report(
                    Diagnostic::error(Code::UnexpectedInput, "there is nothing before this semicolon")
                        .at(span)
                        .found("`;`")
                        .expected(["a definition"])
                        .help("remove it: a definition ends with one `;`"),
                );
            }
            kind => {
                if kind != Kind::Broken {
                    self.unexpected("a definition must stand here", &["a definition"], DEFINITION);
                }
                if kind == Kind::Unknown && self.text(self.token.span).starts_with('%') {
                    // The token is the whole line.
                    self.take();
                    return;
                }
                self.skip_definition();
            }
        }
    }

    /// Goes on behind the next semicolon, or where something else begins.
    fn skip_definition(&mut self) {
        while !matches!(self.token.kind, Kind::End | Kind::Semicolon | Kind::Directive)
            && !self.at_definition()
        {
            self.take();
        }
        if self.token.kind == Kind::Semicolon {
            self.take();
        }
    }

    /// `%name a b 1;`
    fn directive(&mut self) {
        let keyword = self.take().span;
        let mut words: Vec<(&'s str, Span)> = Vec::new();
        loop {
            let Token { kind, span } = self.token;
            match kind {
                Kind::Identifier if !self.at_definition() => words.push((self.text(span), span)),
                Kind::Number => words.push((self.text(span), span)),
                Kind::Comma if !words.is_empty() => {}
                Kind::Unknown if self.text(span) == "-" && self.following.kind == Kind::Number => {
                    self.take();
                    let span = span.to(self.token.span);
                    words.push((self.text(span), span));
                }
                Kind::Semicolon => {
                    self.take();
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
            self.take();
        }
        match directives::parse(self.text(keyword), keyword, &words) {
            Ok(read) => self.directives.extend(read),
            Err(diagnostic) => self.report(*diagnostic),
        }
    }

    /// `name ::= body;`
    fn definition(&mut self) {
        let name = self.take().span;
        let shown = shorten(self.text(name));
        match self.token.kind {
            Kind::Define => {
                self.take();
            }
            Kind::DefineSlip => {
                let span = self.take().span;
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
                self.ast.definitions.push(Definition { name, body, span: name });
                self.skip_definition();
                return;
            }
        }
        let body = self.body(&shown);
        let span = Span::new(name.start, self.previous_end);
        self.ast.definitions.push(Definition { name, body, span });
    }

    /// The right-hand side of `name` and its semicolon.
    fn body(&mut self, name: &str) -> ExpressionId {
        let mut frames = Frames { top: Frame::new(None), outer: Vec::new(), open: [0; 3] };
        loop {
            match self.token.kind {
                Kind::End | Kind::Semicolon | Kind::Directive => break,
                _ if self.at_definition() => break,
                Kind::Open(bracket) => {
                    let span = self.take().span;
                    frames.open[bracket as usize] += 1;
                    let outer = std::mem::replace(&mut frames.top, Frame::new(Some((bracket, span))));
                    frames.outer.push(outer);
                }
                Kind::Close(bracket) => self.close(&mut frames, bracket),
                Kind::Bar => {
                    self.end_alternative(&mut frames.top);
                    self.take();
                }
                Kind::Comma => self.comma(&mut frames.top),
                Kind::Postfix(_) => self.stray_postfix(),
                _ => match self.primary() {
                    Some(item) => self.push_item(&mut frames.top, item),
                    None => self.resynchronise(&mut frames.top),
                },
            }
        }
        self.end_body(frames, name)
    }

    /// Closes what is open at the end of a body and takes the semicolon.
    fn end_body(&mut self, mut frames: Frames, name: &str) -> ExpressionId {
        let unclosed = !frames.outer.is_empty();
        while !frames.outer.is_empty() {
            self.close_unclosed(&mut frames);
        }
        let empty = frames.top.items.is_empty() && frames.top.alternatives.is_empty() && !frames.top.broken;
        if empty && frames.top.comma.is_none() {
            frames.top.broken = true;
            let diagnostic =
                Diagnostic::error(Code::UnexpectedInput, format!("the definition of `{name}` is empty"))
                    .at(self.token.span)
                    .found(describe(self.token.kind, self.text(self.token.span)))
                    .expected(PRIMARIES)
                    .help("write \"\" for the empty text");
            self.report(diagnostic);
        }
        let body = self.end_choice(&mut frames.top);
        if self.token.kind == Kind::Semicolon {
            self.take();
        } else if !unclosed && !empty {
            let help = if self.token.kind == Kind::End {
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

    /// Adds `item`, with the operator that follows it, to an alternative.
    fn push_item(&mut self, frame: &mut Frame, item: ExpressionId) {
        let mut item = item;
        let mut operators = 0;
        while let Kind::Postfix(operator) = self.token.kind {
            let token = self.take();
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

    /// An expression without brackets and operators, or nothing if none begins here (which is not reported).
    fn primary(&mut self) -> Option<ExpressionId> {
        let token = self.token;
        let source = self.scanner.source();
        let mut faults = Vec::new();
        let expression = match token.kind {
            Kind::Identifier => Expression::Reference,
            Kind::Any => Expression::AnyToken,
            Kind::Broken => Expression::Error,
            Kind::Quoted { content } => {
                Expression::Literal(decode_bytes(source, content, &mut |fault| faults.push(fault)).into())
            }
            Kind::Pattern { form, style, content } => {
                let text = decode_text(source, content, style, &mut |fault| faults.push(fault));
                Expression::Pattern(Pattern { form, text: text.into(), content, style })
            }
            Kind::TokenName => Expression::Token(TokenReference::Name(self.text(token.span).into())),
            Kind::TokenId(id) => Expression::Token(TokenReference::Id(id)),
            Kind::TokenQuoted { content } => {
                let name = decode_text(source, content, Style::Text, &mut |fault| faults.push(fault));
                if name.is_empty() && faults.is_empty() {
                    faults.push(
                        Diagnostic::error(Code::InvalidTokenReference, "the name of a token is empty")
                            .at(token.span)
                            .help("write the token's name, or its id as `<[123]>`"),
                    );
                }
                Expression::Token(TokenReference::Name(name))
            }
            Kind::Except => {
                self.take();
                return Some(self.except(token.span));
            }
            _ => return None,
        };
        for fault in faults {
            self.report(fault);
        }
        self.take();
        let called = self.token.kind == Kind::Open(Bracket::Round) && self.token.span.start == token.span.end;
        if token.kind == Kind::Broken && called {
            self.take();
            self.skip_arguments();
        }
        Some(self.add(expression, token.span))
    }

    /// The brackets after `except!`.
    fn except(&mut self, start: Span) -> ExpressionId {
        let result = self.except_arguments();
        let expression = match result {
            Some((exception, tokens)) => Expression::Except { exception, tokens },
            None => Expression::Error,
        };
        self.add(expression, Span::new(start.start, self.previous_end))
    }

    /// Goes on after the round bracket that closes the one that is open.
    fn skip_arguments(&mut self) {
        let mut depth = 0usize;
        while !matches!(self.token.kind, Kind::End | Kind::Semicolon) && !self.at_definition() {
            match self.take().kind {
                Kind::Open(Bracket::Round) => depth += 1,
                Kind::Close(Bracket::Round) if depth == 0 => return,
                Kind::Close(Bracket::Round) => depth -= 1,
                _ => {}
            }
        }
    }

    /// The arguments of `except!` with their brackets; nothing, with a report, where they are wrong.
    fn except_arguments(&mut self) -> Option<(Exception, Option<u32>)> {
        self.expect(Kind::Open(Bracket::Round), "`except!` needs its arguments in brackets", "`(`")?;
        let arguments = self.exception();
        if arguments.is_none() {
            self.skip_arguments();
        }
        arguments
    }

    /// `NAME` or `"a" | "b"`, perhaps a number of tokens, and the closing bracket.
    fn exception(&mut self) -> Option<(Exception, Option<u32>)> {
        let exception = if self.token.kind == Kind::Identifier {
            Exception::Symbol(self.take().span)
        } else {
            let mut strings = Vec::new();
            loop {
                let Kind::Quoted { content } = self.token.kind else {
                    self.unexpected(
                        "`except!` takes strings or a symbol",
                        &["a string", "a symbol"],
                        EXCEPTION,
                    );
                    return None;
                };
                let mut faults = Vec::new();
                let bytes = decode_bytes(self.scanner.source(), content, &mut |fault| faults.push(fault));
                for fault in faults {
                    self.report(fault);
                }
                strings.push((bytes.into(), self.take().span));
                if self.token.kind != Kind::Bar {
                    break;
                }
                self.take();
            }
            Exception::Strings(strings.into())
        };
        let mut tokens = None;
        if self.token.kind == Kind::Comma {
            self.take();
            let span = self.token.span;
            self.expect(
                Kind::Number,
                "after the comma stands the most tokens the text may have",
                "a number",
            )?;
            match self.text(span).parse() {
                Ok(number @ 1..) => tokens = Some(number),
                _ => self.report(
                    Diagnostic::error(
                        Code::InvalidException,
                        "the number of tokens is not between 1 and 4294967295",
                    )
                    .at(span)
                    .found(format!("`{}`", shorten(self.text(span))))
                    .help("leave the number out for any number of tokens"),
                ),
            }
        }
        self.expect(Kind::Close(Bracket::Round), "the arguments of `except!` end with a bracket", "`)`")?;
        Some((exception, tokens))
    }

    /// Takes a token of `except!`.
    fn expect(&mut self, kind: Kind, message: &str, expected: &str) -> Option<Token> {
        if self.token.kind == kind {
            return Some(self.take());
        }
        self.unexpected(message, &[expected], EXCEPTION);
        None
    }

    fn comma(&mut self, frame: &mut Frame) {
        let span = self.take().span;
        if (frame.items.is_empty() || frame.comma.is_some()) && !frame.broken {
            frame.broken = true;
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

    /// An operator that nothing stands before.
    fn stray_postfix(&mut self) {
        let token = self.take();
        let text = shorten(self.text(token.span));
        let ends_comment = self.scanner.source()[token.span.start..].starts_with("*)");
        let (code, help) = match token.kind {
            Kind::Postfix(super::ast::Postfix::Bounds { .. }) => {
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

    /// Ends the alternative at hand.
    fn end_alternative(&mut self, frame: &mut Frame) {
        let place = Span::new(self.token.span.start, self.token.span.start);
        if let Some(comma) = frame.comma.take()
            && !frame.broken
        {
            frame.broken = true;
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
                if !frame.broken {
                    let message = match frame.bracket {
                        Some((bracket, _))
                            if frame.alternatives.is_empty() && self.token.kind != Kind::Bar =>
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
        frame.broken = false;
        frame.alternatives.push(alternative);
    }

    /// Ends the last alternative and makes one expression of all.
    fn end_choice(&mut self, frame: &mut Frame) -> ExpressionId {
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

    /// A closing bracket: of the innermost frame, of one further out, or of none.
    fn close(&mut self, frames: &mut Frames, bracket: Bracket) {
        if frames.open[bracket as usize] == 0 {
            let span = self.take().span;
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
        let end = self.take().span;
        self.leave(frames, body, end);
    }

    /// Closes the innermost bracket, which has no partner.
    fn close_unclosed(&mut self, frames: &mut Frames) {
        if let Some((bracket, span)) = frames.top.bracket {
            frames.top.broken |= frames.top.items.is_empty();
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

    /// Goes back to the frame around the innermost bracket, whose body is complete.
    fn leave(&mut self, frames: &mut Frames, body: ExpressionId, end: Span) {
        let Some(outer) = frames.outer.pop() else { return };
        let inner = std::mem::replace(&mut frames.top, outer);
        if let Some((bracket, open)) = inner.bracket {
            frames.open[bracket as usize] -= 1;
            let item = self.add(Expression::Bracketed { bracket, body }, open.to(end));
            self.push_item(&mut frames.top, item);
        }
    }

    /// Reports a token that no expression begins with, and goes on at the next place that makes sense.
    fn resynchronise(&mut self, frame: &mut Frame) {
        if !frame.broken {
            self.unexpected("this does not belong to an expression", &PRIMARIES, "write text in quotes");
        }
        frame.broken = true;
        frame.comma = None;
        let mut depth = 0usize;
        // The token itself is skipped even if it is one to stop at, so that there is progress.
        self.take();
        loop {
            match self.token.kind {
                Kind::End | Kind::Semicolon | Kind::Directive => break,
                Kind::Bar if depth == 0 => break,
                Kind::Close(_) if depth == 0 => break,
                Kind::Close(_) => depth -= 1,
                Kind::Open(_) => depth += 1,
                _ if self.at_definition() => break,
                _ => {}
            }
            self.take();
        }
        let error = self.add(Expression::Error, Span::new(self.previous_end, self.previous_end));
        frame.items.push(error);
    }

    /// Reports the token at hand.
    fn unexpected(&mut self, message: &str, expected: &[&str], help: &str) {
        let diagnostic = Diagnostic::error(Code::UnexpectedInput, message)
            .at(self.token.span)
            .found(describe(self.token.kind, self.text(self.token.span)))
            .expected(expected.iter().copied())
            .help(advice(self.token.kind, self.text(self.token.span)).unwrap_or(help));
        self.report(diagnostic);
    }
}
