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

mod arguments;
mod bodies;

use std::sync::Arc;

use grammask_diagnostics::{Code, Diagnostic, LimitExceeded, Limits, Span};
use grammask_grammar::TokenReference;
use grammask_grammar::directives::{self, Directive, DirectiveMode};

use super::ast::{Ast, Bracket, Expression, ExpressionId, KbnfDefinition, PatternLiteral};
use super::describe::{advice, describe, shorten};
use super::escape::{QuoteStyle, decode_bytes, decode_text};
use super::scan::{KbnfScanner, KbnfToken, KbnfTokenKind};

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

/// The notation of a definition.
const DEFINITION: &str = "a definition is written `name ::= ...;`";

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
