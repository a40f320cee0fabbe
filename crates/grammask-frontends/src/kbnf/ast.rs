//! The syntax tree of a KBNF text, as it was written: brackets, operators and spellings are kept.
//!
//! Expressions live in one arena and children come before their parents, so no traversal (and no drop) recurses,
//! however deep a text nests. Names are kept as places in the text.
//!
//! [`Ast`] prints as one S-expression a definition, for `grammask debug ast` and golden tests:
//!
//! ```
//! use grammask_diagnostics::Limits;
//! use grammask_frontends::kbnf;
//! let parsed = kbnf::parse(br#"start ::= "a" [B] | {B}+;"#, &Limits::default());
//! assert_eq!(parsed.ast.to_string(), "start = (choice (sequence \"a\" (option B)) (repeat + (braces B)))\n");
//! ```

use std::fmt;
use std::sync::Arc;

use super::escape::Style;
use grammask_collections::id_type;
use grammask_diagnostics::Span;
use grammask_grammar::{TokenReference, quote_bytes, quote_text};

id_type! {
    /// An expression of an [`Ast`].
    ExpressionId
}

/// A KBNF text as a tree.
#[derive(Clone, Debug)]
pub struct Ast {
    pub(super) source: Arc<str>,
    pub(super) definitions: Vec<Definition>,
    pub(super) expressions: Vec<Expression>,
    pub(super) spans: Vec<Span>,
}

/// `name ::= body;`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Where the name stands.
    pub name: Span,
    /// The right-hand side.
    pub body: ExpressionId,
    /// From the name to the semicolon.
    pub span: Span,
}

/// A part of a right-hand side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A string: exactly these bytes.
    Literal(Box<[u8]>),
    /// The name of a symbol; the name is the text at the expression's span.
    Reference,
    /// `#"..."` and its kin.
    Pattern(Pattern),
    /// `<|name|>`, `<"name">` or `<[id]>`.
    Token(TokenReference),
    /// `any!`
    AnyToken,
    /// `except!(...)`
    Except {
        /// What the text may not contain.
        exception: Exception,
        /// The most tokens the text may spread over.
        tokens: Option<u32>,
    },
    /// `( )`, `[ ]` or `{ }`.
    Bracketed {
        /// Which brackets.
        bracket: Bracket,
        /// What stands in them.
        body: ExpressionId,
    },
    /// An expression and the operator after it.
    Postfix {
        /// What the operator applies to.
        operand: ExpressionId,
        /// The operator.
        operator: Postfix,
    },
    /// Expressions in a row.
    Sequence(Box<[ExpressionId]>),
    /// Expressions between bars.
    Choice(Box<[ExpressionId]>),
    /// A place where the text is wrong; a diagnostic says how.
    Error,
}

/// A regular expression or a text for substrings, with the place it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// What the pattern stands for.
    pub form: PatternForm,
    /// The pattern after the escape layer.
    pub text: Box<str>,
    pub(super) content: Span,
    pub(super) style: Style,
}

/// What a `#` form matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatternForm {
    /// `#`: any text that the whole regex matches.
    Whole,
    /// `#e`: any nonempty text that the regex matches and no nonempty proper prefix of which it matches.
    FirstMatch,
    /// `#ex`: any nonempty text in which the regex matches nowhere.
    WithoutMatch,
    /// `#substrs`: any part of the text, the empty one included.
    Substrings,
}

/// The argument of `except!`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exception {
    /// String literals between bars, each with its place.
    Strings(Box<[(Box<[u8]>, Span)]>),
    /// A symbol; its name is the text at the place.
    Symbol(Span),
}

/// The three kinds of brackets around expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bracket {
    /// `( )`: grouping.
    Round,
    /// `[ ]`: optional.
    Square,
    /// `{ }`: any number of copies.
    Curly,
}

impl Bracket {
    /// The opening character.
    #[must_use]
    pub fn open(self) -> char {
        match self {
            Self::Round => '(',
            Self::Square => '[',
            Self::Curly => '{',
        }
    }

    /// The closing character.
    #[must_use]
    pub fn close(self) -> char {
        match self {
            Self::Round => ')',
            Self::Square => ']',
            Self::Curly => '}',
        }
    }
}

/// An operator after an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Postfix {
    /// `?`
    Question,
    /// `*`
    Star,
    /// `+`
    Plus,
    /// `{m,n}`, `{m}`, `{m,}` or `{,n}`.
    Bounds {
        /// The fewest copies.
        min: u32,
        /// The most copies.
        max: Option<u32>,
    },
}

impl Postfix {
    /// The fewest and the most copies that the operator asks for.
    #[must_use]
    pub fn bounds(self) -> (u32, Option<u32>) {
        match self {
            Self::Question => (0, Some(1)),
            Self::Star => (0, None),
            Self::Plus => (1, None),
            Self::Bounds { min, max } => (min, max),
        }
    }
}

impl fmt::Display for Postfix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Question => f.write_str("?"),
            Self::Star => f.write_str("*"),
            Self::Plus => f.write_str("+"),
            Self::Bounds { min, max: None } => write!(f, "{{{min},}}"),
            Self::Bounds { min, max: Some(max) } if min == max => write!(f, "{{{min}}}"),
            Self::Bounds { min, max: Some(max) } => write!(f, "{{{min},{max}}}"),
        }
    }
}

