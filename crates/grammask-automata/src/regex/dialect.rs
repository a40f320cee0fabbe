//! Constructs that mean something else in most other dialects of regular expressions, such as Python's `re`.

use regex_syntax::ast::{self, AssertionKind, Ast, ClassSetBinaryOp, ClassSetBinaryOpKind, ClassSetItem};

use super::error::span_of;
use super::{NEST_LIMIT, ParserBuilder};
use grammask_diagnostics::Span;

/// A construct of a valid pattern that other dialects read as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialectDifference {
    /// Its span in the pattern, in bytes.
    pub span: Span,
    /// What it means: one sentence without a full stop.
    pub message: &'static str,
    /// A suggestion that reads alike in all dialects.
    pub help: &'static str,
}

/// The constructs of `pattern` that mean something else in Python's `re`: the ends of words `\<` and `\>`, and the
/// operations and classes inside of bracketed classes. Empty if the pattern is not valid.
#[must_use]
pub fn dialect_differences(pattern: &str) -> Vec<DialectDifference> {
    let marks = ["\\<", "\\>", "&&", "--", "~~"];
    if !marks.iter().any(|mark| pattern.contains(mark)) && pattern.matches('[').count() < 2 {
        return Vec::new();
    }
    let Ok(ast) = ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(pattern) else {
        return Vec::new();
    };
    let collected = ast::visit(&ast, DifferenceCollector { found: Vec::new() });
    collected.unwrap_or_else(|never| match never {})
}

struct DifferenceCollector {
    found: Vec<DialectDifference>,
}

impl DifferenceCollector {
    fn add(&mut self, span: &ast::Span, message: &'static str, help: &'static str) {
        self.found.push(DialectDifference { span: span_of(span), message, help });
    }
}

impl ast::Visitor for DifferenceCollector {
    type Output = Vec<DialectDifference>;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<Self::Output, Self::Err> {
        Ok(self.found)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        if let Ast::Assertion(assertion) = ast {
            match assertion.kind {
                AssertionKind::WordBoundaryStartAngle => self.add(
                    &assertion.span,
                    "`\\<` is the start of a word; in Python's `re` it is the character `<`",
                    "for the character write <, for the start of a word write \\b{start}",
                ),
                AssertionKind::WordBoundaryEndAngle => self.add(
                    &assertion.span,
                    "`\\>` is the end of a word; in Python's `re` it is the character `>`",
                    "for the character write >, for the end of a word write \\b{end}",
                ),
                _ => {}
            }
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        match item {
            ClassSetItem::Bracketed(class) => self.add(
                &class.span,
                "this is a class inside of a class; in Python's `re` the bracket is a character",
                "for the character write \\[",
            ),
            ClassSetItem::Ascii(class) => self.add(
                &class.span,
                "this is a class of ASCII characters by name; in Python's `re` it is the characters themselves",
                "for the characters write \\[:",
            ),
            _ => {}
        }
        Ok(())
    }

    fn visit_class_set_binary_op_pre(&mut self, operation: &ClassSetBinaryOp) -> Result<(), Self::Err> {
        let (message, help) = match operation.kind {
            ClassSetBinaryOpKind::Intersection => (
                "`&&` is the intersection of the sets on its sides; in Python's `re` it is the character `&`",
                "for the character write &",
            ),
            ClassSetBinaryOpKind::Difference => (
                "`--` is the difference of the sets on its sides; in Python's `re` it is the character `-` or a range",
                "for the character write \\-",
            ),
            ClassSetBinaryOpKind::SymmetricDifference => (
                "`~~` is the symmetric difference of the sets on its sides; in Python's `re` it is the character `~`",
                "for the character write ~",
            ),
        };
        self.add(&operation.span, message, help);
        Ok(())
    }
}
