//! Names with `!` and their arguments: exceptions, limits and bindings.

use grammask_diagnostics::{Code, Diagnostic, Span};
use grammask_grammar::BindingKind;

use super::KbnfParser;
use super::bodies::{FrameStack, KbnfBinding};
use crate::kbnf::ast::{Bracket, Exception, Expression, ExpressionId};
use crate::kbnf::describe::shorten;
use crate::kbnf::escape::decode_bytes;
use crate::kbnf::scan::{KbnfToken, KbnfTokenKind};

/// The notation of a limit.
const LIMIT: &str = "write `limit!(symbol, 20)`, with the most tokens of the text";

/// The notation of the bound text.
const SAME: &str = "write `same!(name)` with the name of a text that `bind!` has bound";

/// The notation of bindings with an operand.
const BINDING: &str = "write `bind!(name, part)`, `other!(name, part)` or `without_prefix!(name, part)`";

/// The notation of an exception.
const EXCEPTION: &str =
    "write `except!(\"a\" | \"b\")` or `except!(symbol)`, with the most tokens `except!(\"a\", 5)`";

impl<'s> KbnfParser<'s> {
    /// Parses the arguments of `except!`.
    pub(super) fn except(&mut self, start: Span) -> ExpressionId {
        let result = self.except_arguments();
        let expression = match result {
            Some((exception, tokens)) => Expression::Except { exception, tokens },
            None => Expression::Error,
        };
        self.add(expression, Span::new(start.start, self.previous_end))
    }

    /// Parses the arguments of `limit!`.
    pub(super) fn limit(&mut self, start: Span) -> ExpressionId {
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
    pub(super) fn binding(&mut self, frames: &mut FrameStack, kind: BindingKind) {
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
                frames.enter(Bracket::Round, bracket, Some(KbnfBinding { kind, name, start }));
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
    pub(super) fn skip_arguments(&mut self) {
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
}
