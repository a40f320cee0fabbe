//! Right-hand sides of definitions: alternatives, brackets and operators.
//!
//! Open brackets are frames on an explicit stack, so that the depth of a source is bounded by its length only.

use grammask_diagnostics::{Code, Diagnostic, Span};
use grammask_grammar::BindingKind;

use super::KbnfParser;
use crate::kbnf::ast::{Bracket, Expression, ExpressionId, Postfix};
use crate::kbnf::describe::{describe, shorten};
use crate::kbnf::scan::KbnfTokenKind;

/// A binding whose operand is being parsed.
pub(super) struct KbnfBinding {
    pub(super) kind: BindingKind,
    pub(super) name: Span,
    /// Where the binding begins.
    pub(super) start: Span,
}

/// An open bracket, or the body of a definition (without a bracket).
pub(super) struct KbnfFrame {
    pub(super) bracket: Option<(Bracket, Span)>,
    /// The binding whose operand the bracket contains.
    pub(super) binding: Option<KbnfBinding>,
    pub(super) alternatives: Vec<ExpressionId>,
    pub(super) items: Vec<ExpressionId>,
    /// A comma without its right operand so far.
    pub(super) comma: Option<Span>,
    /// Whether an error was reported in the current alternative, which then may be empty without another error.
    pub(super) has_error: bool,
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
pub(super) struct FrameStack {
    pub(super) top: KbnfFrame,
    pub(super) outer: Vec<KbnfFrame>,
    /// Number of open brackets of each kind.
    pub(super) open: [usize; 3],
}

impl FrameStack {
    /// Opens a bracket, which contains the operand of `binding` if that is given.
    pub(super) fn enter(&mut self, bracket: Bracket, span: Span, binding: Option<KbnfBinding>) {
        self.open[bracket as usize] += 1;
        let frame = KbnfFrame { binding, ..KbnfFrame::new(Some((bracket, span))) };
        self.outer.push(std::mem::replace(&mut self.top, frame));
    }
}

/// Advice on `*)` outside of comments.
const NO_NESTED_COMMENTS: &str = "comments do not nest: the first `*)` ends them all";

/// The tokens that can begin an expression.
const PRIMARIES: [&str; 5] = ["a terminal", "a symbol", "`(`", "`[`", "`{`"];

impl<'s> KbnfParser<'s> {
    /// Parses the right-hand side of `name` and its semicolon.
    pub(super) fn body(&mut self, name: &str) -> ExpressionId {
        let mut frames = FrameStack { top: KbnfFrame::new(None), outer: Vec::new(), open: [0; 3] };
        loop {
            match self.token.kind {
                KbnfTokenKind::End | KbnfTokenKind::Semicolon | KbnfTokenKind::Directive => break,
                _ if self.at_definition() => break,
                KbnfTokenKind::Open(bracket) => {
                    let span = self.advance().span;
                    frames.enter(bracket, span, None);
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
    pub(super) fn push_item(&mut self, frame: &mut KbnfFrame, item: ExpressionId) {
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

    pub(super) fn comma(&mut self, frame: &mut KbnfFrame) {
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
            KbnfTokenKind::Postfix(Postfix::Bounds { .. }) => {
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
    pub(super) fn leave(&mut self, frames: &mut FrameStack, body: ExpressionId, end: Span) {
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
}