impl Ast {
    /// The text that all places point into; a byte sequence that is not UTF-8 is repaired with U+FFFD.
    #[must_use]
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// All definitions, in the order of the text.
    #[must_use]
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// All expressions; the children of an expression come before it.
    #[must_use]
    pub fn expressions(&self) -> &[Expression] {
        &self.expressions
    }

    /// The expression with this id.
    #[must_use]
    pub fn expression(&self, id: ExpressionId) -> &Expression {
        &self.expressions[id.index()]
    }

    /// Where an expression stands.
    #[must_use]
    pub fn span(&self, id: ExpressionId) -> Span {
        self.spans[id.index()]
    }

    /// The text at a place of this tree.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        &self.source[span.start..span.end]
    }

    /// All expressions below and including `roots`, each with its parent's work left to the caller, in no
    /// particular order. Cost: linear in what is visited.
    pub(super) fn reachable(&self, roots: impl IntoIterator<Item = ExpressionId>) -> Vec<ExpressionId> {
        let mut stack: Vec<ExpressionId> = roots.into_iter().collect();
        let mut found = Vec::new();
        while let Some(id) = stack.pop() {
            found.push(id);
            match self.expression(id) {
                Expression::Sequence(parts) | Expression::Choice(parts) => {
                    stack.extend(parts.iter().copied())
                }
                Expression::Bracketed { body, .. } => stack.push(*body),
                Expression::Postfix { operand, .. } => stack.push(*operand),
                Expression::Literal(_)
                | Expression::Reference
                | Expression::Pattern(_)
                | Expression::Token(_)
                | Expression::AnyToken
                | Expression::Except { .. }
                | Expression::Error => {}
            }
        }
        found
    }

    /// Writes the head of `id` and leaves its children to `stack`.
    fn write_head(
        &self,
        f: &mut fmt::Formatter<'_>,
        id: ExpressionId,
        stack: &mut Vec<Piece>,
    ) -> fmt::Result {
        let (head, children): (&str, &[ExpressionId]) = match self.expression(id) {
            Expression::Literal(bytes) => return f.write_str(&quote_bytes(bytes)),
            Expression::Reference => return f.write_str(self.text(self.span(id))),
            Expression::Pattern(pattern) => {
                let head = match pattern.form {
                    PatternForm::Whole => "regex",
                    PatternForm::FirstMatch => "first-match",
                    PatternForm::WithoutMatch => "without-match",
                    PatternForm::Substrings => "substrings",
                };
                return write!(f, "({head} {})", quote_text(&pattern.text));
            }
            Expression::Token(TokenReference::Name(name) | TokenReference::Written(name)) => {
                return write!(f, "(token {})", quote_text(name));
            }
            Expression::Token(TokenReference::Id(id)) => return write!(f, "(token {id})"),
            Expression::AnyToken => return f.write_str("any"),
            Expression::Except { exception, tokens } => return self.write_except(f, exception, *tokens),
            Expression::Bracketed { bracket: Bracket::Round, body } => ("(group", std::slice::from_ref(body)),
            Expression::Bracketed { bracket: Bracket::Square, body } => {
                ("(option", std::slice::from_ref(body))
            }
            Expression::Bracketed { bracket: Bracket::Curly, body } => {
                ("(braces", std::slice::from_ref(body))
            }
            Expression::Postfix { operand, operator } => {
                write!(f, "(repeat {operator}")?;
                ("", std::slice::from_ref(operand))
            }
            Expression::Sequence(parts) => ("(sequence", parts),
            Expression::Choice(parts) => ("(choice", parts),
            Expression::Error => return f.write_str("error"),
        };
        f.write_str(head)?;
        stack.push(Piece::Text(")"));
        for &child in children.iter().rev() {
            stack.push(Piece::Expression(child));
            stack.push(Piece::Text(" "));
        }
        Ok(())
    }

    fn write_except(
        &self,
        f: &mut fmt::Formatter<'_>,
        exception: &Exception,
        tokens: Option<u32>,
    ) -> fmt::Result {
        f.write_str("(except")?;
        match exception {
            Exception::Symbol(name) => write!(f, " {}", self.text(*name))?,
            Exception::Strings(strings) => {
                for (bytes, _) in strings {
                    write!(f, " {}", quote_bytes(bytes))?;
                }
            }
        }
        if let Some(tokens) = tokens {
            write!(f, " tokens {tokens}")?;
        }
        f.write_str(")")
    }
}

enum Piece {
    Expression(ExpressionId),
    Text(&'static str),
}

impl fmt::Display for Ast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for definition in &self.definitions {
            write!(f, "{} = ", self.text(definition.name))?;
            let mut stack = vec![Piece::Expression(definition.body)];
            while let Some(piece) = stack.pop() {
                match piece {
                    Piece::Text(text) => f.write_str(text)?,
                    Piece::Expression(id) => self.write_head(f, id, &mut stack)?,
                }
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}
